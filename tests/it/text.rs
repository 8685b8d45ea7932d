//! Text for readers: no "None", no line reversed by a name, no split characters, nothing invisible.

use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use crate::after::{announce, update};
use crate::mail::inbox::{address, letters, save_relay};
use crate::support::relay::Relay;
use crate::support::{TestApp, on_every_database};
use crate::webhook::settle;

const SEND: &str = "mutation($content: NotificationContentInput!) { sendMessage(input: { type: \"comment\", \
    receiver: \"ada\", sender: \"ben\", content: $content }) { notification { id } } }";
const NEWEST: &str = "{ viewer { inbox(first: 1) { nodes { title body link } } } }";

async fn define(app: &TestApp, template: Value) {
    let delivery = json!([{ "channel": "EMAIL", "delaySeconds": 0 }]);
    app.admin()
        .define(json!({ "code": "comment", "title": "Comments", "template": template, "delivery": delivery }))
        .await;
}

async fn call(app: &TestApp, name: &Value) {
    let save = "mutation($name: String) { saveUserProfiles(inputs: [{ id: \"ben\", name: $name }]) { id } }";
    app.service().ask(save, json!({ "name": name })).await;
}

/// Sends content and returns the item that it becomes.
async fn sent(app: &TestApp, content: Value) -> Value {
    app.service().ask(SEND, json!({ "content": content })).await;
    app.user("ada").ask(NEWEST, json!({})).await["viewer"]["inbox"]["nodes"][0].take()
}

on_every_database! {
    async fn what_is_null_gives_way_to_the_notifications_own_text(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        address(app, &["ada"]).await;
        define(app, json!({ "title": "{{ sender.name }} commented", "body": "by {{ sender.name|upper }}", "link": "/u/{{ sender.name }}" })).await;
        call(app, &Value::Null).await;
        let shown = sent(app, json!({ "params": { "x": null }, "body": "own", "link": "/own" })).await;
        assert_eq!(shown, json!({ "title": "Comments", "body": "own", "link": "/own" }));
        settle(app, &DeliveryWorkers::default()).await;
        assert_eq!(letters(&relay), ["ada: Comments"]);
        let told = app.admin().ask("{ messageTypes { templateError } }", json!({})).await;
        assert_eq!(told["messageTypes"][0]["templateError"], "title: undefined value (line 1)");
        call(app, &json!("Ben")).await;
        let shown = sent(app, json!({})).await;
        assert_eq!(shown, json!({ "title": "Ben commented", "body": "by BEN", "link": "/u/Ben" }));
    }

    async fn a_name_turns_no_line_around(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        address(app, &["ada"]).await;
        define(app, json!({ "title": "{{ sender.name }} commented\n on Pricing", "body": "{{ params.text }}" })).await;
        call(app, &json!("Mallory \u{202E}")).await;
        let shown = sent(app, json!({ "params": { "text": "a\0b\n\u{2067}c" } })).await;
        assert_eq!(shown["title"], "\u{2068}Mallory \u{202E}\u{202C}\u{2069} commented  on Pricing");
        assert_eq!(shown["body"], "a b\n\u{2067}c\u{2069}");
        settle(app, &DeliveryWorkers::default()).await;
        let got = relay.got().pop().unwrap();
        assert!(got.header("subject").unwrap().starts_with("=?utf-8?b?4oGo"), "an isolate: {:?}", got.header("subject"));
        // Bidirectional controls are also closed in content that is shown as it was sent.
        app.admin().define_type("plain").await;
        let of = announce(&app.admin(), json!({ "type": "plain", "content": { "title": "Sale\u{202E}", "body": "x\u{2066}\ny" } })).await;
        let item = app.user("ada").ask(NEWEST, json!({})).await["viewer"]["inbox"]["nodes"][0].take();
        assert_eq!((&item["title"], &item["body"]), (&json!("Sale\u{202E}\u{202C}"), &json!("x\u{2066}\u{2069}\ny")));
        update(&app.admin(), &of["id"], json!({ "title": "Sold\u{2067}" })).await;
        let item = app.user("ada").ask(NEWEST, json!({})).await["viewer"]["inbox"]["nodes"][0].take();
        assert_eq!(item["title"], "Sold\u{2067}\u{2069}");
        let preview = "{ previewNotification(input: { content: { title: \"x\u{202E}\" } }) { title } }";
        assert_eq!(app.service().ask(preview, json!({})).await["previewNotification"]["title"], "x\u{202E}\u{202C}");
    }

    async fn what_cannot_be_seen_or_opened_is_refused(app) {
        app.admin().define_type("comment").await;
        for (content, expected) in [
            (json!({ "title": "\u{200B}\u{200D}" }), "title: must have a visible character"),
            (json!({ "title": "\u{3164}\u{2800}" }), "title: must have a visible character"),
            (json!({ "title": "a\u{2028}b" }), "title: must not contain line breaks"),
            (json!({ "title": "x", "body": "\u{FEFF}\u{202E}" }), "body: must have a visible character"),
            (json!({ "title": "x", "link": "https://[" }), "link: must be a valid URL: invalid IPv6 address"),
            (json!({ "title": "x", "link": "https://a:99999/" }), "link: must be a valid URL: invalid port number"),
            (json!({ "title": "x", "link": "http://a<b" }), "link: must be a valid URL: invalid"),
        ] {
            let why = app.service().refused(SEND, json!({ "content": content })).await;
            assert!(why.starts_with(&format!("BAD_USER_INPUT input.content.{expected}")), "{content}: {why}");
        }
        let save = "mutation { saveUserProfiles(inputs: [{ id: \"ben\", name: \"\u{2060}\" }]) { id } }";
        assert!(app.service().refused(save, json!({})).await.contains("must have a visible character"));
        assert_eq!(app.user("ada").titles(json!({})).await, Vec::<String>::new());
        app.service().ask("mutation { saveUserProfiles(inputs: [{ id: \"b\u{202E}n\", name: \"👨‍👩‍👧\" }]) { id } }", json!({})).await;
        // A template result without visible text is not shown.
        define(app, json!({ "title": "{{ params.x }}", "link": "https://{{ params.x }}" })).await;
        let shown = sent(app, json!({ "params": { "x": "\u{200B}[" }, "link": "/own" })).await;
        assert_eq!((&shown["title"], &shown["link"]), (&json!("\u{200B}["), &json!("/own")));
        let shown = sent(app, json!({ "params": { "x": "\u{200B}" }, "title": "own" })).await;
        assert_eq!(shown["title"], "own");
    }

    async fn long_texts_are_cut_between_characters_of_people(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        address(app, &["ada"]).await;
        define(app, json!({ "title": "{{ params.text }}" })).await;
        let family = "👨\u{200D}👩\u{200D}👧\u{200D}👦";
        let shown = sent(app, json!({ "params": { "text": family.repeat(50) } })).await;
        assert_eq!(shown["title"], format!("{}…", family.repeat(36)));
        settle(app, &DeliveryWorkers::default()).await;
        assert_eq!(relay.got().len(), 1);
    }
}
