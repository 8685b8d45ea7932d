//! Shows how a database carries out the statements of the data path, and that none of them grows with the inbox.
//!
//! Fills an empty database (`cargo run --release --example plans -- <DATABASE_URL>`) with two users: one with a hundred
//! items and three subscriptions, one with thirty thousand items (ten thousand of them unread) and five thousand
//! subscriptions, and a log of which most is not for them. Then does what a reader does, takes down the statements, and
//! prints for each its plan and the median of its times for both users. The output is Markdown.
#![expect(clippy::print_stdout, reason = "a command line program talks on standard output")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use entity::ids::{TypeId, UserId};
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use tidings::app::App;
use tidings::clock::Clock;
use tidings::config::Config;
use tidings::database::connect;
use tidings::domain::catalogue::{self, MessageType, ReadPolicy};
use tidings::domain::channel::{self, Listener, Target};
use tidings::domain::inbox::mark::{self, Change, Match, Selection};
use tidings::domain::inbox::page::{self, End, Filter, Window};
use tidings::domain::inbox::sync;
use tidings::domain::notification::{self, Addressees, Content, Input};
use tidings::domain::overview::{self, Wish};
use tidings::domain::tenant::{self, Tenant};
use tidings::domain::user;
use tidings::error::{Error, Result};

const SMALL_ITEMS: usize = 100;
const LARGE_ITEMS: usize = 30_000;
const LARGE_UNREAD: usize = 10_000;
const LARGE_SUBSCRIPTIONS: usize = 5_000;
const NOISE: usize = 20_000;
const TYPES: usize = 8;
const RUNS: usize = 101;

type Heard = Arc<Mutex<Vec<(Statement, Duration)>>>;

struct Scene {
    app: Arc<App>,
    tenant: Arc<Tenant>,
    heard: Heard,
    small: UserId,
    large: UserId,
}

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).ok_or_else(|| Error::Config("give the URL of an empty database".into()))?;
    let scene = fill(&url).await?;
    println!("## {:?}\n", scene.app.db.backend());
    reading(&scene).await?;
    syncing(&scene).await?;
    Ok(())
}

async fn fill(url: &str) -> Result<Scene> {
    let config = Config::over(url, "never used, but it has to be there");
    let mut db = connect(url, 4).await?;
    db.migrate().await?;
    let heard = Heard::default();
    let ear = heard.clone();
    db.observe(move |info| ear.lock().expect("nobody panics").push((info.statement.clone(), info.elapsed)));
    let app = App::over(db, config, Clock::System).await?;
    let tenant = tenant::named(&app, "acme").await?;
    for place in 0..TYPES {
        catalogue::save_type(&app, &tenant, &message_type(place)).await?;
    }
    let names: Vec<String> = ["small", "large", "other"].map(Into::into).to_vec();
    let users = user::mention(&app, &tenant, "users", &names).await?;
    let scene = Scene { app, tenant, heard, small: users[0], large: users[1] };
    listen(&scene, scene.small, 3).await?;
    listen(&scene, scene.large, LARGE_SUBSCRIPTIONS).await?;
    listen(&scene, users[2], 50).await?;
    crowd(&scene).await?;
    send(&scene, SMALL_ITEMS, |_| Addressees::Receiver("small".into())).await?;
    send(&scene, LARGE_ITEMS - LARGE_UNREAD, |_| Addressees::Receiver("large".into())).await?;
    read_everything(&scene, scene.large).await?;
    send(&scene, LARGE_UNREAD, |_| Addressees::Receiver("large".into())).await?;
    send(&scene, NOISE, |place| subscribers(&format!("noise-{}", place % 50))).await?;
    sync::caught_up(&scene.app, &scene.tenant, &[scene.small, scene.large]).await?;
    analyze(&scene).await?;
    Ok(scene)
}

fn message_type(place: usize) -> MessageType {
    MessageType {
        id: TypeId::default(),
        code: format!("type-{place}"),
        title: format!("Type {place}"),
        group: None,
        read_policy: ReadPolicy::Manual,
        mandatory: false,
        ttl_seconds: None,
        position: 0,
        template: None,
    }
}

/// Subscribes to documents `own-0` and on; the third user to those that nobody else hears of.
async fn listen(scene: &Scene, user: UserId, many: usize) -> Result<()> {
    let prefix = if many == 50 { "noise" } else { "own" };
    for place in 0..many {
        let target = Target { target_type: "doc".into(), id: format!("{prefix}-{place}") };
        channel::subscribe(&scene.app, &scene.tenant, Listener::User(user), &target, vec!["comment".into()]).await?;
    }
    Ok(())
}

/// People in groups, so that the planner sees tables of more than two users.
async fn crowd(scene: &Scene) -> Result<()> {
    let names: Vec<String> = (0..5000).map(|number| format!("user-{number}")).collect();
    for group in ["readers", "writers", "editors"] {
        channel::save_group(&scene.app, &scene.tenant, group, None).await?;
        channel::add_members(&scene.app, &scene.tenant, group, &names).await?;
    }
    send(scene, TYPES, |_| Addressees::Groups(vec!["readers".into()])).await?;
    for name in &names[..300] {
        read_everything(scene, user::mention_one(&scene.app, &scene.tenant, "user", name).await?).await?;
    }
    Ok(())
}

async fn send(scene: &Scene, many: usize, to: impl Fn(usize) -> Addressees) -> Result<()> {
    let places: Vec<usize> = (0..many).collect();
    for places in places.chunks(1000) {
        let input = |place: &usize| Input {
            message_type: format!("type-{}", place % TYPES),
            addressees: to(*place),
            content: Content { title: Some(format!("Number {place}")), ..Content::default() },
            sender: None,
            publish_at: None,
            expires_at: None,
            idempotency_key: None,
        };
        let inputs: Vec<Input> = places.iter().map(input).collect();
        notification::send(&scene.app, &scene.tenant, &inputs, |_| "input".into()).await?;
    }
    Ok(())
}

fn subscribers(id: &str) -> Addressees {
    Addressees::Subscribers { target_type: "doc".into(), target_id: id.into(), action: "comment".into() }
}

async fn read_everything(scene: &Scene, user: UserId) -> Result<()> {
    let everything = Selection::Matching(Match::default());
    mark::apply(&scene.app, &scene.tenant, user, &everything, Change::Read).await?;
    Ok(())
}

/// Gives the planner its statistics, as the databases do by themselves after a while.
async fn analyze(scene: &Scene) -> Result<()> {
    let tables = ["inbox_item", "publication", "subscription", "notification", "users", "read_mark"];
    for table in tables {
        let text = match scene.app.db.backend() {
            DbBackend::MySql => format!("ANALYZE TABLE {table}"),
            _ => format!("ANALYZE {table}"),
        };
        let txn = scene.app.db.begin().await?;
        txn.execute_unprepared(&text).await?;
        txn.commit().await?;
    }
    Ok(())
}

async fn reading(scene: &Scene) -> Result<()> {
    let capped = Wish { cap: Some(99), ..Wish::default() };
    for (title, wish) in [("Overview, capped at 99", capped), ("Overview, exact", Wish::default())] {
        let read = async |user| overview::of(&scene.app, &scene.tenant, &[user], &wish).await.map(drop);
        compare(scene, title, read).await?;
    }
    send(scene, 100, |place| subscribers(&format!("noise-{}", place % 50))).await?;
    let read = async |user| overview::of(&scene.app, &scene.tenant, &[user], &Wish::default()).await.map(drop);
    compare(scene, "Behind? Overview after 100 entries of the log that are not for the user", read).await?;
    let window = Window { many: 20, end: End::Newest, older_than: None, newer_than: None };
    for (title, filter) in [
        ("List of 20", Filter::default()),
        ("List of 20 unread", Filter { read: Some(false), ..Filter::default() }),
        ("List of 20 of one type", Filter { types: Some(vec!["type-3".into()]), ..Filter::default() }),
    ] {
        let read = async |user| page::read(&scene.app, &scene.tenant, user, &filter, window).await.map(drop);
        compare(scene, title, read).await?;
    }
    Ok(())
}

/// Each round sends something for both, so that both are behind; between the far ones the log grows by 500 entries.
async fn syncing(scene: &Scene) -> Result<()> {
    for (title, noise) in [("Sync of one new item", 0), ("Sync of one new item after 500 entries of the log", 500)] {
        let mut times = [Vec::new(), Vec::new()];
        let mut last = Vec::new();
        for _ in 0..RUNS / 5 {
            send(scene, noise, |place| subscribers(&format!("noise-{}", place % 50))).await?;
            send(scene, 1, |_| subscribers("own-1")).await?;
            for (of, user) in [scene.small, scene.large].into_iter().enumerate() {
                let start = Instant::now();
                last = listen_to(scene, sync::caught_up(&scene.app, &scene.tenant, &[user])).await?;
                times[of].push(start.elapsed());
            }
        }
        print(scene, title, times, last).await?;
    }
    // Of one user who has nothing left to sync, MariaDB would only say that nothing can be found.
    send(scene, 500, |_| subscribers("own-1")).await?;
    let start = Instant::now();
    let both = listen_to(scene, sync::caught_up(&scene.app, &scene.tenant, &[scene.small, scene.large])).await?;
    let time = vec![start.elapsed()];
    print(scene, "Sync of 500 new items for both at once", [time.clone(), time], both).await
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

async fn listen_to<T>(scene: &Scene, work: impl Future<Output = Result<T>>) -> Result<Vec<Statement>> {
    scene.heard.lock().expect("nobody panics").clear();
    work.await?;
    let heard = std::mem::take(&mut *scene.heard.lock().expect("nobody panics"));
    Ok(heard.into_iter().map(|(statement, _)| statement).collect())
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

/// How the tables are reached for the large user, each way once with the number of its occurrences; and on PostgreSQL
/// how many pages that took. In a transaction that is rolled back.
async fn explain(scene: &Scene, mut statement: Statement) -> Result<Vec<String>> {
    let backend = scene.app.db.backend();
    let word = match backend {
        DbBackend::Postgres => "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) ",
        DbBackend::MySql => "EXPLAIN ",
        _ => "EXPLAIN QUERY PLAN ",
    };
    statement.sql = format!("{word}{}", statement.sql);
    let txn = scene.app.db.begin().await?;
    let rows = txn.query_all_raw(statement).await?;
    let mut lines = Vec::new();
    for row in &rows {
        lines.push(match backend {
            DbBackend::Postgres => row.try_get_by_index::<String>(0)?,
            DbBackend::MySql => mysql_row(row)?,
            _ => row.try_get::<String>("", "detail")?,
        });
    }
    txn.rollback().await?;
    Ok(ways(&lines))
}

fn ways(lines: &[String]) -> Vec<String> {
    let mut ways: Vec<(String, usize)> = Vec::new();
    let pages = lines.iter().map(|line| line.trim()).find(|line| line.starts_with("Buffers:"));
    for (place, line) in lines.iter().enumerate() {
        let way = line.trim().trim_start_matches("->").trim();
        let is_way = ["Scan", "SEARCH", "SCAN", "key="].iter().any(|word| way.contains(word));
        if !is_way || way.contains("never executed") || way.contains("key=- ") || is_inner(way) {
            continue;
        }
        let condition = lines.get(place + 1).map(|next| next.trim()).filter(|next| next.starts_with("Index Cond"));
        let way = if let Some(condition) = condition { format!("{way} {condition}") } else { way.to_owned() };
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, many)) => *many += 1,
            None => ways.push((way, 1)),
        }
    }
    let line = |(way, many): (String, usize)| format!("{many:>3} × {way}");
    ways.into_iter().map(line).chain(pages.map(str::to_owned)).collect()
}

/// SQLite says so of the few rows that a sub-select of ours has made.
fn is_inner(way: &str) -> bool {
    let name = way.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
    way.starts_with("CO-ROUTINE") || name.is_some_and(|name| matches!(name.as_bytes()[0], b'b' | b'c' | b'h' | b'x'))
}

fn mysql_row(row: &sea_orm::QueryResult) -> Result<String> {
    let text = |column: &str| -> Result<String> {
        Ok(row.try_get::<Option<String>>("", column)?.unwrap_or_else(|| "-".into()))
    };
    let table = text("table")?;
    let table = if table.starts_with('<') { "derived".into() } else { table };
    Ok(format!("{table:<8} {:<8} key={} {}", text("type")?, text("key")?, text("Extra")?))
}
