//! Channels: what notifications are published to and users listen to.
//!
//! Subscribing to a target, following a user and being in a group are the same thing: a row of `subscription`.

mod follow;
mod group;
mod listen;
mod target;

use std::collections::HashMap;

use entity::ids::{ChannelId, UserId};
use sea_orm::{ConnectionTrait, Value};

use super::tenant::Tenant;
use crate::database::Transaction;
use crate::error::{Error, Result};
use crate::sql::{Existing, Rows, Sql, insert};

pub use follow::{follow, following, unfollow};
pub use group::{
    Group, add_members, delete as delete_group, find as find_group, member_counts, of_user as groups_of,
    remove_members, save as save_group,
};
pub use target::{
    Listener, Subscribed, Target, TopicSubscription, resolve_actions, subscribe, subscriptions, unsubscribe,
};

/// What a channel stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum Kind {
    /// All users of the tenant, without a row each.
    Everyone = 0,
    /// A role, user type or segment.
    Group = 1,
    /// An action on a target.
    Target = 2,
    /// All that a user does.
    Actor = 3,
    /// A group that was deleted, or somebody who was erased: who listened keeps what was published to it.
    Deleted = 9,
}

/// A channel as the tenant calls it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// An action on a target.
    Target { target_type: String, target_id: String, action: String },
    /// All that the user with this row does.
    Actor(i64),
}

/// Between the parts of a target's code. Ids contain no control characters, so no two targets are written alike.
const SEPARATOR: char = '\u{1f}';

impl Code {
    fn kind(&self) -> Kind {
        match self {
            Self::Target { .. } => Kind::Target,
            Self::Actor(_) => Kind::Actor,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Target { target_type, target_id, action } => {
                format!("{target_type}{SEPARATOR}{target_id}{SEPARATOR}{action}")
            }
            Self::Actor(user) => user.to_string(),
        }
    }

    /// A target's parts again: type, id, action.
    fn parse_target(text: &str) -> Option<(String, String, String)> {
        let mut parts = text.split(SEPARATOR).map(str::to_owned);
        Some((parts.next()?, parts.next()?, parts.next()?))
    }
}

/// What reminders of one channel are published to: itself, and the groups that are subscribed to it.
#[derive(Clone, Debug)]
pub struct Audience {
    pub channel: ChannelId,
    pub groups: Vec<ChannelId>,
}

/// Those of the channels that exist: nobody ever listened to the others. One statement a kind.
pub async fn audiences(db: &impl ConnectionTrait, tenant: &Tenant, codes: &[Code]) -> Result<HashMap<Code, Audience>> {
    let mut audiences: HashMap<Code, Audience> = HashMap::new();
    for kind in [Kind::Target, Kind::Actor] {
        let wanted: HashMap<String, &Code> =
            codes.iter().filter(|code| code.kind() == kind).map(|code| (code.text(), code)).collect();
        let texts: Vec<&str> = wanted.keys().map(String::as_str).collect();
        for texts in texts.chunks(1000) {
            let mut sql = Sql::new(db);
            sql.push("SELECT c.id, c.code, g.group_channel_id FROM channel c LEFT JOIN group_subscription g ")
                .push("ON g.target_channel_id = c.id WHERE c.tenant_id = ")
                .bind(tenant.id)
                .push(" AND c.kind = ")
                .bind(kind as i16)
                .push(" AND c.code")
                .in_texts(texts);
            for row in sql.all(db).await? {
                let text: String = row.try_get("", "code")?;
                let Some(code) = wanted.get(&text) else { continue };
                let audience = Audience { channel: row.try_get("", "id")?, groups: Vec::new() };
                let audience = audiences.entry((*code).clone()).or_insert(audience);
                audience.groups.extend(row.try_get::<Option<ChannelId>>("", "group_channel_id")?);
            }
        }
    }
    Ok(audiences)
}

/// Nobody hears any more of what a user does. Costs the same however many follow him: the channel lives on, deaf.
pub async fn deafen_actor(txn: &Transaction, tenant: &Tenant, user: UserId) -> Result<()> {
    let code = Code::Actor(user.0);
    if let Some(audience) = audiences(txn, tenant, &[code]).await?.into_values().next() {
        deafen(txn, audience.channel).await?;
    }
    Ok(())
}

/// Takes a channel out of use: what was published to it stays, and its code is free again.
async fn deafen(txn: &Transaction, channel: ChannelId) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("UPDATE channel SET kind = ").bind(Kind::Deleted as i16);
    sql.push(", code = ").bind(channel.to_string()).push(" WHERE id = ").bind(channel);
    sql.run(txn).await?;
    Ok(())
}

/// The rows of channels of one kind, in the order of `codes`, making those that are missing.
async fn open(txn: &Transaction, tenant: &Tenant, codes: &[Code], now: i64) -> Result<Vec<ChannelId>> {
    let existing = audiences(txn, tenant, codes).await?;
    let missing: Vec<&Code> = codes.iter().filter(|code| !existing.contains_key(*code)).collect();
    let mut made = HashMap::new();
    if !missing.is_empty() {
        let row = |code: &&Code| -> Vec<Value> {
            vec![tenant.id.into(), (code.kind() as i16).into(), code.text().into(), now.into()]
        };
        let columns = &["tenant_id", "kind", "code", "created_at"];
        let values = missing.iter().map(row).collect();
        insert(txn, Rows { table: "channel", columns, values }, Existing::Kept).await?;
        let missing: Vec<Code> = missing.into_iter().cloned().collect();
        made = audiences(txn, tenant, &missing).await?;
    }
    codes
        .iter()
        .map(|code| existing.get(code).or(made.get(code)).map(|audience| audience.channel))
        .map(|channel| channel.ok_or_else(|| Error::internal("a channel vanished while being made")))
        .collect()
}
