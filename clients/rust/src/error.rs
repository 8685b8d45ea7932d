//! Errors of operations.

use std::time::Duration;

use reqwest::{StatusCode, header};
use serde::Deserialize;

use crate::output::ErrorCode;

/// A failed operation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{code:?}: {message}")]
#[non_exhaustive]
pub struct Error {
    /// For programs.
    pub code: ErrorCode,
    /// For people; may change.
    pub message: String,
    /// The invalid argument, such as `inputs[3].message.type`, if there is one.
    pub field: Option<String>,
    /// The limit that was exceeded, if any.
    pub limit: Option<String>,
    /// How long to wait before another attempt, if the server says so.
    pub retry_after: Option<Duration>,
    /// The id of the request in the server's log.
    pub request_id: Option<String>,
}

/// An entry of `errors` in a response.
#[derive(Deserialize)]
pub struct Told {
    message: String,
    extensions: Option<Extensions>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Extensions {
    code: Option<ErrorCode>,
    field: Option<String>,
    limit: Option<String>,
    retry_after: Option<f64>,
}

impl Error {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None, limit: None, retry_after: None, request_id: None }
    }

    /// There was no response, or only a part of it.
    pub(crate) fn unanswered(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(because) = cause {
            message = format!("{message}: {because}");
            cause = because.source();
        }
        Self::new(ErrorCode::Unavailable, message)
    }

    /// The error of a response without data.
    pub(crate) fn of_answer(status: StatusCode, headers: &header::HeaderMap, told: Option<Told>) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        // HTTP also allows a date here; it is ignored.
        let seconds = text(header::RETRY_AFTER.as_str()).and_then(|value| value.parse().ok());
        let (message, extensions) = told.map_or((None, None), |told| (Some(told.message), told.extensions));
        let extensions = extensions.unwrap_or(Extensions { code: None, field: None, limit: None, retry_after: None });
        let seconds = extensions.retry_after.or(seconds);
        Self {
            code: extensions.code.unwrap_or_else(|| code_of(status)),
            message: message.unwrap_or_else(|| format!("HTTP {status}")),
            field: extensions.field,
            limit: extensions.limit,
            retry_after: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            request_id: text("x-request-id").map(Into::into),
        }
    }

    /// Whether a retry may succeed.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self.code, ErrorCode::RateLimited | ErrorCode::Unavailable)
    }

    /// Whether a single input may be the cause, so that the others would succeed without it.
    pub(crate) fn is_of_input(&self) -> bool {
        matches!(self.code, ErrorCode::BadUserInput | ErrorCode::Conflict | ErrorCode::NotFound)
    }

    /// The index in `inputs` that `field` names, and the rest of `field`.
    fn entry(&self) -> Option<(usize, &str)> {
        let (index, rest) = self.field.as_ref()?.strip_prefix("inputs[")?.split_once(']')?;
        Some((index.parse().ok()?, rest))
    }

    /// The index of the invalid entry of `inputs`.
    pub(crate) fn index(&self) -> Option<usize> {
        Some(self.entry()?.0)
    }

    /// Adds `count` to the index in `field`, for an input that was part of a longer list.
    pub(crate) fn shifted(mut self, count: usize) -> Self {
        if let Some((index, rest)) = self.entry() {
            self.field = Some(format!("inputs[{}]{rest}", index + count));
        }
        self
    }

    /// Removes the index from `field`, for an input that was sent by itself.
    pub(crate) fn alone(mut self) -> Self {
        if let Some((_, rest)) = self.entry() {
            self.field = Some(rest.trim_start_matches('.').into());
        }
        self
    }
}

/// The code for a status if the response has no Tidings error, such as the response of a proxy.
fn code_of(status: StatusCode) -> ErrorCode {
    match status {
        StatusCode::UNAUTHORIZED => ErrorCode::Unauthenticated,
        StatusCode::FORBIDDEN => ErrorCode::Forbidden,
        StatusCode::PAYLOAD_TOO_LARGE => ErrorCode::BadUserInput,
        StatusCode::TOO_MANY_REQUESTS => ErrorCode::RateLimited,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            ErrorCode::Unavailable
        }
        _ => ErrorCode::Internal,
    }
}
