//! Executes responses that differ only in ids once for all recipients.
//!
//! An announcement is the same item for everyone, and many overviews are equal, except for their ids and cursors: these
//! are sealed over the user's number. So the server executes such an event for [`NOBODY`], and then replaces the ids in
//! the response by those of each recipient. Clients never see the ids of [`NOBODY`], which are ciphertext, so no text
//! of a user can contain one.
//!
//! A response could also depend on the caller. The server executes it for a caller without a name; resolvers that need
//! the caller refuse that, and a response with an error is not shared.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use async_graphql::parser::types::{Directive, OperationDefinition, OperationType, Selection, SelectionSet};
use async_graphql::{Positioned, Response, Variables};
use async_graphql_value::Value as Written;
use entity::ids::{Seq, TenantId, UserId};
use parking_lot::Mutex;

use super::SubscriptionEvent;
use domain::tenant::Tenant;
use model::id_cipher::{ID_BYTES, IdCipher, IdKind};
use model::int_map::IntegerKeyMap;

/// The placeholder user: the largest number that an id can hold, and no real user's.
pub const NOBODY: UserId = UserId((1 << 48) - 1);

/// Most cached responses. At that number all are dropped: responses are shared within moments, or not at all.
const ANSWERS: usize = 512;

type MergedOperation = Positioned<OperationDefinition>;

/// The query of a subscription for each of its events, shared by all subscriptions with the same text.
#[derive(Debug)]
pub struct SubscriptionDocument {
    /// The document that it was made from. Its address is the lookup key, so it must stay alive.
    _origin: Arc<MergedOperation>,
    pub document: Arc<MergedOperation>,
    /// Empty if responses to events depend on none.
    pub variables: Variables,
    /// Minimum number of fields in a response. Fields of list items occur more than once.
    pub fields: usize,
    is_common: bool,
}

/// Queries of subscriptions, and their shared responses.
#[derive(Default)]
pub struct SharedResponses {
    questions: Mutex<HashMap<usize, Weak<SubscriptionDocument>>>,
    answers: Mutex<IntegerKeyMap<(usize, TenantId, u64), CachedTemplate>>,
}

/// Keeps the query and the event alive, because lookups compare their addresses.
struct CachedTemplate {
    _question: Arc<SubscriptionDocument>,
    event: SubscriptionEvent,
    /// `None` if each recipient needs a separate response.
    template: Option<Arc<ResponseTemplate>>,
}

/// The result of a lookup.
pub enum TemplateLookup {
    /// A response that all recipients share.
    Same(Arc<ResponseTemplate>),
    /// Each recipient needs a separate response.
    Own,
    Nothing,
}

/// The JSON of a response, with gaps for ids.
#[derive(Debug)]
pub struct ResponseTemplate {
    parts: Vec<(String, (IdKind, Seq))>,
    end: String,
}

impl SubscriptionDocument {
    /// Drops the arguments of the subscription's own field: they select events, but do not affect a response.
    fn new(origin: Arc<MergedOperation>, variables: Variables) -> Self {
        let mut document = (*origin).clone();
        document.node.ty = OperationType::Query;
        for selection in &mut document.node.selection_set.node.items {
            if let Selection::Field(field) = &mut selection.node {
                field.node.arguments.clear();
            }
        }
        let is_common = !is_caller_dependent(&document.node.selection_set.node);
        if is_common {
            document.node.variable_definitions.clear();
        }
        let variables = if is_common { Variables::default() } else { variables };
        let fields = count_leaves(&document.node.selection_set.node);
        Self { _origin: origin, document: Arc::new(document), variables, fields, is_common }
    }
}

/// Number of fields without fields below them.
fn count_leaves(set: &SelectionSet) -> usize {
    let of = |selection: &Positioned<Selection>| match &selection.node {
        Selection::Field(field) => count_leaves(&field.node.selection_set.node).max(1),
        Selection::InlineFragment(of) => count_leaves(&of.node.selection_set.node),
        // The guard has expanded fragments.
        Selection::FragmentSpread(_) => 0,
    };
    set.items.iter().map(of).sum()
}

/// Whether anything in it depends on a variable, or on the user by more than ids.
fn is_caller_dependent(set: &SelectionSet) -> bool {
    let directives = |all: &[Positioned<Directive>]| {
        all.iter().flat_map(|of| &of.node.arguments).any(|(_, value)| is_variable(&value.node))
    };
    set.items.iter().any(|selection| match &selection.node {
        Selection::Field(field) => {
            field.node.name.node == "etag"
                || field.node.arguments.iter().any(|(_, value)| is_variable(&value.node))
                || directives(&field.node.directives)
                || is_caller_dependent(&field.node.selection_set.node)
        }
        Selection::InlineFragment(of) => {
            directives(&of.node.directives) || is_caller_dependent(&of.node.selection_set.node)
        }
        // The guard has expanded fragments.
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

impl SharedResponses {
    /// The query for the events of a subscription with this document and these variables.
    pub fn document_for(&self, document: Arc<MergedOperation>, variables: Variables) -> Arc<SubscriptionDocument> {
        let place = Arc::as_ptr(&document) as usize;
        let mut questions = self.questions.lock();
        if let Some(known) = questions.get(&place).and_then(Weak::upgrade) {
            return known;
        }
        let question = Arc::new(SubscriptionDocument::new(document, variables));
        if question.is_common {
            questions.retain(|_, question| question.strong_count() > 0);
            questions.insert(place, Arc::downgrade(&question));
        }
        question
    }

    /// The response to an event like this one.
    pub fn find_template(
        &self,
        tenant: TenantId,
        question: &Arc<SubscriptionDocument>,
        event: &SubscriptionEvent,
    ) -> TemplateLookup {
        if !question.is_common || !event.is_shareable() {
            return TemplateLookup::Own;
        }
        let answers = self.answers.lock();
        match answers.get(&(Arc::as_ptr(question) as usize, tenant, event.cache_hash())) {
            Some(known) if known.event.shows_same(event) => {
                known.template.clone().map_or(TemplateLookup::Own, TemplateLookup::Same)
            }
            _ => TemplateLookup::Nothing,
        }
    }

    /// Stores the result of an event that was executed for [`NOBODY`].
    pub fn store_template(
        &self,
        tenant: TenantId,
        question: &Arc<SubscriptionDocument>,
        event: SubscriptionEvent,
        template: Option<Arc<ResponseTemplate>>,
    ) {
        let mut answers = self.answers.lock();
        if answers.len() >= ANSWERS {
            answers.clear();
        }
        let key = (Arc::as_ptr(question) as usize, tenant, event.cache_hash());
        answers.insert(key, CachedTemplate { _question: question.clone(), event, template });
    }
}

impl ResponseTemplate {
    /// For a response to [`NOBODY`] that may contain these ids.
    pub fn from_response(answer: &Response, seal: &IdCipher, ids: impl Iterator<Item = (IdKind, Seq)>) -> Self {
        // A response is always JSON.
        let text = serde_json::to_string(answer).unwrap_or_default();
        let mut places = Vec::new();
        for (kind, seq) in ids {
            let id = seal.encode(kind, NOBODY.0, seq.0);
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

    fn byte_len(&self) -> usize {
        self.parts.iter().map(|(text, _)| text.len() + ID_BYTES).sum::<usize>() + self.end.len()
    }
}

/// A shared response for one recipient.
pub struct PersonalizedResponse {
    pub template: Arc<ResponseTemplate>,
    pub tenant: Arc<Tenant>,
    pub user: UserId,
}

impl PersonalizedResponse {
    /// Length of its JSON.
    pub fn byte_len(&self) -> usize {
        self.template.byte_len()
    }

    /// Appends its JSON to `text`.
    pub fn write_json(&self, text: &mut Vec<u8>) {
        let ResponseTemplate { parts, end } = &*self.template;
        for (before, (kind, seq)) in parts {
            text.extend_from_slice(before.as_bytes());
            text.extend_from_slice(&self.tenant.id_cipher.encode_bytes(*kind, self.user.0, seq.0));
        }
        text.extend_from_slice(end.as_bytes());
    }

    /// Its JSON.
    pub fn to_json(&self) -> String {
        let mut text = Vec::with_capacity(self.byte_len());
        self.write_json(&mut text);
        // Never fails: it consists of text and ids.
        String::from_utf8(text).unwrap_or_default()
    }
}
