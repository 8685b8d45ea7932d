//! The cost of an operation: 1 per field, and the cost of a list's rows times its maximum number of rows.

use async_graphql::Variables;
use async_graphql::parser::types::{Field, OperationDefinition, Selection, SelectionSet};
use async_graphql_value::{ConstValue, Value};

use crate::merge::root_type;
use crate::types::SchemaTypes;

/// The parameters of the cost calculation.
#[derive(Clone, Debug)]
pub struct CostRules {
    /// Assumed length of a list without a known length.
    pub rows: usize,
    /// Length of a page without `first` and `last`.
    pub page: usize,
    /// Maximum length of a page.
    pub longest_page: usize,
    /// Arguments that determine the length of a list: one row for each of their entries.
    pub counted: Vec<&'static str>,
    /// Fields with an extra cost of their own.
    pub dear: Vec<CostlyArgument>,
}

/// A field has this cost if its argument has one of these fields with a value other than null.
#[derive(Clone, Debug)]
pub struct CostlyArgument {
    pub argument: &'static str,
    pub fields: Vec<&'static str>,
    pub cost: usize,
}

impl Default for CostRules {
    fn default() -> Self {
        Self { rows: 10, page: 20, longest_page: 200, counted: vec!["representations"], dear: Vec::new() }
    }
}

/// The arguments that set the length of a page.
const PAGED: [&str; 2] = ["first", "last"];

/// The maximum cost of an operation without fragments.
pub fn operation_cost(
    types: &SchemaTypes,
    costs: &CostRules,
    operation: &OperationDefinition,
    variables: &Variables,
) -> usize {
    let sum = CostCalculator { types, costs, operation, variables };
    sum.selection_cost(Some(root_type(operation.ty)), &operation.selection_set.node)
}

/// The assumed number of rows of an introspection field, as in a schema of about our size.
fn introspection_rows(field: &str) -> usize {
    match field {
        "types" => 150,
        "fields" | "directives" => 8,
        "inputFields" | "enumValues" => 4,
        "args" => 2,
        _ => 1,
    }
}

struct CostCalculator<'a> {
    types: &'a SchemaTypes,
    costs: &'a CostRules,
    operation: &'a OperationDefinition,
    variables: &'a Variables,
}

impl CostCalculator<'_> {
    fn selection_cost(&self, parent: Option<&str>, set: &SelectionSet) -> usize {
        let one = |selection: &Selection| match selection {
            Selection::Field(field) => self.field_cost(parent, &field.node),
            Selection::InlineFragment(fragment) => {
                let on = fragment.node.type_condition.as_ref().map(|condition| condition.node.on.node.as_str());
                self.selection_cost(on.or(parent), &fragment.node.selection_set.node)
            }
            Selection::FragmentSpread(_) => 0,
        };
        set.items.iter().map(|selection| one(&selection.node)).fold(0, usize::saturating_add)
    }

    fn field_cost(&self, parent: Option<&str>, field: &Field) -> usize {
        let Some(known) = self.types.find_field(parent, &field.name.node) else {
            let rows = introspection_rows(&field.name.node);
            return self.selection_cost(None, &field.selection_set.node).saturating_mul(rows).saturating_add(1);
        };
        let CostRules { rows, page, longest_page, counted, .. } = self.costs;
        let counted = counted.iter().copied().find(|name| known.arguments.contains(*name));
        let rows = if PAGED.into_iter().any(|name| known.arguments.contains(name)) {
            let asked = PAGED.into_iter().find_map(|name| self.number_argument(field, name));
            asked.unwrap_or(*page).min(*longest_page)
        } else if let Some(rows) = counted.and_then(|name| self.list_length(field, name)) {
            rows
        } else if known.is_list && !parent.is_some_and(|parent| parent.ends_with("Connection")) {
            *rows
        } else {
            1
        };
        self.selection_cost(Some(&known.of), &field.selection_set.node)
            .saturating_mul(rows)
            .saturating_add(self.own_cost(field))
    }

    /// The cost of a field itself.
    fn own_cost(&self, field: &Field) -> usize {
        let is_dear = |dear: &&CostlyArgument| match field.get_argument(dear.argument).map(|value| &value.node) {
            Some(Value::Object(fields)) => {
                fields.iter().any(|(name, value)| dear.fields.contains(&name.as_str()) && *value != Value::Null)
            }
            Some(Value::Variable(name)) => match self.variable_value(name) {
                Some(ConstValue::Object(fields)) => fields
                    .iter()
                    .any(|(name, value)| dear.fields.contains(&name.as_str()) && *value != ConstValue::Null),
                _ => false,
            },
            _ => false,
        };
        self.costs.dear.iter().find(is_dear).map_or(1, |dear| dear.cost)
    }

    fn number_argument(&self, field: &Field, name: &str) -> Option<usize> {
        let number = match &field.get_argument(name)?.node {
            Value::Number(number) => number.as_i64()?,
            Value::Variable(name) => match self.variable_value(name)? {
                ConstValue::Number(number) => number.as_i64()?,
                _ => return None,
            },
            _ => return None,
        };
        Some(usize::try_from(number).unwrap_or(0))
    }

    fn list_length(&self, field: &Field, name: &str) -> Option<usize> {
        match &field.get_argument(name)?.node {
            Value::List(items) => Some(items.len()),
            Value::Variable(name) => match self.variable_value(name)? {
                ConstValue::List(items) => Some(items.len()),
                _ => Some(1),
            },
            _ => Some(1),
        }
    }

    fn variable_value(&self, name: &str) -> Option<&ConstValue> {
        self.variables.get(name).or_else(|| {
            let mut definitions = self.operation.variable_definitions.iter();
            definitions.find(|definition| definition.node.name.node == *name)?.node.default_value()
        })
    }
}
