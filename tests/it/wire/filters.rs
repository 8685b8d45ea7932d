//! How many items a filter may skip in one page, and how many types a call may name.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::code;
use crate::support::{Kind, TestApp, everyone, on_every_database, with};

const INBOX: &str = "query($first: Int, $after: String, $last: Int, $before: String, $filter: InboxFilter) { viewer { \
    inbox(first: $first, after: $after, last: $last, before: $before, filter: $filter) { \
    nodes { title } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";

const SENT: &str = "query($after: String, $filter: NotificationFilter) { \
    sentNotifications(first: 10, after: $after, filter: $filter) { nodes { title } pageInfo { hasNextPage endCursor } } }";

/// Sends this many messages to ada.
async fn fill(app: &TestApp, many: usize) {
    let send = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
    let message = json!({ "message": { "type": "news", "receiver": "ada", "content": { "title": "other" } } });
    for part in (0..many).step_by(1000) {
        let inputs = vec![message.clone(); 1000.min(many - part)];
        app.service().ask(send, json!({ "inputs": inputs })).await;
    }
}

fn titles(page: &Value) -> Vec<&str> {
    page["nodes"].as_array().unwrap().iter().map(|node| node["title"].as_str().unwrap()).collect()
}

on_every_database! {
    async fn a_filtered_page_passes_over_a_thousand_items_and_says_where_it_goes_on(app) {
        app.admin().define_type("news").await;
        app.service().announce("news", everyone(), "oldest").await;
        fill(app, 1500).await;
        app.service().announce("news", everyone(), "middle").await;
        fill(app, 700).await;
        app.service().announce("news", everyone(), "newest").await;
        let filter = json!({ "kinds": ["ANNOUNCEMENT"] });
        let page = async |arguments: Value| {
            let mut data = app.user("ada").ask(INBOX, arguments).await;
            data["viewer"]["inbox"].take()
        };
        for (size, cursor, info, expected) in [
            (("first", 10), ("after", "endCursor"), "hasNextPage", [vec!["newest", "middle"], vec![], vec!["oldest"]]),
            (("last", 10), ("before", "startCursor"), "hasPreviousPage", [vec!["oldest"], vec!["middle"], vec!["newest"]]),
        ] {
            let mut after = Value::Null;
            for (place, expected) in expected.iter().enumerate() {
                let page = page(json!({ size.0: size.1, cursor.0: after, "filter": filter })).await;
                assert_eq!((titles(&page), &page["pageInfo"][info]), (expected.clone(), &json!(place < 2)), "{page}");
                after = page["pageInfo"][cursor.1].clone();
            }
        }
        // An empty page has no cursor, since there is none before the first item.
        let none = page(json!({ "first": 0 })).await;
        assert_eq!((&none["pageInfo"]["hasNextPage"], &none["pageInfo"]["endCursor"]), (&json!(true), &Value::Null));
        // A full page continues where it ended.
        let first = page(json!({ "first": 1, "filter": filter })).await;
        assert_eq!((titles(&first), &first["pageInfo"]["hasNextPage"]), (vec!["newest"], &json!(true)));
        let after = &first["pageInfo"]["endCursor"];
        assert_eq!(titles(&page(json!({ "first": 1, "after": after, "filter": filter })).await), ["middle"]);
    }
}

#[tokio::test]
async fn a_list_of_what_was_sent_passes_over_ten_thousand() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("news").await;
        app.service().announce("news", everyone(), "oldest").await;
        fill(app, 10_500).await;
        let filter = json!({ "kinds": ["ANNOUNCEMENT"] });
        let mut page = app.admin().ask(SENT, json!({ "filter": filter })).await["sentNotifications"].take();
        assert_eq!((titles(&page).len(), &page["pageInfo"]["hasNextPage"]), (0, &json!(true)));
        let after = page["pageInfo"]["endCursor"].take();
        let page = app.admin().ask(SENT, json!({ "filter": filter, "after": after })).await["sentNotifications"].take();
        assert_eq!((titles(&page), &page["pageInfo"]["hasNextPage"]), (vec!["oldest"], &json!(false)));
    })
    .await;
}

#[tokio::test]
async fn a_call_names_no_more_types_than_a_tenant_may_have() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("news").await;
        let inbox = "query($types: [String!]) { viewer { inbox(filter: { types: $types }) { nodes { id } } } }";
        let mark = "mutation($types: [String!]) { markRead(select: { matching: { types: $types } }) { changedCount } }";
        let sent = "query($types: [String!]) { sentNotifications(filter: { types: $types }) { nodes { id } } }";
        for (query, actor) in [(inbox, app.user("ada")), (mark, app.user("ada")), (sent, app.admin())] {
            actor.ask(query, json!({ "types": vec!["news"; 100] })).await;
            let (status, answer) = actor.send(query, json!({ "types": vec!["news"; 101] })).await;
            assert_eq!((status, code(&answer)), (StatusCode::OK, &json!("BAD_USER_INPUT")), "{query} {answer}");
            assert!(answer.to_string().contains("at most 100"), "{answer}");
        }
    })
    .await;
}
