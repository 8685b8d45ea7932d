//! Patches: a given field replaces, a cleared field is erased, and every other field stays.

use async_graphql::Value;
use async_graphql::resolver_utils::{EnumType, enum_value};

use base::error::{Error, Result};

/// A patch and the fields that it erases.
pub struct FieldPatch<Field>(Vec<Field>);

impl<Field: EnumType> FieldPatch<Field> {
    /// A patch that erases these fields.
    pub fn from_cleared(clear: Option<Vec<Field>>) -> Self {
        Self(clear.unwrap_or_default())
    }

    /// `None` if the field stays, `Some(None)` if it is erased. `BAD_USER_INPUT` if it is given and erased.
    #[expect(clippy::option_option, reason = "a change to a value or to null, or no change")]
    pub fn field_change<T>(&self, field: Field, given: Option<T>) -> Result<Option<Option<T>>> {
        match (given, self.0.contains(&field)) {
            (Some(_), true) => {
                let name = if let Value::Enum(name) = enum_value(field) { name.to_string() } else { String::new() };
                Err(Error::bad_input("clear", format!("names {name}, which is also given")))
            }
            (Some(value), false) => Ok(Some(Some(value))),
            (None, true) => Ok(Some(None)),
            (None, false) => Ok(None),
        }
    }
}
