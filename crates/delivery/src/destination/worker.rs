//! The delivery loop of a destination: sends due deliveries, a few at a time, and records results ten times a second.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use entity::delivery::{Column as Of, Entity as Deliveries};
use entity::destination::{Column, Entity as Destinations};
use entity::prelude::*;
use sea_orm::sea_query::ExprTrait;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::disable::{DisableReason, disable_destination, prepare_alarm};
use super::due::load_due;
use super::host_trust::{AttemptPermits, HostTrust};
use super::lease::{Lease, claim_lease, lock_destinations};
use super::log::{LogStep, run_log_step};
use super::{
    AttemptOutcome, Delivery, DeliveryEvent, DeliveryState, Destination, DestinationState, FailureScope,
    PreparedDelivery, Transport,
};
use crate::DeliveryContext;
use base::clock::Millis;
use base::error::{Error, Result};
use base::telemetry::metrics::DeliveryLabels;
use domain::notification;
use domain::tenant::{self, Tenant};
use model::delivery::{EndpointHealth, retry_delay};
use model::id_cipher::IdKind;
use store::{Transaction, transaction};

/// Attempts in flight per destination.
const WIDTH: usize = 16;
/// Deliveries read at once.
const BATCH: usize = 200;
/// Deliveries waiting in memory. Twice a batch, so that others can overtake those that wait for a permit.
const WAITING: usize = 2 * BATCH;
/// How long a delivery is put off if it waited too long for a permit, in milliseconds.
const PUT_OFF: Millis = 30_000;
/// How long a delivery may wait in memory. After that it is read again, so that its content is current when it is sent.
const STALE: Duration = Duration::from_secs(2);
/// How long results are gathered before they are recorded.
const GATHER: Duration = Duration::from_millis(100);
/// How often to look for due deliveries while attempts are in flight.
const LOOK: Duration = Duration::from_millis(250);
/// The pause before the next look when nothing is in flight. It gathers deliveries that trickle in into small batches.
const PACE: Duration = Duration::from_millis(25);
/// How often to renew the lease while nothing else is written.
const KEEP: Duration = Duration::from_secs(8);
/// The longest time slice, since other destinations may be waiting.
const TURN: Duration = Duration::from_secs(10);
/// How long a shutdown waits for attempts in flight. It must be shorter than the shutdown's wait for the loop.
const STOP: Duration = Duration::from_millis(2500);
/// How often recording results is retried, one second apart.
const TRIES: usize = 5;

/// How a time slice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerOutcome {
    /// Nothing is due, or nothing may be sent.
    Idle,
    /// The time slice is used up, and other destinations get their turn.
    Over,
}

/// Sends due deliveries until none is left, the time slice ends or `stop` is set. `Idle` if another node is at work.
pub async fn run_worker<C: Transport>(
    context: &Arc<DeliveryContext>,
    id: i64,
    stop: watch::Receiver<bool>,
) -> Result<WorkerOutcome> {
    let Some((lease, destination)) = claim_lease(context, id).await? else { return Ok(WorkerOutcome::Idle) };
    let tenant = tenant::get_by_id(context, destination.tenant_id).await?;
    let mut turn = DeliveryWorker::<C>::new(context, tenant, lease, destination, stop);
    if !turn.run_loop().await? {
        return Ok(WorkerOutcome::Idle);
    }
    lease.release::<C>(context).await?;
    Ok(if turn.is_time_slice_used() { WorkerOutcome::Over } else { WorkerOutcome::Idle })
}

/// A delivery that can be sent.
struct ReadyDelivery<P> {
    delivery: Delivery,
    payload: P,
    read_at: Instant,
}

/// A delivery with a result to record.
#[derive(Clone)]
struct FinishedDelivery {
    delivery: Delivery,
    at: Millis,
    what: DeliveryResult,
}

#[derive(Clone)]
enum DeliveryResult {
    Answered(AttemptOutcome),
    Dropped,
    Later(Millis),
}

/// The last attempt. Newer than the table until it is recorded.
struct LastAttempt {
    attempted_at: Option<Millis>,
    status: Option<i64>,
    /// The error of the last failed attempt.
    error: Option<String>,
}

struct DeliveryWorker<C: Transport> {
    context: Arc<DeliveryContext>,
    tenant: Arc<Tenant>,
    lease: Lease,
    /// The row as last read.
    destination: Destination,
    receiver: Arc<C::Receiver>,
    health: EndpointHealth,
    last: LastAttempt,
    /// The limit of attempts in flight. Lower than usual after the receiver throttled.
    width: usize,
    /// Permits for hosts that users chose.
    seats: AttemptPermits,
    queue: VecDeque<ReadyDelivery<C::Payload>>,
    flying: JoinSet<FinishedDelivery>,
    done: Vec<FinishedDelivery>,
    /// The ids in `queue`, `flying` and `done`.
    in_hand: HashSet<i64>,
    disabled: Option<DisableReason>,
    /// The last look found nothing more.
    is_idle: bool,
    looked_at: Option<Instant>,
    written_at: Instant,
    began_at: Instant,
    stop: watch::Receiver<bool>,
    /// When a shutdown stops waiting for attempts in flight.
    stops_at: Option<Instant>,
}

impl<C: Transport> DeliveryWorker<C> {
    fn new(
        context: &Arc<DeliveryContext>,
        tenant: Arc<Tenant>,
        lease: Lease,
        destination: Destination,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            receiver: Arc::new(C::open_client(context, &tenant, &destination)),
            health: destination_health(&destination),
            last: LastAttempt {
                attempted_at: destination.attempted_at,
                status: destination.last_status,
                error: destination.last_error.clone(),
            },
            context: context.clone(),
            tenant,
            lease,
            destination,
            width: WIDTH,
            seats: AttemptPermits::default(),
            queue: VecDeque::new(),
            flying: JoinSet::new(),
            done: Vec::new(),
            in_hand: HashSet::new(),
            disabled: None,
            is_idle: false,
            looked_at: None,
            written_at: Instant::now(),
            began_at: Instant::now(),
            stop,
            stops_at: None,
        }
    }

    /// Returns false if the lease is lost.
    async fn run_loop(&mut self) -> Result<bool> {
        loop {
            if self.can_begin() && self.should_look() {
                self.wait_before_look().await;
                if !self.look_for_work().await? {
                    return Ok(false);
                }
            }
            while self.can_begin()
                && let Some(ready) = self.next_sendable_index().and_then(|place| self.queue.remove(place))
            {
                self.begin_attempt(ready);
            }
            if self.flying.is_empty() {
                if !self.record_results().await? {
                    return Ok(false);
                }
                if !self.can_begin() || (self.is_idle && self.queue.is_empty()) {
                    return Ok(true);
                }
                continue;
            }
            let until = self.next_wake_at();
            tokio::select! {
                Some(done) = self.flying.join_next() => self.apply_result(done),
                () = sleep_until(until) => {}
                Ok(()) = self.stop.changed() => self.stops_at = Some(Instant::now() + STOP),
            }
            if self.stops_at.is_some_and(|at| at <= Instant::now()) {
                // The next holder of the lease sends these deliveries again.
                self.flying.shutdown().await;
            }
            let is_due = !self.done.is_empty() && self.written_at.elapsed() >= GATHER;
            if (is_due || self.written_at.elapsed() >= KEEP) && !self.record_results().await? {
                return Ok(false);
            }
        }
    }

    fn is_time_slice_used(&self) -> bool {
        self.began_at.elapsed() >= TURN
    }

    fn can_begin(&self) -> bool {
        // The loop cannot end while an attempt at an unproven host is in flight, so other deliveries go on.
        let is_over = self.is_time_slice_used() && !self.seats.has_unproven();
        let may_go_on = !is_over && !*self.stop.borrow() && self.disabled.is_none();
        let is_open = self.health.is_blocked(self.context.now());
        let width = if self.health.should_probe() { 1 } else { self.width };
        may_go_on && !is_open && self.destination.state == DestinationState::Active && self.flying.len() < width
    }

    /// The index of the next delivery to send. Hosts that users chose need a permit, and attempts at unproven hosts do
    /// not begin after the time slice has ended.
    fn next_sendable_index(&self) -> Option<usize> {
        let is_over = self.is_time_slice_used();
        self.queue.iter().position(|of| {
            let trust = C::host_trust(&self.context, &of.payload);
            self.seats.has_permit(trust) && !(is_over && matches!(trust, HostTrust::Doubted(_)))
        })
    }

    /// Whether to look for due deliveries.
    fn should_look(&mut self) -> bool {
        let Some(looked_at) = self.looked_at else { return true };
        self.clear_stale();
        self.has_room() && (!self.is_idle || self.flying.is_empty() || looked_at.elapsed() >= LOOK)
    }

    /// Whether an attempt could begin, but nothing in the queue may be sent and the queue is not full.
    fn has_room(&self) -> bool {
        self.can_begin() && self.next_sendable_index().is_none() && self.queue.len() < WAITING
    }

    /// Removes deliveries that waited too long, to be read again. Those that waited for a permit are put off instead.
    fn clear_stale(&mut self) {
        while let Some(ready) = self.queue.pop_front_if(|of| of.read_at.elapsed() > STALE) {
            let trust = C::host_trust(&self.context, &ready.payload);
            if matches!(trust, HostTrust::Doubted(_)) || !self.seats.has_permit(trust) {
                let at = self.context.now();
                self.done.push(FinishedDelivery {
                    delivery: ready.delivery,
                    at,
                    what: DeliveryResult::Later(at + PUT_OFF),
                });
            } else {
                self.in_hand.remove(&ready.delivery.id);
            }
        }
    }

    /// Waits before the next look if nothing is in flight.
    async fn wait_before_look(&mut self) {
        if let Some(looked_at) = self.looked_at.filter(|_| self.flying.is_empty() && self.is_idle) {
            tokio::select! {
                () = sleep_until(looked_at + PACE) => {}
                Ok(()) = self.stop.changed() => self.stops_at = Some(Instant::now() + STOP),
            }
        }
    }

    fn next_wake_at(&self) -> Instant {
        let write_at = self.written_at + if self.done.is_empty() { KEEP } else { GATHER };
        let look_at = self.looked_at.filter(|_| self.has_room()).map(|looked_at| looked_at + LOOK);
        let stale_at = self.queue.front().filter(|_| self.can_begin()).map(|of| of.read_at + STALE);
        [look_at, stale_at, self.stops_at].into_iter().flatten().fold(write_at, Ord::min)
    }

    /// Takes new entries from the log and reads due deliveries. Returns false if the lease is lost.
    async fn look_for_work(&mut self) -> Result<bool> {
        let Some(LogStep { destination, has_more }) =
            run_log_step::<C>(&self.context, &self.tenant, self.lease).await?
        else {
            return Ok(false);
        };
        if destination.updated_at != self.destination.updated_at {
            self.health = destination_health(&destination);
            self.receiver = Arc::new(C::open_client(&self.context, &self.tenant, &destination));
        }
        self.destination = destination;
        self.looked_at = Some(Instant::now());
        self.is_idle = true;
        if self.destination.state != DestinationState::Active {
            return Ok(true);
        }
        let Some(expands) = C::fan_out(&self.context, &self.tenant, self.lease).await? else { return Ok(false) };
        let many = if self.health.should_probe() { 1 } else { BATCH };
        let due = load_due(&self.context, self.destination.id, &self.in_hand, many).await?;
        self.is_idle = due.len() < many && !has_more && !expands;
        let prepared = C::prepare_deliveries(&self.context, &self.tenant, &self.destination, &due).await?;
        let at = self.context.now();
        for (delivery, prepared) in due.into_iter().zip(prepared) {
            self.in_hand.insert(delivery.id);
            let what = match prepared {
                PreparedDelivery::Ready(payload) => {
                    self.queue.push_back(ReadyDelivery { delivery, payload, read_at: Instant::now() });
                    continue;
                }
                PreparedDelivery::Dropped => DeliveryResult::Dropped,
                PreparedDelivery::Later(at) => DeliveryResult::Later(at),
            };
            self.done.push(FinishedDelivery { delivery, at, what });
        }
        Ok(true)
    }

    fn begin_attempt(&mut self, ready: ReadyDelivery<C::Payload>) {
        let (context, receiver) = (self.context.clone(), self.receiver.clone());
        let seat = self.seats.acquire(C::host_trust(&context, &ready.payload));
        let id = self.tenant.id_cipher.encode(IdKind::Delivery, 0, ready.delivery.id);
        self.flying.spawn(async move {
            let _seat = seat;
            let outcome = C::attempt(&receiver, &context, &id, ready.payload).await;
            FinishedDelivery { delivery: ready.delivery, at: context.now(), what: DeliveryResult::Answered(outcome) }
        });
    }

    fn apply_result(&mut self, done: Result<FinishedDelivery, tokio::task::JoinError>) {
        let done = match done {
            Ok(done) => done,
            // The delivery stays due.
            Err(error) => return tracing::error!(cause = %error, "a delivery attempt ended unexpectedly"),
        };
        if let DeliveryResult::Answered(outcome) = &done.what {
            self.last.attempted_at = Some(done.at);
            self.last.status = outcome.status.map(i64::from);
            if let Some(error) = outcome.error.as_ref().filter(|_| outcome.blame.stops_destination()) {
                self.last.error = Some(error.clone());
                if outcome.blame == FailureScope::Quota {
                    self.health.pause_until(done.at + outcome.retry_after.unwrap_or_default());
                } else {
                    self.health.record_failure(done.at);
                }
                self.width =
                    if outcome.blame == FailureScope::Throttled { (self.width / 2).max(1) } else { self.width };
                let hopeless = self.health.should_disable(done.at).then_some(DisableReason::Hopeless);
                let why = if outcome.blame == FailureScope::Gone { Some(DisableReason::Gone) } else { hopeless };
                self.disabled = self.disabled.or(why).filter(|_| self.destination.state == DestinationState::Active);
            } else if let (Some(error), FailureScope::Host) = (&outcome.error, outcome.blame) {
                self.last.error = Some(error.clone());
            } else {
                self.health.record_success();
                self.width = (self.width + 1).min(WIDTH);
            }
        }
        self.done.push(done);
    }

    /// Records results and renews the lease. Returns false if the lease is lost; the node that holds it then sends
    /// these deliveries again.
    async fn record_results(&mut self) -> Result<bool> {
        let done = std::mem::take(&mut self.done);
        if done.is_empty() && self.written_at.elapsed() < KEEP {
            return Ok(true);
        }
        let mut tries = 0;
        let is_ours = loop {
            match self.try_record_results(&done).await {
                Err(Error::Unavailable(_)) if tries < TRIES => {
                    tries += 1;
                    sleep(Duration::from_secs(1)).await;
                }
                written => break written?,
            }
        };
        self.written_at = Instant::now();
        if self.disabled.take().is_some() {
            self.destination.state = DestinationState::Disabled;
        }
        for of in &done {
            self.in_hand.remove(&of.delivery.id);
            if is_ours {
                self.count_result(of);
            }
        }
        Ok(is_ours)
    }

    async fn try_record_results(&self, done: &[FinishedDelivery]) -> Result<bool> {
        if done.is_empty() {
            return self.lease.renew(&self.context).await;
        }
        let alarm = match self.disabled {
            Some(why) => {
                let destination = Destination { last_error: self.last.error.clone(), ..self.destination.clone() };
                prepare_alarm(&self.context, &self.tenant, &destination, why).await
            }
            None => notification::PreparedSend::default(),
        };
        let raised = transaction!(self.context.db, |txn| {
            let now = self.context.now();
            let is_off = self.disabled.is_some();
            let all = if is_off { lock_destinations(txn, self.tenant.id, C::KIND).await? } else { Vec::new() };
            let Some(of) = self.lease.lock_destination(txn, now).await? else { return Ok(None) };
            write_results::<C>(txn, done, now).await?;
            // If the settings changed meanwhile, the health belongs to the old ones and is not written.
            if of.updated_at == self.destination.updated_at {
                self.write_health(txn).await?;
            }
            if !is_off || of.state != DestinationState::Active {
                return Ok(Some(Vec::new()));
            }
            disable_destination::<C>(txn, &self.tenant, &all, of.id, now).await?;
            Ok(Some(notification::send_prepared(txn, &self.context, &self.tenant, &alarm).await?.unwrap_or_default()))
        })?;
        let Some(raised) = raised else { return Ok(false) };
        notification::record_sent(&self.context, &self.tenant, &raised);
        Ok(true)
    }

    async fn write_health(&self, txn: &Transaction) -> Result<()> {
        let EndpointHealth { failures, open_until, failing_since } = self.health;
        let to = Destinations::update_many().col_expr(Column::Failures, Expr::val(failures));
        let to = to.col_expr(Column::OpenUntil, Expr::val(open_until));
        let to = to.col_expr(Column::FailingSince, Expr::val(failing_since));
        let to = to.col_expr(Column::AttemptedAt, Expr::val(self.last.attempted_at));
        let to = to.col_expr(Column::LastStatus, Expr::val(self.last.status));
        let to = to.col_expr(Column::LastError, Expr::val(self.last.error.clone()));
        to.filter(Column::Id.eq(self.destination.id)).exec(txn).await?;
        Ok(())
    }

    fn count_result(&self, of: &FinishedDelivery) {
        let outcome = match &of.what {
            DeliveryResult::Answered(AttemptOutcome { error: None, .. }) => {
                if of.delivery.event == DeliveryEvent::Published && of.delivery.attempts == 0 {
                    let millis = Ord::max(of.at - of.delivery.happened_at, 0);
                    #[expect(clippy::cast_precision_loss, reason = "the histogram needs no such precision")]
                    self.context.metrics.delivery_delay.observe(millis as f64 / 1000.0);
                }
                "delivered"
            }
            DeliveryResult::Answered(failure) if next_wait(&of.delivery, failure, 0).is_none() => "dead",
            DeliveryResult::Answered(_) => "failed",
            DeliveryResult::Dropped => "dropped",
            DeliveryResult::Later(_) => return,
        };
        let counted = DeliveryLabels { channel: C::KIND.name(), outcome };
        self.context.metrics.deliveries.get_or_create(&counted).inc();
    }
}

fn destination_health(of: &Destination) -> EndpointHealth {
    EndpointHealth { failures: of.failures, open_until: of.open_until, failing_since: of.failing_since }
}

/// Records results: successes in one statement per status, postponed deliveries in one per due time, failures one by
/// one.
async fn write_results<C: Transport>(txn: &Transaction, done: &[FinishedDelivery], now: Millis) -> Result<()> {
    let mut delivered: BTreeMap<Option<u16>, Vec<(i64, Millis)>> = BTreeMap::new();
    let mut later: BTreeMap<Millis, Vec<i64>> = BTreeMap::new();
    let mut dropped = Vec::new();
    for FinishedDelivery { delivery, at, what } in done {
        match what {
            DeliveryResult::Answered(AttemptOutcome { status, error: None, .. }) => {
                delivered.entry(*status).or_default().push((delivery.id, *at));
            }
            DeliveryResult::Answered(outcome) => write_failure(txn, delivery, outcome, *at).await?,
            DeliveryResult::Dropped => dropped.push(delivery.id),
            DeliveryResult::Later(due_at) => later.entry(*due_at).or_default().push(delivery.id),
        }
    }
    for (due_at, ids) in later {
        for ids in ids.chunks(LIST) {
            let to = Deliveries::update_many().col_expr(Of::DueAt, Expr::val(due_at));
            let to = to.col_expr(Of::HappenedAt, Expr::val(due_at));
            to.filter(Of::Id.is_in_list(txn, ids)).exec(txn).await?;
        }
    }
    for (status, all) in delivered {
        for some in all.chunks(LIST) {
            let ids: Vec<i64> = some.iter().map(|(id, _)| *id).collect();
            let at = some.iter().map(|(_, at)| *at).max();
            let to = Deliveries::update_many().col_expr(Of::State, Expr::val(DeliveryState::Delivered));
            let to = to.col_expr(Of::Status, Expr::val(status.map(i64::from)));
            let to = to.col_expr(Of::Attempts, Expr::col(Of::Attempts).add(1)).col_expr(Of::DoneAt, Expr::val(at));
            let to = to.col_expr(Of::Error, Expr::val(None::<String>));
            to.filter(Of::Id.is_in_list(txn, &ids)).exec(txn).await?;
        }
    }
    for some in dropped.chunks(LIST) {
        // A replayed delivery that was dropped gets its earlier state back. A delivery that was never done is deleted.
        let before = || Deliveries::update_many().filter(Of::Id.is_in_list(txn, some)).filter(Of::DoneAt.is_not_null());
        let dead = before().col_expr(Of::State, Expr::val(DeliveryState::Dead));
        dead.filter(Of::Error.is_not_null()).exec(txn).await?;
        let delivered = before().col_expr(Of::State, Expr::val(DeliveryState::Delivered));
        delivered.filter(Of::Error.is_null()).exec(txn).await?;
        Deliveries::delete_many().filter(Of::Id.is_in_list(txn, some)).filter(Of::DoneAt.is_null()).exec(txn).await?;
    }
    let answered = done.iter().filter_map(|of| match &of.what {
        DeliveryResult::Answered(outcome) => Some((&of.delivery, outcome)),
        DeliveryResult::Dropped | DeliveryResult::Later(_) => None,
    });
    C::on_results(txn, &answered.collect::<Vec<_>>(), now).await
}

/// How long to wait before the next attempt after this failure. `None` if there is none.
fn next_wait(delivery: &Delivery, outcome: &AttemptOutcome, chance: u16) -> Option<Millis> {
    match outcome.blame {
        FailureScope::Quota => outcome.retry_after,
        blame if blame.is_final() => None,
        _ => retry_delay(delivery.attempts + 1, chance, outcome.retry_after),
    }
}

async fn write_failure(txn: &Transaction, delivery: &Delivery, outcome: &AttemptOutcome, at: Millis) -> Result<()> {
    // A used-up quota does not count as an attempt: the delivery may wait for any number of days.
    let attempts = delivery.attempts + i64::from(outcome.blame != FailureScope::Quota);
    let mut chance = [0; 2];
    getrandom::fill(&mut chance).map_err(Error::internal)?;
    let next = next_wait(delivery, outcome, u16::from_le_bytes(chance) % 1000);
    let (state, due_at) = match next {
        Some(wait) => (DeliveryState::Retrying, at + wait),
        None => (DeliveryState::Dead, delivery.due_at),
    };
    let to = Deliveries::update_many().col_expr(Of::State, Expr::val(state)).col_expr(Of::DueAt, Expr::val(due_at));
    let to = to.col_expr(Of::Attempts, Expr::val(attempts));
    let to = to.col_expr(Of::FirstTriedAt, Expr::val(delivery.first_tried_at.unwrap_or(at)));
    let to = to.col_expr(Of::Status, Expr::val(outcome.status.map(i64::from)));
    let to = to.col_expr(Of::Error, Expr::val(outcome.error.clone()));
    let to = if next.is_none() { to.col_expr(Of::DoneAt, Expr::val(at)) } else { to };
    to.filter(Of::Id.eq(delivery.id)).exec(txn).await?;
    Ok(())
}
