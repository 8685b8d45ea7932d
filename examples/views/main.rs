//! Measures views: activities a second on one view and on ten thousand, what a user in two hundred views reads, and what
//! five hundred members of one chat cost who are connected while fifty things a second happen in it.
//!
//! `cargo run --release --example views -- [DATABASE_URL of an empty database]`, SQLite in a temporary folder where none is
//! given. Takes two minutes; the output is Markdown. Below the figures stand the plans of the statements that read.
#![expect(clippy::print_stdout, reason = "a command line program talks on standard output")]

mod live;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use entity::ids::{UserId, ViewId};
use futures_util::future::try_join_all;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::json;
use tidings::app::App;
use tidings::clock::Clock;
use tidings::config::Config;
use tidings::database::connect;
use tidings::domain::catalogue::{self, MessageType};
use tidings::domain::live::Live;
use tidings::domain::tenant::{self, Tenant};
use tidings::domain::user;
use tidings::domain::view::{self, Activity, By, Key, Listing};
use tidings::error::{Error, Result};

const CONNECTIONS: u32 = 16;
const VIEWS: usize = 10_000;
const USERS: usize = 2_000;
/// Of the view that everybody writes in.
const MEMBERS: usize = 500;
/// Of the user whose lists are read; the others are in five.
const MANY: usize = 200;
/// How long each rate is measured.
const SPAN: Duration = Duration::from_secs(4);
const RUNS: usize = 101;
/// Of messages: each is a line of every overview.
const TYPES: usize = 8;

type Heard = Arc<Mutex<Vec<Statement>>>;

struct Scene {
    app: Arc<App>,
    live: Arc<Live>,
    tenant: Arc<Tenant>,
    users: Vec<UserId>,
    heard: Heard,
    statements: Arc<AtomicU64>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("there is room for a database");
    let local = format!("sqlite://{}?mode=rwc", folder.path().join("views.db").display());
    let scene = fill(&std::env::args().nth(1).unwrap_or(local)).await?;
    println!("## {:?}\n\n| what | |\n| --- | --- |", scene.app.db.backend());
    for (tasks, batch) in [(1, 1), (16, 1), (4, 100)] {
        for (place, many) in [("one view", 1), ("10,000 views", VIEWS)] {
            let rate = record(&scene, tasks, batch, many).await?;
            println!("| activities a second in {place}, {tasks} callers, {batch} a call | {rate:.0} |");
        }
    }
    let (app, tenant, users) = (&scene.app, &scene.tenant, [scene.users[0]]);
    let listing = Listing::Newest(MANY);
    timed(&scene, "all 200 views of a user", async || view::of(app, tenant, &users, &listing).await.map(drop)).await?;
    timed(&scene, "the unread sum and 20 views", async || view::unread_of(app, &users, 20).await.map(drop)).await?;
    let keys = Listing::These((0..20).map(key).collect());
    timed(&scene, "20 views by their keys", async || view::of(app, tenant, &users, &keys).await.map(drop)).await?;
    let visited = key(0);
    timed(&scene, "a visit", async || view::visit(app, tenant, users[0], &visited).await.map(drop)).await?;
    // The first view of an empty database.
    let (one, members) = ([ViewId(1)], &scene.users[..MEMBERS]);
    let look = async || view::states(app, &one, members).await.map(drop);
    timed(&scene, "a look at one view for its 500 members", look).await?;
    let some = &scene.users[..200];
    timed(&scene, "what 200 users have not seen of all their views", async || {
        view::standings(app, some).await.map(drop)
    })
    .await?;
    live::measure(&scene).await?;
    plans(&scene).await
}

fn key(place: usize) -> Key {
    Key { code: "chat".into(), id: format!("room-{place}") }
}

fn name(place: usize) -> String {
    format!("user-{place}")
}

fn activity(view: usize, actor: usize) -> Activity {
    let preview = json!({ "from": name(actor), "text": "Shall we ship it on Thursday?" });
    Activity { view: key(view), actor: Some(name(actor)), preview: Some(preview), idempotency_key: None }
}

fn message_type(place: usize) -> MessageType {
    MessageType { code: format!("type-{place}"), title: format!("Type {place}"), ..MessageType::default() }
}

async fn fill(url: &str) -> Result<Scene> {
    let config = Config::over(url, "never used, but it has to be there");
    let mut db = connect(url, CONNECTIONS).await?;
    db.migrate().await?;
    let heard = Heard::default();
    let observed = heard.clone();
    let statements = Arc::new(AtomicU64::new(0));
    let count = statements.clone();
    db.observe(move |info| {
        count.fetch_add(1, Ordering::Relaxed);
        if info.statement.sql.starts_with("SELECT") {
            observed.lock().expect("nobody panics").push(info.statement.clone());
        }
    });
    let app = App::over(db, config, Clock::System).await?;
    let tenant = tenant::named(&app, "acme").await?;
    let names: Vec<String> = (0..USERS).map(name).collect();
    let users = user::mention(&app, &tenant, "users", &names).await?;
    view::join(&app, &tenant, By::Partner, &key(0), &names[..MEMBERS]).await?;
    // Each activity puts its actor into the view.
    for first in (0..VIEWS).step_by(1000) {
        let activities: Vec<Activity> =
            (first..first + 1000).map(|view| activity(view, 1 + view % (USERS - 1))).collect();
        view::record(&app, &tenant, &activities).await?;
    }
    for place in 0..MANY {
        view::join(&app, &tenant, By::Partner, &key(place), &names[..1]).await?;
        view::record(&app, &tenant, &[activity(place, 1)]).await?;
    }
    for table in ["view", "view_visit"] {
        let word = if app.db.backend() == DbBackend::MySql { "ANALYZE TABLE" } else { "ANALYZE" };
        let txn = app.db.begin().await?;
        txn.execute_unprepared(&format!("{word} {table}")).await?;
        txn.commit().await?;
    }
    for place in 0..TYPES {
        catalogue::save_type(&app, &tenant, &message_type(place)).await?;
    }
    Ok(Scene { app, live: Arc::default(), tenant, users, heard, statements })
}

/// Activities a second of so many callers at once, each with so many a call, spread over so many views.
async fn record(scene: &Scene, tasks: usize, batch: usize, views: usize) -> Result<f64> {
    let (start, done) = (Instant::now(), AtomicUsize::new(0));
    let caller = async |task: usize| {
        let mut turn = task;
        while start.elapsed() < SPAN {
            // A stride that is prime to the number of views visits all of them, in no order.
            let next = |within: usize| activity((turn + within) * 7919 % views, 1 + (turn + within) % (MEMBERS - 1));
            let activities: Vec<Activity> = (0..batch).map(next).collect();
            view::record(&scene.app, &scene.tenant, &activities).await?;
            done.fetch_add(batch, Ordering::Relaxed);
            turn += batch * tasks;
        }
        Ok::<(), Error>(())
    };
    try_join_all((0..tasks).map(caller)).await?;
    #[expect(clippy::cast_precision_loss, reason = "it is printed without a fraction")]
    let many = done.into_inner() as f64;
    Ok(many / start.elapsed().as_secs_f64())
}

/// Prints the median of the times of some work, and keeps its last statements for `plans`.
async fn timed(scene: &Scene, title: &str, work: impl AsyncFn() -> Result<()>) -> Result<()> {
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        work().await?;
        times.push(start.elapsed());
    }
    times.sort();
    println!("| {title}, median | {:.2} ms |", times[RUNS / 2].as_secs_f64() * 1e3);
    let mut heard = scene.heard.lock().expect("nobody panics");
    if let Some(mut last) = heard.pop() {
        last.sql = format!("-- {title}\n{}", last.sql);
        heard.retain(|statement| statement.sql.starts_with("--"));
        heard.push(last);
    }
    Ok(())
}

async fn plans(scene: &Scene) -> Result<()> {
    let backend = scene.app.db.backend();
    let word = match backend {
        DbBackend::Postgres => "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) ",
        DbBackend::MySql => "EXPLAIN ",
        _ => "EXPLAIN QUERY PLAN ",
    };
    let statements = std::mem::take(&mut *scene.heard.lock().expect("nobody panics"));
    for mut statement in statements {
        let Some((title, sql)) = statement.sql.split_once('\n').filter(|_| statement.sql.starts_with("--")) else {
            continue;
        };
        println!("\n{}\n```", title.trim_start_matches("-- "));
        statement.sql = format!("{word}{sql}");
        for row in scene.app.db.read.query_all_raw(statement).await? {
            match backend {
                DbBackend::Postgres => {
                    let line = row.try_get_by_index::<String>(0)?;
                    let is_way = line.contains("Scan") || line.contains("Join") || line.contains("Nested");
                    if is_way && !line.contains("Bitmap Index Scan on view_external_id") {
                        println!("{line}");
                    }
                }
                DbBackend::MySql => {
                    let text = |column: &str| row.try_get::<Option<String>>("", column).map(Option::unwrap_or_default);
                    println!("{} {} {} {}", text("table")?, text("type")?, text("key")?, text("Extra")?);
                }
                _ => println!("{}", row.try_get::<String>("", "detail")?),
            }
        }
        println!("```");
    }
    Ok(())
}
