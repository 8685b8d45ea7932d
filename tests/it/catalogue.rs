//! The catalogue (types, templates, subscription reasons), and how soon a change reaches every node.

use serde_json::{Value, json};

use crate::support::{TestApp, everyone, on_every_database};

const SAVE: &str = "mutation($input: MessageTypeInput!) { saveMessageType(input: $input) { \
    code title group readPolicy mandatory ttlSeconds position template { title body link } icon ui } }";

fn templated(title: &str) -> Value {
    json!({ "code": "comment", "title": "Comments", "template": {
        "title": title, "body": "{% for word in params.words %}{{ word }} {% endfor %}", "link": "/docs/{{ target.id }}" } })
}

async fn remind(app: &TestApp, params: Value, title: Option<&str>) {
    let input = json!({ "type": "comment", "target": { "type": "doc", "externalId": "7" }, "action": "comment", "sender": "ben",
                        "content": { "title": title, "params": params, "body": "own body", "link": "/own" } });
    app.service()
        .ask(
            "mutation($input: SendReminderInput!) { sendReminder(input: $input) { replayed } }",
            json!({ "input": input }),
        )
        .await;
}

const FLAWS: &str = "{ messageTypes { templateError } }";
const NEWEST: &str = "{ viewer { inbox(first: 1) { nodes { title body link } } } }";

on_every_database! {
    async fn a_type_is_saved_whole_and_listed_in_its_place(app) {
        let admin = app.admin();
        admin.define(json!({ "code": "b", "title": "B", "position": 1 })).await;
        admin.define(json!({ "code": "a", "title": "A", "position": 1 })).await;
        admin.define(json!({ "code": "c", "title": "C" })).await;
        let full = json!({ "code": "b", "title": "Bees", "group": "Animals", "readPolicy": "AUTO", "mandatory": true,
                           "ttlSeconds": 60, "position": -1, "template": { "title": "x", "body": "y", "link": "/z" },
                           "icon": "https://example.com/bee.svg", "ui": { "tone": [1, null] } });
        assert_eq!(admin.ask(SAVE, json!({ "input": full })).await["saveMessageType"], full);
        let codes = "{ messageTypes { code } }";
        assert_eq!(app.user("ada").ask(codes, json!({})).await["messageTypes"], json!([{ "code": "b" }, { "code": "c" }, { "code": "a" }]));
        let plain = admin.ask(SAVE, json!({ "input": { "code": "b", "title": "B" } })).await["saveMessageType"].clone();
        assert_eq!(plain, json!({ "code": "b", "title": "B", "group": null, "readPolicy": "MANUAL", "mandatory": false,
                                  "ttlSeconds": null, "position": 0, "template": null, "icon": null, "ui": null }));
    }

    async fn what_types_look_like_is_a_name_or_an_https_url_and_a_little_json(app) {
        for icon in ["bell", "mdi:bell-ring_2.0", "https://example.com/a.svg?b=c#d", "HTTPS://example.com"] {
            app.admin().define(json!({ "code": "a", "title": "A", "icon": icon })).await;
        }
        let long = format!("https://example.com/{}", "x".repeat(237));
        let long_ui = json!("x".repeat(4095));
        for (field, value) in [
            ("icon", json!("")), ("icon", json!("two words")), ("icon", json!("http://example.com/a.svg")), ("icon", json!("https://")),
            ("icon", json!("javascript:alert(1)//")), ("icon", json!("/own.svg")), ("icon", json!(long)), ("ui", long_ui)
        ] {
            let input = json!({ "code": "a", "title": "changed", field: value });
            let (_, answer) = app.admin().send(SAVE, json!({ "input": input })).await;
            assert_eq!(answer["errors"][0]["extensions"]["field"], format!("input.{field}"), "{answer}");
        }
        let types = app.user("ada").ask("{ messageTypes { title icon } }", json!({})).await["messageTypes"].clone();
        assert_eq!(types, json!([{ "title": "A", "icon": "HTTPS://example.com" }]));
    }

    async fn templates_speak_of_everything_in_scope(app) {
        app.admin().define(templated("{{ sender.name }} {{ action }} on {{ target.type }} {{ target.id }}: {{ params.text|upper }}")).await;
        app.service().ask("mutation { saveUserProfiles(inputs: [{ id: \"ben\", name: \"Ben\" }]) { id } }", json!({})).await;
        app.user("ada").subscribe("7", &["comment"]).await;
        remind(app, json!({ "text": "nice", "words": ["a", "b"] }), None).await;
        let item = app.user("ada").ask(NEWEST, json!({})).await["viewer"]["inbox"]["nodes"][0].clone();
        assert_eq!(item, json!({ "title": "Ben comment on doc 7: NICE", "body": "a b", "link": "/docs/7" }));
    }

    async fn a_new_template_or_name_shows_at_the_next_read(app) {
        app.admin().define(templated("{{ sender.name or sender.id }}")).await;
        app.user("ada").subscribe("7", &["comment"]).await;
        remind(app, json!({ "words": [] }), None).await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["ben"]);
        app.service().ask("mutation { saveUserProfiles(inputs: [{ id: \"ben\", name: \"Ben\" }]) { id } }", json!({})).await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["Ben"]);
        app.admin().define(templated("by {{ sender.name }}")).await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["by Ben"]);
    }

    async fn a_template_that_fails_gives_way_to_the_notifications_own_text(app) {
        app.admin().define(templated("{{ params.missing.deep }}")).await;
        app.user("ada").subscribe("7", &["comment"]).await;
        remind(app, json!({ "words": ["a"] }), Some("own title")).await;
        let item = app.user("ada").ask(NEWEST, json!({})).await["viewer"]["inbox"]["nodes"][0].clone();
        assert_eq!(item, json!({ "title": "own title", "body": "a", "link": "/docs/7" }));
        remind(app, Value::Null, None).await;
        let item = app.user("ada").ask(NEWEST, json!({})).await["viewer"]["inbox"]["nodes"][0].clone();
        assert_eq!(item, json!({ "title": "Comments", "body": "own body", "link": "/docs/7" }));
    }

    async fn a_template_that_never_ends_is_stopped_and_told_to_those_who_can_mend_it(app) {
        app.admin().define(templated("{% for a in params.words %}{% for b in params.words %}x{% endfor %}{% endfor %}")).await;
        app.user("ada").subscribe("7", &["comment"]).await;
        assert_eq!(app.service().ask(FLAWS, json!({})).await["messageTypes"], json!([{ "templateError": null }]));
        remind(app, json!({ "words": vec![0; 1000] }), Some("own title")).await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["own title"]);
        let told = json!([{ "templateError": "title: takes too much work (line 1)" }]);
        assert_eq!(app.service().ask(FLAWS, json!({})).await["messageTypes"], told);
        assert_eq!(app.user("ada").ask(FLAWS, json!({})).await["messageTypes"], json!([{ "templateError": null }]));
        app.admin().define(templated("mended")).await;
        assert_eq!(app.admin().ask(FLAWS, json!({})).await["messageTypes"], json!([{ "templateError": null }]));
        assert_eq!(app.user("ada").titles(json!({})).await, ["mended"]);
    }

    async fn what_was_stored_when_more_was_allowed_gives_way_and_takes_nobody_along(app) {
        app.user("ada").subscribe("7", &["comment"]).await;
        let minus = format!("{{{{ {}1 }}}}", "-".repeat(6000));
        for (stored, why) in [
            ("{% set n = namespace() %}{% set n.a = n %}{{ n }}", "not allowed (line 1): a call"),
            (minus.as_str(), "too long (line 1): more than 1000 names, values and operators in braces"),
            ("\n{{ \"%1000000000d\"|format(1) }}", "not allowed (line 2): the filter \"format\""),
        ] {
            app.admin().define(templated("fine")).await;
            app.by_hand(&format!("UPDATE message_type SET template_title = '{stored}'")).await;
            app.by_hand("UPDATE tenant SET catalogue_version = catalogue_version + 1").await;
            remind(app, json!({ "words": ["a"] }), Some("own title")).await;
            let item = app.user("ada").ask(NEWEST, json!({})).await["viewer"]["inbox"]["nodes"][0].clone();
            assert_eq!(item, json!({ "title": "own title", "body": "a", "link": "/docs/7" }));
            app.user("ada").overview().await;
            let told = json!([{ "templateError": format!("title: {why}") }]);
            assert_eq!(app.admin().ask(FLAWS, json!({})).await["messageTypes"], told);
            let refused = app.admin().refused(SAVE, json!({ "input": templated(stored) })).await;
            assert_eq!(refused, format!("BAD_USER_INPUT input.template.title: does not compile: {why}"));
        }
    }

    async fn what_cannot_be_saved_is_named(app) {
        for (input, expected) in [
            (templated("{{ oops"), "BAD_USER_INPUT input.template.title: does not compile"),
            (json!({ "code": "", "title": "x" }), "BAD_USER_INPUT input.code: must have 1 to 128 characters"),
            (json!({ "code": "x", "title": " " }), "BAD_USER_INPUT input.title: must have 1 to 256 characters"),
            (json!({ "code": "x", "title": "x", "ttlSeconds": 0 }), "BAD_USER_INPUT input.ttlSeconds: must be at least 1"),
        ] {
            let why = app.admin().refused(SAVE, json!({ "input": input })).await;
            assert!(why.starts_with(expected), "{why}");
        }
        assert_eq!(app.user("ada").ask("{ messageTypes { code } }", json!({})).await["messageTypes"], json!([]));
    }

    async fn a_type_that_is_in_use_stays(app) {
        let delete = "mutation($code: String!) { deleteMessageType(code: $code) { deletedId } }";
        app.admin().define_type("used").await;
        app.admin().define_type("unused").await;
        app.service().announce("used", everyone(), "x").await;
        let why = app.admin().refused(delete, json!({ "code": "used" })).await;
        assert!(why.starts_with("CONFLICT"), "{why}");
        assert!(app.admin().ask(delete, json!({ "code": "unused" })).await["deleteMessageType"]["deletedId"].is_string());
        assert!(app.admin().ask(delete, json!({ "code": "unused" })).await["deleteMessageType"]["deletedId"].is_null());
        assert_eq!(app.user("ada").overview().await, ["used: 1 (x)", "= 1"]);
    }

    async fn reasons_are_saved_listed_and_deleted(app) {
        let save = "mutation($actions: [String!]!) { saveSubscriptionReason(code: \"create\", actions: $actions) { code actions } }";
        app.admin().ask(save, json!({ "actions": ["comment"] })).await;
        app.admin().ask(save, json!({ "actions": ["comment", "like"] })).await;
        let reasons = app.user("ada").ask("{ subscriptionReasons { code actions } }", json!({})).await;
        assert_eq!(reasons["subscriptionReasons"], json!([{ "code": "create", "actions": ["comment", "like"] }]));
        assert_eq!(app.admin().refused(save, json!({ "actions": [] })).await, "BAD_USER_INPUT actions: must name at least one action");
        let delete = "mutation { deleteSubscriptionReason(code: \"create\") { deletedCode } }";
        assert_eq!(app.admin().ask(delete, json!({})).await["deleteSubscriptionReason"]["deletedCode"], "create");
        assert!(app.admin().ask(delete, json!({})).await["deleteSubscriptionReason"]["deletedCode"].is_null());
    }

    async fn a_node_that_has_not_heard_of_a_change_goes_by_it_all_the_same(app) {
        app.admin().define_type("comment").await;
        app.admin().ask("mutation { saveUserGroup(code: \"design\") { code } }", json!({})).await;
        let other = TestApp::start(app.app.config.database.url()).await;
        other.user("ada").overview().await;
        other.service().announce("comment", json!({ "groups": ["design"] }), "to nobody yet").await;

        app.admin().define(json!({ "code": "comment", "title": "Comments", "template": { "title": "rendered" } })).await;
        app.admin().define_type("brand-new").await;
        app.admin().ask("mutation { deleteUserGroup(code: \"design\") { deletedId } }", json!({})).await;
        app.admin().ask("mutation { saveUserGroup(code: \"design\") { code } }", json!({})).await;
        app.admin().ask("mutation { addUserGroupMembers(code: \"design\", users: [\"ada\"]) { code } }", json!({})).await;

        other.service().announce("comment", json!({ "groups": ["design"] }), "own").await;
        assert_eq!(other.user("ada").overview().await, ["brand-new: 0 (-)", "comment: 1 (rendered)", "= 1"]);
        assert_eq!(other.user("ada").titles(json!({})).await, ["rendered"]);
    }

    async fn what_is_sent_by_a_node_that_has_not_heard_of_a_change_is_checked_by_what_is_now(app) {
        let templated = json!({ "code": "bare", "title": "Bare", "template": { "title": "rendered" } });
        app.admin().define(templated).await;
        for code in ["kept", "gone"] {
            app.admin().define_type(code).await;
        }
        let other = TestApp::start(app.app.config.database.url()).await;
        let many = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
        let message = |code: &str, title: Option<&str>, key: Option<&str>| {
            let content = json!({ "title": title, "data": 1 });
            json!({ "message": { "type": code, "receiver": "ada", "content": content, "idempotencyKey": key } })
        };
        let (kept, untitled) = (message("kept", Some("kept"), None), message("bare", None, Some("once")));
        other.service().ask(many, json!({ "inputs": [kept, untitled] })).await;

        app.admin().define(json!({ "code": "bare", "title": "Bare", "template": null })).await;
        let delete = "mutation { deleteMessageType(code: \"gone\") { deletedId } }";
        app.admin().ask(delete, json!({})).await;
        // A node with an outdated catalogue returns the same error and path as an up-to-date node.
        let gone = json!({ "inputs": [kept, message("gone", Some("gone"), None)] });
        let refused = other.service().refused(many, gone.clone()).await;
        assert_eq!(refused, app.service().refused(many, gone).await);
        assert!(refused.contains("inputs[1].message.type"), "{refused}");

        // A refused send creates none of the users that it names.
        app.admin().define_type("gone").await;
        other.admin().ask("{ messageTypes { code } }", json!({})).await;
        app.admin().ask(delete, json!({})).await;
        let to_stranger = json!({ "message": { "type": "gone", "receiver": "stranger", "sender": "strange", "content": { "title": "x" } } });
        other.service().refused(many, json!({ "inputs": [kept, to_stranger] })).await;
        for id in ["stranger", "strange"] {
            let found = app.service().ask("query($id: ID!) { inboxUser(id: $id) { user { id } } }", json!({ "id": id })).await;
            assert_eq!(found["inboxUser"], Value::Null);
        }

        // Both nodes have the current catalogue now. Use a third one with an outdated catalogue.
        let third = TestApp::start(app.app.config.database.url()).await;
        third.service().message("kept", "ben", "kept").await;
        app.admin().define(json!({ "code": "bare", "title": "Bare", "template": { "title": "again" } })).await;
        third.service().ask(many, json!({ "inputs": [message("bare", None, None)] })).await;
        app.admin().define(json!({ "code": "bare", "title": "Bare", "template": null })).await;
        // A retry is a replay, a new send is refused, and the send of another request is not affected.
        let service = third.service();
        let untitled_now = json!({ "inputs": [kept, message("bare", None, None)] });
        let (replayed, refused, (status, sent)) = tokio::join!(
            service.ask(many, json!({ "inputs": [untitled] })),
            service.refused(many, untitled_now),
            service.send(many, json!({ "inputs": [kept] })),
        );
        assert_eq!(replayed["sendNotifications"][0]["replayed"], true);
        assert!(refused.contains("inputs[1].message.content.title"), "{refused}");
        assert!(status.is_success() && sent["errors"].is_null(), "{sent}");
        let titles = app.user("ada").titles(json!({ "types": ["kept"] })).await;
        assert_eq!(titles, ["kept", "kept"]);
    }
}
