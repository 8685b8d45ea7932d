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

use super::answer::{JSON, refusal, refused};
use super::asset::ALWAYS;
use super::caller::unknown;
use super::console::{OPENERS, nonce};
use super::request::whole;
use super::server::Server;
use crate::auth::Role;
use crate::database::Party;
use crate::domain::mail::unsubscribe::{self, Wish};
use crate::error::{Error, Result};
use crate::graphql::{Route, Share, Viewer};
use crate::mail::Words;
use crate::model::actor::Origin;
use crate::model::network::Network;

/// The most bytes of a form, which has a single field.
const FORM_BYTES: usize = 4 * 1024;

/// Nothing runs or loads, and the form can only be sent here.
const POLICY: &str =
    "default-src 'none'; style-src 'nonce-{nonce}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The content of a page.
struct Page<'a> {
    status: StatusCode,
    heading: &'static str,
    /// The titles of the message types that the page lists.
    about: Vec<&'a str>,
    /// Whether the page has a form.
    is_asked: bool,
}

/// The page of a link, and its form.
pub fn routes() -> Router<Server> {
    Router::new().route("/unsubscribe/{tenant}/{id}", get(show).post(take))
}

/// Asks for confirmation.
async fn show(
    State(server): State<Server>,
    Extension(network): Extension<Network>,
    Path(link): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let words = words(&headers);
    if let Err(refusal) = knock(&server, network, &link).await {
        return refusal;
    }
    match found(&server, &link).await {
        Ok((_place, Some(wish))) => page(words, &asked(StatusCode::OK, words, &wish)),
        Ok((_place, None)) => nobody(words),
        Err(refusal) => refusal,
    }
}

/// Unsubscribes. Idempotent.
async fn take(
    State(server): State<Server>,
    Extension(network): Extension<Network>,
    Path(link): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let words = words(&headers);
    if let Err(refusal) = knock(&server, network, &link).await {
        return refusal;
    }
    let form = match whole(&headers, body, FORM_BYTES).await {
        Ok(form) => form,
        Err((status, error)) => return refusal(JSON, status, &error),
    };
    let (_place, wish) = match found(&server, &link).await {
        Ok((place, Some(wish))) => (place, wish),
        Ok((_, None)) => return nobody(words),
        Err(refusal) => return refusal,
    };
    if !is_one_click(&form) {
        return page(words, &asked(StatusCode::BAD_REQUEST, words, &wish));
    }
    if wish.is_vain() {
        return page(words, &asked(StatusCode::CONFLICT, words, &wish));
    }
    match viewer(&wish).party().does(unsubscribe::grant(&server.app, &wish)).await {
        Ok(()) => {
            let done = Page { heading: words.done, is_asked: false, ..asked(StatusCode::OK, words, &wish) };
            page(words, &done)
        }
        // The types have become mandatory meanwhile.
        Err(Error::BadInput { .. }) => page(words, &asked(StatusCode::CONFLICT, words, &wish)),
        Err(error) => unknown(JSON, &error),
    }
}

/// Counts a request before the database looks up the link: for the caller's network, for the link, and for all such
/// requests. The user's rate is not affected, because any holder of the email may follow the link.
async fn knock(server: &Server, network: Network, (tenant, id): &(String, String)) -> Result<(), Response> {
    let [of_network, of_route] = Share::of(Route::Unsubscribe, network);
    let link = format!("{tenant}/{id}");
    // Hashed, because the link may be as long as a URL.
    let link = URL_SAFE_NO_PAD.encode(&Sha256::digest(link)[..16]);
    let counted = server.schema.knock_without_token(&[of_network, Share::Link(&link), of_route]).await;
    counted.map_err(|refusal| refused(JSON, &refusal))
}

/// Looks up a link, with a permit of the requests in progress.
async fn found(
    server: &Server,
    (tenant, id): &(String, String),
) -> Result<(OwnedSemaphorePermit, Option<Wish>), Response> {
    let place = server.schema.place().map_err(|refusal| refused(JSON, &refusal))?;
    let wish = Party::tenant(0).does(unsubscribe::find(&server.app, tenant, id)).await;
    Ok((place, wish.map_err(|error| unknown(JSON, &error))?))
}

/// The recipient, as a caller with a token.
fn viewer(of: &Wish) -> Viewer {
    Viewer { tenant: of.tenant.clone(), role: Role::User, sub: of.user.external_id.clone(), origin: Origin::Unknown }
}

/// Whether a form has the content that mail programs and our own page send, in either encoding (RFC 8058, section 3.1).
fn is_one_click(form: &[u8]) -> bool {
    let form = String::from_utf8_lossy(form);
    form.trim() == "List-Unsubscribe=One-Click"
        || form.contains("name=\"List-Unsubscribe\"") && form.lines().any(|line| line == "One-Click")
}

/// The question. For mandatory types the reason why there is none; without types, that nothing is left to unsubscribe.
fn asked<'a>(status: StatusCode, words: &'static Words, of: &'a Wish) -> Page<'a> {
    let (is_asked, heading) = match of.types.is_empty() {
        true => (false, words.done),
        false if of.is_vain() => (false, words.mandatory),
        false => (true, words.ask),
    };
    let shown = of.types.iter().filter(|of| !is_asked || !of.mandatory);
    Page { status, heading, about: shown.map(|of| of.title.as_str()).collect(), is_asked }
}

/// For a link that belongs to no user.
fn nobody(words: &'static Words) -> Response {
    page(words, &Page { status: StatusCode::NOT_FOUND, heading: words.unknown, about: Vec::new(), is_asked: false })
}

/// In the browser's language.
fn words(headers: &HeaderMap) -> &'static Words {
    let listed = headers.get(header::ACCEPT_LANGUAGE).and_then(|listed| listed.to_str().ok());
    Words::accepted(listed.unwrap_or_default())
}

fn page(words: &'static Words, of: &Page<'_>) -> Response {
    written(words, of).unwrap_or_else(|error| {
        tracing::error!(cause = error.told(), "a page cannot be served");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    })
}

fn written(words: &'static Words, of: &Page<'_>) -> Result<Response> {
    let nonce = nonce().map_err(Error::internal)?;
    let policy = HeaderValue::from_str(&POLICY.replace("{nonce}", &nonce)).map_err(Error::internal)?;
    let mut environment = Environment::new();
    environment.add_template("unsubscribe.html", include_str!("unsubscribe.html")).map_err(Error::internal)?;
    let layout = environment.get_template("unsubscribe.html").map_err(Error::internal)?;
    let Page { heading, is_asked, .. } = *of;
    let about: Vec<String> = of.about.iter().map(ToString::to_string).collect();
    let Words { language, stays, button, .. } = *words;
    let scene = context! { language, heading, about, stays, is_asked, button, nonce };
    let html = layout.render(scene).map_err(Error::internal)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((of.status, headers, OPENERS, ALWAYS, html).into_response())
}
