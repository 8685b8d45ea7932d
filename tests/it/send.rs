//! Sending: recipients get a notification once, and invalid sends are refused.

use chrono::TimeDelta;
use sea_orm::DbBackend;
use serde_json::{Value, json};

use crate::support::{Actor, everyone, on_every_database};

const ANNOUNCE: &str = "mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { \
    replayed notification { id title status createdAt publishedAt expiresAt audience { everyone userCount groups { code } } } } }";
const MESSAGE: &str =
    "mutation($input: SendMessageInput!) { sendMessage(input: $input) { replayed notification { id } } }";
const MANY: &str = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed notification { id kind sender { id } } } }";

fn announcement(title: &str) -> Value {
    json!({ "type": "release", "audience": everyone(), "content": { "title": title } })
}

async fn saved_group(operator: &Actor<'_>, code: &str, members: &[&str]) {
    operator.ask("mutation($code: String!) { saveUserGroup(code: $code) { code } }", json!({ "code": code })).await;
    let add =
        "mutation($code: String!, $users: [ID!]!) { addUserGroupMembers(code: $code, users: $users) { memberCount } }";
    operator.ask(add, json!({ "code": code, "users": members })).await;
}

on_every_database! {
    async fn a_send_to_people_who_are_known_is_three_statements(app) {
        app.admin().define_type("news").await;
        let all = |many: usize| {
            let to = |user| json!({ "message": { "type": "news", "receiver": format!("u{user}"), "content": { "title": "x" } } });
            json!({ "inputs": (0..many).map(to).collect::<Vec<_>>() })
        };
        app.service().ask(MANY, all(23)).await;
        // MySQL does not return the rows that it changes. PostgreSQL inserts any number of rows at once, the others
        // powers of two.
        let kind = app.app.db.backend();
        let taking = if kind == DbBackend::MySql { 2 } else { 1 };
        for (many, inserts) in [(1, 1), (23, if kind == DbBackend::Postgres { 1 } else { 4 })] {
            let (statements, _) = app.statements_of(app.service().ask(MANY, all(many))).await;
            assert_eq!(statements, taking + inserts + 1, "{many}");
        }
        for user in [0, 22] {
            let seen = app.user(&format!("u{user}")).overview().await;
            assert_eq!(seen, [if user == 0 { "news: 3 (x)" } else { "news: 2 (x)" }, if user == 0 { "= 3" } else { "= 2" }]);
        }
    }

    async fn an_announcement_reaches_a_user_who_was_away(app) {
        app.admin().define_type("release").await;
        app.service().announce("release", everyone(), "v2 is out").await;
        app.advance(TimeDelta::days(3));
        assert_eq!(app.user("ada").overview().await, ["release: 1 (v2 is out)", "= 1"]);
    }

    async fn an_announcement_reaches_users_who_are_first_mentioned_within_the_retention_window(app) {
        app.admin().define_type("release").await;
        app.service().announce("release", everyone(), "old").await;
        app.advance(TimeDelta::days(31));
        app.service().announce("release", everyone(), "new").await;
        app.advance(TimeDelta::days(29));
        assert_eq!(app.user("ada").titles(json!({})).await, ["new"]);
    }

    async fn an_announcement_to_groups_reaches_each_member_once(app) {
        let admin = app.admin();
        admin.define_type("release").await;
        saved_group(&admin, "design", &["ada", "ben"]).await;
        saved_group(&admin, "sales", &["ada"]).await;
        admin.announce("release", json!({ "groups": ["design", "sales"] }), "lunch").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["lunch"]);
        assert_eq!(app.user("ben").titles(json!({})).await, ["lunch"]);
        assert!(app.user("chen").titles(json!({})).await.is_empty());
    }

    async fn a_member_hears_what_was_sent_while_they_were_in_the_group_and_nothing_else(app) {
        let admin = app.admin();
        admin.define_type("release").await;
        saved_group(&admin, "design", &["ben"]).await;
        admin.announce("release", json!({ "groups": ["design"] }), "before").await;
        saved_group(&admin, "design", &["ada"]).await;
        admin.announce("release", json!({ "groups": ["design"] }), "during").await;
        let remove = "mutation { removeUserGroupMembers(code: \"design\", users: [\"ada\"]) { memberCount } }";
        assert_eq!(admin.ask(remove, json!({})).await["removeUserGroupMembers"]["memberCount"], 1);
        admin.announce("release", json!({ "groups": ["design"] }), "after").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["during"]);
        assert_eq!(app.user("ben").titles(json!({})).await, ["after", "during", "before"]);
    }

    async fn a_deleted_group_leaves_its_members_what_they_had_and_its_code_begins_anew(app) {
        let admin = app.admin();
        admin.define_type("release").await;
        saved_group(&admin, "design", &["ada"]).await;
        admin.announce("release", json!({ "groups": ["design"] }), "last").await;
        let group = admin.ask("{ userGroups { id } }", json!({})).await["userGroups"][0]["id"].take();
        let delete = "mutation { deleteUserGroup(code: \"design\") { deletedId } }";
        assert_eq!(admin.ask(delete, json!({})).await["deleteUserGroup"]["deletedId"], group);
        assert!(admin.ask(delete, json!({})).await["deleteUserGroup"]["deletedId"].is_null());
        let mut input = announcement("to nobody");
        input["audience"] = json!({ "groups": ["design"] });
        let why = admin.refused(ANNOUNCE, json!({ "input": input })).await;
        assert_eq!(why, "BAD_USER_INPUT input.audience.groups[0]: names no group: \"design\"; create it with saveUserGroup");
        saved_group(&admin, "design", &["ben"]).await;
        admin.announce("release", json!({ "groups": ["design"] }), "first").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["last"]);
        assert_eq!(app.user("ben").titles(json!({})).await, ["first"]);
    }

    async fn an_announcement_to_named_users_reaches_those_alone(app) {
        app.admin().define_type("release").await;
        let service = app.service();
        service.announce("release", json!({ "users": ["ada", "ben", "ada"] }), "for two").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["for two"]);
        assert_eq!(app.user("ben").titles(json!({})).await, ["for two"]);
        assert!(app.user("chen").titles(json!({})).await.is_empty());
    }

    async fn ten_thousand_users_can_be_named_and_no_more(app) {
        app.admin().define_type("release").await;
        let users: Vec<String> = (0..10_001).map(|number| format!("user-{number}")).collect();
        let mut input = announcement("all of you");
        input["audience"] = json!({ "users": users });
        let why = app.service().refused(ANNOUNCE, json!({ "input": input })).await;
        assert_eq!(why, "BAD_USER_INPUT input.audience.users: must have at most 10000 entries in one call, not 10001");
        input["audience"] = json!({ "users": users[1..] });
        let sent = app.service().ask(ANNOUNCE, json!({ "input": input })).await;
        assert_eq!(sent["sendAnnouncement"]["notification"]["audience"]["userCount"], 10_000);
        assert_eq!(app.user("user-10000").titles(json!({})).await, ["all of you"]);
        assert!(app.user("user-0").titles(json!({})).await.is_empty());
    }

    async fn a_reminder_reaches_subscribers_groups_and_followers_but_not_who_did_it(app) {
        let admin = app.admin();
        admin.define_type("comment").await;
        saved_group(&admin, "design", &["dara"]).await;
        let group = "mutation { subscribeTopic(input: { target: { type: \"doc\", externalId: \"7\" }, what: { actions: [\"comment\"] }, who: { group: \"design\" } }) { createdCount } }";
        assert_eq!(admin.ask(group, json!({})).await["subscribeTopic"]["createdCount"], 1);
        assert_eq!(admin.ask(group, json!({})).await["subscribeTopic"]["createdCount"], 0);
        for user in ["ada", "ben"] {
            app.user(user).subscribe("7", &["comment", "like"]).await;
        }
        app.user("chen").ask("mutation { followUser(user: \"ada\") { user { id } } }", json!({})).await;
        app.service().remind("comment", "7", "comment", Some("ada"), "ada said so").await;
        for (user, hears) in [("ada", false), ("ben", true), ("chen", true), ("dara", true), ("emil", false)] {
            let titles = app.user(user).titles(json!({})).await;
            assert_eq!(titles, if hears { vec!["ada said so"] } else { vec![] }, "{user}");
        }
    }

    async fn a_reminder_of_what_nobody_listens_to_reaches_nobody(app) {
        app.admin().define_type("comment").await;
        app.service().remind("comment", "7", "comment", Some("ada"), "into the void").await;
        app.user("ben").subscribe("7", &["comment"]).await;
        assert!(app.user("ben").titles(json!({})).await.is_empty());
    }

    async fn a_message_reaches_its_receiver_alone(app) {
        app.admin().define_type("direct").await;
        app.service().message("direct", "ada", "hello").await;
        assert_eq!(app.user("ada").overview().await, ["direct: 1 (hello)", "= 1"]);
        assert_eq!(app.user("ben").overview().await, ["direct: 0 (-)", "= 0"]);
    }

    async fn users_send_messages_as_themselves_where_their_tenant_may(app) {
        app.admin().define_type("direct").await;
        app.user("ben").message("direct", "ada", "hello").await;
        let items = app.user("ada").items(json!({})).await;
        assert_eq!(items[0]["sender"]["id"], "ben");
        let forged = json!({ "type": "direct", "receiver": "ada", "sender": "chen", "content": { "title": "x" } });
        let why = app.user("ben").refused(MESSAGE, json!({ "input": forged })).await;
        assert_eq!(why, "BAD_USER_INPUT input.sender: must be the token's user if a user sends");
        let other = app.stranger("hank", auth::CallerRole::User);
        let plain = json!({ "type": "direct", "receiver": "ada", "content": { "title": "x" } });
        assert!(other.refused(MESSAGE, json!({ "input": plain })).await.starts_with("FORBIDDEN"));
    }

    async fn many_are_sent_together_or_not_at_all(app) {
        app.admin().define_type("release").await;
        app.user("ada").subscribe("7", &["comment"]).await;
        let reminder = json!({ "type": "release", "target": { "type": "doc", "externalId": "7" }, "action": "comment",
                               "sender": "ben", "content": { "title": "two" } });
        let message = json!({ "type": "release", "receiver": "ada", "content": { "title": "three" } });
        let mut inputs = vec![
            json!({ "announcement": announcement("one") }),
            json!({ "reminder": reminder }),
            json!({ "message": message }),
        ];
        let sent = app.service().ask(MANY, json!({ "inputs": inputs })).await;
        assert_eq!(sent["sendNotifications"][1]["notification"]["kind"], "REMINDER");
        assert_eq!(sent["sendNotifications"][1]["notification"]["sender"]["id"], "ben");
        assert_eq!(app.user("ada").titles(json!({})).await, ["three", "two", "one"]);

        inputs.push(json!({ "message": { "type": "unknown", "receiver": "ada", "content": { "title": "four" } } }));
        let why = app.service().refused(MANY, json!({ "inputs": inputs })).await;
        assert_eq!(why, "BAD_USER_INPUT inputs[3].message.type: names no message type: \"unknown\"; create it with saveMessageType");
        assert_eq!(app.user("ada").titles(json!({})).await, ["three", "two", "one"]);
    }

    async fn a_thousand_are_sent_in_one_call_and_no_more(app) {
        app.admin().define_type("release").await;
        let message = |place| json!({ "message": { "type": "release", "receiver": "ada", "content": { "title": format!("{place}") } } });
        let mut inputs: Vec<Value> = (0..1000).map(message).collect();
        app.service().ask(MANY, json!({ "inputs": inputs })).await;
        let titles = app.user("ada").titles(json!({})).await;
        assert_eq!(titles, (0..1000).rev().map(|place| place.to_string()).collect::<Vec<_>>());
        inputs.push(message(1000));
        let why = app.service().refused(MANY, json!({ "inputs": inputs })).await;
        assert_eq!(why, "BAD_USER_INPUT inputs: must have at most 1000 entries in one call, not 1001");
    }

    async fn a_key_sends_once_and_returns_what_it_sent(app) {
        app.admin().define_type("release").await;
        let mut input = announcement("v2");
        input["idempotencyKey"] = json!("release-2");
        let first = app.service().ask(ANNOUNCE, json!({ "input": input })).await;
        app.advance(TimeDelta::hours(1));
        let second = app.service().ask(ANNOUNCE, json!({ "input": input })).await;
        assert_eq!(first["sendAnnouncement"]["replayed"], false);
        assert_eq!(second["sendAnnouncement"]["replayed"], true);
        assert_eq!(first["sendAnnouncement"]["notification"], second["sendAnnouncement"]["notification"]);
        assert_eq!(app.user("ada").titles(json!({})).await, ["v2"]);
        input["content"]["title"] = json!("v3");
        let why = app.service().refused(ANNOUNCE, json!({ "input": input })).await;
        assert_eq!(why, "CONFLICT : the idempotency key \"release-2\" was used for something else");
        assert_eq!(app.user("ada").titles(json!({})).await, ["v2"]);
    }

    async fn a_key_used_twice_in_one_call_sends_once_and_a_conflict_sends_nothing(app) {
        app.admin().define_type("release").await;
        let message = |title: &str, key: &str| json!({ "message": {
            "type": "release", "receiver": "ada", "content": { "title": title }, "idempotencyKey": key } });
        let sent = app.service().ask(MANY, json!({ "inputs": [message("a", "1"), message("a", "1")] })).await;
        assert_eq!(sent["sendNotifications"][0]["notification"]["id"], sent["sendNotifications"][1]["notification"]["id"]);
        assert_eq!(sent["sendNotifications"][1]["replayed"], true);
        let why = app.service().refused(MANY, json!({ "inputs": [message("b", "2"), message("c", "2")] })).await;
        assert!(why.starts_with("CONFLICT"), "{why}");
        assert_eq!(app.user("ada").titles(json!({})).await, ["a"]);
    }

    async fn the_same_key_means_something_else_in_another_tenant(app) {
        for role in [app.admin(), app.stranger("op", auth::CallerRole::Admin)] {
            role.define_type("release").await;
            let mut input = announcement("mine");
            input["idempotencyKey"] = json!("1");
            let sent = role.ask(ANNOUNCE, json!({ "input": input })).await;
            assert_eq!(sent["sendAnnouncement"]["replayed"], false);
        }
    }

    async fn what_was_sent_says_what_it_is(app) {
        app.admin().define(json!({ "code": "release", "title": "Releases", "ttlSeconds": 3600 })).await;
        let sent = app.service().ask(ANNOUNCE, json!({ "input": announcement("v2") })).await;
        let mut notification = sent["sendAnnouncement"]["notification"].clone();
        assert_eq!(notification["id"].as_str().map(str::len), Some(22));
        notification["id"] = Value::Null;
        assert_eq!(notification, json!({
            "id": null, "title": "v2", "status": "PUBLISHED", "createdAt": "2026-11-21T08:00:00.000Z",
            "publishedAt": "2026-11-21T08:00:00.000Z", "expiresAt": "2026-11-21T09:00:00.000Z",
            "audience": { "everyone": true, "userCount": 0, "groups": [] },
        }));
    }

    async fn bad_input_is_named_and_changes_nothing(app) {
        app.admin().define_type("release").await;
        let long = "x".repeat(257);
        let huge = "x".repeat(16 * 1024 + 1);
        for (change, expected) in [
            (json!({ "type": "nope" }), "input.type: names no message type: \"nope\"; create it with saveMessageType"),
            (json!({ "content": {} }), "input.content.title: is required, because the message type \"release\" has no template"),
            (json!({ "content": { "title": "" } }), "input.content.title: must have 1 to 256 characters, not 0"),
            (json!({ "content": { "title": long } }), "input.content.title: must have 1 to 256 characters, not 257"),
            (json!({ "content": { "title": "a\nb" } }), "input.content.title: must not contain control characters"),
            (json!({ "content": { "title": "x", "body": huge } }), "input.content.body: must have at most 16384 bytes, not 16385"),
            (json!({ "content": { "title": "x", "body": "a\u{0}b" } }), "input.content.body: must not contain the character NUL"),
            (json!({ "content": { "title": "x", "data": huge } }), "input.content.data: must have at most 16384 bytes, not 16387"),
            (json!({ "content": { "title": "x", "link": "javascript:alert(1)" } }),
             "input.content.link: must be an absolute http(s) URL or a path, of at most 2048 characters"),
            (json!({ "sender": " ada" }), "input.sender: must not begin or end with white space"),
            (json!({ "expiresAt": "2026-11-21T08:00:00Z" }), "input.expiresAt: must be in the future"),
            (json!({ "audience": { "everyone": false } }), "input.audience.everyone: must be true, or name groups or users instead"),
            (json!({ "audience": { "users": [] } }), "input.audience.users: must name at least one user"),
            (json!({ "audience": { "users": [""] } }), "input.audience.users[0]: must have 1 to 128 characters, not 0"),
            (json!({ "idempotencyKey": "k".repeat(129) }), "input.idempotencyKey: must have 1 to 128 characters, not 129"),
        ] {
            let mut input = announcement("fine");
            input.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let why = app.service().refused(ANNOUNCE, json!({ "input": input })).await;
            assert_eq!(why, format!("BAD_USER_INPUT {expected}"));
        }
        assert!(app.user("ada").titles(json!({})).await.is_empty());
    }

    async fn texts_of_every_script_arrive_as_they_were_sent(app) {
        app.admin().define_type("release").await;
        let title = "Grüße, 你好, שלום, 🎉 'quoted' \"twice\" \\ ; DROP TABLE users; --";
        app.service().announce("release", json!({ "users": ["Ada", "ada", "ÀDA"] }), title).await;
        for id in ["Ada", "ada", "ÀDA"] {
            assert_eq!(app.user(id).titles(json!({})).await, [title]);
        }
        assert!(app.user("ADA").titles(json!({})).await.is_empty());
    }

    async fn a_retry_is_a_replay_whatever_has_changed_since(app) {
        let admin = app.admin();
        admin.define_type("release").await;
        saved_group(&admin, "design", &["ada"]).await;
        let mut expiring = announcement("for an hour");
        expiring["idempotencyKey"] = json!("1");
        expiring["expiresAt"] = json!((app.now() + TimeDelta::hours(1)).to_rfc3339());
        let mut grouped = announcement("for the group");
        grouped["idempotencyKey"] = json!("2");
        grouped["audience"] = json!({ "groups": ["design"] });
        let send = |inputs: Vec<&Value>| inputs.into_iter().map(|input| json!({ "announcement": input })).collect::<Vec<_>>();
        let first = app.service().ask(MANY, json!({ "inputs": send(vec![&expiring, &grouped]) })).await;
        app.advance(TimeDelta::hours(2));
        admin.ask("mutation { deleteUserGroup(code: \"design\") { deletedId } }", json!({})).await;
        let mut fresh = announcement("fresh");
        fresh["idempotencyKey"] = json!("3");
        let again = app.service().ask(MANY, json!({ "inputs": send(vec![&grouped, &fresh, &expiring]) })).await;
        let ids = |sent: &Value| sent["sendNotifications"].as_array().unwrap().iter().map(|of| of["notification"]["id"].clone()).collect::<Vec<_>>();
        let replayed: Vec<&Value> = again["sendNotifications"].as_array().unwrap().iter().map(|of| &of["replayed"]).collect();
        assert_eq!(replayed, [true, false, true]);
        assert_eq!([&ids(&again)[2], &ids(&again)[0]], [&ids(&first)[0], &ids(&first)[1]]);
        assert_eq!(app.user("ada").titles(json!({})).await, ["fresh", "for the group"]);
        // Another key, or other content under the same key, is not a retry.
        for (name, value) in [("idempotencyKey", json!("4")), ("content", json!({ "title": "another" }))] {
            let mut other = expiring.clone();
            other[name] = value;
            let why = app.service().refused(ANNOUNCE, json!({ "input": other })).await;
            assert_eq!(why, "BAD_USER_INPUT input.expiresAt: must be in the future");
        }
    }
}

on_every_database! {
    async fn users_send_only_types_that_are_opened_to_them(app) {
        let admin = app.admin();
        let send = "mutation($type: String!, $link: String) { sendMessage(input: { type: $type, receiver: \"ada\", \
            content: { title: \"hello\", link: $link } }) { replayed } }";
        admin.define(json!({ "code": "direct", "title": "Direct", "usersMaySend": true })).await;
        admin.define(json!({ "code": "news", "title": "News" })).await;
        admin.define(json!({ "code": "security", "title": "Shop Security", "mandatory": true })).await;
        let ben = app.user("ben");
        for closed in ["news", "security"] {
            assert_eq!(
                ben.refused(send, json!({ "type": closed })).await,
                format!("FORBIDDEN : users cannot send messages of the type {closed:?}: have your backend send it, or an operator save the type with usersMaySend")
            );
        }
        let both = json!({ "code": "security", "title": "Shop Security", "mandatory": true, "usersMaySend": true });
        let save = "mutation($input: MessageTypeInput!) { saveMessageType(input: $input) { code } }";
        let refused = admin.refused(save, json!({ "input": both })).await;
        assert!(refused.starts_with("BAD_USER_INPUT input.usersMaySend: must be false"), "{refused}");
        for link in ["https://evil.example/login", "http://evil.example", "HTTPS://evil.example"] {
            let refused = ben.refused(send, json!({ "type": "direct", "link": link })).await;
            assert!(refused.starts_with("BAD_USER_INPUT input.content.link: must be a path"), "{refused}");
        }
        ben.ask(send, json!({ "type": "direct", "link": "/chats/7" })).await;
        app.service().ask(send, json!({ "type": "security", "link": "https://shop.example/devices" })).await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["hello", "hello"]);
        let types = admin.ask("{ messageTypes { code usersMaySend } }", json!({})).await;
        assert_eq!(types["messageTypes"], json!([{ "code": "direct", "usersMaySend": true }, { "code": "news", "usersMaySend": false },
            { "code": "security", "usersMaySend": false }]));

        // Saving the type without the flag closes it again, also on nodes that cache the type.
        admin.define(json!({ "code": "direct", "title": "Direct" })).await;
        assert!(ben.refused(send, json!({ "type": "direct" })).await.starts_with("FORBIDDEN"));
    }
}

/// A user who sends more bytes can send fewer messages.
#[tokio::test]
async fn bytes_that_a_user_sends_count_towards_their_rate() {
    let change = |config: &mut base::config::ServerConfig| config.limits.rate = 60;
    crate::support::with_settings(crate::support::Kind::Sqlite, change, async |app| {
        app.admin().define_type("direct").await;
        let send = "mutation($body: String!) { sendMessage(input: { type: \"direct\", receiver: \"ada\", content: { title: \"x\", body: $body } }) { replayed } }";
        let body = "x".repeat(15 * 1024);
        for _ in 0..3 {
            app.user("ben").ask(send, json!({ "body": body })).await;
        }
        assert!(app.user("ben").refused(send, json!({ "body": body })).await.starts_with("RATE_LIMITED"));
        for _ in 0..50 {
            app.user("chen").ask(send, json!({ "body": "short" })).await;
        }
        let whole = "x".repeat(16 * 1024);
        let data = json!({ "x": "x".repeat(16_000) });
        let all = "mutation($body: String!, $data: JSON!) { sendMessage(input: { type: \"direct\", receiver: \"ada\", content: { title: \"x\", body: $body, \
            params: $data, data: $data } }) { replayed } }";
        app.user("dara").ask(all, json!({ "body": whole, "data": data })).await;
    })
    .await;
}
