//! Documents that are named instead of sent: automatic persisted queries
//! (<https://www.apollographql.com/docs/apollo-server/performance/apq>) and the list of trusted operations.

use std::sync::Arc;

use async_graphql::{Request, Response, Value};
use entity::ids::TenantId;
use guard::Refusal;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::app::App;
use crate::auth::Role;
use crate::config::Config;
use crate::config::operations::hash;
use crate::error::Error;
use crate::graphql::errors::failed;
use crate::graphql::viewer::Viewer;
use crate::model::remembered::cache;

/// Bytes of a cached text besides its own.
const PLACE: usize = 256;
/// Most shards of the cache, and the number of longest texts that each shard must have room for.
const SHARDS: usize = 8;
const LONGEST: usize = 8;

/// Texts that clients have sent once with their hash, separate for each tenant.
#[derive(Clone, Debug)]
pub struct Persisted {
    is_on: bool,
    texts: Arc<Cache<Key, Arc<str>, ByBytes>>,
}

/// The tenant and the hash.
type Key = (TenantId, String);

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<Key, Arc<str>> for ByBytes {
    fn weight(&self, _: &Key, text: &Arc<str>) -> u64 {
        (text.len() + PLACE) as u64
    }
}

/// The text to cache once a request's document has passed.
pub struct Registration(Option<(TenantId, String, Arc<str>)>);

impl Persisted {
    /// An empty cache, bounded by bytes. It evicts the least used texts.
    pub fn new(config: &Config) -> Self {
        let limits = &config.limits;
        let bytes = limits.cached_document_bytes as usize;
        let longest = LONGEST * limits.document_bytes.max(1);
        let texts = cache((bytes / longest).clamp(1, SHARDS), bytes / (4 * PLACE), bytes as u64, ByBytes);
        Self { is_on: !config.wire.no_persisted_queries, texts: Arc::new(texts) }
    }

    /// Puts the document into a request that only names it. Refuses a user's document that is not on the list.
    pub fn find(
        &self,
        app: &App,
        viewer: Option<&Viewer>,
        request: &mut Request,
    ) -> Result<Registration, Box<Response>> {
        let id = named(request).map_err(Refusal::response)?;
        let mut registration = Registration(None);
        if let Some((id, is_hash)) = id {
            let listed = app.operations.as_ref().and_then(|operations| operations.by_id(&id));
            if !request.query.is_empty() {
                if is_hash && hash(&request.query) != id {
                    let message = "sha256Hash is not the hash of the persisted query";
                    return Err(Refusal::invalid(message, None).response().into());
                }
                if let Some(viewer) = viewer.filter(|_| self.is_on && is_hash) {
                    let text = request.query.as_str().into();
                    registration = Registration(Some((viewer.tenant.id, id, text)));
                }
            } else if let Some(document) = listed {
                request.query = document.to_string();
            } else if self.is_on || !is_hash {
                let known = match viewer {
                    Some(viewer) => self.texts.get(&(viewer.tenant.id, id)),
                    None => None,
                };
                let unknown = || persisted("PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound");
                request.query = known.ok_or_else(unknown)?.to_string();
            } else {
                return Err(persisted("PERSISTED_QUERY_NOT_SUPPORTED", "PersistedQueryNotSupported").into());
            }
        }
        let is_bound = viewer.is_some_and(|viewer| viewer.role == Role::User);
        if is_bound && app.operations.as_ref().is_some_and(|operations| !operations.holds(&request.query)) {
            let message = "users may run only the operations that this server lists";
            return Err(failed(Error::Forbidden(message.into())).into());
        }
        Ok(registration)
    }

    /// Caches a document that has passed.
    pub fn register(&self, Registration(known): Registration) {
        if let Some((tenant, hash, text)) = known {
            self.texts.insert((tenant, hash), text);
        }
    }
}

/// A response with the code that Apollo's clients expect. They also check the message.
fn persisted(code: &str, message: &str) -> Response {
    Refusal::new(code, message, None).response()
}

/// The id of the document that a request names, and whether it is a hash as Apollo's clients send it.
fn named(request: &Request) -> Result<Option<(String, bool)>, Refusal> {
    if let Some(Value::String(id)) = request.extensions.get("documentId") {
        return Ok(Some((id.clone(), false)));
    }
    let Some(Value::Object(of)) = request.extensions.get("persistedQuery") else { return Ok(None) };
    let is_version_1 = matches!(of.get("version"), Some(Value::Number(version)) if version.as_i64() == Some(1));
    match of.get("sha256Hash") {
        Some(Value::String(hash)) if is_version_1 && hash.len() == 64 => Ok(Some((hash.to_ascii_lowercase(), true))),
        _ => Err(Refusal::invalid("a persisted query needs version 1 and a sha256Hash of 64 digits", None)),
    }
}
