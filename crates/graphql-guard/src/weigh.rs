//! The size of a document with its fragments expanded, computed without expanding them.

use std::collections::HashMap;

use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};

use crate::{DocumentLimits, DocumentRefusal};

/// Maximum nesting of selections and fragments.
const LEVELS: usize = 64;

/// The size of a selection including all spread fragments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectionSize {
    /// Fields, spreads and inline fragments.
    pub fields: usize,
    pub directives: usize,
}

impl SelectionSize {
    fn add_size(&mut self, other: Self) {
        self.fields = self.fields.saturating_add(other.fields);
        self.directives = self.directives.saturating_add(other.directives);
    }
}

/// The size of all operations together, within the limits.
///
/// Each fragment is weighed once, however often it is spread. In a chain of fragments that each spread the next one
/// twice, the work of the validation doubles with each level, and no limit of async-graphql applies before validation
/// starts.
pub fn measure_document(
    document: &ExecutableDocument,
    limits: &DocumentLimits,
) -> Result<SelectionSize, DocumentRefusal> {
    let mut scales = SizeCounter { document, fragments: HashMap::new() };
    let mut all = SelectionSize::default();
    for (_, operation) in document.operations.iter() {
        let definitions = &operation.node.variable_definitions;
        all.directives += operation.node.directives.len();
        all.directives += definitions.iter().map(|definition| definition.node.directives.len()).sum::<usize>();
        all.add_size(scales.measure_set(&operation.node.selection_set.node, 0)?);
    }
    for name in document.fragments.keys() {
        // Unused fragments are validated too.
        if !scales.fragments.contains_key(name.as_str()) {
            all.add_size(scales.measure_fragment(name, 0)?);
        }
    }
    if all.fields > limits.fields {
        let what = "fields and fragments, with fragments expanded";
        return Err(DocumentRefusal::limit("fields", what, limits.fields));
    }
    if all.directives > limits.directives {
        return Err(DocumentRefusal::limit("directives", "directives", limits.directives));
    }
    Ok(all)
}

struct SizeCounter<'a> {
    document: &'a ExecutableDocument,
    /// `None` while a fragment is being weighed.
    fragments: HashMap<&'a str, Option<SelectionSize>>,
}

impl<'a> SizeCounter<'a> {
    fn measure_set(&mut self, set: &'a SelectionSet, level: usize) -> Result<SelectionSize, DocumentRefusal> {
        if level > LEVELS {
            return Err(DocumentRefusal::limit("depth", "nested selections and fragments", LEVELS));
        }
        let mut all = SelectionSize::default();
        for selection in &set.items {
            all.add_size(SelectionSize { fields: 1, directives: selection.node.directives().len() });
            all.add_size(match &selection.node {
                Selection::Field(field) => self.measure_set(&field.node.selection_set.node, level + 1)?,
                Selection::InlineFragment(fragment) => {
                    self.measure_set(&fragment.node.selection_set.node, level + 1)?
                }
                Selection::FragmentSpread(spread) => self.measure_fragment(&spread.node.fragment_name.node, level)?,
            });
        }
        Ok(all)
    }

    fn measure_fragment(&mut self, name: &str, level: usize) -> Result<SelectionSize, DocumentRefusal> {
        let Some((name, fragment)) = self.document.fragments.get_key_value(name) else {
            return Ok(SelectionSize::default());
        };
        match self.fragments.get(name.as_str()) {
            Some(Some(weight)) => return Ok(*weight),
            Some(None) => {
                return Err(DocumentRefusal::invalid("a fragment must not spread itself", Some(fragment.pos)));
            }
            None => {}
        }
        self.fragments.insert(name, None);
        let mut weight = SelectionSize { fields: 0, directives: fragment.node.directives.len() };
        weight.add_size(self.measure_set(&fragment.node.selection_set.node, level + 1)?);
        self.fragments.insert(name, Some(weight));
        Ok(weight)
    }
}
