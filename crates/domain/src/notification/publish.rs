//! Publishing: gives notifications their seqs and rows, and brings them to channels and inboxes. Where possible, one statement serves all
//! notifications of a transaction.

use std::collections::HashMap;

use entity::ids::{ChannelId, Seq};
use entity::notification::{Column, Entity as Notifications};
use entity::prelude::{ExistingRows, Value, insert, *};
use entity::publication;
use serde_json::Value as Json;

use super::draft::{NotificationDraft, NotificationRouting, RecipientIds};
use super::{Notification, NotificationKind, queries};
use crate::channel::{self, ChannelAudience, ChannelCode};
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::{Error, Result};
use cluster::hub::Notice;
use model::actor::StaffActor;
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

/// The place of a transaction's notifications in the log: from `first_seq` and `first_id` on. All have the same time
/// except imported ones.
pub(super) struct LogAllocation {
    pub first_seq: i64,
    pub first_id: i64,
    /// The time of the log entries, also shown to users. Expiry does not depend on it.
    pub published_at: Millis,
    /// No imported notification has an earlier time than this.
    before: Millis,
    /// How many users the tenant has erased. It cannot change while the tenant's row is locked.
    pub erased_count: i64,
    /// The current time.
    pub now: Millis,
}

/// How many seqs and notification numbers a transaction takes.
#[derive(Clone, Copy)]
pub(super) struct AllocationRequest {
    pub seqs: usize,
    pub ids: usize,
    /// The version of the catalogue that all drafts were prepared with.
    pub catalogue_version: i64,
    /// The earliest time for the last entry.
    pub at: Millis,
    /// Whether some are imported and have times of their own.
    pub holds_past: bool,
}

/// Takes the next seqs, and with them the row lock that every send of the tenant waits for. `None` if the catalogue has
/// another version.
///
/// Times never decrease along the log while the clocks of the nodes differ by less than [`LEAD`]. An entry further
/// ahead was written by a wrong clock: the next one gets the current time again.
pub(super) async fn allocate_entries(
    txn: &Transaction,
    tenant: &Tenant,
    take: AllocationRequest,
    now: Millis,
) -> Result<Option<LogAllocation>> {
    let seqs = i64::try_from(take.seqs).map_err(Error::internal)?;
    let ids = i64::try_from(take.ids).map_err(Error::internal)?;
    let newest = if take.holds_past { queries::newest_entry_at(txn, tenant).await? } else { 0 };
    let taken = queries::advance_head(txn, tenant, (seqs, ids), take.catalogue_version, (take.at, now)).await?;
    Ok(taken.map(|taken| LogAllocation {
        first_seq: taken.last_seq.0 - seqs + 1,
        first_id: taken.last_notification_id - ids + 1,
        published_at: taken.published_at,
        before: newest.min(taken.published_at),
        erased_count: taken.erased_count,
        now,
    }))
}

/// Inserts the notifications and returns them in the order of the drafts. Those published now have seqs in that order.
pub(super) async fn insert_notifications(
    txn: &Transaction,
    tenant: &Tenant,
    drafts: &[&NotificationDraft],
    head: &LogAllocation,
) -> Result<Vec<Notification>> {
    let mut written = Vec::with_capacity(drafts.len());
    let mut values = Vec::with_capacity(drafts.len());
    let (mut seqs, mut published_at) = (head.first_seq.., head.before);
    for (id, draft) in (head.first_id..).zip(drafts.iter().copied()) {
        let seq = if draft.publish_at.is_none() { seqs.next().map(Seq) } else { None };
        published_at = published_at.max(draft.begins_at(head.published_at));
        let notification = build_notification(draft, head, id, seq.map(|seq| (seq, published_at)));
        values.push(row_values(tenant, draft, &notification)?);
        written.push(notification);
    }
    insert(txn, COLUMNS, values, ExistingRows::Refused).await?;
    Ok(written)
}

fn build_notification(
    draft: &NotificationDraft,
    head: &LogAllocation,
    id: i64,
    published: Option<(Seq, Millis)>,
) -> Notification {
    let envelope = &draft.envelope;
    let (seq, published_at) = published.unzip();
    let begins_at = draft.begins_at(head.now);
    // Counts every named user as delivered. `publish` subtracts users who do not want it.
    let named = i64::try_from(envelope.named_users().len()).unwrap_or(i64::MAX);
    Notification {
        id,
        seq,
        kind: envelope.kind,
        message_type: envelope.message_type.clone(),
        content: draft.content.clone(),
        sender: envelope.sender,
        receiver: envelope.receiver(),
        target: envelope.target.clone(),
        action: envelope.action.as_ref().map(|(code, _)| code.clone()),
        audience: envelope.audience.clone(),
        created_at: begins_at,
        publish_at: draft.publish_at,
        published_at,
        expires_at: seq.map_or(envelope.expires_at, |_| envelope.expires_at(begins_at)),
        updated_at: None,
        retracted_at: None,
        audience_size: (named > 0).then_some(named),
        delivered_count: if seq.is_some() { named } else { 0 },
        read_count: 0,
        raised: draft.raised.clone(),
        sent_by: draft.sent_by.clone(),
    }
}

/// In the order of [`row_values`].
const COLUMNS: [Column; 27] = [
    Column::TenantId,
    Column::Id,
    Column::Seq,
    Column::Kind,
    Column::TypeId,
    Column::Title,
    Column::Body,
    Column::Link,
    Column::Params,
    Column::Data,
    Column::SenderId,
    Column::ReceiverId,
    Column::TargetType,
    Column::TargetId,
    Column::ActionId,
    Column::Audience,
    Column::CreatedAt,
    Column::PublishAt,
    Column::PublishedAt,
    Column::ExpiresAt,
    Column::AudienceSize,
    Column::DeliveredCount,
    Column::IdempotencyKey,
    Column::Fingerprint,
    Column::Rule,
    Column::RowKey,
    Column::SentBy,
];

fn row_values(tenant: &Tenant, draft: &NotificationDraft, of: &Notification) -> Result<[Value; 27]> {
    let json = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
    Ok([
        tenant.id.into(),
        of.id.into(),
        of.seq.into(),
        of.kind.into(),
        of.message_type.id.into(),
        of.content.title.clone().into(),
        of.content.body.clone().into(),
        of.content.link.clone().into(),
        json(&of.content.params).into(),
        json(&of.content.data).into(),
        of.sender.into(),
        draft.envelope.receiver().into(),
        of.target.as_ref().map(|target| target.target_type.clone()).into(),
        of.target.as_ref().map(|target| target.id.clone()).into(),
        draft.envelope.action.as_ref().map(|(_, action)| *action).into(),
        serde_json::to_string(&of.audience).map_err(Error::internal)?.into(),
        of.created_at.into(),
        of.publish_at.into(),
        of.published_at.into(),
        of.expires_at.into(),
        of.audience_size.into(),
        of.delivered_count.into(),
        draft.idempotency_key.as_ref().map(|key| key.kept.clone()).into(),
        draft.said.fingerprint.into(),
        of.raised.as_ref().map(|raised| raised.rule.clone()).into(),
        of.raised.as_ref().map(|raised| Json::Object(raised.key.clone()).to_string()).into(),
        of.sent_by.as_ref().map(StaffActor::stored_form).into(),
    ])
}
