//! Sent notifications, for those who sent them: list, changes and retractions.

use async_graphql::{Context, Enum, ID, InputObject, Object, Result};
use entity::audit_entry::SubjectKind;

use super::channel::TargetInput;
use super::connection::{PageArguments, ScannedConnection, names, row_connection};
use super::context::{CallContext, STAFF};
use super::inbox::NotificationKind;
use super::inline::InlineObject;
use super::json::JsonScalar;
use super::notification::{NotificationStatus, SentNotification};
use super::patch::FieldPatch;
use super::scalars::DateTimeScalar;
use base::error::Error;
use domain::notification::{self, ContentChange, NotificationChange, SentFilter};
use model::id_cipher::IdKind;

names!(Notifications, "SentNotificationConnection", "SentNotificationEdge");

/// Filter of sent notifications. They must match all given conditions.
#[derive(InputObject)]
pub struct NotificationFilter {
    /// Codes of message types.
    pub types: Option<Vec<String>>,
    /// Kinds of notifications.
    pub kinds: Option<Vec<NotificationKind>>,
    /// States of notifications.
    pub statuses: Option<Vec<NotificationStatus>>,
    /// Your id of the sender.
    pub sender: Option<ID>,
    /// About this target.
    pub target: Option<TargetInput>,
    /// Published at this instant or later. Scheduled notifications do not match.
    pub since: Option<DateTimeScalar>,
    /// Published before this instant.
    pub until: Option<DateTimeScalar>,
    /// Text anywhere in the title, ignoring case; 1 to 256 characters. The title is the one that was sent, or the
    /// type's if it was sent without one.
    pub text: Option<String>,
}

impl From<NotificationFilter> for SentFilter {
    fn from(input: NotificationFilter) -> Self {
        Self {
            types: input.types,
            kinds: input.kinds.map(|kinds| kinds.into_iter().map(Into::into).collect()),
            statuses: input.statuses.map(|statuses| statuses.into_iter().map(Into::into).collect()),
            sender: input.sender.map(|id| id.0),
            target: input.target.map(Into::into),
            since: input.since.map(|at| at.0),
            until: input.until.map(|at| at.0),
            text: input.text,
        }
    }
}

/// Fields of a notification that can be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum NotificationField {
    /// `title`; only if the type has a template.
    Title,
    /// `body`.
    Body,
    /// `link`.
    Link,
    /// `params`.
    Params,
    /// `data`.
    Data,
    /// `expiresAt`: the type's ttl applies again.
    ExpiresAt,
}

/// Changes to a notification. Absent and null fields stay.
#[derive(InputObject)]
pub struct NotificationPatch {
    /// 1 to 256 characters.
    pub title: Option<String>,
    /// At most 16 KiB.
    pub body: Option<String>,
    /// Where a click leads: an absolute http(s) URL or a path, at most 2,048 characters.
    pub link: Option<String>,
    /// Variables of the type's template, at most 16 KiB of JSON.
    pub params: Option<JsonScalar>,
    /// JSON for the client, at most 16 KiB. The server returns it unchanged.
    pub data: Option<JsonScalar>,
    /// Only while it is scheduled. A time in the past means now.
    pub publish_at: Option<DateTimeScalar>,
    /// In the future.
    pub expires_at: Option<DateTimeScalar>,
    /// Fields to erase. `BAD_USER_INPUT` if one is also given.
    pub clear: Option<Vec<NotificationField>>,
}

impl NotificationPatch {
    fn into_patch(self) -> base::error::Result<NotificationChange> {
        use NotificationField::{Body, Data, ExpiresAt, Link, Params, Title};
        let json = |value: Option<JsonScalar>| value.map(|JsonScalar(value)| value);
        let patching = FieldPatch::from_cleared(self.clear);
        Ok(NotificationChange {
            content: ContentChange {
                title: patching.field_change(Title, self.title)?,
                body: patching.field_change(Body, self.body)?,
                link: patching.field_change(Link, self.link)?,
                params: patching.field_change(Params, json(self.params))?,
                data: patching.field_change(Data, json(self.data))?,
            },
            publish_at: self.publish_at.map(|at| at.0),
            expires_at: patching.field_change(ExpiresAt, self.expires_at.map(|at| at.0))?,
        })
    }
}

#[derive(Default)]
pub struct SentQuery;

#[Object]
impl SentQuery {
    /// The notification with this id; null if it does not exist (any more). SERVICE, ADMIN.
    async fn sent_notification(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `SentNotification`.")] id: ID,
    ) -> Option<Result<SentNotification>> {
        find_sent(ctx, &id).await.transpose()
    }

    /// Sent and scheduled notifications, newest first, in order of submission, or of publication if the filter has a
    /// time. 20 without `first` and `last`. A page with another filter than a target or times scans 10,000
    /// notifications: it may have fewer than requested, or none, and continues at its `endCursor` (`startCursor`). All
    /// pages of one request that filter by `text` scan 10,000 titles together; a page that finds this used up is
    /// `BAD_USER_INPUT`. SERVICE, ADMIN.
    async fn sent_notifications(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which notifications to list. Default: all.")] filter: Option<NotificationFilter>,
        #[graphql(desc = "Page size from the newest on, at most 200.")] first: Option<i32>,
        #[graphql(desc = "Only notifications older than the one at this cursor.")] after: Option<String>,
        #[graphql(
            desc = "Page size from the oldest on, at most 200. Not with `first`, unless exactly one cursor is given: `before` selects `last`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only notifications newer than the one at this cursor.")] before: Option<String>,
    ) -> Result<ScannedConnection<InlineObject<SentNotification>, Notifications>> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let open = |cursor: &str| call.tenant.id_cipher.decode(IdKind::Row, cursor).map(|(_, id)| id);
        let slice = PageArguments::from_field(ctx, (first, after), (last, before)).into_slice(call, open)?;
        let filter = filter.map(Into::into).unwrap_or_default();
        let page = notification::list_page(call.app, call.tenant, &filter, slice, ctx.data_unchecked()).await?;
        let ids: Vec<i64> = page.notifications.iter().map(|of| of.id).collect();
        let rows =
            ids.into_iter().zip(SentNotification::from_notifications(page.notifications).into_iter().map(InlineObject));
        Ok(row_connection(call, &slice, rows, (page.goes_on, page.goes_on_at)))
    }
}

async fn find_sent(ctx: &Context<'_>, id: &ID) -> Result<Option<SentNotification>> {
    let call = CallContext::with_role(ctx, STAFF)?;
    let Some((_, id)) = call.tenant.id_cipher.decode(IdKind::Notification, id) else { return Ok(None) };
    Ok(notification::find_by_id(call.app, call.tenant, id).await?.map(SentNotification::from_notification))
}

#[derive(Default)]
pub struct SentMutation;

#[Object]
impl SentMutation {
    /// Changes a scheduled notification, or amends a published one: every inbox shows the new text at its next read.
    /// `CONFLICT` if it is retracted or has expired. SERVICE, ADMIN.
    async fn update_sent_notification(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `SentNotification`.")] id: ID,
        #[graphql(desc = "What to change.")] input: NotificationPatch,
    ) -> Result<SentNotification> {
        let (call, number) = open_notification_id(ctx, &id)?;
        call.start_audit(ctx, SubjectKind::Notification, &[number]);
        let patch = input.into_patch().map_err(|error| error.with_field_prefix("input"))?;
        let updated = notification::update(call.app, call.tenant, number, &patch).await;
        require_found(&id, updated.map_err(|error| error.with_field_prefix("input"))?)
    }

    /// Takes a notification out of every inbox and its unread count at once; a scheduled one is not published.
    /// Retracting twice is the same as once. SERVICE, ADMIN.
    async fn retract_sent_notification(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `SentNotification`.")] id: ID,
    ) -> Result<SentNotification> {
        let (call, number) = open_notification_id(ctx, &id)?;
        call.start_audit(ctx, SubjectKind::Notification, &[number]);
        require_found(&id, notification::retract(call.app, call.tenant, number).await?)
    }
}

fn open_notification_id<'a>(ctx: &'a Context<'_>, id: &ID) -> Result<(CallContext<'a>, i64)> {
    let call = CallContext::with_role(ctx, STAFF)?;
    let opened = call.tenant.id_cipher.decode(IdKind::Notification, id);
    let (_, number) = opened.ok_or_else(|| Error::not_found("notification", id.as_str()))?;
    Ok((call, number))
}

fn require_found(id: &ID, found: Option<notification::Notification>) -> Result<SentNotification> {
    let found = found.ok_or_else(|| Error::not_found("notification", id.as_str()))?;
    Ok(SentNotification::from_notification(found))
}
