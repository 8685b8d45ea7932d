//! Unsubscribe pages linked from email (RFC 8058).
//!
//! The link only shows a question, because mail scanners follow links, too. Only the form changes anything.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use minijinja::{Environment, context};
use sha2::{Digest, Sha256};
use tokio::sync::OwnedSemaphorePermit;

use super::asset::ALWAYS;
use super::console::{OPENERS, new_nonce};
use super::credentials::unauthenticated_response;
use super::request::read_body;
use super::response::{JSON, error_response, refused_response};
use super::server::Server;
use crate::graphql::{PublicRoute, RateScope, Viewer};
use auth::CallerRole;
use base::error::{Error, Result};
use delivery::mail::unsubscribe::{self, UnsubscribeRequest};
use model::actor::NetworkClass;
use model::network::CallerNetwork;
use outside::mail::MailTexts;
use store::Principal;

/// The most bytes of a form, which has a single field.
const FORM_BYTES: usize = 4 * 1024;

/// Nothing runs or loads, and the form can only be sent here.
const POLICY: &str =
    "default-src 'none'; style-src 'nonce-{nonce}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The content of a page.
struct UnsubscribePage<'a> {
    status: StatusCode,
    heading: &'static str,
    /// The titles of the message types that the page lists.
    about: Vec<&'a str>,
    /// Whether the page has a form.
    is_asked: bool,
}

/// The page of a link, and its form.
pub fn routes() -> Router<Server> {
    Router::new().route("/unsubscribe/{tenant}/{id}", get(show_page).post(confirm_unsubscribe))
}

/// Asks for confirmation.
async fn show_page(
    State(server): State<Server>,
    Extension(network): Extension<CallerNetwork>,
    Path(link): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let words = accepted_words(&headers);
    if let Err(refusal) = charge_request(&server, network, &link).await {
        return refusal;
    }
    match find_link(&server, &link).await {
        Ok((_place, Some(wish))) => respond_with_page(words, &question_page(StatusCode::OK, words, &wish)),
        Ok((_place, None)) => unknown_page(words),
        Err(refusal) => refusal,
    }
}

/// Unsubscribes. Idempotent.
async fn confirm_unsubscribe(
    State(server): State<Server>,
    Extension(network): Extension<CallerNetwork>,
    Path(link): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let words = accepted_words(&headers);
    if let Err(refusal) = charge_request(&server, network, &link).await {
        return refusal;
    }
    let form = match read_body(&headers, body, FORM_BYTES).await {
        Ok(form) => form,
        Err((status, error)) => return error_response(JSON, status, &error),
    };
    let (_place, wish) = match find_link(&server, &link).await {
        Ok((place, Some(wish))) => (place, wish),
        Ok((_, None)) => return unknown_page(words),
        Err(refusal) => return refusal,
    };
    if !is_one_click(&form) {
        return respond_with_page(words, &question_page(StatusCode::BAD_REQUEST, words, &wish));
    }
    if wish.is_all_mandatory() {
        return respond_with_page(words, &question_page(StatusCode::CONFLICT, words, &wish));
    }
    match link_viewer(&wish).principal().run_as(unsubscribe::apply_request(&server.app, &wish)).await {
        Ok(()) => {
            let done = UnsubscribePage {
                heading: words.done(),
                is_asked: false,
                ..question_page(StatusCode::OK, words, &wish)
            };
            respond_with_page(words, &done)
        }
        // The types have become mandatory meanwhile.
        Err(Error::BadInput { .. }) => respond_with_page(words, &question_page(StatusCode::CONFLICT, words, &wish)),
        Err(error) => unauthenticated_response(JSON, &error),
    }
}

/// Counts a request before the database looks up the link: for the caller's network, for the link, and for all such
/// requests. The user's rate is not affected, because any holder of the email may follow the link.
async fn charge_request(
    server: &Server,
    network: CallerNetwork,
    (tenant, id): &(String, String),
) -> Result<(), Response> {
    let [of_network, of_route] = RateScope::for_route(PublicRoute::Unsubscribe, network);
    let link = format!("{tenant}/{id}");
    // Hashed, because the link may be as long as a URL.
    let link = URL_SAFE_NO_PAD.encode(&Sha256::digest(link)[..16]);
    let counted = server.schema.charge_without_token(&[of_network, RateScope::Link(&link), of_route]).await;
    counted.map_err(|refusal| refused_response(JSON, &refusal))
}

/// Looks up a link, with a permit of the requests in progress.
async fn find_link(
    server: &Server,
    (tenant, id): &(String, String),
) -> Result<(OwnedSemaphorePermit, Option<UnsubscribeRequest>), Response> {
    let place = server.schema.acquire_permit().map_err(|refusal| refused_response(JSON, &refusal))?;
    let wish = Principal::for_tenant(0).run_as(unsubscribe::find_request(&server.app, tenant, id)).await;
    Ok((place, wish.map_err(|error| unauthenticated_response(JSON, &error))?))
}

/// The recipient, as a caller with a token.
fn link_viewer(of: &UnsubscribeRequest) -> Viewer {
    Viewer {
        tenant: of.tenant.clone(),
        role: CallerRole::User,
        sub: of.user.external_id.clone(),
        origin: NetworkClass::Unknown,
    }
}

/// Whether a form has the content that mail programs and our own page send, in either encoding (RFC 8058, section 3.1).
fn is_one_click(form: &[u8]) -> bool {
    let form = String::from_utf8_lossy(form);
    form.trim() == "List-Unsubscribe=One-Click"
        || form.contains("name=\"List-Unsubscribe\"") && form.lines().any(|line| line == "One-Click")
}

/// The question. For mandatory types the reason why there is none; without types, that nothing is left to unsubscribe.
fn question_page<'a>(status: StatusCode, words: &'static MailTexts, of: &'a UnsubscribeRequest) -> UnsubscribePage<'a> {
    let (is_asked, heading) = match of.types.is_empty() {
        true => (false, words.done()),
        false if of.is_all_mandatory() => (false, words.mandatory()),
        false => (true, words.ask()),
    };
    let shown = of.types.iter().filter(|of| !is_asked || !of.mandatory);
    UnsubscribePage { status, heading, about: shown.map(|of| of.title.as_str()).collect(), is_asked }
}

/// For a link that belongs to no user.
fn unknown_page(words: &'static MailTexts) -> Response {
    respond_with_page(
        words,
        &UnsubscribePage {
            status: StatusCode::NOT_FOUND,
            heading: words.unknown(),
            about: Vec::new(),
            is_asked: false,
        },
    )
}

/// In the browser's language.
fn accepted_words(headers: &HeaderMap) -> &'static MailTexts {
    let listed = headers.get(header::ACCEPT_LANGUAGE).and_then(|listed| listed.to_str().ok());
    MailTexts::for_browser(listed.unwrap_or_default())
}

fn respond_with_page(words: &'static MailTexts, of: &UnsubscribePage<'_>) -> Response {
    render_page(words, of).unwrap_or_else(|error| {
        tracing::error!(cause = error.log_message(), "a page cannot be served");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    })
}

fn render_page(words: &'static MailTexts, of: &UnsubscribePage<'_>) -> Result<Response> {
    let nonce = new_nonce().map_err(Error::internal)?;
    let policy = HeaderValue::from_str(&POLICY.replace("{nonce}", &nonce)).map_err(Error::internal)?;
    let mut environment = Environment::new();
    environment.add_template("unsubscribe.html", include_str!("unsubscribe.html")).map_err(Error::internal)?;
    let layout = environment.get_template("unsubscribe.html").map_err(Error::internal)?;
    let UnsubscribePage { heading, is_asked, .. } = *of;
    let about: Vec<String> = of.about.iter().map(ToString::to_string).collect();
    let (stays, button) = (words.stays(), words.button());
    let (language, direction) = (words.language, words.direction());
    let scene = context! { language, direction, heading, about, stays, is_asked, button, nonce };
    let html = layout.render(scene).map_err(Error::internal)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((of.status, headers, OPENERS, ALWAYS, html).into_response())
}
