//! The overview: exact, capped, and cheap.

use std::ops::RangeInclusive;

use chrono::TimeDelta;
use futures_util::{future::join_all, poll};
use sea_orm::DbBackend;
use serde_json::{Value, json};

use crate::support::{TestApp, everyone, on_every_database};

/// The number of users with simultaneous requests.
const USERS: usize = 48;

const OVERVIEW: &str = "query($cap: Int, $types: [String!]) { viewer { overview(cap: $cap, types: $types) { \
    unread { count exact } unseen { count exact } types { type { code } unread { count exact } \
    latest { title body isRead sender { id name } data } } } } }";

on_every_database! {
    async fn an_overview_of_a_user_who_is_not_behind_is_one_statement(app) {
        let admin = app.admin();
        for position in 0..8 {
            admin.define(json!({ "code": format!("type-{position}"), "title": "x", "position": -position })).await;
            let content = json!({ "title": "x", "data": { "a": 1 } });
            let input = json!({ "type": format!("type-{position}"), "audience": everyone(), "sender": "ben", "content": content });
            admin.ask("mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed } }", json!({ "input": input })).await;
        }
        let ada = app.user("ada");
        let first = ada.ask(OVERVIEW, json!({})).await;
        assert_eq!(first["viewer"]["overview"]["types"][0]["type"]["code"], "type-7");
        let (statements, again) = app.statements_of(ada.ask(OVERVIEW, json!({}))).await;
        assert_eq!((statements, again), (1, first));
    }

    async fn whatever_changes_an_overview_is_seen_by_a_node_that_has_read_it_before(app) {
        let reader = app.beside().await;
        whatever_changes_is_seen(app, &reader, &[1..=1]).await;
    }

    async fn overviews_of_many_users_are_one_statement(app) {
        app.admin().define_type("release").await;
        let users: Vec<String> = (0..50).map(|number| format!("user-{number}")).collect();
        app.service().announce("release", everyone(), "hello").await;
        app.service().announce("release", json!({ "users": users }), "you").await;
        let query = "query($ids: [ID!]!) { inboxUsers(ids: $ids) { overview(cap: 99) { unread { count } types { latest { title } } } } }";
        app.service().ask(query, json!({ "ids": users })).await;
        let mut asked = users.clone();
        asked.push("unheard of".into());
        let (statements, data) = app.statements_of(app.service().ask(query, json!({ "ids": asked }))).await;
        let all = data["inboxUsers"].as_array().unwrap();
        assert_eq!(all[49]["overview"], json!({ "unread": { "count": 2 }, "types": [{ "latest": { "title": "you" } }] }));
        assert_eq!(all[50], Value::Null);
        // One statement looks up the unknown user, and one reads all overviews.
        assert_eq!(statements, 2);
    }

    async fn requests_at_the_same_time_share_statements_and_each_gets_what_is_their_own(app) {
        app.admin().define_type("direct").await;
        app.admin().define_type("release").await;
        for number in 0..USERS {
            for _ in 0..number % 4 {
                app.service().message("direct", &format!("user-{number}"), &format!("to {number}")).await;
            }
        }
        let reader = app.beside().await;
        let ask = async |number: usize| {
            let user = reader.user(&format!("user-{number}"));
            user.ask(OVERVIEW, json!({ "cap": 1 + number % 2, "types": ["direct", "release"] })).await["viewer"]["overview"].take()
        };
        let check = |number: usize, overview: &Value, announced: usize| {
            let (cap, sent) = (1 + number % 2, number % 4);
            let count = |count: usize| json!({ "count": count.min(cap), "exact": count <= cap });
            let types = overview["types"].as_array().unwrap();
            let latest = if sent > 0 { json!(format!("to {number}")) } else { Value::Null };
            assert_eq!((&overview["unread"], &types[0]["unread"], &types[0]["latest"]["title"]), (&count(sent + announced), &count(sent), &latest));
        };
        for number in 0..USERS {
            reader.user(&format!("user-{number}")).ask("{ viewer { id } }", json!({})).await;
        }
        reader.user("somebody else").overview().await;
        let everybody = async || join_all((0..USERS).map(&ask)).await;
        let (statements, first) = reader.statements_of(everybody()).await;
        let most = if app.app.db.backend() == DbBackend::MySql { USERS } else { USERS / 4 };
        assert!(statements <= most, "{statements} statements");
        let (statements, again) = reader.statements_of(everybody()).await;
        assert!(statements <= USERS / 4, "{statements} statements");
        assert_eq!(first, again);
        first.iter().enumerate().for_each(|(number, overview)| check(number, overview, 0));

        // All users are behind now, and a third of the requests are dropped.
        app.service().announce("release", everyone(), "v2").await;
        let mut asked: Vec<_> = (0..USERS).map(|number| (number, Box::pin(ask(number)))).collect();
        for (_, asking) in &mut asked {
            assert!(poll!(asking).is_pending());
        }
        asked.retain(|(number, _)| number % 3 > 0);
        for (number, asking) in asked {
            check(number, &asking.await, 1);
        }
    }

    async fn a_page_of_the_inbox_is_one_statement_whatever_is_asked_of_its_items(app) {
        app.admin().define_type("direct").await;
        app.service().ask("mutation { saveUserProfiles(inputs: [{ id: \"ben\", name: \"Ben\" }, { id: \"chen\", name: \"Chen\" }]) { id } }", json!({})).await;
        for sender in ["ben", "chen", "dara"] {
            let input = json!({ "type": "direct", "receiver": "ada", "sender": sender, "content": { "title": "x" } });
            app.service().ask("mutation($input: SendMessageInput!) { sendMessage(input: $input) { replayed } }", json!({ "input": input })).await;
        }
        let list = "{ viewer { inbox(first: 20) { nodes { title type { code title } sender { id name avatarUrl } target { externalId } action isRead readAt } \
            pageInfo { hasNextPage } } } }";
        let ada = app.user("ada");
        ada.ask(list, json!({})).await;
        let (statements, data) = app.statements_of(ada.ask(list, json!({}))).await;
        assert_eq!(statements, 1);
        assert_eq!(data["viewer"]["inbox"]["nodes"][1]["sender"]["name"], "Chen");
        assert_eq!(data["viewer"]["inbox"]["nodes"][0]["sender"], json!({ "id": "dara", "name": null, "avatarUrl": null }));
    }

    async fn counts_stop_at_the_cap_and_say_so(app) {
        for kind in ["a", "b"] {
            app.admin().define_type(kind).await;
            for _ in 0..3 {
                app.service().announce(kind, everyone(), "x").await;
            }
        }
        let ada = app.user("ada");
        for (cap, whole, each) in [
            (json!(null), json!({ "count": 6, "exact": true }), json!({ "count": 3, "exact": true })),
            (json!(6), json!({ "count": 6, "exact": true }), json!({ "count": 3, "exact": true })),
            (json!(5), json!({ "count": 5, "exact": false }), json!({ "count": 3, "exact": true })),
            (json!(2), json!({ "count": 2, "exact": false }), json!({ "count": 2, "exact": false })),
        ] {
            let data = ada.ask(OVERVIEW, json!({ "cap": cap })).await;
            let overview = &data["viewer"]["overview"];
            assert_eq!((&overview["unread"], &overview["unseen"]), (&whole, &whole), "{cap}");
            assert_eq!(overview["types"][1]["unread"], each, "{cap}");
        }
        assert_eq!(ada.refused(OVERVIEW, json!({ "cap": 0 })).await, "BAD_USER_INPUT cap: must be at least 1");
        let data = ada.ask(OVERVIEW, json!({ "types": ["b"] })).await;
        assert_eq!(data["viewer"]["overview"]["unread"]["count"], 3);
        assert_eq!(data["viewer"]["overview"]["unseen"]["count"], 3);
        assert_eq!(data["viewer"]["overview"]["types"].as_array().map(Vec::len), Some(1));
        assert_eq!(ada.refused(OVERVIEW, json!({ "types": ["c"] })).await, "BAD_USER_INPUT types[0]: names no message type: \"c\"; create it with saveMessageType");
    }

    async fn a_tenant_without_types_has_an_empty_overview(app) {
        let none = json!({ "count": 0, "exact": true });
        for cap in [json!(null), json!(99)] {
            let overview = app.user("ada").ask(OVERVIEW, json!({ "cap": cap })).await["viewer"]["overview"].clone();
            assert_eq!(overview, json!({ "unread": none, "unseen": none, "types": [] }));
        }
    }

    async fn looking_at_the_inbox_leaves_nothing_unseen_and_reads_what_reads_itself(app) {
        app.admin().define(json!({ "code": "feed", "title": "Feed", "readPolicy": "AUTO", "position": 1 })).await;
        app.admin().define(json!({ "code": "news", "title": "News", "readPolicy": "AUTO", "position": 2 })).await;
        app.admin().define(json!({ "code": "task", "title": "Tasks", "position": 3 })).await;
        let send = async |label: &str| {
            for kind in ["feed", "news", "task"] {
                app.service().announce(kind, everyone(), label).await;
            }
            app.advance(TimeDelta::minutes(1));
        };
        let ada = app.user("ada");
        let seen = async |kind: Value| {
            let query = "mutation($type: String) { markSeen(type: $type) { viewer { overview { unseen { count } types { unread { count } } } } } }";
            let overview = ada.ask(query, json!({ "type": kind })).await["markSeen"]["viewer"]["overview"].clone();
            let unread: Vec<i64> = overview["types"].as_array().unwrap().iter().map(|of| of["unread"]["count"].as_i64().unwrap()).collect();
            (overview["unseen"]["count"].as_i64().unwrap(), unread)
        };
        send("1").await;
        assert_eq!(seen(json!("feed")).await, (3, vec![0, 1, 1]));
        assert_eq!(seen(json!("task")).await, (3, vec![0, 1, 1]));
        assert_eq!(seen(Value::Null).await, (0, vec![0, 0, 1]));
        send("2").await;
        assert_eq!(ada.overview().await, ["feed: 1 (2)", "news: 1 (2)", "task: 2 (2)", "= 4"]);
        let data = ada.ask(OVERVIEW, json!({})).await;
        assert_eq!(data["viewer"]["overview"]["unseen"]["count"], 3);
    }

    async fn a_cursor_stands_where_the_inbox_stood(app) {
        app.admin().define_type("release").await;
        app.service().announce("release", everyone(), "before").await;
        let cursor = app.user("ada").ask("{ viewer { overview { cursor } } }", json!({})).await["viewer"]["overview"]["cursor"].clone();
        app.service().announce("release", everyone(), "after").await;
        let newer = "query($before: String) { viewer { inbox(last: 10, before: $before) { nodes { title } } } }";
        let data = app.user("ada").ask(newer, json!({ "before": cursor })).await;
        assert_eq!(data["viewer"]["inbox"]["nodes"], json!([{ "title": "after" }]));
    }

    async fn what_a_sender_does_in_their_own_inbox_is_no_change_of_others_overviews(app) {
        app.admin().define_type("chat").await;
        let send = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { replayed } }";
        for (sender, receiver) in [("ben", "ada"), ("ada", "ben")] {
            let input = json!({ "type": "chat", "receiver": receiver, "sender": sender, "content": { "title": "hello" } });
            app.service().ask(send, json!({ "input": input })).await;
        }
        let query = "{ viewer { overview { types { latest { sender { name } } } } } }";
        let ada = app.user("ada");
        let first = ada.ask(query, json!({})).await;
        assert_eq!(app.user("ben").mark("markRead", json!({ "matching": {} })).await, 1);
        let (statements, again) = app.statements_of(ada.ask(query, json!({}))).await;
        assert_eq!((statements, again), (1, first));
        let named = "mutation { saveUserProfiles(inputs: [{ id: \"ben\", name: \"Ben\" }]) { id } }";
        app.service().ask(named, json!({})).await;
        let shown = ada.ask(query, json!({})).await;
        assert_eq!(shown["viewer"]["overview"]["types"][0]["latest"]["sender"]["name"], "Ben");
    }
}

/// Checks that every change to an overview is visible on another node that has read it before. If nothing has changed,
/// repeated reads cost this many statements, in turn.
pub async fn whatever_changes_is_seen(app: &TestApp, reader: &TestApp, costs: &[RangeInclusive<usize>]) {
    let (operator, ada) = (app.admin(), app.user("ada"));
    operator.define_type("news").await;
    operator.define(json!({ "code": "brief", "title": "Brief", "ttlSeconds": 3600 })).await;
    operator.ask("mutation { saveUserProfiles(inputs: [{ id: \"ben\", name: \"Ben\" }]) { id } }", json!({})).await;
    let input = json!({ "type": "news", "receiver": "ada", "sender": "ben", "content": { "title": "hello" } });
    let sent = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { notification { id } } }";
    let sent = operator.ask(sent, json!({ "input": input })).await["sendMessage"]["notification"]["id"].clone();
    let look = async || {
        let reader = reader.user("ada");
        let shown = reader.ask(OVERVIEW, json!({})).await["viewer"]["overview"].take();
        for cost in costs {
            let (statements, again) = reader.app.statements_of(reader.ask(OVERVIEW, json!({}))).await;
            assert_eq!(again["viewer"]["overview"], shown, "nothing has changed");
            assert!(cost.contains(&statements), "{statements} statements");
        }
        shown
    };
    let first = look().await;
    assert_eq!(first["types"][1]["latest"]["sender"], json!({ "id": "ben", "name": "Ben" }));
    let item = ada.items(json!({})).await[0]["id"].clone();
    let erase = "mutation { eraseUser(id: \"ben\") { erasedId } }";
    let changes: [(&str, &str, Value); 11] = [
        (
            "a message",
            "mutation { sendMessage(input: { type: \"news\", receiver: \"ada\", content: { title: \"2\" } }) { replayed } }",
            json!({}),
        ),
        (
            "what expires",
            "mutation { sendAnnouncement(input: { type: \"brief\", audience: { everyone: true }, content: { title: \"3\" } }) { replayed } }",
            json!({}),
        ),
        ("a mark", "mutation($id: ID!) { markRead(select: { ids: [$id] }) { changedCount } }", json!({ "id": item })),
        (
            "a mark back",
            "mutation($id: ID!) { markUnread(select: { ids: [$id] }) { changedCount } }",
            json!({ "id": item }),
        ),
        ("all seen", "mutation { markSeen { viewer { overview { cursor } } } }", json!({})),
        ("all read", "mutation { markRead(select: { matching: { types: [\"brief\"] } }) { changedCount } }", json!({})),
        ("the newest gone", "mutation($id: ID!) { archiveItems(select: { ids: [$id] }) { changedCount } }", json!({})),
        (
            "another name",
            "mutation { saveUserProfiles(inputs: [{ id: \"ben\", name: \"Benjamin\" }]) { id } }",
            json!({}),
        ),
        (
            "another text",
            "mutation($id: ID!) { updateSentNotification(id: $id, input: { title: \"hello again\" }) { id } }",
            json!({ "id": sent }),
        ),
        (
            "another title",
            "mutation { saveMessageType(input: { code: \"brief\", title: \"Briefly\", ttlSeconds: 3600, position: 9 }) { code } }",
            json!({}),
        ),
        ("nobody", erase, json!({})),
    ];
    let mut before = first;
    for (what, query, mut variables) in changes {
        let by_user = ["a mark", "a mark back", "all seen", "all read", "the newest gone"].contains(&what);
        if what == "the newest gone" {
            variables = json!({ "id": ada.items(json!({ "types": ["news"] })).await[0]["id"] });
        }
        if by_user { &ada } else { &operator }.ask(query, variables).await;
        let now = look().await;
        assert_ne!(now, before, "{what}");
        before = now;
    }
    app.advance(TimeDelta::hours(1));
    let now = look().await;
    assert_ne!(now, before, "it has expired");
    let retract = "mutation($id: ID!) { retractSentNotification(id: $id) { id } }";
    operator.ask(retract, json!({ "id": sent })).await;
    assert_ne!(look().await, now, "it was retracted");
}

/// Everything an overview shows to its user, or null if `known` is its current etag.
async fn told(app: &TestApp, known: &str) -> Value {
    let query = "query($etag: String!) { viewer { overviewUnless(etag: $etag, cap: 99) { etag unread { count exact } unseen { count } total { count } \
        views { externalId unread { count } } types { type { id code title position icon ui } unread { count } \
        latest { id title isRead readAt isArchived archivedAt } } } } }";
    let data = app.user("ada").ask(query, json!({ "etag": known })).await;
    data["viewer"]["overviewUnless"].clone()
}

on_every_database! {
    async fn an_etag_is_the_same_again_after_a_change_and_its_undoing(app) {
        let amend = async |icon: Value, delivery: Value| {
            app.admin().define(json!({ "code": "news", "title": "News", "ui": { "a": 1 }, "icon": icon, "delivery": delivery })).await;
        };
        amend(Value::Null, json!([])).await;
        app.service().message("news", "ada", "older").await;
        app.service().message("news", "ada", "newest").await;
        let ada = app.user("ada");
        let ids = |items: &[Value]| json!({ "ids": items.iter().map(|of| of["id"].clone()).collect::<Vec<_>>() });
        let all = ids(&ada.items(json!({})).await);
        let newest = ids(&ada.items(json!({})).await[..1]);
        let first = told(app, "").await;
        let etag = first["etag"].as_str().unwrap().to_owned();
        for (change, undoing) in [("markRead", "markUnread"), ("archiveItems", "unarchiveItems")] {
            for select in [&newest, &all] {
                ada.mark(change, select.clone()).await;
                let changed = told(app, &etag).await;
                assert!(changed.is_object() && changed["etag"] != first["etag"], "{change}: {changed}");
                app.advance(TimeDelta::hours(1));
                ada.mark(undoing, select.clone()).await;
                assert_eq!(told(app, &etag).await, Value::Null, "after {change} and {undoing}");
                assert_eq!(told(app, "").await, first);
                assert_eq!(told(app, changed["etag"].as_str().unwrap()).await, first);
            }
        }
        amend(json!("bell"), json!([])).await;
        assert_eq!(told(app, &etag).await["types"][0]["type"]["icon"], "bell");
        amend(Value::Null, json!([])).await;
        assert_eq!(told(app, &etag).await, Value::Null);
        assert_eq!(told(&app.beside().await, &etag).await, Value::Null, "of another node");

        // The delivery rules of a type are visible to staff but not to users, so a change affects only the staff's
        // etag.
        let staff = "query($etag: String!) { inboxUser(id: \"ada\") { overviewUnless(etag: $etag) { etag types { type { delivery { channel } } } } } }";
        let seen = app.service().ask(staff, json!({ "etag": "" })).await["inboxUser"]["overviewUnless"].take();
        let seen = json!({ "etag": seen["etag"] });
        assert_eq!(app.service().ask(staff, seen.clone()).await["inboxUser"]["overviewUnless"], Value::Null);
        amend(Value::Null, json!([{ "channel": "EMAIL" }])).await;
        assert_eq!(told(app, &etag).await, Value::Null);
        assert_ne!(app.service().ask(staff, seen).await["inboxUser"]["overviewUnless"], Value::Null);
    }
}
