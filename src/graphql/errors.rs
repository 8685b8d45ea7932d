//! Translates errors to what clients see. No other place does.

use async_graphql::resolver_utils::EnumType;
use async_graphql::{Enum, ErrorExtensionValues, Object, Pos, Response, ServerError};

use base::error::Error;
use base::text::{character_count, shorten_text};

/// Most characters of an error message: it may repeat its input, which may be a megabyte.
const MESSAGE: usize = 400;

/// Sets `extensions.code` and `field`. An internal error is logged here and hidden from the client.
///
/// Errors without our `Error` as their source come from the library and get the code `library`: from validation or,
/// during execution, from reading an input.
pub fn add_extensions(error: &mut ServerError, library: &'static str) {
    if error.message.len() > MESSAGE {
        error.message = shorten_text(&error.message, MESSAGE + 1, "…", character_count);
    }
    let Some(cause) = error.source::<Error>() else {
        if error.extensions.as_ref().is_none_or(|extensions| extensions.get("code").is_none()) {
            set_extensions(error, library, None);
        }
        return;
    };
    let field = match cause {
        Error::BadInput { field, .. } | Error::NotFound { field, .. } if !field.is_empty() => Some(field.clone()),
        _ => None,
    };
    let code = error_code(cause);
    if let Error::Internal(_) = cause {
        // Without the path: it consists of names that clients choose.
        tracing::error!(cause = cause.log_message(), "a request failed");
    }
    let retry_after = if let Error::RateLimited { retry_after, .. } = cause { Some(*retry_after) } else { None };
    set_extensions(error, code, field);
    if let (Some(seconds), Some(extensions)) = (retry_after, &mut error.extensions) {
        extensions.set("retryAfter", seconds);
    }
}

/// The response to a request that failed as a whole.
pub fn error_response(error: Error) -> Response {
    let mut error = async_graphql::Error::from(error).into_server_error(Pos::default());
    error.locations.clear();
    add_extensions(&mut error, "INTERNAL");
    Response::from_errors(vec![error])
}

/// The code of an error, for clients to react to.
pub fn error_code(error: &Error) -> &'static str {
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

fn set_extensions(error: &mut ServerError, code: &str, field: Option<String>) {
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
    /// All values that `extensions.code` of an error may have. Any role.
    async fn error_codes(&self) -> Vec<ErrorCode> {
        <ErrorCode as EnumType>::items().iter().map(|item| item.value).collect()
    }
}

/// Values of an error's `extensions.code`, for clients to react to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum ErrorCode {
    /// The input is wrong; `extensions.field` names the field. Nothing was changed.
    BadUserInput,
    /// The call contradicts the current state. Nothing was changed.
    Conflict,
    /// The caller's role may not do this.
    Forbidden,
    /// The document is not GraphQL. Nothing was executed.
    GraphqlParseFailed,
    /// The document does not fit the schema, or requests too much at once. Nothing was executed.
    GraphqlValidationFailed,
    /// The server failed, and no caller can avoid it. Operators find it in the log by the response's `x-request-id`.
    Internal,
    /// The object does not exist, or belongs to another user.
    NotFound,
    /// The server knows no document with this hash. Send the document along once.
    PersistedQueryNotFound,
    /// This server does not accept documents by hash. Send the document itself.
    PersistedQueryNotSupported,
    /// The caller's rate is used up. `extensions.retryAfter` is the time to wait in seconds.
    RateLimited,
    /// The token is missing, unknown or no longer valid.
    Unauthenticated,
    /// The server is overloaded, or its database is unavailable. The same call may succeed in a moment.
    Unavailable,
}
