//! From the desk to the provider, back, and out again.

use std::collections::HashMap;

use axum::http::{Method, StatusCode};
use base::config::ServerConfig;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use reqwest::Url;
use serde_json::{Value, json};

use super::{Browser, CLIENT_SECRET, Client, DESK, PUBLIC, Provider, SESSION, TYPES, settings, with_provider};
use crate::support::{Kind, with, with_settings};

#[tokio::test]
async fn whoever_the_provider_vouches_for_comes_in_asks_and_leaves() {
    with_provider(async |app, provider| {
        let mut browser = Browser::new(app);
        assert_eq!(browser.session().await, Value::Null);

        let begun = browser.get("/desk/session/begin?to=/desk/users/ada%3Ftab=why").await;
        let url = Url::parse(begun.to()).unwrap();
        assert_eq!(url.path(), "/authorize");
        let fields: HashMap<String, String> = url.query_pairs().into_owned().collect();
        for (name, value) in [
            ("realm", "a"),
            ("response_type", "code"),
            ("client_id", "tidings"),
            ("redirect_uri", "https://inbox.example.com/desk/session/callback"),
            ("scope", "openid profile email"),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(fields[name], value, "{name}");
        }
        for name in ["state", "nonce", "code_challenge"] {
            assert_eq!(URL_SAFE_NO_PAD.decode(&fields[name]).unwrap().len(), 32, "{name}");
        }
        let [attempt] = begun.cookies()[..] else { panic!("{:?}", begun.cookies()) };
        assert!(attempt.starts_with("__Host-tidings_sign_in="));
        assert!(attempt.ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"), "{attempt}");
        assert_eq!(begun.headers["cache-control"], "no-store");
        assert_eq!(begun.headers["referrer-policy"], "no-referrer");

        let (code, state) = provider.grant(begun.to());
        let back = browser.come_back(&[("code", &code), ("state", &state)]).await;
        assert_eq!(back.to(), "https://inbox.example.com/desk/users/ada?tab=why");
        let [session, hint, attempt] = back.cookies()[..] else { panic!("{:?}", back.cookies()) };
        assert!(session.starts_with("__Host-tidings_session="));
        assert!(session.ends_with("; Path=/; Max-Age=28800; HttpOnly; SameSite=Strict; Secure"), "{session}");
        assert!(hint.starts_with("__Secure-tidings_sign_out="));
        assert!(hint.contains("; Path=/desk/session; Max-Age=28800; HttpOnly; SameSite=Strict; Secure"), "{hint}");
        assert!(attempt.starts_with("__Host-tidings_sign_in=; Path=/; Max-Age=0;"), "{attempt}");
        assert!(back.cookies().iter().all(|cookie| cookie.len() < 4096 && !cookie.contains("ada")));

        let expected = json!({
            "tenant": "acme", "role": "admin", "sub": "ada@example.com", "name": "Ada Obi", "expiresAt": "2026-11-21T16:00:00Z"
        });
        assert_eq!(browser.session().await, expected);
        let answer = browser.ask(TYPES, &DESK).await;
        assert_eq!((answer.status, &answer.json()["data"]["saveMessageType"]["code"]), (StatusCode::OK, &json!("news")));
        let stranger = app.admin().ask("{ messageTypes { code } }", json!({})).await;
        assert_eq!(stranger, json!({ "messageTypes": [{ "code": "news" }] }), "it is the tenant that was said");

        let end = browser.send(Method::POST, "/desk/session/end", &DESK, None).await;
        let to = Url::parse(end.json()["to"].as_str().unwrap()).unwrap();
        assert_eq!((to.origin().ascii_serialization(), to.path()), (provider.url(), "/end"));
        let fields: HashMap<String, String> = to.query_pairs().into_owned().collect();
        assert_eq!(fields["client_id"], "tidings");
        assert_eq!(fields["post_logout_redirect_uri"], "https://inbox.example.com/desk");
        assert_eq!(fields["id_token_hint"].split('.').count(), 3);
        assert_eq!(browser.cookies.len(), 0);
        assert_eq!(browser.session().await, Value::Null);
        assert_eq!(browser.ask(TYPES, &DESK).await.code(), "UNAUTHENTICATED");
    })
    .await;
}

#[tokio::test]
async fn clients_show_who_they_are_as_the_provider_wants_it() {
    for client in [Client::Basic, Client::Post, Client::Public] {
        let provider = Provider::start(super::NOW).await;
        provider.says(|said| said.client = client);
        let change = |config: &mut ServerConfig| {
            settings(config, &provider);
            config.oidc.client_secret = Some(CLIENT_SECRET.to_owned()).filter(|_| client != Client::Public);
        };
        with_settings(Kind::Sqlite, change, async |app| {
            Browser::signed_in(app, &provider).await;
        })
        .await;
    }
}

#[tokio::test]
async fn roles_and_tenants_come_from_claims() {
    let provider = Provider::start(super::NOW).await;
    let change = |config: &mut ServerConfig| {
        settings(config, &provider);
        (config.oidc.tenant, config.oidc.tenant_claim) = (None, Some("org".into()));
        config.oidc.role_claim = "realm_access.roles".into();
        config.oidc.sub_claim = "sub".into();
    };
    with_settings(Kind::Sqlite, change, async |app| {
        for (claims, seen) in [
            (json!({ "org": "globex", "realm_access": { "roles": ["support"] } }), "globex service 7"),
            (json!({ "org": ["acme"], "realm_access": { "roles": ["x", "operators"] } }), "acme admin 7"),
            (
                json!({ "org": "acme", "realm_access": { "roles": ["x"] } }),
                "No value of your claim “realm_access.roles”",
            ),
            (json!({ "org": "acme" }), "did not send your claim “realm_access.roles”"),
            (json!({ "realm_access": { "roles": ["support"] } }), "did not send your claim “org”"),
            (json!({ "org": ["acme", "globex"], "realm_access": { "roles": ["support"] } }), "has several values"),
        ] {
            provider.says(|said| (said.claims, said.metadata) = (claims.clone(), json!({ "userinfo_endpoint": null })));
            let mut browser = Browser::new(app);
            let answer = browser.sign_in(&provider, "/desk").await;
            let session = browser.session().await;
            let told = if session.is_null() {
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{claims}");
                assert!(!browser.cookies.contains_key(SESSION));
                answer.body.clone()
            } else {
                ["tenant", "role", "sub"].map(|name| session[name].as_str().unwrap()).join(" ")
            };
            assert!(told.contains(seen), "{claims}: {told}");
        }
    })
    .await;
}

/// Sessions have the roles of tokens: a service session may do what services may.
#[tokio::test]
async fn a_session_may_do_what_a_token_of_its_role_may() {
    with_provider(async |app, provider| {
        provider.says(|said| said.claims = json!({ "groups": ["support"] }));
        let mut browser = Browser::signed_in(app, provider).await;
        let by_token = app.service().refused(TYPES, json!({})).await;
        let by_cookie = browser.ask(TYPES, &DESK).await;
        assert_eq!(by_cookie.code(), by_token.split(' ').next().unwrap());
        assert_eq!(by_cookie.code(), "FORBIDDEN");
        let may = "mutation { saveUserGroup(code: \"g\") { code } }";
        assert_eq!(browser.ask(may, &DESK).await.json()["data"]["saveUserGroup"]["code"], "g");
    })
    .await;
}

#[tokio::test]
async fn what_an_id_token_does_not_say_is_asked_for() {
    with_provider(async |app, provider| {
        let terse = json!({ "email": null, "email_verified": null, "groups": null, "name": null });
        let more = json!({
            "sub": "7", "email": "bo@example.com", "email_verified": true, "groups": ["support"], "name": "Bo", "iss": "x"
        });
        provider.says(|said| (said.claims, said.more) = (terse.clone(), Some(more.clone())));
        let mut browser = Browser::signed_in(app, provider).await;
        let session = browser.session().await;
        assert_eq!((&session["sub"], &session["role"], &session["name"]), (&json!("bo@example.com"), &json!("service"), &json!("Bo")));

        for (other, status, words) in [
            (Some(json!({ "sub": "8", "email": "bo@example.com", "groups": ["support"] })), 502, "response of the provider is invalid"),
            (Some(json!({ "email": "bo@example.com", "groups": ["support"] })), 502, "response of the provider is invalid"),
            (Some(json!(["sub"])), 502, "response of the provider is invalid"),
            (None, 502, "response of the provider is invalid"),
            (Some(json!({ "sub": "7" })), 403, "did not send your claim “email”"),
        ] {
            provider.says(|said| said.more = other.clone());
            let answer = Browser::new(app).sign_in(provider, "/desk").await;
            assert_eq!(answer.status, status, "{other:?}: {}", answer.body);
            assert!(answer.body.contains(words), "{other:?}: {}", answer.body);
        }

        // Claims of the ID token take precedence.
        let said = json!({ "email": null, "email_verified": null });
        let more = json!({ "sub": "7", "email": "ada@example.com", "email_verified": true, "groups": ["support"] });
        provider.says(|of| (of.claims, of.more) = (said, Some(more)));
        assert_eq!(Browser::signed_in(app, provider).await.session().await["role"], "admin");

        // The verification of one address does not apply to another.
        provider.says(|of| of.claims = json!({ "email": "eve@example.com", "email_verified": null }));
        let answer = Browser::new(app).sign_in(provider, "/desk").await;
        assert_eq!(answer.status, 403, "{}", answer.body);
        assert!(answer.body.contains("has not verified"), "{}", answer.body);
    })
    .await;
}

#[tokio::test]
async fn what_is_known_of_the_provider_goes_on_while_it_is_away() {
    with_provider(async |app, provider| {
        provider.says(|said| said.is_away = true);
        for _ in 0..3 {
            let answer = Browser::new(app).get("/desk/session/begin").await;
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
            assert!(answer.body.contains("The provider cannot be reached now"));
            assert!(answer.body.contains(answer.headers["x-request-id"].to_str().unwrap()), "where to look in the log");
        }
        assert_eq!(provider.asked(), [1, 0, 0], "nobody makes us ask without end");
        app.advance(TimeDelta::seconds(5));
        provider.says(|said| said.is_away = false);
        let mut browser = Browser::new(app);
        let (code, state) = browser.begun(provider).await;
        assert_eq!(provider.asked(), [2, 1, 0]);

        // An hour later the server fetches the metadata again, and uses the old one if there is no response.
        app.advance(TimeDelta::minutes(61));
        provider.says(|said| said.is_away = true);
        Browser::new(app).get("/desk/session/begin").await.to();
        Browser::new(app).get("/desk/session/begin").await.to();
        assert_eq!(provider.asked()[0], 3);
        let answer = browser.come_back(&[("code", &code), ("state", &state)]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "that took too long: {}", answer.body);

        let mut browser = Browser::new(app);
        let (code, state) = browser.begun(provider).await;
        let answer = browser.come_back(&[("code", &code), ("state", &state)]).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.body);
        let end = Browser::new(app).send(Method::POST, "/desk/session/end", &DESK, None).await;
        assert!(end.json()["to"].as_str().unwrap().starts_with(&provider.url()));
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_ends_no_sessions_leads_back_to_the_desk() {
    with_provider(async |app, provider| {
        provider.says(|said| said.metadata = json!({ "end_session_endpoint": null }));
        let mut browser = Browser::signed_in(app, provider).await;
        let end = browser.send(Method::POST, "/desk/session/end", &DESK, None).await;
        assert_eq!(end.json(), json!({ "to": format!("{PUBLIC}/desk") }));
        assert_eq!(browser.session().await, Value::Null);
    })
    .await;
}

/// Any node can handle the next request.
#[tokio::test]
async fn one_may_begin_at_one_node_and_go_on_at_another() {
    with_provider(async |app, provider| {
        let other = app.beside().await;
        let mut browser = Browser::new(app);
        let (code, state) = browser.begun(provider).await;
        let mut there = Browser { app: &other, cookies: browser.cookies };
        there.come_back(&[("code", &code), ("state", &state)]).await.to();
        let mut here = Browser { app, cookies: there.cookies };
        assert_eq!(here.session().await["sub"], "ada@example.com");
    })
    .await;
}

#[tokio::test]
async fn below_a_path_all_stays_below_it() {
    let provider = Provider::start(super::NOW).await;
    let change = |config: &mut ServerConfig| {
        settings(config, &provider);
        config.public.url = Some("http://127.0.0.1:8080/tidings/".parse().unwrap());
    };
    with_settings(Kind::Sqlite, change, async |app| {
        let mut browser = Browser::new(app);
        let begun = browser.get("/desk/session/begin?to=/desk/sent").await;
        assert!(
            begun.to().contains("redirect_uri=http%3A%2F%2F127.0.0.1%3A8080%2Ftidings%2Fdesk%2Fsession%2Fcallback&")
        );
        let (code, state) = provider.grant(begun.to());
        let back = browser.come_back(&[("code", &code), ("state", &state)]).await;
        assert_eq!(back.to(), "http://127.0.0.1:8080/tidings/desk/sent");
        let cookies = back.cookies();
        assert!(cookies[0].starts_with("tidings_session=") && !cookies[0].contains("Secure"), "{}", cookies[0]);
        assert!(cookies[1].contains("; Path=/tidings/desk/session;"), "{}", cookies[1]);
        let own = [("x-tidings-desk", "1"), ("origin", "http://127.0.0.1:8080")];
        assert_eq!(browser.ask(TYPES, &own).await.status, StatusCode::OK);
    })
    .await;
}

#[tokio::test]
async fn where_no_provider_is_named_nobody_signs_in() {
    with(Kind::Sqlite, async |app| {
        let mut browser = Browser::new(app);
        assert_eq!(browser.get("/desk/session").await.json(), json!({ "signIn": false, "session": null }));
        for path in ["/desk/session/begin", "/desk/session/callback?code=a&state=b"] {
            let answer = browser.get(path).await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND);
            assert!(answer.body.contains("Sign-in is not set up here"));
            let chinese =
                browser.send(Method::GET, path, &[("accept-language", "fi, zh-CN;q=0.9, en;q=0.1")], None).await;
            assert!(chinese.body.contains("<html lang=\"zh-Hans\">") && chinese.body.contains("此处未设置登录"));
        }
        assert_eq!(browser.send(Method::POST, "/desk/session/end", &DESK, None).await.status, StatusCode::NOT_FOUND);
    })
    .await;
}
