//! Patches: what is given replaces, what is named to be cleared is erased, and everything else stays.

use async_graphql::Value;
use async_graphql::resolver_utils::{EnumType, enum_value};

use crate::error::{Error, Result};

/// A patch under way, with the fields that it erases.
pub struct Patching<Field>(Vec<Field>);

impl<Field: EnumType> Patching<Field> {
    /// One that clears these.
    pub fn of(clear: Option<Vec<Field>>) -> Self {
        Self(clear.unwrap_or_default())
    }

    /// What becomes of a field: nothing where it stays, nothing within where it is erased. `BAD_USER_INPUT` where it is given and
    /// erased at once.
    #[expect(clippy::option_option, reason = "a change, to something or to nothing")]
    pub fn change<T>(&self, field: Field, given: Option<T>) -> Result<Option<Option<T>>> {
        match (given, self.0.contains(&field)) {
            (Some(_), true) => {
                let name = if let Value::Enum(name) = enum_value(field) { name.to_string() } else { String::new() };
                Err(Error::bad_input("clear", format!("names {name}, which is given as well")))
            }
            (Some(value), false) => Ok(Some(Some(value))),
            (None, true) => Ok(Some(None)),
            (None, false) => Ok(None),
        }
    }
}
