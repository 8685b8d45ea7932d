//! Documents that are named instead of sent: automatic persisted queries
//! (<https://www.apollographql.com/docs/apollo-server/performance/apq>) and the list of trusted operations.

use std::sync::Arc;

use async_graphql::{Request, Response, Value};
use entity::ids::TenantId;
use guard::DocumentRefusal;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::operations::sha256_hex;
use crate::app::App;
use crate::graphql::context::Viewer;
use crate::graphql::errors::error_response;
use auth::CallerRole;
use base::config::ServerConfig;
use base::error::Error;
use model::per_user_cache::new_cache;

/// Bytes of a cached text besides its own.
const PLACE: usize = 256;
/// Most shards of the cache, and the number of longest texts that each shard must have room for.
const SHARDS: usize = 8;
const LONGEST: usize = 8;

/// Texts that clients have sent once with their hash, separate for each tenant.
#[derive(Clone, Debug)]
pub struct PersistedDocuments {
    is_on: bool,
    texts: Arc<Cache<DocumentKey, Arc<str>, TextWeighter>>,
}

/// The tenant and the hash.
type DocumentKey = (TenantId, String);

#[derive(Clone, Debug)]
struct TextWeighter;

impl Weighter<DocumentKey, Arc<str>> for TextWeighter {
    fn weight(&self, _: &DocumentKey, text: &Arc<str>) -> u64 {
        (text.len() + PLACE) as u64
    }
}

/// The text to cache once a request's document has passed.
pub struct DocumentRegistration(Option<(TenantId, String, Arc<str>)>);

impl PersistedDocuments {
    /// An empty cache, bounded by bytes. It evicts the least used texts.
    pub fn new(config: &ServerConfig) -> Self {
        let limits = &config.limits;
        let bytes = limits.cached_document_bytes as usize;
        let longest = LONGEST * limits.document_bytes.max(1);
        let texts = new_cache((bytes / longest).clamp(1, SHARDS), bytes / (4 * PLACE), bytes as u64, TextWeighter);
        Self { is_on: !config.wire.no_persisted_queries, texts: Arc::new(texts) }
    }

    /// Puts the document into a request that only names it. Refuses a user's document that is not on the list.
    pub fn resolve_document(
        &self,
        app: &App,
        viewer: Option<&Viewer>,
        request: &mut Request,
    ) -> Result<DocumentRegistration, Box<Response>> {
        let id = named_document(request).map_err(DocumentRefusal::into_response)?;
        let mut registration = DocumentRegistration(None);
        if let Some((id, is_hash)) = id {
            let listed = app.operations.as_ref().and_then(|operations| operations.find_by_id(&id));
            if !request.query.is_empty() {
                if is_hash && sha256_hex(&request.query) != id {
                    let message = "sha256Hash is not the hash of the persisted query";
                    return Err(DocumentRefusal::invalid(message, None).into_response().into());
                }
                if let Some(viewer) = viewer.filter(|_| self.is_on && is_hash) {
                    let text = request.query.as_str().into();
                    registration = DocumentRegistration(Some((viewer.tenant.id, id, text)));
                }
            } else if let Some(document) = listed {
                request.query = document.to_string();
            } else if self.is_on || !is_hash {
                let known = match viewer {
                    Some(viewer) => self.texts.get(&(viewer.tenant.id, id)),
                    None => None,
                };
                let unknown = || persisted_query_error("PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound");
                request.query = known.ok_or_else(unknown)?.to_string();
            } else {
                return Err(persisted_query_error("PERSISTED_QUERY_NOT_SUPPORTED", "PersistedQueryNotSupported").into());
            }
        }
        let is_bound = viewer.is_some_and(|viewer| viewer.role == CallerRole::User);
        if is_bound && app.operations.as_ref().is_some_and(|operations| !operations.contains(&request.query)) {
            let message = "users may run only the operations that this server lists";
            return Err(error_response(Error::Forbidden(message.into())).into());
        }
        Ok(registration)
    }

    /// Caches a document that has passed.
    pub fn register(&self, DocumentRegistration(known): DocumentRegistration) {
        if let Some((tenant, hash, text)) = known {
            self.texts.insert((tenant, hash), text);
        }
    }
}

/// A response with the code that Apollo's clients expect. They also check the message.
fn persisted_query_error(code: &str, message: &str) -> Response {
    DocumentRefusal::new(code, message, None).into_response()
}

/// The id of the document that a request names, and whether it is a hash as Apollo's clients send it.
fn named_document(request: &Request) -> Result<Option<(String, bool)>, DocumentRefusal> {
    if let Some(Value::String(id)) = request.extensions.get("documentId") {
        return Ok(Some((id.clone(), false)));
    }
    let Some(Value::Object(of)) = request.extensions.get("persistedQuery") else { return Ok(None) };
    let is_version_1 = matches!(of.get("version"), Some(Value::Number(version)) if version.as_i64() == Some(1));
    match of.get("sha256Hash") {
        Some(Value::String(hash)) if is_version_1 && hash.len() == 64 => Ok(Some((hash.to_ascii_lowercase(), true))),
        _ => Err(DocumentRefusal::invalid("a persisted query needs version 1 and a sha256Hash of 64 digits", None)),
    }
}
