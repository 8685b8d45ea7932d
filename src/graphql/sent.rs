//! What was sent, for those who sent it: the list, changes and retractions.

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

/// What to list; conditions left out do not count.
#[derive(InputObject)]
pub struct NotificationFilter {
    /// Codes of message types.
    pub types: Option<Vec<String>>,
    /// Of one of these kinds.
    pub kinds: Option<Vec<NotificationKind>>,
    /// In one of these states.
    pub statuses: Option<Vec<NotificationStatus>>,
    /// The partner's id of a user.
    pub sender: Option<ID>,
    /// About this target.
    pub target: Option<TargetInput>,
    /// Published at this instant or later. What is scheduled is not published yet.
    pub since: Option<Instant>,
    /// Published before this instant.
    pub until: Option<Instant>,
    /// What its title has in it, wherever, without regard to case; 1 to 256 characters. The title is the one that was sent, and the
    /// type's where it was sent without one.
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

/// What can be erased of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum NotificationField {
    /// `title`; only where the type has a template.
    Title,
    /// `body`.
    Body,
    /// `link`.
    Link,
    /// `params`.
    Params,
    /// `data`.
    Data,
    /// `expiresAt`: by the type's ttl again.
    ExpiresAt,
}

/// What to change of a notification; what is left out, or null, stays.
#[derive(InputObject)]
pub struct NotificationPatch {
    /// 1 to 256 characters.
    pub title: Option<String>,
    /// 16 KiB at most.
    pub body: Option<String>,
    /// Where a click leads: an absolute http(s) URL or a path; 2,048 characters at most.
    pub link: Option<String>,
    /// For the type's template; 16 KiB of JSON at most.
    pub params: Option<Json>,
    /// For the client, untouched; 16 KiB of JSON at most.
    pub data: Option<Json>,
    /// Only while it is scheduled. What is past means at once.
    pub publish_at: Option<Instant>,
    /// In the future.
    pub expires_at: Option<Instant>,
    /// What to erase of it; nothing that is given as well.
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
    /// What was sent under this id; null where there is nothing (any more). SERVICE, ADMIN.
    async fn sent_notification(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `SentNotification`.")] id: ID,
    ) -> Option<Result<Notification>> {
        find(ctx, &id).await.transpose()
    }

    /// What was sent or is scheduled, newest first: as it was handed in, and where the filter is about a time, as it was published. 20
    /// where neither `first` nor `last` is given. A page that is filtered, but by a target or by times alone, looks at 10,000
    /// notifications: it may have fewer than were asked for, or none, and go on at its `endCursor` (`startCursor`). All pages of one request
    /// that are filtered by `text` look at 10,000 titles together; one for which nothing is left is an error. ADMIN, SERVICE.
    async fn sent_notifications(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which notifications; all where it is left out.")] filter: Option<NotificationFilter>,
        #[graphql(desc = "So many from the newest on, 200 at the most.")] first: Option<i32>,
        #[graphql(desc = "Only older ones than the notification at this cursor.")] after: Option<String>,
        #[graphql(
            desc = "So many from the oldest on, 200 at the most; not with `first`, unless `before` alone is given."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only newer ones than the notification at this cursor.")] before: Option<String>,
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
    /// Changes what is scheduled, or amends what is published: every inbox shows the new text at its next read. `CONFLICT`
    /// where it is retracted or has expired. SERVICE, ADMIN.
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

    /// Takes it out of every inbox, whose unread counts follow at once; what is scheduled is not published. Retracting twice
    /// is the same as once. SERVICE, ADMIN.
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
