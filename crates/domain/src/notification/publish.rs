//! Publishing: brings notifications that have a seq to channels and inboxes. Where possible, one statement serves all
//! notifications of a transaction.

use std::collections::HashMap;

use entity::ids::{ChannelId, Seq};
use entity::notification::{Column, Entity as Notifications};
use entity::prelude::*;
use entity::publication;

use super::routing::{NotificationRouting, RecipientIds};
use super::{NotificationKind, queries};
use crate::channel;
use crate::channel::{ChannelAudience, ChannelCode};
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::{Error, Result};
use cluster::hub::Notice;
use store::Transaction;

/// A notification with its seq.
#[derive(Clone, Copy)]
pub(super) struct NewPublication<'a> {
    pub envelope: &'a NotificationRouting,
    pub seq: Seq,
    pub expires_at: Option<Millis>,
}

/// The channels of notifications: groups, which cannot be deleted before the transaction ends, and targets and senders
/// of reminders.
pub(super) async fn load_channels(
    txn: &Transaction,
    tenant: &Tenant,
    envelopes: &[&NotificationRouting],
) -> Result<HashMap<ChannelCode, ChannelAudience>> {
    let codes: Vec<ChannelCode> = envelopes.iter().copied().flat_map(channel_codes).collect();
    let mut channels = channel::find_audiences(txn, tenant, &codes).await?;
    let group = |code| if let ChannelCode::Group(code) = code { Some(code) } else { None };
    let mut groups: Vec<String> = codes.into_iter().filter_map(group).collect();
    groups.sort_unstable();
    groups.dedup();
    for (code, group) in channel::lock_groups(txn, tenant, &groups).await? {
        channels.insert(ChannelCode::Group(code), ChannelAudience { channel: group.channel, groups: Vec::new() });
    }
    Ok(channels)
}

fn channel_codes(of: &NotificationRouting) -> Vec<ChannelCode> {
    match (&of.recipients, &of.target, &of.action) {
        (RecipientIds::Groups, ..) => of.audience.groups.iter().cloned().map(ChannelCode::Group).collect(),
        (RecipientIds::Subscribers, Some(target), Some((action, _))) => {
            let actor = of.sender.map(|sender| ChannelCode::Actor(sender.0));
            std::iter::once(target.channel(action)).chain(actor).collect()
        }
        _ => Vec::new(),
    }
}

/// How many of the named users received each notification, if not all did.
pub(super) type DeliveredCounts = HashMap<Seq, i64>;

/// Publishes to channels, and adds items to the inboxes of named users. The commit notifies open sessions.
///
/// `channels` is the result of [`load_channels`] for the same envelopes.
pub(super) async fn publish_all(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[NewPublication<'_>],
    channels: &HashMap<ChannelCode, ChannelAudience>,
    now: Millis,
) -> Result<DeliveredCounts> {
    let (mut notice, mut delivered) = (Notice::for_tenant(tenant.id), DeliveredCounts::new());
    notice.channels = insert_publications(txn, tenant, all, channels).await?;
    deliver_messages(txn, tenant, all, (&mut delivered, now)).await?;
    for of in all.iter().filter(|of| of.envelope.kind == NotificationKind::Announcement) {
        deliver_announcement(txn, tenant, of, (&mut delivered, now)).await?;
    }
    notice.users.extend(all.iter().flat_map(|of| of.envelope.named_users()));
    notice.users.sort_unstable();
    notice.users.dedup();
    notice.seqs.extend(all.first().zip(all.last()).map(|(first, last)| (first.seq, last.seq)));
    txn.notify(notice);
    Ok(delivered)
}

/// Inserts publications and returns their channels. A reminder that no user ever subscribed to has none.
async fn insert_publications(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[NewPublication<'_>],
    channels: &HashMap<ChannelCode, ChannelAudience>,
) -> Result<Vec<ChannelId>> {
    let mut rows: Vec<[Value; 7]> = Vec::new();
    let mut heard_by = Vec::new();
    for NewPublication { envelope, seq, expires_at } in all {
        let mut heard: Vec<ChannelId> = match &envelope.recipients {
            RecipientIds::Everyone => vec![tenant.everyone],
            RecipientIds::Users(_) => Vec::new(),
            RecipientIds::Groups | RecipientIds::Subscribers => {
                let audiences = channel_codes(envelope).into_iter().filter_map(|code| channels.get(&code));
                audiences.flat_map(|audience| audience.groups.iter().chain([&audience.channel])).copied().collect()
            }
        };
        heard.sort_unstable();
        heard.dedup();
        // Only reminders are hidden from their own actor: operators read their own announcements.
        let actor = envelope.sender.filter(|_| envelope.kind == NotificationKind::Reminder);
        heard_by.extend_from_slice(&heard);
        for channel in heard {
            rows.push([
                channel.into(),
                (*seq).into(),
                tenant.id.into(),
                envelope.message_type.id.into(),
                envelope.action.as_ref().map(|(_, action)| *action).into(),
                actor.into(),
                (*expires_at).into(),
            ]);
        }
    }
    let columns = [
        publication::Column::ChannelId,
        publication::Column::Seq,
        publication::Column::TenantId,
        publication::Column::TypeId,
        publication::Column::ActionId,
        publication::Column::ActorId,
        publication::Column::ExpiresAt,
    ];
    insert(txn, columns, rows, ExistingRows::Refused).await?;
    heard_by.sort_unstable();
    heard_by.dedup();
    Ok(heard_by)
}

/// Adds messages to the inboxes of their receivers in one statement, and records those that the receivers do not want.
async fn deliver_messages(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[NewPublication<'_>],
    (delivered, now): (&mut DeliveredCounts, Millis),
) -> Result<()> {
    let messages = all.iter().filter(|of| of.envelope.kind == NotificationKind::Message);
    let seqs: Vec<Seq> = messages.map(|of| of.seq).collect();
    if seqs.is_empty() {
        return Ok(());
    }
    if queries::insert_message_items(txn, tenant, &seqs, now).await? == seqs.len() as u64 {
        return Ok(());
    }
    let nobodys = queries::find_undelivered(txn, tenant, &seqs).await?;
    let undelivered = Notifications::update_of_tenant(tenant.id).filter(Column::Seq.is_in_list(txn, &nobodys));
    undelivered.col_expr(Column::DeliveredCount, Expr::val(0_i64)).exec(txn).await?;
    delivered.extend(nobodys.into_iter().map(|seq| (seq, 0)));
    Ok(())
}

/// Adds an announcement to the inboxes of named users, in one statement per thousand, and records how many want it if
/// not all do. If it is also delivered to outbound destinations, stores the named users.
async fn deliver_announcement(
    txn: &Transaction,
    tenant: &Tenant,
    of: &NewPublication<'_>,
    (delivered, now): (&mut DeliveredCounts, Millis),
) -> Result<()> {
    let named = of.envelope.named_users();
    let mut made = 0;
    for users in named.chunks(LIST) {
        made += queries::insert_announcement_items(txn, tenant, of.seq, users, now).await?;
    }
    if !of.envelope.message_type.delivery.is_empty() {
        for users in named.chunks(LIST) {
            queries::insert_named_users(txn, tenant, of.seq, users).await?;
        }
    }
    if made < named.len() as u64 {
        let made = i64::try_from(made).map_err(Error::internal)?;
        let short = Notifications::update_of_tenant(tenant.id).filter(Column::Seq.eq(of.seq));
        short.col_expr(Column::DeliveredCount, Expr::val(made)).exec(txn).await?;
        delivered.insert(of.seq, made);
    }
    Ok(())
}
