//! Marks: state changes of items, by users or by tenants' backends for them.

use std::collections::HashSet;
use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, OneofObject, Result};
use entity::audit_entry;
use entity::ids::{Seq, UserId};

use super::account::MutationSubject;
use super::catalogue::MessageType;
use super::channel::TargetInput;
use super::context::CallContext;
use super::inbox::{InboxItem, open_cursor};
use super::inline::InlineObject;
use super::scalars::to_int;
use auth::CallerRole;
use base::error::Error;
use domain::catalogue;
use domain::inbox::item;
use domain::inbox::mark::{self, ItemChange, MarkFilter, MarkOutcome, MarkSelection};
use model::id_cipher::IdKind;
use model::validate;

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
    marked: MarkOutcome,
    user: UserId,
    items: Vec<Seq>,
    deleted_ids: Vec<ID>,
}

/// The result of a mark.
#[Object]
impl InboxItemsPayload {
    /// How many items changed.
    async fn changed_count(&self) -> i32 {
        to_int(self.marked.changed_count)
    }

    /// With `ids`: all of these items that still exist, changed or not, after the call. Empty with `matching`.
    async fn items(&self, ctx: &Context<'_>) -> Result<Vec<InlineObject<InboxItem>>> {
        let call = CallContext::from_context(ctx);
        let items = Box::pin(item::find_items(call.app, call.tenant, self.user, &self.items)).await?;
        Ok(items.into_iter().map(InboxItem).map(InlineObject).collect())
    }

    /// The given ids, if items were deleted by ids; else empty.
    async fn deleted_ids(&self) -> &[ID] {
        &self.deleted_ids
    }

    /// The types of the items that changed, in catalogue order.
    async fn affected_types(&self) -> Vec<InlineObject<MessageType>> {
        let types: &[Arc<catalogue::MessageType>] = &self.marked.types;
        types.iter().cloned().map(MessageType).map(InlineObject).collect()
    }

    #[graphql(flatten)]
    fn subject(&self) -> MutationSubject {
        MutationSubject(Some(self.user))
    }
}

/// The user of the inbox: the token's user, or the one named by a service. `NOT_FOUND` if the tenant does not know the
/// user.
async fn find_inbox_owner<'a>(ctx: &'a Context<'_>, user: Option<&ID>) -> Result<(CallContext<'a>, UserId)> {
    let call = CallContext::with_role(ctx, &[CallerRole::User, CallerRole::Service])?;
    let name = call.subject_name("user", user)?;
    if call.viewer.role == CallerRole::User {
        return Ok((call, call.mention_subject("user", None).await?));
    }
    let found = call.find_user("user", name).await?;
    let user = found.ok_or_else(|| Error::not_found_at("user", "user", name))?;
    call.start_audit(ctx, audit_entry::SubjectKind::User, &[user]);
    Ok((call, user))
}

/// Whether the query selects `changedCount`.
fn is_count_selected(ctx: &Context<'_>) -> bool {
    ctx.look_ahead().field("changedCount").exists()
}

async fn apply_mark(
    ctx: &Context<'_>,
    select: InboxItemSelector,
    user: Option<ID>,
    change: ItemChange,
) -> Result<InboxItemsPayload> {
    let (call, user) = find_inbox_owner(ctx, user.as_ref()).await?;
    let (mut items, mut deleted_ids) = (Vec::new(), Vec::new());
    let selection = match select {
        InboxItemSelector::Ids(ids) => {
            validate::at_most("select.ids", ids.len(), IDS)?;
            let open = |(place, id): (usize, &ID)| match call.tenant.id_cipher.decode(IdKind::Item, id) {
                Some((owner, seq)) if owner == user.0 => Ok(Seq(seq)),
                _ => Err(Error::not_found_at(format!("select.ids[{place}]"), "item", id.as_str())),
            };
            let seqs = ids.iter().enumerate().map(open).collect::<Result<Vec<_>, _>>()?;
            if change == ItemChange::Delete {
                let mut known = HashSet::new();
                deleted_ids = ids.into_iter().filter(|id| known.insert(id.clone())).collect();
            } else {
                items.clone_from(&seqs);
            }
            MarkSelection::Items(seqs)
        }
        InboxItemSelector::Matching(of) => {
            let up_to = of.up_to.map(|cursor| {
                let seq = open_cursor(call, user, &cursor);
                seq.ok_or_else(|| Error::bad_input("select.matching.upTo", "is not a cursor of this inbox"))
            });
            let target = of.target.map(Into::into);
            MarkSelection::Matching(MarkFilter {
                types: of.types,
                target,
                up_to: up_to.transpose()?,
                is_counted: is_count_selected(ctx),
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
        apply_mark(ctx, select, user, ItemChange::Read).await
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
        apply_mark(ctx, select, user, ItemChange::Unread).await
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
        apply_mark(ctx, select, user, ItemChange::Archive).await
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
        apply_mark(ctx, select, user, ItemChange::Unarchive).await
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
        apply_mark(ctx, select, user, ItemChange::Delete).await
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
        let (call, user) = find_inbox_owner(ctx, user.as_ref()).await?;
        let marked = mark::record_seen(call.app, call.tenant, user, r#type.as_deref(), is_count_selected(ctx)).await?;
        Ok(InboxItemsPayload { marked, user, items: Vec::new(), deleted_ids: Vec::new() })
    }
}
