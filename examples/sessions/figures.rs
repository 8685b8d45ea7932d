//! What was measured, as Markdown.

use std::fmt;
use std::time::{Duration, Instant};

use crate::board::Arrivals;
use crate::server::{Reading, Server};
use crate::session::Want;

/// One sending.
pub struct Round {
    /// Milliseconds from the acknowledgement until the median and the last session had the item; and the overview.
    items: Option<(f64, f64)>,
    overviews: Option<(f64, f64)>,
    cpu: f64,
    statements: u64,
}

pub struct Figures {
    database: &'static str,
    want: Want,
    sessions: usize,
    memory: Vec<(&'static str, u64)>,
    subscribed_in: Duration,
    to_all: Vec<Round>,
    to_one: Vec<Round>,
}

impl Round {
    pub fn new(acknowledged: Instant, arrivals: Arrivals, before: &Reading, after: &Reading) -> Self {
        let times = |arrivals: Vec<Instant>| {
            let mut times: Vec<f64> =
                arrivals.iter().map(|at| millis(at.saturating_duration_since(acknowledged))).collect();
            times.sort_by(f64::total_cmp);
            Some((*times.get(times.len() / 2)?, *times.last()?))
        };
        Self {
            items: times(arrivals.items),
            overviews: times(arrivals.overviews),
            cpu: after.cpu - before.cpu,
            statements: after.statements - before.statements,
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Figures {
    pub fn new(server: &Server, want: Want, sessions: usize) -> Self {
        Self {
            database: server.database,
            want,
            sessions,
            memory: Vec::new(),
            subscribed_in: Duration::ZERO,
            to_all: Vec::new(),
            to_one: Vec::new(),
        }
    }

    pub fn memory(&mut self, when: &'static str, kib: u64) {
        self.memory.push((when, kib));
    }

    pub fn subscribed_in(&mut self, time: Duration) {
        self.subscribed_in = time;
    }

    /// A sending to one receiver, or to everyone.
    pub fn add(&mut self, receiver: Option<usize>, round: Round) {
        if receiver.is_some() { &mut self.to_one } else { &mut self.to_all }.push(round);
    }

    fn rounds(&self, f: &mut fmt::Formatter<'_>, what: &str, rounds: &[Round], sessions: f64) -> fmt::Result {
        let of = |of: fn(&Round) -> Option<f64>| median(rounds.iter().filter_map(of).collect());
        if self.want != Want::Overviews {
            let (half, all) = (of(|round| Some(round.items?.0)), of(|round| Some(round.items?.1)));
            writeln!(
                f,
                "| {what}: the median session, and the last one, has the item after | {half:.1} ms, {all:.1} ms |"
            )?;
        }
        if self.want != Want::Items {
            let (half, all) = (of(|round| Some(round.overviews?.0)), of(|round| Some(round.overviews?.1)));
            writeln!(f, "| {what}: the same, the overview | {half:.1} ms, {all:.1} ms |")?;
        }
        #[expect(clippy::cast_precision_loss, reason = "it is printed without a fraction")]
        let statements = of(|round| Some(round.statements as f64));
        writeln!(f, "| {what}: statements | {statements:.0} |")?;
        // Processor time is told in hundredths of a second: only the sum of all rounds is exact enough.
        #[expect(clippy::cast_precision_loss, reason = "there are few rounds")]
        let cpu = rounds.iter().map(|round| round.cpu).sum::<f64>() / rounds.len() as f64;
        if sessions > 1.0 {
            return writeln!(f, "| {what}: CPU of the server, a session | {:.1} µs |", cpu / sessions);
        }
        writeln!(f, "| {what}: CPU of the server | {:.1} ms |", cpu / 1e3)
    }
}

impl fmt::Display for Figures {
    #[expect(clippy::cast_precision_loss, reason = "it is printed with one digit")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wants = match self.want {
            Want::Both => "items and the overview",
            Want::Items => "items",
            Want::Overviews => "the overview",
        };
        let (sessions, rounds) = (self.sessions as f64, self.to_all.len());
        writeln!(
            f,
            "| {}, {sessions} sessions subscribed to {wants}, {rounds} rounds | |\n| --- | --- |",
            self.database
        )?;
        let alone = self.memory.first().map_or(0, |(_, kib)| *kib);
        for (when, kib) in &self.memory {
            let mib = *kib as f64 / 1024.0;
            let each = (*kib as f64 - alone as f64) / sessions;
            writeln!(f, "| memory of the server {when} | {mib:.1} MiB, {each:.1} KiB a session |")?;
        }
        let each = millis(self.subscribed_in) / sessions;
        writeln!(f, "| to subscribe, a session | {each:.2} ms |")?;
        self.rounds(f, "to everyone", &self.to_all, sessions)?;
        self.rounds(f, "to one", &self.to_one, 1.0)
    }
}
