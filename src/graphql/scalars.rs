//! Instants and numbers of the API.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use chrono::SecondsFormat;

use base::clock::{Millis, parse_instant, to_date_time};

/// RFC 3339 instant in UTC with milliseconds, such as `2026-11-21T08:30:00.000Z`. Inputs may have other offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTimeScalar(pub Millis);

/// RFC 3339 instant in UTC with milliseconds, such as `2026-11-21T08:30:00.000Z`. Inputs may have other offsets.
#[Scalar(name = "DateTime", specified_by_url = "https://scalars.graphql.org/andimarek/date-time")]
impl ScalarType for DateTimeScalar {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(InputValueError::expected_type(value)) };
        parse_instant(text).map(Self).map_err(InputValueError::custom)
    }

    fn to_value(&self) -> Value {
        Value::String(to_date_time(self.0).to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl From<Millis> for DateTimeScalar {
    fn from(at: Millis) -> Self {
        Self(at)
    }
}

/// A count in the API's 32 bits, which no count comes near.
pub fn to_int(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}
