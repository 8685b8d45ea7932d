//! Templates that write for the reader: each user sees the same notification in their own language and time zone,
//! everywhere, and the whole history anew after a change of it.

use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use crate::mail::inbox::save_relay;
use crate::support::relay::{Got, Relay};
use crate::support::{ITEMS, OVERVIEWS, Socket, TestApp, everyone, on_every_database};
use crate::webhook::{number, settle};

const COMMENTS: &str = "{{ params.n|plural(one='# comment', few='# комментария', other='# comments') }}";
const AMOUNT: &str = "{{ params.n|number }} on {{ params.at|date('short') }} {{ params.at|date('time') }} ({{ locale }}, {{ time_zone }})";

async fn define(app: &TestApp) {
    app.admin()
        .define(json!({ "code": "plain", "title": "Plain", "template": { "title": "{{ params.n }} plain" } }))
        .await;
    let comments = json!({ "title": COMMENTS, "body": AMOUNT });
    app.admin().define(json!({ "code": "comments", "title": "Comments", "template": comments })).await;
}

async fn announce(app: &TestApp, of_type: &str, n: i64) {
    let send = "mutation($i: SendAnnouncementInput!) { sendAnnouncement(input: $i) { notification { id } } }";
    let content = json!({ "title": "own", "params": { "n": n, "at": "2024-05-01T22:30:00Z" } });
    app.service().ask(send, json!({ "i": { "type": of_type, "audience": everyone(), "content": content } })).await;
}

async fn save(app: &TestApp, user: &str, locale: Option<&str>, time_zone: Option<&str>) {
    let query = "mutation($i: [UserProfileInput!]!) { saveUserProfiles(inputs: $i) { id } }";
    app.service().ask(query, json!({ "i": [{ "id": user, "locale": locale, "timeZone": time_zone }] })).await;
}

/// The title and body of the newest item in the list, which the overview shows as well.
async fn newest(app: &TestApp, user: &str) -> (String, String) {
    let query = "{ viewer { inbox(first: 1) { nodes { title body type { code } } } overview { etag types { type { code } latest { title body } } } } }";
    let viewer = app.user(user).ask(query, json!({})).await["viewer"].take();
    let item = &viewer["inbox"]["nodes"][0];
    let types = viewer["overview"]["types"].as_array().unwrap();
    let latest = &types.iter().find(|of| of["type"]["code"] == item["type"]["code"]).unwrap()["latest"];
    assert_eq!((&item["title"], &item["body"]), (&latest["title"], &latest["body"]));
    (item["title"].as_str().unwrap().to_owned(), item["body"].as_str().unwrap_or_default().to_owned())
}

async fn etag(app: &TestApp, user: &str) -> Value {
    app.user(user).ask("{ viewer { overview { etag } } }", json!({})).await["viewer"]["overview"]["etag"].take()
}

on_every_database! {
    async fn everyone_reads_their_own_language(app) {
        define(app).await;
        save(app, "ada", Some("de"), Some("Europe/Berlin")).await;
        save(app, "bob", Some("ru"), Some("Asia/Tokyo")).await;
        announce(app, "comments", 1234).await;
        let german = ("1.234 comments".to_owned(), "1.234 on 02.05.24 00:30 (de, Europe/Berlin)".to_owned());
        let russian = ("1\u{a0}234 комментария".to_owned(), "1\u{a0}234 on 02.05.2024 07:30 (ru, Asia/Tokyo)".to_owned());
        let unknown = ("1,234 comments".to_owned(), "1,234 on 5/1/24 10:30\u{202f}PM (en, UTC)".to_owned());
        // Twice: read, and from the caches.
        for _ in 0..2 {
            assert_eq!(newest(app, "ada").await, german);
            assert_eq!(newest(app, "bob").await, russian);
            assert_eq!(newest(app, "cyd").await, unknown);
        }

        // Whoever changes their language or time zone sees the whole history changed.
        let before = etag(app, "ada").await;
        save(app, "ada", Some("ru"), Some("Asia/Tokyo")).await;
        assert_eq!(newest(app, "ada").await, russian);
        assert_ne!(etag(app, "ada").await, before);
        save(app, "ada", Some("de"), Some("Europe/Berlin")).await;
        assert_eq!((newest(app, "ada").await, etag(app, "ada").await), (german, before.clone()));
        let hours = "mutation { updateDeliveryHours(input: { timeZone: \"UTC\" }) { viewer { timeZone } } }";
        app.user("ada").ask(hours, json!({})).await;
        assert_eq!(newest(app, "ada").await.1, "1.234 on 01.05.24 22:30 (de, UTC)");
        // Nothing changes: what is cached stays valid.
        let version = "SELECT version AS many FROM users WHERE external_id = 'ada'";
        let saved = number(app, version).await;
        save(app, "ada", Some("de"), Some("UTC")).await;
        assert_eq!(number(app, version).await, saved);

        // By the item's id, and as staff see it.
        let list = app.user("bob").ask("{ viewer { inbox { nodes { id } } } }", json!({})).await;
        let id = &list["viewer"]["inbox"]["nodes"][0]["id"];
        let node = app.user("bob").ask("query($id: ID!) { node(id: $id) { ... on InboxItem { title } } }", json!({ "id": id })).await;
        assert_eq!(node["node"]["title"], json!(russian.0));
        let sent = app.service().ask("{ sentNotifications { nodes { shown { title } } } }", json!({})).await;
        assert_eq!(sent["sentNotifications"]["nodes"][0]["shown"]["title"], json!(unknown.0));
    }

    async fn live_events_speak_the_language_of_their_session(app) {
        define(app).await;
        let node = app.listen().await;
        for (user, locale) in [("ada", "de"), ("bob", "en"), ("cyd", "de"), ("dan", "en")] {
            save(app, user, Some(locale), None).await;
        }
        let german = ("2.000 comments", ["ada", "cyd"]);
        let english = ("2,000 comments", ["bob", "dan"]);
        let mut sessions = Vec::new();
        for (title, users) in [german, english] {
            for user in users {
                let token = &app.user(user).token;
                let items = Socket::subscribed(&node.address, token, ITEMS, json!({})).await;
                let mut overviews = Socket::subscribed(&node.address, token, OVERVIEWS, json!({})).await;
                overviews.until_unread(0).await;
                sessions.push((user, title, items, overviews));
            }
        }
        announce(app, "plain", 7).await;
        announce(app, "comments", 2000).await;
        for (user, title, items, overviews) in &mut sessions {
            assert_eq!([items.title().await, items.title().await], ["7 plain".to_owned(), (*title).to_owned()], "{user}");
            let overview = overviews.until_unread(2).await;
            let types = overview["types"].as_array().unwrap();
            assert!(types.iter().any(|of| of["latest"]["title"] == json!(title)), "{user}: {overview}");
        }
        // A change of the language is an event.
        let (_, _, _, overviews) = &mut sessions[0];
        save(app, "ada", Some("ru"), None).await;
        loop {
            let overview = overviews.data().await["overviewChanged"]["overview"].take();
            let types = overview["types"].as_array().unwrap();
            if types.iter().any(|of| of["latest"]["title"] == json!("2\u{a0}000 comments")) {
                break;
            }
        }
        node.stop().await;
    }

    async fn letters_are_written_for_their_recipient(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        let delivery = json!([{ "channel": "EMAIL", "delaySeconds": 0, "letter": { "subject": COMMENTS, "text": AMOUNT } }]);
        app.admin().define(json!({ "code": "news", "title": "News", "delivery": delivery })).await;
        for (user, locale, zone) in [("ada", "de", "Europe/Berlin"), ("bob", "en", "UTC")] {
            let query = "mutation($i: [UserProfileInput!]!) { saveUserProfiles(inputs: $i) { id } }";
            let profile = json!({ "id": user, "locale": locale, "timeZone": zone, "contacts": [{ "email": format!("{user}@users.example") }] });
            app.service().ask(query, json!({ "i": [profile] })).await;
        }
        announce(app, "news", 1234).await;
        settle(app, &DeliveryWorkers::default()).await;
        let read = |got: &Got| {
            let raw = got.raw.replace("=\r\n", "");
            (got.header("subject").unwrap(), raw.contains("on 02.05.24 00:30 (de, Europe/Berlin)"))
        };
        let mut got: Vec<(String, bool)> = relay.got().iter().map(read).collect();
        got.sort();
        assert_eq!(got, [("1,234 comments".to_owned(), false), ("1.234 comments".to_owned(), true)]);
    }
}
