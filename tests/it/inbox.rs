//! The inbox: listing, paging, filtering, marking.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::{TestApp, everyone, on_every_database};

/// Sends messages to ada, one a minute, titled by number.
async fn fill(app: &TestApp, message_type: &str, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        app.service().message(message_type, "ada", &number.to_string()).await;
        app.advance(TimeDelta::minutes(1));
    }
}

const PAGE: &str = "query($first: Int, $after: String, $last: Int, $before: String, $filter: InboxFilter) { \
    viewer { inbox(first: $first, after: $after, last: $last, before: $before, filter: $filter) { \
    nodes { title } edges { cursor node { title } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";

async fn page(app: &TestApp, arguments: Value) -> (Vec<String>, Value) {
    let data = app.user("ada").ask(PAGE, arguments).await;
    let inbox = &data["viewer"]["inbox"];
    let titles = inbox["nodes"].as_array().unwrap().iter().map(|node| node["title"].as_str().unwrap().to_owned());
    (titles.collect(), inbox["pageInfo"].clone())
}

fn ids(items: &[Value]) -> Value {
    json!({ "ids": items.iter().map(|item| item["id"].clone()).collect::<Vec<_>>() })
}

on_every_database! {
    async fn the_list_is_paged_towards_older_items(app) {
        app.admin().define_type("direct").await;
        fill(app, "direct", 1..=5).await;
        let (titles, info) = page(app, json!({ "first": 2 })).await;
        assert_eq!((titles, &info["hasNextPage"], &info["hasPreviousPage"]), (vec!["5".into(), "4".into()], &json!(true), &json!(false)));
        fill(app, "direct", 6..=6).await;
        let (titles, info) = page(app, json!({ "first": 2, "after": info["endCursor"] })).await;
        assert_eq!((titles, &info["hasNextPage"], &info["hasPreviousPage"]), (vec!["3".into(), "2".into()], &json!(true), &json!(true)));
        let (titles, info) = page(app, json!({ "first": 2, "after": info["endCursor"] })).await;
        assert_eq!((titles, &info["hasNextPage"], &info["hasPreviousPage"]), (vec!["1".into()], &json!(false), &json!(true)));
        let (titles, info) = page(app, json!({ "first": 2, "after": info["endCursor"] })).await;
        assert_eq!((titles.len(), &info["hasNextPage"], &info["hasPreviousPage"]), (0, &json!(false), &json!(true)));
    }

    async fn the_list_is_paged_towards_newer_items(app) {
        app.admin().define_type("direct").await;
        fill(app, "direct", 1..=5).await;
        let (titles, info) = page(app, json!({ "last": 2 })).await;
        assert_eq!((titles, &info["hasNextPage"], &info["hasPreviousPage"]), (vec!["2".into(), "1".into()], &json!(false), &json!(true)));
        let (titles, info) = page(app, json!({ "last": 2, "before": info["startCursor"] })).await;
        assert_eq!((titles, &info["hasNextPage"], &info["hasPreviousPage"]), (vec!["4".into(), "3".into()], &json!(true), &json!(true)));
        let (titles, info) = page(app, json!({ "last": 2, "before": info["startCursor"] })).await;
        assert_eq!((titles, &info["hasNextPage"], &info["hasPreviousPage"]), (vec!["5".into()], &json!(true), &json!(false)));
    }

    async fn pages_that_cannot_be_are_refused(app) {
        app.admin().define_type("direct").await;
        app.service().message("direct", "ben", "of another").await;
        let foreign = app.user("ben").ask(PAGE, json!({})).await["viewer"]["inbox"]["edges"][0]["cursor"].clone();
        for (arguments, why) in [
            (json!({ "first": 1, "last": 1 }), "BAD_USER_INPUT first: cannot be combined with `last`"),
            (json!({ "first": 201 }), "BAD_USER_INPUT first: must be 0 to 200"),
            (json!({ "last": -1 }), "BAD_USER_INPUT last: must be 0 to 200"),
            (json!({ "after": "nonsense" }), "BAD_USER_INPUT after: is not a cursor of this list"),
            (json!({ "before": foreign }), "BAD_USER_INPUT before: is not a cursor of this list"),
            (json!({ "filter": { "types": ["nope"] } }), "BAD_USER_INPUT filter.types[0]: names no message type: \"nope\"; create it with saveMessageType"),
        ] {
            assert_eq!(app.user("ada").refused(PAGE, arguments).await, why);
        }
        let (titles, info) = page(app, json!({ "first": 0 })).await;
        assert!(titles.is_empty() && info["hasNextPage"] == false);
    }

    async fn every_filter_narrows_the_list(app) {
        for kind in ["comment", "release"] {
            app.admin().define_type(kind).await;
        }
        let (ada, service) = (app.user("ada"), app.service());
        ada.subscribe("7", &["comment", "like"]).await;
        ada.subscribe("8", &["comment"]).await;
        service.announce("release", everyone(), "announced").await;
        app.advance(TimeDelta::hours(1));
        service.remind("comment", "7", "comment", Some("ben"), "7 by ben").await;
        service.remind("comment", "7", "like", Some("chen"), "7 liked").await;
        app.advance(TimeDelta::hours(1));
        service.remind("comment", "8", "comment", Some("chen"), "8 by chen").await;
        service.message("release", "ada", "to ada").await;
        let all = ["to ada", "8 by chen", "7 liked", "7 by ben", "announced"];
        for (filter, expected) in [
            (json!({}), all.to_vec()),
            (json!({ "types": ["comment"] }), vec!["8 by chen", "7 liked", "7 by ben"]),
            (json!({ "types": [] }), vec![]),
            (json!({ "kinds": ["ANNOUNCEMENT", "MESSAGE"] }), vec!["to ada", "announced"]),
            (json!({ "kinds": [] }), vec![]),
            (json!({ "target": { "type": "doc", "externalId": "7" } }), vec!["7 liked", "7 by ben"]),
            (json!({ "action": "comment" }), vec!["8 by chen", "7 by ben"]),
            (json!({ "action": "never heard of" }), vec![]),
            (json!({ "sender": "chen" }), vec!["8 by chen", "7 liked"]),
            (json!({ "sender": "chen", "action": "like", "types": ["comment"] }), vec!["7 liked"]),
            (json!({ "since": "2026-11-21T09:00:00Z" }), all[..4].to_vec()),
            (json!({ "until": "2026-11-21T09:00:00Z" }), vec!["announced"]),
            (json!({ "since": "2026-11-21T08:00:00.001Z", "until": "2026-11-21T11:00:00+01:00" }), vec!["7 liked", "7 by ben"]),
            (json!({ "since": "2030-01-01T00:00:00Z" }), vec![]),
            (json!({ "until": "2030-01-01T00:00:00Z" }), all.to_vec()),
        ] {
            assert_eq!(ada.titles(filter.clone()).await, expected, "{filter}");
        }
    }

    async fn items_are_marked_by_their_ids(app) {
        app.admin().define_type("direct").await;
        fill(app, "direct", 1..=3).await;
        let ada = app.user("ada");
        let items = ada.items(json!({})).await;
        assert_eq!(ada.mark("markRead", ids(&items[..2])).await, 2);
        assert_eq!(ada.mark("markRead", ids(&items[..2])).await, 0);
        assert_eq!(ada.titles(json!({ "read": true })).await, ["3", "2"]);
        assert_eq!(ada.titles(json!({ "read": false })).await, ["1"]);
        assert_eq!(ada.overview().await, ["direct: 1 (3)", "= 1"]);
        assert_eq!(ada.mark("markUnread", ids(&items)).await, 2);
        assert_eq!(ada.overview().await, ["direct: 3 (3)", "= 3"]);
        assert_eq!(ada.mark("deleteItems", ids(&items[..1])).await, 1);
        assert_eq!(ada.mark("markRead", ids(&items[..1])).await, 0);
        assert_eq!(ada.titles(json!({})).await, ["2", "1"]);
    }

    async fn an_archived_item_comes_back_as_it_was(app) {
        app.admin().define_type("direct").await;
        fill(app, "direct", 1..=4).await;
        let ada = app.user("ada");
        let items = ada.items(json!({})).await;
        ada.mark("markRead", ids(&items[..1])).await;
        assert_eq!(ada.mark("archiveItems", ids(&items[..2])).await, 2);
        assert_eq!(ada.overview().await, ["direct: 2 (2)", "= 2"]);
        assert_eq!(ada.titles(json!({})).await, ["2", "1"]);
        assert_eq!(ada.titles(json!({ "state": "ARCHIVED" })).await, ["4", "3"]);
        assert_eq!(ada.titles(json!({ "state": "ARCHIVED", "read": false })).await, ["3"]);
        ada.mark("markRead", json!({ "matching": {} })).await;
        assert_eq!(ada.mark("unarchiveItems", json!({ "matching": {} })).await, 2);
        assert_eq!(ada.titles(json!({ "read": false })).await, ["3"]);
        assert_eq!(ada.overview().await, ["direct: 1 (4)", "= 1"]);
    }

    async fn everything_is_read_at_once_and_what_comes_later_is_not(app) {
        for kind in ["comment", "release"] {
            app.admin().define_type(kind).await;
        }
        let ada = app.user("ada");
        fill(app, "comment", 1..=3).await;
        fill(app, "release", 4..=5).await;
        let kept = ada.items(json!({})).await[4].clone();
        assert_eq!(ada.mark("markRead", json!({ "matching": { "types": ["comment"] } })).await, 3);
        assert_eq!(ada.overview().await, ["comment: 0 (3)", "release: 2 (5)", "= 2"]);
        assert_eq!(ada.mark("markUnread", ids(std::slice::from_ref(&kept))).await, 1);
        fill(app, "comment", 6..=6).await;
        assert_eq!(ada.titles(json!({ "read": false })).await, ["6", "5", "4", "1"]);
        assert_eq!(ada.titles(json!({ "read": true })).await, ["3", "2"]);
        assert_eq!(ada.mark("markRead", json!({ "matching": {} })).await, 4);
        assert_eq!(ada.mark("markRead", json!({ "matching": {} })).await, 0);
        assert_eq!(ada.overview().await, ["comment: 0 (6)", "release: 0 (5)", "= 0"]);
    }

    async fn a_bulk_mark_ends_at_the_item_that_the_user_saw(app) {
        app.admin().define_type("direct").await;
        fill(app, "direct", 1..=2).await;
        let (_, info) = page(app, json!({ "first": 1 })).await;
        fill(app, "direct", 3..=4).await;
        let ada = app.user("ada");
        assert_eq!(ada.mark("markRead", json!({ "matching": { "upTo": info["startCursor"] } })).await, 2);
        assert_eq!(ada.titles(json!({ "read": false })).await, ["4", "3"]);
        assert_eq!(ada.mark("archiveItems", json!({ "matching": { "upTo": info["startCursor"] } })).await, 2);
        assert_eq!(ada.titles(json!({})).await, ["4", "3"]);
    }

    async fn opening_a_document_reads_all_about_it(app) {
        app.admin().define_type("comment").await;
        let ada = app.user("ada");
        for target in ["7", "8"] {
            ada.subscribe(target, &["comment", "like"]).await;
            for action in ["comment", "like"] {
                app.service().remind("comment", target, action, None, &format!("{action} {target}")).await;
            }
        }
        let about = json!({ "matching": { "target": { "type": "doc", "externalId": "7" } } });
        assert_eq!(ada.mark("markRead", about.clone()).await, 2);
        assert_eq!(ada.titles(json!({ "read": false })).await, ["like 8", "comment 8"]);
        assert_eq!(ada.mark("deleteItems", about).await, 2);
        assert_eq!(ada.titles(json!({})).await, ["like 8", "comment 8"]);
    }

    async fn an_item_says_when_it_was_read(app) {
        app.admin().define_type("direct").await;
        let ada = app.user("ada");
        fill(app, "direct", 1..=1).await;
        ada.mark("markRead", json!({ "matching": {} })).await;
        fill(app, "direct", 2..=3).await;
        ada.mark("markRead", json!({ "matching": {} })).await;
        fill(app, "direct", 4..=4).await;
        let read_at: Vec<Value> = ada.items(json!({})).await.iter().map(|item| item["readAt"].clone()).collect();
        assert_eq!(read_at, [
            Value::Null,
            json!("2026-11-21T08:03:00.000Z"),
            json!("2026-11-21T08:03:00.000Z"),
            json!("2026-11-21T08:01:00.000Z"),
        ]);
        let items = ada.items(json!({})).await;
        ada.mark("archiveItems", ids(&items[3..])).await;
        let archived = ada.items(json!({ "state": "ARCHIVED" })).await;
        assert_eq!(archived[0]["readAt"], "2026-11-21T08:01:00.000Z");
    }

    async fn what_has_expired_is_in_no_list_and_no_count(app) {
        app.admin().define(json!({ "code": "offer", "title": "Offers", "ttlSeconds": 60 })).await;
        let ada = app.user("ada");
        app.service().announce("offer", everyone(), "one").await;
        app.advance(TimeDelta::seconds(30));
        app.service().message("offer", "ada", "two").await;
        assert_eq!(ada.overview().await, ["offer: 2 (two)", "= 2"]);
        let id = ada.items(json!({})).await[1]["id"].clone();
        app.advance(TimeDelta::seconds(30));
        assert_eq!(ada.overview().await, ["offer: 1 (two)", "= 1"]);
        assert_eq!(ada.titles(json!({})).await, ["two"]);
        assert_eq!(ada.ask("query($id: ID!) { node(id: $id) { id } }", json!({ "id": id })).await["node"], Value::Null);
        assert_eq!(ada.mark("markRead", json!({ "matching": {} })).await, 1);
        app.advance(TimeDelta::seconds(30));
        assert_eq!(ada.overview().await, ["offer: 0 (-)", "= 0"]);
        app.service().announce("offer", everyone(), "three").await;
        app.advance(TimeDelta::minutes(2));
        assert_eq!(app.user("ben").overview().await, ["offer: 0 (-)", "= 0"]);
    }

    async fn a_single_item_is_found_by_its_owner_and_nobody_else(app) {
        app.admin().define_type("direct").await;
        fill(app, "direct", 1..=1).await;
        let item = app.user("ada").items(json!({})).await[0].clone();
        let node = "query($id: ID!) { node(id: $id) { id ... on InboxItem { title notificationId } } }";
        let own = app.user("ada").ask(node, json!({ "id": item["id"] })).await;
        assert_eq!(own["node"]["title"], "1");
        assert_eq!(app.service().ask(node, json!({ "id": item["id"] })).await, own);
        let others = [app.user("ben"), app.stranger("ada", auth::CallerRole::User), app.stranger("x", auth::CallerRole::Admin)];
        for other in others {
            assert_eq!(other.ask(node, json!({ "id": item["id"] })).await["node"], Value::Null);
        }
        let notification = json!({ "id": own["node"]["notificationId"] });
        let sent = "query($id: ID!) { node(id: $id) { ... on SentNotification { title audience { userCount } } } }";
        let found = app.admin().ask(sent, notification.clone()).await;
        assert_eq!(found["node"], json!({ "title": "1", "audience": { "userCount": 1 } }));
        assert_eq!(app.user("ada").ask(sent, notification).await["node"], Value::Null);
        let why = app.user("ben").refused("mutation($id: ID!) { markRead(select: { ids: [$id] }) { changedCount } }", json!({ "id": item["id"] })).await;
        assert!(why.starts_with("NOT_FOUND select.ids[0]: no item"), "{why}");
    }

    async fn thousands_of_notifications_reach_who_comes_after_a_month(app) {
        app.admin().define_type("release").await;
        app.user("ada").subscribe("7", &["comment"]).await;
        let many = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
        for _ in 0..6 {
            let input = json!({ "announcement": { "type": "release", "audience": everyone(), "content": { "title": "x" } } });
            app.service().ask(many, json!({ "inputs": vec![input; 1000] })).await;
        }
        app.service().remind("release", "7", "comment", None, "last").await;
        assert_eq!(app.user("ada").overview().await, ["release: 6001 (last)", "= 6001"]);
        assert_eq!(app.user("ben").overview().await, ["release: 6000 (x)", "= 6000"]);
        assert_eq!(app.user("ada").mark("markRead", json!({ "matching": {} })).await, 6001);
    }

    async fn a_list_goes_on_over_what_has_gone(app) {
        app.admin().define_type("direct").await;
        fill(app, "direct", 1..=130).await;
        assert_eq!(app.user("ada").titles(json!({})).await.len(), 130);
        // More than a page of the notifications, and a few others.
        app.by_hand("DELETE FROM notification WHERE seq > 20 AND seq <= 125 AND seq <> 27").await;
        app.by_hand("UPDATE users SET version = version + 1").await;
        let mut left: Vec<String> = (1..=20).chain([27]).chain(126..=130).map(|number| number.to_string()).collect();
        left.reverse();
        assert_eq!(app.user("ada").titles(json!({})).await, left);
        let oldest = "{ viewer { inbox(last: 22) { nodes { title } pageInfo { hasPreviousPage } } } }";
        let page = app.user("ada").ask(oldest, json!({})).await;
        assert_eq!(page["viewer"]["inbox"]["nodes"].as_array().unwrap().len(), 20);
    }
}
