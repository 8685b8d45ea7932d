//! The list of operations that users are limited to, read once from a file.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use base::error::{Error, Result};

/// The `format` of an Apollo manifest.
const MANIFEST: &str = "apollo-persisted-query-manifest";

/// The contents of the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum OperationList {
    Manifest { format: String, operations: Vec<ListedOperation> },
    Plain(HashMap<String, String>),
}

/// An operation of a manifest.
#[derive(Deserialize)]
struct ListedOperation {
    id: String,
    body: String,
}

/// Documents by id and by the SHA-256 of their text.
#[derive(Debug, Default)]
pub struct PersistedOperations {
    by_id: HashMap<String, Arc<str>>,
    texts: HashSet<Arc<str>>,
}

/// The SHA-256 of a document, as lower-case hexadecimal digits, as Apollo's clients and most build tools write it.
pub fn sha256_hex(document: &str) -> String {
    use std::fmt::Write;
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(document) {
        write!(hex, "{byte:02x}").expect("writing to a String does not fail");
    }
    hex
}

impl PersistedOperations {
    /// Reads a JSON object of ids and documents, as the Relay compiler and GraphQL Code Generator write it, or a
    /// manifest of Apollo's clients
    /// (<https://www.apollographql.com/docs/graphos/platform/security/persisted-queries#manifest-format>).
    pub async fn load(path: &Path) -> Result<Self> {
        let unusable = |why: String| Error::Config(format!("TIDINGS_OPERATIONS={}: {why}", path.display()));
        let text = tokio::fs::read(path).await.map_err(|error| unusable(error.to_string()))?;
        let listed: OperationList = serde_json::from_slice(&text)
            .map_err(|_| unusable("is neither a JSON object of ids and documents, nor Apollo's manifest".into()))?;
        let listed = match listed {
            OperationList::Manifest { format, .. } if format != MANIFEST => {
                return Err(unusable(format!("is a manifest of the format {format:?}, not {MANIFEST:?}")));
            }
            OperationList::Manifest { operations, .. } => operations.into_iter().map(|of| (of.id, of.body)).collect(),
            OperationList::Plain(listed) => listed,
        };
        let mut operations = Self::default();
        for (id, document) in listed {
            guard::parse_trusted(&document)
                .map_err(|_| unusable(format!("the document {id:?} is not valid GraphQL")))?;
            let document: Arc<str> = document.into();
            operations.by_id.insert(sha256_hex(&document), document.clone());
            operations.by_id.insert(id, document.clone());
            operations.texts.insert(document);
        }
        Ok(operations)
    }

    /// The document with an id or hash; the prefix `sha256:` is optional.
    pub fn find_by_id(&self, id: &str) -> Option<&Arc<str>> {
        self.by_id.get(id).or_else(|| self.by_id.get(id.strip_prefix("sha256:")?))
    }

    /// Whether the list has exactly this text.
    pub fn contains(&self, document: &str) -> bool {
        self.texts.contains(document)
    }
}
