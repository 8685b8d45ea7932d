//! Everything shown of an inbox reflects one position of the log, regardless of concurrent sends and locks.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{join, join_all, join5};
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{reminder, rounds, second_node};
use crate::support::{Actor, Listening, Socket, TestApp, everyone, on_every_database};

const SENDERS: usize = 8;
/// Ada reads in every way, bob marks up to the shown cursor, and cyd deletes up to the shown cursor.
const USERS: [&str; 3] = ["ada", "bob", "cyd"];

/// The titles shown to a user, newest first, and the cursor from which a client would continue.
struct Shown {
    titles: Vec<String>,
    cursor: String,
}

/// A count, and the cursor in the same response.
struct Counted {
    unread: usize,
    cursor: String,
}

/// Acknowledged titles by user, in no order.
type Ledger = Mutex<Vec<(&'static str, String)>>;

on_every_database! {
    async fn what_is_shown_while_others_send_is_the_inbox_as_of_one_place_in_the_log(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        app.admin().define_type("release").await;
        for user in USERS {
            app.user(user).subscribe("plan", &["comment"]).await;
        }
        let listening = app.listen().await;
        let (ledger, is_over) = (Ledger::default(), AtomicBool::new(false));
        let sending = async {
            join_all((0..SENDERS).map(|sender| send(nodes[sender % 2], sender, &ledger))).await;
            is_over.store(true, Ordering::SeqCst);
            app.service().announce("release", everyone(), "last").await;
        };
        let ada = async {
            let reading = nodes.map(|node| join(list(node, &is_over), count(node, &is_over)));
            join(join_all(reading), join_all((0..2).map(|_| follow(app, &listening)))).await
        };
        let ((), (read, followed), marked, deleted, ()) =
            join5(sending, ada, mark(nodes, "bob", &is_over), delete(nodes, "cyd", &is_over), hold(app, &is_over)).await;

        let all = newest_first(&app.user("ada"), json!({})).await.titles;
        check_expected("ada", &all, &ledger);
        for (lists, counts) in read {
            assert!(!lists.is_empty() && !counts.is_empty());
            for shown in &lists {
                assert!(all.ends_with(&shown.titles), "a list that is none of the inbox: {:?}\nof {all:?}", shown.titles);
            }
            for cursor in lists.iter().map(|shown| &shown.cursor).filter(|cursor| !cursor.is_empty()) {
                check_pages(&app.user("ada"), cursor, &all).await;
            }
            for Counted { unread, cursor } in counts {
                let newer = newest_first(&app.user("ada"), json!({ "last": 200, "before": cursor })).await.titles;
                assert_eq!(unread + newer.len(), all.len(), "counted, and newer than the cursor: {newer:?}");
            }
        }
        for titles in followed {
            assert_eq!(titles, all.iter().rev().cloned().collect::<Vec<_>>(), "what was shown, and what followed");
        }
        check_marked(app, marked).await;
        let left = newest_first(&app.user("cyd"), json!({})).await.titles;
        check_expected("cyd", &left.into_iter().chain(deleted).collect::<Vec<_>>(), &ledger);
        listening.stop().await;
    }
}

/// Repeatedly sends an announcement, a reminder or a message.
async fn send(node: &TestApp, sender: usize, ledger: &Ledger) {
    for round in 0..rounds(node) {
        let title = format!("{sender}/{round}");
        let to: &[&'static str] = match (sender + round) % 3 {
            0 => {
                node.service().announce("release", everyone(), &title).await;
                &USERS
            }
            1 => {
                let query = "mutation($input: SendReminderInput!) { sendReminder(input: $input) { replayed } }";
                node.service().ask(query, json!({ "input": reminder(&title, None) })).await;
                &USERS
            }
            _ => {
                let to = round % USERS.len();
                node.service().message("release", USERS[to], &title).await;
                &USERS[to..=to]
            }
        };
        ledger.lock().expect("nobody panics").extend(to.iter().map(|user| (*user, title.clone())));
    }
}

/// Repeatedly locks the users' rows for a while (on SQLite, the whole database), so that others wait.
async fn hold(app: &TestApp, is_over: &AtomicBool) {
    let (db, backend) = (&app.app.db, app.app.db.backend());
    while !is_over.load(Ordering::SeqCst) {
        let held = db.begin().await.expect("there is a connection");
        if backend != DbBackend::Sqlite {
            let rows = Statement::from_string(backend, "SELECT id FROM users ORDER BY id FOR UPDATE");
            held.query_all_raw(rows).await.expect("the rows can be locked");
        }
        sleep(Duration::from_millis(15)).await;
        held.rollback().await.expect("it ends");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Returns a page of a user's list.
async fn newest_first(user: &Actor<'_>, page: Value) -> Shown {
    let query = "query($first: Int, $after: String, $last: Int, $before: String) { viewer { \
        inbox(first: $first, after: $after, last: $last, before: $before) { \
        nodes { title } pageInfo { startCursor hasNextPage hasPreviousPage } } } }";
    let page = if page["last"].is_null() { json!({ "first": 200, "after": page["after"] }) } else { page };
    let inbox = user.ask(query, page.clone()).await["viewer"]["inbox"].take();
    let beyond = if page["last"].is_null() { "hasNextPage" } else { "hasPreviousPage" };
    assert_eq!(inbox["pageInfo"][beyond], false, "a page of 200 holds all: {inbox:#}");
    if page["after"].is_null() && page["before"].is_null() {
        assert_eq!(inbox["pageInfo"]["hasPreviousPage"], false, "nothing is in front of the newest page");
    }
    let titles = inbox["nodes"].as_array().expect("it is a list").iter();
    Shown {
        titles: titles.map(|node| node["title"].as_str().expect("it has a title").to_owned()).collect(),
        cursor: inbox["pageInfo"]["startCursor"].as_str().unwrap_or_default().to_owned(),
    }
}

async fn list(node: &TestApp, is_over: &AtomicBool) -> Vec<Shown> {
    let mut lists = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        lists.push(newest_first(&node.user("ada"), json!({})).await);
    }
    lists
}

async fn count(node: &TestApp, is_over: &AtomicBool) -> Vec<Counted> {
    let mut counts = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        let query = "{ viewer { overview { cursor unread { count } types { unread { count } } } } }";
        let mut overview = node.user("ada").ask(query, json!({})).await["viewer"]["overview"].take();
        assert_eq!(overview["types"][0]["unread"], overview["unread"]);
        let unread = overview["unread"]["count"].as_u64().expect("it is a count");
        let Value::String(cursor) = overview["cursor"].take() else { panic!("it is a cursor") };
        counts.push(Counted { unread: usize::try_from(unread).expect("it is small"), cursor });
    }
    counts
}

/// Returns the titles that a client sees, oldest first: it lists, and then follows everything newer than the list.
async fn follow(node: &TestApp, listening: &Listening) -> Vec<String> {
    let user = node.user("ada");
    let mut shown = newest_first(&user, json!({})).await;
    while shown.titles.len() < 3 {
        shown = newest_first(&user, json!({})).await;
    }
    let mut titles: Vec<String> = shown.titles.into_iter().rev().collect();
    let after = json!({ "after": shown.cursor });
    let mut socket = Socket::subscribed(&listening.address, &user.token, crate::support::ITEMS, after).await;
    while titles.last().is_none_or(|title| title != "last") {
        titles.push(socket.title().await);
    }
    titles
}

/// Marks the shown items as read, and no others. Returns the titles shown last.
async fn mark(nodes: [&TestApp; 2], user: &str, is_over: &AtomicBool) -> Vec<String> {
    let mut last = Vec::new();
    for node in nodes.into_iter().cycle() {
        let shown = newest_first(&node.user(user), json!({})).await;
        if !shown.cursor.is_empty() {
            let unread = shown.titles.len() - last.len();
            let changed = nodes[1].user(user).mark("markRead", json!({ "matching": { "upTo": shown.cursor } })).await;
            assert_eq!(usize::try_from(changed), Ok(unread), "{:?} after {last:?}", shown.titles);
            last = shown.titles;
        }
        if is_over.load(Ordering::SeqCst) {
            break;
        }
    }
    last
}

/// Deletes the shown items, and no others. Returns their titles.
async fn delete(nodes: [&TestApp; 2], user: &str, is_over: &AtomicBool) -> Vec<String> {
    let mut deleted = Vec::new();
    for node in nodes.into_iter().cycle() {
        let shown = newest_first(&node.user(user), json!({})).await;
        if !shown.cursor.is_empty() {
            nodes[1].user(user).mark("deleteItems", json!({ "matching": { "upTo": shown.cursor } })).await;
            deleted.extend(shown.titles);
        }
        if is_over.load(Ordering::SeqCst) {
            return deleted;
        }
    }
    deleted
}

/// Checks that a user has, or had, everything sent to them, once.
fn check_expected(user: &str, titles: &[String], ledger: &Ledger) {
    let mut expected: Vec<String> = ledger
        .lock()
        .expect("nobody panics")
        .iter()
        .filter(|(to, _)| *to == user)
        .map(|(_, title)| title.clone())
        .collect();
    expected.push("last".into());
    expected.sort_unstable();
    let mut titles = titles.to_vec();
    titles.sort_unstable();
    assert_eq!(titles, expected, "{user} was shown the one and should have been shown the other");
}

/// The items older than a cursor, the one at it, and the newer ones make up the inbox.
async fn check_pages(user: &Actor<'_>, cursor: &str, all: &[String]) {
    let older = newest_first(user, json!({ "after": cursor })).await.titles;
    let newer = newest_first(user, json!({ "last": 200, "before": cursor })).await.titles;
    assert_eq!(newer.len() + 1 + older.len(), all.len());
    assert!(all.starts_with(&newer) && all.ends_with(&older), "{newer:?}, the cursor, {older:?}\nof {all:?}");
}

/// Shown items are read, and the others are unread.
async fn check_marked(app: &TestApp, shown: Vec<String>) {
    let shown: BTreeSet<String> = shown.into_iter().collect();
    for item in app.user("bob").items(json!({})).await {
        let title = item["title"].as_str().expect("it has a title");
        assert_eq!(item["isRead"], json!(shown.contains(title)), "{title} of {shown:?}");
    }
}
