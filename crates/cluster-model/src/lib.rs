//! A model of the invalidation protocol (`cluster::invalidation`), small enough to check every order of events.
//!
//! It has one inbox, with its version in the database. Nodes commit new versions, register invalidation tokens, cache
//! what they read, and serve it while the same token is registered. They read and raise the epoch as in
//! `cluster::invalidation::epoch`. Redis may lose all data, be unreachable for a node, or fail over to a replica that lags
//! behind. The invariant: no node serves a version older than one that was acknowledged.

use std::hash::Hash;

/// How long a reading of the epoch is trusted, in ticks.
const TRUST: u8 = 1;

/// How long an epoch must be known before it is used, in ticks.
const QUIET: u8 = 3;

/// Marks an epoch without a Redis run, and a node without a connection.
const NOWHERE: u8 = u8::MAX;

/// A deliberate bug in the nodes' protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolFlaw {
    /// No bug.
    None,
    /// Nodes acknowledge a commit before they have invalidated its token.
    AcknowledgesFirst,
    /// Nodes read the database before they register a token, instead of after it.
    AsksFirst,
    /// Nodes acknowledge as soon as they have raised the epoch.
    DoesNotWait,
    /// Nodes use an epoch as soon as they know it.
    IsNotQuiet,
    /// Nodes trust any Redis they reach.
    BelievesAny,
}

/// The parameters of a model run.
#[derive(Clone, Debug)]
pub struct ModelTrial {
    pub flaw: ProtocolFlaw,
    pub writers: usize,
    pub readers: usize,
    /// Duration in ticks.
    pub ticks: u8,
    pub commits: u8,
    /// Maximum number of Redis faults.
    pub faults: u8,
    /// Maximum number of times that the epoch is raised.
    pub raises: usize,
}

/// A state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelState {
    now: u8,
    version: u8,
    /// The newest acknowledged version.
    acknowledged: u8,
    /// The Redis run of each epoch so far. The last one is current.
    epochs: Vec<u8>,
    run: u8,
    /// The registered token of each epoch.
    hung: Vec<Option<u8>>,
    /// The same in the lagging replica.
    copied: Vec<Option<u8>>,
    tokens: u8,
    commits: u8,
    faults: u8,
    nodes: Vec<ModelNode>,
    /// Whether a node has served an outdated version.
    pub is_wrong: bool,
    /// Whether a node has served a version that is newer than the initial one.
    pub has_served: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ModelNode {
    /// The Redis run that the node is connected to.
    link: u8,
    epoch: usize,
    since: u8,
    read_at: u8,
    closed: (u8, u8),
    has_failed: bool,
    writing: WriteProgress,
    reading: Option<CachedRead>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WriteProgress {
    Nothing,
    Committed(u8),
    TakenDown(u8),
}

/// The cache entry of a node, or the one it is about to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CachedRead {
    epoch: usize,
    token: Option<u8>,
    version: Option<u8>,
}

/// An event of the model. `usize` is the index of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelEvent {
    Tick,
    /// Redis loses all data.
    Flush,
    /// The replica copies the state of Redis.
    Copy,
    /// The replica replaces Redis.
    Failover,
    /// A node reads the epoch. The flag says whether it reaches Redis.
    Look(usize, bool),
    Commit(usize),
    TakeDown(usize),
    FailToTakeDown(usize),
    Acknowledge(usize),
    Hang(usize),
    Ask(usize),
    Serve(usize),
}

impl ModelNode {
    fn is_trusting(&self, moment: &ModelState, flaw: ProtocolFlaw) -> bool {
        let is_of_this = moment.epochs[self.epoch] == self.link || flaw == ProtocolFlaw::BelievesAny;
        let quiet = if flaw == ProtocolFlaw::IsNotQuiet { 0 } else { QUIET };
        is_of_this && self.link == moment.run && moment.now < self.read_at + TRUST && moment.now >= self.since + quiet
    }

    fn is_closed(&self, now: u8, flaw: ProtocolFlaw) -> bool {
        (now >= self.closed.0 || flaw == ProtocolFlaw::DoesNotWait) && now < self.closed.1
    }

    /// Mirrors `EpochState::observe_epoch`.
    fn note_epoch(&mut self, epoch: usize, run: u8, now: u8) {
        if self.epoch != epoch {
            let next = (now + TRUST, self.read_at + QUIET);
            let from = if next.0 <= self.closed.1 { self.closed.0 } else { next.0 };
            (self.epoch, self.since, self.closed) = (epoch, now, (from, next.1));
        }
        self.read_at = now;
        if run == NOWHERE {
            self.closed.1 = now + QUIET;
        }
    }
}

impl ModelState {
    /// The initial state: all nodes have just learned the first epoch, and are connected to the same Redis.
    pub fn initial_state(trial: &ModelTrial) -> Self {
        let node = ModelNode {
            link: 0,
            epoch: 0,
            since: 0,
            read_at: 0,
            closed: (TRUST, QUIET),
            has_failed: false,
            writing: WriteProgress::Nothing,
            reading: None,
        };
        Self {
            now: 0,
            version: 0,
            acknowledged: 0,
            epochs: vec![0],
            run: 0,
            hung: vec![None],
            copied: vec![None],
            tokens: 0,
            commits: trial.commits,
            faults: trial.faults,
            nodes: vec![node; trial.writers + trial.readers],
            is_wrong: false,
            has_served: false,
        }
    }

    /// The events that are possible in this state.
    pub fn possible_events(&self, trial: &ModelTrial) -> Vec<ModelEvent> {
        let mut events = Vec::new();
        if self.is_wrong {
            return events;
        }
        if self.now < trial.ticks {
            events.push(ModelEvent::Tick);
        }
        if self.faults > 0 {
            if self.hung.iter().any(Option::is_some) {
                events.push(ModelEvent::Flush);
            }
            events.push(ModelEvent::Failover);
            // Only once: from then on, the replica lags behind.
            if self.copied.iter().all(Option::is_none) && self.copied != self.hung {
                events.push(ModelEvent::Copy);
            }
        }
        for (place, node) in self.nodes.iter().enumerate() {
            let is_new = node.read_at < self.now || node.epoch + 1 < self.epochs.len() || node.has_failed;
            if is_new || node.link != self.run {
                events.push(ModelEvent::Look(place, true));
                if self.faults > 0 && place == 0 {
                    events.push(ModelEvent::Look(place, false));
                }
            }
            if place < trial.writers {
                self.add_write_events(&mut events, (place, node), trial);
            } else {
                self.add_read_events(&mut events, (place, node), trial.flaw);
            }
        }
        events
    }

    fn add_write_events(&self, events: &mut Vec<ModelEvent>, (place, node): (usize, &ModelNode), trial: &ModelTrial) {
        match node.writing {
            WriteProgress::Nothing if self.commits > 0 => events.push(ModelEvent::Commit(place)),
            WriteProgress::Nothing => {}
            WriteProgress::TakenDown(_) => events.push(ModelEvent::Acknowledge(place)),
            WriteProgress::Committed(version) => {
                let is_first = trial.flaw == ProtocolFlaw::AcknowledgesFirst && self.acknowledged < version;
                if is_first || node.is_closed(self.now, trial.flaw) {
                    events.push(ModelEvent::Acknowledge(place));
                } else if self.now >= node.closed.0 && self.now < node.read_at + QUIET {
                    let is_reached = node.link == self.run;
                    let is_of_this = self.epochs[node.epoch] == node.link || trial.flaw == ProtocolFlaw::BelievesAny;
                    if is_reached && is_of_this {
                        events.push(ModelEvent::TakeDown(place));
                    }
                    if !node.has_failed && (!is_reached || !is_of_this || self.faults > 0) {
                        events.push(ModelEvent::FailToTakeDown(place));
                    }
                }
            }
        }
    }

    fn add_read_events(&self, events: &mut Vec<ModelEvent>, (place, node): (usize, &ModelNode), flaw: ProtocolFlaw) {
        let is_trusting = node.is_trusting(self, flaw);
        match node.reading {
            None if flaw == ProtocolFlaw::AsksFirst => events.push(ModelEvent::Ask(place)),
            None | Some(CachedRead { token: None, .. }) if is_trusting => events.push(ModelEvent::Hang(place)),
            None | Some(CachedRead { token: None, .. }) => {}
            Some(CachedRead { version: None, .. }) => events.push(ModelEvent::Ask(place)),
            Some(reading) if is_trusting && reading.epoch == node.epoch => {
                events.push(ModelEvent::Serve(place));
            }
            // The entry belongs to an earlier epoch.
            Some(_) => {}
        }
    }

    /// The state after an event. `None` if the run ends there.
    pub fn apply_event(&self, event: ModelEvent, trial: &ModelTrial) -> Option<Self> {
        let mut next = self.clone();
        match event {
            ModelEvent::Tick => next.now += 1,
            ModelEvent::Flush => {
                next.faults -= 1;
                next.hung.fill(None);
            }
            ModelEvent::Copy => next.copied.clone_from(&next.hung),
            ModelEvent::Failover => {
                next.faults -= 1;
                next.run += 1;
                next.hung.clone_from(&next.copied);
            }
            ModelEvent::Look(place, reaches) => next.read_epoch(place, reaches, trial.flaw),
            ModelEvent::Commit(place) => {
                next.commits -= 1;
                next.version += 1;
                next.nodes[place].writing = WriteProgress::Committed(next.version);
            }
            ModelEvent::TakeDown(place) => {
                let WriteProgress::Committed(version) = next.nodes[place].writing else { return None };
                let epoch = next.nodes[place].epoch;
                next.hung[epoch] = None;
                next.nodes[place].writing = WriteProgress::TakenDown(version);
            }
            ModelEvent::FailToTakeDown(place) => {
                let is_fault = next.nodes[place].link == next.run;
                next.faults = next.faults.saturating_sub(u8::from(is_fault));
                next.nodes[place].has_failed = true;
            }
            ModelEvent::Acknowledge(place) => next.acknowledge(place, trial.flaw),
            ModelEvent::Hang(place) => next.register_token(place),
            ModelEvent::Ask(place) => {
                let version = Some(next.version);
                let node = &mut next.nodes[place];
                let fresh = CachedRead { epoch: node.epoch, token: None, version: None };
                node.reading = Some(CachedRead { version, ..node.reading.unwrap_or(fresh) });
            }
            ModelEvent::Serve(place) => next.serve_cached(place),
        }
        (next.epochs.len() <= trial.raises + 1).then_some(next)
    }

    fn acknowledge(&mut self, place: usize, flaw: ProtocolFlaw) {
        let node = &mut self.nodes[place];
        if let WriteProgress::Committed(version) | WriteProgress::TakenDown(version) = node.writing {
            self.acknowledged = self.acknowledged.max(version);
        }
        // With this flaw, the token must still be invalidated.
        if flaw != ProtocolFlaw::AcknowledgesFirst || matches!(node.writing, WriteProgress::TakenDown(_)) {
            node.writing = WriteProgress::Nothing;
        }
    }

    fn read_epoch(&mut self, place: usize, reaches: bool, flaw: ProtocolFlaw) {
        let (now, run) = (self.now, self.run);
        if self.nodes[place].has_failed {
            self.advance_epoch(place, NOWHERE);
            self.nodes[place].has_failed = false;
        } else {
            let newest = self.epochs.len() - 1;
            self.nodes[place].note_epoch(newest, self.epochs[newest], now);
        }
        if !reaches {
            self.faults -= 1;
        }
        let link = if reaches { run } else { NOWHERE };
        self.nodes[place].link = link;
        let is_another = self.epochs.last() != Some(&link);
        if is_another && !(reaches && flaw == ProtocolFlaw::BelievesAny) {
            self.advance_epoch(place, link);
        }
    }

    fn advance_epoch(&mut self, place: usize, run: u8) {
        self.epochs.push(run);
        self.hung.push(None);
        self.copied.push(None);
        let (newest, now) = (self.epochs.len() - 1, self.now);
        self.nodes[place].note_epoch(newest, run, now);
    }

    fn register_token(&mut self, place: usize) {
        let epoch = self.nodes[place].epoch;
        let known = self.nodes[place].reading;
        let token = self.hung[epoch].unwrap_or_else(|| {
            self.tokens += 1;
            self.tokens
        });
        self.hung[epoch] = Some(token);
        let version = known.and_then(|reading| reading.version);
        self.nodes[place].reading = Some(CachedRead { epoch, token: Some(token), version });
    }

    /// Serves the cache entry if its token is still registered, and drops it otherwise.
    fn serve_cached(&mut self, place: usize) {
        let Some(CachedRead { epoch, token, version: Some(version) }) = self.nodes[place].reading else { return };
        if self.hung[epoch] != token {
            self.nodes[place].reading = None;
            return;
        }
        self.is_wrong |= version < self.acknowledged;
        self.has_served |= version > 0;
    }
}

#[cfg(test)]
mod tests {
    use stateright::{Checker, Model, Property};

    use super::*;

    impl Model for ModelTrial {
        type State = ModelState;
        type Action = ModelEvent;

        fn init_states(&self) -> Vec<ModelState> {
            vec![ModelState::initial_state(self)]
        }

        fn actions(&self, moment: &ModelState, events: &mut Vec<ModelEvent>) {
            events.extend(moment.possible_events(self));
        }

        fn next_state(&self, moment: &ModelState, event: ModelEvent) -> Option<ModelState> {
            moment.apply_event(event, self)
        }

        fn properties(&self) -> Vec<Property<Self>> {
            vec![
                Property::always("nothing acknowledged is missing", |_, moment: &ModelState| !moment.is_wrong),
                Property::sometimes("a change is served by the board", |_, moment: &ModelState| moment.has_served),
            ]
        }
    }

    fn trial(flaw: ProtocolFlaw) -> ModelTrial {
        ModelTrial { flaw, writers: 1, readers: 1, ticks: 5, commits: 1, faults: 1, raises: 2 }
    }

    fn checked(trial: ModelTrial) {
        let checked = trial.checker().threads(2).spawn_bfs().join();
        eprintln!("{} moments", checked.unique_state_count());
        checked.assert_properties();
    }

    #[test]
    fn nothing_acknowledged_is_ever_missing() {
        checked(trial(ProtocolFlaw::None));
        checked(ModelTrial { commits: 2, raises: 1, ..trial(ProtocolFlaw::None) });
        checked(ModelTrial { faults: 2, ticks: 4, ..trial(ProtocolFlaw::None) });
    }

    #[test]
    fn nor_with_more_nodes() {
        checked(ModelTrial { readers: 2, ticks: 4, ..trial(ProtocolFlaw::None) });
        checked(ModelTrial { writers: 2, ticks: 4, ..trial(ProtocolFlaw::None) });
    }

    #[test]
    fn each_flaw_is_found() {
        let flaws = [
            ProtocolFlaw::AcknowledgesFirst,
            ProtocolFlaw::AsksFirst,
            ProtocolFlaw::DoesNotWait,
            ProtocolFlaw::IsNotQuiet,
            ProtocolFlaw::BelievesAny,
        ];
        for flaw in flaws {
            // Using an epoch too early only matters if a second writer raises it.
            let writers = if flaw == ProtocolFlaw::IsNotQuiet { 2 } else { 1 };
            let checked = ModelTrial { writers, ticks: 4, ..trial(flaw) }.checker().threads(2).spawn_bfs().join();
            let found = checked.discovery("nothing acknowledged is missing");
            assert!(found.is_some(), "{flaw:?} is not found");
        }
    }
}
