//! Files that are part of the binary, where they are kept gzipped.

use std::io::Read;

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

/// Name, media type and gzipped content.
pub type Asset = (&'static str, &'static str, &'static [u8]);

/// Browsers keep what has a name that changes with its content.
const FOR_GOOD: &str = "public, max-age=31536000, immutable";

/// What keeps its name they ask for again after five minutes, and may show for a day while they do.
const FOR_NOW: &str = "public, max-age=300, stale-while-revalidate=86400";

/// What whatever is served is sent with.
pub const ALWAYS: [(HeaderName, &str); 2] =
    [(header::X_CONTENT_TYPE_OPTIONS, "nosniff"), (header::REFERRER_POLICY, "no-referrer")];

/// The file of this name as the client takes it; `lasting` are those that keep their names.
pub fn send(assets: &[Asset], name: &str, lasting: &[&str], asked: &HeaderMap) -> Result<Response, StatusCode> {
    let found = assets.iter().find(|(asset, ..)| *asset == name);
    let (name, kind, gzipped) = found.ok_or(StatusCode::NOT_FOUND)?;
    let is_lasting = lasting.contains(name);
    let tag = if is_lasting { URL_SAFE_NO_PAD.encode(Sha256::digest(gzipped)) } else { (*name).to_owned() };
    let tag = format!("W/\"{tag}\"");
    let is_known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let kept = [
        (header::CACHE_CONTROL, if is_lasting { FOR_NOW } else { FOR_GOOD }),
        (header::VARY, "accept-encoding"),
        (header::ETAG, &tag),
    ];
    if is_known {
        return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
    }
    let about = [(header::CONTENT_TYPE, *kind)];
    if takes_gzip(asked) {
        return Ok((kept, ALWAYS, about, [(header::CONTENT_ENCODING, "gzip")], *gzipped).into_response());
    }
    let mut content = Vec::new();
    GzDecoder::new(*gzipped).read_to_end(&mut content).map_err(|error| {
        tracing::error!(%error, name, "an asset cannot be served");
        StatusCode::INTERNAL_SERVER_ERROR
    })?;
    Ok((kept, ALWAYS, about, content).into_response())
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
