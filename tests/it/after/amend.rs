//! Amending and retracting published notifications.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{announce, look_at, retract, update};
use crate::support::{Socket, everyone, on_every_database};

on_every_database! {
    async fn every_inbox_shows_the_new_text(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let input = json!({ "content": { "title": "tpyo", "body": "body", "link": "/x", "data": { "a": 1 } } });
        let sent = announce(&operator, input).await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["tpyo"]);
        app.advance(TimeDelta::minutes(1));
        let amended = update(&operator, &sent["id"], json!({ "title": "typo", "body": null, "clear": ["BODY"] })).await;
        assert_eq!(amended["updatedAt"], json!(app.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)));
        let query = "{ viewer { inbox { nodes { title body link data updatedAt } } overview { types { latest { title } } } } }";
        for user in ["ada", "ben"] {
            let data = app.user(user).ask(query, json!({})).await;
            let expected = json!({ "title": "typo", "body": null, "link": "/x", "data": { "a": 1 }, "updatedAt": amended["updatedAt"] });
            assert_eq!(data["viewer"]["inbox"]["nodes"][0], expected);
            assert_eq!(data["viewer"]["overview"]["types"][0]["latest"]["title"], "typo");
        }
    }

    async fn what_was_shown_to_one_is_shown_to_the_next_as_it_is_by_then(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let sent = announce(&operator, json!({ "sender": "ben", "content": { "title": "one", "data": { "a": 1 } } })).await;
        let query = "{ viewer { inbox { nodes { title data sender { name } } } overview { types { latest { title sender { name } } } } } }";
        let shown = async |user: &str| {
            let data = app.user(user).ask(query, json!({})).await;
            let item = &data["viewer"]["inbox"]["nodes"][0];
            let latest = &data["viewer"]["overview"]["types"][0]["latest"];
            assert_eq!((&item["title"], &item["sender"]), (&latest["title"], &latest["sender"]));
            format!("{} {} {}", item["title"], item["data"]["a"], item["sender"]["name"])
        };
        assert_eq!(shown("ada").await, "\"one\" 1 null");
        // All in the same millisecond.
        let expiry = |minutes: i64| json!((app.now() + TimeDelta::minutes(minutes)).to_rfc3339());
        update(&operator, &sent["id"], json!({ "title": "two" })).await;
        assert_eq!(shown("cem").await, "\"two\" 1 null");
        update(&operator, &sent["id"], json!({ "title": "three", "expiresAt": expiry(5) })).await;
        assert_eq!(shown("dan").await, "\"three\" 1 null");
        update(&operator, &sent["id"], json!({ "data": { "a": 2 }, "expiresAt": expiry(6) })).await;
        assert_eq!(shown("eve").await, "\"three\" 2 null");
        for name in ["Ben", "Benjamin"] {
            app.service().ask("mutation($name: String!) { saveUserProfiles(inputs: [{ id: \"ben\", name: $name }]) { id } }", json!({ "name": name })).await;
            assert_eq!(shown(&format!("who asks after {name}")).await, format!("\"three\" 2 \"{name}\""));
        }
        operator.ask("mutation { saveMessageType(input: { code: \"news\", title: \"News\", template: { title: \"by {{ sender.name }}\" } }) { code } }", json!({})).await;
        for user in ["ada", "cem", "somebody"] {
            assert_eq!(shown(user).await, "\"by Benjamin\" 2 \"Benjamin\"");
        }
    }

    async fn what_is_said_anew_after_a_restore_is_not_taken_for_what_was_said_before(app) {
        app.admin().define_type("news").await;
        announce(&app.admin(), json!({ "sender": "ben", "content": { "title": "hello" } })).await;
        let other = app.beside().await;
        let query = "{ viewer { inbox { nodes { title sender { name } type { title } } } overview { types { type { title } latest { title sender { name } } } } } }";
        let say = async |word: &str| {
            app.advance(TimeDelta::seconds(1));
            app.service().ask("mutation($name: String!) { saveUserProfiles(inputs: [{ id: \"ben\", name: $name }]) { id } }", json!({ "name": word })).await;
            let kind = json!({ "code": "news", "title": word, "template": { "title": format!("{word} from {{{{ sender.name }}}}") } });
            app.admin().define(kind).await;
        };
        say("before").await;
        for node in [app, &other] {
            let shown = node.user("ada").ask(query, json!({})).await;
            assert_eq!(shown["viewer"]["inbox"]["nodes"][0]["title"], "before from before");
        }
        // The database as restored from a backup made before that.
        for statement in [
            "UPDATE users SET profile_version = 0, name = NULL WHERE external_id = 'ben'",
            "UPDATE tenant SET catalogue_version = 1",
            "UPDATE message_type SET title = 'News', template_title = NULL",
        ] {
            app.by_hand(statement).await;
        }
        say("after").await;
        for node in [app, &other] {
            for user in ["ada", "somebody"] {
                let shown = node.user(user).ask(query, json!({})).await["viewer"].take();
                let item = json!({ "title": "after from after", "sender": { "name": "after" }, "type": { "title": "after" } });
                assert_eq!(shown["inbox"]["nodes"][0], item);
                let of_type = json!({ "type": { "title": "after" }, "latest": { "title": "after from after", "sender": { "name": "after" } } });
                assert_eq!(shown["overview"]["types"][0], of_type);
            }
        }
        other.app.db.close().await;
    }

    async fn what_is_retracted_is_gone_for_all_however_they_got_it(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        app.user("ada").subscribe("7", &["comment"]).await;
        operator.remind("news", "7", "comment", None, "a comment").await;
        operator.message("news", "ada", "dear Ada").await;
        operator.announce("news", json!({ "users": ["ada", "ben"] }), "by name").await;
        let all = announce(&operator, json!({ "content": { "title": "to all" } })).await;
        operator.announce("news", everyone(), "stays").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["stays", "to all", "by name", "dear Ada", "a comment"]);
        // The users no longer listen, but must still lose the items.
        let leave = "mutation { unsubscribeTopic(input: { target: { type: \"doc\", externalId: \"7\" }, what: { everything: true } }) { removedCount } }";
        app.user("ada").ask(leave, json!({})).await;
        app.user("ada").mark("archiveItems", json!({ "ids": [app.user("ada").items(json!({})).await[1]["id"]] })).await;

        let query = "{ sentNotifications(first: 10) { nodes { id title } } }";
        let list = operator.ask(query, json!({})).await;
        for node in list["sentNotifications"]["nodes"].as_array().unwrap() {
            if node["title"] != "stays" {
                assert_eq!(retract(&operator, &node["id"]).await["status"], "RETRACTED");
            }
        }
        let once = look_at(&operator, &all["id"]).await;
        app.advance(TimeDelta::minutes(1));
        assert_eq!(retract(&operator, &all["id"]).await, once, "retracting twice is the same as once");
        for user in ["ada", "ben", "newcomer"] {
            assert_eq!(app.user(user).titles(json!({})).await, ["stays"]);
            assert!(app.user(user).titles(json!({ "state": "ARCHIVED" })).await.is_empty());
            assert_eq!(app.user(user).overview().await.last().unwrap(), "= 1");
        }
    }

    async fn a_retraction_costs_the_same_for_any_audience_and_leaves_those_it_does_not_concern_alone(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let users: Vec<String> = (0..300).map(|place| format!("u{place}")).collect();
        let all = announce(&operator, json!({})).await;
        let one = announce(&operator, json!({ "audience": { "users": ["u0"] } })).await;
        let many = announce(&operator, json!({ "audience": { "users": users } })).await;
        for user in ["u0", "u1", "other"] {
            app.user(user).overview().await;
        }
        let (for_one, _) = app.statements_of(retract(&operator, &one["id"])).await;
        let (not_concerned, _) = app.statements_of(app.user("u1").overview()).await;
        assert_eq!(not_concerned, 1, "an overview of somebody who never had it is one statement");
        let (for_many, _) = app.statements_of(retract(&operator, &many["id"])).await;
        let (for_all, _) = app.statements_of(retract(&operator, &all["id"])).await;
        assert_eq!((for_one, for_one), (for_many, for_all));
        assert_eq!(app.user("other").overview().await.last().unwrap(), "= 0");
    }

    async fn a_reader_in_the_middle_of_a_page_sees_no_gap(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        for title in ["1", "2", "3", "4"] {
            operator.announce("news", everyone(), title).await;
        }
        let fifth = announce(&operator, json!({ "content": { "title": "5" } })).await;
        let page = "query($after: String) { viewer { inbox(first: 2, after: $after) { nodes { title notificationId } pageInfo { endCursor } } } }";
        let first = app.user("ada").ask(page, json!({})).await["viewer"]["inbox"].take();
        // Retract both items of the first page, including the one at the cursor.
        retract(&operator, &fifth["id"]).await;
        retract(&operator, &first["nodes"][1]["notificationId"]).await;
        let second = app.user("ada").ask(page, json!({ "after": first["pageInfo"]["endCursor"] })).await;
        let titles: Vec<&Value> = second["viewer"]["inbox"]["nodes"].as_array().unwrap().iter().map(|node| &node["title"]).collect();
        assert_eq!(titles, ["3", "2"]);
    }

    async fn live_overviews_follow_amendments_and_retractions(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let node = app.listen().await;
        let sent = announce(&operator, json!({ "content": { "title": "tpyo" } })).await;
        let query = "subscription { overviewChanged { overview { unread { count } types { latest { title } } } } }";
        let mut ada = Socket::subscribed(&node.address, &app.user("ada").token, query, json!({})).await;
        assert_eq!(ada.data().await["overviewChanged"]["overview"]["types"][0]["latest"]["title"], "tpyo");
        update(&operator, &sent["id"], json!({ "title": "typo" })).await;
        assert_eq!(ada.data().await["overviewChanged"]["overview"]["types"][0]["latest"]["title"], "typo");
        retract(&operator, &sent["id"]).await;
        assert_eq!(ada.data().await["overviewChanged"]["overview"], json!({ "unread": { "count": 0 }, "types": [{ "latest": null }] }));
        drop(ada);
        node.stop().await;
    }

    async fn an_item_is_found_by_its_id_until_it_is_retracted(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let sent = announce(&operator, json!({})).await;
        let item = app.user("ada").items(json!({})).await[0]["id"].clone();
        let node = "query($id: ID!) { node(id: $id) { id ... on SentNotification { status } ... on InboxItem { title } } }";
        assert_eq!(app.user("ada").ask(node, json!({ "id": item })).await["node"]["title"], "hello");
        assert_eq!(app.user("ben").ask(node, json!({ "id": item })).await["node"], Value::Null);
        let stranger = app.stranger("operator", auth::CallerRole::Admin);
        assert_eq!(stranger.ask(node, json!({ "id": item })).await["node"], Value::Null);
        assert_eq!(stranger.ask(node, json!({ "id": sent["id"] })).await["node"], Value::Null);
        retract(&operator, &sent["id"]).await;
        assert_eq!(app.user("ada").ask(node, json!({ "id": item })).await["node"], Value::Null);
        assert_eq!(operator.ask(node, json!({ "id": sent["id"] })).await["node"]["status"], "RETRACTED");
        assert_eq!(app.user("ada").ask(node, json!({ "id": sent["id"] })).await["node"], Value::Null);
    }
}
