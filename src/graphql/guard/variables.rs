//! Whether variables have the types that an operation declares
//! (<https://spec.graphql.org/September2025/#sec-Coercing-Variable-Values>).
//!
//! The library checks them with the document, which is not validated again when it was validated once.

use async_graphql::parser::types::{BaseType, OperationDefinition, Type};
use async_graphql::{Name, ScalarType, Variables};
use async_graphql_value::{ConstValue, indexmap::IndexMap};

use super::refusal::Refusal;
use super::types::{Input, Kind, TYPES};
use crate::graphql::scalars::Instant;

/// The most characters of the path to the value that is blamed.
const PATH: usize = 200;

/// Checks the variables that an operation declares; others are nobody's business. No list in them, be it within JSON,
/// may have more than `list_items` entries.
pub fn check(operation: &OperationDefinition, variables: &Variables, list_items: usize) -> Result<(), Refusal> {
    for definition in &operation.variable_definitions {
        let name = &definition.node.name.node;
        let of = &definition.node.var_type.node;
        match variables.get(name) {
            Some(value) => value_of(of, value, list_items).map_err(|blame| blame.refusal(name))?,
            None if !of.nullable && definition.node.default_value.is_none() => {
                return Err(Blame::new(format!("is required, as {of}")).refusal(name));
            }
            None => {}
        }
    }
    Ok(())
}

/// What is wrong, and where, innermost last.
struct Blame {
    path: Vec<String>,
    message: String,
}

impl Blame {
    fn new(message: impl Into<String>) -> Self {
        Self { path: Vec::new(), message: message.into() }
    }

    fn within(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }

    fn refusal(self, name: &Name) -> Refusal {
        let steps = self.path.iter().rev().map(String::as_str);
        let path: String = std::iter::once(name.as_str()).chain(steps).collect();
        Refusal::variable(&path.chars().take(PATH).collect::<String>(), &self.message)
    }
}

fn value_of(of: &Type, value: &ConstValue, list_items: usize) -> Result<(), Blame> {
    match (&of.base, value) {
        (_, ConstValue::Null) if of.nullable => Ok(()),
        (_, ConstValue::Null) => Err(Blame::new(format!("must be {of}, not null"))),
        (BaseType::List(_), ConstValue::List(items)) if items.len() > list_items => {
            Err(Blame::new(format!("must be at most {list_items} in one call, not {}", items.len())))
        }
        (BaseType::List(of), ConstValue::List(items)) => items.iter().enumerate().try_for_each(|(place, item)| {
            value_of(of, item, list_items).map_err(|blame| blame.within(format!("[{place}]")))
        }),
        // One value is a list of one.
        (BaseType::List(of), value) => value_of(of, value, list_items),
        (BaseType::Named(name), value) => named(name, value, list_items),
    }
}

fn named(name: &str, value: &ConstValue, list_items: usize) -> Result<(), Blame> {
    let is_right = match (name, value) {
        ("Int", ConstValue::Number(number)) => number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        ("Float", ConstValue::Number(_))
        | ("String" | "ID", ConstValue::String(_))
        | ("Boolean", ConstValue::Boolean(_)) => true,
        ("ID", ConstValue::Number(number)) => number.is_i64() || number.is_u64(),
        ("Int" | "Float" | "String" | "ID" | "Boolean", _) => false,
        ("DateTime", value) => return instant(value),
        (name, value) => match TYPES.kind(name) {
            Some(Kind::Enum(values)) => match value {
                ConstValue::String(value) => values.contains(value.as_str()),
                ConstValue::Enum(value) => values.contains(value.as_str()),
                _ => false,
            },
            Some(Kind::Input { fields, is_one_of }) => match value {
                ConstValue::Object(values) => return input(name, fields, *is_one_of, values, list_items),
                _ => false,
            },
            _ => true,
        },
    };
    if is_right { Ok(()) } else { Err(Blame::new(format!("must be {name}"))) }
}

fn instant(value: &ConstValue) -> Result<(), Blame> {
    match Instant::parse(value.clone()) {
        Ok(_) => Ok(()),
        Err(_) => Err(Blame::new("must be an instant such as 2026-11-21T08:30:00.000Z (RFC 3339)")),
    }
}

fn input(
    name: &str,
    fields: &[Input],
    is_one_of: bool,
    values: &IndexMap<Name, ConstValue>,
    list_items: usize,
) -> Result<(), Blame> {
    if let Some(unknown) = values.keys().find(|key| !fields.iter().any(|field| field.name == key.as_str())) {
        let unknown: String = unknown.chars().take(64).collect();
        return Err(Blame::new(format!("has a field {unknown:?} that {name} has not")));
    }
    if is_one_of && (values.len() != 1 || values.values().any(|value| *value == ConstValue::Null)) {
        return Err(Blame::new(format!("must have exactly one of the fields of {name}")));
    }
    for field in fields {
        let step = || format!(".{}", field.name);
        match values.get(field.name.as_str()) {
            Some(value) => value_of(&field.of, value, list_items).map_err(|blame| blame.within(step()))?,
            None if !field.of.nullable && !field.has_default => {
                return Err(Blame::new(format!("is required, as {}", field.of)).within(step()));
            }
            None => {}
        }
    }
    Ok(())
}
