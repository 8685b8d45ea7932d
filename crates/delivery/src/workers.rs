//! The delivery workers of this node, one per destination.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use entity::ids::TenantId;
use entity::prelude::LIST;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::destination::{DestinationKind, DueDestination, WorkerOutcome, find_due, run_worker};
use super::mail::MailTransport;
use super::web_push::PushTransport;
use super::webhook::WebhookTransport;
use super::wechat::WeChatTransport;
use crate::DeliveryContext;
use base::error::Result;

/// The most destinations that this node serves at a time, in total and per tenant.
const PLACES: usize = 64;
const OF_A_TENANT: usize = PLACES / 4;

/// The most due destinations that one query returns.
const MOST: u64 = 1000;

/// How long a shutdown waits for requests in flight.
const PATIENCE: Duration = Duration::from_secs(3);

/// Delivers what is due, with one worker per destination. A destination that does not answer delays no other.
#[derive(Debug)]
pub struct DeliveryWorkers {
    places: Arc<Mutex<HashMap<i64, WorkerSlot>>>,
    /// Aborts the workers when dropped.
    running: Mutex<JoinSet<()>>,
    stop: watch::Sender<bool>,
}

#[derive(Debug)]
struct WorkerSlot {
    tenant: TenantId,
    /// More deliveries have become due since the current run began.
    again: bool,
}

/// Frees the slot of a destination on drop, also after a panic.
struct SlotGuard {
    places: Arc<Mutex<HashMap<i64, WorkerSlot>>>,
    destination: i64,
    is_given_back: bool,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        if !self.is_given_back {
            self.places.lock().remove(&self.destination);
        }
    }
}

impl Default for DeliveryWorkers {
    fn default() -> Self {
        Self { places: Arc::default(), running: Mutex::default(), stop: watch::Sender::new(false) }
    }
}

impl DeliveryWorkers {
    /// Starts workers for destinations with due deliveries while slots are free, and returns. Safe on all nodes at
    /// once.
    ///
    /// Does nothing while this node's clock and the database's differ too much. Then other nodes deliver, or the
    /// deliveries wait.
    pub async fn start_due(&self, context: &Arc<DeliveryContext>) -> Result<()> {
        self.start_waiting(context, None).await
    }

    /// Like [`Self::start_due`], for tenants with new deliveries only.
    pub async fn start_due_for(&self, context: &Arc<DeliveryContext>, tenants: HashSet<TenantId>) -> Result<()> {
        for place in self.places.lock().values_mut() {
            place.again |= tenants.contains(&place.tenant);
        }
        let tenants: Vec<TenantId> = tenants.into_iter().collect();
        for tenants in tenants.chunks(LIST) {
            self.start_waiting(context, Some(tenants)).await?;
        }
        Ok(())
    }

    async fn start_waiting(&self, context: &Arc<DeliveryContext>, tenants: Option<&[TenantId]>) -> Result<()> {
        while self.running.lock().try_join_next().is_some() {}
        if context.shared_clock.is_in_doubt() || *self.stop.borrow() || self.places.lock().len() >= PLACES {
            return Ok(());
        }
        for waiting in interleave_tenants(find_due(&context.db.read, tenants, context.now(), MOST).await?) {
            self.start_worker(context, &waiting);
        }
        Ok(())
    }

    fn start_worker(&self, context: &Arc<DeliveryContext>, of: &DueDestination) {
        let mut places = self.places.lock();
        let of_tenant = places.values().filter(|place| place.tenant == of.tenant_id).count();
        if places.len() >= PLACES || of_tenant >= OF_A_TENANT || places.contains_key(&of.id) {
            return;
        }
        places.insert(of.id, WorkerSlot { tenant: of.tenant_id, again: false });
        let mut held = SlotGuard { places: self.places.clone(), destination: of.id, is_given_back: false };
        let (context, id, kind, stop) = (context.clone(), of.id, of.kind, self.stop.subscribe());
        self.running.lock().spawn(async move {
            while let Some(ended) = run_destination(&context, (id, kind), &stop).await
                && held.keep_or_release(ended)
            {}
        });
    }

    /// Starts no more workers and waits up to 3 s for requests in flight. Other nodes deliver the rest.
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        let mut running = std::mem::take(&mut *self.running.lock());
        let ended = async { while running.join_next().await.is_some() {} };
        // If a request takes longer, another node retries it once its lease has expired.
        let _ = timeout(PATIENCE, ended).await;
    }
}

impl SlotGuard {
    /// Returns whether the worker runs again at once.
    fn keep_or_release(&mut self, ended: WorkerOutcome) -> bool {
        let mut places = self.places.lock();
        let is_crowded = places.len() >= PLACES;
        let Some(place) = places.get_mut(&self.destination) else { return false };
        let goes_on = (std::mem::take(&mut place.again) || ended == WorkerOutcome::Over) && !is_crowded;
        if !goes_on {
            // Under the same lock, so that a caller that finds new deliveries from here on finds the slot free.
            places.remove(&self.destination);
            self.is_given_back = true;
        }
        goes_on
    }
}

/// Runs the worker of one destination once. `None` if it failed, or if this node is stopping.
async fn run_destination(
    context: &Arc<DeliveryContext>,
    (id, kind): (i64, DestinationKind),
    stop: &watch::Receiver<bool>,
) -> Option<WorkerOutcome> {
    let ended = match kind {
        DestinationKind::Webhook => run_worker::<WebhookTransport>(context, id, stop.clone()).await,
        DestinationKind::Email => run_worker::<MailTransport>(context, id, stop.clone()).await,
        DestinationKind::WeChat => run_worker::<WeChatTransport>(context, id, stop.clone()).await,
        DestinationKind::WebPush => run_worker::<PushTransport>(context, id, stop.clone()).await,
    };
    match ended {
        Ok(ended) => (!*stop.borrow()).then_some(ended),
        Err(error) => {
            tracing::warn!(
                destination = id,
                kind = kind.name(),
                cause = error.log_message(),
                "could not send the due deliveries"
            );
            None
        }
    }
}

/// Interleaves the tenants, so that a tenant with many destinations does not delay the others.
fn interleave_tenants(all: Vec<DueDestination>) -> Vec<DueDestination> {
    let mut before: HashMap<TenantId, usize> = HashMap::new();
    let mut all: Vec<(usize, DueDestination)> = all
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
