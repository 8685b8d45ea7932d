//! Users who are erased while others send to them, and erasures that are interrupted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::tenant;
use futures_util::future::{join, join_all};
use maintenance::privacy;
use maintenance::scheduled::pending_jobs;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::{Value, json};

use super::{Span, Ticks, rounds, second_node};
use crate::support::{TestApp, everyone, on_every_database};

const SENDERS: usize = 8;
const USERS: [&str; 4] = ["ada", "bob", "cyd", "dan"];

/// An acknowledged message.
struct Sent {
    title: String,
    to: &'static str,
    span: Span,
}

on_every_database! {
    async fn who_is_erased_under_load_leaves_nothing_and_nobody_who_comes_after_misses_anything(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        app.admin().define_type("release").await;
        app.user("eve").subscribe("plan", &["comment"]).await;
        let (ticks, is_over) = (Ticks::default(), AtomicBool::new(false));
        let sending = async {
            let sent = join_all((0..SENDERS).map(|sender| send(nodes[sender % 2], sender, 3 * rounds(app), &ticks))).await;
            is_over.store(true, Ordering::SeqCst);
            sent.into_iter().flatten().collect::<Vec<Sent>>()
        };
        let erasing = join_all(USERS.iter().enumerate().map(|(place, user)| erase(nodes[place % 2], user, &ticks, &is_over)));
        let living = join_all(USERS.iter().enumerate().map(|(place, user)| live(nodes[place / 2], user, &is_over)));
        let (sent, (erased, ())) = join(sending, join(erasing, async { drop(living.await) })).await;
        assert_eq!(left(app).await, Vec::<String>::new());
        for (user, erased) in USERS.iter().zip(erased) {
            check(app, user, &sent, &erased).await;
        }
    }

    async fn an_erasure_that_is_cut_off_is_finished_by_the_same_call_or_another_node(app) {
        let other = app.beside().await;
        app.admin().define_type("release").await;
        let inputs: Vec<Value> = (0..1000).map(|number| {
            let content = json!({ "title": format!("{number}") });
            json!({ "announcement": { "type": "release", "audience": everyone(), "content": content } })
        }).collect();
        for _ in 0..3 {
            let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
            app.service().ask(query, json!({ "inputs": inputs })).await;
        }
        let acme = tenant::get_or_create(&app.app, "acme").await.unwrap();
        for round in 0..6 {
            furnish(app).await;
            let erasing = privacy::erase_user(&app.app, &acme, "ada");
            let cut = tokio::time::timeout(Duration::from_millis(4 * round * round), erasing).await;
            is_still(app).await;
            let is_unfinished = rows(app, "SELECT count(*) AS many FROM job j WHERE j.kind = 0").await > 0;
            let is_there = rows(app, "SELECT count(*) AS many FROM users u WHERE u.external_id = 'ada'").await > 0;
            assert!(!(is_there && is_unfinished), "who is being erased is no user");
            if round % 2 == 0 {
                let says = privacy::erase_user(&other.app, &acme, "ada").await.unwrap();
                assert!(says || !is_there && !is_unfinished, "the same call again goes on with it");
                assert!(!says || cut.is_err(), "what is done is not there");
            } else {
                pending_jobs::run_due_jobs(&other.app).await.unwrap();
                assert_eq!(privacy::erase_user(&app.app, &acme, "ada").await.unwrap(), is_there);
            }
            assert_eq!(left(app).await, Vec::<String>::new());
            let stats = "{ sentNotifications(first: 1, filter: { kinds: [MESSAGE] }) { nodes { title } } }";
            assert_eq!(app.admin().ask(stats, json!({})).await["sentNotifications"]["nodes"], json!([]));
        }
        other.app.db.close().await;
    }

    async fn what_is_left_from_before_goes_with_the_sweep(app) {
        app.admin().define_type("release").await;
        furnish(app).await;
        app.user("zoe").overview().await;
        let txn = app.app.db.begin().await.unwrap();
        let gone = "DELETE FROM users WHERE external_id = 'ada'";
        txn.execute_raw(Statement::from_string(app.app.db.backend(), gone)).await.unwrap();
        txn.commit().await.unwrap();
        assert_ne!(left(app).await, Vec::<String>::new());
        let zoe = app.user("zoe").titles(json!({})).await;
        assert!(privacy::sweep_orphans(&app.app).await.unwrap() > 0);
        assert_eq!(left(app).await, Vec::<String>::new());
        assert_eq!(privacy::sweep_orphans(&app.app).await.unwrap(), 0);
        assert_eq!(app.user("zoe").titles(json!({})).await, zoe);
    }

    async fn who_was_erased_was_reached_and_has_read(app) {
        app.admin().define_type("release").await;
        app.service().announce("release", everyone(), "read by Ada").await;
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        app.service().ask("mutation { eraseUser(id: \"ada\") { erasedId } }", json!({})).await;
        domain::counters::update_counters(&app.app).await.unwrap();
        let query = "{ sentNotifications(first: 1) { nodes { stats { deliveredCount readCount } } } }";
        let stats = app.admin().ask(query, json!({})).await["sentNotifications"]["nodes"][0]["stats"].take();
        assert_eq!(stats, json!({ "deliveredCount": 1, "readCount": 1 }));
    }
}

/// Creates all kinds of data about a user: an inbox, marks, a subscription, a follow, a preference, a view, a message,
/// actions of their own and a scheduled message for them.
async fn furnish(app: &TestApp) {
    let ada = app.user("ada");
    ada.subscribe("plan", &["comment"]).await;
    ada.ask("mutation { followUser(user: \"ben\") { user { id } } }", json!({})).await;
    ada.ask(
        "mutation { updatePreferences(actions: [{ code: \"like\", enabled: false }]) { preferences { actions { code } } } }",
        json!({}),
    )
    .await;
    let service = app.service();
    service.ask("mutation { joinView(key: { code: \"chat\", externalId: \"1\" }, users: [\"ada\"]) { view { externalId } } }", json!({})).await;
    service.message("release", "ada", "dear Ada").await;
    service.remind("release", "plan", "comment", Some("ada"), "Ada said so").await;
    let at = json!({ "at": (app.now() + chrono::TimeDelta::days(1)).to_rfc3339() });
    for audience in ["users: [\"ada\", \"zoe\"]", "users: [\"ada\"]"] {
        let later = format!(
            "mutation($at: DateTime!) {{ sendAnnouncement(input: {{ type: \"release\", audience: {{ {audience} }}, \
             content: {{ title: \"later\" }}, publishAt: $at }}) {{ replayed }} }}"
        );
        service.ask(&later, at.clone()).await;
    }
    ada.overview().await;
    ada.mark("markRead", json!({ "matching": {} })).await;
}

/// Waits for a commit that was still running when its caller left: it locks the user's row or the job's.
async fn is_still(app: &TestApp) {
    let txn = app.app.db.begin().await.unwrap();
    let lock = if txn.get_database_backend() == DbBackend::Sqlite { "" } else { " FOR UPDATE" };
    for rows in ["SELECT id FROM users", "SELECT id FROM job"] {
        txn.execute_raw(Statement::from_string(txn.get_database_backend(), format!("{rows}{lock}"))).await.unwrap();
    }
    txn.rollback().await.unwrap();
}

async fn rows(app: &TestApp, query: &str) -> i64 {
    let db = &app.app.db.read;
    let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), query)).await.unwrap().unwrap();
    row.try_get("", "many").unwrap()
}

/// Returns the tables with references to users that do not exist.
async fn left(app: &TestApp) -> Vec<String> {
    let mut left = Vec::new();
    for (table, column) in [
        ("inbox_item", "user_id"),
        ("read_mark", "user_id"),
        ("subscription", "user_id"),
        ("preference", "user_id"),
        ("view_visit", "user_id"),
        ("tally_span", "user_id"),
        ("recipient", "user_id"),
        ("notification", "receiver_id"),
        ("notification", "sender_id"),
        ("publication", "actor_id"),
    ] {
        let query = format!(
            "SELECT count(*) AS many FROM {table} x LEFT JOIN users u ON u.id = x.{column} WHERE u.id IS NULL AND \
             x.{column} IS NOT NULL"
        );
        match rows(app, &query).await {
            0 => {}
            many => left.push(format!("{table}.{column}: {many}")),
        }
    }
    let jobs = rows(app, "SELECT count(*) AS many FROM job j WHERE j.kind = 0").await;
    if jobs > 0 {
        left.push(format!("{jobs} jobs"));
    }
    left
}

/// Sends messages, announcements to named users and actions of users, each after the one before is acknowledged.
async fn send(node: &TestApp, sender: usize, rounds: usize, ticks: &Ticks) -> Vec<Sent> {
    let mut sent = Vec::new();
    for round in 0..rounds {
        let to = USERS[(sender + round) % USERS.len()];
        let by = USERS[(sender + round + 1) % USERS.len()];
        let title = format!("{sender}/{round}");
        let content = json!({ "title": title });
        let input = match sender % 3 {
            0 => json!({ "message": { "type": "release", "receiver": to, "sender": by, "content": content } }),
            1 => {
                json!({ "announcement": { "type": "release", "audience": { "users": [to, "eve"] }, "content": content } })
            }
            _ => {
                let target = json!({ "type": "doc", "externalId": "plan" });
                json!({ "reminder": { "type": "release", "target": target, "action": "comment", "sender": by, "content": content } })
            }
        };
        let began = ticks.now();
        let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { notification { stats { deliveredCount } } } }";
        let answer = node.service().ask(query, json!({ "inputs": [input] })).await;
        let span = Span { began, ended: ticks.now() };
        if sender % 3 < 2 {
            let delivered = &answer["sendNotifications"][0]["notification"]["stats"]["deliveredCount"];
            assert_eq!(delivered, if sender.is_multiple_of(3) { 1 } else { 2 }, "{title}");
            sent.push(Sent { title, to, span });
        }
    }
    sent
}

/// Erases a user repeatedly until the senders are done.
async fn erase(node: &TestApp, user: &str, ticks: &Ticks, is_over: &AtomicBool) -> Vec<Span> {
    let mut erased = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        let began = ticks.now();
        node.service().ask("mutation($id: ID!) { eraseUser(id: $id) { erasedId } }", json!({ "id": user })).await;
        erased.push(Span { began, ended: ticks.now() });
        // This read gives the senders time.
        node.service().ask("{ userGroups { memberCount } }", json!({})).await;
    }
    erased
}

/// Uses the inbox all the time. Requests may fail, but only with an error that goes away on retry.
async fn live(node: &TestApp, user: &str, is_over: &AtomicBool) {
    let queries = [
        "{ viewer { overview { unread { count } } inbox(first: 5) { nodes { title } } } }",
        "mutation { subscribeTopic(input: { target: { type: \"doc\", externalId: \"plan\" }, what: { actions: [\"comment\"] } }) { createdCount } }",
        "mutation { markRead(select: { matching: {} }) { changedCount } }",
        "mutation { followUser(user: \"eve\") { user { id } } }",
    ];
    for query in queries.iter().cycle() {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        let (_, answer) = node.user(user).send(query, json!({})).await;
        let code = &answer["errors"][0]["extensions"]["code"];
        assert!(code.is_null() || code == "UNAVAILABLE", "{query}: {answer}");
    }
}

/// Messages sent after the last erasure are there once; those acknowledged before an erasure are not.
async fn check(app: &TestApp, user: &str, sent: &[Sent], erased: &[Span]) {
    // A node that has not heard of the last erasure fails one read, and looks the user up again for the next.
    let (_, answer) = app.user(user).send("{ viewer { overview { cursor } } }", json!({})).await;
    let code = &answer["errors"][0]["extensions"]["code"];
    assert!(code.is_null() || code == "UNAVAILABLE", "{user}: {answer}");
    let titles = app.user(user).titles(json!({})).await;
    for Sent { title, span, .. } in sent.iter().filter(|of| of.to == user) {
        let copies = titles.iter().filter(|of| *of == title).count();
        let is_after_all = erased.iter().all(|of| of.ended < span.began);
        let is_before_one = erased.iter().any(|of| span.ended < of.began);
        assert!(copies <= 1, "{user} got {title} {copies} times");
        assert!(copies == 1 || !is_after_all, "{user} lost {title} {span:?}: {erased:?}");
        assert!(copies == 0 || !is_before_one, "{user} kept {title} {span:?}: {erased:?}");
    }
}
