//! Emails with templates of their own instead of the items' text.

use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use super::inbox::{address, save_relay};
use crate::support::relay::{Got, Relay};
use crate::support::{TestApp, on_every_database};
use crate::webhook::settle;

const SAVE: &str = "mutation($input: MessageTypeInput!) { saveMessageType(input: $input) { code } }";
const RULES: &str = "{ messageTypes { templateError delivery { channel letter { subject text html } } } }";

/// A type that sends emails at once with this template.
fn order(letter: &Value) -> Value {
    let template = json!({ "title": "Order {{ params.number }}", "body": "From {{ params.shop }}" });
    let delivery = json!([{ "channel": "EMAIL", "delaySeconds": 0, "letter": letter }]);
    json!({ "code": "order", "title": "Orders", "template": template, "delivery": delivery })
}

/// Sends a message with these parameters to Ada, and returns the email that the relay gets.
async fn sent(app: &TestApp, relay: &Relay, params: Value) -> Got {
    let send = "mutation($params: JSON) { sendMessage(input: { type: \"order\", receiver: \"ada\", \
        content: { params: $params, link: \"/orders/7\" } }) { notification { id } } }";
    app.service().ask(send, json!({ "params": params })).await;
    settle(app, &DeliveryWorkers::default()).await;
    relay.got().pop().unwrap()
}

/// The text and HTML parts of an email, decoded.
fn parts(of: &Got) -> (String, String) {
    let plain = of.raw.replace("=\r\n", "").replace("=3D", "=").replace("=E2=80=93", "–").replace("\r\n", "\n");
    let (text, html) = plain.split_once("<!doctype html>").unwrap();
    (text.to_owned(), html.to_owned())
}

on_every_database! {
    async fn a_letter_says_what_its_templates_say(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        address(app, &["ada"]).await;
        let letter = json!({
            "subject": "{{ params.shop }} – {{ params.number }}",
            "text": "Number {{ params.number }}, {{ params.shop }}",
            "html": "<ul>{% for line in params.lines %}<li>{{ line }}</li>{% endfor %}</ul>",
        });
        app.admin().define(order(&letter)).await;
        let rules = app.admin().ask(RULES, json!({})).await;
        assert_eq!(rules["messageTypes"], json!([{ "templateError": null, "delivery": [{ "channel": "EMAIL", "letter": letter }] }]));
        let got = sent(app, &relay, json!({ "number": 7, "shop": "A & B", "lines": ["<script>", "\"x\""] })).await;
        assert_eq!(got.header("subject").unwrap(), "A & B =?utf-8?b?4oCT?= 7");
        let (text, html) = parts(&got);
        assert!(text.contains("\nNumber 7, A & B\n\nhttps://shop.example/orders/7"), "nothing is escaped in text: {text}");
        assert!(html.contains("<ul><li>&lt;script&gt;</li><li>&quot;x&quot;</li></ul>"), "{html}");
        assert!(html.contains("A &amp; B – 7</h1>") && html.contains("&#x2f;orders&#x2f;7") && !html.contains("<p "), "{html}");
        let item = app.user("ada").items(json!({})).await[0].clone();
        assert_eq!(item["title"], "Order 7", "the inbox says what it did before");
    }

    async fn what_its_templates_do_not_say_it_says_like_the_item(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        address(app, &["ada"]).await;
        app.admin().define(order(&json!({ "text": "Only {{ params.number }}" }))).await;
        let got = sent(app, &relay, json!({ "number": 7, "shop": "A" })).await;
        assert_eq!(got.header("subject").unwrap(), "Order 7");
        let (text, html) = parts(&got);
        assert!(text.contains("\nOnly 7\n") && html.contains(">Only 7</p>"), "{text}{html}");
        let failing = json!({ "subject": "{{ params.missing.deep }}", "text": " ", "html": "{{ params.missing.deep }}" });
        app.admin().define(order(&failing)).await;
        let got = sent(app, &relay, json!({ "number": 8, "shop": "B" })).await;
        assert_eq!(got.header("subject").unwrap(), "Order 8");
        let (_, html) = parts(&got);
        assert!(html.contains("Order 8</h1>") && !html.contains("From B"), "an empty text is one: {html}");
        let told = app.admin().ask(RULES, json!({})).await["messageTypes"][0]["templateError"].take();
        assert_eq!(told, "letter.subject: undefined value (line 1)");
        app.admin().define(order(&json!({ "html": "{% for a in params.many %}{{ params.many }}{% endfor %}" }))).await;
        let got = sent(app, &relay, json!({ "number": 9, "shop": "C", "many": vec!["<<<<<<<<"; 500] })).await;
        assert!(parts(&got).1.contains(">From C</p>"), "what becomes too long is what the item says");
    }

    async fn what_cannot_be_a_letter_is_refused(app) {
        for (letter, expected) in [
            (json!({ "subject": "{{ oops" }), "letter.subject: does not compile"),
            (json!({ "subject": "x", "text": "{% include \"x\" %}" }), "letter.text: does not compile"),
            (json!({ "html": "{{ params.a|safe }}" }), "letter.html: does not compile"),
            (json!({ "html": "x".repeat(16_385) }), "letter.html: must have at most 16384 bytes"),
        ] {
            let why = app.admin().refused(SAVE, json!({ "input": order(&letter) })).await;
            assert!(why.starts_with(&format!("BAD_USER_INPUT input.delivery[0].{expected}")), "{why}");
        }
        assert_eq!(app.admin().ask(RULES, json!({})).await["messageTypes"], json!([]));
        app.admin().define(order(&json!({ "subject": "x" }))).await;
        app.admin().define(order(&Value::Null)).await;
        assert!(app.admin().ask(RULES, json!({})).await["messageTypes"][0]["delivery"][0]["letter"].is_null());
        assert_eq!(app.user("ada").ask(RULES, json!({})).await["messageTypes"][0]["delivery"], json!([]));
    }
}
