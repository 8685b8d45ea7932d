//! Sent notifications, for those who sent them: list, changes and retractions.

use async_graphql::{Context, Enum, ID, InputObject, Object, Result};
use entity::audit_entry::Subject;

use super::channel::TargetInput;
use super::connection::{Paging, Walked, by_row, names};
use super::context::{Call, STAFF};
use super::inbox::NotificationKind;
use super::json::Json;
use super::notification::{Notification, NotificationStatus};
use super::patch::Patching;
use super::plain::Plain;
use super::scalars::Instant;
use crate::domain::notification::{self, ContentChange, Filter, Patch};
use crate::error::Error;
use crate::model::seal::Kind;

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
    pub since: Option<Instant>,
    /// Published before this instant.
    pub until: Option<Instant>,
    /// Text anywhere in the title, ignoring case; 1 to 256 characters. The title is the one that was sent, or the
    /// type's if it was sent without one.
    pub text: Option<String>,
}

impl From<NotificationFilter> for Filter {
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
    pub params: Option<Json>,
    /// JSON for the client, at most 16 KiB. The server returns it unchanged.
    pub data: Option<Json>,
    /// Only while it is scheduled. A time in the past means now.
    pub publish_at: Option<Instant>,
    /// In the future.
    pub expires_at: Option<Instant>,
    /// Fields to erase. `BAD_USER_INPUT` if one is also given.
    pub clear: Option<Vec<NotificationField>>,
}

impl NotificationPatch {
    fn patch(self) -> crate::error::Result<Patch> {
        use NotificationField::{Body, Data, ExpiresAt, Link, Params, Title};
        let json = |value: Option<Json>| value.map(|Json(value)| value);
        let patching = Patching::of(self.clear);
        Ok(Patch {
            content: ContentChange {
                title: patching.change(Title, self.title)?,
                body: patching.change(Body, self.body)?,
                link: patching.change(Link, self.link)?,
                params: patching.change(Params, json(self.params))?,
                data: patching.change(Data, json(self.data))?,
            },
            publish_at: self.publish_at.map(|at| at.0),
            expires_at: patching.change(ExpiresAt, self.expires_at.map(|at| at.0))?,
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
    ) -> Option<Result<Notification>> {
        find(ctx, &id).await.transpose()
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
    ) -> Result<Walked<Plain<Notification>, Notifications>> {
        let call = Call::by(ctx, STAFF)?;
        let open = |cursor: &str| call.tenant.seal.open(Kind::Row, cursor).map(|(_, id)| id);
        let slice = Paging::of(ctx, (first, after), (last, before)).slice(call, open)?;
        let filter = filter.map(Into::into).unwrap_or_default();
        let page = notification::page(call.app, call.tenant, &filter, slice, ctx.data_unchecked()).await?;
        let ids: Vec<i64> = page.notifications.iter().map(|of| of.id).collect();
        let rows = ids.into_iter().zip(Notification::list(page.notifications).into_iter().map(Plain));
        Ok(by_row(call, &slice, rows, (page.goes_on, page.goes_on_at)))
    }
}

async fn find(ctx: &Context<'_>, id: &ID) -> Result<Option<Notification>> {
    let call = Call::by(ctx, STAFF)?;
    let Some((_, id)) = call.tenant.seal.open(Kind::Notification, id) else { return Ok(None) };
    Ok(notification::find(call.app, call.tenant, id).await?.map(Notification::alone))
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
    ) -> Result<Notification> {
        let (call, number) = named(ctx, &id)?;
        call.audits(ctx, Subject::Notification, &[number]);
        let patch = input.patch().map_err(|error| error.within("input"))?;
        let updated = notification::update(call.app, call.tenant, number, &patch).await;
        known(&id, updated.map_err(|error| error.within("input"))?)
    }

    /// Takes a notification out of every inbox and its unread count at once; a scheduled one is not published.
    /// Retracting twice is the same as once. SERVICE, ADMIN.
    async fn retract_sent_notification(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `SentNotification`.")] id: ID,
    ) -> Result<Notification> {
        let (call, number) = named(ctx, &id)?;
        call.audits(ctx, Subject::Notification, &[number]);
        known(&id, notification::retract(call.app, call.tenant, number).await?)
    }
}

fn named<'a>(ctx: &'a Context<'_>, id: &ID) -> Result<(Call<'a>, i64)> {
    let call = Call::by(ctx, STAFF)?;
    let opened = call.tenant.seal.open(Kind::Notification, id);
    let (_, number) = opened.ok_or_else(|| Error::not_found("notification", id.as_str()))?;
    Ok((call, number))
}

fn known(id: &ID, found: Option<notification::Notification>) -> Result<Notification> {
    let found = found.ok_or_else(|| Error::not_found("notification", id.as_str()))?;
    Ok(Notification::alone(found))
}
