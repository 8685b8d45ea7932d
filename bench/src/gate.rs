//! The gate: fails if an operation costs more, relative to its limit, than was accepted.
//!
//! Tidings and the limit take turns on the same machine, so their ratio can be compared with that of another day and
//! machine.

use crate::figures::{self, Case, named};
use crate::server::{FORGETFUL, Server};
use crate::work::{ANEW, CONNECTIONS, Comparison, LIMIT, TIDINGS, list, mark, overview, send};
use crate::{Ground, Place, Plan, Result};

/// Name of its results.
const GATE: &str = "gate";

/// Tolerance of a ratio. On an otherwise idle machine two gates differ by less.
const TOLERANCE: f64 = 0.15;

/// Attempts before it fails.
const TRIES: usize = 3;

/// Rounds per attempt, and seconds per turn.
const ROUNDS: usize = 5;
const SECONDS: f64 = 0.7;

/// Compares the CPU time of server and database per request, divided by the limit's, with the accepted value for the
/// same kind of database.
///
/// # Errors
///
/// Fails if a ratio exceeds the accepted one by more than [`TOLERANCE`] in each of [`TRIES`] attempts, or if none was
/// accepted. With `accept`, stores the measured values instead, from as many rounds as all attempts have.
pub async fn run(ground: &Ground, accept: bool) -> Result<()> {
    let place = Place::prepare(ground).await?;
    let again = place.again().await?;
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let forgetful = Server::tidings_with(&place.binary, &again, CONNECTIONS, &FORGETFUL).await?;
    let others = Server::contenders(&place, &place.url, CONNECTIONS).await?;
    let comparisons = [
        overview::compared(&place, place.scene("main"), (&tidings, &forgetful, &others)).await?,
        list::compared(&place, (&tidings, &forgetful, &others)).await?,
        mark::compared(&place, &tidings, &others).await?,
        send::compared(&place, &tidings, &others).await?,
    ];
    let plan = |rounds| Plan { rounds, seconds: SECONDS, ground: ground.clone() };
    let accepted = figures::read(GATE, place.database())?.map(|of| of.cases);
    let (mut cases, mut dearer) = (Vec::new(), Vec::new());
    for mut comparison in comparisons {
        comparison.contenders.retain(|of| [LIMIT, TIDINGS, ANEW].contains(&of.name()));
        if accept {
            cases.push(comparison.hold(&place, &plan(TRIES * ROUNDS)).await?);
            continue;
        }
        let of = accepted.as_ref().and_then(|cases| cases.iter().find(|case| case.name == comparison.name));
        let of = of.ok_or_else(|| format!("no {} was accepted on {}", comparison.name, place.database()))?;
        if !passes(&place, &plan(ROUNDS), &comparison, of).await? {
            dearer.push(comparison.name);
        }
    }
    if accept {
        figures::print(GATE, &place, &cases);
        return figures::accept(GATE, &place, cases);
    }
    if dearer.is_empty() { Ok(()) } else { Err(format!("dearer than was accepted: {}", dearer.join("; ")).into()) }
}

async fn passes(place: &Place, plan: &Plan, comparison: &Comparison<'_>, accepted: &Case) -> Result<bool> {
    for attempt in 1..=TRIES {
        let case = comparison.hold(place, plan).await?;
        let mut is_dearer = false;
        for contender in [TIDINGS, ANEW] {
            let ratio = |case: &Case| case.ratio(named::CPU, contender, LIMIT);
            let (Some(was), Some(is)) = (ratio(accepted), ratio(&case)) else { continue };
            let verdict = match is / was - 1.0 {
                more if more > TOLERANCE => "dearer",
                more if more < -TOLERANCE => "cheaper: keep it with --accept",
                _ => "as accepted",
            };
            println!("{}, {contender}: CPU {is:.2} of the limit's, accepted {was:.2}: {verdict}", comparison.name);
            is_dearer |= is / was - 1.0 > TOLERANCE;
        }
        if !is_dearer {
            return Ok(true);
        }
        eprintln!("{}: try {attempt} of {TRIES}", comparison.name);
    }
    Ok(false)
}
