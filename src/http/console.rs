//! The console: a page that is part of the binary, and needs nothing from elsewhere. `console/` has its sources.

use std::io::Read;

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::read::GzDecoder;

/// The page as it was built, with `{nonce}` where the nonce belongs.
const PAGE: &str = include_str!("../../console/dist/index.html");

/// Name, media type and gzipped content of all that the page loads. A name changes with the content.
const ASSETS: &[(&str, &str, &[u8])] = &include!("../../console/dist/assets.rs");

/// Nothing runs or loads but what this server serves. The editor, Monaco, makes `<style>` elements, which need the nonce, and
/// places its lines by `style` attributes, which can have none: they run nothing, and what they load is held to `img-src`.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; \
    style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// For workers, which load their parts.
const ASSET_POLICY: &str = "default-src 'none'; script-src 'self'; frame-ancestors 'none'";

/// The page.
pub async fn page() -> Result<Response, StatusCode> {
    let nonce = nonce().map_err(failed)?;
    let policy = HeaderValue::from_str(&PAGE_POLICY.replace("{nonce}", &nonce)).map_err(failed)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        // A nonce is for once.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, ALWAYS, PAGE.replace("{nonce}", &nonce)).into_response())
}

/// What the page loads; browsers keep it for good.
pub async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, StatusCode> {
    let found = ASSETS.iter().find(|(asset, ..)| *asset == name);
    let (name, kind, gzipped) = found.ok_or(StatusCode::NOT_FOUND)?;
    let tag = format!("W/\"{name}\"");
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let kept = [
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::VARY, "accept-encoding"),
        (header::ETAG, &tag),
    ];
    if is_known {
        return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
    }
    let about = [(header::CONTENT_TYPE, *kind), (header::CONTENT_SECURITY_POLICY, ASSET_POLICY)];
    if takes_gzip(&headers) {
        return Ok((kept, ALWAYS, about, [(header::CONTENT_ENCODING, "gzip")], *gzipped).into_response());
    }
    let mut content = Vec::new();
    GzDecoder::new(*gzipped).read_to_end(&mut content).map_err(failed)?;
    Ok((kept, ALWAYS, about, content).into_response())
}

const ALWAYS: [(header::HeaderName, &str); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// What nobody can guess: 16 bytes, as a policy has them.
fn nonce() -> Result<String, getrandom::Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random)?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

fn failed(error: impl std::error::Error) -> StatusCode {
    tracing::error!(%error, "the console cannot be served");
    StatusCode::INTERNAL_SERVER_ERROR
}

/// Whether the client takes gzip (RFC 9110, 12.5.3). Who says nothing gets content as it is.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let listed = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let codings = listed.flat_map(|value| value.split(',')).map(|entry| {
        let (coding, parameter) = entry.split_once(';').unwrap_or((entry, "q=1"));
        let weight = parameter.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        (coding.trim(), weight.unwrap_or_default())
    });
    let (mut gzip, mut any) = (None, None);
    for (coding, weight) in codings {
        if coding.eq_ignore_ascii_case("gzip") {
            gzip = Some(weight);
        } else if coding == "*" {
            any = Some(weight);
        }
    }
    gzip.or(any).is_some_and(|weight| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::takes_gzip;

    #[test]
    fn gzip_is_for_those_who_take_it() {
        for (accepted, is_taken) in [
            ("gzip", true),
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, GZIP;q=0.5", true),
            ("*", true),
            ("identity, *;q=0.1", true),
            ("", false),
            ("identity", false),
            ("br", false),
            ("gzip;q=0", false),
            ("gzip; q=0.0, *", false),
            ("*;q=0", false),
            ("gzip;q=much", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(takes_gzip(&headers), is_taken, "{accepted}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
