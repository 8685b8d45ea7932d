//! Marks: what users do with their items.

use async_graphql::{Context, ID, InputObject, Object, OneofObject, Result};
use entity::ids::{Seq, UserId};

use super::channel::TargetInput;
use super::context::Call;
use super::inbox::seq_at;
use super::overview::{Overview, wish};
use crate::domain::inbox::mark::{self, Change, Match, Selection};
use crate::domain::overview;
use crate::error::Error;
use crate::model::check;
use crate::model::seal::Kind;

/// The most ids of one call.
const IDS: usize = 1000;

/// Which items of the token's user: either some, or all that match.
#[derive(OneofObject)]
pub enum ItemSelector {
    /// At most 1,000. An item that was deleted or has expired is passed over.
    Ids(Vec<ID>),
    /// Every item that matches; an empty match is the whole inbox.
    Matching(ItemMatch),
}

/// Which items a bulk mark is about; conditions left out do not count.
#[derive(InputObject)]
pub struct ItemMatch {
    /// Codes of message types.
    pub types: Option<Vec<String>>,
    pub target: Option<TargetInput>,
    /// Up to and including the item at this cursor: what arrives during the click stays as it is.
    pub up_to: Option<String>,
}

/// What a mark did.
pub struct ItemsPayload {
    changed_count: u64,
    user: UserId,
}

/// What a mark did.
#[Object]
impl ItemsPayload {
    /// How many items changed.
    async fn changed_count(&self) -> i32 {
        i32::try_from(self.changed_count).unwrap_or(i32::MAX)
    }

    /// As it stands after the change.
    async fn overview(&self, ctx: &Context<'_>) -> Result<Overview> {
        read_overview(ctx, self.user).await
    }
}

async fn read_overview(ctx: &Context<'_>, user: UserId) -> Result<Overview> {
    let call = Call::of(ctx);
    let overviews = overview::of(call.app, call.tenant, &[user], &wish(ctx, None, None)).await?;
    let own = overviews.into_values().next();
    Ok(Overview(own.ok_or_else(|| Error::not_found("user", &*call.viewer.sub))?.into()))
}

async fn apply(ctx: &Context<'_>, select: ItemSelector, change: Change) -> Result<ItemsPayload> {
    let (call, user) = Call::user(ctx).await?;
    let selection = match select {
        ItemSelector::Ids(ids) => {
            check::count("select.ids", ids.len(), IDS)?;
            let open = |id: &ID| match call.tenant.seal.open(Kind::Item, id) {
                Some((owner, seq)) if owner == user.0 => Ok(Seq(seq)),
                _ => Err(Error::not_found("item", id.as_str())),
            };
            Selection::Items(ids.iter().map(open).collect::<Result<_, _>>()?)
        }
        ItemSelector::Matching(of) => {
            let up_to = of.up_to.map(|cursor| {
                let seq = seq_at(call, user, &cursor);
                seq.ok_or_else(|| Error::bad_input("select.matching.upTo", "is no cursor of this inbox"))
            });
            let target = of.target.map(Into::into);
            Selection::Matching(Match { types: of.types, target, up_to: up_to.transpose()? })
        }
    };
    let changed_count = mark::apply(call.app, call.tenant, user, &selection, change).await?;
    Ok(ItemsPayload { changed_count, user })
}

#[derive(Default)]
pub struct MarkMutation;

#[Object]
impl MarkMutation {
    /// USER, on their own inbox.
    async fn mark_read(&self, ctx: &Context<'_>, select: ItemSelector) -> Result<ItemsPayload> {
        apply(ctx, select, Change::Read).await
    }

    /// USER, on their own inbox.
    async fn mark_unread(&self, ctx: &Context<'_>, select: ItemSelector) -> Result<ItemsPayload> {
        apply(ctx, select, Change::Unread).await
    }

    /// Takes items out of the inbox proper and of its counts; whether they are read stays. USER, on their own inbox.
    async fn archive(&self, ctx: &Context<'_>, select: ItemSelector) -> Result<ItemsPayload> {
        apply(ctx, select, Change::Archive).await
    }

    /// Puts archived items back, read or unread as they were. USER, on their own inbox.
    async fn unarchive(&self, ctx: &Context<'_>, select: ItemSelector) -> Result<ItemsPayload> {
        apply(ctx, select, Change::Unarchive).await
    }

    /// Deletes items for good; a match is about the inbox proper, the archive is emptied by ids. USER, on their own inbox.
    async fn delete_items(&self, ctx: &Context<'_>, select: ItemSelector) -> Result<ItemsPayload> {
        apply(ctx, select, Change::Delete).await
    }

    /// The inbox (or one type of it) was looked at: AUTO types are read and, if it was the whole inbox, nothing is unseen
    /// any more. USER.
    async fn mark_seen(&self, ctx: &Context<'_>, r#type: Option<String>) -> Result<Overview> {
        let (call, user) = Call::user(ctx).await?;
        mark::see(call.app, call.tenant, user, r#type.as_deref()).await?;
        read_overview(ctx, user).await
    }
}
