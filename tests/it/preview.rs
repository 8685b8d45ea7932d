//! Previews of a notification with the template of its type or with a draft of a template; lists of sent notifications
//! use the same text.

use serde_json::{Value, json};

use crate::support::{TestApp, on_every_database};

const PREVIEW: &str = "query($input: PreviewNotificationInput!) { previewNotification(input: $input) { title body link \
    flaws { field line message } } }";

async fn preview(app: &TestApp, input: Value) -> Value {
    app.service().ask(PREVIEW, json!({ "input": input })).await["previewNotification"].take()
}

async fn define(app: &TestApp) {
    let save = "mutation { saveMessageType(input: { code: \"order\", title: \"Orders\", \
        template: { title: \"Order {{ params.number }} of {{ sender.name }}\", link: \"/orders/{{ params.number }}\" } }) { code } \
        saveUserProfiles(inputs: [{ id: \"ben\", name: \"Ben\" }]) { id } }";
    app.admin().ask(save, json!({})).await;
}

on_every_database! {
    async fn a_preview_says_what_the_item_says_then(app) {
        define(app).await;
        let content = json!({ "title": "own", "body": "Soon.", "params": { "number": 7 } });
        let shown = preview(app, json!({ "type": "order", "content": content, "sender": "ben" })).await;
        assert_eq!(shown, json!({ "title": "Order 7 of Ben", "body": "Soon.", "link": "/orders/7", "flaws": [] }));

        let send = "mutation($c: NotificationContentInput!) { sendMessage(input: { type: \"order\", receiver: \"ada\", sender: \"ben\", content: $c }) \
            { notification { title shown { title body link } } } }";
        let answer = app.service().ask(send, json!({ "c": content })).await;
        let texts = json!({ "title": "Order 7 of Ben", "body": "Soon.", "link": "/orders/7" });
        assert_eq!(answer["sendMessage"]["notification"], json!({ "title": "own", "shown": texts }));
        let list = app.service().ask("{ sentNotifications { nodes { shown { title body link } } } }", json!({})).await;
        assert_eq!(list["sentNotifications"]["nodes"], json!([{ "shown": texts }]));
        let item = app.user("ada").ask("{ viewer { inbox { nodes { title body link } } } }", json!({})).await;
        assert_eq!(item["viewer"]["inbox"]["nodes"], json!([texts]));
    }

    async fn a_preview_is_for_a_reader(app) {
        let template = json!({ "title": "{{ params.n|plural(one='# file', other='# files') }} {{ params.at|date('time') }}" });
        let of = |locale: Value, zone: Value| json!({ "template": template, "locale": locale, "timeZone": zone,
            "content": { "params": { "n": 1000, "at": "2024-05-01T22:30:00Z" } } });
        for (locale, zone, title) in [
            (json!("de"), json!("Europe/Berlin"), "1.000 files 00:30"),
            (json!("zh-TW"), Value::Null, "1,000 files 晚上10:30"),
            (Value::Null, Value::Null, "1,000 files 10:30\u{202f}PM"),
        ] {
            assert_eq!(preview(app, of(locale, zone)).await["title"], json!(title));
        }
        for (locale, zone, field) in [(json!("de_DE"), Value::Null, "input.locale"), (Value::Null, json!("Berlin"), "input.timeZone")] {
            let refusal = app.service().refused(PREVIEW, json!({ "input": of(locale, zone) })).await;
            assert!(refusal.contains(field), "{refusal}");
        }
        let flawed = json!({ "template": { "title": "{{ 1|plural(ones='x') }}" }, "content": {} });
        let flaw = preview(app, flawed).await["flaws"][0].take();
        assert!(flaw["field"] == "title" && flaw["message"].as_str().unwrap().contains("\"ones\""), "{flaw}");
        let save = "mutation($t: MessageTemplateInput!) { saveMessageType(input: { code: \"x\", title: \"X\", template: $t }) { code } }";
        let refusal = app.admin().refused(save, json!({ "t": { "title": "x", "body": "{{ 1|plural(one='x') }}" } })).await;
        assert!(refusal.contains("body") && refusal.contains("\"other\""), "{refusal}");
    }

    async fn a_template_that_is_being_written_is_tried_and_nothing_is_saved(app) {
        define(app).await;
        let template = json!({ "title": "{{ action }} on {{ target.type }} {{ target.id }}", "body": "one\n{% if params.late %}late" });
        let input = json!({ "template": template, "content": { "body": "own" }, "sender": "nobody yet", "action": "comment",
            "target": { "type": "doc", "externalId": "9" } });
        let shown = preview(app, input).await;
        assert_eq!((&shown["title"], &shown["body"]), (&json!("comment on doc 9"), &json!("own")));
        let flaw = &shown["flaws"][0];
        assert_eq!((&flaw["field"], &flaw["line"], shown["flaws"].as_array().unwrap().len()), (&json!("body"), &json!(2), 1));
        assert!(flaw["message"].as_str().unwrap().contains("syntax error"), "{flaw}");

        // A missing value is a flaw of this rendering.
        let shown = preview(app, json!({ "type": "order", "content": { "params": {} }, "sender": "ben" })).await;
        assert_eq!((&shown["title"], &shown["flaws"][0]["field"]), (&json!("Orders"), &json!("title")));
        let too_long = json!({ "title": "x".repeat(16 * 1024 + 1) });
        let shown = preview(app, json!({ "template": too_long, "content": { "title": "own" } })).await;
        assert_eq!((&shown["title"], &shown["flaws"][0]["field"]), (&json!("own"), &json!("title")));
        // An invalid link is shown as null.
        let shown = preview(app, json!({ "content": { "title": "x", "link": "javascript:alert(1)" } })).await;
        assert_eq!(shown["link"], Value::Null);

        let unknown = app.service().send(PREVIEW, json!({ "input": { "type": "nothing", "content": { "title": "x" } } })).await.1;
        let extensions = &unknown["errors"][0]["extensions"];
        assert_eq!((&extensions["code"], &extensions["field"]), (&json!("BAD_USER_INPUT"), &json!("input.type")));
        let counted = app.service().ask("{ sentNotifications { nodes { id } } searchUsers(text: \"nobody\") { id } }", json!({})).await;
        assert_eq!(counted, json!({ "sentNotifications": { "nodes": [] }, "searchUsers": [] }));
    }

    async fn defaults_are_read_as_they_were_saved(app) {
        define(app).await;
        let save = "mutation { saveDefaultPreferences(types: [{ code: \"order\", enabled: false }], actions: [{ code: \"like\", enabled: false }]) \
            { types { code enabled source } actions { code enabled source } channels { type } } }";
        let saved = app.admin().ask(save, json!({})).await;
        let read = "{ defaultPreferences { types { code enabled source } actions { code enabled source } channels { type } } }";
        let read = app.service().ask(read, json!({})).await;
        assert_eq!(read["defaultPreferences"], saved["saveDefaultPreferences"]);
        assert_eq!(read["defaultPreferences"]["types"][0]["enabled"], json!(false));
    }
}

/// The four ways to send something, and the path of its content.
const SENDS: [(&str, &str); 4] = [
    (
        "mutation($in: NotificationContentInput!, $strict: Boolean!, $key: String) { sendAnnouncement(input: { type: \"order\", sender: \"ben\", \
      audience: { users: [\"ada\"] }, content: $in, strict: $strict, idempotencyKey: $key }) { replayed } }",
        "input.content",
    ),
    (
        "mutation($in: NotificationContentInput!, $strict: Boolean!, $key: String) { sendReminder(input: { type: \"order\", sender: \"ben\", \
      target: { type: \"doc\", externalId: \"7\" }, action: \"like\", content: $in, strict: $strict, idempotencyKey: $key }) { replayed } }",
        "input.content",
    ),
    (
        "mutation($in: NotificationContentInput!, $strict: Boolean!, $key: String) { sendMessage(input: { type: \"order\", sender: \"ben\", \
      receiver: \"ada\", content: $in, strict: $strict, idempotencyKey: $key }) { replayed } }",
        "input.content",
    ),
    (
        "mutation($in: NotificationContentInput!, $strict: Boolean!, $key: String) { sendNotifications(inputs: [ \
      { message: { type: \"order\", sender: \"ben\", receiver: \"ada\", content: { params: { number: 1 } } } }, \
      { message: { type: \"order\", sender: \"ben\", receiver: \"ada\", content: $in, strict: $strict, idempotencyKey: $key } }]) { replayed } }",
        "inputs[1].message.content",
    ),
];

on_every_database! {
    async fn a_strict_send_is_refused_exactly_while_its_preview_shows_flaws(app) {
        define(app).await;
        let service = app.service();
        app.user("ada").subscribe("7", &["like"]).await;
        let flawed = json!({ "title": "own", "params": {} });
        let shown = preview(app, json!({ "type": "order", "content": flawed, "sender": "ben" })).await;
        let flaws: Vec<String> = shown["flaws"].as_array().unwrap().iter()
            .map(|of| format!("{}: {}", of["field"].as_str().unwrap(), of["message"].as_str().unwrap())).collect();
        assert_eq!(flaws.len(), 2, "{shown}");
        let what = format!("makes the template of \"order\" fail: {}: fix it, or send without strict", flaws.join("; "));
        let before = app.user("ada").titles(json!({})).await;
        for (send, at) in SENDS {
            let why = service.refused(send, json!({ "in": flawed, "strict": true })).await;
            assert_eq!(why, format!("BAD_USER_INPUT {at}: {what}"));
        }
        // Nothing was sent, not even the rest of the batch.
        assert_eq!(app.user("ada").titles(json!({})).await, before);
        for (place, (send, _)) in SENDS.into_iter().enumerate() {
            service.ask(send, json!({ "in": { "params": { "number": 7 } }, "strict": true })).await;
            // Without `strict`, readers see the sender's own text.
            let key = format!("key-{place}");
            service.ask(send, json!({ "in": flawed, "strict": false, "key": key })).await;
            // A retry is a replay regardless of `strict`.
            let answer = service.ask(send, json!({ "in": flawed, "strict": true, "key": key })).await;
            assert!(answer.to_string().contains("\"replayed\":true"), "{answer}");
        }
        let titles = app.user("ada").titles(json!({})).await;
        let many = |title: &str| titles.iter().filter(|of| *of == title).count();
        assert_eq!((many("Order 7 of Ben"), many("own")), (4, 4), "{titles:?}");
    }

    async fn a_strict_send_goes_by_the_template_of_now_and_makes_nobody_where_it_is_refused(app) {
        define(app).await;
        let service = app.service();
        let send = "mutation($params: JSON) { sendMessage(input: { type: \"order\", receiver: \"new\", sender: \"newer\", \
            content: { params: $params }, strict: true }) { replayed } }";
        let why = service.refused(send, json!({ "params": {} })).await;
        assert!(why.starts_with("BAD_USER_INPUT input.content: makes the template of \"order\" fail: title: "), "{why}");
        let made = service.ask("{ searchUsers(text: \"new\") { id } }", json!({})).await;
        assert_eq!(made, json!({ "searchUsers": [] }));

        let mend = "mutation { saveMessageType(input: { code: \"order\", title: \"Orders\", template: { title: \"An order\" } }) { code } }";
        app.admin().ask(mend, json!({})).await;
        service.ask(send, json!({ "params": {} })).await;
        let spoil = mend.replace("An order", "{{ params.nothing }}");
        app.beside().await.admin().ask(&spoil, json!({})).await;
        let why = service.refused(send, json!({ "params": {} })).await;
        assert!(why.contains("fail: title: "), "{why}");
        // The one that was sent now falls back to the title of its type.
        assert_eq!(app.user("new").titles(json!({})).await, ["Orders"]);
        // A type without a template has no flaws.
        app.admin().define_type("plain").await;
        let plain = "mutation { sendMessage(input: { type: \"plain\", receiver: \"ada\", content: { title: \"x\" }, strict: true }) { replayed } }";
        service.ask(plain, json!({})).await;
    }
}
