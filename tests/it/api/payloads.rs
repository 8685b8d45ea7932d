//! The response to a mutation contains its changes, so that clients need no second request.

use serde_json::{Value, json};

use crate::support::{TestApp, everyone, on_every_database};

const MARK: &str = "changedCount items { id title isRead isArchived } deletedIds affectedTypes { code } \
    viewer { overview { unread { count } } } inboxUser { user { id } overview { unread { count } } }";

fn mark(how: &str) -> String {
    format!("mutation($select: InboxItemSelector!, $user: ID) {{ {how}(select: $select, user: $user) {{ {MARK} }} }}")
}

async fn fill(app: &TestApp) -> Vec<Value> {
    for code in ["a", "b"] {
        app.admin().define_type(code).await;
        app.admin().announce(code, everyone(), code).await;
    }
    app.user("ada").items(json!({})).await.iter().map(|item| item["id"].clone()).collect()
}

on_every_database! {
    async fn marks_tell_all_that_they_changed(app) {
        let ids = fill(app).await;
        let ada = app.user("ada");
        let told = async |how: &str, select: Value| ada.ask(&mark(how), json!({ "select": select })).await[how].take();
        let b = |is_read: bool, is_archived: bool| json!([{ "id": ids[0], "title": "b", "isRead": is_read, "isArchived": is_archived }]);
        let payload = |count: i64, items: Value, deleted: Value, types: Value, unread: i64| {
            json!({ "changedCount": count, "items": items, "deletedIds": deleted, "affectedTypes": types,
                "viewer": { "overview": { "unread": { "count": unread } } }, "inboxUser": null })
        };
        let of_b = || json!([{ "code": "b" }]);
        let select = || json!({ "ids": [ids[0]] });
        assert_eq!(told("markRead", select()).await, payload(1, b(true, false), json!([]), of_b(), 1));
        assert_eq!(told("markRead", select()).await, payload(0, b(true, false), json!([]), json!([]), 1));
        assert_eq!(told("archiveItems", select()).await, payload(1, b(true, true), json!([]), of_b(), 1));
        assert_eq!(told("markUnread", select()).await, payload(1, b(false, true), json!([]), of_b(), 1));
        assert_eq!(told("unarchiveItems", select()).await, payload(1, b(false, false), json!([]), of_b(), 2));
        let all = json!([{ "code": "a" }, { "code": "b" }]);
        assert_eq!(told("markRead", json!({ "matching": {} })).await, payload(2, json!([]), json!([]), all, 0));
        assert_eq!(told("deleteItems", select()).await, payload(1, json!([]), json!([ids[0]]), of_b(), 0));
        assert_eq!(told("markUnread", json!({ "ids": [ids[0]] })).await, payload(0, json!([]), json!([]), json!([]), 0));
        let seen = format!("mutation {{ markSeen {{ {MARK} }} }}");
        assert_eq!(ada.ask(&seen, json!({})).await["markSeen"], payload(0, json!([]), json!([]), json!([]), 0));
    }

    async fn services_mark_for_users_and_nobody_else_does(app) {
        let ids = fill(app).await;
        let select = json!({ "ids": [ids[0]] });
        let for_ada = json!({ "select": select, "user": "ada" });
        let marked = app.service().ask(&mark("markRead"), for_ada.clone()).await["markRead"].take();
        assert_eq!(marked["inboxUser"], json!({ "user": { "id": "ada" }, "overview": { "unread": { "count": 1 } } }));
        assert_eq!((&marked["viewer"], &marked["changedCount"], &marked["items"][0]["isRead"]), (&Value::Null, &json!(1), &json!(true)));
        for how in ["markUnread", "archiveItems", "unarchiveItems", "deleteItems"] {
            assert_eq!(app.service().ask(&mark(how), for_ada.clone()).await[how]["changedCount"], 1, "{how}");
        }
        app.service().ask("mutation { markSeen(user: \"ada\") { inboxUser { overview { unseen { count } } } } }", json!({})).await;
        let refused = async |actor: &crate::support::Actor<'_>, variables: &Value| actor.refused(&mark("markRead"), variables.clone()).await;
        let select = json!({ "ids": [ids[1]] });
        let (unnamed, for_ada) = (json!({ "select": select }), json!({ "select": select, "user": "ada" }));
        assert!(refused(&app.service(), &unnamed).await.starts_with("BAD_USER_INPUT user: is required"));
        assert!(refused(&app.admin(), &for_ada).await.starts_with("FORBIDDEN"));
        assert!(refused(&app.user("ben"), &for_ada).await.starts_with("NOT_FOUND"));
        let nobody = refused(&app.service(), &json!({ "select": select, "user": "nobody" })).await;
        assert!(nobody.starts_with("NOT_FOUND user: "), "{nobody}");
        assert_eq!(app.service().ask("{ inboxUser(id: \"nobody\") { id } }", json!({})).await["inboxUser"], Value::Null);
        app.user("ben").ask("{ viewer { id } }", json!({})).await;
        let other = refused(&app.service(), &json!({ "select": select, "user": "ben" })).await;
        assert!(other.starts_with("NOT_FOUND select.ids[0]: "), "{other}");
        let ids = json!([ids[1], ids[1], "x"]);
        let wrong = refused(&app.user("ada"), &json!({ "select": { "ids": ids } })).await;
        let twice = json!({ "select": { "ids": [ids[1], ids[1]] }, "user": "ada" });
        let deleted = app.service().ask(&mark("deleteItems"), twice).await["deleteItems"].take();
        assert_eq!((&deleted["changedCount"], &deleted["deletedIds"]), (&json!(1), &json!([ids[1]])));
        assert!(wrong.starts_with("NOT_FOUND select.ids[2]: "), "{wrong}");
        assert_eq!(app.user("ada").titles(json!({})).await, [""; 0]);
    }

    async fn subscribing_following_and_views_tell_whose_they_are(app) {
        let ada = app.user("ada");
        let target = json!({ "type": "doc", "externalId": "7" });
        let subscribe = "mutation($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount \
            subscriptions { id action target { externalId } } viewer { subscriptions { nodes { id } } } inboxUser { user { id } } } }";
        let input = json!({ "target": target, "what": { "actions": ["like", "comment"] } });
        let done = ada.ask(subscribe, json!({ "input": input })).await["subscribeTopic"].take();
        let ids: Vec<Value> = done["subscriptions"].as_array().unwrap().iter().map(|of| json!({ "id": of["id"] })).collect();
        assert_eq!((&done["createdCount"], &done["inboxUser"]), (&json!(2), &Value::Null));
        let listed = done["viewer"]["subscriptions"]["nodes"].as_array().unwrap();
        assert!(ids.len() == 2 && ids.iter().all(|id| listed.contains(id)), "{done}");
        let unsubscribe = "mutation($input: UnsubscribeTopicInput!) { unsubscribeTopic(input: $input) { removedCount deletedIds \
            viewer { subscriptions { nodes { id } } } inboxUser { user { id } } } }";
        let input = json!({ "target": target, "what": { "everything": true }, "who": { "user": "ada" } });
        let done = app.service().ask(unsubscribe, json!({ "input": input })).await["unsubscribeTopic"].take();
        assert_eq!((&done["removedCount"], &done["viewer"], &done["inboxUser"]["user"]["id"]), (&json!(2), &Value::Null, &json!("ada")));
        assert!(ids.iter().all(|id| done["deletedIds"].as_array().unwrap().contains(&id["id"])), "{done}");
        let wrong = json!({ "target": target, "what": { "actions": ["a", ""] } });
        assert!(ada.refused(unsubscribe, json!({ "input": wrong })).await.starts_with("BAD_USER_INPUT input.what.actions[1]: "));
        let nothing = json!({ "target": target, "what": { "everything": false } });
        assert!(ada.refused(unsubscribe, json!({ "input": nothing })).await.starts_with("BAD_USER_INPUT input.what.everything: "));

        let follow = "mutation { followUser(user: \"ben\") { user { id } viewer { following { nodes { id } } } } }";
        let followed = json!({ "user": { "id": "ben" }, "viewer": { "following": { "nodes": [{ "id": "ben" }] } } });
        assert_eq!(ada.ask(follow, json!({})).await["followUser"], followed);
        let unfollow = "mutation { unfollowUser(user: \"ben\") { user { id } viewer { following { nodes { id } } } } }";
        let gone = json!({ "user": { "id": "ben" }, "viewer": { "following": { "nodes": [] } } });
        assert_eq!(ada.ask(unfollow, json!({})).await["unfollowUser"], gone);

        app.admin().ask("mutation { saveViewCode(code: \"chat\", open: true) { code } }", json!({})).await;
        let join = "mutation($key: ViewKeyInput!) { joinView(key: $key) { view { externalId } viewer { views { externalId } } } }";
        let key = json!({ "code": "chat", "externalId": "7" });
        let joined = json!({ "view": { "externalId": "7" }, "viewer": { "views": [{ "externalId": "7" }] } });
        assert_eq!(ada.ask(join, json!({ "key": key })).await["joinView"], joined);
        let leave = join.replace("joinView", "leaveView");
        let left = json!({ "view": { "externalId": "7" }, "viewer": { "views": [] } });
        assert_eq!(ada.ask(&leave, json!({ "key": key })).await["leaveView"], left);
    }

    async fn what_is_deleted_is_named(app) {
        let admin = app.admin();
        admin.define_type("news").await;
        let saved = admin.ask("mutation { saveUserGroup(code: \"staff\") { id } }", json!({})).await["saveUserGroup"]["id"].take();
        let news = admin.ask("{ messageTypes { id } }", json!({})).await["messageTypes"][0]["id"].take();
        admin.ask("mutation { saveSubscriptionReason(code: \"own\", actions: [\"like\"]) { code } saveViewCode(code: \"chat\", open: true) { code } }", json!({})).await;
        app.user("ada").ask("{ viewer { id } }", json!({})).await;
        let delete = "mutation { deleteUserGroup(code: \"staff\") { deletedId } deleteMessageType(code: \"news\") { deletedId } \
            deleteSubscriptionReason(code: \"own\") { deletedCode } deleteViewCode(code: \"chat\") { deletedCode } eraseUser(id: \"ada\") { erasedId } }";
        let all = json!({ "deleteUserGroup": { "deletedId": saved }, "deleteMessageType": { "deletedId": news },
            "deleteSubscriptionReason": { "deletedCode": "own" }, "deleteViewCode": { "deletedCode": "chat" }, "eraseUser": { "erasedId": "ada" } });
        assert_eq!(admin.ask(delete, json!({})).await, all);
        let none = json!({ "deleteUserGroup": { "deletedId": null }, "deleteMessageType": { "deletedId": null },
            "deleteSubscriptionReason": { "deletedCode": null }, "deleteViewCode": { "deletedCode": null }, "eraseUser": { "erasedId": null } });
        assert_eq!(admin.ask(delete, json!({})).await, none);
    }
}
