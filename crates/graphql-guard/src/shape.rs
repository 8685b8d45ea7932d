//! Checks that an operation without fragments is not too wide, too deep, or too repetitive.

use async_graphql::Positioned;
use async_graphql::parser::types::{Field, OperationDefinition, Selection, SelectionSet};

use crate::merge::root_type;
use crate::types::SchemaTypes;
use crate::{DocumentLimits, DocumentRefusal};

/// Maximum number of `__type` fields in an operation. `__schema` may occur once.
const LOOKED_UP: usize = 10;

/// Checks an operation without fragments against the limits of its shape.
pub fn check_shape(
    types: &SchemaTypes,
    operation: &OperationDefinition,
    limits: &DocumentLimits,
) -> Result<(), DocumentRefusal> {
    let set = &operation.selection_set.node;
    if set.items.len() > limits.root_fields {
        return Err(DocumentRefusal::limit("root_fields", "fields at the top level", limits.root_fields));
    }
    let many = |name: &str| {
        let is_it = |item: &&Positioned<Selection>| matches!(&item.node, Selection::Field(field) if field.node.name.node == name);
        set.items.iter().filter(is_it).count()
    };
    if many("__schema") > 1 || many("__type") > LOOKED_UP {
        return Err(DocumentRefusal::limit("introspection", "`__type`, or more than one `__schema`", LOOKED_UP));
    }
    let mut walk = ShapeChecker { types, limits, aliases: 0, path: Vec::new() };
    walk.check_selection(Some(root_type(operation.ty)), set)?;
    if walk.aliases > limits.aliases {
        return Err(DocumentRefusal::limit("aliases", "aliases", limits.aliases));
    }
    Ok(())
}

struct ShapeChecker<'a> {
    types: &'a SchemaTypes,
    limits: &'a DocumentLimits,
    aliases: usize,
    /// The enclosing fields, each with its object type.
    path: Vec<(Option<&'a str>, &'a str)>,
}

impl<'a> ShapeChecker<'a> {
    fn check_selection(&mut self, parent: Option<&'a str>, set: &'a SelectionSet) -> Result<(), DocumentRefusal> {
        for selection in &set.items {
            match &selection.node {
                Selection::Field(field) => self.check_field(parent, &field.node)?,
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref().map(|condition| condition.node.on.node.as_str());
                    let on = on.and_then(|on| self.types.type_name(on));
                    self.check_selection(on.or(parent), &fragment.node.selection_set.node)?;
                }
                Selection::FragmentSpread(_) => {}
            }
        }
        Ok(())
    }

    fn check_field(&mut self, parent: Option<&'a str>, field: &'a Field) -> Result<(), DocumentRefusal> {
        self.aliases += usize::from(field.alias.is_some());
        let here = (parent, field.name.node.as_str());
        if self.path.len() >= self.limits.depth {
            return Err(DocumentRefusal::limit("depth", "nested fields", self.limits.depth));
        }
        // Introspection repeats `ofType` for each list and non-null modifier; the depth limit bounds it.
        let repeats = self.path.iter().filter(|above| **above == here).count();
        if parent.is_some() && repeats >= self.limits.recursion {
            let what = "repetitions of a field nested in itself";
            return Err(DocumentRefusal::limit("recursion", what, self.limits.recursion));
        }
        self.path.push(here);
        let child = self.types.find_field(parent, here.1).map(|field| field.of.as_str());
        self.check_selection(child, &field.selection_set.node)?;
        self.path.pop();
        Ok(())
    }
}
