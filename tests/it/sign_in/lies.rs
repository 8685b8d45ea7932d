//! Responses from the provider that are invalid, or that come from another party.

use axum::http::StatusCode;
use chrono::TimeDelta;
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::{Browser, NOW, Provider, SESSION, Signed, with_provider};
use crate::support::TestApp;

/// Returns the response to a browser that comes back with these fields instead of the granted ones. Checks that it is
/// not signed in.
async fn seen(
    app: &TestApp,
    provider: &Provider,
    change: impl FnOnce(&mut Vec<(&'static str, String)>),
) -> (u16, String) {
    let mut browser = Browser::new(app);
    let (code, state) = browser.begun(provider).await;
    let mut fields = vec![("code", code), ("state", state)];
    change(&mut fields);
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = browser.come_back(&fields).await;
    assert!(!browser.cookies.contains_key(SESSION), "{fields:?}");
    let policy = answer.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'nonce-"), "{policy}");
    assert_eq!(answer.headers["cache-control"], "no-store");
    assert_eq!(answer.headers["referrer-policy"], "no-referrer");
    (answer.status.as_u16(), answer.body)
}

#[tokio::test]
async fn what_another_browser_has_begun_ends_nowhere() {
    with_provider(async |app, provider| {
        let own = |name: &'static str, value: &'static str| {
            move |fields: &mut Vec<(&'static str, String)>| {
                fields.retain(|(of, _)| *of != name);
                fields.push((name, value.to_owned()));
            }
        };
        let unknown = (400, "This sign-in cannot be completed");
        for (change, (status, words)) in [
            (own("state", "AAAA"), unknown),
            (own("state", ""), unknown),
            (own("code", "made up"), (403, "It says invalid_grant")),
        ] {
            let (is, body) = seen(app, provider, change).await;
            assert!(is == status && body.contains(words), "{body}");
        }
        let (status, body) = seen(app, provider, |fields| fields.retain(|(of, _)| *of != "state")).await;
        assert!(status == 400 && body.contains(unknown.1), "{body}");
        let (status, body) = seen(app, provider, |fields| fields.retain(|(of, _)| *of != "code")).await;
        assert!(status == 400 && body.contains(unknown.1), "{body}");

        // Another user's link, which would sign this browser in as them: without a cookie, and with a cookie of its
        // own.
        let (mut theirs, mut browser) = (Browser::new(app), Browser::new(app));
        let (code, state) = theirs.begun(provider).await;
        assert_eq!(browser.come_back(&[("code", &code), ("state", &state)]).await.status, StatusCode::BAD_REQUEST);
        let (_, own_state) = browser.begun(provider).await;
        assert_eq!(browser.come_back(&[("code", &code), ("state", &state)]).await.status, StatusCode::BAD_REQUEST);

        // Their code with its own state: neither the verifier nor the nonce matches.
        let answer = browser.come_back(&[("code", &code), ("state", &own_state)]).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        assert!(answer.body.contains("It says invalid_grant"), "the provider compares the verifier: {}", answer.body);
        assert!(browser.cookies.is_empty(), "it has to begin anew: {:?}", browser.cookies);
    })
    .await;
}

#[tokio::test]
async fn a_code_is_good_once_and_for_ten_minutes() {
    with_provider(async |app, provider| {
        let mut browser = Browser::new(app);
        let (code, state) = browser.begun(provider).await;
        let kept = browser.cookies.clone();
        let fields = [("code", &*code), ("state", &*state)];
        browser.come_back(&fields).await.to();
        assert_eq!(browser.come_back(&fields).await.status, StatusCode::BAD_REQUEST, "its cookie is gone");
        let mut again = Browser { app, cookies: kept };
        let answer = again.come_back(&fields).await;
        assert_eq!((answer.status, answer.body.contains("invalid_grant")), (StatusCode::FORBIDDEN, true));

        for (seconds, is_let_in) in [(-1, true), (0, false)] {
            let mut browser = Browser::new(app);
            let (code, state) = browser.begun(provider).await;
            app.advance(TimeDelta::seconds(600 + seconds));
            provider.says(|said| said.claims = json!({ "exp": NOW + 1800 }));
            let answer = browser.come_back(&[("code", &code), ("state", &state)]).await;
            assert_eq!(answer.status == StatusCode::SEE_OTHER, is_let_in, "{seconds}: {}", answer.body);
        }
    })
    .await;
}

#[tokio::test]
async fn id_tokens_of_others_for_others_and_of_another_time_are_not_believed() {
    with_provider(async |app, provider| {
        let url = provider.url();
        for claims in [
            json!({ "iss": "https://evil.example" }),
            json!({ "iss": format!("{url}/") }),
            json!({ "iss": null }),
            json!({ "aud": "other" }),
            json!({ "aud": ["other"] }),
            json!({ "aud": [] }),
            json!({ "aud": null }),
            json!({ "aud": ["tidings", "other"] }),
            json!({ "aud": ["tidings", "other"], "azp": "other" }),
            json!({ "azp": "other" }),
            json!({ "exp": NOW }),
            json!({ "exp": NOW - 3600 }),
            json!({ "exp": null }),
            json!({ "exp": "tomorrow" }),
            json!({ "exp": (NOW + 300) * 1000 }),
            json!({ "exp": 1e300 }),
            json!({ "exp": -1 }),
            json!({ "nbf": NOW * 1000 }),
            json!({ "nbf": NOW + 60 }),
            json!({ "nonce": "another" }),
            json!({ "nonce": null }),
            json!({ "sub": null }),
        ] {
            provider.says(|said| said.claims = claims.clone());
            let (status, body) = seen(app, provider, |_| {}).await;
            assert!(status == 502 && body.contains("The response of the provider is invalid"), "{claims}: {status}");
            assert!(!body.contains("ada@example.com") && !body.contains(".ey"), "{body}");
        }
        for claims in [
            json!({ "aud": ["tidings"] }),
            json!({ "aud": ["tidings", "other"], "azp": "tidings" }),
            json!({ "nbf": NOW + 5 }),
            json!({ "nbf": 1.79e9, "exp": 1.9e9 }),
            json!({ "exp": 1_900_000_000.5 }),
        ] {
            provider.says(|said| said.claims = claims);
            Browser::signed_in(app, provider).await;
        }
    })
    .await;
}

#[tokio::test]
async fn id_tokens_are_signed_by_a_key_of_the_provider_and_by_its_algorithm() {
    with_provider(async |app, provider| {
        for signed in [Signed::Nothing, Signed::Secret, Signed::PublicKey, Signed::Mixed, Signed::Ec] {
            provider.says(|said| said.signed = signed);
            let (status, body) = seen(app, provider, |_| {}).await;
            assert!(status == 502 && body.contains("The response of the provider is invalid"), "{signed:?}: {status}");
        }
        provider.says(|said| (said.signed, said.kid) = (Signed::Rsa, Some("another")));
        assert_eq!(seen(app, provider, |_| {}).await.0, 502);
    })
    .await;
}

/// An unknown key makes the server fetch the keys, at most twice a minute.
#[tokio::test]
async fn a_provider_may_change_its_keys() {
    with_provider(async |app, provider| {
        Browser::signed_in(app, provider).await;
        let before = provider.asked()[1];
        app.advance(TimeDelta::seconds(30));
        provider.says(|said| (said.signed, said.keys) = (Signed::Ec, vec![Algorithm::ES256]));
        Browser::signed_in(app, provider).await;
        assert_eq!(provider.asked()[1], before + 1);

        provider.says(|said| (said.signed, said.keys) = (Signed::Rsa, vec![Algorithm::ES256, Algorithm::RS256]));
        assert_eq!(seen(app, provider, |_| {}).await.0, 502);
        assert_eq!(provider.asked()[1], before + 1, "it was asked a moment ago");
        app.advance(TimeDelta::seconds(30));
        Browser::signed_in(app, provider).await;
        assert_eq!(provider.asked()[1], before + 2);
    })
    .await;
}

#[tokio::test]
async fn an_answer_says_which_provider_it_is_of_where_providers_do() {
    with_provider(async |app, provider| {
        let url = provider.url();
        let is =
            |iss: &'static str| move |fields: &mut Vec<(&'static str, String)>| fields.push(("iss", iss.to_owned()));
        assert_eq!(seen(app, provider, is("https://evil.example")).await.0, 502);
        let mut browser = Browser::new(app);
        let (code, state) = browser.begun(provider).await;
        browser.come_back(&[("code", &code), ("state", &state), ("iss", &url)]).await.to();
        app.advance(TimeDelta::hours(2));
        provider.says(|said| said.metadata = json!({ "authorization_response_iss_parameter_supported": true }));
        assert_eq!(seen(app, provider, |_| {}).await.0, 502, "it says that it always does");
    })
    .await;
}

#[tokio::test]
async fn a_refusal_of_the_provider_is_told_and_runs_nothing() {
    with_provider(async |app, provider| {
        let declined = |fields: &mut Vec<(&'static str, String)>| {
            fields.retain(|(of, _)| *of != "code");
            fields.push(("error", "access_denied".to_owned()));
            fields.push(("error_description", "<script>alert(1)</script>\u{202e} no".repeat(100)));
        };
        let (status, body) = seen(app, provider, declined).await;
        assert_eq!(status, 403);
        assert!(body.contains("It says access_denied: &lt;script&gt;alert(1)"), "{body}");
        assert!(!body.contains("<script") && body.len() < 3000, "{body}");
        let body = body.replace("&#x2f;", "/");
        assert!(body.contains("href=\"https://inbox.example.com/desk/session/begin\""), "there is a way back: {body}");

        // Without an attempt of its own, a link cannot put text on the page.
        let answer = Browser::new(app).come_back(&[("error", "buy at evil.example"), ("state", "x")]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert!(!answer.body.contains("evil"));
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_says_nonsense_of_itself_is_not_asked_further() {
    for metadata in [
        json!({ "issuer": "https://evil.example" }),
        json!({ "issuer": null }),
        json!({ "token_endpoint": null }),
        json!({ "token_endpoint": "http://login.example.com/token" }),
        json!({ "authorization_endpoint": "javascript:alert(1)" }),
        json!({ "jwks_uri": "file:///etc/passwd" }),
        json!({ "userinfo_endpoint": "/me" }),
        json!({ "end_session_endpoint": "http://login.example.com/end" }),
        json!({ "padding": "a".repeat(300 * 1024) }),
    ] {
        with_provider(async |app, provider| {
            provider.says(|said| said.metadata = metadata.clone());
            let answer = Browser::new(app).get("/desk/session/begin").await;
            let told: Value = metadata.to_string().chars().take(80).collect::<String>().into();
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{told}");
            assert_eq!(provider.asked(), [1, 0, 0], "{told}");
        })
        .await;
    }
}
