//! Publishing: what brings notifications that have their place in the log to those whom they reach. Each statement is
//! for all that one transaction publishes.

use std::collections::HashMap;

use entity::ids::{ChannelId, Seq};
use sea_orm::Value;

use super::Kind;
use super::envelope::{Envelope, Recipients};
use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::channel::{self, Audience, Code};
use crate::domain::preference;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::hub::Notice;
use crate::sql::{Existing, LIST, Rows, Sql, insert};

/// A notification at its place in the log.
#[derive(Clone, Copy)]
pub(super) struct Publication<'a> {
    pub envelope: &'a Envelope,
    pub seq: Seq,
    pub expires_at: Option<Millis>,
}

/// The channels that notifications are heard on: of groups, which are not deleted before the transaction ends, and of
/// reminders' targets and senders.
pub(super) async fn listened(
    txn: &Transaction,
    tenant: &Tenant,
    envelopes: &[&Envelope],
) -> Result<HashMap<Code, Audience>> {
    let codes: Vec<Code> = envelopes.iter().copied().flat_map(heard_on).collect();
    let mut channels = channel::audiences(txn, tenant, &codes).await?;
    let group = |code| if let Code::Group(code) = code { Some(code) } else { None };
    let mut groups: Vec<String> = codes.into_iter().filter_map(group).collect();
    groups.sort_unstable();
    groups.dedup();
    for (code, group) in channel::held_groups(txn, tenant, &groups).await? {
        channels.insert(Code::Group(code), Audience { channel: group.channel, groups: Vec::new() });
    }
    Ok(channels)
}

fn heard_on(of: &Envelope) -> Vec<Code> {
    if let Recipients::Groups = of.recipients {
        return of.audience.groups.iter().cloned().map(Code::Group).collect();
    }
    let (Some(target), Some((action, _))) = (&of.target, &of.action) else { return Vec::new() };
    let actor = of.sender.map(|sender| Code::Actor(sender.0));
    std::iter::once(target.channel(action)).chain(actor).collect()
}

/// How many of those who were addressed by name got something, where not all of them did.
pub(super) type Delivered = HashMap<Seq, i64>;

/// Publishes to channels, and puts what is addressed to users by name into their inboxes. Whoever has news of it is told once
/// it is committed.
///
/// `channels` are those that [`listened`] found for the envelopes.
pub(super) async fn publish(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[Publication<'_>],
    channels: &HashMap<Code, Audience>,
    now: Millis,
) -> Result<Delivered> {
    let (mut notice, mut delivered) = (Notice::of(tenant.id), Delivered::new());
    notice.channels = publications(txn, tenant, all, channels).await?;
    messages(txn, tenant, all, (&mut delivered, now)).await?;
    for of in all.iter().filter(|of| of.envelope.kind == Kind::Announcement) {
        announce_by_name(txn, tenant, of, (&mut delivered, now)).await?;
    }
    notice.users.extend(all.iter().flat_map(|of| of.envelope.named()));
    notice.users.sort_unstable();
    notice.users.dedup();
    notice.seqs.extend(all.first().zip(all.last()).map(|(first, last)| (first.seq, last.seq)));
    txn.tell(notice);
    Ok(delivered)
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
            Recipients::Users(_) => Vec::new(),
            Recipients::Groups | Recipients::Subscribers => {
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

/// Puts messages into the inboxes of their receivers, all in one statement, and notes those that nobody wants.
async fn messages(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[Publication<'_>],
    (delivered, now): (&mut Delivered, Millis),
) -> Result<()> {
    let messages = all.iter().filter(|of| of.envelope.kind == Kind::Message);
    let seqs: Vec<Seq> = messages.map(|of| of.seq).collect();
    if seqs.is_empty() {
        return Ok(());
    }
    let mut sql = Sql::new(txn);
    push_items(&mut sql, tenant, "u.id = n.receiver_id", now);
    sql.push(" AND n.seq").among(&seqs).push(" AND ");
    preference::push_wants(&mut sql, tenant, "u.id", "n");
    if sql.run(txn).await? == seqs.len() as u64 {
        return Ok(());
    }
    let mut sql = Sql::new(txn);
    sql.push("SELECT n.seq FROM notification n WHERE n.tenant_id = ").bind(tenant.id).push(" AND n.seq").among(&seqs);
    sql.push(" AND NOT EXISTS (SELECT 1 FROM inbox_item i WHERE i.user_id = n.receiver_id AND i.seq = n.seq)");
    let rows = sql.all(txn).await?;
    let nobodys: Vec<Seq> = rows.iter().map(|row| row.try_get("", "seq")).collect::<std::result::Result<_, _>>()?;
    let mut sql = Sql::new(txn);
    sql.push("UPDATE notification SET delivered_count = 0 WHERE tenant_id = ").bind(tenant.id);
    sql.push(" AND seq").among(&nobodys);
    sql.run(txn).await?;
    delivered.extend(nobodys.into_iter().map(|seq| (seq, 0)));
    Ok(())
}

/// Puts an announcement to named users into their inboxes, in one statement for each thousand of them, and notes how many
/// want it where not all do.
async fn announce_by_name(
    txn: &Transaction,
    tenant: &Tenant,
    of: &Publication<'_>,
    (delivered, now): (&mut Delivered, Millis),
) -> Result<()> {
    let named = of.envelope.named();
    let mut made = 0;
    for users in named.chunks(LIST) {
        let mut sql = Sql::new(txn);
        push_items(&mut sql, tenant, "u.tenant_id = n.tenant_id", now);
        sql.push(" AND n.seq = ").bind(of.seq).push(" AND u.id").among(users).push(" AND ");
        preference::push_wants(&mut sql, tenant, "u.id", "n");
        made += sql.run(txn).await?;
    }
    if made < named.len() as u64 {
        let made = i64::try_from(made).map_err(Error::internal)?;
        let mut sql = Sql::new(txn);
        sql.push("UPDATE notification SET delivered_count = ").bind(made);
        sql.push(" WHERE tenant_id = ").bind(tenant.id).push(" AND seq = ").bind(of.seq);
        sql.run(txn).await?;
        delivered.insert(of.seq, made);
    }
    Ok(())
}

/// What has expired before it could be published is nobody's.
fn push_items(sql: &mut Sql, tenant: &Tenant, users: &str, now: Millis) {
    sql.push("INSERT INTO inbox_item (user_id, seq, type_id, state, expires_at) SELECT u.id, n.seq, n.type_id, 0, ");
    sql.push("n.expires_at FROM notification n JOIN message_type mt ON mt.id = n.type_id JOIN users u ON ").push(users);
    sql.push(" WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND (n.expires_at IS NULL OR n.expires_at > ").bind(now).push(")");
}
