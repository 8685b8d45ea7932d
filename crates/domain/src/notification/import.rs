//! Imports messages that another system has sent before. A repeated import sends nothing twice. Messages keep the state
//! (read, archived) that they had there.

use std::collections::hash_map::{DefaultHasher, Entry};
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use entity::inbox_item::{Column, ItemState};
use entity::prelude::*;
use entity::tenant;
use sea_orm::EntityTrait;

use super::draft::{NotificationDraft, check_inputs, expiry_time, find_message_type};
use super::idempotency::{ContentFingerprint, EarlierSend};
use super::input::{ImportedState, NotificationInput};
use super::send::send;
use super::{Notification, find_by_keys};
use crate::catalogue;
use crate::counters::{self, ReadChange, ReaderInfo};
use crate::tenant::Tenant;
use crate::user::PerformedBy;
use base::clock::Millis;
use base::error::{Error, Result};
use store::{Store, Transaction};

/// How often a message that lost a race for its key is retried.
const TRIES: usize = 5;

/// The counts of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportCounts {
    /// Sent now.
    pub made: u64,
    /// Of those made: the log had a newer entry, so they have its time.
    pub late: u64,
    /// Of those made: their receivers have switched them off.
    pub unwanted: u64,
    /// Sent before under the same key.
    pub there: u64,
    /// Left out: something else was sent before under the same key.
    pub others: u64,
    /// Left out: past the retention window by now, or expired.
    pub old: u64,
}

/// The outcome of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImportFate {
    New,
    There,
    Other,
    Old,
}

impl ImportCounts {
    fn count_message(&mut self, fate: ImportFate) {
        *match fate {
            ImportFate::New => &mut self.made,
            ImportFate::There => &mut self.there,
            ImportFate::Other => &mut self.others,
            ImportFate::Old => &mut self.old,
        } += 1;
    }

    /// Adds the counts of another import.
    pub fn add(&mut self, other: Self) {
        let Self { made, late, unwanted, there, others, old } = other;
        self.made += made;
        self.late += late;
        self.unwanted += unwanted;
        self.there += there;
        self.others += others;
        self.old += old;
    }
}

/// The errors of messages themselves, each with the message's position.
pub async fn find_invalid(store: &Store, tenant: &Tenant, inputs: &[NotificationInput]) -> Result<Vec<(usize, Error)>> {
    let catalogue = catalogue::load_current(store, tenant).await?;
    Ok(check_inputs(store, PerformedBy::Backend, &catalogue, inputs))
}

/// Hashed keys and fingerprints of earlier messages of a file. Hashes, because there may be millions.
pub type SeenMessages = HashMap<u64, i64>;

/// Predicts the counts of an import, except `unwanted`. `before` has the file's earlier messages.
pub async fn preview_import(
    store: &Store,
    tenant: &Tenant,
    inputs: &[NotificationInput],
    before: &mut SeenMessages,
) -> Result<ImportCounts> {
    let head = tenant::Entity::find_by_id(tenant.id).one(&store.db.read).await?;
    let newest = head.map_or(0, |head| head.published_at);
    let mut brought = ImportCounts::default();
    for (input, fate) in inputs.iter().zip(classify_messages(store, tenant, inputs).await?) {
        if fate != ImportFate::New {
            brought.count_message(fate);
            continue;
        }
        let mut key = DefaultHasher::new();
        input.idempotency_key.hash(&mut key);
        let says = ContentFingerprint::from_input(input, store.now())?.fingerprint;
        match before.entry(key.finish()) {
            Entry::Occupied(of) => {
                brought.count_message(if *of.get() == says { ImportFate::There } else { ImportFate::Other });
            }
            Entry::Vacant(free) => {
                free.insert(says);
                brought.count_message(ImportFate::New);
                brought.late += u64::from(input.past.as_ref().is_some_and(|past| past.created_at < newest));
            }
        }
    }
    Ok(brought)
}

/// Imports up to 1,000 messages that each have a past and a key of the backend, all that can be sent or none. A key
/// that was used before leaves the earlier message unchanged, even if its content differs.
pub async fn import_messages(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    inputs: Vec<NotificationInput>,
) -> Result<ImportCounts> {
    let (mut brought, mut left) = (ImportCounts::default(), inputs);
    for tries in 1.. {
        let fates = classify_messages(store, tenant, &left).await?;
        let (mut new, mut later, mut keys) = (Vec::new(), Vec::new(), HashSet::new());
        for (input, fate) in left.into_iter().zip(fates) {
            match fate {
                ImportFate::New if keys.insert(input.idempotency_key.clone()) => new.push(input),
                ImportFate::New => later.push(input),
                known => brought.count_message(known),
            }
        }
        match send(store, tenant, PerformedBy::Backend, &new, |place| format!("inputs[{place}]")).await {
            Ok(sent) => {
                for of in sent {
                    brought.count_message(if of.is_replayed { ImportFate::There } else { ImportFate::New });
                    let is = |so: bool| u64::from(so && !of.is_replayed);
                    brought.late += is(of.notification.published_at > Some(of.notification.created_at));
                    brought.unwanted += is(of.notification.delivered_count == 0);
                }
                left = later;
            }
            // Another send has used a key for other content meanwhile. The next try finds it.
            Err(Error::Conflict(_)) if tries < TRIES => {
                new.extend(later);
                left = new;
            }
            Err(error) => return Err(error),
        }
        if left.is_empty() {
            break;
        }
    }
    Ok(brought)
}

async fn classify_messages(store: &Store, tenant: &Tenant, inputs: &[NotificationInput]) -> Result<Vec<ImportFate>> {
    let catalogue = catalogue::load_current(store, tenant).await?;
    let keys: Vec<&str> = inputs.iter().filter_map(|input| input.idempotency_key.as_deref()).collect();
    let used: HashMap<String, EarlierSend> = find_by_keys(&store.db.read, tenant, &keys).await?.into_iter().collect();
    let now = store.now();
    let fate = |input: &NotificationInput| {
        let used = input.idempotency_key.as_ref().and_then(|key| used.get(key));
        match (used, &input.past) {
            (Some(of), _) if ContentFingerprint::from_input(input, now)?.is_same_as(*of, now) => Ok(ImportFate::There),
            (Some(_), _) => Ok(ImportFate::Other),
            (None, None) => Ok(ImportFate::New),
            (None, Some(ImportedState { created_at, .. })) => {
                let kind = find_message_type(&catalogue, &input.message_type)?;
                let has_expired = expiry_time(input.expires_at, &kind, *created_at).is_some_and(|at: Millis| at <= now);
                let is_old = has_expired || *created_at < now - store.config.retention_millis();
                Ok(if is_old { ImportFate::Old } else { ImportFate::New })
            }
        }
    };
    inputs.iter().map(fate).collect()
}

/// Gives items that this transaction has just inserted the state that they had in the other system.
pub(super) async fn store_imported_state(
    txn: &Transaction,
    tenant: &Tenant,
    drafts: &[&NotificationDraft],
    written: &[Notification],
) -> Result<()> {
    let (mut rows, mut read): (Vec<[Value; 6]>, Vec<_>) = (Vec::new(), Vec::new());
    for (draft, of) in drafts.iter().zip(written).filter(|(_, of)| of.delivered_count > 0) {
        let (Some(past), Some(receiver), Some(seq)) = (&draft.past, draft.envelope.receiver(), of.seq) else {
            continue;
        };
        let Some(state) = item_state(past) else { continue };
        if past.read_at.is_some() {
            read.push(seq);
        }
        let kind = of.message_type.id;
        rows.push([
            receiver.into(),
            seq.into(),
            kind.into(),
            state.into(),
            past.read_at.into(),
            past.archived_at.into(),
        ]);
    }
    let columns = [Column::UserId, Column::Seq, Column::TypeId, Column::State, Column::ReadAt, Column::ArchivedAt];
    let merged = ExistingRows::Merged { key: &columns[..2], raised: &[], replaced: &columns[3..] };
    insert(txn, columns, rows, merged).await?;
    // They were read elsewhere, some time ago: no webhook is sent.
    let readings = read.into_iter().map(|seq| ReadChange { seq, by: 1, reader: ReaderInfo::default() });
    counters::record_changes(txn, tenant, readings).await
}

/// `None` if the receiver has neither read nor archived the message.
fn item_state(past: &ImportedState) -> Option<ItemState> {
    match (past.read_at, past.archived_at) {
        (None, None) => None,
        (Some(_), None) => Some(ItemState::Read),
        (Some(_), Some(_)) => Some(ItemState::ArchivedRead),
        (None, Some(_)) => Some(ItemState::ArchivedUnread),
    }
}
