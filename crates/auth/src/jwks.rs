//! Public keys of token issuers: a JWKS (RFC 7517), from a file or a URL.

use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use parking_lot::RwLock;

use super::fetch::{fetch_text, new_client};
use base::config::JwksSource;
use base::error::{Error, Result};
use base::json::has_reserved_key;

/// Minimum seconds between two fetches for an unknown key. Otherwise any caller could make the server fetch without
/// end.
const REFRESH_SECONDS: i64 = 30;
/// Keys older than this are fetched again, so that a revoked key does not stay valid.
const STALE_SECONDS: i64 = 600;

/// A key and the only algorithm it may be used with.
#[derive(Clone)]
struct JwksKey {
    id: Option<String>,
    algorithm: Algorithm,
    decoding: DecodingKey,
}

impl std::fmt::Debug for JwksKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JwksKey").field("id", &self.id).field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

/// The cached keys, and the URL to refresh them from.
#[derive(Debug)]
pub(super) struct JwksCache {
    keys: RwLock<Arc<Vec<JwksKey>>>,
    remote: Option<RemoteJwks>,
}

#[derive(Debug)]
struct RemoteJwks {
    source: JwksSource,
    url: String,
    client: reqwest::Client,
    /// Time of the last fetch. The lock is held during a fetch, so that only one runs at a time.
    asked_at: tokio::sync::Mutex<Option<DateTime<Utc>>>,
}

impl JwksCache {
    /// Reads a file, which must hold a usable key, or prepares to fetch a URL, which may be unreachable for now.
    pub async fn open(source: &JwksSource) -> Result<Self> {
        match source {
            JwksSource::File(path) => {
                Ok(Self { keys: RwLock::new(Arc::new(read_key_file(source, path).await?)), remote: None })
            }
            JwksSource::Url(url) => {
                let remote = RemoteJwks {
                    source: source.clone(),
                    url: url.clone(),
                    client: new_client()?,
                    asked_at: tokio::sync::Mutex::new(None),
                };
                let jwks = Self { keys: RwLock::default(), remote: Some(remote) };
                jwks.refresh(DateTime::UNIX_EPOCH).await;
                Ok(jwks)
            }
        }
    }

    /// Fetches the JWKS and counts its usable keys. Fails if it cannot be read or has none.
    pub async fn count_usable(source: &JwksSource) -> Result<usize> {
        let url = match source {
            JwksSource::File(path) => return Ok(read_key_file(source, path).await?.len()),
            JwksSource::Url(url) => url,
        };
        let counted = Self::count_usable_at(&new_client()?, url).await;
        counted.map_err(|why| Error::Config(format!("TIDINGS_JWKS: {source} cannot be used: {why}")))
    }

    /// The same for a URL; the error says why it has none.
    pub async fn count_usable_at(client: &reqwest::Client, url: &str) -> Result<usize, String> {
        Ok(usable_keys(&fetch_text(client, url).await?)?.len())
    }

    /// The key with this id and algorithm; without an id, the only key with the algorithm.
    ///
    /// Fetches the URL first if the key is unknown, at most every 30 s, or if the keys are older than 10 minutes.
    pub async fn find_or_refresh(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
        now: DateTime<Utc>,
    ) -> Option<DecodingKey> {
        let known = self.find_cached(id, algorithm);
        let Some(remote) = &self.remote else { return known };
        let patience = TimeDelta::seconds(if known.is_some() { STALE_SECONDS } else { REFRESH_SECONDS });
        // If the key is known, do not wait for a fetch that another request has started.
        let asked_at = match remote.asked_at.try_lock() {
            Ok(asked_at) => *asked_at,
            Err(_) if known.is_some() => return known,
            Err(_) => *remote.asked_at.lock().await,
        };
        if asked_at.is_some_and(|at| now - at < patience) {
            return self.find_cached(id, algorithm);
        }
        self.refresh(now).await;
        self.find_cached(id, algorithm)
    }

    fn find_cached(&self, id: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        let keys = self.keys.read().clone();
        let mut fitting =
            keys.iter().filter(|key| key.algorithm == algorithm && (id.is_none() || key.id.as_deref() == id));
        let first = fitting.next()?;
        (id.is_some() || fitting.next().is_none()).then(|| first.decoding.clone())
    }

    /// Fetches the URL. If that fails, the cached keys stay valid.
    async fn refresh(&self, now: DateTime<Utc>) {
        let Some(remote) = &self.remote else { return };
        let mut asked_at = remote.asked_at.lock().await;
        if asked_at.is_some_and(|at| now - at < TimeDelta::seconds(REFRESH_SECONDS)) {
            return;
        }
        *asked_at = Some(now);
        match fetch_text(&remote.client, &remote.url).await.and_then(|text| usable_keys(&text)) {
            Ok(keys) => *self.keys.write() = Arc::new(keys),
            Err(why) => {
                tracing::warn!(at = %remote.source, why, "could not refresh the JWKS: the known keys stay in use");
            }
        }
    }
}

async fn read_key_file(source: &JwksSource, path: &Path) -> Result<Vec<JwksKey>> {
    let unusable = |why: String| Error::Config(format!("TIDINGS_JWKS: {source} cannot be used: {why}"));
    let text = tokio::fs::read_to_string(path).await.map_err(|error| unusable(error.to_string()))?;
    usable_keys(&text).map_err(unusable)
}

/// The keys of a JWKS that are valid for signatures. Fails if there is none.
fn usable_keys(text: &str) -> Result<Vec<JwksKey>, String> {
    if has_reserved_key(text.as_bytes()) {
        return Err("it has a JSON key with the reserved prefix $serde_json::private::".into());
    }
    let set: JwkSet = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let keys: Vec<JwksKey> = set.keys.iter().filter_map(usable_key).collect();
    if keys.is_empty() { Err("it has no RS256, ES256 or EdDSA key for signatures".into()) } else { Ok(keys) }
}

/// The key with its one algorithm; `None` if its declared use or algorithm does not fit its type.
fn usable_key(jwk: &Jwk) -> Option<JwksKey> {
    if jwk.common.public_key_use.as_ref().is_some_and(|of| *of != PublicKeyUse::Signature) {
        return None;
    }
    let (algorithm, said) = match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) if rsa.n.len() >= 342 => (Algorithm::RS256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(ec) if ec.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
            (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
        }
        _ => {
            let id = jwk.common.key_id.as_deref();
            tracing::warn!(id, "ignored a key of the JWKS: it must be RSA of at least 2048 bits, P-256 or Ed25519");
            return None;
        }
    };
    if jwk.common.key_algorithm.as_ref().is_some_and(|of| *of != said) {
        return None;
    }
    Some(JwksKey { id: jwk.common.key_id.clone(), algorithm, decoding: DecodingKey::from_jwk(jwk).ok()? })
}
