//! Expands the fragments of an operation and merges equal fields, as `CollectFields` and `MergeSelectionSets` of the
//! specification do (<https://spec.graphql.org/September2025/#sec-Field-Collection>).
//!
//! async-graphql executes equal fields as often as they occur: `mutation { send send }` would send twice.

use std::collections::HashMap;

use async_graphql::parser::types::{
    Directive, Field, FragmentDefinition, InlineFragment, OperationDefinition, OperationType, Selection, SelectionSet,
    TypeCondition,
};
use async_graphql::{Name, Positioned, Variables};
use async_graphql_value::{ConstValue, Value};

use crate::DocumentRefusal;
use crate::types::SchemaTypes;

type FragmentMap = HashMap<Name, Positioned<FragmentDefinition>>;

/// The name of the root type of an operation.
pub fn root_type(of: OperationType) -> &'static str {
    match of {
        OperationType::Query => "Query",
        OperationType::Mutation => "Mutation",
        OperationType::Subscription => "Subscription",
    }
}

/// An operation without fragments, without `@skip` and `@include`, and without equal fields.
///
/// The operation must be valid and its fragments within the limits. Fails if two different fields have the same
/// response key.
pub fn merge_fields(
    types: &SchemaTypes,
    fragments: &FragmentMap,
    operation: &OperationDefinition,
    variables: &Variables,
) -> Result<OperationDefinition, DocumentRefusal> {
    let merger = FieldMerger { types, fragments, operation, variables };
    let items = merger.merge_sets(Some(root_type(operation.ty)), &[&operation.selection_set.node])?;
    Ok(OperationDefinition {
        ty: operation.ty,
        variable_definitions: operation.variable_definitions.clone(),
        directives: Vec::new(),
        selection_set: Positioned::new(items, operation.selection_set.pos),
    })
}

struct FieldMerger<'a> {
    types: &'a SchemaTypes,
    fragments: &'a FragmentMap,
    operation: &'a OperationDefinition,
    variables: &'a Variables,
}

/// Merged fields, in document order.
#[derive(Default)]
struct CollectedFields<'a> {
    places: HashMap<&'a str, usize>,
    fields: Vec<(&'a Positioned<Field>, Vec<&'a SelectionSet>)>,
}

impl<'a> FieldMerger<'a> {
    fn merge_sets(&self, parent: Option<&str>, sets: &[&'a SelectionSet]) -> Result<SelectionSet, DocumentRefusal> {
        let members = parent.and_then(|parent| self.types.possible_types(parent));
        let Some(members) = members.filter(|_| sets.iter().any(|set| has_type_conditions(set))) else {
            return self.merge_object(parent, sets);
        };
        // Which fields apply depends on the concrete object type, so each type gets its own selection.
        let one = |member: &String| {
            let on = Positioned::new(Name::new(member), async_graphql::Pos::default());
            let fragment = InlineFragment {
                type_condition: Some(Positioned::new(TypeCondition { on }, async_graphql::Pos::default())),
                directives: Vec::new(),
                selection_set: Positioned::new(self.merge_object(Some(member), sets)?, async_graphql::Pos::default()),
            };
            Ok(Positioned::new(
                Selection::InlineFragment(Positioned::new(fragment, async_graphql::Pos::default())),
                async_graphql::Pos::default(),
            ))
        };
        Ok(SelectionSet { items: members.iter().map(one).collect::<Result<_, DocumentRefusal>>()? })
    }

    /// The selection for an object, or for an interface if all of its objects have the same selection.
    fn merge_object(&self, parent: Option<&str>, sets: &[&'a SelectionSet]) -> Result<SelectionSet, DocumentRefusal> {
        let mut collected = CollectedFields::default();
        for set in sets {
            self.collect_fields(parent, set, &mut collected)?;
        }
        let one = |(field, sets): (&Positioned<Field>, Vec<&'a SelectionSet>)| {
            let child = self.types.find_field(parent, &field.node.name.node).map(|field| field.of.as_str());
            let selection_set = self.merge_sets(child, &sets)?;
            let merged = Field {
                alias: field.node.alias.clone(),
                name: field.node.name.clone(),
                arguments: field.node.arguments.clone(),
                directives: Vec::new(),
                selection_set: Positioned::new(selection_set, field.node.selection_set.pos),
            };
            Ok(Positioned::new(Selection::Field(Positioned::new(merged, field.pos)), field.pos))
        };
        Ok(SelectionSet { items: collected.fields.into_iter().map(one).collect::<Result<_, DocumentRefusal>>()? })
    }

    fn collect_fields(
        &self,
        parent: Option<&str>,
        set: &'a SelectionSet,
        collected: &mut CollectedFields<'a>,
    ) -> Result<(), DocumentRefusal> {
        for selection in &set.items {
            if self.is_left_out(selection.node.directives()) {
                continue;
            }
            match &selection.node {
                Selection::Field(field) => collected.add_field(field)?,
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref().map(|condition| condition.node.on.node.as_str());
                    if on.is_none_or(|on| self.is_applicable(on, parent)) {
                        self.collect_fields(parent, &fragment.node.selection_set.node, collected)?;
                    }
                }
                Selection::FragmentSpread(spread) => {
                    let Some(fragment) = self.fragments.get(&spread.node.fragment_name.node) else { continue };
                    if self.is_applicable(&fragment.node.type_condition.node.on.node, parent) {
                        self.collect_fields(parent, &fragment.node.selection_set.node, collected)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a condition on type `on` applies to an object of type `parent`. Introspection types are all objects.
    fn is_applicable(&self, on: &str, parent: Option<&str>) -> bool {
        let Some(parent) = parent else { return true };
        on == parent
            || self.types.possible_types(on).is_some_and(|members| members.iter().any(|member| member == parent))
    }

    fn is_left_out(&self, directives: &[Positioned<Directive>]) -> bool {
        directives.iter().any(|directive| {
            let wanted = match directive.node.name.node.as_str() {
                "skip" => false,
                "include" => true,
                _ => return false,
            };
            directive.node.get_argument("if").is_some_and(|value| self.condition_value(&value.node) != Some(wanted))
        })
    }

    fn condition_value(&self, value: &Value) -> Option<bool> {
        match value {
            Value::Boolean(truth) => Some(*truth),
            Value::Variable(name) => match self.variables.get(name) {
                Some(ConstValue::Boolean(truth)) => Some(*truth),
                Some(_) => None,
                None => {
                    let mut definitions = self.operation.variable_definitions.iter();
                    let definition = definitions.find(|definition| definition.node.name.node == *name)?;
                    match definition.node.default_value() {
                        Some(ConstValue::Boolean(truth)) => Some(*truth),
                        _ => None,
                    }
                }
            },
            _ => None,
        }
    }
}

impl<'a> CollectedFields<'a> {
    fn add_field(&mut self, field: &'a Positioned<Field>) -> Result<(), DocumentRefusal> {
        let key = field.node.response_key().node.as_str();
        let set = &field.node.selection_set.node;
        if let Some(place) = self.places.get(key) {
            let (first, sets) = &mut self.fields[*place];
            if !is_same(&first.node, &field.node) {
                let message = format!("two fields called {key:?} differ in name or arguments: give one an alias");
                return Err(DocumentRefusal::invalid(message, Some(field.pos)));
            }
            if !set.items.is_empty() {
                sets.push(set);
            }
        } else {
            self.places.insert(key, self.fields.len());
            let sets = if set.items.is_empty() { Vec::new() } else { vec![set] };
            self.fields.push((field, sets));
        }
        Ok(())
    }
}

/// Whether any part of a selection may be limited to certain object types.
fn has_type_conditions(set: &SelectionSet) -> bool {
    set.items.iter().any(|selection| match &selection.node {
        Selection::Field(_) => false,
        Selection::FragmentSpread(_) => true,
        Selection::InlineFragment(fragment) => {
            fragment.node.type_condition.is_some() || has_type_conditions(&fragment.node.selection_set.node)
        }
    })
}

fn is_same(one: &Field, other: &Field) -> bool {
    one.name.node == other.name.node
        && one.arguments.len() == other.arguments.len()
        && one.arguments.iter().all(|(name, value)| other.get_argument(&name.node).is_some_and(|other| other == value))
}
