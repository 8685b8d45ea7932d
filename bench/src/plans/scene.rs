//! The database to inspect, and the actions in it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use base::config::ServerConfig;
use base::error::Result;
use domain::catalogue::{self, MessageType};
use domain::channel::{self, ActionTarget, ListenerId};
use domain::inbox::mark::{self, ItemChange, MarkFilter, MarkSelection};
use domain::inbox::sync;
use domain::notification::{self, Addressees, NotificationChange, NotificationContent, NotificationInput};
use domain::tenant::{self, Tenant};
use domain::user::{self, PerformedBy};
use entity::ids::UserId;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use store::connect;
use tidings::app::App;

const SMALL_ITEMS: usize = 100;
const LARGE_ITEMS: usize = 30_000;
const LARGE_UNREAD: usize = 10_000;
const LARGE_SUBSCRIPTIONS: usize = 5_000;
const NOISE: usize = 20_000;
const TYPES: usize = 8;

type Heard = Arc<Mutex<Vec<(Statement, Duration)>>>;

pub struct Scene {
    pub app: Arc<App>,
    pub tenant: Arc<Tenant>,
    heard: Heard,
    pub small: UserId,
    pub large: UserId,
}

pub async fn fill(url: &str, is_fresh: bool) -> Result<Scene> {
    let config = ServerConfig::for_database(url, "never used, but it has to be there");
    let mut db = connect(url, 4).await?;
    db.migrate().await?;
    let heard = Heard::default();
    let observed = heard.clone();
    db.add_observer(move |info| observed.lock().expect("nobody panics").push((info.statement.clone(), info.elapsed)));
    let app = App::start_with_database(db, config, Clock::System).await?;
    let tenant = tenant::get_or_create(&app, "acme").await?;
    for place in 0..TYPES {
        catalogue::save_type(&app, &tenant, &message_type(place)).await?;
    }
    let names: Vec<String> = ["small", "large", "other"].map(Into::into).to_vec();
    let users = user::find_or_create(&app, &tenant, "users", &names).await?;
    let scene = Scene { app, tenant, heard, small: users[0], large: users[1] };
    listen(&scene, scene.small, 3).await?;
    listen(&scene, scene.large, LARGE_SUBSCRIPTIONS).await?;
    listen(&scene, users[2], 50).await?;
    crowd(&scene).await?;
    send(&scene, SMALL_ITEMS, |_| Addressees::Receiver("small".into())).await?;
    send(&scene, LARGE_ITEMS - LARGE_UNREAD, |_| Addressees::Receiver("large".into())).await?;
    read_everything(&scene, scene.large).await?;
    send(&scene, LARGE_UNREAD, |_| Addressees::Receiver("large".into())).await?;
    let noise = send(&scene, NOISE, unheard).await?;
    retract(&scene, &noise[..500]).await?;
    sync::sync_to_end(&scene.app, &scene.tenant, &[scene.small, scene.large]).await?;
    if !is_fresh {
        analyze(&scene).await?;
    }
    Ok(scene)
}

fn message_type(place: usize) -> MessageType {
    MessageType { code: format!("type-{place}"), title: format!("Type {place}"), ..MessageType::default() }
}

/// Subscribes to documents `own-0` and on; the third user (`many` is 50) to documents with no other subscribers.
async fn listen(scene: &Scene, user: UserId, many: usize) -> Result<()> {
    let prefix = if many == 50 { "noise" } else { "own" };
    for place in 0..many {
        let target = ActionTarget { target_type: "doc".into(), id: format!("{prefix}-{place}") };
        let actions = vec!["comment".into()];
        channel::subscribe(&scene.app, &scene.tenant, PerformedBy::Backend, ListenerId::User(user), &target, actions)
            .await?;
    }
    Ok(())
}

/// Adds users in groups, so that the planner sees tables of more than two users.
async fn crowd(scene: &Scene) -> Result<()> {
    let names: Vec<String> = (0..5000).map(|number| format!("user-{number}")).collect();
    for group in ["readers", "writers", "editors"] {
        channel::save_group(&scene.app, &scene.tenant, group, None).await?;
        channel::add_members(&scene.app, &scene.tenant, group, &names).await?;
    }
    send(scene, TYPES, |_| Addressees::Groups(vec!["readers".into()])).await?;
    for name in &names[..300] {
        read_everything(scene, user::find_or_create_one(&scene.app, &scene.tenant, "user", name).await?).await?;
    }
    Ok(())
}

/// Sends `many` notifications and returns their ids.
pub async fn send(scene: &Scene, many: usize, to: impl Fn(usize) -> Addressees) -> Result<Vec<i64>> {
    let mut sent = Vec::with_capacity(many);
    let places: Vec<usize> = (0..many).collect();
    for places in places.chunks(1000) {
        let input = |place: &usize| NotificationInput {
            message_type: format!("type-{}", place % TYPES),
            addressees: to(*place),
            content: NotificationContent { title: Some(format!("Number {place}")), ..NotificationContent::default() },
            sender: None,
            publish_at: None,
            expires_at: None,
            idempotency_key: None,
            past: None,
            raised: None,
            sent_by: None,
            is_strict: false,
        };
        let inputs: Vec<NotificationInput> = places.iter().map(input).collect();
        let batch =
            notification::send(&scene.app, &scene.tenant, PerformedBy::Backend, &inputs, |_| "input".into()).await?;
        sent.extend(batch.into_iter().map(|of| of.notification.id));
    }
    Ok(sent)
}

/// Sets the expiry of a notification to `hours` from now.
pub async fn put_off(scene: &Scene, sent: i64, hours: i64) -> Result<()> {
    let expires_at = Some(Some(scene.app.now() + hours * 60 * 60 * 1000));
    let patch = NotificationChange { expires_at, ..NotificationChange::default() };
    notification::update(&scene.app, &scene.tenant, sent, &patch).await?;
    Ok(())
}

/// Retracts notifications.
pub async fn retract(scene: &Scene, sent: &[i64]) -> Result<()> {
    for id in sent {
        notification::retract(&scene.app, &scene.tenant, *id).await?;
    }
    Ok(())
}

/// Addresses only the third user.
pub fn unheard(place: usize) -> Addressees {
    subscribers(&format!("noise-{}", place % 50))
}

pub fn subscribers(id: &str) -> Addressees {
    Addressees::Subscribers { target_type: "doc".into(), target_id: id.into(), action: "comment".into() }
}

async fn read_everything(scene: &Scene, user: UserId) -> Result<()> {
    let everything = MarkSelection::Matching(MarkFilter::default());
    mark::apply(&scene.app, &scene.tenant, user, &everything, ItemChange::Read).await?;
    Ok(())
}

/// Updates the planner's statistics, as the databases do by themselves after a while.
async fn analyze(scene: &Scene) -> Result<()> {
    let tables = ["inbox_item", "publication", "subscription", "notification", "users", "read_mark", "amendment"];
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

/// Records the statements of an action.
pub async fn listen_to<T>(scene: &Scene, work: impl Future<Output = Result<T>>) -> Result<Vec<Statement>> {
    scene.heard.lock().expect("nobody panics").clear();
    work.await?;
    let heard = std::mem::take(&mut *scene.heard.lock().expect("nobody panics"));
    Ok(heard.into_iter().map(|(statement, _)| statement).collect())
}
