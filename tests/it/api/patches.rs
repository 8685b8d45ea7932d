//! Null means omitted: a field is erased only if `clear` names it.

use serde_json::{Value, json};

use crate::support::{Kind, everyone, on_every_database, with};

on_every_database! {
    async fn null_erases_nothing(app) {
        app.admin().define_type("news").await;
        let service = app.service();
        let id = app.admin().announce("news", everyone(), "a title").await;
        let update = "mutation($id: ID!, $input: NotificationPatch!) { updateSentNotification(id: $id, input: $input) { \
            title body link data expiresAt } }";
        let patched = async |input: Value| service.ask(update, json!({ "id": id, "input": input })).await["updateSentNotification"].take();
        let at = (app.now() + chrono::TimeDelta::days(1)).format("%Y-%m-%dT%H:%M:%S.000Z").to_string();
        let whole = json!({ "title": "another", "body": "text", "link": "/x", "data": { "a": 1 }, "expiresAt": at });
        assert_eq!(patched(whole.clone()).await, whole);
        let nothing = json!({ "title": null, "body": null, "link": null, "data": null, "params": null, "publishAt": null, "expiresAt": null, "clear": null });
        assert_eq!(patched(nothing).await, whole);
        assert_eq!(patched(json!({ "clear": [] })).await, whole);
        let cleared = json!({ "title": "another", "body": null, "link": null, "data": null, "expiresAt": null });
        assert_eq!(patched(json!({ "clear": ["BODY", "LINK", "DATA", "PARAMS", "EXPIRES_AT"] })).await, cleared);
        let refused = async |input: Value| service.refused(update, json!({ "id": id, "input": input })).await;
        assert_eq!(refused(json!({ "body": "x", "clear": ["BODY"] })).await, "BAD_USER_INPUT input.clear: names BODY, which is also given");
        assert!(refused(json!({ "clear": ["TITLE"] })).await.starts_with("BAD_USER_INPUT input.title: is required"));
        assert!(refused(json!({ "title": "" })).await.starts_with("BAD_USER_INPUT input.title: "));
        assert_eq!(app.user("ada").titles(json!({})).await, ["another"]);
    }

    async fn profiles_keep_what_is_null(app) {
        let save = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id name avatarUrl locale } }";
        let service = app.service();
        let saved = async |input: Value| service.ask(save, json!({ "inputs": [input] })).await["saveUserProfiles"][0].take();
        let whole = json!({ "id": "ada", "name": "Ada", "avatarUrl": "/ada.png", "locale": "en" });
        assert_eq!(saved(whole.clone()).await, whole);
        assert_eq!(saved(json!({ "id": "ada", "name": null, "avatarUrl": null, "locale": null })).await, whole);
        let cleared = json!({ "id": "ada", "name": "Ada", "avatarUrl": null, "locale": null });
        assert_eq!(saved(json!({ "id": "ada", "clear": ["AVATAR_URL", "LOCALE"] })).await, cleared);
        let inputs = json!([{ "id": "ben" }, { "id": "ada", "name": "x", "clear": ["NAME"] }]);
        let refused = service.refused(save, json!({ "inputs": inputs })).await;
        assert!(refused.starts_with("BAD_USER_INPUT inputs[1].clear: names NAME"), "{refused}");
    }
}

#[tokio::test]
async fn switches_go_back_to_the_default_only_where_that_is_said() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("news").await;
        let ada = app.user("ada");
        let update = "mutation($types: [NotificationPreferenceInput!], $actions: [NotificationPreferenceInput!], $resetTypes: [String!], \
            $resetActions: [String!]) { updatePreferences(types: $types, actions: $actions, resetTypes: $resetTypes, \
            resetActions: $resetActions) { preferences { types { code enabled source } actions { code enabled source } } } }";
        let set = async |variables: Value| ada.ask(update, variables).await["updatePreferences"]["preferences"].take();
        let off = |code: &str| json!([{ "code": code, "enabled": false, "source": "USER" }]);
        let switches = json!({ "types": [{ "code": "news", "enabled": false }], "actions": [{ "code": "like", "enabled": false }] });
        assert_eq!(set(switches).await, json!({ "types": off("news"), "actions": off("like") }));
        let nothing = json!({ "types": null, "actions": null, "resetTypes": null, "resetActions": null });
        assert_eq!(set(nothing).await, json!({ "types": off("news"), "actions": off("like") }));
        let back = json!([{ "code": "news", "enabled": true, "source": "DEFAULT" }]);
        assert_eq!(set(json!({ "resetTypes": ["news"], "resetActions": ["like"] })).await, json!({ "types": back, "actions": [] }));
        for (variables, expected) in [
            (json!({ "types": [{ "code": "news", "enabled": null }] }), "BAD_USER_INPUT types[0].enabled: must be Boolean!"),
            (json!({ "types": [{ "code": "news", "enabled": true }], "resetTypes": ["x"] }), "BAD_USER_INPUT resetTypes[0]: names no message type"),
            (json!({ "types": [{ "code": "news", "enabled": true }], "resetTypes": ["x", "news"] }), "BAD_USER_INPUT resetTypes[1]: "),
            (json!({ "resetActions": ["like", " "] }), "BAD_USER_INPUT resetActions[1]: "),
            (json!({ "actions": [{ "code": "", "enabled": true }] }), "BAD_USER_INPUT actions[0].code: "),
        ] {
            let refused = ada.refused(update, variables.clone()).await;
            assert!(refused.starts_with(expected), "{variables} {refused}");
        }
        let defaults = "mutation { saveDefaultPreferences(types: [{ code: \"news\", enabled: false }], \
            actions: [{ code: \"like\", enabled: false }]) { types { code enabled source } actions { code enabled source } } }";
        let saved = app.admin().ask(defaults, json!({})).await["saveDefaultPreferences"].take();
        let off = |code: &str| json!([{ "code": code, "enabled": false, "source": "DEFAULT" }]);
        assert_eq!(saved, json!({ "types": off("news"), "actions": off("like") }));
    })
    .await;
}
