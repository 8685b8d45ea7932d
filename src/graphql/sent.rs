//! What was sent, for those who sent it: the list, changes and retractions.

use async_graphql::connection::Edge;
use async_graphql::{Context, ID, InputObject, Json, MaybeUndefined, Object, Result};
use serde_json::Value;

use super::channel::TargetInput;
use super::connection::{Walked, names, size};
use super::context::{Call, STAFF};
use super::inbox::NotificationKind;
use super::notification::{Notification, NotificationStatus};
use super::plain::Plain;
use super::scalars::Instant;
use super::send::ContentInput;
use crate::domain::notification::{self, ContentChange, Filter, Patch};
use crate::error::Error;
use crate::model::seal::Kind;

names!(Notifications, "NotificationConnection", "NotificationEdge");

/// What to list; conditions left out do not count.
#[derive(InputObject)]
pub struct NotificationFilter {
    /// Codes of message types.
    pub types: Option<Vec<String>>,
    pub kinds: Option<Vec<NotificationKind>>,
    pub statuses: Option<Vec<NotificationStatus>>,
    /// The partner's id of a user.
    pub sender: Option<ID>,
    pub target: Option<TargetInput>,
}

impl From<NotificationFilter> for Filter {
    fn from(input: NotificationFilter) -> Self {
        Self {
            types: input.types,
            kinds: input.kinds.map(|kinds| kinds.into_iter().map(Into::into).collect()),
            statuses: input.statuses.map(|statuses| statuses.into_iter().map(Into::into).collect()),
            sender: input.sender.map(|id| id.0),
            target: input.target.map(Into::into),
        }
    }
}

/// What to change of a notification; what is left out stays.
#[derive(InputObject)]
pub struct NotificationPatch {
    /// Of what it says, a field left out stays, and null clears it.
    pub content: Option<ContentInput>,
    /// Only while it is scheduled. What is past means at once.
    pub publish_at: Option<Instant>,
    /// In the future. Null: by the type's ttl again.
    pub expires_at: MaybeUndefined<Instant>,
}

impl From<ContentInput> for ContentChange {
    fn from(input: ContentInput) -> Self {
        let json = |value: MaybeUndefined<Json<Value>>| value.map_value(|Json(value)| value).into();
        Self {
            title: input.title.into(),
            body: input.body.into(),
            link: input.link.into(),
            params: json(input.params),
            data: json(input.data),
        }
    }
}

impl From<NotificationPatch> for Patch {
    fn from(input: NotificationPatch) -> Self {
        Self {
            content: input.content.map(Into::into),
            publish_at: input.publish_at.map(|at| at.0),
            expires_at: input.expires_at.map_value(|at| at.0).into(),
        }
    }
}

#[derive(Default)]
pub struct SentQuery;

#[Object]
impl SentQuery {
    /// What was sent under this id; null where there is nothing (any more). SERVICE, ADMIN.
    async fn notification(&self, ctx: &Context<'_>, id: ID) -> Option<Result<Notification>> {
        find(ctx, &id).await.transpose()
    }

    /// What was sent or is scheduled, newest first. A page that is filtered, but for a target, looks at 10,000 notifications: it
    /// may have fewer than were asked for, or none, and go on at its `endCursor`. ADMIN, SERVICE.
    async fn notifications(
        &self,
        ctx: &Context<'_>,
        filter: Option<NotificationFilter>,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Walked<Plain<Notification>, Notifications>> {
        let call = Call::by(ctx, STAFF)?;
        let many = size(call, "first", first)?;
        let open = |cursor: &String| {
            let place = call.tenant.seal.open(Kind::Row, cursor);
            place.map(|(_, id)| id).ok_or_else(|| Error::bad_input("after", "is no cursor of this list"))
        };
        let before = after.as_ref().map(open).transpose()?;
        let filter = filter.map(Into::into).unwrap_or_default();
        let page = notification::page(call.app, call.tenant, &filter, many, before).await?;
        let cursor = |id: i64| call.tenant.seal.close(Kind::Row, 0, id);
        let ids: Vec<i64> = page.notifications.iter().map(|of| of.id).collect();
        let edges = Notification::list(page.notifications).into_iter().zip(ids);
        Ok(Walked {
            has_previous_page: after.is_some(),
            has_next_page: page.goes_on_at.is_some(),
            ends: (None, page.goes_on_at.map(cursor)),
            edges: edges.map(|(of, id)| Edge::new(cursor(id), Plain(of))).collect(),
        })
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
    async fn update_notification(&self, ctx: &Context<'_>, id: ID, input: NotificationPatch) -> Result<Notification> {
        let (call, number) = named(ctx, &id)?;
        known(&id, notification::update(call.app, call.tenant, number, &input.into()).await?)
    }

    /// Takes it out of every inbox, whose unread counts follow at once; what is scheduled is not published. Retracting twice
    /// is the same as once. SERVICE, ADMIN.
    async fn retract_notification(&self, ctx: &Context<'_>, id: ID) -> Result<Notification> {
        let (call, number) = named(ctx, &id)?;
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
