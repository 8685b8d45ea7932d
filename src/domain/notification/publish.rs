//! Publishing: brings notifications that have a seq to channels and inboxes. Where possible, one statement serves all
//! notifications of a transaction.

use std::collections::HashMap;

use entity::ids::{ChannelId, Seq};
use entity::notification::{Column, Entity as Notifications};
use entity::prelude::*;
use entity::publication;

use super::envelope::{Envelope, Recipients};
use super::{Kind, statement};
use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::channel::{self, Audience, Code};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::hub::Notice;

/// A notification with its seq.
#[derive(Clone, Copy)]
pub(super) struct Publication<'a> {
    pub envelope: &'a Envelope,
    pub seq: Seq,
    pub expires_at: Option<Millis>,
}

/// The channels of notifications: groups, which cannot be deleted before the transaction ends, and targets and senders
/// of reminders.
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
    match (&of.recipients, &of.target, &of.action) {
        (Recipients::Groups, ..) => of.audience.groups.iter().cloned().map(Code::Group).collect(),
        (Recipients::Subscribers, Some(target), Some((action, _))) => {
            let actor = of.sender.map(|sender| Code::Actor(sender.0));
            std::iter::once(target.channel(action)).chain(actor).collect()
        }
        _ => Vec::new(),
    }
}

/// How many of the named users received each notification, if not all did.
pub(super) type Delivered = HashMap<Seq, i64>;

/// Publishes to channels, and adds items to the inboxes of named users. The commit notifies open sessions.
///
/// `channels` is the result of [`listened`] for the same envelopes.
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

/// Inserts publications and returns their channels. A reminder that no user ever subscribed to has none.
async fn publications(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[Publication<'_>],
    channels: &HashMap<Code, Audience>,
) -> Result<Vec<ChannelId>> {
    let mut rows: Vec<[Value; 7]> = Vec::new();
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
        // Only reminders are hidden from their own actor: operators read their own announcements.
        let actor = envelope.sender.filter(|_| envelope.kind == Kind::Reminder);
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
    insert(txn, columns, rows, Existing::Refused).await?;
    heard_by.sort_unstable();
    heard_by.dedup();
    Ok(heard_by)
}

/// Adds messages to the inboxes of their receivers in one statement, and records those that the receivers do not want.
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
    if statement::messages(txn, tenant, &seqs, now).await? == seqs.len() as u64 {
        return Ok(());
    }
    let nobodys = statement::nobodys(txn, tenant, &seqs).await?;
    let undelivered = Notifications::update_of_tenant(tenant.id).filter(Column::Seq.among(txn, &nobodys));
    undelivered.col_expr(Column::DeliveredCount, Expr::val(0_i64)).exec(txn).await?;
    delivered.extend(nobodys.into_iter().map(|seq| (seq, 0)));
    Ok(())
}

/// Adds an announcement to the inboxes of named users, in one statement per thousand, and records how many want it if
/// not all do. If it is also delivered to outbound destinations, stores the named users.
async fn announce_by_name(
    txn: &Transaction,
    tenant: &Tenant,
    of: &Publication<'_>,
    (delivered, now): (&mut Delivered, Millis),
) -> Result<()> {
    let named = of.envelope.named();
    let mut made = 0;
    for users in named.chunks(LIST) {
        made += statement::announcement(txn, tenant, of.seq, users, now).await?;
    }
    if !of.envelope.message_type.delivery.is_empty() {
        for users in named.chunks(LIST) {
            statement::keep_named(txn, tenant, of.seq, users).await?;
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
