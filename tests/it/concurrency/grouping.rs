//! Groups that are created and deleted, and members who join and leave, while others send.

use domain::counters;
use futures_util::future::{join, join_all};
use maintenance::scheduled::pending_jobs;
use serde_json::{Value, json};

use super::{rounds, second_node};
use crate::support::{TestApp, everyone, on_every_database};

const MANY: usize = 2000;

on_every_database! {
    async fn no_send_fails_while_groups_are_made(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        app.admin().define_type("release").await;
        app.service().ask("mutation { saveUserGroup(code: \"crew\") { code } }", json!({})).await;
        let saving = join_all((0..8).map(|saver| async move {
            for round in 0..5 * rounds(app) {
                let code = json!({ "code": format!("{saver}-{round}"), "title": "of today" });
                let query = "mutation($code: String!, $title: String) { saveUserGroup(code: $code, title: $title) { code title } }";
                let saved = nodes[saver % 2].service().ask(query, code.clone()).await;
                assert_eq!(saved["saveUserGroup"], code);
            }
        }));
        let sending = join_all((0..8_usize).map(|sender| async move {
            for round in 0..3 * rounds(app) {
                let audience = if sender.is_multiple_of(4) { json!({ "groups": ["crew"] }) } else { everyone() };
                nodes[sender % 2].service().announce("release", audience, &format!("{sender}/{round}")).await;
            }
        }));
        join(saving, sending).await;
        assert_eq!(app.user("ada").titles(json!({})).await.len(), 6 * 3 * rounds(app));
        let groups = app.service().ask("{ userGroups { code } }", json!({})).await;
        assert_eq!(groups["userGroups"].as_array().unwrap().len(), 8 * 5 * rounds(app) + 1);
    }

    async fn who_is_added_to_a_group_and_has_never_looked_costs_nothing_until_then(app) {
        let service = app.service();
        app.admin().define_type("release").await;
        service.ask("mutation { saveUserGroup(code: \"crew\") { code } }", json!({})).await;
        service.announce("release", json!({ "groups": ["crew"] }), "before they came").await;
        let announcement = |number: usize| {
            let content = json!({ "title": format!("{number}") });
            json!({ "announcement": { "type": "release", "audience": everyone(), "content": content } })
        };
        for half in [0..MANY / 2, MANY / 2..MANY] {
            let inputs: Vec<Value> = half.map(announcement).collect();
            let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
            service.ask(query, json!({ "inputs": inputs })).await;
        }
        let users: Vec<String> = (0..MANY).map(|number| format!("user {number}")).collect();
        let add = "mutation($users: [ID!]!) { addUserGroupMembers(code: \"crew\", users: $users) { memberCount } }";
        let (statements, added) = app.statements_of(service.ask(add, json!({ "users": users }))).await;
        assert_eq!(added["addUserGroupMembers"]["memberCount"], MANY);
        assert!(statements <= 60, "{statements} statements");
        assert_eq!(many(app, "inbox_item").await, 0);

        service.announce("release", json!({ "groups": ["crew"] }), "once they were there").await;
        let titles = app.user("user 7").titles(json!({})).await;
        assert_eq!(titles.len(), MANY + 1);
        assert_eq!(titles[0], "once they were there");
        assert!(!titles.contains(&"before they came".to_owned()));
    }

    async fn a_deleted_group_leaves_no_members_once_they_have_what_was_sent_to_it(app) {
        let service = app.service();
        app.admin().define_type("release").await;
        service.ask("mutation { saveUserGroup(code: \"crew\") { code } saveView: saveUserGroup(code: \"quiet\") { code } }", json!({})).await;
        let add = "mutation { addUserGroupMembers(code: \"crew\", users: [\"ada\", \"bob\", \"cyd\"]) { code } \
            other: addUserGroupMembers(code: \"quiet\", users: [\"ada\", \"bob\"]) { code } }";
        service.ask(add, json!({})).await;
        service.announce("release", json!({ "groups": ["crew"] }), "to the crew").await;
        app.user("ada").overview().await;
        let add = "mutation { addUserGroupMembers(code: \"crew\", users: [\"dan\"]) { code } }";
        service.ask(add, json!({})).await;
        service.ask("mutation { deleteUserGroup(code: \"crew\") { deletedId } other: deleteUserGroup(code: \"quiet\") { deletedId } }", json!({})).await;

        // The rows stay until they are counted.
        pending_jobs::run_due_jobs(&app.app).await.unwrap();
        assert_eq!(many(app, "subscription").await, 4);
        counters::update_counters(&app.app).await.unwrap();
        app.advance(chrono::TimeDelta::minutes(1));
        pending_jobs::run_due_jobs(&app.app).await.unwrap();
        assert_eq!(many(app, "subscription").await, 2, "those of bob and cyd, who have not looked");
        assert_eq!(many(app, "inbox_item").await, 1, "nobody else's inbox was made");

        assert_eq!(app.user("bob").titles(json!({})).await, ["to the crew"]);
        app.advance(chrono::TimeDelta::hours(2));
        pending_jobs::run_due_jobs(&app.app).await.unwrap();
        assert_eq!(many(app, "subscription").await, 1);
        app.advance(chrono::TimeDelta::days(31));
        maintenance::scheduled::sweep::sweep_all(&app.app.delivery).await.unwrap();
        pending_jobs::run_due_jobs(&app.app).await.unwrap();
        assert_eq!((many(app, "subscription").await, many(app, "job").await), (0, 0));
        assert_eq!(many(app, "channel WHERE kind <> 0").await, 0);
        assert_eq!(many(app, "users WHERE subscription_count <> 0").await, 0);
    }

    async fn who_leaves_a_group_before_they_have_looked_keeps_what_was_sent_to_it(app) {
        let service = app.service();
        app.admin().define_type("release").await;
        for code in ["crew", "quiet"] {
            service.ask("mutation($code: String!) { saveUserGroup(code: $code) { code } }", json!({ "code": code })).await;
            let add = "mutation($code: String!) { addUserGroupMembers(code: $code, users: [\"ada\", \"bob\"]) { code } }";
            service.ask(add, json!({ "code": code })).await;
        }
        service.announce("release", everyone(), "to all").await;
        let remove = "mutation($code: String!) { removeUserGroupMembers(code: $code, users: [\"ada\", \"bob\"]) { memberCount } }";
        service.ask(remove, json!({ "code": "quiet" })).await;
        assert_eq!(many(app, "inbox_item").await, 0, "there is nothing that they could lose");
        service.announce("release", json!({ "groups": ["crew"] }), "to the crew").await;
        service.ask(remove, json!({ "code": "crew" })).await;
        service.announce("release", json!({ "groups": ["crew"] }), "too late").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["to the crew", "to all"]);
        assert_eq!(app.user("bob").titles(json!({})).await, ["to the crew", "to all"]);
    }
}

/// The number of rows of a table.
async fn many(app: &TestApp, table: &str) -> i64 {
    use sea_orm::{ConnectionTrait, Statement};
    let db = &app.app.db.read;
    let count = format!("SELECT count(*) AS many FROM {table}");
    let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), count)).await.unwrap().unwrap();
    row.try_get("", "many").unwrap()
}
