//! Instants as clients see them.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use chrono::{DateTime, SecondsFormat, Utc};

use crate::clock::{Millis, calendar};

/// RFC 3339 instant, UTC, millisecond precision, such as `2026-11-21T08:30:00.000Z`. Other offsets are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant(pub Millis);

#[Scalar(name = "DateTime", specified_by_url = "https://scalars.graphql.org/andimarek/date-time")]
impl ScalarType for Instant {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(InputValueError::expected_type(value)) };
        let instant = DateTime::parse_from_rfc3339(text)
            .map_err(|_| InputValueError::custom("must be an instant such as 2026-11-21T08:30:00.000Z (RFC 3339)"))?;
        Ok(Self(instant.with_timezone(&Utc).timestamp_millis()))
    }

    fn to_value(&self) -> Value {
        Value::String(calendar(self.0).to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl From<Millis> for Instant {
    fn from(at: Millis) -> Self {
        Self(at)
    }
}
