//! Marks: state changes of items, by users or by tenants' backends for them.

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

/// Most ids per call.
const IDS: usize = 1000;

/// Items of an inbox: by ids, or all that match.
#[derive(OneofObject)]
pub enum InboxItemSelector {
    /// At most 1,000 ids. Deleted and expired items are skipped.
    Ids(Vec<ID>),
    /// Every item that matches. An empty match selects the whole inbox.
    Matching(InboxItemMatch),
}

/// Items of a bulk mark. They must match all given conditions.
#[derive(InputObject)]
pub struct InboxItemMatch {
    /// Codes of message types.
    pub types: Option<Vec<String>>,
    /// About this target.
    pub target: Option<TargetInput>,
    /// Up to and including the item at this cursor, so that items that arrive during the click stay as they are.
    pub up_to: Option<String>,
}

/// The result of a mark.
pub struct InboxItemsPayload {
    marked: Marked,
    user: UserId,
    items: Vec<Seq>,
    deleted_ids: Vec<ID>,
}

/// The result of a mark.
#[Object]
impl InboxItemsPayload {
    /// How many items changed.
    async fn changed_count(&self) -> i32 {
        int(self.marked.changed_count)
    }

    /// With `ids`: all of these items that still exist, changed or not, after the call. Empty with `matching`.
    async fn items(&self, ctx: &Context<'_>) -> Result<Vec<Plain<InboxItem>>> {
        let call = Call::of(ctx);
        let items = Box::pin(item::find(call.app, call.tenant, self.user, &self.items)).await?;
        Ok(items.into_iter().map(InboxItem).map(Plain).collect())
    }

    /// The given ids, if items were deleted by ids; else empty.
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

/// The user of the inbox: the token's user, or the one named by a service. `NOT_FOUND` if the tenant does not know the
/// user.
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

/// Whether the query selects `changedCount`.
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
                seq.ok_or_else(|| Error::bad_input("select.matching.upTo", "is not a cursor of this inbox"))
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
        #[graphql(desc = "Your id of the user. Default for USER: the token's user. All other roles must name one.")]
        user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        apply(ctx, select, user, Change::Read).await
    }

    /// Marks items unread.
    /// USER on their own inbox, SERVICE on that of `user`.
    async fn mark_unread(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items.")] select: InboxItemSelector,
        #[graphql(desc = "Your id of the user. Default for USER: the token's user. All other roles must name one.")]
        user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        apply(ctx, select, user, Change::Unread).await
    }

    /// Archives items, which leave the inbox and its counts. They stay read or unread as they are.
    /// USER on their own inbox, SERVICE on that of `user`.
    async fn archive_items(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items.")] select: InboxItemSelector,
        #[graphql(desc = "Your id of the user. Default for USER: the token's user. All other roles must name one.")]
        user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        apply(ctx, select, user, Change::Archive).await
    }

    /// Puts archived items back into the inbox, read or unread as they were.
    /// USER on their own inbox, SERVICE on that of `user`.
    async fn unarchive_items(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items.")] select: InboxItemSelector,
        #[graphql(desc = "Your id of the user. Default for USER: the token's user. All other roles must name one.")]
        user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        apply(ctx, select, user, Change::Unarchive).await
    }

    /// Deletes items for good. `matching` leaves out archived items; delete those by `ids`.
    /// USER on their own inbox, SERVICE on that of `user`.
    async fn delete_items(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items.")] select: InboxItemSelector,
        #[graphql(desc = "Your id of the user. Default for USER: the token's user. All other roles must name one.")]
        user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        apply(ctx, select, user, Change::Delete).await
    }

    /// The user looked at the inbox, or at one type: items of AUTO types become read and, for the whole inbox, nothing
    /// is unseen any more. USER on their own inbox, SERVICE on that of `user`.
    async fn mark_seen(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the message type that the user looked at. Default: the whole inbox.")] r#type: Option<
            String,
        >,
        #[graphql(desc = "Your id of the user. Default for USER: the token's user. All other roles must name one.")]
        user: Option<ID>,
    ) -> Result<InboxItemsPayload> {
        let (call, user) = subject(ctx, user.as_ref()).await?;
        let marked = mark::see(call.app, call.tenant, user, r#type.as_deref(), is_counted(ctx)).await?;
        Ok(InboxItemsPayload { marked, user, items: Vec::new(), deleted_ids: Vec::new() })
    }
}
