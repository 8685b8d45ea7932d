//! Checks that variables have the types declared by the operation
//! (<https://spec.graphql.org/September2025/#sec-Coercing-Variable-Values>).
//!
//! async-graphql only checks them when it validates a document, which happens once per cached document.

use async_graphql::parser::types::{BaseType, OperationDefinition, Type};
use async_graphql::{Name, Variables};
use async_graphql_value::ConstValue;
use async_graphql_value::indexmap::IndexMap;

use crate::types::{InputField, SchemaTypeKind, SchemaTypes};
use crate::{DocumentRefusal, ScalarValidators};

/// Maximum length of the path in an error message, in characters.
const PATH: usize = 200;

/// The rules for values of variables.
#[derive(Clone, Copy)]
pub struct VariableChecker<'a> {
    pub types: &'a SchemaTypes,
    pub scalars: &'a ScalarValidators,
    /// Maximum length of a list.
    pub list_items: usize,
}

/// An error and its path, innermost step first.
struct VariableError {
    path: Vec<String>,
    message: String,
}

impl VariableError {
    fn new(message: impl Into<String>) -> Self {
        Self { path: Vec::new(), message: message.into() }
    }

    fn at_step(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }

    fn into_refusal(self, name: &Name) -> DocumentRefusal {
        let steps = self.path.iter().rev().map(String::as_str);
        let path: String = std::iter::once(name.as_str()).chain(steps).collect();
        DocumentRefusal::variable(&path.chars().take(PATH).collect::<String>(), &self.message)
    }
}

impl VariableChecker<'_> {
    /// Checks the variables that an operation declares, and ignores others.
    pub fn check_variables(
        self,
        operation: &OperationDefinition,
        variables: &Variables,
    ) -> Result<(), DocumentRefusal> {
        for definition in &operation.variable_definitions {
            let name = &definition.node.name.node;
            let of = &definition.node.var_type.node;
            match variables.get(name) {
                Some(value) => self.check_value(of, value).map_err(|blame| blame.into_refusal(name))?,
                None if !of.nullable && definition.node.default_value.is_none() => {
                    return Err(VariableError::new(format!("is required, of the type {of}")).into_refusal(name));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn check_value(self, of: &Type, value: &ConstValue) -> Result<(), VariableError> {
        let most = self.list_items;
        match (&of.base, value) {
            (_, ConstValue::Null) if of.nullable => Ok(()),
            (_, ConstValue::Null) => Err(VariableError::new(format!("must be {of}, not null"))),
            (BaseType::List(_), ConstValue::List(items)) if items.len() > most => {
                Err(VariableError::new(format!("must have at most {most} entries in one call, not {}", items.len())))
            }
            (BaseType::List(of), ConstValue::List(items)) => items.iter().enumerate().try_for_each(|(place, item)| {
                self.check_value(of, item).map_err(|blame| blame.at_step(format!("[{place}]")))
            }),
            // A single value is coerced to a list.
            (BaseType::List(of), value) => self.check_value(of, value),
            (BaseType::Named(name), value) => self.check_named(name, value),
        }
    }

    fn check_named(self, name: &str, value: &ConstValue) -> Result<(), VariableError> {
        let is_right = match (name, value) {
            ("Int", ConstValue::Number(number)) => number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
            ("Float", ConstValue::Number(_))
            | ("String" | "ID", ConstValue::String(_))
            | ("Boolean", ConstValue::Boolean(_)) => true,
            ("ID", ConstValue::Number(number)) => number.is_i64() || number.is_u64(),
            ("Int" | "Float" | "String" | "ID" | "Boolean", _) => false,
            (name, value) => match self.types.find_type(name) {
                Some(SchemaTypeKind::Enum(values)) => match value {
                    ConstValue::String(value) => values.contains(value.as_str()),
                    ConstValue::Enum(value) => values.contains(value.as_str()),
                    _ => false,
                },
                Some(SchemaTypeKind::Input { fields, is_one_of }) => match value {
                    ConstValue::Object(values) => return self.check_input(name, (fields, *is_one_of), values),
                    _ => false,
                },
                _ => return self.scalars.get(name).map_or(Ok(()), |check| check(value).map_err(VariableError::new)),
            },
        };
        if is_right { Ok(()) } else { Err(VariableError::new(format!("must be {name}"))) }
    }

    fn check_input(
        self,
        name: &str,
        (fields, is_one_of): (&[InputField], bool),
        values: &IndexMap<Name, ConstValue>,
    ) -> Result<(), VariableError> {
        if let Some(unknown) = values.keys().find(|key| !fields.iter().any(|field| field.name == key.as_str())) {
            let unknown: String = unknown.chars().take(64).collect();
            return Err(VariableError::new(format!("has a field {unknown:?} that {name} does not have")));
        }
        if is_one_of && (values.len() != 1 || values.values().any(|value| *value == ConstValue::Null)) {
            return Err(VariableError::new(format!("must have exactly one of the fields of {name}")));
        }
        for field in fields {
            let step = || format!(".{}", field.name);
            match values.get(field.name.as_str()) {
                Some(value) => self.check_value(&field.of, value).map_err(|blame| blame.at_step(step()))?,
                None if !field.of.nullable && !field.has_default => {
                    return Err(VariableError::new(format!("is required, of the type {}", field.of)).at_step(step()));
                }
                None => {}
            }
        }
        Ok(())
    }
}
