//! Why a request is not executed.

use async_graphql::{ErrorExtensionValues, Pos, Response, ServerError};

use crate::error::Error;
use crate::graphql::errors;

/// Errors of one validation that are answered; a document of 2,000 wrong fields would have an answer of 200 KB.
const ERRORS: usize = 10;

/// Why a request is not executed, and what a client can react to.
#[derive(Debug)]
pub struct Refusal(Vec<ServerError>);

impl Refusal {
    fn new(code: &str, message: impl Into<String>, at: Option<Pos>) -> Self {
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
    pub fn syntax(hint: &str, at: Option<Pos>) -> Self {
        let place = at.map(|at| format!(" at line {}, column {}", at.line, at.column)).unwrap_or_default();
        let hint = if hint.is_empty() { String::new() } else { format!(": {hint}") };
        Self::new("GRAPHQL_PARSE_FAILED", format!("the query is not valid GraphQL{place}{hint}"), at)
    }

    /// GraphQL that does not fit together.
    pub fn invalid(message: impl Into<String>, at: Option<Pos>) -> Self {
        Self::new("GRAPHQL_VALIDATION_FAILED", message, at)
    }

    /// More than a limit of docs/limits.md allows, whose name `extensions.limit` has.
    pub fn limit(name: &str, what: &str, most: usize) -> Self {
        let message = format!("the query has too many or too much: {what}, at most {most} ({name})");
        Self::new("GRAPHQL_VALIDATION_FAILED", message, None).with("limit", name)
    }

    /// A variable with a value that it cannot have, blamed as the domain blames its input.
    pub fn variable(path: &str, message: &str) -> Self {
        Self::new("BAD_USER_INPUT", message, None).with("field", path)
    }

    /// The same with the code of Apollo's clients, who look at the message, too.
    pub fn persisted(code: &str, message: &str) -> Self {
        Self::new(code, message, None)
    }

    /// What the guard shares with the operations behind it.
    pub fn of(error: Error) -> Self {
        let mut error = async_graphql::Error::from(error).into_server_error(Pos::default());
        error.locations.clear();
        errors::translate(&mut error, "INTERNAL");
        Self(vec![error])
    }

    /// What the library found wrong with a document, as far as it fits.
    pub fn validation(mut found: Vec<ServerError>) -> Self {
        found.truncate(ERRORS);
        for error in &mut found {
            errors::translate(error, "GRAPHQL_VALIDATION_FAILED");
        }
        Self(found)
    }

    /// As it is answered.
    pub fn response(self) -> Response {
        Response::from_errors(self.0)
    }
}
