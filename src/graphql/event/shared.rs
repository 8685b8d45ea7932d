//! Answers that differ in nothing but ids are executed once for all who get them.
//!
//! An announcement is the same item for everybody, and many overviews are the same, but for the ids and cursors in them, which
//! are sealed over the user's number. So such an event is executed for [`NOBODY`], and the ids in its answer are then
//! exchanged for those of each who gets it. They are ciphertext that nobody has ever seen: no text that somebody wrote can
//! hold one.
//!
//! What else an answer could depend on is the caller. It is executed by a caller without a name, which every resolver that
//! asks who calls refuses; an answer with an error is shared with nobody.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use async_graphql::parser::types::{Directive, OperationDefinition, OperationType, Selection, SelectionSet};
use async_graphql::{Positioned, Response, Variables};
use async_graphql_value::Value as Written;
use entity::ids::{Seq, TenantId, UserId};
use parking_lot::Mutex;

use super::Event;
use crate::domain::tenant::Tenant;
use crate::model::number::ByNumber;
use crate::model::seal::{ID_BYTES, Kind, Seal};

/// The largest number that an id can hold, which is no user's.
pub const NOBODY: UserId = UserId((1 << 48) - 1);

/// Answers that are remembered; past that all are forgotten. They are shared within moments, or not at all.
const ANSWERS: usize = 512;

type Merged = Positioned<OperationDefinition>;

/// What a subscription asks of each of its events: the same for all that were sent the same text.
#[derive(Debug)]
pub struct Question {
    /// What it was made from, by whose place in memory it is found; kept, so that nothing else takes that place.
    _origin: Arc<Merged>,
    pub document: Arc<Merged>,
    /// None where the answers to events do not depend on any.
    pub variables: Variables,
    /// How many fields its answers have at the least: lists have theirs more than once.
    pub fields: usize,
    is_common: bool,
}

/// Questions that subscriptions ask, and answers to them that were the same for all.
#[derive(Default)]
pub struct Shared {
    questions: Mutex<HashMap<usize, Weak<Question>>>,
    answers: Mutex<ByNumber<(usize, TenantId, u64), Known>>,
}

/// What is kept of its question and its event stays in its place in memory, by which others are known to be the same.
struct Known {
    _question: Arc<Question>,
    event: Event,
    /// Nothing where everybody has an answer of their own.
    template: Option<Arc<Template>>,
}

/// What is known of the answer for an event.
pub enum Found {
    /// It is the same for all who get the same.
    Same(Arc<Template>),
    /// Each has an answer of their own.
    Own,
    Nothing,
}

/// The JSON of an answer, with ids left open.
#[derive(Debug)]
pub struct Template {
    parts: Vec<(String, (Kind, Seq))>,
    end: String,
}

impl Question {
    /// The arguments of the subscription's own field say which events there are; they have no part in an answer.
    fn new(origin: Arc<Merged>, variables: Variables) -> Self {
        let mut document = (*origin).clone();
        document.node.ty = OperationType::Query;
        for selection in &mut document.node.selection_set.node.items {
            if let Selection::Field(field) = &mut selection.node {
                field.node.arguments.clear();
            }
        }
        let is_common = !depends(&document.node.selection_set.node);
        if is_common {
            document.node.variable_definitions.clear();
        }
        let variables = if is_common { Variables::default() } else { variables };
        let fields = count(&document.node.selection_set.node);
        Self { _origin: origin, document: Arc::new(document), variables, fields, is_common }
    }
}

/// How many fields are in it that hold no others.
fn count(set: &SelectionSet) -> usize {
    let of = |selection: &Positioned<Selection>| match &selection.node {
        Selection::Field(field) => count(&field.node.selection_set.node).max(1),
        Selection::InlineFragment(of) => count(&of.node.selection_set.node),
        // The guard has written them out.
        Selection::FragmentSpread(_) => 0,
    };
    set.items.iter().map(of).sum()
}

/// Whether anything in it depends on a variable, or on whose it is by more than ids.
fn depends(set: &SelectionSet) -> bool {
    let directives = |all: &[Positioned<Directive>]| {
        all.iter().flat_map(|of| &of.node.arguments).any(|(_, value)| is_variable(&value.node))
    };
    set.items.iter().any(|selection| match &selection.node {
        Selection::Field(field) => {
            field.node.name.node == "etag"
                || field.node.arguments.iter().any(|(_, value)| is_variable(&value.node))
                || directives(&field.node.directives)
                || depends(&field.node.selection_set.node)
        }
        Selection::InlineFragment(of) => directives(&of.node.directives) || depends(&of.node.selection_set.node),
        // The guard has written them out.
        Selection::FragmentSpread(_) => true,
    })
}

fn is_variable(value: &Written) -> bool {
    match value {
        Written::Variable(_) => true,
        Written::List(values) => values.iter().any(is_variable),
        Written::Object(fields) => fields.values().any(is_variable),
        _ => false,
    }
}

impl Shared {
    /// What a subscription with this document and these variables asks of its events.
    pub fn question(&self, document: Arc<Merged>, variables: Variables) -> Arc<Question> {
        let place = Arc::as_ptr(&document) as usize;
        let mut questions = self.questions.lock();
        if let Some(known) = questions.get(&place).and_then(Weak::upgrade) {
            return known;
        }
        let question = Arc::new(Question::new(document, variables));
        if question.is_common {
            questions.retain(|_, question| question.strong_count() > 0);
            questions.insert(place, Arc::downgrade(&question));
        }
        question
    }

    /// The answer for an event like this one.
    pub fn find(&self, tenant: TenantId, question: &Arc<Question>, event: &Event) -> Found {
        if !question.is_common || !event.is_common() {
            return Found::Own;
        }
        let answers = self.answers.lock();
        match answers.get(&(Arc::as_ptr(question) as usize, tenant, event.outline())) {
            Some(known) if known.event.shows_same(event) => known.template.clone().map_or(Found::Own, Found::Same),
            _ => Found::Nothing,
        }
    }

    /// Remembers what came of an event that was executed for [`NOBODY`].
    pub fn learn(&self, tenant: TenantId, question: &Arc<Question>, event: Event, template: Option<Arc<Template>>) {
        let mut answers = self.answers.lock();
        if answers.len() >= ANSWERS {
            answers.clear();
        }
        let key = (Arc::as_ptr(question) as usize, tenant, event.outline());
        answers.insert(key, Known { _question: question.clone(), event, template });
    }
}

impl Template {
    /// Of an answer for [`NOBODY`] that may hold these ids.
    pub fn of(answer: &Response, seal: &Seal, ids: impl Iterator<Item = (Kind, Seq)>) -> Self {
        // A response is always JSON.
        let text = serde_json::to_string(answer).unwrap_or_default();
        let mut places = Vec::new();
        for (kind, seq) in ids {
            let id = seal.close(kind, NOBODY.0, seq.0);
            places.extend(text.match_indices(&id).map(|(at, id)| (at, id.len(), (kind, seq))));
        }
        places.sort_unstable_by_key(|(at, ..)| *at);
        let (mut parts, mut from) = (Vec::with_capacity(places.len()), 0);
        for (at, length, id) in places {
            parts.push((text[from..at].to_owned(), id));
            from = at + length;
        }
        Self { parts, end: text[from..].to_owned() }
    }

    fn bytes(&self) -> usize {
        self.parts.iter().map(|(text, _)| text.len() + ID_BYTES).sum::<usize>() + self.end.len()
    }
}

/// The answer of one of those who get the same but for ids.
pub struct Filled {
    pub template: Arc<Template>,
    pub tenant: Arc<Tenant>,
    pub user: UserId,
}

impl Filled {
    /// How long its JSON is.
    pub fn bytes(&self) -> usize {
        self.template.bytes()
    }

    /// Adds its JSON to a text.
    pub fn write(&self, text: &mut Vec<u8>) {
        let Template { parts, end } = &*self.template;
        for (before, (kind, seq)) in parts {
            text.extend_from_slice(before.as_bytes());
            text.extend_from_slice(&self.tenant.seal.letters(*kind, self.user.0, seq.0));
        }
        text.extend_from_slice(end.as_bytes());
    }

    /// Its JSON.
    pub fn text(&self) -> String {
        let mut text = Vec::with_capacity(self.bytes());
        self.write(&mut text);
        // Of texts and ids.
        String::from_utf8(text).unwrap_or_default()
    }
}
