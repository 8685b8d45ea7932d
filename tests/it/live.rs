//! Live subscriptions over real sockets: no gaps, no repeats, and no events for unaffected users.

mod cut_off;
mod events;
mod held;
mod lost;
mod nodes;
mod protocol;
mod resume;
mod shared;
mod spending;
mod views;

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::{ITEMS, OVERVIEWS, Socket, TestApp, everyone, on_every_database};

async fn cursor(app: &TestApp, user: &str) -> String {
    let data = app.user(user).ask("{ viewer { overview { cursor } } }", json!({})).await;
    data["viewer"]["overview"]["cursor"].as_str().expect("it is a cursor").to_owned()
}

on_every_database! {
    async fn a_session_gets_what_is_new_and_nothing_else(app) {
        app.admin().define_type("release").await;
        app.admin().define_type("direct").await;
        app.service().announce("release", everyone(), "before").await;
        let node = app.listen().await;
        let mut ada = Socket::feed(&node.address, &app.user("ada").token, json!({})).await;
        let mut bob = Socket::feed(&node.address, &app.user("bob").token, json!({ "types": ["direct"] })).await;
        app.service().announce("release", everyone(), "to all").await;
        app.service().message("direct", "bob", "to bob").await;
        app.service().message("direct", "ada", "to ada").await;
        assert_eq!(ada.title().await, "to all");
        assert_eq!(ada.title().await, "to ada");
        assert_eq!(bob.title().await, "to bob");
        assert!(bob.is_silent(200).await && ada.is_silent(1).await);
        drop((ada, bob));
        node.stop().await;
    }

    async fn what_came_before_and_during_the_replay_comes_once_and_in_order(app) {
        app.admin().define_type("release").await;
        let after = cursor(app, "ada").await;
        for number in 0..250 {
            app.service().announce("release", everyone(), &number.to_string()).await;
        }
        let node = app.listen().await;
        let mut ada = Socket::subscribed(&node.address, &app.user("ada").token, ITEMS, json!({ "after": after })).await;
        for number in 250..300 {
            app.service().announce("release", everyone(), &number.to_string()).await;
        }
        let mut place = String::new();
        for number in 0..300 {
            let edge = ada.data().await["itemReceived"].take();
            assert_eq!(edge["node"]["title"], number.to_string());
            if number == 279 {
                place = String::from(edge["cursor"].as_str().unwrap());
            }
        }
        assert!(ada.is_silent(100).await);
        let mut again = Socket::subscribed(&node.address, &app.user("ada").token, ITEMS, json!({ "after": place })).await;
        for number in 280..300 {
            assert_eq!(again.title().await, number.to_string());
        }
        drop((ada, again));
        node.stop().await;
    }

    async fn everything_that_changes_the_overview_changes_it_live(app) {
        app.admin().define_type("release").await;
        let node = app.listen().await;
        let mut ada = Socket::subscribed(&node.address, &app.user("ada").token, OVERVIEWS, json!({})).await;
        ada.until_unread(0).await;
        for number in 0..20 {
            app.service().announce("release", everyone(), &number.to_string()).await;
        }
        let overview = ada.until_unread(20).await;
        assert_eq!(overview["types"][0]["latest"]["title"], "19");
        let first = app.user("ada").items(json!({})).await[0]["id"].clone();
        app.user("ada").mark("markRead", json!({ "ids": [first] })).await;
        ada.until_unread(19).await;
        app.user("ada").mark("archiveItems", json!({ "matching": {} })).await;
        ada.until_unread(0).await;
        app.admin().define_type("added").await;
        let overview = ada.until_unread(0).await;
        assert_eq!(overview["types"].as_array().map(Vec::len), Some(2), "{overview:#}");
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        assert!(ada.is_silent(300).await, "what changes nothing is not told");
        drop(ada);
        node.stop().await;
    }

    async fn what_a_user_listens_to_is_followed_at_once(app) {
        app.admin().define_type("doc").await;
        let node = app.listen().await;
        let mut ada = Socket::feed(&node.address, &app.user("ada").token, json!({})).await;

        app.user("ada").subscribe("plan", &["comment"]).await;
        app.service().remind("doc", "plan", "comment", None, "subscribed").await;
        assert_eq!(ada.title().await, "subscribed");
        app.user("ada").ask(r#"mutation { followUser(user: "ben") { user { id } } }"#, json!({})).await;
        app.service().remind("doc", "other", "like", Some("ben"), "followed").await;
        assert_eq!(ada.title().await, "followed");
        app.service().ask(r#"mutation { saveUserGroup(code: "crew") { code } }"#, json!({})).await;
        app.service().ask(r#"mutation { addUserGroupMembers(code: "crew", users: ["ada"]) { code } }"#, json!({})).await;
        app.service().announce("doc", json!({ "groups": ["crew"] }), "joined").await;
        assert_eq!(ada.title().await, "joined");
        let target = json!({ "target": { "type": "doc", "externalId": "topic" }, "what": { "actions": ["share"] }, "who": { "group": "crew" } });
        app.service().ask("mutation($i: SubscribeTopicInput!) { subscribeTopic(input: $i) { createdCount } }", json!({ "i": target })).await;
        app.service().remind("doc", "topic", "share", None, "through the group").await;
        assert_eq!(ada.title().await, "through the group");

        app.user("ada").ask(r#"mutation { unfollowUser(user: "ben") { user { id } } }"#, json!({})).await;
        app.service().remind("doc", "other", "like", Some("ben"), "no longer followed").await;
        app.service().ask(r#"mutation { removeUserGroupMembers(code: "crew", users: ["ada"]) { code } }"#, json!({})).await;
        app.service().announce("doc", json!({ "groups": ["crew"] }), "left").await;
        app.user("ada").ask(r#"mutation { updatePreferences(actions: [{ code: "comment", enabled: false }]) { preferences { actions { code } } } }"#, json!({})).await;
        app.service().remind("doc", "plan", "comment", None, "muted").await;
        app.service().message("doc", "ada", "last").await;
        assert_eq!(ada.title().await, "last");
        drop(ada);
        node.stop().await;
    }

    async fn a_cursor_that_cannot_be_resumed_from_is_refused(app) {
        app.admin().define_type("release").await;
        app.service().announce("release", everyone(), "old").await;
        let (old, bobs) = (cursor(app, "ada").await, cursor(app, "bob").await);
        app.service().announce("release", everyone(), "newer").await;
        app.advance(TimeDelta::days(31));
        app.service().announce("release", everyone(), "newest").await;
        let node = app.listen().await;
        let mut ada = Socket::open(&node.address, &app.user("ada").token).await;
        for (after, place) in [(&old, "is outside the retained log"), (&bobs, "is not a cursor"), (&"made up".to_owned(), "is not a cursor")] {
            ada.subscribe("1", ITEMS, json!({ "after": after })).await;
            let refusal = ada.hear().await;
            assert_eq!((&refusal["type"], &refusal["id"]), (&json!("error"), &json!("1")));
            let extensions = &refusal["payload"][0]["extensions"];
            assert_eq!(extensions, &json!({ "code": "BAD_USER_INPUT", "field": "after" }));
            let message = refusal["payload"][0]["message"].as_str().unwrap();
            assert!(message.contains(place) && message.contains("get a new one from `overview.cursor`"), "{message}");
        }
        ada.subscribe("1", ITEMS, json!({ "types": ["nonsense"] })).await;
        assert_eq!(ada.hear().await["payload"][0]["extensions"]["field"], "types[0]");
        ada.subscribe("1", "subscription { overviewChanged { overview(cap: 0) { cursor } } }", json!({})).await;
        assert_eq!(ada.hear().await["payload"][0]["extensions"]["field"], "cap");
        let mut service = Socket::subscribed(&node.address, &app.service().token, ITEMS, json!({})).await;
        assert_eq!(service.hear().await["payload"][0]["extensions"]["code"], "FORBIDDEN");
        drop((ada, service));
        node.stop().await;
    }

    async fn an_announcement_to_a_thousand_sessions_takes_a_few_statements(app) {
        app.admin().define_type("release").await;
        let node = app.listen().await;
        let users: Vec<String> = (0..1000).map(|number| format!("user-{number}")).collect();
        let profiles: Vec<Value> = users.iter().map(|user| json!({ "id": user })).collect();
        app.service().ask("mutation($i: [UserProfileInput!]!) { saveUserProfiles(inputs: $i) { id } }", json!({ "i": profiles })).await;
        let mut cursors = Vec::new();
        for users in users.chunks(200) {
            let query = "query($ids: [ID!]!) { inboxUsers(ids: $ids) { overview { cursor } } }";
            let data = app.service().ask(query, json!({ "ids": users })).await;
            cursors.extend(data["inboxUsers"].as_array().unwrap().iter().map(|user| user["overview"]["cursor"].clone()));
        }
        let mut sockets = Vec::new();
        for both in users.iter().zip(&cursors).collect::<Vec<_>>().chunks(20) {
            // Open them in parallel, since the server closes a socket that is not read for a while.
            let opened = both.iter().map(async |(user, after)| {
                let mut socket = Socket::open(&node.address, &app.user(user).token).await;
                socket.subscribe("items", ITEMS, json!({ "after": after })).await;
                socket.subscribe("overview", OVERVIEWS, json!({})).await;
                socket.until_unread(0).await;
                socket
            });
            sockets.extend(futures_util::future::join_all(opened).await);
        }
        let (statements, ()) = app.statements_of(async {
            app.service().announce("release", everyone(), "to all").await;
            for socket in &mut sockets {
                let (mut has_item, mut is_counted) = (false, false);
                while !(has_item && is_counted) {
                    let data = socket.data().await;
                    has_item |= data["itemReceived"]["node"]["title"] == "to all";
                    is_counted |= data["overviewChanged"]["overview"]["unread"]["count"] == 1;
                }
            }
        }).await;
        // Per batch of 500 users: lock, log and cursors; then items and their content; then overviews (in batches of
        // 2,000 users on MySQL). Some users are read twice, since the node checks its log every second.
        assert!(statements < 100, "{statements} statements for 1,000 sessions");
        drop(sockets);
        node.stop().await;
    }
}
