//! The printed report.

use std::collections::BTreeMap;
use std::time::Duration;

use maintenance::scheduled::drift::DRIFTED;

use crate::arena::Arena;
use crate::client::Deed;
use crate::load::Load;
use crate::support::Kind;
use crate::verdict::Verdict;

/// The result of a scenario on one kind of database.
#[derive(Debug)]
pub struct Report {
    scenario: &'static str,
    kind: Kind,
    verdict: Verdict,
    recovered: [Option<Duration>; Deed::ALL.len()],
    /// The longest response time, including refusals.
    slowest: Duration,
    /// The 99th percentile of the response times of reads.
    reads: Duration,
    failures: BTreeMap<String, usize>,
    /// The logs of the nodes.
    log: String,
}

impl Report {
    pub fn new(scenario: &'static str, arena: &Arena, load: &Load, mut verdict: Verdict) -> Self {
        let log = arena.logs();
        for drift in log.lines().filter(|line| line.contains(DRIFTED)) {
            verdict.miscounted += 1;
            verdict.words.push(drift.to_owned());
        }
        let reads = load.pulse.taken(Deed::Read);
        let slowest = Deed::ALL.iter().filter_map(|deed| load.pulse.taken(*deed).pop()).max();
        Self {
            scenario,
            kind: arena.kind,
            verdict,
            recovered: load.pulse.recovered(),
            slowest: slowest.unwrap_or_default(),
            reads: reads.get(reads.len() * 99 / 100).copied().unwrap_or_default(),
            failures: load.pulse.failures(),
            log,
        }
    }

    /// Whether nothing was lost, no error was internal, and everything worked again.
    pub fn is_clean(&self) -> bool {
        self.verdict.is_clean() && self.internal() == 0 && self.recovered.iter().all(Option::is_some)
    }

    /// The number of internal errors, which blame the server rather than its environment.
    fn internal(&self) -> usize {
        let internal = self.failures.iter().filter(|(why, _)| why.contains("INTERNAL"));
        internal.map(|(_, count)| count).sum()
    }

    /// The head of a Markdown table.
    pub fn head() -> String {
        let columns = "| scenario | database | acknowledged | refused | internal | lost | twice | stray | holes | late | miscounted | \
            send, read, write, hear again after s | slowest s | reads p99 s |";
        let line = "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |";
        format!("{columns}\n{line}")
    }

    /// One row of the table.
    pub fn row(&self) -> String {
        let Verdict { acknowledged, lost, twice, stray, holes, late, miscounted, unsent, .. } = self.verdict;
        let refused: usize = self.failures.values().sum();
        let internal = self.internal();
        let seconds =
            |after: &Option<Duration>| after.map_or("never".into(), |after| format!("{:.1}", after.as_secs_f64()));
        let recovered: Vec<String> = self.recovered.iter().map(seconds).collect();
        let unsent = if unsent == 0 { String::new() } else { format!(" ({unsent} never)") };
        format!(
            "| {} | {} | {acknowledged}{unsent} | {refused} | {internal} | {lost} | {twice} | {stray} | {holes} | {late} | {miscounted} | \
             {} | {:.1} | {:.2} |",
            self.scenario,
            database(self.kind),
            recovered.join(", "),
            self.slowest.as_secs_f64(),
            self.reads.as_secs_f64(),
        )
    }

    /// The reasons of failed requests and ended sessions.
    pub fn refusals(&self) -> String {
        let lines: Vec<String> = self.failures.iter().map(|(why, count)| format!("{count:6} {why}")).collect();
        format!("{} on {}:\n{}", self.scenario, database(self.kind), lines.join("\n"))
    }

    /// The first 20 problems.
    pub fn words(&self) -> String {
        self.verdict.words[..self.verdict.words.len().min(20)].join("\n")
    }

    /// The last 20 warnings and errors in the logs of the nodes.
    pub fn warnings(&self) -> String {
        let lines: Vec<&str> =
            self.log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

/// The display name of a kind of database.
pub fn database(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "SQLite",
        Kind::Postgres => "PostgreSQL",
        Kind::Mysql => "MariaDB",
    }
}
