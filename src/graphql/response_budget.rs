//! The size limit of responses. Sizes are counted during execution, so that a response beyond the limit is not
//! completed.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_graphql::{Response, Value};
use serde::Serialize;

use super::Viewer;
use super::errors::error_response;
use auth::CallerRole;
use base::config::LimitsConfig;
use base::error::Error;

/// Bytes of a field besides its name and value: quotes, a colon, a comma.
const FIELD: usize = 4;

/// The bytes that a response may have. Fields take their share.
#[derive(Clone, Debug)]
pub struct ResponseBudget(Arc<ByteCounter>);

#[derive(Debug)]
struct ByteCounter {
    most: usize,
    taken: AtomicUsize,
}

impl ResponseBudget {
    /// For a response to a caller, or without one.
    pub fn for_viewer(limits: &LimitsConfig, viewer: Option<&Viewer>) -> Self {
        let is_staff = viewer.is_some_and(|viewer| viewer.role != CallerRole::User);
        let most = if is_staff { limits.staff_answer_bytes } else { limits.answer_bytes };
        Self(Arc::new(ByteCounter { most, taken: AtomicUsize::new(0) }))
    }

    /// The limit in bytes.
    pub fn max_bytes(&self) -> usize {
        self.0.most
    }

    /// Takes the minimum size of a field with a value of its own. An error if it exceeds the limit.
    pub fn charge_field(&self, name: &str, value: &Value) -> Result<(), Error> {
        let bytes = FIELD + name.len() + min_json_size(value);
        let taken = self.0.taken.fetch_add(bytes, Ordering::Relaxed);
        if taken.saturating_add(bytes) > self.0.most { Err(self.limit_error()) } else { Ok(()) }
    }

    /// Bytes that fields have taken.
    pub fn used_bytes(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// The response, or an error if its fields exceeded the limit: it is then incomplete.
    pub fn check_response(&self, response: Response) -> Response {
        if self.0.taken.load(Ordering::Relaxed) > self.0.most { self.limit_response() } else { response }
    }

    /// The JSON of a response, or an error response if the JSON exceeds the limit.
    pub fn to_json(&self, response: &Response) -> Result<String, Box<Response>> {
        let mut text = CappedBuffer { bytes: Vec::with_capacity(512), most: self.0.most };
        let written = response.serialize(&mut serde_json::Serializer::new(&mut text));
        // JSON is UTF-8.
        let json = written.ok().and_then(|()| String::from_utf8(text.bytes).ok());
        json.ok_or_else(|| Box::new(self.limit_response()))
    }

    fn limit_error(&self) -> Error {
        let most = self.0.most;
        Error::bad_input("", format!("the response has more than {most} bytes: request less at once (answer_bytes)"))
    }

    fn limit_response(&self) -> Response {
        let mut refusal = error_response(self.limit_error());
        for error in &mut refusal.errors {
            error.extensions.get_or_insert_default().set("limit", "answer_bytes");
        }
        refusal
    }
}

/// Minimum size of a value as JSON.
fn min_json_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Boolean(_) => 4,
        Value::Number(_) => 1,
        Value::String(text) => text.len() + 2,
        Value::Enum(name) => name.len() + 2,
        Value::Binary(bytes) => bytes.len(),
        Value::List(values) => values.iter().map(|value| min_json_size(value) + 1).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| FIELD + name.len() + min_json_size(value)).sum(),
    }
}

/// A buffer that fails beyond `most` bytes.
struct CappedBuffer {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for CappedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::value;

    use super::*;

    #[test]
    fn a_value_is_never_taken_for_more_than_its_json() {
        for value in [
            value!(null),
            value!(true),
            value!(-1.5),
            value!("a \"quoted\" word"),
            value!([]),
            value!([1, [2, "three"], { "four": {} }]),
            value!({ "a": 1, "b": [null, false], "c": { "d": "e" } }),
        ] {
            let json = serde_json::to_string(&value).unwrap();
            assert!(min_json_size(&value) <= json.len() + 1, "{json}: {}", min_json_size(&value));
        }
    }
}
