//! Sign-in to the desk for people without a token: to the provider and back, and sign-out.
//!
//! Pages of the desk can then call the API with the session, within its role (`shown.rs`).

mod cookie;
mod page;
pub mod session_cookie;
mod texts;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use chrono::SecondsFormat;
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};

use super::asset::ALWAYS;
use super::response::{JSON, error_response, refused_response};
use super::server::Server;
use crate::graphql::{PublicRoute, RateScope};
use auth::{ATTEMPT_SECONDS, CallbackQuery, SignIn, SignInRefusal, SignInSession};
use base::clock::to_date_time;
use base::error::{Error, Result};
use cookie::SignInCookie;
use domain::ended_session;
use model::network::CallerNetwork;

/// The most bytes of the page to open after the sign-in. The cookie must have room for it.
const TO_BYTES: usize = 1024;

/// Prevents caching, and reading by pages of other origins.
const PRIVATE: [(HeaderName, &str); 2] =
    [(header::CACHE_CONTROL, "no-store"), (HeaderName::from_static("cross-origin-resource-policy"), "same-origin")];

/// The page to open after the sign-in.
#[derive(Deserialize)]
struct BeginParameters {
    to: Option<String>,
}

/// The routes of the sign-in.
pub fn routes() -> Router<Server> {
    Router::new()
        .route("/desk/session", get(show_session))
        .route("/desk/session/begin", get(begin_sign_in))
        .route("/desk/session/callback", get(finish_sign_in))
        .route("/desk/session/end", post(end_session))
}

/// Whether sign-in is set up, and the current session.
async fn show_session(State(server): State<Server>, headers: HeaderMap) -> Response {
    let session = match session_cookie::read_session(&server, &headers) {
        Some(session) => match session_cookie::check_not_ended(&server, session).await {
            Ok(session) => Some(session_json(&session)),
            Err(Error::Unauthenticated(_)) => None,
            Err(error) => return unavailable_response(&error),
        },
        None => None,
    };
    let answer = json!({ "signIn": server.app.sign_in.is_some(), "session": session });
    (PRIVATE, ALWAYS, Json(answer)).into_response()
}

fn session_json(SignInSession { claims, name, .. }: &SignInSession) -> Value {
    let expires_at = to_date_time(claims.exp.saturating_mul(1000)).to_rfc3339_opts(SecondsFormat::Secs, true);
    let (tenant, role, sub) = (&claims.tenant, claims.role, &claims.sub);
    json!({ "tenant": tenant, "role": role, "sub": sub, "name": name, "expiresAt": expires_at })
}

/// Redirects to the provider.
async fn begin_sign_in(
    State(server): State<Server>,
    Extension(network): Extension<CallerNetwork>,
    Query(wish): Query<BeginParameters>,
    headers: HeaderMap,
) -> Response {
    let sign_in = match charge_sign_in(&server, &headers, &RateScope::for_route(PublicRoute::SignIn, network)).await {
        Ok(sign_in) => sign_in,
        Err(answer) => return answer,
    };
    let public = sign_in.public_url();
    match sign_in.begin(&desk_path(wish.to.as_deref()), to_date_time(server.app.now())).await {
        Ok(begun) => redirect_with_cookies(
            &begun.url,
            [SignInCookie::Attempt.set_header(public, &begun.attempt, ATTEMPT_SECONDS)],
        ),
        Err(refusal) => page::failure_page(&refusal, &headers, public),
    }
}

/// Handles the return from the provider.
async fn finish_sign_in(
    State(server): State<Server>,
    Extension(network): Extension<CallerNetwork>,
    Query(returned): Query<CallbackQuery>,
    headers: HeaderMap,
) -> Response {
    let sign_in = match charge_sign_in(&server, &headers, &[RateScope::Network(PublicRoute::Callback, network)]).await {
        Ok(sign_in) => sign_in,
        Err(answer) => return answer,
    };
    let public = sign_in.public_url();
    let attempt = SignInCookie::Attempt.read(&headers, public);
    let now = to_date_time(server.app.now());
    let finished = match sign_in.verify_callback(returned, attempt.as_deref(), now) {
        // Only a caller with an attempt of this server counts towards the shared rate.
        Ok(returned) => match charge_sign_in(&server, &headers, &[RateScope::Route(PublicRoute::Callback)]).await {
            Ok(_) => sign_in.finish(returned, network, now).await,
            Err(answer) => return answer,
        },
        Err(refusal) => Err(refusal),
    };
    match finished {
        Ok(finished) => {
            let to = format!("{}{}{}", public.origin(), public.path(), finished.to);
            let hint = finished.hint.map(|hint| SignInCookie::Hint.set_header(public, &hint, finished.seconds));
            let cookies = [
                SignInCookie::Session.set_header(public, &finished.session, finished.seconds),
                hint.unwrap_or_else(|| SignInCookie::Hint.clear_header(public)),
                SignInCookie::Attempt.clear_header(public),
            ];
            redirect_with_cookies(&to, cookies)
        }
        // The attempt may belong to another window that still waits for it, so the cookie stays.
        Err(refusal @ SignInRefusal::Unknown) => page::failure_page(&refusal, &headers, public),
        Err(refusal) => {
            with_cookies([SignInCookie::Attempt.clear_header(public)], page::failure_page(&refusal, &headers, public))
        }
    }
}

/// Ends the session on all nodes, and returns the next URL: the provider's, which ends its own session, or the desk.
async fn end_session(
    State(server): State<Server>,
    Extension(network): Extension<CallerNetwork>,
    headers: HeaderMap,
) -> Response {
    let Some(sign_in) = &server.app.sign_in else { return StatusCode::NOT_FOUND.into_response() };
    let public = sign_in.public_url();
    if let Err(error) = session_cookie::check_desk_origin(&headers, public) {
        return error_response(JSON, StatusCode::FORBIDDEN, &error);
    }
    if let Err(answer) = charge_sign_in(&server, &headers, &RateScope::for_route(PublicRoute::SignOut, network)).await {
        return answer;
    }
    // The cookies stay if the session cannot be ended, so that the user can try again.
    if let Some(session) = session_cookie::read_session(&server, &headers)
        && let Err(error) = ended_session::end(&server.app, &session.id, session.claims.exp.saturating_mul(1000)).await
    {
        return unavailable_response(&error);
    }
    let hint = SignInCookie::Hint.read(&headers, public);
    let provider = sign_in.logout_url(hint.as_deref(), to_date_time(server.app.now())).await;
    let to = provider.unwrap_or_else(|| public.page_url(&["desk"]));
    let cookies =
        [SignInCookie::Session, SignInCookie::Hint, SignInCookie::Attempt].map(|cookie| cookie.clear_header(public));
    with_cookies(cookies, (PRIVATE, ALWAYS, Json(json!({ "to": to }))).into_response())
}

/// Counts a request of these shares and returns the sign-in. On failure, the response to send.
async fn charge_sign_in<'a>(
    server: &'a Server,
    headers: &HeaderMap,
    shares: &[RateScope<'_>],
) -> Result<&'a SignIn, Response> {
    let sign_in = server.app.sign_in.as_ref().ok_or_else(|| page::not_configured_page(headers))?;
    server.schema.charge_without_token(shares).await.map_err(|refusal| refused_response(JSON, &refusal))?;
    Ok(sign_in)
}

/// The desk page to open. Any URL outside the desk becomes the desk's first page: no redirect leads to other sites.
fn desk_path(to: Option<&str>) -> String {
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
fn redirect_with_cookies<const N: usize>(to: &str, cookies: [Result<HeaderValue>; N]) -> Response {
    match HeaderValue::from_str(to) {
        Ok(to) => {
            with_cookies(cookies, (StatusCode::SEE_OTHER, [(header::LOCATION, to)], PRIVATE, ALWAYS).into_response())
        }
        Err(error) => internal_error(&Error::internal(error)),
    }
}

/// A response with cookies.
fn with_cookies<const N: usize>(cookies: [Result<HeaderValue>; N], answer: Response) -> Response {
    match cookies.into_iter().collect::<Result<Vec<_>>>() {
        Ok(cookies) => {
            (AppendHeaders(cookies.into_iter().map(|cookie| (header::SET_COOKIE, cookie))), answer).into_response()
        }
        Err(error) => internal_error(&error),
    }
}

fn unavailable_response(error: &Error) -> Response {
    error_response(JSON, StatusCode::SERVICE_UNAVAILABLE, error)
}

fn internal_error(error: &Error) -> Response {
    error_response(JSON, StatusCode::INTERNAL_SERVER_ERROR, error)
}

#[cfg(test)]
mod tests {
    use super::desk_path;

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
            assert_eq!(desk_path(Some(to)), led, "{to}");
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
            assert_eq!(desk_path(Some(to)), "/desk", "{to}");
        }
        assert_eq!(desk_path(None), "/desk");
        assert_eq!(desk_path(Some("/desk/a\r\nset-cookie: b")), "/desk/aset-cookie:%20b");
    }
}
