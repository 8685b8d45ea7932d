//! Publishing: what brings notifications that have their place in the log to those whom they reach. Each statement is
//! for all that one transaction publishes.

use std::collections::HashMap;

use entity::ids::{ChannelId, Seq, UserId};
use sea_orm::{ConnectionTrait, Value};

use super::Kind;
use super::envelope::{Envelope, Recipients};
use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::channel::{self, Audience, Code};
use crate::domain::preference;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::hub::Notice;
use crate::sql::{Existing, Rows, Sql, insert};

/// A notification at its place in the log.
#[derive(Clone, Copy)]
pub(super) struct Publication<'a> {
    pub envelope: &'a Envelope,
    pub seq: Seq,
    pub expires_at: Option<Millis>,
}

/// The channels that reminders are heard on: their targets', and their senders'.
pub(super) async fn listened(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    envelopes: &[&Envelope],
) -> Result<HashMap<Code, Audience>> {
    let codes: Vec<Code> = envelopes.iter().copied().flat_map(heard_on).collect();
    if codes.is_empty() { Ok(HashMap::new()) } else { channel::audiences(db, tenant, &codes).await }
}

fn heard_on(of: &Envelope) -> Vec<Code> {
    let (Some(target), Some((action, _))) = (&of.target, &of.action) else { return Vec::new() };
    let actor = of.sender.map(|sender| Code::Actor(sender.0));
    std::iter::once(target.channel(action)).chain(actor).collect()
}

/// Publishes to channels, and puts what is addressed to users by name into their inboxes. Returns who has news of it.
///
/// `channels` are those that [`listened`] found for the envelopes.
pub(super) async fn publish(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[Publication<'_>],
    channels: &HashMap<Code, Audience>,
) -> Result<Notice> {
    let mut notice = Notice::of(tenant.id);
    notice.channels = publications(txn, tenant, all, channels).await?;
    notice.users = messages(txn, tenant, all).await?;
    for of in all.iter().filter(|of| of.envelope.kind == Kind::Announcement) {
        notice.users.extend_from_slice(announce_by_name(txn, tenant, of).await?);
    }
    notice.users.sort_unstable();
    notice.users.dedup();
    notice.seqs.extend(all.first().zip(all.last()).map(|(first, last)| (first.seq, last.seq)));
    Ok(notice)
}

/// A reminder of which nobody ever wanted to hear is published to no channel.
async fn publications(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[Publication<'_>],
    channels: &HashMap<Code, Audience>,
) -> Result<Vec<ChannelId>> {
    let mut values: Vec<Vec<Value>> = Vec::new();
    let mut heard_by = Vec::new();
    for Publication { envelope, seq, expires_at } in all {
        let mut heard: Vec<ChannelId> = match &envelope.recipients {
            Recipients::Everyone => vec![tenant.everyone],
            Recipients::Groups(groups) => groups.clone(),
            Recipients::Users(_) => Vec::new(),
            Recipients::Subscribers => {
                let audiences = heard_on(envelope).into_iter().filter_map(|code| channels.get(&code));
                audiences.flat_map(|audience| audience.groups.iter().chain([&audience.channel])).copied().collect()
            }
        };
        heard.sort_unstable();
        heard.dedup();
        // Only what somebody did himself is kept from him: an operator reads his own announcement.
        let actor = envelope.sender.filter(|_| envelope.kind == Kind::Reminder);
        heard_by.extend_from_slice(&heard);
        for channel in heard {
            values.push(vec![
                channel.into(),
                (*seq).into(),
                tenant.id.into(),
                envelope.message_type.id.into(),
                envelope.action.as_ref().map(|(_, action)| action.0).into(),
                actor.map(|user| user.0).into(),
                (*expires_at).into(),
            ]);
        }
    }
    let columns = &["channel_id", "seq", "tenant_id", "type_id", "action_id", "actor_id", "expires_at"];
    insert(txn, Rows { table: "publication", columns, values }, Existing::Refused).await?;
    heard_by.sort_unstable();
    heard_by.dedup();
    Ok(heard_by)
}

/// Puts messages into the inboxes of their receivers, all in one statement, and returns these.
async fn messages(txn: &Transaction, tenant: &Tenant, all: &[Publication<'_>]) -> Result<Vec<UserId>> {
    let messages = all.iter().filter(|of| of.envelope.kind == Kind::Message);
    let seqs: Vec<Seq> = messages.clone().map(|of| of.seq).collect();
    if seqs.is_empty() {
        return Ok(Vec::new());
    }
    let mut sql = Sql::new(txn);
    push_items(&mut sql, tenant, "u.id = n.receiver_id");
    sql.push(" AND n.seq").in_ids(&seqs).push(" AND ");
    preference::push_wants(&mut sql, tenant, "u.id", "n");
    if sql.run(txn).await? < seqs.len() as u64 {
        let mut sql = Sql::new(txn);
        sql.push("UPDATE notification SET delivered_count = 0 WHERE tenant_id = ").bind(tenant.id);
        sql.push(" AND seq").in_ids(&seqs).push(" AND NOT EXISTS (SELECT 1 FROM inbox_item i WHERE i.user_id = ");
        sql.push("notification.receiver_id AND i.seq = notification.seq)");
        sql.run(txn).await?;
    }
    Ok(messages.filter_map(|of| of.envelope.receiver()).collect())
}

/// Puts an announcement to named users into their inboxes, in one statement for each thousand of them.
async fn announce_by_name<'a>(txn: &Transaction, tenant: &Tenant, of: &Publication<'a>) -> Result<&'a [UserId]> {
    let named = of.envelope.named();
    let mut made = 0;
    for users in named.chunks(1000) {
        let mut sql = Sql::new(txn);
        push_items(&mut sql, tenant, "u.tenant_id = n.tenant_id");
        sql.push(" AND n.seq = ").bind(of.seq).push(" AND u.id").in_ids(users).push(" AND ");
        preference::push_wants(&mut sql, tenant, "u.id", "n");
        made += sql.run(txn).await?;
    }
    if made < named.len() as u64 {
        let mut sql = Sql::new(txn);
        sql.push("UPDATE notification SET delivered_count = ").bind(i64::try_from(made).map_err(Error::internal)?);
        sql.push(" WHERE tenant_id = ").bind(tenant.id).push(" AND seq = ").bind(of.seq);
        sql.run(txn).await?;
    }
    Ok(named)
}

/// What has expired before it could be published is nobody's.
fn push_items(sql: &mut Sql, tenant: &Tenant, users: &str) {
    sql.push("INSERT INTO inbox_item (user_id, seq, type_id, state, expires_at) SELECT u.id, n.seq, n.type_id, 0, ");
    sql.push("n.expires_at FROM notification n JOIN message_type mt ON mt.id = n.type_id JOIN users u ON ").push(users);
    sql.push(" WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND (n.expires_at IS NULL OR n.expires_at > n.published_at)");
}
