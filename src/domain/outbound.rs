//! The lanes that this node is at.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use entity::ids::TenantId;
use entity::prelude::LIST;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::lane::{Ended, Kind, Waiting, run, waiting};
use super::mail::Mails;
use super::push::Pushes;
use super::webhook::Webhooks;
use super::wechat::WeChats;
use crate::app::App;
use crate::error::Result;

/// Lanes of a node at a time, and those of one tenant among them.
const PLACES: usize = 64;
const OF_A_TENANT: usize = PLACES / 4;

/// Lanes that are looked for at once.
const MOST: u64 = 1000;

/// How long the end waits for requests that are under way.
const PATIENCE: Duration = Duration::from_secs(3);

/// Sends what is due along lanes, several beside each other: one that does not answer costs the others nothing.
#[derive(Debug)]
pub struct Lanes {
    places: Arc<Mutex<HashMap<i64, Place>>>,
    /// Ends them when this is dropped.
    running: Mutex<JoinSet<()>>,
    stop: watch::Sender<bool>,
}

#[derive(Debug)]
struct Place {
    tenant: TenantId,
    /// There is more since its turn began.
    again: bool,
}

/// Gives a place back, whatever happens.
struct Held {
    places: Arc<Mutex<HashMap<i64, Place>>>,
    lane: i64,
    is_given_back: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_given_back {
            self.places.lock().remove(&self.lane);
        }
    }
}

impl Default for Lanes {
    fn default() -> Self {
        Self { places: Arc::default(), running: Mutex::default(), stop: watch::Sender::new(false) }
    }
}

impl Lanes {
    /// Begins to send what is due, as far as there are places, and does not wait for it. Safe on all nodes at once.
    ///
    /// Nothing is due for certain where this node's clock and the database's differ: then it is left to other nodes, or waits.
    pub async fn look(&self, app: &Arc<App>) -> Result<()> {
        self.begin_of(app, None).await
    }

    /// The same for tenants of whom something is new.
    pub async fn look_for(&self, app: &Arc<App>, tenants: HashSet<TenantId>) -> Result<()> {
        for place in self.places.lock().values_mut() {
            place.again |= tenants.contains(&place.tenant);
        }
        let tenants: Vec<TenantId> = tenants.into_iter().collect();
        for tenants in tenants.chunks(LIST) {
            self.begin_of(app, Some(tenants)).await?;
        }
        Ok(())
    }

    async fn begin_of(&self, app: &Arc<App>, tenants: Option<&[TenantId]>) -> Result<()> {
        while self.running.lock().try_join_next().is_some() {}
        if app.agreed.is_in_doubt() || *self.stop.borrow() || self.places.lock().len() >= PLACES {
            return Ok(());
        }
        for waiting in in_turn(waiting(&app.db.read, tenants, app.now(), MOST).await?) {
            self.begin(app, &waiting);
        }
        Ok(())
    }

    fn begin(&self, app: &Arc<App>, of: &Waiting) {
        let mut places = self.places.lock();
        let of_tenant = places.values().filter(|place| place.tenant == of.tenant_id).count();
        if places.len() >= PLACES || of_tenant >= OF_A_TENANT || places.contains_key(&of.id) {
            return;
        }
        places.insert(of.id, Place { tenant: of.tenant_id, again: false });
        let mut held = Held { places: self.places.clone(), lane: of.id, is_given_back: false };
        let (app, id, kind, stop) = (app.clone(), of.id, of.kind, self.stop.subscribe());
        self.running.lock().spawn(async move {
            while let Some(ended) = one(&app, (id, kind), &stop).await
                && held.goes_on(ended)
            {}
        });
    }

    /// Begins nothing more, waits a little for what is under way, and lets other nodes have the rest.
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        let mut running = std::mem::take(&mut *self.running.lock());
        let ended = async { while running.join_next().await.is_some() {} };
        // What takes longer is tried again by others, when its lease is over.
        let _ = timeout(PATIENCE, ended).await;
    }
}

impl Held {
    /// Whether there is to be another turn at once.
    fn goes_on(&mut self, ended: Ended) -> bool {
        let mut places = self.places.lock();
        let is_crowded = places.len() >= PLACES;
        let Some(place) = places.get_mut(&self.lane) else { return false };
        let goes_on = (std::mem::take(&mut place.again) || ended == Ended::Over) && !is_crowded;
        if !goes_on {
            // Under the same lock, so that whoever finds something new from here on finds the place free.
            places.remove(&self.lane);
            self.is_given_back = true;
        }
        goes_on
    }
}

/// A turn; nothing where it failed.
async fn one(app: &Arc<App>, (id, kind): (i64, Kind), stop: &watch::Receiver<bool>) -> Option<Ended> {
    let ended = match kind {
        Kind::Webhook => run::<Webhooks>(app, id, stop.clone()).await,
        Kind::Email => run::<Mails>(app, id, stop.clone()).await,
        Kind::WeChat => run::<WeChats>(app, id, stop.clone()).await,
        Kind::WebPush => run::<Pushes>(app, id, stop.clone()).await,
    };
    match ended {
        Ok(ended) => (!*stop.borrow()).then_some(ended),
        Err(error) => {
            tracing::warn!(lane = id, kind = kind.name(), cause = error.told(), "what is due cannot be sent");
            None
        }
    }
}

/// One of each tenant after the other, so that nobody with many keeps the others waiting.
fn in_turn(all: Vec<Waiting>) -> Vec<Waiting> {
    let mut before: HashMap<TenantId, usize> = HashMap::new();
    let mut all: Vec<(usize, Waiting)> = all
        .into_iter()
        .map(|of| {
            let many = before.entry(of.tenant_id).or_default();
            *many += 1;
            (*many, of)
        })
        .collect();
    all.sort_by_key(|(round, _)| *round);
    all.into_iter().map(|(_, of)| of).collect()
}
