//! The page after a failed sign-in: the reason and what to do.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use minijinja::{Environment, context};

use super::texts::SignInTexts;
use crate::http::asset::ALWAYS;
use crate::http::console::{OPENERS, new_nonce};
use crate::http::response::REQUEST_ID;
use auth::{ClaimProblem, ClaimRefusal, SignInRefusal};
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

/// The reason for a failed sign-in, in the browser's language. The provider's mistakes go to the log, without the
/// user's name.
pub fn failure_page(refusal: &SignInRefusal, headers: &HeaderMap, public: &PublicUrl) -> Response {
    let id = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    let texts = SignInTexts::for_browser(headers);
    let logged = || texts.log.replace("{id}", id);
    let (status, heading, lines) = match refusal {
        SignInRefusal::Unknown => (StatusCode::BAD_REQUEST, &texts.unknown, vec![texts.unknown_reason.clone()]),
        SignInRefusal::Declined { code, words } => {
            let words = words.iter().map(|words| format!(": {words}"));
            let told = texts.declined_reason.replace("{answer}", &format!("{code}{}", words.collect::<String>()));
            (StatusCode::FORBIDDEN, &texts.declined, vec![shorten_text(&told, TOLD, "", character_count)])
        }
        SignInRefusal::Away(why) => {
            tracing::warn!(why, "people cannot sign in: the identity provider cannot be reached");
            (StatusCode::SERVICE_UNAVAILABLE, &texts.away, vec![texts.away_advice.clone(), logged()])
        }
        SignInRefusal::Unsound(why) => {
            tracing::warn!(why, "a sign-in failed: the response of the identity provider is invalid");
            (StatusCode::BAD_GATEWAY, &texts.unsound, vec![logged()])
        }
        SignInRefusal::NotLetIn(why) => {
            tracing::info!("a sign-in was refused: the person may not use the desk");
            let lines = vec![claim_line(texts, why), texts.not_let_in_advice.clone()];
            (StatusCode::FORBIDDEN, &texts.not_let_in, lines)
        }
    };
    let ways = [public.page_url(&["desk", "session", "begin"]), public.page_url(&["desk"])];
    respond_with_page(texts, FailurePage { status, heading, lines, ways: Some(ways) })
}

fn claim_line(texts: &SignInTexts, refusal: &ClaimRefusal) -> String {
    let text = match refusal.problem {
        ClaimProblem::Missing => &texts.claim_missing,
        ClaimProblem::NotText => &texts.claim_not_text,
        ClaimProblem::Several => &texts.claim_several,
        ClaimProblem::InvalidName => &texts.claim_invalid_name,
        ClaimProblem::Unverified => &texts.claim_unverified,
        ClaimProblem::NoRole => &texts.claim_no_role,
    };
    text.replace("{claim}", &refusal.claim)
}

/// For a server without a provider.
pub fn not_configured_page(headers: &HeaderMap) -> Response {
    let texts = SignInTexts::for_browser(headers);
    let lines = vec![texts.not_configured_reason.clone()];
    let heading = &texts.not_configured;
    respond_with_page(texts, FailurePage { status: StatusCode::NOT_FOUND, heading, lines, ways: None })
}

fn respond_with_page(texts: &SignInTexts, page: FailurePage) -> Response {
    render_page(texts, page).unwrap_or_else(|error| {
        tracing::error!(cause = error.log_message(), "a page cannot be served");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    })
}

fn render_page(texts: &SignInTexts, page: FailurePage) -> Result<Response> {
    let nonce = new_nonce().map_err(Error::internal)?;
    let policy = HeaderValue::from_str(&POLICY.replace("{nonce}", &nonce)).map_err(Error::internal)?;
    let mut environment = Environment::new();
    environment.add_template("page.html", include_str!("page.html")).map_err(Error::internal)?;
    let layout = environment.get_template("page.html").map_err(Error::internal)?;
    let FailurePage { status, heading, lines, ways } = page;
    let [again, back] = ways.unwrap_or_default();
    let (language, again_label, back_label) = (texts.language, &texts.again, &texts.back);
    let scene = context! { language, heading, lines, again, back, again_label, back_label, nonce };
    let html = layout.render(scene).map_err(Error::internal)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((status, headers, OPENERS, ALWAYS, html).into_response())
}
