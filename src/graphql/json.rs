//! JSON as clients send it: numbers keep their digits, objects keep the order of their keys.
//!
//! The library's own `Json` goes through its serializer, which knows numbers of 64 bits only.

use async_graphql::{InputValueResult, Name, Request, Scalar, ScalarType, Value};
use serde_json::Value as Plain;

/// The key under which `serde_json` hides a number from deserializers that are not its own.
const NUMBER: &str = "$serde_json::private::Number";

/// Any JSON value. Numbers keep all their digits, objects keep the order of their keys. If a key occurs twice, the last
/// value counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonScalar(pub Plain);

/// Any JSON value. Numbers keep all their digits, objects keep the order of their keys. If a key occurs twice, the last
/// value counts.
#[Scalar(name = "JSON")]
impl ScalarType for JsonScalar {
    fn parse(value: Value) -> InputValueResult<Self> {
        Ok(Self(value_to_json(value)))
    }

    fn to_value(&self) -> Value {
        json_to_value(self.0.clone())
    }
}

/// JSON as a value of the library.
pub fn json_to_value(json: Plain) -> Value {
    match json {
        Plain::Null => Value::Null,
        Plain::Bool(is) => Value::Boolean(is),
        Plain::Number(number) => Value::Number(number),
        Plain::String(text) => Value::String(text),
        Plain::Array(entries) => Value::List(entries.into_iter().map(json_to_value).collect()),
        Plain::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, field)| (Name::new(name), json_to_value(field))).collect())
        }
    }
}

/// A value of the library as JSON.
fn value_to_json(value: Value) -> Plain {
    match value {
        Value::Null => Plain::Null,
        Value::Boolean(is) => Plain::Bool(is),
        Value::Number(number) => Plain::Number(number),
        Value::String(text) => Plain::String(text),
        Value::Enum(name) => Plain::String(name.as_str().to_owned()),
        Value::Binary(bytes) => bytes.iter().copied().collect(),
        Value::List(entries) => entries.into_iter().map(value_to_json).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, field)| (name.as_str().to_owned(), value_to_json(field))).collect()
        }
    }
}

/// Restores the numbers of a request that a host deserialized with the library, which turns each into an object.
pub fn restore_numbers(request: &mut Request) {
    let values = request.variables.values_mut();
    values.chain(request.extensions.values_mut()).for_each(restore_value);
}

fn restore_value(value: &mut Value) {
    match value {
        Value::List(entries) => entries.iter_mut().for_each(restore_value),
        Value::Object(fields) => {
            if let (1, Some(Value::String(digits))) = (fields.len(), fields.get(NUMBER))
                && let Ok(number) = digits.parse()
            {
                *value = Value::Number(number);
            } else {
                fields.values_mut().for_each(restore_value);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"z":18446744073709551616,"a":[0.10000000000000000001,1.50,-0,1e+400,"x",null,true],"m":{}}"#;

    #[test]
    fn json_comes_back_as_it_was_sent() {
        let json: Plain = serde_json::from_str(TEXT).unwrap();
        let value = JsonScalar(json).to_value();
        assert_eq!(serde_json::to_string(&value).unwrap(), TEXT);
        assert_eq!(JsonScalar::parse(value).unwrap().0.to_string(), TEXT);
    }

    #[test]
    fn the_numbers_of_a_host_are_put_back() {
        let mut request =
            Request::new("").variables(serde_json::from_str(&format!(r#"{{"json":{TEXT},"n":3}}"#)).unwrap());
        restore_numbers(&mut request);
        assert_eq!(request.variables["n"], Value::from(3));
        assert_eq!(serde_json::to_string(&request.variables["json"]).unwrap(), TEXT);
    }
}
