//! Limits on the size of documents and variables.

/// The limits on a document and the variables sent with it.
#[derive(Clone, Debug)]
pub struct DocumentLimits {
    /// Bytes of a document.
    pub document_bytes: usize,
    /// Tokens of a document.
    pub tokens: usize,
    /// Nested brackets. More than about 200 overflow the stack of the parser.
    pub nesting: usize,
    /// Fields and fragments, after the fragments are expanded.
    pub fields: usize,
    /// Nested fields.
    pub depth: usize,
    /// How often a field may occur within itself.
    pub recursion: usize,
    /// Top-level fields of an operation.
    pub root_fields: usize,
    /// Aliases of an operation.
    pub aliases: usize,
    /// Directives of a document.
    pub directives: usize,
    /// Entries of any list in the variables.
    pub list_items: usize,
    /// Number of documents to cache; 0 disables the cache.
    pub cached_documents: u32,
    /// Approximate total size of cached documents, in bytes.
    pub cached_document_bytes: u32,
}

impl Default for DocumentLimits {
    /// Generous for handwritten documents.
    fn default() -> Self {
        Self {
            document_bytes: 64 * 1024,
            tokens: 10_000,
            nesting: 50,
            fields: 2_000,
            depth: 20,
            recursion: 8,
            root_fields: 20,
            aliases: 100,
            directives: 100,
            list_items: 10_000,
            cached_documents: 1_000,
            cached_document_bytes: 16 * 1024 * 1024,
        }
    }
}
