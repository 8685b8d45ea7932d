//! Marks by ids: what they cost, what many do at the same time, and whom nobody waits for.

use std::time::Duration;

use futures_util::future::join_all;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{Actor, Kind, TestApp, everyone, on_every_database, with};

const HOLD: &str = "UPDATE users SET cursor_seq = cursor_seq WHERE external_id = 'ben'";

async fn ids(user: &Actor<'_>) -> Vec<Value> {
    user.items(json!({})).await.into_iter().map(|item| item["id"].clone()).collect()
}

/// Sends so many messages to a user, and returns their ids, newest first.
async fn filled(app: &TestApp, user: &str, many: usize) -> Vec<Value> {
    for number in 0..many {
        app.service().message("direct", user, &number.to_string()).await;
    }
    ids(&app.user(user)).await
}

on_every_database! {
    async fn a_mark_is_five_statements_of_one_item_and_of_sixteen(app) {
        app.admin().define_type("direct").await;
        let items = filled(app, "ada", 30).await;
        let ada = app.user("ada");
        for how in ["markRead", "markUnread", "archiveItems", "unarchiveItems", "deleteItems"] {
            let (one, changed) = app.statements_of(ada.mark(how, json!({ "ids": items[..1] }))).await;
            assert!(changed == 1 && one <= 5, "{how}: {changed}, {one} statements");
        }
        let (all, changed) = app.statements_of(ada.mark("markRead", json!({ "ids": items[1..17] }))).await;
        assert!(changed == 16 && all <= 5, "{all} statements");
        let (none, changed) = app.statements_of(ada.mark("markRead", json!({ "ids": items[1..17] }))).await;
        assert!(changed == 0 && none <= 2, "{none} statements");
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
            // An id more than once, and together with those of others that there are none of.
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
            // Each at most once: who deleted first, and what others did before.
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

/// Somebody else's transaction holds ben's row.
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
