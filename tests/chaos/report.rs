//! What is printed of it.

use std::collections::BTreeMap;
use std::time::Duration;

use tidings::domain::chore::drift::DRIFTED;

use crate::arena::Arena;
use crate::client::Deed;
use crate::load::Load;
use crate::support::Kind;
use crate::verdict::Verdict;

/// How a scenario ended on a database.
#[derive(Debug)]
pub struct Report {
    scenario: &'static str,
    kind: Kind,
    verdict: Verdict,
    recovered: [Option<Duration>; Deed::ALL.len()],
    /// The slowest answer, a refusal or not.
    slowest: Duration,
    /// Of a hundred reads, 99 took at most so long.
    reads: Duration,
    failures: BTreeMap<String, usize>,
    /// What the nodes warned of.
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

    /// Whether nothing was lost, refusals said why, and everything worked again.
    pub fn is_clean(&self) -> bool {
        self.verdict.is_clean() && self.internal() == 0 && self.recovered.iter().all(Option::is_some)
    }

    /// Answers that blame the server rather than its circumstances.
    fn internal(&self) -> usize {
        let internal = self.failures.iter().filter(|(why, _)| why.contains("INTERNAL"));
        internal.map(|(_, count)| count).sum()
    }

    /// The head of a table in Markdown.
    pub fn head() -> String {
        let columns = "| scenario | database | acknowledged | refused | internal | lost | twice | stray | holes | late | miscounted | \
            send, read, write, hear again after s | slowest s | reads p99 s |";
        let line = "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |";
        format!("{columns}\n{line}")
    }

    /// One line of it.
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

    /// Why requests failed and sessions ended.
    pub fn refusals(&self) -> String {
        let lines: Vec<String> = self.failures.iter().map(|(why, count)| format!("{count:6} {why}")).collect();
        format!("{} on {}:\n{}", self.scenario, database(self.kind), lines.join("\n"))
    }

    /// What is wrong, the first of it.
    pub fn words(&self) -> String {
        self.verdict.words[..self.verdict.words.len().min(20)].join("\n")
    }

    /// What the nodes warned of, the last of it.
    pub fn warnings(&self) -> String {
        let lines: Vec<&str> =
            self.log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

/// What a kind of database is called here.
pub fn database(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "SQLite",
        Kind::Postgres => "PostgreSQL",
        Kind::Mysql => "MariaDB",
    }
}
