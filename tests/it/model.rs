//! Random histories of a tenant, run against the server and against a model in memory, which must always agree.
//!
//! The model delivers at once and keeps every inbox complete; the server pulls lazily from its log. No order of sends,
//! subscription changes, amendments, sweeps, marks and elapsed time may make a visible difference.
//!
//! `TIDINGS_TEST_CASES` sets the number of histories, and `TIDINGS_TEST_SEED` (a number) makes them other ones. Both
//! have defaults, so that a suite that passed today passes tomorrow.

mod after;
mod compare;
mod drive;
mod expected;
mod explain;
mod log;
mod op;
mod request;
mod switches;
mod tags;
mod views;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sea_orm::DbBackend;

use self::drive::Driver;
pub use self::op::Mix;
use self::op::Step;
use crate::operate::upgrade::newer_and_compatible;
use crate::support::{TestApp, on_every_database};

/// How many times a failing history is shortened before it is printed.
const SHRINKS: usize = 200;

/// The number of newest notifications that are explained after each step.
const RECENT: usize = 4;

on_every_database! {
    async fn all_inboxes_are_as_the_model_says_after_each_step(app) {
        check(app, Mix::Watched).await;
    }

    async fn inboxes_that_are_seldom_read_are_as_the_model_says(app) {
        check(app, Mix::Unwatched).await;
    }

    async fn inboxes_are_as_the_model_says_over_the_tables_of_a_newer_version(app) {
        newer_and_compatible(app).await;
        check(app, Mix::Watched).await;
    }
}

/// Runs histories until all have passed or one has failed, and prints the shortest failing form found.
pub async fn check(app: &TestApp, mix: Mix) {
    let cases = if app.app.db.backend() == DbBackend::Sqlite { 12 } else { 6 };
    let strategy = op::history(mix);
    // Reads use another node than writes, so that no write invalidates the reader's caches directly.
    let reader = app.beside().await;
    let mut runner = TestRunner::new_with_rng(Config::default(), rng());
    for case in 0..setting("TIDINGS_TEST_CASES").unwrap_or(cases) {
        let mut tree = strategy.new_tree(&mut runner).expect("nothing is filtered out");
        let Err(mut difference) = play((app, &reader), mix, &format!("case-{case}"), &tree.current()).await else {
            continue;
        };
        let mut shortest = tree.current();
        let mut can_go_on = tree.simplify();
        for shrink in 0..SHRINKS {
            if !can_go_on {
                break;
            }
            let steps = tree.current();
            can_go_on = match play((app, &reader), mix, &format!("case-{case}-{shrink}"), &steps).await {
                Err(found) => {
                    (difference, shortest) = (found, steps);
                    tree.simplify()
                }
                Ok(()) => tree.complicate(),
            };
        }
        let steps: Vec<String> = shortest.iter().map(|step| format!("{step:?}")).collect();
        panic!("case {case}: {difference}\nafter\n{}", steps.join("\n"));
    }
}

/// Runs one history in a tenant of its own.
async fn play(app: (&TestApp, &TestApp), mix: Mix, tenant: &str, steps: &[Step]) -> Result<(), String> {
    let mut driver = Driver::new(app, tenant, mix).await?;
    for (place, step) in steps.iter().enumerate() {
        let at = |difference| format!("step {place}, {:?}: {difference}", step.op);
        driver.apply(&step.op).await.map_err(at)?;
        match mix {
            Mix::Watched => {
                driver.compare_all().await.map_err(at)?;
                driver.compare_tags().await.map_err(at)?;
                driver.compare_explanations(RECENT).await.map_err(at)?;
            }
            Mix::Unwatched => driver.compare_one(step.looks).await.map_err(at)?,
        }
    }
    for user in 0..op::USERS.len() {
        driver.compare_one(user).await.map_err(|difference| format!("at the end: {difference}"))?;
        driver.compare_lists(user).await.map_err(|difference| format!("at the end: {difference}"))?;
    }
    driver.compare_sent().await.map_err(|difference| format!("at the end: {difference}"))?;
    driver.compare_explanations(usize::MAX).await.map_err(|difference| format!("at the end: {difference}"))
}

fn rng() -> TestRng {
    let mut seed = [7; 32];
    seed[..8].copy_from_slice(&setting("TIDINGS_TEST_SEED").unwrap_or(0).to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &seed)
}

#[expect(clippy::disallowed_methods, reason = "the tests' own settings, which the server does not have")]
pub fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("the setting is a number"))
}
