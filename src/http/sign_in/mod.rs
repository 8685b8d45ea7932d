//! Sign-in to the desk for people without a token: to the provider and back, and sign-out.
//!
//! Pages of the desk can then call the API with the session, within its role (`shown.rs`).

mod cookie;
mod page;
pub mod shown;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use chrono::SecondsFormat;
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{JSON, refusal, refused};
use super::asset::ALWAYS;
use super::server::Server;
use crate::auth::{ATTEMPT_SECONDS, Refusal, Returned, Session, SignIn};
use crate::clock::calendar;
use crate::domain::ended_session;
use crate::error::{Error, Result};
use crate::graphql::{Route, Share};
use crate::model::network::Network;
use cookie::Cookie;

/// The most bytes of the page to open after the sign-in. The cookie must have room for it.
const TO_BYTES: usize = 1024;

/// Prevents caching, and reading by pages of other origins.
const PRIVATE: [(HeaderName, &str); 2] =
    [(header::CACHE_CONTROL, "no-store"), (HeaderName::from_static("cross-origin-resource-policy"), "same-origin")];

/// The page to open after the sign-in.
#[derive(Deserialize)]
struct Wish {
    to: Option<String>,
}

/// The routes of the sign-in.
pub fn routes() -> Router<Server> {
    Router::new()
        .route("/desk/session", get(show))
        .route("/desk/session/begin", get(begin))
        .route("/desk/session/callback", get(finish))
        .route("/desk/session/end", post(end))
}

/// Whether sign-in is set up, and the current session.
async fn show(State(server): State<Server>, headers: HeaderMap) -> Response {
    let session = match shown::session(&server, &headers) {
        Some(session) => match shown::lasting(&server, session).await {
            Ok(session) => Some(told(&session)),
            Err(Error::Unauthenticated(_)) => None,
            Err(error) => return unavailable(&error),
        },
        None => None,
    };
    let answer = json!({ "signIn": server.app.sign_in.is_some(), "session": session });
    (PRIVATE, ALWAYS, Json(answer)).into_response()
}

fn told(Session { claims, name, .. }: &Session) -> Value {
    let expires_at = calendar(claims.exp.saturating_mul(1000)).to_rfc3339_opts(SecondsFormat::Secs, true);
    let (tenant, role, sub) = (&claims.tenant, claims.role, &claims.sub);
    json!({ "tenant": tenant, "role": role, "sub": sub, "name": name, "expiresAt": expires_at })
}

/// Redirects to the provider.
async fn begin(
    State(server): State<Server>,
    Extension(network): Extension<Network>,
    Query(wish): Query<Wish>,
    headers: HeaderMap,
) -> Response {
    let sign_in = match knock(&server, &Share::of(Route::SignIn, network)).await {
        Ok(sign_in) => sign_in,
        Err(answer) => return answer,
    };
    let public = sign_in.public();
    match sign_in.begin(&within(wish.to.as_deref()), calendar(server.app.now())).await {
        Ok(begun) => leading(&begun.url, [Cookie::Attempt.set(public, &begun.attempt, ATTEMPT_SECONDS)]),
        Err(refusal) => page::refused(&refusal, &headers, public),
    }
}

/// Handles the return from the provider.
async fn finish(
    State(server): State<Server>,
    Extension(network): Extension<Network>,
    Query(returned): Query<Returned>,
    headers: HeaderMap,
) -> Response {
    let sign_in = match knock(&server, &[Share::Network(Route::Callback, network)]).await {
        Ok(sign_in) => sign_in,
        Err(answer) => return answer,
    };
    let public = sign_in.public();
    let attempt = Cookie::Attempt.read(&headers, public);
    let now = calendar(server.app.now());
    let finished = match sign_in.returned(returned, attempt.as_deref(), now) {
        // Only a caller with an attempt of this server counts towards the shared rate.
        Ok(returned) => match knock(&server, &[Share::Route(Route::Callback)]).await {
            Ok(_) => sign_in.finish(returned, network, now).await,
            Err(answer) => return answer,
        },
        Err(refusal) => Err(refusal),
    };
    match finished {
        Ok(finished) => {
            let to = format!("{}{}{}", public.origin(), public.path(), finished.to);
            let hint = finished.hint.map(|hint| Cookie::Hint.set(public, &hint, finished.seconds));
            let cookies = [
                Cookie::Session.set(public, &finished.session, finished.seconds),
                hint.unwrap_or_else(|| Cookie::Hint.clear(public)),
                Cookie::Attempt.clear(public),
            ];
            leading(&to, cookies)
        }
        // The attempt may belong to another window that still waits for it, so the cookie stays.
        Err(refusal @ Refusal::Unknown) => page::refused(&refusal, &headers, public),
        Err(refusal) => kept([Cookie::Attempt.clear(public)], page::refused(&refusal, &headers, public)),
    }
}

/// Ends the session on all nodes, and returns the next URL: the provider's, which ends its own session, or the desk.
async fn end(State(server): State<Server>, Extension(network): Extension<Network>, headers: HeaderMap) -> Response {
    let Some(sign_in) = &server.app.sign_in else { return StatusCode::NOT_FOUND.into_response() };
    let public = sign_in.public();
    if let Err(error) = shown::is_meant(&headers, public) {
        return refusal(JSON, StatusCode::FORBIDDEN, &error);
    }
    if let Err(answer) = knock(&server, &Share::of(Route::SignOut, network)).await {
        return answer;
    }
    // The cookies stay if the session cannot be ended, so that the user can try again.
    if let Some(session) = shown::session(&server, &headers)
        && let Err(error) = ended_session::end(&server.app, &session).await
    {
        return unavailable(&error);
    }
    let hint = Cookie::Hint.read(&headers, public);
    let provider = sign_in.end(hint.as_deref(), calendar(server.app.now())).await;
    let to = provider.unwrap_or_else(|| public.page(&["desk"]));
    let cookies = [Cookie::Session, Cookie::Hint, Cookie::Attempt].map(|cookie| cookie.clear(public));
    kept(cookies, (PRIVATE, ALWAYS, Json(json!({ "to": to }))).into_response())
}

/// Counts a request of these shares and returns the sign-in. On failure, the response to send.
async fn knock<'a>(server: &'a Server, shares: &[Share<'_>]) -> Result<&'a SignIn, Response> {
    let sign_in = server.app.sign_in.as_ref().ok_or_else(page::not_set_up)?;
    server.schema.knock_without_token(shares).await.map_err(|refusal| refused(JSON, &refusal))?;
    Ok(sign_in)
}

/// The desk page to open. Any URL outside the desk becomes the desk's first page: no redirect leads to other sites.
fn within(to: Option<&str>) -> String {
    let url = to.filter(|to| to.len() <= TO_BYTES && to.starts_with("/desk")).and_then(|to| {
        let base = Url::parse("https://desk.invalid").ok()?;
        base.join(to).ok().filter(|url| url.origin() == base.origin())
    });
    let is_within =
        |of: &str, path: &str| path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    // The routes of this module are not pages of the desk.
    let url = url.filter(|url| is_within("/desk", url.path()) && !is_within("/desk/session", url.path()));
    let Some(url) = url else { return "/desk".to_owned() };
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let fragment = url.fragment().map(|fragment| format!("#{fragment}")).unwrap_or_default();
    format!("{}{query}{fragment}", url.path())
}

/// Redirects a browser, with cookies.
fn leading<const N: usize>(to: &str, cookies: [Result<HeaderValue>; N]) -> Response {
    match HeaderValue::from_str(to) {
        Ok(to) => kept(cookies, (StatusCode::SEE_OTHER, [(header::LOCATION, to)], PRIVATE, ALWAYS).into_response()),
        Err(error) => failed(&Error::internal(error)),
    }
}

/// A response with cookies.
fn kept<const N: usize>(cookies: [Result<HeaderValue>; N], answer: Response) -> Response {
    match cookies.into_iter().collect::<Result<Vec<_>>>() {
        Ok(cookies) => {
            (AppendHeaders(cookies.into_iter().map(|cookie| (header::SET_COOKIE, cookie))), answer).into_response()
        }
        Err(error) => failed(&error),
    }
}

fn unavailable(error: &Error) -> Response {
    refusal(JSON, StatusCode::SERVICE_UNAVAILABLE, error)
}

fn failed(error: &Error) -> Response {
    refusal(JSON, StatusCode::INTERNAL_SERVER_ERROR, error)
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn nobody_is_led_away_from_the_desk() {
        for (to, led) in [
            ("/desk", "/desk"),
            ("/desk/", "/desk/"),
            ("/desk/users/ada?tab=why#top", "/desk/users/ada?tab=why#top"),
            ("/desk/users/a%20b%2Fc", "/desk/users/a%20b%2Fc"),
            ("/desk?to=https://evil.example", "/desk?to=https://evil.example"),
            ("/desk/sessions", "/desk/sessions"),
            ("/desk//evil.example", "/desk//evil.example"),
            ("/desk/\\evil.example", "/desk//evil.example"),
        ] {
            assert_eq!(within(Some(to)), led, "{to}");
        }
        let long = format!("/desk/{}", "a".repeat(1024));
        for to in [
            "",
            "/",
            "/desktop",
            "/console",
            "//evil.example/desk",
            "/\\evil.example/desk",
            "https://evil.example/desk",
            "javascript:alert(1)",
            "desk",
            " /desk",
            "/desk/..",
            "/desk/../console",
            "/desk/%2e%2e/console",
            "/desk/../../..//evil.example",
            "/desk/..\\..\\\\evil.example",
            "/desk@evil.example",
            "/desk.evil.example",
            "/desk/session/begin",
            "/desk/session",
            "/desk/x/../session/end",
            &long,
        ] {
            assert_eq!(within(Some(to)), "/desk", "{to}");
        }
        assert_eq!(within(None), "/desk");
        assert_eq!(within(Some("/desk/a\r\nset-cookie: b")), "/desk/aset-cookie:%20b");
    }
}
