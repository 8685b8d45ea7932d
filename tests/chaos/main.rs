//! Injects faults into a Tidings under load and checks that everything acknowledged is still there.
//!
//! `cargo test --test chaos` runs the short form, with all databases in parallel. `cargo test --release --test chaos --
//! --long` runs the long form, one database after the other. Further words select scenarios: `-- hung postgres`. The
//! suite starts the built binary with its own PostgreSQL, MariaDB and Redis. It skips those that are missing on this
//! machine, or fails if `TIDINGS_TEST_ALL=1`. docs/operate/failures.md states the guarantees for each case.

#![expect(clippy::print_stdout, reason = "it is a program that reports")]

mod arena;
mod client;
mod failover;
mod ledger;
mod listener;
mod load;
mod report;
mod scenario;
#[expect(dead_code, reason = "tests/it uses all of it")]
mod support;
mod switch;
mod verdict;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use arena::{Arena, Disk};
use failover::{Counts, Failover};
use report::Report;
use scenario::{Form, Scenario};
use support::Kind;

/// The time limit of a scenario.
const SCENARIO_WITHIN: Duration = Duration::from_mins(10);

const KINDS: [Kind; 3] = [Kind::Sqlite, Kind::Postgres, Kind::Mysql];

/// The command-line arguments.
struct Choice {
    is_long: bool,
    words: Vec<String>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_long = words.iter().any(|word| word == "--long");
    // Cargo also passes arguments that are meant for other tests.
    if words.iter().any(|word| word == "--list") {
        return ExitCode::SUCCESS;
    }
    let words = words.into_iter().filter(|word| !word.starts_with('-')).map(|word| word.to_lowercase()).collect();
    let choice = Choice { is_long, words };
    println!("{}", Report::head());
    let reports: Vec<Option<Report>> = if is_long {
        KINDS.into_iter().flat_map(|kind| play_all(kind, &choice)).collect()
    } else {
        std::thread::scope(|scope| {
            let choice = &choice;
            let all = KINDS.map(|kind| scope.spawn(move || play_all(kind, choice)));
            all.into_iter().flat_map(|kind| kind.join().unwrap_or(vec![None])).collect()
        })
    };
    let mut all_is_well = true;
    for report in reports {
        let Some(report) = report else {
            all_is_well = false;
            continue;
        };
        if is_long || !report.is_clean() {
            println!("\n{}", report.refusals());
        }
        if !report.is_clean() {
            println!("{}\n{}\n", report.words(), report.warnings());
            all_is_well = false;
        }
    }
    println!("\n{}", Counts::head());
    for kind in KINDS {
        all_is_well &= fail_over(kind, &choice);
    }
    if all_is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the selected scenarios on one kind of database. A scenario that did not finish has `None` as its report.
fn play_all(kind: Kind, choice: &Choice) -> Vec<Option<Report>> {
    let runtime = Runtime::new().expect("there is room for threads");
    runtime.block_on(async {
        let scenarios: Vec<Scenario> =
            Scenario::ALL.into_iter().filter(|scenario| choice.has(*scenario, kind)).collect();
        let mut reports = Vec::new();
        let mut arena = None;
        for scenario in scenarios {
            if scenario == Scenario::DiskFull {
                let Some(disk) = Disk::mount() else {
                    println!("LEFT OUT: {} on {kind:?}: nobody may mount a disk here", scenario.name());
                    continue;
                };
                arena = Arena::open(kind, Some(disk)).await;
            } else if arena.is_none() {
                arena = Arena::open(kind, None).await;
            }
            let Some(arena) = &mut arena else { break };
            let played = AssertUnwindSafe(scenario.play(arena, choice.form())).catch_unwind();
            let report = timeout(SCENARIO_WITHIN, played).await.ok().and_then(Result::ok);
            match &report {
                Some(report) => println!("{}", report.row()),
                None => println!("BROKEN OFF: {} on {kind:?}", scenario.name()),
            }
            reports.push(report);
        }
        reports
    })
}

/// Runs the selected failovers on one kind of database. Returns whether all are clean.
fn fail_over(kind: Kind, choice: &Choice) -> bool {
    let runtime = Runtime::new().expect("there is room for threads");
    let mut is_well = true;
    for failover in Failover::ALL.into_iter().filter(|failover| choice.has_failover(*failover, kind)) {
        let played = AssertUnwindSafe(failover.play(kind)).catch_unwind();
        match runtime.block_on(async { timeout(SCENARIO_WITHIN, played).await }) {
            Ok(Ok(Some(counts))) => {
                println!("{}", counts.row(failover, kind));
                is_well &= counts.is_clean();
            }
            Ok(Ok(None)) => {}
            _ => {
                println!("BROKEN OFF: {} on {kind:?}", failover.name());
                is_well = false;
            }
        }
    }
    is_well
}

impl Choice {
    fn form(&self) -> &'static Form {
        if self.is_long { &Form::LONG } else { &Form::SHORT }
    }

    /// Whether every word matches the scenario or the database.
    fn has(&self, scenario: Scenario, kind: Kind) -> bool {
        scenario.is_for(kind) && self.is_about(scenario.name(), kind)
    }

    fn has_failover(&self, failover: Failover, kind: Kind) -> bool {
        failover.is_for(kind) && self.is_about(failover.name(), kind)
    }

    fn is_about(&self, name: &str, kind: Kind) -> bool {
        let about = format!("{name} {kind:?} {}", report::database(kind)).to_lowercase();
        self.words.iter().all(|word| about.contains(word.as_str()))
    }
}
