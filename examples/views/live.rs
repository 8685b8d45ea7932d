//! Five hundred members of one chat, connected, while fifty things a second happen in it.

use std::fs;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tidings::domain::live;
use tidings::domain::overview::Wish;
use tidings::domain::view::{self, Activity};
use tidings::error::Result;
use tidings::worker;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};

use super::{MEMBERS, Scene};

/// How long each of the three is measured.
const SPAN: Duration = Duration::from_secs(8);
const A_SECOND: u32 = 50;
const SINGLE: usize = 21;

/// What the members' sessions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Nothing,
    Views,
    Totals,
}

/// Counters, or what they have counted.
#[derive(Clone, Copy, Debug)]
struct Figures {
    at: Instant,
    activities: u64,
    statements: u64,
    messages: u64,
    delivered: u64,
    cpu_millis: u64,
}

/// Prints what fifty activities a second cost while nobody is connected, and while all members are.
pub async fn measure(scene: &Scene) -> Result<()> {
    let _worker = worker::start(&scene.app, &scene.live).await?;
    println!(
        "\n| {MEMBERS} members, {A_SECOND} activities a second | activities/s | statements/s | messages to other nodes/s | delivered/s | CPU of this process, of a core | to the last member, median (most) |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (about, title) in [
        (About::Nothing, "nobody connected"),
        (About::Views, "all with `viewChanged`"),
        (About::Totals, "all with `overviewChanged { overview { total } }`, 8 types"),
    ] {
        let delivered = Arc::new(AtomicU64::new(0));
        let sessions = connect(scene, about, &delivered).await?;
        // Until all that comes at the beginning has come.
        sleep(Duration::from_secs(3)).await;
        let before = figures(scene, &delivered, 0);
        let mut ticks = interval(Duration::from_secs(1) / A_SECOND);
        let mut activities = 0;
        while before.at.elapsed() < SPAN {
            ticks.tick().await;
            // Each member says something in their turn.
            let actor = usize::try_from(activities).unwrap_or_default() % (MEMBERS - 1) + 1;
            view::record(&scene.app, &scene.tenant, &[super::activity(0, actor)]).await?;
            activities += 1;
        }
        let after = figures(scene, &delivered, activities);
        let latency = if about == About::Nothing { String::from("–") } else { latency(scene, &delivered).await? };
        print(title, before, after, &latency);
        drop(sessions);
    }
    Ok(())
}

async fn connect(scene: &Scene, about: About, delivered: &Arc<AtomicU64>) -> Result<JoinSet<()>> {
    let mut sessions = JoinSet::new();
    for &user in &scene.users[..MEMBERS] {
        let delivered = delivered.clone();
        match about {
            About::Nothing => {}
            About::Views => {
                let feed = live::views(&scene.app, &scene.live, &scene.tenant, user, None).await?;
                sessions.spawn(async move {
                    while poll_fn(|cx| feed.poll_next(cx)).await.is_ok() {
                        delivered.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            About::Totals => {
                let wish = Wish { cap: Some(99_999), views: Some(0), ..Wish::default() };
                let feed = live::overviews(&scene.app, &scene.live, &scene.tenant, user, wish).await?;
                sessions.spawn(async move {
                    while poll_fn(|cx| feed.poll_next(cx)).await.is_ok() {
                        delivered.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        }
    }
    Ok(sessions)
}

/// From the end of a single activity until all members have been told of it.
async fn latency(scene: &Scene, delivered: &AtomicU64) -> Result<String> {
    let mut times = Vec::with_capacity(SINGLE);
    for _ in 0..SINGLE {
        sleep(Duration::from_millis(400)).await;
        let before = delivered.load(Ordering::Relaxed);
        let nobody = Activity { actor: None, ..super::activity(0, 1) };
        view::record(&scene.app, &scene.tenant, &[nobody]).await?;
        let start = Instant::now();
        while delivered.load(Ordering::Relaxed) < before + MEMBERS as u64 {
            sleep(Duration::from_micros(100)).await;
        }
        times.push(start.elapsed());
    }
    times.sort();
    Ok(format!("{} ms ({})", times[SINGLE / 2].as_millis(), times[SINGLE - 1].as_millis()))
}

fn figures(scene: &Scene, delivered: &AtomicU64, activities: u64) -> Figures {
    // Of hundredths of a second, in user mode and in the kernel; there is none of it but on Linux.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let hundredths: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Figures {
        at: Instant::now(),
        activities,
        statements: scene.statements.load(Ordering::Relaxed),
        messages: scene.app.metrics.bus_sent.get(),
        delivered: delivered.load(Ordering::Relaxed),
        cpu_millis: hundredths * 10,
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is printed with a digit behind the point at the most")]
fn print(title: &str, before: Figures, after: Figures, latency: &str) {
    let seconds = (after.at - before.at).as_secs_f64();
    let rate = |of: fn(&Figures) -> u64| (of(&after) - of(&before)) as f64 / seconds;
    println!(
        "| {title} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} % | {latency} |",
        rate(|of| of.activities),
        rate(|of| of.statements),
        rate(|of| of.messages),
        rate(|of| of.delivered),
        rate(|of| of.cpu_millis) / 10.0,
    );
}
