//! Errors for documents that are not executed.

use async_graphql::{ErrorExtensionValues, Pos, Response, ServerError};

/// Maximum number of errors returned for one validation. 2,000 wrong fields would make a response of 200 KB.
const ERRORS: usize = 10;

/// Maximum length of an error message, in characters. It may quote the request, which may be a megabyte.
const MESSAGE: usize = 400;

/// The errors for a refused document. Each has an `extensions.code` that clients can react to.
#[derive(Debug)]
pub struct DocumentRefusal(Vec<ServerError>);

impl DocumentRefusal {
    /// An error with a custom code.
    pub fn new(code: &str, message: impl Into<String>, at: Option<Pos>) -> Self {
        let mut error = ServerError::new(message, at);
        let mut extensions = ErrorExtensionValues::default();
        extensions.set("code", code);
        error.extensions = Some(extensions);
        Self(vec![error])
    }

    fn with_extension(mut self, name: &str, value: &str) -> Self {
        for error in &mut self.0 {
            error.extensions.get_or_insert_default().set(name, value);
        }
        self
    }

    /// A syntax error. `hint` must not quote the document, because it may contain data that must not be logged.
    pub(crate) fn syntax(hint: &str, at: Option<Pos>) -> Self {
        let place = at.map(|at| format!(" at line {}, column {}", at.line, at.column)).unwrap_or_default();
        let hint = if hint.is_empty() { String::new() } else { format!(": {hint}") };
        Self::new("GRAPHQL_PARSE_FAILED", format!("the query is not valid GraphQL{place}{hint}"), at)
    }

    /// A document with valid syntax that does not match the schema.
    pub fn invalid(message: impl Into<String>, at: Option<Pos>) -> Self {
        Self::new("GRAPHQL_VALIDATION_FAILED", message, at)
    }

    /// A limit is exceeded. `extensions.limit` has its name.
    pub(crate) fn limit(name: &str, what: &str, most: usize) -> Self {
        let message = format!("the query exceeds a limit: {what}, at most {most} ({name})");
        Self::new("GRAPHQL_VALIDATION_FAILED", message, None).with_extension("limit", name)
    }

    /// A variable with an invalid value. `extensions.field` has the path to it.
    pub(crate) fn variable(path: &str, message: &str) -> Self {
        Self::new("BAD_USER_INPUT", format!("`{path}` {message}"), None).with_extension("field", path)
    }

    /// The errors of async-graphql's validation, truncated to the limits.
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

    /// The response, without data.
    pub fn into_response(self) -> Response {
        Response::from_errors(self.0)
    }
}
