//! Strict parsing of a token's claims, so that no two readers understand a token differently.

use std::fmt::{self, Formatter};

use serde::de::value::StrDeserializer;
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

use super::role::CallerRole;

/// The claims of a token. Duplicate names are rejected: of two claims with one name, some readers use the first and
/// others the last (RFC 7519, section 4).
#[derive(Debug)]
pub struct UniqueClaims(pub Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueClaims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UniqueClaimsVisitor).map(Self)
    }
}

struct UniqueClaimsVisitor;

impl<'de> Visitor<'de> for UniqueClaimsVisitor {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("an object of claims")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut claims = Map::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if claims.contains_key(&name) {
                return Err(A::Error::custom(format_args!("the claim {name:?} occurs twice")));
            }
            claims.insert(name, value);
        }
        Ok(claims)
    }
}

/// Parses a role, which must be a string; serde alone would also accept `{"admin": null}`.
pub fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CallerRole, D::Error> {
    let said = String::deserialize(deserializer)?;
    let said: StrDeserializer<'_, D::Error> = said.as_str().into_deserializer();
    CallerRole::deserialize(said)
}

/// The last second of the year 9999. A later value is in milliseconds or invalid.
const LATEST: f64 = 253_402_300_799.0;

/// Parses `exp`: a NumericDate (RFC 7519, section 2), any JSON number of seconds. Fractions are cut off.
pub fn exp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Number(number) => numeric_date("exp", &number),
        _ => Err(invalid_claim("exp")),
    }
}

/// Parses `nbf`: an optional NumericDate.
pub fn nbf<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Number(number) => numeric_date("nbf", &number).map(Some),
        _ => Err(invalid_claim("nbf")),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "drops the fraction; the range was checked")]
fn numeric_date<E: Error>(claim: &str, number: &Number) -> Result<i64, E> {
    let seconds = number.as_f64().filter(|seconds| (0.0..=LATEST).contains(seconds));
    let told = || format!("{claim} must be seconds since 1970, up to the year 9999, not milliseconds");
    seconds.map(|seconds| seconds as i64).ok_or_else(|| E::custom(told()))
}

fn invalid_claim<E: Error>(claim: &str) -> E {
    E::custom(format_args!("{claim} must be a number of seconds since 1970"))
}
