//! How much a document may hold.

/// The most of everything that a document, or the variables sent with it, may hold.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a document.
    pub document_bytes: usize,
    /// Tokens of a document.
    pub tokens: usize,
    /// Brackets within each other. More than about 200 overflow the stack of the parser.
    pub nesting: usize,
    /// Fields and fragments, once the fragments are written out.
    pub fields: usize,
    /// Fields within each other.
    pub depth: usize,
    /// How often a field may stand within itself.
    pub recursion: usize,
    /// Fields of an operation's first level.
    pub root_fields: usize,
    /// Aliases of an operation.
    pub aliases: usize,
    /// Directives of a document.
    pub directives: usize,
    /// Entries of any list in the variables.
    pub list_items: usize,
    /// Documents that are remembered once they have passed; 0 for none.
    pub cached_documents: u32,
    /// About the bytes that these may take together.
    pub cached_document_bytes: u32,
}

impl Default for Limits {
    /// Generous for documents that people write.
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
