//! Imports messages that another system has sent before. A repeated import sends nothing twice.

use std::collections::hash_map::{DefaultHasher, Entry};
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use entity::tenant;
use sea_orm::EntityTrait;

use super::by_keys;
use super::draft::refused;
use super::envelope::{expiry, message_type};
use super::input::{Input, Past};
use super::key::{Kept, Said};
use super::send::send;
use crate::app::App;
use crate::clock::Millis;
use crate::domain::catalogue;
use crate::domain::tenant::Tenant;
use crate::domain::user::By;
use crate::error::{Error, Result};

/// How often a message that lost a race for its key is retried.
const TRIES: usize = 5;

/// The counts of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Brought {
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
enum Fate {
    New,
    There,
    Other,
    Old,
}

impl Brought {
    fn count(&mut self, fate: Fate) {
        *match fate {
            Fate::New => &mut self.made,
            Fate::There => &mut self.there,
            Fate::Other => &mut self.others,
            Fate::Old => &mut self.old,
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
pub async fn unfit(app: &App, tenant: &Tenant, inputs: &[Input]) -> Result<Vec<(usize, Error)>> {
    let catalogue = catalogue::current(app, tenant).await?;
    Ok(refused(app, By::Partner, &catalogue, inputs))
}

/// Hashed keys and fingerprints of earlier messages of a file. Hashes, because there may be millions.
pub type Foretold = HashMap<u64, i64>;

/// Predicts the counts of an import, except `unwanted`. `before` has the file's earlier messages.
pub async fn would_bring(app: &App, tenant: &Tenant, inputs: &[Input], before: &mut Foretold) -> Result<Brought> {
    let head = tenant::Entity::find_by_id(tenant.id).one(&app.db.read).await?;
    let newest = head.map_or(0, |head| head.published_at);
    let mut brought = Brought::default();
    for (input, fate) in inputs.iter().zip(fates(app, tenant, inputs).await?) {
        if fate != Fate::New {
            brought.count(fate);
            continue;
        }
        let mut key = DefaultHasher::new();
        input.idempotency_key.hash(&mut key);
        let says = Said::of(input, app.now())?.fingerprint;
        match before.entry(key.finish()) {
            Entry::Occupied(of) => brought.count(if *of.get() == says { Fate::There } else { Fate::Other }),
            Entry::Vacant(free) => {
                free.insert(says);
                brought.count(Fate::New);
                brought.late += u64::from(input.past.as_ref().is_some_and(|past| past.created_at < newest));
            }
        }
    }
    Ok(brought)
}

/// Imports up to 1,000 messages that each have a past and a key of the backend, all that can be sent or none. A key
/// that was used before leaves the earlier message unchanged, even if its content differs.
pub async fn bring(app: &Arc<App>, tenant: &Arc<Tenant>, inputs: Vec<Input>) -> Result<Brought> {
    let (mut brought, mut left) = (Brought::default(), inputs);
    for tries in 1.. {
        let fates = fates(app, tenant, &left).await?;
        let (mut new, mut later, mut keys) = (Vec::new(), Vec::new(), HashSet::new());
        for (input, fate) in left.into_iter().zip(fates) {
            match fate {
                Fate::New if keys.insert(input.idempotency_key.clone()) => new.push(input),
                Fate::New => later.push(input),
                known => brought.count(known),
            }
        }
        match send(app, tenant, By::Partner, &new, |place| format!("inputs[{place}]")).await {
            Ok(sent) => {
                for of in sent {
                    brought.count(if of.is_replayed { Fate::There } else { Fate::New });
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

async fn fates(app: &App, tenant: &Tenant, inputs: &[Input]) -> Result<Vec<Fate>> {
    let catalogue = catalogue::current(app, tenant).await?;
    let keys: Vec<&str> = inputs.iter().filter_map(|input| input.idempotency_key.as_deref()).collect();
    let used: HashMap<String, Kept> = by_keys(&app.db.read, tenant, &keys).await?.into_iter().collect();
    let now = app.now();
    let fate = |input: &Input| {
        let used = input.idempotency_key.as_ref().and_then(|key| used.get(key));
        match (used, &input.past) {
            (Some(of), _) if Said::of(input, now)?.is(*of, now) => Ok(Fate::There),
            (Some(_), _) => Ok(Fate::Other),
            (None, None) => Ok(Fate::New),
            (None, Some(Past { created_at, .. })) => {
                let kind = message_type(&catalogue, &input.message_type)?;
                let has_expired = expiry(input.expires_at, &kind, *created_at).is_some_and(|at: Millis| at <= now);
                let is_old = has_expired || *created_at < now - app.config.retention_millis();
                Ok(if is_old { Fate::Old } else { Fate::New })
            }
        }
    };
    inputs.iter().map(fate).collect()
}
