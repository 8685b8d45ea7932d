//! Email preferences of users: switches per type and channel, and the link in each email.

use auth::CallerRole;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use chrono::TimeDelta;
use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::inbox::{address, define, letters, save_relay};
use crate::support::relay::{Asks, Relay, Reply};
use crate::support::{Actor, Kind, Process, SECRET, TestApp, everyone, on_every_database, with_settings};
use crate::webhook::{number, settle};

/// The server's base URL in emails.
const BASE: &str = "https://inbox.example.com";

/// The form that mail programs and the page's button send.
const ONE_CLICK: &str = "List-Unsubscribe=One-Click";

/// The same form as some programs send it (RFC 7578).
const MULTIPART: &str =
    "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n";

const CHANNELS: &str = "channels { type channel enabled source }";

/// Sets switches, and returns those of channels.
async fn prefer(of: &Actor<'_>, switches: Value) -> Value {
    of.ask(&update(), switches).await["updatePreferences"]["preferences"]["channels"].take()
}

fn update() -> String {
    format!(
        "mutation($types: [NotificationPreferenceInput!], $channels: [ChannelPreferenceInput!], \
         $resetChannels: [ChannelPreferenceKeyInput!], $user: ID) {{ updatePreferences(types: $types, channels: $channels, \
         resetChannels: $resetChannels, user: $user) {{ preferences {{ {CHANNELS} }} }} }}"
    )
}

/// Like [`prefer`], for the tenant's defaults.
async fn prefer_by_default(app: &TestApp, switches: Value) -> Value {
    let save = format!(
        "mutation($channels: [ChannelPreferenceInput!], $resetChannels: [ChannelPreferenceKeyInput!]) {{ \
         saveDefaultPreferences(channels: $channels, resetChannels: $resetChannels) {{ {CHANNELS} }} }}"
    );
    app.admin().ask(&save, switches).await["saveDefaultPreferences"]["channels"].take()
}

fn mail(of_type: &str, enabled: bool) -> Value {
    json!({ "channels": [{ "type": of_type, "channel": "EMAIL", "enabled": enabled }] })
}

fn back(of_type: &str) -> Value {
    json!({ "resetChannels": [{ "type": of_type, "channel": "EMAIL" }] })
}

fn shown(of_type: &str, enabled: bool, source: &str) -> Value {
    json!([{ "type": of_type, "channel": "EMAIL", "enabled": enabled, "source": source }])
}

async fn http(app: &TestApp, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    let answer = app.routes.clone().oneshot(request).await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (status, headers, String::from_utf8(body.to_vec()).unwrap())
}

/// Opens a link as a browser with this language does.
async fn open(app: &TestApp, path: &str, language: &str) -> (StatusCode, HeaderMap, String) {
    http(app, Request::get(path).header("accept-language", language).body(Body::empty()).unwrap()).await
}

/// Submits a form to a path.
async fn send(app: &TestApp, path: &str, form: &str) -> (StatusCode, String) {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    let (status, _, page) = http(app, request.body(Body::from(form.to_owned())).unwrap()).await;
    (status, page)
}

/// Sends an email of a type to a user at once, and returns the path of its link.
async fn link(app: &TestApp, relay: &Relay, of_type: &str, user: &str) -> String {
    app.service().message(of_type, user, "a letter").await;
    settle(app, &DeliveryWorkers::default()).await;
    let got = relay.got().pop().unwrap();
    assert_eq!(got.to, format!("{user}@users.example"));
    let header = got.header("list-unsubscribe").unwrap();
    assert_eq!(got.header("list-unsubscribe-post").unwrap(), ONE_CLICK);
    let url = header.strip_prefix('<').and_then(|url| url.strip_suffix('>')).unwrap();
    url.strip_prefix(BASE).unwrap().to_owned()
}

on_every_database! {
    async fn a_type_goes_out_only_by_the_channels_on_which_it_is_wanted(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 0).await;
        app.admin().define_type("quiet").await;
        address(app, &["ada", "ben", "cleo"]).await;
        let all = "{ viewer { preferences { channels { type channel enabled source } } } }";
        let of_ada = async || app.user("ada").ask(all, json!({})).await["viewer"]["preferences"]["channels"].take();
        assert_eq!(of_ada().await, shown("news", true, "DEFAULT"), "only where there is a rule");
        assert_eq!(prefer(&app.user("ada"), mail("news", false)).await, shown("news", false, "USER"));
        let workers = DeliveryWorkers::default();
        let announce = async |title: &str| {
            app.admin().announce("news", everyone(), title).await;
            settle(app, &workers).await;
        };
        announce("1").await;
        assert_eq!(letters(&relay), ["ben: 1", "cleo: 1"]);
        assert_eq!(app.user("ada").titles(json!({})).await, ["1"], "what goes out is not what comes in");
        assert_eq!(prefer_by_default(app, mail("news", false)).await, shown("news", false, "DEFAULT"));
        assert_eq!(prefer(&app.user("ben"), mail("news", true)).await, shown("news", true, "USER"));
        announce("2").await;
        assert_eq!(letters(&relay)[2..], ["cleo: 1"], "one's own counts before the default");
        assert!(letters(&relay).contains(&"ben: 2".to_owned()));
        let by_service = json!({ "user": "ada", "resetChannels": back("news")["resetChannels"] });
        assert_eq!(prefer(&app.service(), by_service).await, shown("news", false, "DEFAULT"));
        assert_eq!(prefer_by_default(app, back("news")).await, shown("news", true, "DEFAULT"));
        assert_eq!(of_ada().await, shown("news", true, "DEFAULT"));
        announce("3").await;
        let third: Vec<String> = letters(&relay).into_iter().filter(|of| of.ends_with(": 3")).collect();
        assert_eq!(third, ["ada: 3", "ben: 3", "cleo: 3"]);
        prefer(&app.user("ada"), json!({ "types": [{ "code": "news", "enabled": false }], "channels": mail("news", true)["channels"] })).await;
        announce("4").await;
        assert!(!letters(&relay).contains(&"ada: 4".to_owned()), "what does not come in does not go out");
        let set = prefer(&app.user("cleo"), mail("quiet", false)).await;
        assert_eq!(set[1], shown("quiet", false, "USER")[0], "what is set is shown without a rule as well");
    }

    async fn what_is_switched_off_before_it_goes_out_stays(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "ALWAYS", 5).await;
        address(app, &["ada", "ben", "cleo"]).await;
        app.admin().announce("news", everyone(), "1").await;
        prefer(&app.user("ada"), mail("news", false)).await;
        relay.on(Asks::Text, Reply::says("451 4.3.0 not now"));
        app.advance(TimeDelta::minutes(5));
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM delivery").await, 2, "off when it was due");
        prefer(&app.user("ben"), mail("news", false)).await;
        relay.be_kind();
        app.advance(TimeDelta::minutes(2));
        settle(app, &workers).await;
        assert_eq!(letters(&relay), ["cleo: 1"], "off when it was sent");
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM delivery").await, 1);
        for user in ["ada", "ben", "cleo"] {
            assert_eq!(app.user(user).titles(json!({})).await, ["1"]);
        }
    }

    async fn bad_switches_are_named_and_change_nothing(app) {
        define(app, "news", "IF_UNREAD", 0).await;
        let delivery = json!([{ "channel": "EMAIL" }]);
        app.admin().define(json!({ "code": "bill", "title": "Bills", "mandatory": true, "delivery": delivery })).await;
        let ada = app.user("ada");
        let one = |of_type: &str, enabled: bool| mail(of_type, enabled)["channels"][0].clone();
        let key = |of_type: &str| back(of_type)["resetChannels"][0].clone();
        let before = prefer(&ada, json!({})).await;
        for (switches, why) in [
            (json!({ "channels": [one("news", false), one("nope", false)] }), "BAD_USER_INPUT channels[1].type: names no message type: \"nope\"; create it with saveMessageType"),
            (json!({ "channels": [one("news", false)], "resetChannels": [key("bill"), key("nope")] }), "BAD_USER_INPUT resetChannels[1].type: names no message type: \"nope\"; create it with saveMessageType"),
            (json!({ "channels": [one("news", false)], "resetChannels": [key("news")] }), "BAD_USER_INPUT resetChannels[0]: names \"news\", which is also set"),
            (json!({ "channels": [one("news", false), one("bill", false)] }), "BAD_USER_INPUT channels[1].enabled: must be true, because the message type \"bill\" is mandatory"),
            (json!({ "channels": vec![one("news", false); 1001] }), "BAD_USER_INPUT channels: must have at most 1000 entries in one call, not 1001"),
        ] {
            assert_eq!(ada.refused(&update(), switches).await, why);
        }
        assert_eq!(prefer(&ada, json!({})).await, before);
        prefer_by_default(app, mail("bill", false)).await;
        assert_eq!(prefer(&ada, json!({})).await, json!([shown("bill", true, "DEFAULT")[0], shown("news", true, "DEFAULT")[0]]));
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        address(app, &["ada"]).await;
        app.service().message("bill", "ada", "a bill").await;
        app.advance(TimeDelta::minutes(5));
        settle(app, &DeliveryWorkers::default()).await;
        assert_eq!(letters(&relay), ["ada: a bill"], "of a mandatory type, whatever the default");
        let got = relay.got().pop().unwrap();
        assert_eq!((got.header("list-unsubscribe"), got.header("list-unsubscribe-post")), (None, None));
        assert!(!got.raw.contains("/unsubscribe/"));
    }

    async fn switches_of_channels_are_exported_and_go_with_their_type_and_user(app) {
        define(app, "news", "IF_UNREAD", 0).await;
        define(app, "bill", "IF_UNREAD", 0).await;
        for user in ["ada", "ben"] {
            prefer(&app.user(user), mail("news", false)).await;
            prefer(&app.user(user), mail("bill", false)).await;
        }
        prefer_by_default(app, mail("news", false)).await;
        let export = app.service().ask("{ exportUser(id: \"ada\") }", json!({})).await;
        let own = |of_type: &str| json!({ "type": of_type, "channel": "EMAIL", "enabled": false, "own": true });
        assert_eq!(export["exportUser"]["preferences"]["channels"], json!([own("bill"), own("news")]));
        app.admin().ask("mutation { deleteMessageType(code: \"news\") { deletedId } }", json!({})).await;
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM preference").await, 2);
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM default_preference").await, 0);
        app.service().ask("mutation { eraseUser(id: \"ada\") { erasedId } }", json!({})).await;
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM preference").await, 1);
    }

    async fn whoever_clicks_gets_no_more_letters_of_the_kind(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 0).await;
        define(app, "bill", "IF_UNREAD", 0).await;
        address(app, &["ada", "ben"]).await;
        let path = link(app, &relay, "news", "ada").await;
        assert!(relay.got()[0].raw.contains("No more emails of this kind"));
        let (status, headers, page) = open(app, &path, "fi, de-CH;q=0.9, en;q=0.8").await;
        assert_eq!(status, StatusCode::OK);
        assert!(page.contains("<html lang=\"de\" dir=\"ltr\">") && page.contains("Abbestellen") && page.contains(">news<"), "{page}");
        assert!(page.contains("<form method=\"post\">") && !page.contains("<script") && !page.contains("ada"), "{page}");
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'nonce-") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!((&headers["cache-control"], &headers["referrer-policy"]), (&"no-store".parse().unwrap(), &"no-referrer".parse().unwrap()));
        assert_eq!(prefer(&app.user("ada"), json!({})).await[1], shown("news", true, "DEFAULT")[0], "whoever follows links changes nothing");
        for form in ["", "List-Unsubscribe=", "a=b"] {
            assert_eq!(send(app, &path, form).await.0, StatusCode::BAD_REQUEST);
        }
        assert_eq!(send(app, &path, &"a".repeat(10_000)).await.0, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(prefer(&app.user("ada"), json!({})).await[1], shown("news", true, "DEFAULT")[0]);
        for form in [ONE_CLICK, MULTIPART, ONE_CLICK] {
            let (status, page) = send(app, &path, form).await;
            assert!(status == StatusCode::OK && page.contains("You will get no more emails of this kind.") && !page.contains("<form"), "{page}");
            assert_eq!(prefer(&app.user("ada"), json!({})).await, json!([shown("bill", true, "DEFAULT")[0], shown("news", false, "USER")[0]]));
        }
        let before = relay.got().len();
        for of_type in ["news", "bill"] {
            app.admin().announce(of_type, everyone(), of_type).await;
        }
        settle(app, &DeliveryWorkers::default()).await;
        let since: Vec<String> = letters(&relay).into_iter().filter(|of| !of.ends_with("a letter")).collect();
        assert_eq!((relay.got().len() - before, since), (3, vec!["ada: bill".into(), "ben: bill".into(), "ben: news".into()]));
        assert_eq!(app.user("ada").titles(json!({})).await, ["bill", "news", "a letter"], "the inbox is as it was");
        app.advance(TimeDelta::days(400));
        assert_eq!(send(app, &path, ONE_CLICK).await.0, StatusCode::OK, "a link does not expire");
    }

    async fn a_link_that_leads_to_nobody_says_no_more_than_that(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 0).await;
        address(app, &["ada", "ben"]).await;
        app.stranger("operator", CallerRole::Admin).define_type("news").await;
        app.stranger("ada", CallerRole::User).titles(json!({})).await;
        let path = link(app, &relay, "news", "ada").await;
        let of_ben = link(app, &relay, "news", "ben").await;
        let (head, id) = path.rsplit_once('/').unwrap();
        let item = app.user("ada").items(json!({})).await[0]["id"].as_str().unwrap().to_owned();
        let mut wrong = vec![
            format!("/unsubscribe/globex/{id}"),
            format!("/unsubscribe/nobody/{id}"),
            format!("/unsubscribe/%00/{id}"),
            format!("{head}/{item}"),
            format!("{head}/x"),
            format!("{head}/{}", "A".repeat(5_000)),
        ];
        for place in 0..id.len() {
            let other = if &id[place..=place] == "A" { "E" } else { "A" };
            wrong.push(format!("{head}/{}{other}{}", &id[..place], &id[place + 1..]));
        }
        app.service().ask("mutation { eraseUser(id: \"ben\") { erasedId } }", json!({})).await;
        wrong.push(of_ben);
        let mut pages = Vec::new();
        for path in &wrong {
            let (status, headers, page) = open(app, path, "en").await;
            assert!(status == StatusCode::NOT_FOUND && headers.contains_key("content-security-policy"), "{path}: {status}");
            let nonce = page.split("nonce=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
            pages.push(page.replace(&nonce, ""));
            assert_eq!(send(app, path, ONE_CLICK).await.0, StatusCode::NOT_FOUND, "{path}");
        }
        pages.dedup();
        assert!(pages.len() == 1 && pages[0].contains("This link is not valid."), "{pages:?}");
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM preference").await, 0);
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM tenant").await, 2, "nobody makes a tenant by asking for one");
        app.admin().define(json!({ "code": "news", "title": "News", "mandatory": true })).await;
        let (status, _, page) = open(app, &path, "pt-BR").await;
        assert!(status == StatusCode::OK && page.contains("não podem ser desativados") && !page.contains("<form"), "{page}");
        assert_eq!(send(app, &path, ONE_CLICK).await.0, StatusCode::CONFLICT);
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM preference").await, 0);
    }
}

#[tokio::test]
async fn the_link_speaks_the_language_of_the_letter() {
    with_settings(
        Kind::Sqlite,
        |_| {},
        async |app| {
            let relay = Relay::start().await;
            save_relay(app, &relay).await;
            define(app, "news", "IF_UNREAD", 0).await;
            let save = "mutation($input: [UserProfileInput!]!) { saveUserProfiles(inputs: $input) { id } }";
            let ada = json!({ "id": "ada", "locale": "it-CH", "contacts": [{ "email": "ada@users.example" }] });
            app.service().ask(save, json!({ "input": [ada] })).await;
            let path = link(app, &relay, "news", "ada").await;
            let raw = relay.got()[0].raw.replace("=\r\n", "");
            assert!(raw.contains("Non ricevere pi=C3=B9 e-mail di questo tipo"), "{raw}");
            assert_eq!(
                raw.matches(path.rsplit('/').next().unwrap()).count(),
                3,
                "in a header, the text and the page: {raw}"
            );
            for (language, html, button) in [
                ("ar-EG", "<html lang=\"ar\" dir=\"rtl\">", ">إلغاء الاشتراك<"),
                ("zh-TW, zh;q=0.9", "<html lang=\"zh-Hant\" dir=\"ltr\">", ">取消訂閱<"),
                ("en;q=0.5, zh-CN", "<html lang=\"zh-Hans\" dir=\"ltr\">", ">退订<"),
                ("ru", "<html lang=\"ru\" dir=\"ltr\">", ">Отписаться<"),
            ] {
                let (_, _, page) = open(app, &path, language).await;
                assert!(page.contains(html) && page.contains(button), "{language}: {page}");
            }
        },
    )
    .await;
}

#[tokio::test]
async fn without_a_public_url_letters_have_no_link() {
    with_settings(
        Kind::Sqlite,
        |settings| settings.public.url = None,
        async |app| {
            let relay = Relay::start().await;
            save_relay(app, &relay).await;
            define(app, "news", "IF_UNREAD", 0).await;
            address(app, &["ada"]).await;
            app.service().message("news", "ada", "a letter").await;
            settle(app, &DeliveryWorkers::default()).await;
            let got = relay.got().pop().unwrap();
            assert_eq!((got.header("list-unsubscribe"), got.header("list-unsubscribe-post")), (None, None));
            assert!(!got.raw.contains("unsubscribe") && !got.raw.contains("No more emails"), "{}", got.raw);
        },
    )
    .await;
}

#[tokio::test]
async fn the_doctor_says_where_letters_have_no_link() {
    with_settings(
        Kind::Sqlite,
        |_| {},
        async |app| {
            let url = app.app.config.database.url().to_owned();
            let usual = [("DATABASE_URL", &*url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
            let says = |settings: &[(&str, &str)]| {
                let (_, said, _) = Process::command(&["doctor", "--json"], settings);
                said.contains("no unsubscribe link, because TIDINGS_PUBLIC_URL is not set")
            };
            assert!(!says(&usual), "there is no relay");
            save_relay(app, &Relay::start().await).await;
            assert!(says(&usual));
            assert!(!says(&[&usual[..], &[("TIDINGS_PUBLIC_URL", BASE)]].concat()));
        },
    )
    .await;
}

#[tokio::test]
async fn whoever_opens_links_too_often_is_asked_to_wait_and_nobody_else() {
    with_settings(
        Kind::Sqlite,
        |settings| (settings.limits.rate, settings.limits.network_rate) = (20, 50),
        async |app| {
            let relay = Relay::start().await;
            save_relay(app, &relay).await;
            define(app, "news", "IF_UNREAD", 0).await;
            address(app, &["ada", "ben"]).await;
            let (of_ada, of_ben) = (link(app, &relay, "news", "ada").await, link(app, &relay, "news", "ben").await);
            for _ in 0..30 {
                assert_eq!(open(app, &of_ada, "en").await.0, StatusCode::OK);
            }
            // The link has its own rate limit. Otherwise, anyone with the email could exhaust the user's.
            assert_eq!(app.user("ada").send("{ viewer { id } }", json!({})).await.0, StatusCode::OK);
            let (statements, (status, ..)) = app.statements_of(open(app, &of_ada, "en")).await;
            assert_eq!(
                (status, statements),
                (StatusCode::TOO_MANY_REQUESTS, 0),
                "counted before the database is asked"
            );
            assert_eq!(open(app, &of_ben, "en").await.0, StatusCode::OK);
            for number in 0..18 {
                let path = format!("/unsubscribe/acme/{number}");
                assert_eq!(open(app, &path, "en").await.0, StatusCode::NOT_FOUND, "{number}");
            }
            for path in [&*of_ada, "/unsubscribe/acme/x"] {
                let (status, headers, _) = open(app, path, "en").await;
                assert!(
                    status == StatusCode::TOO_MANY_REQUESTS && headers.contains_key("retry-after"),
                    "{path}: {status}"
                );
            }
            app.advance(TimeDelta::minutes(1));
            assert_eq!(send(app, &of_ben, ONE_CLICK).await.0, StatusCode::OK);
        },
    )
    .await;
}
