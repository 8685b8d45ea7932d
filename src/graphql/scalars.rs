//! Instants and numbers as clients see them.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use chrono::SecondsFormat;

use crate::clock::{Millis, calendar, instant};

/// RFC 3339 instant, UTC, millisecond precision, such as `2026-11-21T08:30:00.000Z`. Other offsets are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant(pub Millis);

/// RFC 3339 instant, UTC, millisecond precision, such as `2026-11-21T08:30:00.000Z`. Other offsets are understood.
#[Scalar(name = "DateTime", specified_by_url = "https://scalars.graphql.org/andimarek/date-time")]
impl ScalarType for Instant {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(InputValueError::expected_type(value)) };
        instant(text).map(Self).map_err(InputValueError::custom)
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

/// A count as the API has them, in 32 bits; ours never come near.
pub fn int(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}
