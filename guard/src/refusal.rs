//! Why a document is not executed.

use async_graphql::{ErrorExtensionValues, Pos, Response, ServerError};

/// Errors of one validation that are answered; a document of 2,000 wrong fields would have an answer of 200 KB.
const ERRORS: usize = 10;

/// Characters of a message that are answered: it may repeat what it was sent, which may be a megabyte.
const MESSAGE: usize = 400;

/// Why a document is not executed, and what a client can react to: each error has an `extensions.code`.
#[derive(Debug)]
pub struct Refusal(Vec<ServerError>);

impl Refusal {
    /// With a code of one's own.
    pub fn new(code: &str, message: impl Into<String>, at: Option<Pos>) -> Self {
        let mut error = ServerError::new(message, at);
        let mut extensions = ErrorExtensionValues::default();
        extensions.set("code", code);
        error.extensions = Some(extensions);
        Self(vec![error])
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        for error in &mut self.0 {
            error.extensions.get_or_insert_default().set(name, value);
        }
        self
    }

    /// No GraphQL. `hint` must not repeat the document, which may hold what does not belong into logs.
    pub(crate) fn syntax(hint: &str, at: Option<Pos>) -> Self {
        let place = at.map(|at| format!(" at line {}, column {}", at.line, at.column)).unwrap_or_default();
        let hint = if hint.is_empty() { String::new() } else { format!(": {hint}") };
        Self::new("GRAPHQL_PARSE_FAILED", format!("the query is not valid GraphQL{place}{hint}"), at)
    }

    /// GraphQL that does not fit together.
    pub fn invalid(message: impl Into<String>, at: Option<Pos>) -> Self {
        Self::new("GRAPHQL_VALIDATION_FAILED", message, at)
    }

    /// More than a limit allows, whose name `extensions.limit` has.
    pub(crate) fn limit(name: &str, what: &str, most: usize) -> Self {
        let message = format!("the query has too many or too much: {what}, at most {most} ({name})");
        Self::new("GRAPHQL_VALIDATION_FAILED", message, None).with("limit", name)
    }

    /// A variable with a value that it cannot have; `extensions.field` has the path to it.
    pub(crate) fn variable(path: &str, message: &str) -> Self {
        Self::new("BAD_USER_INPUT", format!("`{path}` {message}"), None).with("field", path)
    }

    /// What the library found wrong with a document, as far as it fits.
    pub(crate) fn validation(mut found: Vec<ServerError>) -> Self {
        found.truncate(ERRORS);
        for error in &mut found {
            if let Some((at, _)) = error.message.char_indices().nth(MESSAGE) {
                error.message.truncate(at);
                error.message.push('…');
            }
            let extensions = error.extensions.get_or_insert_default();
            if extensions.get("code").is_none() {
                extensions.set("code", "GRAPHQL_VALIDATION_FAILED");
            }
        }
        Self(found)
    }

    /// As it is answered, without data.
    pub fn response(self) -> Response {
        Response::from_errors(self.0)
    }
}
