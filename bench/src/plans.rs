//! Shows the query plans of the main statements, and that the cost of none grows with the inbox.
//!
//! Fills an empty database (`cargo run --release -p bench -- plans <DATABASE_URL>`) with two users (one with a hundred
//! items and three subscriptions; one with thirty thousand items, ten thousand of them unread, and five thousand
//! subscriptions) and a log that is mostly not for them. Then acts like a reader, records the statements, and prints
//! for each its plan and the median of its times for both users. The output is Markdown. With `--fresh` the tables have
//! only the statistics that the database collects by itself.

mod explain;
mod scene;

use std::time::{Duration, Instant};

use base::error::{Error, Result};
use domain::inbox::list::{self, ItemFilter, PageEnd, PageWindow};
use domain::inbox::mark::{self, ItemChange, MarkSelection};
use domain::inbox::sync;
use domain::notification::Addressees;
use domain::overview::{self, OverviewRequest};
use entity::ids::UserId;
use sea_orm::Statement;

use explain::explain;
use scene::{Scene, fill, listen_to, put_off, retract, send, subscribers, unheard};

const RUNS: usize = 101;

/// Fills the empty database at `url`, and prints the plans and times.
pub async fn run(url: &str, is_fresh: bool) -> Result<()> {
    let scene = fill(url, is_fresh).await?;
    println!("## {:?}\n", scene.app.db.backend());
    reading(&scene).await?;
    marking(&scene).await?;
    syncing(&scene).await?;
    amending(&scene).await
}

async fn reading(scene: &Scene) -> Result<()> {
    let capped = OverviewRequest { cap: Some(99), ..OverviewRequest::default() };
    for (title, wish) in [("Overview, capped at 99", capped), ("Overview, exact", OverviewRequest::default())] {
        let read = async |user| overview::load_overviews(&scene.app, &scene.tenant, &[user], &wish).await.map(drop);
        compare(scene, title, read).await?;
    }
    let noise = send(scene, 100, unheard).await?;
    let read = async |user| {
        overview::load_overviews(&scene.app, &scene.tenant, &[user], &OverviewRequest::default()).await.map(drop)
    };
    compare(scene, "Behind? Overview after 100 entries of the log that are not for the user", read).await?;
    retract(scene, &noise).await?;
    compare(scene, "Behind? The same after all of them were retracted", read).await?;
    let window = newest(20);
    for (title, filter) in [
        ("List of 20", ItemFilter::default()),
        ("List of 20 unread", ItemFilter { read: Some(false), ..ItemFilter::default() }),
        ("List of 20 of one type", ItemFilter { types: Some(vec!["type-3".into()]), ..ItemFilter::default() }),
    ] {
        let read = async |user| list::load_page(&scene.app, &scene.tenant, user, &filter, window).await.map(drop);
        compare(scene, title, read).await?;
    }
    Ok(())
}

fn newest(many: usize) -> PageWindow {
    PageWindow { many, end: PageEnd::Newest, older_than: None, newer_than: None }
}

/// Marks the newest item read and unread in turn.
async fn marking(scene: &Scene) -> Result<()> {
    let mut items = Vec::new();
    for user in [scene.small, scene.large] {
        let page = list::load_page(&scene.app, &scene.tenant, user, &ItemFilter::default(), newest(1)).await?;
        items.push((user, MarkSelection::Items(page.items.iter().map(|item| item.seq).collect())));
    }
    let mark = async |user| {
        for change in [ItemChange::Read, ItemChange::Unread] {
            for (_, newest) in items.iter().filter(|(of, _)| *of == user) {
                mark::apply(&scene.app, &scene.tenant, user, newest, change).await?;
            }
        }
        Ok(())
    };
    compare(scene, "Mark of one item, read and unread again", mark).await
}

/// Each round sends something to both users, so that both are behind; in the second case 500 other log entries come in
/// between.
async fn syncing(scene: &Scene) -> Result<()> {
    for (title, noise) in [("Sync of one new item", 0), ("Sync of one new item after 500 entries of the log", 500)] {
        let mut times = [Vec::new(), Vec::new()];
        let mut last = Vec::new();
        for _ in 0..RUNS / 5 {
            send(scene, noise, unheard).await?;
            send(scene, 1, |_| subscribers("own-1")).await?;
            for (of, user) in [scene.small, scene.large].into_iter().enumerate() {
                let start = Instant::now();
                last = listen_to(scene, sync::sync_to_end(&scene.app, &scene.tenant, &[user])).await?;
                times[of].push(start.elapsed());
            }
        }
        print(scene, title, times, last).await?;
    }
    // For a single user with nothing left to sync, MariaDB would only report that no row can be found.
    send(scene, 500, |_| subscribers("own-1")).await?;
    let start = Instant::now();
    let both = listen_to(scene, sync::sync_to_end(&scene.app, &scene.tenant, &[scene.small, scene.large])).await?;
    let time = vec![start.elapsed()];
    print(scene, "Sync of 500 new items for both at once", [time.clone(), time], both).await
}

/// Each round amends an item that both users have, and retracts an item that both received in between.
async fn amending(scene: &Scene) -> Result<()> {
    let lasting = send(scene, 1, |_| Addressees::Everyone).await?;
    for title in ["Sync after the expiry of an item was put off", "Sync after an item was retracted"] {
        let mut times = [Vec::new(), Vec::new()];
        let mut last = Vec::new();
        for round in 0..RUNS / 5 {
            let short = send(scene, 1, |_| Addressees::Everyone).await?;
            sync::sync_to_end(&scene.app, &scene.tenant, &[scene.small, scene.large]).await?;
            if title.contains("retracted") {
                retract(scene, &short).await?;
            } else {
                put_off(scene, lasting[0], 1 + i64::try_from(round).map_err(Error::internal)?).await?;
            }
            for (of, user) in [scene.small, scene.large].into_iter().enumerate() {
                let start = Instant::now();
                last = listen_to(scene, sync::sync_to_end(&scene.app, &scene.tenant, &[user])).await?;
                times[of].push(start.elapsed());
            }
        }
        print(scene, title, times, last).await?;
    }
    let short = send(scene, 1, |_| Addressees::Everyone).await?;
    sync::sync_to_end(&scene.app, &scene.tenant, &[scene.small, scene.large]).await?;
    retract(scene, &short).await?;
    let start = Instant::now();
    let both = listen_to(scene, sync::sync_to_end(&scene.app, &scene.tenant, &[scene.small, scene.large])).await?;
    let time = vec![start.elapsed()];
    print(scene, "Sync of both at once after an item was retracted", [time.clone(), time], both).await
}

async fn compare(scene: &Scene, title: &str, read: impl AsyncFn(UserId) -> Result<()>) -> Result<()> {
    let mut times = [Vec::new(), Vec::new()];
    let mut last = Vec::new();
    for _ in 0..RUNS {
        for (of, user) in [scene.small, scene.large].into_iter().enumerate() {
            let start = Instant::now();
            last = listen_to(scene, read(user)).await?;
            times[of].push(start.elapsed());
        }
    }
    print(scene, title, times, last).await
}

async fn print(scene: &Scene, title: &str, times: [Vec<Duration>; 2], statements: Vec<Statement>) -> Result<()> {
    let [small, large] = times.map(median);
    let ratio = large / small;
    println!(
        "### {title}\n\nsmall {small:.0} µs, large {large:.0} µs: {ratio:.2} ×. {} statement(s).\n",
        statements.len()
    );
    for statement in statements {
        let plan = explain(scene, statement).await?;
        if !plan.is_empty() {
            println!("```\n{}\n```\n", plan.join("\n"));
        }
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}
