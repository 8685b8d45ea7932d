//! How much a merged operation asks for: what does not depend on its variables, and its cost, which does.

use async_graphql::parser::types::{Field, OperationDefinition, Selection, SelectionSet};
use async_graphql::{Positioned, Variables};
use async_graphql_value::{ConstValue, Value};

use super::merge::root;
use super::refusal::Refusal;
use super::types::TYPES;
use crate::config::LimitsConfig;
use crate::graphql::connection::DEFAULT_SIZE;

/// Rows that a list is taken to have when nothing says how many.
const ROWS: usize = 10;

/// What an introspection may cost: that of `GraphiQL` costs 160,000.
pub const INTROSPECTION: usize = 200_000;

/// The most `__type`s of an operation; of `__schema` there is one.
const LOOKED_UP: usize = 10;

/// What a list of items costs that is filtered by what only their notifications say: each that is passed over is looked up.
const FILTERED: usize = 1_000;

/// Conditions of that kind.
const LOOKING: [&str; 4] = ["kinds", "target", "action", "sender"];

/// Checks an operation without fragments against the limits of its shape.
pub fn measure(operation: &OperationDefinition, limits: &LimitsConfig) -> Result<(), Refusal> {
    let set = &operation.selection_set.node;
    if set.items.len() > limits.root_fields {
        return Err(Refusal::limit("root_fields", "fields of the first level", limits.root_fields));
    }
    let many = |name: &str| {
        let is_it = |item: &&Positioned<Selection>| matches!(&item.node, Selection::Field(field) if field.node.name.node == name);
        set.items.iter().filter(is_it).count()
    };
    if many("__schema") > 1 || many("__type") > LOOKED_UP {
        return Err(Refusal::limit("introspection", "`__type`, or more than one `__schema`", LOOKED_UP));
    }
    let mut tape = Tape { limits, aliases: 0, path: Vec::new() };
    tape.set(Some(root(operation.ty)), set)?;
    if tape.aliases > limits.aliases {
        return Err(Refusal::limit("aliases", "aliases", limits.aliases));
    }
    Ok(())
}

struct Tape<'a> {
    limits: &'a LimitsConfig,
    aliases: usize,
    /// The fields that we are in, by the object that they belong to.
    path: Vec<(Option<&'static str>, &'a str)>,
}

impl<'a> Tape<'a> {
    fn set(&mut self, parent: Option<&'static str>, set: &'a SelectionSet) -> Result<(), Refusal> {
        for selection in &set.items {
            match &selection.node {
                Selection::Field(field) => self.field(parent, &field.node)?,
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref().map(|condition| condition.node.on.node.as_str());
                    let on = on.and_then(|on| TYPES.name(on));
                    self.set(on.or(parent), &fragment.node.selection_set.node)?;
                }
                Selection::FragmentSpread(_) => {}
            }
        }
        Ok(())
    }

    fn field(&mut self, parent: Option<&'static str>, field: &'a Field) -> Result<(), Refusal> {
        self.aliases += usize::from(field.alias.is_some());
        let here = (parent, field.name.node.as_str());
        if self.path.len() >= self.limits.depth {
            return Err(Refusal::limit("depth", "fields within each other", self.limits.depth));
        }
        // Introspection repeats `ofType` for every bracket that a type may have; its depth is bounded all the same.
        let repeats = self.path.iter().filter(|above| **above == here).count();
        if parent.is_some() && repeats >= self.limits.recursion {
            let what = "repetitions of a field within itself";
            return Err(Refusal::limit("recursion", what, self.limits.recursion));
        }
        self.path.push(here);
        let child = TYPES.field(parent, here.1).map(|field| field.of.as_str());
        self.set(child, &field.selection_set.node)?;
        self.path.pop();
        Ok(())
    }
}

/// What an operation may cost: each field 1, what is below a list as often as the list may have rows.
pub fn cost(operation: &OperationDefinition, variables: &Variables, limits: &LimitsConfig) -> usize {
    let till = Till { operation, variables, limits };
    till.set(Some(root(operation.ty)), &operation.selection_set.node)
}

/// How many rows a field of the schema's description has, in ours about as many.
fn described(field: &str) -> usize {
    match field {
        "types" => 150,
        "fields" | "directives" => 8,
        "inputFields" | "enumValues" => 4,
        "args" => 2,
        _ => 1,
    }
}

struct Till<'a> {
    operation: &'a OperationDefinition,
    variables: &'a Variables,
    limits: &'a LimitsConfig,
}

impl Till<'_> {
    fn set(&self, parent: Option<&str>, set: &SelectionSet) -> usize {
        let one = |selection: &Selection| match selection {
            Selection::Field(field) => self.field(parent, &field.node),
            Selection::InlineFragment(fragment) => {
                let on = fragment.node.type_condition.as_ref().map(|condition| condition.node.on.node.as_str());
                self.set(on.or(parent), &fragment.node.selection_set.node)
            }
            Selection::FragmentSpread(_) => 0,
        };
        set.items.iter().map(|selection| one(&selection.node)).fold(0, usize::saturating_add)
    }

    fn field(&self, parent: Option<&str>, field: &Field) -> usize {
        let Some(known) = TYPES.field(parent, &field.name.node) else {
            let rows = described(&field.name.node);
            return self.set(None, &field.selection_set.node).saturating_mul(rows).saturating_add(1);
        };
        let rows = if known.is_paged {
            let asked = ["first", "last"].into_iter().find_map(|name| self.number(field, name));
            asked.unwrap_or(DEFAULT_SIZE).min(self.limits.page_size)
        } else if let Some(rows) = known.counted.and_then(|name| self.length(field, name)) {
            rows
        } else if known.is_list && !parent.is_some_and(|parent| parent.ends_with("Connection")) {
            ROWS
        } else {
            1
        };
        let filtered = if self.is_looking(field) { FILTERED } else { 1 };
        self.set(Some(&known.of), &field.selection_set.node).saturating_mul(rows).saturating_add(filtered)
    }

    /// Whether a field's filter has a condition on what only notifications say.
    fn is_looking(&self, field: &Field) -> bool {
        let Some(filter) = field.get_argument("filter") else { return false };
        let sets = |name: &str| LOOKING.contains(&name);
        match &filter.node {
            Value::Object(fields) => fields.iter().any(|(name, value)| sets(name) && *value != Value::Null),
            Value::Variable(name) => match self.variable(name) {
                Some(ConstValue::Object(fields)) => {
                    fields.iter().any(|(name, value)| sets(name) && *value != ConstValue::Null)
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn number(&self, field: &Field, name: &str) -> Option<usize> {
        let number = match &field.get_argument(name)?.node {
            Value::Number(number) => number.as_i64()?,
            Value::Variable(name) => match self.variable(name)? {
                ConstValue::Number(number) => number.as_i64()?,
                _ => return None,
            },
            _ => return None,
        };
        Some(usize::try_from(number).unwrap_or(0))
    }

    fn length(&self, field: &Field, name: &str) -> Option<usize> {
        match &field.get_argument(name)?.node {
            Value::List(items) => Some(items.len()),
            Value::Variable(name) => match self.variable(name)? {
                ConstValue::List(items) => Some(items.len()),
                _ => Some(1),
            },
            _ => Some(1),
        }
    }

    fn variable(&self, name: &str) -> Option<&ConstValue> {
        self.variables.get(name).or_else(|| {
            let mut definitions = self.operation.variable_definitions.iter();
            definitions.find(|definition| definition.node.name.node == *name)?.node.default_value()
        })
    }
}
