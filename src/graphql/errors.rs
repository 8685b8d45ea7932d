//! The one place where errors become what clients see.

use async_graphql::{ErrorExtensionValues, ServerError};

use crate::error::Error;

/// Gives an error its `extensions.code` and `field`; what nobody outside can help is logged here, and hidden.
pub fn translate(error: &mut ServerError) {
    let Some(cause) = error.source::<Error>() else {
        if error.extensions.as_ref().is_none_or(|extensions| extensions.get("code").is_none()) {
            let is_syntax = error.message.trim_start().starts_with("-->");
            if is_syntax {
                // The parser repeats the query, which may be long and may hold what does not belong into logs.
                error.message = "the query is not valid GraphQL".into();
            }
            set(error, if is_syntax { "GRAPHQL_PARSE_FAILED" } else { "GRAPHQL_VALIDATION_FAILED" }, None);
        }
        return;
    };
    let field = match cause {
        Error::BadInput { field, .. } if !field.is_empty() => Some(field.clone()),
        _ => None,
    };
    let code = code(cause);
    if let Error::Internal(cause) = cause {
        tracing::error!(error = ?cause, path = ?error.path, "a request failed");
    }
    set(error, code, field);
}

/// What a client reacts to.
pub fn code(error: &Error) -> &'static str {
    match error {
        Error::Unauthenticated(_) => "UNAUTHENTICATED",
        Error::Forbidden(_) => "FORBIDDEN",
        Error::NotFound { .. } => "NOT_FOUND",
        Error::BadInput { .. } => "BAD_USER_INPUT",
        Error::Conflict(_) => "CONFLICT",
        Error::Unavailable(_) => "UNAVAILABLE",
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
