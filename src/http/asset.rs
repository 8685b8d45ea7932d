//! Files that are compiled into the binary, gzipped.

use std::io::Read;
use std::sync::OnceLock;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use super::response_memory::shared_response;

/// Name, media type and gzipped content.
pub type AssetFile = (&'static str, &'static str, &'static [u8]);

/// For files with a name that changes with their content.
const FOR_GOOD: &str = "public, max-age=31536000, immutable";

/// For files with a lasting name. Browsers revalidate them after five minutes, and may show the old content for a day.
const FOR_NOW: &str = "public, max-age=300, stale-while-revalidate=86400";

/// Sent with every response of the site.
pub const ALWAYS: [(HeaderName, &str); 2] =
    [(header::X_CONTENT_TYPE_OPTIONS, "nosniff"), (header::REFERRER_POLICY, "no-referrer")];

/// The files of one part of the site.
#[derive(Debug)]
pub struct AssetBundle(Vec<StaticAsset>);

#[derive(Debug)]
struct StaticAsset {
    name: &'static str,
    media: &'static str,
    gzipped: &'static [u8],
    is_lasting: bool,
    /// The tag without its quotes.
    tag: String,
    /// The content for clients that do not accept gzip. All responses share it: a client that requests it and reads
    /// nothing holds a reference, not a copy.
    inflated: OnceLock<Bytes>,
}

impl AssetBundle {
    /// For these files. `lasting` names those that keep their name when their content changes.
    pub fn from_files(files: &[AssetFile], lasting: &[&str]) -> Self {
        let asset = |(name, media, gzipped): &AssetFile| {
            let is_lasting = lasting.contains(name);
            let tag = if is_lasting { URL_SAFE_NO_PAD.encode(Sha256::digest(gzipped)) } else { (*name).to_owned() };
            StaticAsset { name, media, gzipped, is_lasting, tag, inflated: OnceLock::new() }
        };
        Self(files.iter().map(asset).collect())
    }

    /// The file of this name, in an encoding that the client accepts.
    pub fn respond_with(&self, name: &str, asked: &HeaderMap) -> Result<Response, StatusCode> {
        let asset = self.0.iter().find(|asset| asset.name == name).ok_or(StatusCode::NOT_FOUND)?;
        let kept = [
            (header::CACHE_CONTROL, if asset.is_lasting { FOR_NOW } else { FOR_GOOD }),
            (header::VARY, "accept-encoding"),
            (header::ETAG, &format!("W/\"{}\"", asset.tag)),
        ];
        if asset.is_client_current(asked) {
            return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
        }
        let about = [(header::CONTENT_TYPE, asset.media)];
        if can_accept_gzip(asked) {
            let content = shared_response(Bytes::from_static(asset.gzipped));
            return Ok((kept, ALWAYS, about, [(header::CONTENT_ENCODING, "gzip")], content).into_response());
        }
        Ok((kept, ALWAYS, about, shared_response(asset.inflate()?)).into_response())
    }
}

impl StaticAsset {
    /// Whether the client has the file already, by a tag that it sends (RFC 9110, section 13.1.2).
    fn is_client_current(&self, asked: &HeaderMap) -> bool {
        let listed = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let mut tags = listed.flat_map(|value| value.split(',')).map(str::trim);
        tags.any(|tag| {
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            tag == "*" || tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')) == Some(&self.tag)
        })
    }

    fn inflate(&self) -> Result<Bytes, StatusCode> {
        if let Some(content) = self.inflated.get() {
            return Ok(content.clone());
        }
        let mut content = Vec::new();
        GzDecoder::new(self.gzipped).read_to_end(&mut content).map_err(|error| {
            tracing::error!(%error, self.name, "an asset cannot be served");
            StatusCode::INTERNAL_SERVER_ERROR
        })?;
        // If two clients come first at the same time, one uses the content that the other has inflated.
        Ok(self.inflated.get_or_init(|| content.into()).clone())
    }
}

/// Whether the client accepts gzip (RFC 9110, section 12.5.3). Without the header it gets the plain content.
fn can_accept_gzip(headers: &HeaderMap) -> bool {
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

    use super::can_accept_gzip;

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
            assert_eq!(can_accept_gzip(&headers), is_taken, "{accepted}");
        }
        assert!(!can_accept_gzip(&HeaderMap::new()));
    }
}
