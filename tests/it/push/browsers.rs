//! Which browsers of a user receive push messages.

use auth::CallerRole;
use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use super::service::Service;
use super::{SAVE, define, delete, key, save, turn_on, turn_on_with};
use crate::support::{everyone, on_every_database};
use crate::webhook::{number, settle};

const CONTACTS: &str = "SELECT COUNT(*) AS many FROM contact";

on_every_database! {
    async fn a_browser_is_its_last_users_alone(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        let shared = service.browser("shared");
        assert_eq!(save(&app.user("ada"), &shared).await, 1);
        assert_eq!(save(&app.user("ada"), &shared).await, 1, "as often as one likes");
        app.admin().announce("news", json!({ "users": ["ada"] }), "for ada").await;
        assert_eq!(save(&app.user("ben"), &shared).await, 1);
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!(service.reached(), Vec::<String>::new(), "ada's is not shown to ben");
        app.admin().announce("news", json!({ "users": ["ben"] }), "for ben").await;
        settle(app, &workers).await;
        let got = service.take();
        assert_eq!((got.len(), shared.read(&got[0])["title"].take()), (1, json!("for ben")));
        assert_eq!(delete(&app.user("ada"), &shared).await, 0, "it is not hers");
        assert_eq!(number(app, CONTACTS).await, 1);
        assert_eq!(delete(&app.user("ben"), &shared).await, 0);
        assert_eq!(delete(&app.user("ben"), &shared).await, 0);
        assert_eq!(number(app, CONTACTS).await, 0);
        app.admin().announce("news", everyone(), "for nobody").await;
        settle(app, &workers).await;
        assert_eq!(service.reached(), Vec::<String>::new());
    }

    async fn a_browser_with_other_keys_is_the_same(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        let [before, after] = [service.browser("desk"), service.browser("desk")];
        save(&app.user("ada"), &before).await;
        assert_eq!(save(&app.user("ada"), &after).await, 1);
        app.admin().announce("news", everyone(), "1").await;
        settle(app, &DeliveryWorkers::default()).await;
        let got = service.take();
        assert_eq!((got.len(), after.read(&got[0])["title"].take()), (1, json!("1")));
    }

    async fn with_an_eleventh_browser_the_oldest_goes(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        for number in 0..11 {
            let browser = service.browser(&format!("{number:02}"));
            let by = app.service();
            let made = by.ask(SAVE, json!({ "of": browser.subscription(), "user": "ada" })).await;
            assert_eq!(made["savePushSubscription"]["pushSubscriptionCount"], Ord::min(number + 1, 10));
        }
        app.admin().announce("news", everyone(), "1").await;
        settle(app, &DeliveryWorkers::default()).await;
        let expected: Vec<String> = (1..11).map(|number| format!("{number:02}")).collect();
        assert_eq!(service.reached(), expected);
    }

    async fn keys_are_read_in_either_alphabet_and_with_or_without_padding(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        let browser = service.browser("any");
        let url_safe = browser.subscription();
        for is_plain in [true, false] {
            for is_padded in [true, false] {
                let mut of = url_safe.clone();
                for key in of["keys"].as_object_mut().unwrap().values_mut() {
                    let mut text = key.as_str().unwrap().to_owned();
                    if is_plain {
                        text = text.replace('-', "+").replace('_', "/");
                    }
                    while is_padded && text.len() % 4 != 0 {
                        text.push('=');
                    }
                    *key = json!(text);
                }
                let saved = app.user("ada").ask(SAVE, json!({ "of": of })).await;
                assert_eq!(saved["savePushSubscription"]["pushSubscriptionCount"], 1, "{of}");
            }
        }
        app.admin().announce("news", everyone(), "read").await;
        settle(app, &DeliveryWorkers::default()).await;
        let got = service.take();
        assert_eq!((got.len(), browser.read(&got[0])["title"].take()), (1, json!("read")));
    }

    async fn a_contact_that_apple_refuses_is_saved_with_a_warning(app) {
        let save = "mutation($input: WebPushInput!) { saveWebPush(input: $input) { contact warnings } }";
        for (contact, is_warned) in [
            ("mailto:ops@localhost", true),
            ("https://localhost/contact", true),
            ("https://push.localhost:8443", true),
            ("https://127.0.0.1/", true),
            ("https://[::1]/", true),
            ("https://intranet/contact", true),
            ("mailto:ops@printer.local", true),
            ("mailto:ops@shop.example", false),
            ("https://shop.example/contact", false),
            ("https://localhost.shop.example", false),
        ] {
            let saved = app.admin().ask(save, json!({ "input": { "contact": contact } })).await["saveWebPush"].take();
            assert_eq!(saved["contact"], contact);
            let warnings = saved["warnings"].as_array().unwrap();
            assert_eq!(warnings.len(), usize::from(is_warned), "{contact}: {warnings:?}");
            assert!(warnings.iter().all(|warning| warning.as_str().unwrap().contains("Apple")), "{warnings:?}");
            let read = app.admin().ask("{ webPush { warnings } }", json!({})).await;
            assert_eq!(read["webPush"]["warnings"], saved["warnings"]);
        }
    }

    async fn what_is_no_subscription_is_named_and_changes_nothing(app) {
        let service = Service::start().await;
        let ada = app.user("ada");
        let good = service.browser("ada").subscription();
        let refused = ada.refused(SAVE, json!({ "of": good })).await;
        assert!(refused.starts_with("CONFLICT") && refused.contains("saveWebPush"), "{refused}");
        assert!(key(&ada).await.is_null());
        turn_on(app).await;
        let with = |path: &str, value: Value| {
            let mut of = good.clone();
            *of.pointer_mut(path).unwrap() = value;
            of
        };
        let long = format!("https://push.example/{}", "a".repeat(2048));
        let compressed = "A".repeat(44);
        for (of, field) in [
            (json!("text"), "endpoint"),
            (json!({ "endpoint": good["endpoint"] }), "keys.p256dh"),
            (with("/endpoint", json!(null)), "endpoint"),
            (with("/endpoint", json!("ftp://push.example/1")), "endpoint"),
            (with("/endpoint", json!("http://push.example/1")), "endpoint"),
            (with("/endpoint", json!("javascript:alert(1)")), "endpoint"),
            (with("/endpoint", json!("https://ada:secret@push.example/1")), "endpoint"),
            (with("/endpoint", json!("https://169.254.169.254/latest")), "endpoint"),
            (with("/endpoint", json!("https://[::ffff:10.0.0.1]/")), "endpoint"),
            (with("/endpoint", json!("https://192.168.0.1/")), "endpoint"),
            (with("/endpoint", json!(long)), "endpoint"),
            (with("/keys/p256dh", json!(compressed)), "keys.p256dh"),
            (with("/keys/p256dh", json!("A".repeat(87))), "keys.p256dh"),
            (with("/keys/p256dh", good["keys"]["auth"].clone()), "keys.p256dh"),
            (with("/keys/auth", good["keys"]["p256dh"].clone()), "keys.auth"),
            (with("/keys/auth", json!("no base64!")), "keys.auth"),
        ] {
            let refused = ada.refused(SAVE, json!({ "of": of })).await;
            assert!(refused.starts_with(&format!("BAD_USER_INPUT subscription.{field}:")), "{refused} {of}");
        }
        let refused = ada.refused(SAVE, json!({ "of": good, "user": "ben" })).await;
        assert!(refused.starts_with("NOT_FOUND user:"), "{refused}");
        assert_eq!(number(app, CONTACTS).await, 0);
    }

    async fn what_web_push_is_not_is_named(app) {
        let save = "mutation($input: WebPushInput!) { saveWebPush(input: $input) { id } }";
        for (input, field) in [
            (json!({ "contact": "ops@shop.example" }), "contact"),
            (json!({ "contact": "mailto:nobody" }), "contact"),
            (json!({ "contact": "http://shop.example" }), "contact"),
            (json!({ "contact": "https://" }), "contact"),
            (json!({ "contact": format!("https://shop.example/{}", "a".repeat(256)) }), "contact"),
            (json!({ "contact": "mailto:ops@shop.example", "linkBase": "/app" }), "linkBase"),
            (json!({ "contact": "mailto:ops@shop.example", "alarm": { "type": "none", "group": "none" } }), "alarm"),
        ] {
            let refused = app.admin().refused(save, json!({ "input": input })).await;
            assert!(refused.contains(&format!(" input.{field}")), "{refused} {input}");
        }
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM lane").await, 0);
        for query in ["{ webPush { id } }", "mutation { renewWebPushKey { id } }", "mutation { deleteWebPush { deletedId } }"] {
            let refused = app.service().refused(query, json!({})).await;
            assert!(refused.starts_with("FORBIDDEN"), "{refused}");
        }
        let refused = app.admin().refused("mutation { renewWebPushKey { id } }", json!({})).await;
        assert!(refused.starts_with("NOT_FOUND"), "{refused}");
    }

    async fn keys_stay_until_they_are_renewed_which_ends_all_subscriptions(app) {
        let service = Service::start().await;
        let first = turn_on(app).await;
        let again = turn_on_with(app, json!({ "contact": "https://shop.example/contact" })).await;
        assert_eq!((&again["key"], &again["contact"], &again["linkBase"]), (&json!(first), &json!("https://shop.example/contact"), &json!(null)));
        for actor in [app.user("ada"), app.service(), app.admin()] {
            assert_eq!(key(&actor).await, json!(first));
        }
        define(app, "news").await;
        let browser = service.browser("ada");
        save(&app.user("ada"), &browser).await;
        let renewed = app.admin().ask("mutation { renewWebPushKey { key } }", json!({})).await["renewWebPushKey"]["key"].take();
        assert_ne!(renewed, json!(first));
        assert_eq!((key(&app.user("ada")).await, number(app, CONTACTS).await), (renewed.clone(), 0));
        save(&app.user("ada"), &browser).await;
        app.admin().announce("news", everyone(), "1").await;
        settle(app, &DeliveryWorkers::default()).await;
        let got = service.take();
        assert_eq!(got[0].claims(renewed.as_str().unwrap())["sub"], "https://shop.example/contact");
        let texts = number(app, "SELECT COUNT(*) AS many FROM lane WHERE secret LIKE '%PRIVATE%' OR length(secret) < 100").await;
        assert_eq!(texts, 0, "the private key is sealed");
    }

    async fn browsers_are_their_users_and_go_with_them(app) {
        let service = Service::start().await;
        turn_on(app).await;
        let browser = service.browser("ada");
        save(&app.user("ada"), &browser).await;
        save(&app.user("ben"), &service.browser("ben")).await;
        let address = "mutation($email: String!) { saveUserProfiles(inputs: [{ id: \"ada\", contacts: [{ email: $email }] }]) { id } }";
        for email in ["ada@users.example", "ada@other.example"] {
            app.service().ask(address, json!({ "email": email })).await;
        }
        let own = app.user("ada").ask("{ viewer { contacts { address } } }", json!({})).await;
        assert_eq!(own["viewer"]["contacts"], json!([{ "address": "ada@other.example" }]));
        let export = app.service().ask("{ exportUser(id: \"ada\") }", json!({})).await["exportUser"].take();
        assert_eq!(export["contacts"], json!([{ "email": "ada@other.example" }]), "{export}");
        assert_eq!(export["pushSubscriptions"][0]["endpoint"], browser.endpoint, "{export}");
        let secret = browser.subscription()["keys"]["auth"].as_str().unwrap().to_owned();
        assert!(!export.to_string().contains(&secret));
        assert_eq!(number(app, CONTACTS).await, 3);
        app.service().ask("mutation { eraseUser(id: \"ada\") { __typename } }", json!({})).await;
        assert_eq!(number(app, CONTACTS).await, 1);
    }

    async fn tenants_share_neither_keys_nor_browsers(app) {
        let service = Service::start().await;
        let own = turn_on(app).await;
        let other = app.stranger("operator", CallerRole::Admin);
        assert!(key(&other).await.is_null());
        let on = "mutation { saveWebPush(input: { contact: \"mailto:a@b.example\" }) { key } }";
        let theirs = other.ask(on, json!({})).await["saveWebPush"]["key"].take();
        assert_ne!(theirs, json!(own));
        for by in [app.admin(), app.stranger("operator", CallerRole::Admin)] {
            by.define(json!({ "code": "news", "title": "News", "delivery": [{ "channel": "WEB_PUSH", "delaySeconds": 0 }] })).await;
        }
        let browser = service.browser("both");
        save(&app.user("ada"), &browser).await;
        save(&app.stranger("ada", CallerRole::User), &browser).await;
        assert_eq!(number(app, CONTACTS).await, 2, "they are two, of two servers' pages");
        other.announce("news", everyone(), "theirs").await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        let got = service.take();
        assert_eq!((got.len(), browser.read(&got[0])["title"].take()), (1, json!("theirs")));
        assert_eq!(got[0].claims(theirs.as_str().unwrap())["sub"], "mailto:a@b.example");
        delete(&app.stranger("ada", CallerRole::User), &browser).await;
        app.admin().announce("news", everyone(), "own").await;
        settle(app, &workers).await;
        let got = service.take();
        assert_eq!((got.len(), got[0].claims(&own)["sub"].take()), (1, json!("mailto:ops@shop.example")));
    }
}
