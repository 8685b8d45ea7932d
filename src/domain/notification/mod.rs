//! Notifications: stored once each, however many users they reach.

mod alarm;
mod amend;
mod audience;
mod batch;
mod bring;
mod commit;
mod draft;
mod envelope;
mod explain;
mod grouped;
mod input;
mod key;
mod list;
mod pace;
mod publish;
mod raise;
mod schedule;
mod send;
mod show;
mod state;
mod statement;
mod strict;
mod webhook;
mod write;

use entity::action;
use entity::notification::{self, Column, Entity as Notifications, Relation};
use entity::prelude::*;
use sea_orm::Select;

use super::catalogue::{self, Catalogue};
use super::channel::Target;
use super::tenant::Tenant;
use crate::app::App;
use crate::error::{Error, Result};
use crate::model::actor::Actor;
use key::Kept;

pub use crate::model::content::{Content, ContentChange};
pub use crate::model::notification::{Audience, Notification, Raised, Status};
pub use alarm::{alarming, check_alarm};
pub use amend::{Patch, retract, retract_within, update};
pub use audience::{Size, audience_size};
pub use batch::Outdated;
pub use bring::{Brought, Foretold, bring, unfit, would_bring};
pub use entity::notification::Kind;
pub use explain::{Decision, Explanation, Rule, Step, explain};
pub use input::{Addressees, Input, Past};
pub use key::OF_USERS;
pub use list::{Filter, Page, SearchBudget, page, sent_by};
pub use pace::{Pace, pace};
pub use raise::{Raising, has_raised, raisable, raise, raising, reword};
pub use schedule::publish_due;
pub use send::{Sent, send};
pub use show::{Shown, content, shown};

/// The notification with this number.
pub async fn find(app: &App, tenant: &Tenant, id: i64) -> Result<Option<Notification>> {
    Ok(load(app, tenant, &[id]).await?.pop())
}

/// The notifications of a tenant with these numbers, in any order.
pub async fn load(app: &App, tenant: &Tenant, ids: &[i64]) -> Result<Vec<Notification>> {
    let db = &app.db.read;
    let stored: Vec<Row> = stored(tenant).filter(Column::Id.among(db, ids)).into_model().all(db).await?;
    let catalogue = catalogue::current(app, tenant).await?;
    stored.into_iter().map(|row| row.read(&catalogue)).collect()
}

/// A stored notification with the code of its action.
#[derive(FromQueryResult)]
struct Row {
    #[sea_orm(nested)]
    of: notification::Model,
    action: Option<String>,
}

/// Selects a tenant's notifications as [`Row`]s. Callers add conditions.
fn stored(tenant: &Tenant) -> Select<Notifications> {
    let stored = Notifications::of_tenant(tenant.id).join(JoinType::LeftJoin, Relation::Action.def());
    stored.column_as(action::Column::Code, "action")
}

impl Row {
    fn read(self, catalogue: &Catalogue) -> Result<Notification> {
        let Self { of, action } = self;
        let json =
            |text: Option<String>| text.map(|text| serde_json::from_str(&text)).transpose().map_err(Error::internal);
        let message_type = catalogue.type_by_id(of.type_id).cloned();
        Ok(Notification {
            id: of.id,
            seq: of.seq,
            kind: of.kind,
            message_type: message_type
                .ok_or_else(|| Error::internal(format!("message type {} is not in the catalogue", of.type_id)))?,
            content: Content {
                title: of.title,
                body: of.body,
                link: of.link,
                params: json(of.params)?,
                data: json(of.data)?,
            },
            sender: of.sender_id,
            receiver: of.receiver_id,
            target: of.target_type.zip(of.target_id).map(|(target_type, id)| Target { target_type, id }),
            action,
            audience: serde_json::from_str(&of.audience).map_err(Error::internal)?,
            created_at: of.created_at,
            publish_at: of.publish_at,
            published_at: of.published_at,
            expires_at: of.expires_at,
            updated_at: of.updated_at,
            retracted_at: of.retracted_at,
            audience_size: of.audience_size,
            delivered_count: of.delivered_count,
            read_count: of.read_count,
            raised: raised(of.rule, of.row_key.as_deref())?,
            sent_by: of.sent_by.as_deref().and_then(Actor::read),
        })
    }
}

fn raised(rule: Option<String>, key: Option<&str>) -> Result<Option<Raised>> {
    let Some((rule, key)) = rule.zip(key) else { return Ok(None) };
    Ok(Some(Raised { rule, key: serde_json::from_str(key).map_err(Error::internal)? }))
}

/// The notifications sent under these stored idempotency keys, each with its key.
async fn by_keys(db: &impl ConnectionTrait, tenant: &Tenant, keys: &[&str]) -> Result<Vec<(String, Kept)>> {
    let mut found = Vec::new();
    for keys in keys.chunks(LIST) {
        let some = statement::with_keys(db, tenant, keys).rows::<statement::Keyed>(db).await?;
        let kept = |of: statement::Keyed| {
            (of.idempotency_key, Kept { id: of.id, fingerprint: of.fingerprint, publish_at: of.publish_at })
        };
        found.extend(some.into_iter().map(kept));
    }
    Ok(found)
}
