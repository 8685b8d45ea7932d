//! What somebody sees who was not let in: why, and how to go on.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use minijinja::{Environment, context};

use crate::auth::Refusal;
use crate::config::PublicUrl;
use crate::error::{Error, Result};
use crate::http::answer::REQUEST_ID;
use crate::http::asset::ALWAYS;
use crate::http::console::{OPENERS, nonce};
use crate::text::{characters, cut};

/// Nothing runs, nothing is loaded, and nothing is sent.
const POLICY: &str =
    "default-src 'none'; style-src 'nonce-{nonce}'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// The most characters of what the provider says.
const TOLD: usize = 300;

struct Page {
    status: StatusCode,
    heading: &'static str,
    lines: Vec<String>,
    /// Where to try again, and where to give up, where that makes sense.
    ways: Option<[String; 2]>,
}

/// Why nobody was let in. What the provider has done wrong goes to the log, and names nobody.
pub fn refused(refusal: &Refusal, headers: &HeaderMap, public: &PublicUrl) -> Response {
    let id = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    let logged = || format!("Whoever runs this server finds why in its log, at the request {id}.");
    let (status, heading, lines) = match refusal {
        Refusal::Unknown => {
            let why = "It was begun in another browser or window, took longer than ten minutes, or has ended already.";
            (StatusCode::BAD_REQUEST, "This sign-in cannot be completed", vec![why.to_owned()])
        }
        Refusal::Declined { code, words } => {
            let words = words.iter().map(|words| format!(": {words}"));
            let told = format!("It says {code}{}", words.collect::<String>());
            (StatusCode::FORBIDDEN, "The provider did not sign you in", vec![cut(&told, TOLD, "", characters)])
        }
        Refusal::Away(why) => {
            tracing::warn!(why, "nobody can sign in: the provider cannot be asked");
            let lines = vec!["Try again in a moment.".to_owned(), logged()];
            (StatusCode::SERVICE_UNAVAILABLE, "The provider cannot be asked now", lines)
        }
        Refusal::Unsound(why) => {
            tracing::warn!(why, "somebody was not signed in: what the provider said is not what it must be");
            (StatusCode::BAD_GATEWAY, "What the provider said cannot be believed", vec![logged()])
        }
        Refusal::NotLetIn(why) => {
            tracing::info!("somebody was not let in for whom the provider vouches");
            let lines = vec![why.clone(), "Ask whoever runs this server to let you in.".to_owned()];
            (StatusCode::FORBIDDEN, "You may not use the desk", lines)
        }
    };
    let ways = [public.page(&["desk", "session", "begin"]), public.page(&["desk"])];
    shown(Page { status, heading, lines, ways: Some(ways) })
}

/// Where no provider is named.
pub fn not_set_up() -> Response {
    let why = "This server names no provider by which people sign in. Whoever has a token can use that.".to_owned();
    let heading = "Nobody can sign in here";
    shown(Page { status: StatusCode::NOT_FOUND, heading, lines: vec![why], ways: None })
}

fn shown(page: Page) -> Response {
    written(page).unwrap_or_else(|error| {
        tracing::error!(cause = error.told(), "a page cannot be served");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    })
}

fn written(page: Page) -> Result<Response> {
    let nonce = nonce().map_err(Error::internal)?;
    let policy = HeaderValue::from_str(&POLICY.replace("{nonce}", &nonce)).map_err(Error::internal)?;
    let mut environment = Environment::new();
    environment.add_template("page.html", include_str!("page.html")).map_err(Error::internal)?;
    let layout = environment.get_template("page.html").map_err(Error::internal)?;
    let Page { status, heading, lines, ways } = page;
    let [again, back] = ways.unwrap_or_default();
    let html = layout.render(context! { heading, lines, again, back, nonce }).map_err(Error::internal)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((status, headers, OPENERS, ALWAYS, html).into_response())
}
