//! The test data: tenants with users, a log and inboxes, and the same data in the tables of letters and of the limit.
//! Generated once and kept.

mod bare;
mod event;
mod letters;
mod sink;

use std::sync::Arc;

use base::clock::Clock;
use base::config::ServerConfig;
use domain::catalogue::{self, MessageType};
use domain::tenant;
use entity::ids::{ChannelId, TenantId, TypeId};
use sea_orm::{ConnectionTrait, Statement};
use store::{Database, connect};
use tidings::app::App;

use crate::Result;
use event::{Event, events};
use sink::{Cell, Sink};

/// Version of the generated data; increase it with each change.
const VERSION: i64 = 1;

pub const TYPES: usize = 8;

/// Each user is in two of them.
const GROUPS: i64 = 10;

/// Subscriptions of each user `subs-…`.
const SUBSCRIPTIONS: i64 = 5000;

/// Number of users of each special kind.
pub const SPECIAL: i64 = 5;

/// Distance between the ids of two tenants' rows.
const STRIDE: i64 = 100_000_000;

/// A tenant and the size of its data.
#[derive(Clone, Copy)]
pub struct Scene {
    pub code: &'static str,
    /// Ordinary users, from `u0`.
    pub users: i64,
    /// Number of users, from the first one, with synced inboxes; the others have only their messages.
    pub present: i64,
    pub announcements: i64,
    /// Messages to ordinary users: half of them go to one user in a hundred.
    pub messages: i64,
    /// Whether there are users with large data: `subs-…`, `unread-…` and `items-…`.
    pub has_special: bool,
}

impl Scene {
    /// The row of a user, by index.
    pub fn row(&self, place: i64) -> i64 {
        let index = SCENES.iter().position(|scene| scene.code == self.code).expect("it is one of them");
        (index as i64 + 1) * STRIDE + place
    }
}

const fn scene(code: &'static str, users: i64, present: i64, announcements: i64, messages: i64) -> Scene {
    Scene { code, users, present, announcements, messages, has_special: false }
}

/// A large tenant (2,000 announcements, 100,000 users, two million items), smaller ones, and tenants to send to.
const SCENES: [Scene; 7] = [
    Scene { has_special: true, ..scene("main", 100_000, 1000, 2000, 700_000) },
    scene("a632", 10_000, 1000, 632, 20_000),
    scene("a199", 10_000, 1000, 199, 20_000),
    scene("a20", 10_000, 1000, 20, 20_000),
    scene("sending", 10_000, 0, 0, 0),
    scene("thousand", 1000, 0, 0, 0),
    scene("million", 1_000_000, 0, 0, 0),
];

/// The tenants; generates them if the database is empty.
pub async fn prepare(url: &str) -> Result<Vec<Scene>> {
    let db = connect(url, 2).await?;
    db.migrate().await?;
    let (data, bare) = (version(&db, "bench_data").await?, version(&db, "bare_data").await?);
    let app = App::start_with_database(
        db,
        ServerConfig::for_database(url, "never used, but it has to be there"),
        Clock::System,
    )
    .await?;
    let mut sink = Sink::open(url).await?;
    match data {
        Made::Nothing => fill(&app, &mut sink).await?,
        Made::Version(VERSION) => {}
        _ => return Err("the database holds other data, or was not filled to the end: give an empty one".into()),
    }
    if bare != Made::Version(bare::VERSION) {
        eprintln!("filling the tables of the limit");
        bare::fill(&mut sink).await?;
    }
    Ok(SCENES.to_vec())
}

async fn fill(app: &Arc<App>, sink: &mut Sink) -> Result<()> {
    eprintln!("filling the database, which takes some minutes");
    sink.run("CREATE TABLE bench_data (version BIGINT NOT NULL)").await?;
    for statement in letters::TABLES {
        sink.run(statement).await?;
    }
    for (scene, base) in SCENES.iter().zip(1..) {
        eprintln!("tenant {}", scene.code);
        Filling::begin(app, scene, base * STRIDE).await?.fill(sink).await?;
    }
    sink.settle().await?;
    sink.run(&format!("INSERT INTO bench_data (version) VALUES ({VERSION})")).await
}

/// The state of the data in a database.
#[derive(PartialEq)]
enum Made {
    Nothing,
    /// Begun but not finished.
    Begun,
    Version(i64),
}

async fn version(db: &Database, table: &str) -> Result<Made> {
    let version = Statement::from_string(db.backend(), format!("SELECT version FROM {table}"));
    Ok(match db.read.query_one_raw(version).await {
        Ok(Some(row)) => Made::Version(row.try_get("", "version")?),
        Ok(None) => Made::Begun,
        Err(_) => Made::Nothing,
    })
}

/// A tenant while it is filled.
struct Filling<'a> {
    scene: &'a Scene,
    tenant: TenantId,
    everyone: ChannelId,
    types: Vec<TypeId>,
    base: i64,
    now: i64,
}

impl<'a> Filling<'a> {
    async fn begin(app: &App, scene: &'a Scene, base: i64) -> Result<Self> {
        let tenant = tenant::get_or_create(app, scene.code).await?;
        for place in 0..TYPES {
            catalogue::save_type(app, &tenant, &message_type(place)).await?;
        }
        let types = catalogue::load_current(app, &tenant).await?.types.iter().map(|kind| kind.id).collect();
        Ok(Self { scene, tenant: tenant.id, everyone: tenant.everyone, types, base, now: app.now() })
    }

    async fn fill(&self, sink: &mut Sink) -> Result<()> {
        let total = self.log(sink).await?;
        self.users(sink, total).await?;
        let tenant = self.tenant.0;
        sink.run(&format!(
            "UPDATE tenant SET last_seq = {total}, last_notification_id = {total}, counted_seq = {total}, \
             published_at = {} WHERE id = {tenant}",
            self.now
        ))
        .await?;
        sink.run(&format!(
            "INSERT INTO letter_type SELECT tenant_id, id, code, title FROM message_type WHERE tenant_id = {tenant}"
        ))
        .await
    }

    fn user(&self, place: i64) -> i64 {
        self.base + place
    }

    fn group(&self, place: i64) -> i64 {
        self.base + place
    }

    /// Inserts the users, their groups, and the subscriptions of some of them.
    async fn users(&self, sink: &mut Sink, total: i64) -> Result<()> {
        let (tenant, now) = (self.tenant.0, self.now);
        let channel =
            |id: i64, kind: i64, code: String| [id.into(), tenant.into(), kind.into(), code.into(), now.into()];
        let columns = "id, tenant_id, kind, code, created_at";
        for group in 0..GROUPS {
            sink.row("channel", columns, &channel(self.group(group), 1, format!("group-{group}"))).await?;
        }
        let targets = self.base + 1000;
        if self.scene.has_special {
            for target in 0..SUBSCRIPTIONS {
                sink.row("channel", columns, &channel(targets + target, 2, format!("doc/d{target}/comment"))).await?;
            }
        }
        let specials = if self.scene.has_special { 3 * SPECIAL } else { 0 };
        for place in 0..self.scene.users + specials {
            let special = place - self.scene.users;
            let (user, is_subscriber) = (self.user(place), (0..SPECIAL).contains(&special));
            let name = match special {
                _ if special < 0 => format!("u{place}"),
                _ if special < SPECIAL => format!("subs-{special}"),
                _ if special < 2 * SPECIAL => format!("unread-{}", special - SPECIAL),
                _ => format!("items-{}", special - 2 * SPECIAL),
            };
            let mut channels: Vec<i64> = groups_of(place).map(|group| self.group(group)).to_vec();
            if is_subscriber {
                channels.extend(targets..targets + SUBSCRIPTIONS);
            }
            let is_present = place < self.scene.present || special >= 0;
            let cursor = if is_present { total } else { 0 };
            let cells: [Cell; 7] = [
                user.into(),
                tenant.into(),
                name.into(),
                cursor.into(),
                cursor.into(),
                (channels.len() as i64).into(),
                now.into(),
            ];
            let columns = "id, tenant_id, external_id, cursor_seq, seen_seq, subscription_count, created_at";
            sink.row("users", columns, &cells).await?;
            for channel in channels {
                let cells = [user.into(), channel.into(), 0.into(), now.into()];
                sink.row("subscription", "user_id, channel_id, since_seq, created_at", &cells).await?;
            }
            for group in groups_of(place) {
                sink.row("letter_role", "user_id, role_id", &[user.into(), self.group(group).into()]).await?;
            }
        }
        Ok(())
    }

    /// Inserts the notifications with their items and reads. Returns the number of notifications.
    async fn log(&self, sink: &mut Sink) -> Result<i64> {
        let all = events(self.scene);
        let total = all.len() as i64;
        // Spread over the last 29 days.
        let instant = |seq: i64| self.now - (total - seq + 1) * (29 * 24 * 3600 * 1000 / total.max(1));
        for (event, seq) in all.into_iter().zip(1..) {
            let at = instant(seq);
            self.notification(sink, event, seq, at).await?;
            match event {
                Event::Message { to } => self.item(sink, to, event, seq, at).await?,
                Event::Announcement { group, .. } => {
                    let specials = if self.scene.has_special { 3 * SPECIAL } else { 0 };
                    let present = (0..self.scene.present).chain(self.scene.users..self.scene.users + specials);
                    for place in present {
                        if group.is_none_or(|group| groups_of(place).contains(&group)) {
                            self.item(sink, place, event, seq, at).await?;
                        }
                    }
                }
            }
        }
        Ok(total)
    }

    async fn notification(&self, sink: &mut Sink, event: Event, seq: i64, at: i64) -> Result<()> {
        let (tenant, kind) = (self.tenant.0, self.types[event.kind(seq)].0);
        let (title, body) = (event.title(seq), "What has changed, why it matters to you, and what to do about it now.");
        let (receiver, sender, audience, receiver_kind) = match event {
            Event::Message { to } => (Some(self.user(to)), Some(self.user(seq % 100)), r#"{"users":1}"#.to_owned(), 2),
            Event::Announcement { group: None, .. } => (None, None, r#"{"everyone":true}"#.into(), 0),
            Event::Announcement { group: Some(group), .. } => {
                (None, None, format!(r#"{{"groups":["group-{group}"]}}"#), 1)
            }
        };
        let (channel, role) = match event {
            Event::Message { .. } => (None, None),
            Event::Announcement { group: None, .. } => (Some(self.everyone.0), None),
            Event::Announcement { group: Some(group), .. } => (Some(self.group(group)), Some(self.group(group))),
        };
        let cells: [Cell; 17] = [
            tenant.into(),
            seq.into(),
            seq.into(),
            (if receiver.is_some() { 2 } else { 0 }).into(),
            kind.into(),
            title.clone().into(),
            body.into(),
            format!("/news/{seq}").into(),
            sender.into(),
            receiver.into(),
            audience.into(),
            at.into(),
            at.into(),
            1.into(),
            1.into(),
            0.into(),
            0.into(),
        ];
        let columns = "tenant_id, id, seq, kind, type_id, title, body, link, sender_id, receiver_id, audience, created_at, \
             published_at, audience_size, delivered_count, read_count, fingerprint";
        sink.row("notification", columns, &cells).await?;
        if let Some(channel) = channel {
            let cells = [channel.into(), seq.into(), tenant.into(), kind.into()];
            sink.row("publication", "channel_id, seq, tenant_id, type_id", &cells).await?;
        }
        let cells: [Cell; 9] = [
            (self.base + seq).into(),
            tenant.into(),
            kind.into(),
            receiver_kind.into(),
            receiver.or(role).unwrap_or_default().into(),
            sender.into(),
            title.into(),
            body.into(),
            at.into(),
        ];
        let columns = "id, tenant_id, type_id, receiver_kind, receiver_id, sender_id, title, content, created_at";
        sink.row("letter_record", columns, &cells).await
    }

    async fn item(&self, sink: &mut Sink, place: i64, event: Event, seq: i64, at: i64) -> Result<()> {
        let (user, kind) = (self.user(place), self.types[event.kind(seq)].0);
        let is_read = event::is_read(self.scene, place, seq);
        let read_at = is_read.then_some(at + 60_000);
        let cells = [user.into(), seq.into(), kind.into(), i64::from(is_read).into(), read_at.into()];
        sink.row("inbox_item", "user_id, seq, type_id, state, read_at", &cells).await?;
        if let Some(read_at) = read_at {
            let cells = [user.into(), (self.base + seq).into(), read_at.into()];
            sink.row("letter_read", "user_id, letter_id, read_at", &cells).await?;
        }
        Ok(())
    }
}

fn groups_of(place: i64) -> [i64; 2] {
    let first = place % GROUPS;
    [first, (first + 1 + place / GROUPS % (GROUPS - 1)) % GROUPS]
}

fn message_type(place: usize) -> MessageType {
    MessageType {
        code: format!("type-{place}"),
        title: format!("Type {place}"),
        position: i32::try_from(place).expect("there are eight"),
        ..MessageType::default()
    }
}
