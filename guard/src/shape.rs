//! Checks that an operation without fragments is not too wide, too deep, or too repetitive.

use async_graphql::Positioned;
use async_graphql::parser::types::{Field, OperationDefinition, Selection, SelectionSet};

use crate::merge::root;
use crate::types::Types;
use crate::{Limits, Refusal};

/// Maximum number of `__type` fields in an operation. `__schema` may occur once.
const LOOKED_UP: usize = 10;

/// Checks an operation without fragments against the limits of its shape.
pub fn check(types: &Types, operation: &OperationDefinition, limits: &Limits) -> Result<(), Refusal> {
    let set = &operation.selection_set.node;
    if set.items.len() > limits.root_fields {
        return Err(Refusal::limit("root_fields", "fields at the top level", limits.root_fields));
    }
    let many = |name: &str| {
        let is_it = |item: &&Positioned<Selection>| matches!(&item.node, Selection::Field(field) if field.node.name.node == name);
        set.items.iter().filter(is_it).count()
    };
    if many("__schema") > 1 || many("__type") > LOOKED_UP {
        return Err(Refusal::limit("introspection", "`__type`, or more than one `__schema`", LOOKED_UP));
    }
    let mut walk = Walk { types, limits, aliases: 0, path: Vec::new() };
    walk.set(Some(root(operation.ty)), set)?;
    if walk.aliases > limits.aliases {
        return Err(Refusal::limit("aliases", "aliases", limits.aliases));
    }
    Ok(())
}

struct Walk<'a> {
    types: &'a Types,
    limits: &'a Limits,
    aliases: usize,
    /// The enclosing fields, each with its object type.
    path: Vec<(Option<&'a str>, &'a str)>,
}

impl<'a> Walk<'a> {
    fn set(&mut self, parent: Option<&'a str>, set: &'a SelectionSet) -> Result<(), Refusal> {
        for selection in &set.items {
            match &selection.node {
                Selection::Field(field) => self.field(parent, &field.node)?,
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref().map(|condition| condition.node.on.node.as_str());
                    let on = on.and_then(|on| self.types.name(on));
                    self.set(on.or(parent), &fragment.node.selection_set.node)?;
                }
                Selection::FragmentSpread(_) => {}
            }
        }
        Ok(())
    }

    fn field(&mut self, parent: Option<&'a str>, field: &'a Field) -> Result<(), Refusal> {
        self.aliases += usize::from(field.alias.is_some());
        let here = (parent, field.name.node.as_str());
        if self.path.len() >= self.limits.depth {
            return Err(Refusal::limit("depth", "nested fields", self.limits.depth));
        }
        // Introspection repeats `ofType` for each list and non-null modifier; the depth limit bounds it.
        let repeats = self.path.iter().filter(|above| **above == here).count();
        if parent.is_some() && repeats >= self.limits.recursion {
            let what = "repetitions of a field nested in itself";
            return Err(Refusal::limit("recursion", what, self.limits.recursion));
        }
        self.path.push(here);
        let child = self.types.field(parent, here.1).map(|field| field.of.as_str());
        self.set(child, &field.selection_set.node)?;
        self.path.pop();
        Ok(())
    }
}
