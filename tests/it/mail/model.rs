//! Emails contain exactly the items that the inbox shows as unread at that moment, after any history.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use delivery::workers::DeliveryWorkers;
use serde_json::json;

use super::digest::listed;
use super::inbox::{address, define, letters, save_relay};
use crate::after::{announce, retract};
use crate::support::relay::Relay;
use crate::support::{TestApp, everyone, on_every_database};
use crate::webhook::settle;

const USERS: [&str; 5] = ["ada", "ben", "cleo", "dan", "eve"];
const MINUTES: i64 = 5;
/// The length of quiet hours in minutes: they end between two deliveries.
const QUIET: i64 = 7;
/// The most items that a digest lists.
const LISTED: usize = 20;

/// Pseudo-random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).unwrap()
    }

    fn user(&mut self) -> &'static str {
        USERS[self.below(USERS.len())]
    }
}

/// The state that the API does not return: quiet hours, and the users erased since the last look.
#[derive(Default)]
struct World {
    /// The start of each user's quiet hours.
    quiet: BTreeMap<&'static str, DateTime<Utc>>,
    erased: BTreeSet<&'static str>,
}

impl World {
    /// The end of a user's quiet hours, if they have begun.
    fn quiet_until(&self, user: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let begins = *self.quiet.get(user)?;
        // Quiet hours repeat every day.
        let since = TimeDelta::seconds((now - begins).num_seconds().rem_euclid(86_400));
        (since < TimeDelta::minutes(QUIET)).then(|| now - since + TimeDelta::minutes(QUIET))
    }
}

/// Creates users who receive different notifications.
async fn people(app: &TestApp) -> Relay {
    let relay = Relay::start().await;
    save_relay(app, &relay).await;
    address(app, &USERS).await;
    app.admin().ask("mutation { saveUserGroup(code: \"team\") { code } }", json!({})).await;
    app.admin()
        .ask("mutation { addUserGroupMembers(code: \"team\", users: [\"ada\", \"ben\"]) { code } }", json!({}))
        .await;
    for user in ["cleo", "dan"] {
        app.user(user).subscribe("7", &["comment"]).await;
    }
    relay
}

/// Publishes something, or makes a user do something. Returns whether something was published.
async fn step(app: &TestApp, dice: &mut Dice, world: &mut World, title: &str) -> bool {
    let kind = ["news", "other"][dice.below(2)];
    let user = dice.user();
    let what = dice.below(14);
    match what {
        0 | 1 => drop(app.admin().announce(kind, everyone(), title).await),
        2 => drop(app.admin().announce(kind, json!({ "users": [user, dice.user()] }), title).await),
        3 => drop(app.admin().announce(kind, json!({ "groups": ["team"] }), title).await),
        4 => app.service().message(kind, user, title).await,
        5 => app.service().remind(kind, "7", "comment", Some(user), title).await,
        6 => drop(app.user(user).mark("markRead", json!({ "matching": { "types": [kind] } })).await),
        7 => drop(app.user(user).mark("markUnread", json!({ "matching": { "types": [kind] } })).await),
        8 => drop(app.user(user).mark("archiveItems", json!({ "matching": { "types": [kind] } })).await),
        9 => {
            let enabled = dice.below(2) == 0;
            let query = "mutation($of: [NotificationPreferenceInput!]) { updatePreferences(types: $of) { preferences { types { code } } } }";
            app.user(user).ask(query, json!({ "of": [{ "code": kind, "enabled": enabled }] })).await;
        }
        10 => {
            let sent = announce(&app.admin(), json!({ "type": kind, "content": { "title": title } })).await;
            retract(&app.admin(), &sent["id"]).await;
        }
        11 => sleep(app, world, user).await,
        12 => {
            app.service().ask("mutation($id: ID!) { eraseUser(id: $id) { erasedId } }", json!({ "id": user })).await;
            address(app, &[user]).await;
            world.quiet.remove(user);
            world.erased.insert(user);
        }
        _ => drop(app.user(user).titles(json!({})).await),
    }
    what <= 5
}

/// Starts a user's quiet hours now.
async fn sleep(app: &TestApp, world: &mut World, user: &'static str) {
    let now = app.now();
    let at = |minutes: i64| (now + TimeDelta::minutes(minutes)).format("%H:%M").to_string();
    let query = "mutation($of: DeliveryHoursInput!) { updateDeliveryHours(input: $of) { viewer { id } } }";
    app.user(user).ask(query, json!({ "of": { "quiet": { "from": at(0), "to": at(QUIET) } } })).await;
    world.quiet.insert(user, now);
}

/// Emails that are not decided yet.
#[derive(Default)]
struct Letters {
    /// Published titles, until they are due.
    published: Vec<(String, DateTime<Utc>)>,
    /// Titles that fell due in a user's quiet hours, and the end of these.
    asleep: Vec<(&'static str, String, DateTime<Utc>)>,
}

impl Letters {
    /// The emails that the server sends when it looks for due ones.
    async fn look(&mut self, app: &TestApp, world: &mut World) -> Vec<String> {
        let now = app.now();
        let erased = std::mem::take(&mut world.erased);
        self.asleep.retain(|(user, ..)| !erased.contains(user));
        let due: Vec<String> = self.published.extract_if(.., |(_, at)| *at <= now).map(|(title, _)| title).collect();
        let woken: Vec<_> = self.asleep.extract_if(.., |(_, _, until)| *until <= now).collect();
        let mut mailed = Vec::new();
        for user in USERS {
            let unread = app.user(user).titles(json!({ "read": false })).await;
            let woken = woken.iter().filter(|(of, ..)| *of == user).map(|(_, title, _)| title);
            for title in due.iter().chain(woken).filter(|title| unread.contains(title)) {
                match world.quiet_until(user, now) {
                    Some(until) => self.asleep.push((user, title.clone(), until)),
                    None => mailed.push(format!("{user}: {title}")),
                }
            }
        }
        mailed.sort();
        mailed
    }
}

on_every_database! {
    async fn whatever_happens_the_letters_are_what_is_unread_when_they_are_due(app) {
        for kind in ["news", "other"] {
            define(app, kind, "IF_UNREAD", MINUTES).await;
        }
        let relay = people(app).await;
        let (mut dice, workers, mut before) = (Dice(7), DeliveryWorkers::default(), Vec::new());
        let (mut world, mut model, mut put_off) = (World::default(), Letters::default(), 0);
        for round in 0..16 {
            for number in 0..10 {
                let title = format!("item {round}.{number}");
                if step(app, &mut dice, &mut world, &title).await {
                    model.published.push((title, app.now() + TimeDelta::minutes(MINUTES)));
                }
            }
            if dice.below(2) == 0 {
                settle(app, &workers).await;
            }
            app.advance(TimeDelta::minutes(MINUTES));
            settle(app, &workers).await;
            before.extend(model.look(app, &mut world).await);
            before.sort();
            assert_eq!(letters(&relay), before, "in round {round}");
            put_off += model.asleep.len();
        }
        assert!(before.len() > 40 && put_off > 10, "{} letters were sent, {put_off} put off", before.len());
    }

    async fn whatever_happens_digests_are_the_unread_lists_at_their_hours(app) {
        for code in ["news", "other"] {
            let delivery = json!([{ "channel": "EMAIL", "digest": true }]);
            app.admin().define(json!({ "code": code, "title": code, "delivery": delivery })).await;
        }
        let relay = people(app).await;
        let (mut dice, workers, mut before, mut world) = (Dice(11), DeliveryWorkers::default(), 0, World::default());
        // The titles published since each user's last digest, and the users with some of them pending.
        let mut news: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        let mut woken: BTreeSet<&str> = BTreeSet::new();
        for round in 0..8 {
            // Two minutes before the users' digest hour, which may fall into quiet hours that begin now.
            app.advance(TimeDelta::minutes(24 * 60 - if round == 0 { 2 } else { 12 }));
            let mut published = BTreeSet::new();
            for number in 0..10 {
                let title = format!("item {round}.{number}");
                if step(app, &mut dice, &mut world, &title).await {
                    published.insert(title);
                }
            }
            settle(app, &workers).await;
            for user in USERS {
                if world.erased.remove(user) {
                    woken.remove(user);
                    // To a re-created user, all earlier items are new.
                    news.insert(user, (0..round).flat_map(|round| (0..10).map(move |of| format!("item {round}.{of}"))).collect());
                }
                let unread = app.user(user).titles(json!({ "read": false })).await;
                if unread.iter().any(|title| published.contains(title)) {
                    woken.insert(user);
                }
                news.entry(user).or_default().extend(published.iter().cloned());
            }
            app.advance(TimeDelta::minutes(2));
            settle(app, &workers).await;
            app.advance(TimeDelta::minutes(10));
            settle(app, &workers).await;
            let mut expected = BTreeMap::new();
            for user in std::mem::take(&mut woken) {
                let unread = app.user(user).titles(json!({ "read": false })).await;
                if unread.iter().any(|title| news[user].contains(title)) {
                    news.remove(user);
                    expected.insert(user.to_owned(), unread.into_iter().take(LISTED).collect::<Vec<_>>());
                }
            }
            let got: Vec<_> = relay.got().split_off(before);
            before += got.len();
            let got: Vec<_> = got.iter().map(|got| (got.to.split('@').next().unwrap().to_owned(), listed(got))).collect();
            assert_eq!((got.len(), BTreeMap::from_iter(got)), (expected.len(), expected), "in round {round}");
        }
        assert!(before > 12, "{before} digests were sent");
    }
}
