//! Marks by id: their cost, concurrent marks, and locks that other users do not wait for.

use std::time::Duration;

use futures_util::future::join_all;
use sea_orm::{ConnectionTrait, DbBackend};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{Actor, Kind, TestApp, everyone, on_every_database, with};

const HOLD: &str = "UPDATE users SET cursor_seq = cursor_seq WHERE external_id = 'ben'";

async fn ids(user: &Actor<'_>) -> Vec<Value> {
    user.items(json!({})).await.into_iter().map(|item| item["id"].clone()).collect()
}

/// Sends this many messages to a user and returns the item ids, newest first.
async fn filled(app: &TestApp, user: &str, many: usize) -> Vec<Value> {
    for number in 0..many {
        app.service().message("direct", user, &number.to_string()).await;
    }
    ids(&app.user(user)).await
}

on_every_database! {
    async fn a_mark_is_a_few_statements_of_one_item_and_of_sixteen(app) {
        app.admin().define_type("direct").await;
        let items = filled(app, "ada", 30).await;
        let ada = app.user("ada");
        // PostgreSQL and SQLite return changed rows from the statement that changes them. PostgreSQL also changes two
        // tables in one statement.
        let most = match app.app.db.backend() { DbBackend::Postgres => 3, DbBackend::Sqlite => 4, _ => 5 };
        for how in ["markRead", "markUnread", "archiveItems", "unarchiveItems", "deleteItems"] {
            let (one, changed) = app.statements_of(ada.mark(how, json!({ "ids": items[..1] }))).await;
            assert!(changed == 1 && one <= most, "{how}: {changed}, {one} statements");
        }
        let (all, changed) = app.statements_of(ada.mark("markRead", json!({ "ids": items[1..17] }))).await;
        assert!(changed == 16 && all <= most, "{all} statements");
        let (none, changed) = app.statements_of(ada.mark("markRead", json!({ "ids": items[1..17] }))).await;
        assert!(changed == 0 && none < most, "{none} statements");
        // A mark of all types costs the same for any number of types. It starts with the sync to the messages sent
        // since.
        for code in ["news", "orders", "chat"] {
            app.admin().define_type(code).await;
            app.service().message(code, "ada", "hello").await;
        }
        let (all, changed) = app.statements_of(ada.mark("markRead", json!({ "matching": {} }))).await;
        // PostgreSQL reads everything in the statement that counts, and records the counts in it.
        let (fewer, noted) = if app.app.db.backend() == DbBackend::Postgres { (2, 1) } else { (0, 0) };
        assert_eq!((changed, all), (16, 7 - fewer - noted));
        let see = "mutation { markSeen { changedCount } }";
        let (seen, _) = app.statements_of(ada.ask(see, json!({}))).await;
        assert_eq!(seen, 2);
        app.admin().define(json!({ "code": "feed", "title": "Feed", "readPolicy": "AUTO" })).await;
        app.service().message("feed", "ada", "hello").await;
        ada.overview().await;
        let (seen, answer) = app.statements_of(ada.ask(see, json!({}))).await;
        assert_eq!((&answer["markSeen"]["changedCount"], seen), (&json!(1), 7 - fewer));
    }

    async fn a_mark_of_all_goes_by_the_catalogue_and_the_log_as_they_are(app) {
        app.admin().define_type("direct").await;
        app.service().message("direct", "ada", "before").await;
        let far = app.beside().await;
        let ada = far.user("ada");
        assert_eq!(ada.mark("markRead", json!({ "matching": {} })).await, 1);
        // The other node's catalogue is outdated, and she is further behind than one transaction catches up.
        app.admin().define(json!({ "code": "feed", "title": "Feed", "readPolicy": "AUTO" })).await;
        app.admin().define_type("news").await;
        for number in 0..300 {
            app.service().announce("news", everyone(), &number.to_string()).await;
        }
        app.service().message("feed", "ada", "hello").await;
        assert_eq!(ada.mark("markRead", json!({ "matching": { "types": ["news"] } })).await, 300);
        assert_eq!(ada.ask("mutation { markSeen(type: \"feed\") { changedCount } }", json!({})).await["markSeen"]["changedCount"], 1);
        let refused = ada.refused("mutation { markSeen(type: \"none\") { changedCount } }", json!({})).await;
        assert!(refused.starts_with("BAD_USER_INPUT type"), "{refused}");
        assert_eq!(app.user("ada").mark("markRead", json!({ "matching": {} })).await, 0);
    }

    async fn a_mark_of_all_that_nobody_wants_counted_is_the_same_mark(app) {
        for code in ["direct", "news", "orders"] {
            app.admin().define_type(code).await;
        }
        app.admin().define(json!({ "code": "feed", "title": "Feed", "readPolicy": "AUTO" })).await;
        let shown = "affectedTypes { code } viewer { overview { unread { count } types { type { code } unread { count } } } \
            inbox { nodes { title isRead readAt } } }";
        let mark = |what: &str| format!("mutation {{ markRead(select: {{ matching: {{}} }}) {{ {what} {shown} }} }}");
        let see = |what: &str| format!("mutation {{ markSeen {{ {what} {shown} }} }}");
        let answer = async |who: &str, ask: String, name: &str| {
            let (many, mut answer) = app.statements_of(app.user(who).ask(&ask, json!({}))).await;
            (many, answer[name].take())
        };
        for who in ["ada", "ben"] {
            let items = filled(app, who, 3).await;
            app.user(who).mark("markRead", json!({ "ids": items })).await;
            app.user(who).mark("markUnread", json!({ "ids": items[..1] })).await;
            for code in ["orders", "orders", "feed", "feed"] {
                app.service().message(code, who, "hello").await;
            }
        }
        for (ask, name) in [(&mark as &dyn Fn(&str) -> String, "markRead"), (&see, "markSeen")] {
            for round in 0..2 {
                let (counted, mut ada) = answer("ada", ask("changedCount"), name).await;
                let (uncounted, ben) = answer("ben", ask(""), name).await;
                let many = ada.as_object_mut().unwrap().remove("changedCount");
                assert_eq!((uncounted, &ben), (counted, &ada), "{name}");
                let is_any = !ben["affectedTypes"].as_array().unwrap().is_empty();
                assert_eq!(many.unwrap() != 0, is_any, "{name}");
                assert_eq!(is_any, round == 0 && name == "markRead", "{name}: {ben}");
            }
            for who in ["ada", "ben"] {
                app.service().message("news", who, "and").await;
            }
        }
        for who in ["ada", "ben"] {
            app.service().message("feed", who, "more").await;
            app.service().message("feed", who, "and more").await;
        }
        let (_, seen) = answer("ben", see(""), "markSeen").await;
        assert_eq!(seen["affectedTypes"], json!([{ "code": "feed" }]));
        let (_, seen) = answer("ada", see("changedCount"), "markSeen").await;
        assert_eq!(seen["changedCount"], 2);
        for who in ["ada", "ben"] {
            assert_eq!(app.user(who).overview().await.last().unwrap(), "= 2", "the news, which nobody has marked");
        }
    }

    async fn an_overview_is_brought_to_what_is_marked_and_not_read_again(app) {
        app.admin().define_type("direct").await;
        app.admin().define_type("news").await;
        let far = app.beside().await;
        app.service().message("news", "ada", "new").await;
        let items = filled(app, "ada", 4).await;
        let ada = app.user("ada");
        let shown = "overview(cap: 3) { unread { count exact } unseen { count exact } types { type { code } unread { count exact } \
            latest { id isRead readAt isArchived } } }";
        let query = format!("{{ viewer {{ {shown} }} }}");
        let mark = |how: &str| format!("mutation($of: InboxItemSelector!) {{ {how}(select: $of) {{ changedCount viewer {{ {shown} }} }} }}");
        let reads = async |text: &str, items: &[Value]| {
            let (statements, mut answer) = app.statements_of(ada.ask(text, json!({ "of": { "ids": items } }))).await;
            let seen = answer.as_object_mut().unwrap().values_mut().next().unwrap()["viewer"].take();
            let anew = far.user("ada").ask(&query, json!({})).await["viewer"].take();
            assert_eq!(seen, anew, "{text}");
            statements
        };
        let most = match app.app.db.backend() { DbBackend::Postgres => 4, DbBackend::Sqlite => 6, _ => 7 };
        // The count is capped at three of the four items, so the node cannot know how many are left unread.
        for (how, of) in [("markRead", &items[1..2]), ("markRead", &items[..1]), ("markRead", &items[..1]), ("markUnread", &items[..1]),
            ("markUnread", &items[1..2]), ("archiveItems", &items[3..]), ("markRead", &items[3..]), ("markRead", &items[..4]), ("deleteItems", &items[..1])] {
            let statements = reads(&mark(how), of).await;
            assert!(statements <= most, "{how}: {statements} statements");
        }
        // One node has the overview in its cache, and another node marks.
        far.user("ada").mark("markUnread", json!({ "ids": items[1..3] })).await;
        reads(&mark("markRead"), &items[1..2]).await;
        // From now on, reading an overview from the database panics.
        far.user("ada").ask(&query, json!({})).await;
        app.panic_at("x_unread");
        let of = json!({ "of": { "ids": items[2..3] } });
        let marked = ada.ask(&mark("markRead"), of.clone()).await["markRead"]["viewer"].take();
        assert_eq!(far.user("ada").ask(&query, json!({})).await["viewer"], marked);
        assert_eq!(ada.ask(&mark("markRead"), of).await["markRead"]["viewer"], marked);
        assert_eq!(ada.ask(&query, json!({})).await["viewer"], marked);
        far.app.db.close().await;
    }

    async fn what_many_mark_at_once_is_what_each_has_marked(app) {
        app.admin().define_type("direct").await;
        let names: Vec<String> = (0..24).map(|number| format!("user {number}")).collect();
        let mut inboxes = Vec::new();
        for name in &names {
            inboxes.push(filled(app, name, 4).await);
        }
        let all = names.iter().zip(&inboxes).map(async |(name, items)| {
            let user = app.user(name);
            let archived = user.mark("archiveItems", json!({ "ids": items[..1] }));
            let read = user.mark("markRead", json!({ "ids": items[1..3] }));
            // The same id twice, in one batch with the marks of other users.
            let same = user.mark("markRead", json!({ "ids": [items[3], items[3]] }));
            let (archived, read, same) = futures_util::join!(archived, read, same);
            assert_eq!((archived, read, same), (1, 2, 1));
        });
        join_all(all).await;
        for (name, items) in names.iter().zip(&inboxes) {
            let user = app.user(name);
            assert_eq!(user.overview().await, ["direct: 0 (2)", "= 0"], "{name}");
            let left = ids(&user).await;
            assert_eq!(left, items[1..], "{name}");
        }
    }

    async fn who_deletes_reads_and_archives_the_same_item_at_once_leaves_one_of_these(app) {
        app.admin().define_type("direct").await;
        let items = filled(app, "ada", 6).await;
        let ada = app.user("ada");
        for item in items {
            let of = json!({ "ids": [item] });
            let ways = ["markRead", "archiveItems", "deleteItems", "markRead", "deleteItems"];
            let changed = join_all(ways.map(|how| ada.mark(how, of.clone()))).await;
            // Each change happens at most once: one of the deletions, and others only before it.
            assert!(changed[2] + changed[4] == 1 && changed[0] + changed[3] <= 1 && changed[1] <= 1, "{changed:?}");
        }
        assert_eq!(ids(&ada).await, Vec::<Value>::new());
        assert_eq!(ada.overview().await, ["direct: 0 (-)", "= 0"]);
    }

    async fn what_was_retracted_meanwhile_is_not_marked(app) {
        app.admin().define_type("news").await;
        let sent = app.service().announce("news", everyone(), "wrong").await;
        app.service().announce("news", everyone(), "right").await;
        let items = ids(&app.user("ada")).await;
        app.service().ask("mutation($id: ID!) { retractSentNotification(id: $id) { id } }", json!({ "id": sent })).await;
        assert_eq!(app.user("ada").mark("markRead", json!({ "ids": items })).await, 1);
        assert_eq!(app.user("ada").overview().await, ["news: 0 (right)", "= 0"]);
    }

    async fn a_list_goes_on_below_whatever_is_archived_or_deleted_above(app) {
        app.admin().define_type("direct").await;
        let items = filled(app, "ada", 40).await;
        let ada = app.user("ada");
        let page = "query($after: String) { viewer { inbox(first: 2, after: $after) { nodes { id } pageInfo { endCursor hasNextPage } } } }";
        let (walked, _) = app.statements_of(ada.ask(page, json!({}))).await;
        assert_eq!(ada.mark("archiveItems", json!({ "ids": items[..30] })).await, 30);
        assert_eq!(ada.mark("archiveItems", json!({ "ids": items[36..] })).await, 4);
        let (ranges, first) = app.statements_of(ada.ask(page, json!({}))).await;
        let mut inbox = first["viewer"]["inbox"].clone();
        let mut listed: Vec<Value> = Vec::new();
        loop {
            listed.extend(inbox["nodes"].as_array().unwrap().iter().map(|node| node["id"].clone()));
            if inbox["pageInfo"]["hasNextPage"] == false {
                break;
            }
            inbox = ada.ask(page, json!({ "after": inbox["pageInfo"]["endCursor"] })).await["viewer"]["inbox"].take();
        }
        assert_eq!(listed, items[30..36]);
        assert_eq!((walked, ranges), (1, 2));
    }
}

/// Another transaction locks ben's row.
async fn held(kind: Kind) {
    with(kind, async |app| {
        app.admin().define_type("direct").await;
        let (of_ada, of_ben) = (filled(app, "ada", 20).await, filled(app, "ben", 1).await);
        let other = TestApp::at(app.app.config.clone(), app.app.clock.clone()).await;
        let holder = other.app.db.begin().await.unwrap();
        holder.execute_unprepared(HOLD).await.unwrap();
        let (ada, ben) = (app.user("ada"), app.user("ben"));
        let waiting = ben.mark("markRead", json!({ "ids": of_ben }));
        let others = async {
            for item in &of_ada {
                let mark = timeout(Duration::from_secs(2), ada.mark("markRead", json!({ "ids": [item] }))).await;
                assert_eq!(mark.expect("nobody else is waited for"), 1);
            }
            holder.rollback().await.unwrap();
        };
        let (changed, ()) = futures_util::join!(waiting, others);
        assert_eq!(changed, 1);
        other.app.db.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_mark_that_waits_for_its_users_row_keeps_no_others_waiting_on_postgres() {
    held(Kind::Postgres).await;
}

#[tokio::test]
async fn a_mark_that_waits_for_its_users_row_keeps_no_others_waiting_on_mysql() {
    held(Kind::Mysql).await;
}
