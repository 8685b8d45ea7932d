//! Cookies that were altered, have expired, or are from another server.

use axum::http::Method;
use base::config::ServerConfig;
use chrono::TimeDelta;
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use super::{Browser, DESK, PUBLIC, Provider, SESSION, WHO, settings, with_provider};
use crate::support::{SECRET, TestApp};

const OTHER: &str = "another secret of the tests, of 32 bytes";

/// Whether a cookie is a valid session; checks both places that accept it.
async fn is_session(app: &TestApp, cookie: &str) -> bool {
    let mut browser = Browser { app, cookies: [(SESSION.to_owned(), cookie.to_owned())].into() };
    let is_told = !browser.session().await.is_null();
    // A query that operators may run.
    let code = browser.ask("{ messageTypes { code } }", &DESK).await.json()["errors"][0]["extensions"]["code"].clone();
    assert_eq!(is_told, code.is_null(), "{code}");
    assert!(is_told || code == "UNAUTHENTICATED", "{code}");
    is_told
}

#[tokio::test]
async fn each_byte_of_a_cookie_counts_and_each_is_for_its_own_purpose() {
    with_provider(async |app, provider| {
        let browser = Browser::signed_in(app, provider).await;
        let session = &browser.cookies[SESSION];
        assert!(is_session(app, session).await);
        for place in (0..session.len()).step_by(7) {
            let mut altered = session.clone().into_bytes();
            altered[place] = if altered[place] == b'A' { b'B' } else { b'A' };
            assert!(!is_session(app, std::str::from_utf8(&altered).unwrap()).await, "byte {place}");
        }
        let mut begun = Browser::new(app);
        begun.begun(provider).await;
        let attempt = begun.cookies["__Host-tidings_sign_in"].clone();
        let hint = browser.cookies["__Secure-tidings_sign_out"].clone();
        let token = app.admin().token;
        for other in
            ["", "A", "none", &session[..session.len() - 4], &format!("{session}AAAA"), &attempt, &hint, &token]
        {
            assert!(!is_session(app, other).await, "{other}");
        }

        // And a session is no sign-in attempt.
        let mut mixed = Browser { app, cookies: [("__Host-tidings_sign_in".to_owned(), session.clone())].into() };
        assert_eq!(mixed.come_back(&[("code", "a"), ("state", "b")]).await.status, 400);
    })
    .await;
}

#[tokio::test]
async fn a_session_ends_after_its_hours() {
    with_provider(async |app, provider| {
        let mut browser = Browser::signed_in(app, provider).await;
        let session = browser.cookies[SESSION].clone();
        app.advance(TimeDelta::seconds(8 * 60 * 60 - 1));
        assert!(is_session(app, &session).await);
        app.advance(TimeDelta::seconds(1));
        assert!(!is_session(app, &session).await);
        let answer = browser.ask(WHO, &DESK).await.json();
        assert_eq!(answer["errors"][0]["message"], "the session has ended: sign in again");
    })
    .await;
}

/// A server with other settings over the same database.
async fn beside(app: &TestApp, change: impl FnOnce(&mut ServerConfig)) -> TestApp {
    let mut config = app.app.config.clone();
    change(&mut config);
    TestApp::at(config, app.app.clock.clone()).await
}

#[tokio::test]
async fn a_session_is_of_one_secret_and_outlives_its_replacement() {
    with_provider(async |app, provider| {
        let session = Browser::signed_in(app, provider).await.cookies[SESSION].clone();
        let other = beside(app, |config| config.auth.secret = Some(OTHER.into())).await;
        assert!(!is_session(&other, &session).await);

        let replaced = beside(app, |config| {
            config.auth.secret = Some(OTHER.into());
            config.auth.previous_secret = Some(SECRET.into());
        });
        let replaced = replaced.await;
        assert!(is_session(&replaced, &session).await);
        let newer = Browser::signed_in(&replaced, provider).await.cookies[SESSION].clone();
        assert!(is_session(&other, &newer).await, "the new one seals");
        assert!(!is_session(app, &newer).await);
    })
    .await;
}

#[tokio::test]
async fn a_session_is_of_one_provider_and_client() {
    with_provider(async |app, provider| {
        let session = Browser::signed_in(app, provider).await.cookies[SESSION].clone();
        let another = Provider::start(super::NOW).await;
        let there = beside(app, |config| settings(config, &another)).await;
        assert!(!is_session(&there, &session).await);
        let client = beside(app, |config| config.oidc.client_id = Some("other".into())).await;
        assert!(!is_session(&client, &session).await);
        let nobody = beside(app, |config| {
            config.oidc = ServerConfig::for_database("sqlite::memory:", SECRET).oidc;
        });
        let nobody = nobody.await;
        let mut browser = Browser { app: &nobody, cookies: [(SESSION.to_owned(), session)].into() };
        assert_eq!(browser.get("/desk/session").await.json(), json!({ "signIn": false, "session": null }));
        assert_eq!(browser.ask(WHO, &DESK).await.code(), "UNAUTHENTICATED");
    })
    .await;
}

/// Only our own pages may read the session, and no cache may store it.
#[tokio::test]
async fn who_is_signed_in_is_told_to_our_own_pages_alone() {
    with_provider(async |app, provider| {
        let mut browser = Browser::signed_in(app, provider).await;
        let headers = [("origin", "https://evil.example")];
        let answer = browser.send(axum::http::Method::GET, "/desk/session", &headers, None).await;
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
        assert_eq!(answer.headers["cross-origin-resource-policy"], "same-origin");
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_ne!(browser.session().await, Value::Null);
        let back = browser.get(&format!("/desk/session/begin?to={PUBLIC}.evil.example/desk")).await;
        let (code, state) = provider.grant(back.to());
        let back = browser.come_back(&[("code", &code), ("state", &state)]).await;
        assert_eq!(back.to(), format!("{PUBLIC}/desk"), "nobody is led elsewhere");
    })
    .await;
}

/// A copied cookie is worthless once its user has signed out: on every node, and after a restart.
#[tokio::test]
async fn a_session_that_was_ended_counts_nowhere() {
    with_provider(async |app, provider| {
        let other = beside(app, |_| {}).await;
        let mut browser = Browser::signed_in(app, provider).await;
        let stays = Browser::signed_in(app, provider).await.cookies[SESSION].clone();
        let stolen = browser.cookies[SESSION].clone();
        assert!(is_session(app, &stolen).await && is_session(&other, &stolen).await);
        assert_eq!(browser.send(Method::POST, "/desk/session/end", &DESK, None).await.status, 200);
        assert!(!browser.cookies.contains_key(SESSION));
        let restarted = beside(app, |_| {}).await;
        for node in [app, &other, &restarted] {
            assert!(!is_session(node, &stolen).await);
            assert!(is_session(node, &stays).await, "another session of the same person goes on");
        }
        let mut thief = Browser { app, cookies: [(SESSION.to_owned(), stolen.clone())].into() };
        let answer = thief.ask(WHO, &DESK).await.json();
        assert_eq!(answer["errors"][0]["message"], "the session has ended: sign in again");
        assert_eq!(thief.send(Method::POST, "/desk/session/end", &DESK, None).await.status, 200, "once more");

        // After its regular end, the server keeps nothing of the session.
        let kept = async || entity::ended_session::Entity::find().all(&app.app.db.read).await.unwrap().len();
        assert_eq!(kept().await, 1);
        app.advance(TimeDelta::hours(9));
        maintenance::scheduled::sweep::sweep_all(&app.app.delivery).await.unwrap();
        assert_eq!(kept().await, 0);
    })
    .await;
}
