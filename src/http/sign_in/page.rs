//! The page after a failed sign-in: the reason and what to do.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use minijinja::{Environment, context};

use crate::http::asset::ALWAYS;
use crate::http::console::{OPENERS, new_nonce};
use crate::http::response::REQUEST_ID;
use auth::SignInRefusal;
use base::config::PublicUrl;
use base::error::{Error, Result};
use base::text::{character_count, shorten_text};

/// Nothing runs or loads, and no form is sent.
const POLICY: &str =
    "default-src 'none'; style-src 'nonce-{nonce}'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// The most characters of the provider's message.
const TOLD: usize = 300;

struct FailurePage {
    status: StatusCode,
    heading: &'static str,
    lines: Vec<String>,
    /// The links "try again" and "back", where they make sense.
    ways: Option<[String; 2]>,
}

/// The reason for a failed sign-in. The provider's mistakes go to the log, without the user's name.
pub fn failure_page(refusal: &SignInRefusal, headers: &HeaderMap, public: &PublicUrl) -> Response {
    let id = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    let logged = || format!("The log of the server says why, at the request {id}.");
    let (status, heading, lines) = match refusal {
        SignInRefusal::Unknown => {
            let why = "It began in another browser or window, took longer than ten minutes, or has already ended.";
            (StatusCode::BAD_REQUEST, "This sign-in cannot be completed", vec![why.to_owned()])
        }
        SignInRefusal::Declined { code, words } => {
            let words = words.iter().map(|words| format!(": {words}"));
            let told = format!("It says {code}{}", words.collect::<String>());
            (
                StatusCode::FORBIDDEN,
                "The provider did not sign you in",
                vec![shorten_text(&told, TOLD, "", character_count)],
            )
        }
        SignInRefusal::Away(why) => {
            tracing::warn!(why, "people cannot sign in: the identity provider cannot be reached");
            let lines = vec!["Try again in a moment.".to_owned(), logged()];
            (StatusCode::SERVICE_UNAVAILABLE, "The provider cannot be reached now", lines)
        }
        SignInRefusal::Unsound(why) => {
            tracing::warn!(why, "a sign-in failed: the response of the identity provider is invalid");
            (StatusCode::BAD_GATEWAY, "The response of the provider is invalid", vec![logged()])
        }
        SignInRefusal::NotLetIn(why) => {
            tracing::info!("a sign-in was refused: the person may not use the desk");
            let lines = vec![why.clone(), "Ask the operator of this server for access.".to_owned()];
            (StatusCode::FORBIDDEN, "You may not use the desk", lines)
        }
    };
    let ways = [public.page_url(&["desk", "session", "begin"]), public.page_url(&["desk"])];
    respond_with_page(FailurePage { status, heading, lines, ways: Some(ways) })
}

/// For a server without a provider.
pub fn not_configured_page() -> Response {
    let why = "This server has no identity provider. You can use the desk with a token.".to_owned();
    let heading = "Sign-in is not set up here";
    respond_with_page(FailurePage { status: StatusCode::NOT_FOUND, heading, lines: vec![why], ways: None })
}

fn respond_with_page(page: FailurePage) -> Response {
    render_page(page).unwrap_or_else(|error| {
        tracing::error!(cause = error.log_message(), "a page cannot be served");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    })
}

fn render_page(page: FailurePage) -> Result<Response> {
    let nonce = new_nonce().map_err(Error::internal)?;
    let policy = HeaderValue::from_str(&POLICY.replace("{nonce}", &nonce)).map_err(Error::internal)?;
    let mut environment = Environment::new();
    environment.add_template("page.html", include_str!("page.html")).map_err(Error::internal)?;
    let layout = environment.get_template("page.html").map_err(Error::internal)?;
    let FailurePage { status, heading, lines, ways } = page;
    let [again, back] = ways.unwrap_or_default();
    let html = layout.render(context! { heading, lines, again, back, nonce }).map_err(Error::internal)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((status, headers, OPENERS, ALWAYS, html).into_response())
}
