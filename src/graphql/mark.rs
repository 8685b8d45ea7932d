//! Marks: what users do with their items, and partners' backends for them.

use entity::audit_entry;
use std::collections::HashSet;
use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, OneofObject, Result};
use entity::ids::{Seq, UserId};

use super::account::Subject;
use super::catalogue::MessageType;
use super::channel::TargetInput;
use super::context::Call;
use super::inbox::{InboxItem, seq_at};
use super::plain::Plain;
use super::scalars::int;
use crate::auth::Role;
use crate::domain::catalogue;
use crate::domain::inbox::item;
use crate::domain::inbox::mark::{self, Change, Marked, Match, Selection};
use crate::error::Error;
use crate::model::check;
use crate::model::seal::Kind;

/// The most ids of one call.
const IDS: usize = 1000;

/// Which items of an inbox: either some, or all that match.
#[derive(OneofObject)]
pub enum InboxItemSelector {
    /// At most 1,000. An item that was deleted or has expired is passed over.
    Ids(Vec<ID>),
    /// Every item that matches; an empty match is the whole inbox.
    Matching(InboxItemMatch),
}

/// Which items a bulk mark is about; conditions left out do not count.
#[derive(InputObject)]
pub struct InboxItemMatch {
    /// Codes of message types.
    pub types: Option<Vec<String>>,
    /// About this target.
    pub target: Option<TargetInput>,
    /// Up to and including the item at this cursor: what arrives during the click stays as it is.
    pub up_to: Option<String>,
}

/// What a mark did.
pub struct InboxItemsPayload {
    marked: Marked,
    user: UserId,
    items: Vec<Seq>,
    deleted_ids: Vec<ID>,
}

/// What a mark did.
#[Object]
impl InboxItemsPayload {
    /// How many items changed.
    async fn changed_count(&self) -> i32 {
        int(self.marked.changed_count)
    }

    /// Where items were chosen by ids: all of them that there still are, changed or not, as they are now. Empty where they were
    /// matched.
    async fn items(&self, ctx: &Context<'_>) -> Result<Vec<Plain<InboxItem>>> {
        let call = Call::of(ctx);
        let items = Box::pin(item::find(call.app, call.tenant, self.user, &self.items)).await?;
        Ok(items.into_iter().map(InboxItem).map(Plain).collect())
    }

    /// Where items were deleted by ids: these ids, of which nothing is left.
    async fn deleted_ids(&self) -> &[ID] {
        &self.deleted_ids
    }

    /// The types of the items that changed, in catalogue order.
    async fn affected_types(&self) -> Vec<Plain<MessageType>> {
        let types: &[Arc<catalogue::MessageType>] = &self.marked.types;
        types.iter().cloned().map(MessageType).map(Plain).collect()
    }

    #[graphql(flatten)]
    fn subject(&self) -> Subject {
        Subject(Some(self.user))
    }
}

/// Whose inbox is marked: that of the token's user, or of whom a service names; `NOT_FOUND` where the tenant has never heard of them.
async fn subject<'a>(ctx: &'a Context<'_>, user: Option<&ID>) -> Result<(Call<'a>, UserId)> {
    let call = Call::by(ctx, &[Role::User, Role::Service])?;
    let name = call.named("user", user)?;
    if call.viewer.role == Role::User {
        return Ok((call, call.subject("user", None).await?));
    }
    let found = call.known_user("user", name).await?;
    let user = found.ok_or_else(|| Error::not_found_at("user", "user", name))?;
    call.audits(ctx, audit_entry::Subject::User, &[user]);
    Ok((call, user))
}

/// Whether it is to be told how many items changed.
fn is_counted(ctx: &Context<'_>) -> bool {
    ctx.look_ahead().field("changedCount").exists()
}

async fn apply(
    ctx: &Context<'_>,
    select: InboxItemSelector,
    user: Option<ID>,
    change: Change,
) -> Result<InboxItemsPayload> {
    let (call, user) = subject(ctx, user.as_ref()).await?;
    let (mut items, mut deleted_ids) = (Vec::new(), Vec::new());
    let selection = match select {
        InboxItemSelector::Ids(ids) => {
            check::count("select.ids", ids.len(), IDS)?;
            let open = |(place, id): (usize, &ID)| match call.tenant.seal.open(Kind::Item, id) {
                Some((owner, seq)) if owner == user.0 => Ok(Seq(seq)),
                _ => Err(Error::not_found_at(format!("select.ids[{place}]"), "item", id.as_str())),
            };
            let seqs = ids.iter().enumerate().map(open).collect::<Result<Vec<_>, _>>()?;
            if change == Change::Delete {
                let mut known = HashSet::new();
                deleted_ids = ids.into_iter().filter(|id| known.insert(id.clone())).collect();
            } else {
                items.clone_from(&seqs);
            }
            Selection::Items(seqs)
        }
        InboxItemSelector::Matching(of) => {
            let up_to = of.up_to.map(|cursor| {
                let seq = seq_at(call, user, &cursor);
                seq.ok_or_else(|| Error::bad_input("select.matching.upTo", "is no cursor of this inbox"))
            });
            let target = of.target.map(Into::into);
            Selection::Matching(Match {
                types: of.types,
                target,
                up_to: up_to.transpose()?,
                is_counted: is_counted(ctx),
            })
        }
    };
    let marked = mark::apply(call.app, call.tenant, user, &selection, change).await?;
    Ok(InboxItemsPayload { marked, user, items, deleted_ids })
}

#[derive(Default)]
pub struct MarkMutation;

#[Object]
impl MarkMutation {
    /// Marks items read.
    /// USER on their own inbox, SERVICE on that of `user`.
    async fn mark_read(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items.")] select: InboxItemSelector,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        apply(ctx, select, user, Change::Read).await
    }

    /// Marks items unread.
    /// USER on their own inbox, SERVICE on that of `user`.
    async fn mark_unread(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items.")] select: InboxItemSelector,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        apply(ctx, select, user, Change::Unread).await
    }

    /// Takes items out of the inbox proper and of its counts; whether they are read stays.
    /// USER on their own inbox, SERVICE on that of `user`.
    async fn archive_items(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items.")] select: InboxItemSelector,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        apply(ctx, select, user, Change::Archive).await
    }

    /// Puts archived items back, read or unread as they were.
    /// USER on their own inbox, SERVICE on that of `user`.
    async fn unarchive_items(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items.")] select: InboxItemSelector,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        apply(ctx, select, user, Change::Unarchive).await
    }

    /// Deletes items for good; a match is about the inbox proper, the archive is emptied by ids.
    /// USER on their own inbox, SERVICE on that of `user`.
    async fn delete_items(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items.")] select: InboxItemSelector,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        apply(ctx, select, user, Change::Delete).await
    }

    /// The inbox (or one type of it) was looked at: AUTO types are read and, if it was the whole inbox, nothing is unseen
    /// any more. USER on their own inbox, SERVICE on that of `user`.
    async fn mark_seen(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The code of the message type that was looked at; the whole inbox where it is left out.")]
        r#type: Option<String>,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        let (call, user) = subject(ctx, user.as_ref()).await?;
        let marked = mark::see(call.app, call.tenant, user, r#type.as_deref(), is_counted(ctx)).await?;
        Ok(InboxItemsPayload { marked, user, items: Vec::new(), deleted_ids: Vec::new() })
    }
}
