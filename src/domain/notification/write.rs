//! The statements of a send: each one a table, for all that one transaction sends.

use std::collections::HashMap;

use entity::ids::{ChannelId, Seq, UserId};
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, Value};

use super::draft::{Draft, Recipients};
use super::{Kind, Notification};
use crate::clock::Millis;
use crate::domain::channel::{self, Audience, Code};
use crate::domain::preference;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::sql::{Existing, Rows, Sql, insert};

/// Where a transaction's notifications stand in the log: from `first_seq` and `first_id` on, all at one instant.
pub(super) struct Head {
    first_seq: i64,
    first_id: i64,
    published_at: Millis,
    created_at: Millis,
}

/// The channels that reminders are heard on: their targets', and their senders'.
pub(super) async fn listened(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    drafts: &[&Draft],
) -> Result<HashMap<Code, Audience>> {
    let codes: Vec<Code> = drafts.iter().copied().flat_map(heard_on).collect();
    if codes.is_empty() { Ok(HashMap::new()) } else { channel::audiences(db, tenant, &codes).await }
}

fn heard_on(draft: &Draft) -> Vec<Code> {
    let (Some(target), Some((action, _))) = (&draft.target, &draft.action) else { return Vec::new() };
    let actor = draft.sender.map(|sender| Code::Actor(sender.0));
    std::iter::once(target.channel(action)).chain(actor).collect()
}

/// Takes the next `many` places in the log, and with them the lock that every send of the tenant waits for; nothing
/// where the catalogue is at another version.
///
/// The instant never goes back along the log, whatever the clocks of the nodes say.
pub(super) async fn take_seqs(
    txn: &DatabaseTransaction,
    tenant: &Tenant,
    many: usize,
    catalogue_version: i64,
    now: Millis,
) -> Result<Option<Head>> {
    let many = i64::try_from(many).map_err(Error::internal)?;
    let mut sql = Sql::new(txn);
    sql.push("UPDATE tenant SET last_seq = last_seq + ").bind(many);
    sql.push(", last_notification_id = last_notification_id + ").bind(many);
    sql.push(", published_at = CASE WHEN published_at > ").bind(now).push(" THEN published_at ELSE ").bind(now);
    sql.push(" END WHERE id = ").bind(tenant.id).push(" AND catalogue_version = ").bind(catalogue_version);
    let columns = "last_seq, last_notification_id, published_at";
    let row = if sql.backend() == DbBackend::MySql {
        if sql.run(txn).await? == 0 {
            return Ok(None);
        }
        let mut sql = Sql::new(txn);
        sql.push(&format!("SELECT {columns} FROM tenant WHERE id = ")).bind(tenant.id);
        sql.one(txn).await?
    } else {
        sql.push(&format!(" RETURNING {columns}"));
        sql.one(txn).await?
    };
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Head {
        first_seq: row.try_get::<i64>("", "last_seq")? - many + 1,
        first_id: row.try_get::<i64>("", "last_notification_id")? - many + 1,
        published_at: row.try_get("", "published_at")?,
        created_at: now,
    }))
}

/// Stores the notifications, and returns them in the order of the drafts, which is that of their seqs.
pub(super) async fn notifications(
    txn: &DatabaseTransaction,
    tenant: &Tenant,
    drafts: &[&Draft],
    head: &Head,
) -> Result<Vec<Notification>> {
    let mut written = Vec::with_capacity(drafts.len());
    let mut values = Vec::with_capacity(drafts.len());
    for (place, draft) in (0..).zip(drafts.iter().copied()) {
        let notification = notification(draft, head, place);
        values.push(row(tenant, draft, &notification)?);
        written.push(notification);
    }
    insert(txn, Rows { table: "notification", columns: &COLUMNS, values }, Existing::Refused).await?;
    Ok(written)
}

fn notification(draft: &Draft, head: &Head, place: i64) -> Notification {
    let ttl = draft.message_type.ttl_seconds.map(|ttl| head.published_at.saturating_add(ttl.saturating_mul(1000)));
    Notification {
        id: head.first_id + place,
        seq: Seq(head.first_seq + place),
        kind: draft.kind,
        message_type: draft.message_type.clone(),
        title: draft.content.title.clone(),
        body: draft.content.body.clone(),
        link: draft.content.link.clone(),
        data: draft.content.data.clone(),
        sender: draft.sender,
        target: draft.target.clone(),
        action: draft.action.as_ref().map(|(code, _)| code.clone()),
        audience: draft.audience.clone(),
        created_at: head.created_at,
        published_at: head.published_at,
        expires_at: draft.expires_at.or(ttl),
    }
}

const COLUMNS: [&str; 21] = [
    "tenant_id",
    "id",
    "seq",
    "kind",
    "type_id",
    "title",
    "body",
    "link",
    "params",
    "data",
    "sender_id",
    "receiver_id",
    "target_type",
    "target_id",
    "action_id",
    "audience",
    "created_at",
    "published_at",
    "expires_at",
    "idempotency_key",
    "fingerprint",
];

fn row(tenant: &Tenant, draft: &Draft, of: &Notification) -> Result<Vec<Value>> {
    let json = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
    Ok(vec![
        tenant.id.into(),
        of.id.into(),
        of.seq.0.into(),
        (of.kind as i16).into(),
        of.message_type.id.into(),
        of.title.clone().into(),
        of.body.clone().into(),
        of.link.clone().into(),
        json(&draft.content.params).into(),
        json(&of.data).into(),
        of.sender.map(|user| user.0).into(),
        receiver(draft).map(|user| user.0).into(),
        of.target.as_ref().map(|target| target.target_type.clone()).into(),
        of.target.as_ref().map(|target| target.id.clone()).into(),
        draft.action.as_ref().map(|(_, action)| action.0).into(),
        serde_json::to_string(&of.audience).map_err(Error::internal)?.into(),
        of.created_at.into(),
        of.published_at.into(),
        of.expires_at.into(),
        draft.idempotency_key.clone().into(),
        draft.fingerprint.into(),
    ])
}

fn receiver(draft: &Draft) -> Option<UserId> {
    match (&draft.recipients, draft.kind) {
        (Recipients::Users(users), Kind::Message) => users.first().copied(),
        _ => None,
    }
}

/// Publishes to the channels, and returns which. A reminder of which nobody ever wanted to hear is published to none.
pub(super) async fn publications(
    txn: &DatabaseTransaction,
    tenant: &Tenant,
    drafts: &[&Draft],
    written: &[Notification],
    channels: &HashMap<Code, Audience>,
) -> Result<Vec<ChannelId>> {
    let mut values: Vec<Vec<Value>> = Vec::new();
    let mut all = Vec::new();
    for (draft, of) in drafts.iter().zip(written) {
        let mut heard: Vec<ChannelId> = match &draft.recipients {
            Recipients::Everyone => vec![tenant.everyone],
            Recipients::Groups(groups) => groups.clone(),
            Recipients::Users(_) => Vec::new(),
            Recipients::Subscribers => {
                let audiences = heard_on(draft).into_iter().filter_map(|code| channels.get(&code));
                audiences.flat_map(|audience| audience.groups.iter().chain([&audience.channel])).copied().collect()
            }
        };
        heard.sort_unstable();
        heard.dedup();
        // Only what somebody did himself is kept from him: an operator reads his own announcement.
        let actor = draft.sender.filter(|_| draft.kind == Kind::Reminder);
        all.extend_from_slice(&heard);
        for channel in heard {
            values.push(vec![
                channel.into(),
                of.seq.into(),
                tenant.id.into(),
                of.message_type.id.into(),
                draft.action.as_ref().map(|(_, action)| action.0).into(),
                actor.map(|user| user.0).into(),
                of.expires_at.into(),
            ]);
        }
    }
    let columns = &["channel_id", "seq", "tenant_id", "type_id", "action_id", "actor_id", "expires_at"];
    insert(txn, Rows { table: "publication", columns, values }, Existing::Refused).await?;
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Puts what is addressed to users by name into their inboxes, and returns them: all messages in one statement,
/// announcements to named users in one for each thousand of them.
pub(super) async fn items(
    txn: &DatabaseTransaction,
    tenant: &Tenant,
    drafts: &[&Draft],
    written: &[Notification],
) -> Result<Vec<UserId>> {
    let mut named: Vec<UserId> = drafts.iter().filter_map(|draft| receiver(draft)).collect();
    let messages: Vec<Seq> = written.iter().filter(|of| of.kind == Kind::Message).map(|of| of.seq).collect();
    if !messages.is_empty() {
        let mut sql = Sql::new(txn);
        push_items(&mut sql);
        sql.push(" JOIN users u ON u.id = n.receiver_id WHERE n.tenant_id = ").bind(tenant.id);
        sql.push(" AND n.seq").in_ids(&messages).push(" AND ");
        preference::push_wants(&mut sql, tenant, "u.id", "n");
        sql.run(txn).await?;
    }
    for (draft, of) in drafts.iter().zip(written) {
        let (Recipients::Users(users), Kind::Announcement) = (&draft.recipients, draft.kind) else { continue };
        named.extend_from_slice(users);
        for users in users.chunks(1000) {
            let mut sql = Sql::new(txn);
            push_items(&mut sql);
            sql.push(" JOIN users u ON u.tenant_id = n.tenant_id WHERE n.tenant_id = ").bind(tenant.id);
            sql.push(" AND n.seq = ").bind(of.seq).push(" AND u.id").in_ids(users).push(" AND ");
            preference::push_wants(&mut sql, tenant, "u.id", "n");
            sql.run(txn).await?;
        }
    }
    named.sort_unstable();
    named.dedup();
    Ok(named)
}

fn push_items(sql: &mut Sql) {
    sql.push("INSERT INTO inbox_item (user_id, seq, type_id, state, expires_at) SELECT u.id, n.seq, n.type_id, 0, ");
    sql.push("n.expires_at FROM notification n JOIN message_type mt ON mt.id = n.type_id");
}
