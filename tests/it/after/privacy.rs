//! A user's own data: export of everything, and erasure.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::support::{Socket, TestApp, everyone, on_every_database};

async fn furnish(app: &TestApp) {
    let operator = app.admin();
    operator.define_type("news").await;
    operator.ask("mutation { saveUserProfiles(inputs: [{ id: \"ada\", name: \"Ada L.\" }]) { id } }", json!({})).await;
    operator.ask("mutation { saveUserGroup(code: \"team\") { code } }", json!({})).await;
    operator.ask("mutation { addUserGroupMembers(code: \"team\", users: [\"ada\"]) { code } }", json!({})).await;
    app.user("ada").subscribe("7", &["comment"]).await;
    app.user("ada").ask("mutation { followUser(user: \"ben\") { user { id } } }", json!({})).await;
    app.user("ben").ask("mutation { followUser(user: \"ada\") { user { id } } }", json!({})).await;
    app.user("ada")
        .ask(
            "mutation { updatePreferences(actions: [{ code: \"like\", enabled: false }]) { preferences { actions { code } } } }",
            json!({}),
        )
        .await;
    app.service()
        .ask("mutation { joinView(key: { code: \"chat\", externalId: \"1\" }, users: [\"ada\"]) { view { externalId } } }", json!({}))
        .await;
    operator.announce("news", everyone(), "to all").await;
    operator.message("news", "ada", "dear Ada").await;
    operator.remind("news", "9", "comment", Some("ada"), "Ada said so").await;
    app.user("ada").mark("markRead", json!({ "matching": {} })).await;
    app.user("ben").overview().await;
}

on_every_database! {
    async fn an_export_has_all_that_is_kept(app) {
        furnish(app).await;
        let query = "query($id: ID!) { exportUser(id: $id) }";
        let all = app.service().ask(query, json!({ "id": "ada" })).await["exportUser"].take();
        assert_eq!((&all["id"], &all["name"], &all["groups"]), (&json!("ada"), &json!("Ada L."), &json!(["team"])));
        assert_eq!(all["following"], json!(["ben"]));
        assert_eq!(all["subscriptions"][0]["target"], json!({ "type": "doc", "externalId": "7" }));
        assert_eq!(all["preferences"]["actions"], json!([{ "code": "like", "enabled": false, "own": true }]));
        assert_eq!(all["views"][0]["externalId"], "1");
        let titles: Vec<&Value> = all["inbox"].as_array().unwrap().iter().map(|item| &item["title"]).collect();
        assert_eq!(titles, ["dear Ada", "to all"]);
        assert!(all["inbox"][0]["readAt"].is_string());
        assert_eq!(all["sent"][0]["title"], "Ada said so");
        assert_eq!(app.service().ask(query, json!({ "id": "nobody" })).await["exportUser"], Value::Null);
        assert!(app.user("ada").refused(query, json!({ "id": "ada" })).await.starts_with("FORBIDDEN"));
        let stranger = app.stranger("shop", auth::CallerRole::Service);
        assert_eq!(stranger.ask(query, json!({ "id": "ada" })).await["exportUser"], Value::Null);
    }

    async fn a_long_export_comes_in_parts_of_which_none_is_long(app) {
        furnish(app).await;
        let service = app.service();
        app.admin().define_type("letter").await;
        for (sends, sender, kind) in [(700, "ben", "letter"), (520, "ada", "news")] {
            let input = |number: usize| {
                let content = json!({ "title": format!("{sender} {number}") });
                json!({ "message": { "type": kind, "receiver": "ada", "sender": sender, "content": content } })
            };
            let send = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
            service.ask(send, json!({ "inputs": (0..sends).map(input).collect::<Vec<_>>() })).await;
        }
        for target in 0..6 {
            let actions: Vec<String> = (0..100).map(|number| format!("action {number}")).collect();
            let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
            app.user("ada").subscribe(&format!("long {target}"), &actions).await;
        }
        app.user("ada").mark("archiveItems", json!({ "matching": { "types": ["letter"] } })).await;
        // Many assigned ids do not exist any more; the export skips them.
        app.by_hand("UPDATE tenant SET last_notification_id = 250000").await;

        let query = "query($id: ID!, $after: String) { exportUser(id: $id, after: $after) }";
        let (mut whole, mut after, mut parts) = (Map::new(), Value::Null, 0);
        loop {
            let mut part = service.ask(query, json!({ "id": "ada", "after": after })).await["exportUser"].take();
            after = part["next"].take();
            let mut rows = 0;
            for list in ["subscriptions", "following", "views", "inbox", "sent"] {
                let Some(Value::Array(part)) = part.as_object_mut().unwrap().remove(list) else { continue };
                rows += part.len();
                if let Value::Array(list) = whole.entry(list).or_insert_with(|| json!([])) {
                    list.extend(part);
                }
            }
            assert!(rows <= 500, "{rows} rows");
            assert_eq!(part["name"] == "Ada L.", parts == 0, "the profile comes with the first");
            parts += 1;
            service.message("news", "ada", "what comes meanwhile is in none").await;
            if after.is_null() {
                break;
            }
        }
        assert_eq!(parts, 7, "five that are full, and two that looked through what is not there");
        let many = |list: &str| whole[list].as_array().unwrap().len();
        let lists = ["subscriptions", "following", "views", "sent"].map(many);
        assert_eq!(lists, [601, 1, 1, 521]);
        let titles: BTreeSet<&str> = whole["inbox"].as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap()).collect();
        assert!(["ben 0", "ben 699", "dear Ada", "to all"].iter().all(|title| titles.contains(title)), "{titles:?}");
        for after in ["", "no cursor", "AAAAAAAAAAAAAAAAAAAAAA"] {
            let refused = service.refused(query, json!({ "id": "ada", "after": after })).await;
            assert!(refused.starts_with("BAD_USER_INPUT"), "{refused}");
        }
    }

    async fn an_erased_user_leaves_nothing_but_what_they_sent_from_nobody(app) {
        furnish(app).await;
        let node = app.listen().await;
        let mut session = Socket::feed(&node.address, &app.user("ada").token, json!({})).await;
        let erase = "mutation($id: ID!) { eraseUser(id: $id) { erasedId } }";
        assert!(app.user("ada").refused(erase, json!({ "id": "ada" })).await.starts_with("FORBIDDEN"));
        let stranger = app.stranger("shop", auth::CallerRole::Service);
        assert!(stranger.ask(erase, json!({ "id": "ada" })).await["eraseUser"]["erasedId"].is_null());
        assert_eq!(app.service().ask(erase, json!({ "id": "ada" })).await["eraseUser"]["erasedId"], "ada");
        assert_eq!(session.hear().await["type"], "error");
        assert!(app.service().ask(erase, json!({ "id": "ada" })).await["eraseUser"]["erasedId"].is_null());

        let told = "{ inboxUser(id: \"ada\") { user { id } } exportUser(id: \"ada\") userGroups { memberCount } }";
        let data = app.service().ask(told, json!({})).await;
        assert_eq!(data, json!({ "inboxUser": null, "exportUser": null, "userGroups": [{ "memberCount": 0 }] }));
        let query = "{ viewer { inbox { nodes { title sender { id } } } following { nodes { id } } } }";
        let data = app.user("ben").ask(query, json!({})).await;
        let said = json!({ "title": "Ada said so", "sender": null });
        assert_eq!(data["viewer"]["inbox"]["nodes"][0], said, "a follower keeps what the erased user did");
        assert_eq!(data["viewer"]["following"]["nodes"], json!([]));
        let list = app.admin().ask("{ sentNotifications(first: 10) { nodes { title sender { id } } } }", json!({})).await;
        assert_eq!(list["sentNotifications"]["nodes"].as_array().unwrap().len(), 2, "the message to her has gone");

        // A user with the same name is a new user.
        assert_eq!(app.user("ada").titles(json!({})).await, ["to all"]);
        app.service().message("news", "ada", "dear new Ada").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["dear new Ada", "to all"]);
        drop(session);
        node.stop().await;
    }

    async fn another_node_that_does_not_know_yet_harms_nothing(app) {
        furnish(app).await;
        let other = TestApp::configured(app.app.config.clone()).await;
        assert_eq!(other.user("ada").titles(json!({})).await.len(), 2);
        app.service().ask("mutation { eraseUser(id: \"ada\") { erasedId } }", json!({})).await;
        let subscribe = "mutation { subscribeTopic(input: { target: { type: \"doc\", externalId: \"7\" }, what: { actions: [\"like\"] } }) { createdCount } }";
        assert!(other.user("ada").refused(subscribe, json!({})).await.starts_with("UNAVAILABLE"));
        // The error told the node of the erasure: the id now belongs to a new user.
        assert_eq!(other.user("ada").ask(subscribe, json!({})).await["subscribeTopic"]["createdCount"], 1);
        assert_eq!(other.user("ada").titles(json!({})).await, ["to all"]);

        app.service().ask("mutation { eraseUser(id: \"ada\") { erasedId } }", json!({})).await;
        let (_, answer) = other.user("ada").send("{ viewer { inbox { nodes { title } } overview { unread { count } } } }", json!({})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{answer}");
        assert_eq!(other.user("ada").overview().await, ["news: 1 (to all)", "= 1"]);

        app.service().ask("mutation { eraseUser(id: \"ada\") { erasedId } }", json!({})).await;
        other.service().message("news", "ada", "dear new Ada").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["dear new Ada", "to all"]);
        other.app.db.close().await;
    }
}
