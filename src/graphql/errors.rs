//! The one place where errors become what clients see.

use async_graphql::resolver_utils::EnumType;
use async_graphql::{Enum, ErrorExtensionValues, Object, Pos, Response, ServerError};

use crate::error::Error;
use crate::text::{characters, cut};

/// Characters of a message that are answered: it may repeat what it was sent, which may be a megabyte.
const MESSAGE: usize = 400;

/// Gives an error its `extensions.code` and `field`; what nobody outside can help is logged here, and hidden.
///
/// What is not ours is the library's: its validation's, or, once a document is executed, about an input that it cannot read.
pub fn translate(error: &mut ServerError, library: &'static str) {
    if error.message.len() > MESSAGE {
        error.message = cut(&error.message, MESSAGE + 1, "…", characters);
    }
    let Some(cause) = error.source::<Error>() else {
        if error.extensions.as_ref().is_none_or(|extensions| extensions.get("code").is_none()) {
            set(error, library, None);
        }
        return;
    };
    let field = match cause {
        Error::BadInput { field, .. } | Error::NotFound { field, .. } if !field.is_empty() => Some(field.clone()),
        _ => None,
    };
    let code = code(cause);
    if let Error::Internal(_) = cause {
        // No path: clients choose the names of which it is made.
        tracing::error!(cause = cause.told(), "a request failed");
    }
    let retry_after = if let Error::RateLimited { retry_after, .. } = cause { Some(*retry_after) } else { None };
    set(error, code, field);
    if let (Some(seconds), Some(extensions)) = (retry_after, &mut error.extensions) {
        extensions.set("retryAfter", seconds);
    }
}

/// The answer to a request that failed as a whole.
pub fn failed(error: Error) -> Response {
    let mut error = async_graphql::Error::from(error).into_server_error(Pos::default());
    error.locations.clear();
    translate(&mut error, "INTERNAL");
    Response::from_errors(vec![error])
}

/// What a client reacts to.
pub fn code(error: &Error) -> &'static str {
    match error {
        Error::Unauthenticated(_) => "UNAUTHENTICATED",
        Error::Forbidden(_) => "FORBIDDEN",
        Error::NotFound { .. } => "NOT_FOUND",
        Error::BadInput { .. } => "BAD_USER_INPUT",
        Error::Conflict(_) => "CONFLICT",
        Error::Unavailable(_) | Error::Erased => "UNAVAILABLE",
        Error::RateLimited { .. } => "RATE_LIMITED",
        Error::Config(_) | Error::Internal(_) => "INTERNAL",
    }
}

fn set(error: &mut ServerError, code: &str, field: Option<String>) {
    let extensions = error.extensions.get_or_insert_with(ErrorExtensionValues::default);
    extensions.set("code", code);
    if let Some(field) = field {
        extensions.set("field", field);
    }
}

#[derive(Default)]
pub struct ErrorQuery;

#[Object]
impl ErrorQuery {
    /// Every code that an answer's `extensions.code` may be. Any role.
    async fn error_codes(&self) -> Vec<ErrorCode> {
        <ErrorCode as EnumType>::items().iter().map(|item| item.value).collect()
    }
}

/// What an answer's `extensions.code` may be: what a client reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum ErrorCode {
    /// The input is to blame, and `extensions.field` says which; nothing was changed.
    BadUserInput,
    /// It contradicts what is already there; nothing was changed.
    Conflict,
    /// The caller's role may not do this.
    Forbidden,
    /// The document is not GraphQL; nothing was executed.
    GraphqlParseFailed,
    /// The document does not fit the schema, or asks for too much at once; nothing was executed.
    GraphqlValidationFailed,
    /// What no caller can help; operators find it in the log under the `x-request-id` of the answer.
    Internal,
    /// Does not exist, or belongs to somebody else.
    NotFound,
    /// No document is known by this hash: send it along once.
    PersistedQueryNotFound,
    /// This server takes no documents by hash: send the document itself.
    PersistedQueryNotSupported,
    /// More than the caller's share: `extensions.retryAfter` says in how many seconds to come back.
    RateLimited,
    /// Nobody that we know is calling: a token is missing, or is no longer valid.
    Unauthenticated,
    /// Overloaded, or the database is away: the same call may succeed in a moment.
    Unavailable,
}
