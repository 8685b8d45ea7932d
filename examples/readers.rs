//! Measures whether readers of the same announcement wait for each other.
//!
//! `cargo run --release --example readers -- [DATABASE_URL of an empty database]`, SQLite in a temporary folder where none is
//! given. 64 users at once mark one announcement read, all of them the same one, or each another; then each marks it unread
//! again. Both take turns, five rounds each. Retracting is measured too: for an audience of two and of all.
#![expect(clippy::print_stdout, reason = "a command line program talks on standard output")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use entity::ids::{Seq, UserId};
use futures_util::future::try_join_all;
use tidings::app::App;
use tidings::clock::Clock;
use tidings::config::Config;
use tidings::domain::catalogue::{self, TypeChange};
use tidings::domain::inbox::mark::{self, Change, Selection};
use tidings::domain::notification::{self, Addressees, Content, Input};
use tidings::domain::tenant::{self, Tenant};
use tidings::domain::user::{self, By};
use tidings::domain::{overview, tally};
use tidings::error::{Error, Result};
use tidings::model::slice::Slice;

const READERS: usize = 64;
const USERS: usize = 2_000;
const ROUNDS: usize = 5;
/// How often each reader marks their item read and unread in a round.
const TIMES: usize = 10;
/// Of a round with the same announcement, or with different ones.
const MARKS: f64 = 2.0 * 64.0 * 10.0;

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("there is room for a database");
    let local = format!("sqlite://{}?mode=rwc", folder.path().join("readers.db").display());
    let url = std::env::args().nth(1).unwrap_or(local);
    let app = App::start(Config::over(&url, "never used, but it has to be there"), Clock::System).await?;
    let tenant = tenant::named(&app, "acme").await?;
    let kind = TypeChange { code: "news".into(), title: "News".into(), ..TypeChange::default() };
    catalogue::save_type(&app, &tenant, &kind).await?;
    let names: Vec<String> = (0..USERS).map(|place| format!("user-{place}")).collect();
    let users = user::mention(&app, &tenant, "users", &names).await?;
    let (readers, names) = (&users[..READERS], &names[..READERS]);
    let sent = send(&app, &tenant, READERS, &Addressees::Users(names.to_vec())).await?;
    println!("## {:?}\n\n| what | |\n| --- | --- |", app.db.backend());

    let (mut same, mut different, mut counting) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        same.push(rate(&app, &tenant, readers, &|_| sent[0]).await?);
        different.push(rate(&app, &tenant, readers, &|place| sent[place]).await?);
        let begun = Instant::now();
        tally::count(&app).await?;
        counting.push(begun.elapsed().as_secs_f64() * 1e6 / (2.0 * MARKS));
    }
    let (same, different) = (median(same), median(different));
    println!("| marks a second, 64 users, the same announcement | {same:.0} |");
    println!("| marks a second, 64 users, each another one | {different:.0} |");
    println!("| ratio | {:.2} |", same / different);
    println!("| counting a mark in the background | {:.1} µs |", median(counting));

    let (mut few, mut all) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        few.push(retraction(&app, &tenant, &users, Addressees::Users(names[..2].to_vec())).await?);
        all.push(retraction(&app, &tenant, &users, Addressees::Everyone).await?);
    }
    let (few, all) = (median(few), median(all));
    println!(
        "| a retraction from 2 users | {few:.0} µs |\n| a retraction from {USERS} users, who all have it | {all:.0} µs |"
    );
    println!("| ratio | {:.2} |", all / few);
    Ok(())
}

async fn send(app: &Arc<App>, tenant: &Arc<Tenant>, many: usize, to: &Addressees) -> Result<Vec<Seq>> {
    let input = |place: usize| Input {
        message_type: "news".into(),
        addressees: to.clone(),
        content: Content { title: Some(format!("News {place}")), ..Content::default() },
        sender: None,
        publish_at: None,
        expires_at: None,
        idempotency_key: None,
        past: None,
        raised: None,
        sent_by: None,
    };
    let inputs: Vec<Input> = (0..many).map(input).collect();
    let sent = notification::send(app, tenant, By::Partner, &inputs, |_| "input".into()).await?;
    sent.iter().map(|of| of.notification.seq.ok_or_else(|| Error::internal("it was not published"))).collect()
}

/// Marks a second by all the readers at once.
async fn rate(app: &Arc<App>, tenant: &Arc<Tenant>, readers: &[UserId], of: &dyn Fn(usize) -> Seq) -> Result<f64> {
    let begun = Instant::now();
    let marks = readers.iter().enumerate().map(|(place, reader)| {
        let selection = Selection::Items(vec![of(place)]);
        async move {
            for _ in 0..TIMES {
                mark::apply(app, tenant, *reader, &selection, Change::Read).await?;
                mark::apply(app, tenant, *reader, &selection, Change::Unread).await?;
            }
            Ok::<(), Error>(())
        }
    });
    try_join_all(marks).await?;
    Ok(MARKS / begun.elapsed().as_secs_f64())
}

/// Microseconds of a retraction of something that everybody it is for has in their inbox.
async fn retraction(app: &Arc<App>, tenant: &Arc<Tenant>, users: &[UserId], to: Addressees) -> Result<f64> {
    let seq = send(app, tenant, 1, &to).await?[0];
    for users in users.chunks(500) {
        overview::of(app, tenant, users, &overview::Wish { cap: Some(99), ..overview::Wish::default() }).await?;
    }
    let found = notification::page(app, tenant, &notification::Filter::default(), Slice::first(1, None)).await?;
    let newest = found
        .notifications
        .first()
        .filter(|of| of.seq == Some(seq))
        .ok_or_else(|| Error::internal("it is not there"))?;
    let begun = Instant::now();
    notification::retract(app, tenant, newest.id).await?;
    let took: Duration = begun.elapsed();
    Ok(took.as_secs_f64() * 1e6)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
