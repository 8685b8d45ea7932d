#![doc = include_str!("../README.md")]

mod cost;
mod limits;
mod literal;
mod merge;
mod refusal;
mod scan;
mod shape;
mod types;
mod validator;
mod variables;
mod weigh;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_graphql::parser;
use async_graphql::parser::types::{ExecutableDocument, OperationDefinition, OperationType, Selection};
use async_graphql::{Name, Positioned, Request, ServerError, Variables};
use async_graphql_value::ConstValue;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

pub use cost::{Costs, Dear};
pub use limits::Limits;
pub use refusal::Refusal;
use scan::Scan;
use types::Types;
pub use validator::Validator;
use variables::Check;

/// What introspection may cost where other operations may cost less: that of `GraphiQL` costs 160,000.
pub const INTROSPECTION: usize = 200_000;

/// About the bytes of memory that a field of a remembered document takes.
const FIELD_BYTES: usize = 1024;

/// The most parts of the room for documents, each of which callers wait for alone, and of the largest that each holds.
const SHARDS: usize = 4;
const LARGEST: usize = 2;

/// An operation of which equal fields were made one.
pub type Merged = Positioned<OperationDefinition>;

/// What values of custom scalars must be, by the scalars' names: says what is wrong with one that cannot be read.
pub type Scalars = HashMap<&'static str, fn(&ConstValue) -> Result<(), String>>;

/// Lets documents over a schema pass, or not. Copies share what they remember.
#[derive(Clone)]
pub struct Guard(Arc<Inner>);

struct Inner {
    types: Types,
    scalars: Scalars,
    limits: Limits,
    costs: Costs,
    passed: Cache<Arc<str>, Arc<Document>, ByBytes>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guard({} documents)", self.0.passed.len())
    }
}

/// An operation that may be executed.
#[derive(Clone, Debug)]
pub struct Passed {
    /// Without fragments and with equal fields made one; requests with the same document share it.
    pub operation: Arc<Merged>,
    /// What it may cost: each field 1, what is below a list as often as the list may have rows.
    pub cost: usize,
}

/// A document that has passed.
struct Document {
    parsed: ExecutableDocument,
    /// Its operations with equal fields made one; empty where that depends on the variables.
    merged: HashMap<Option<Name>, Arc<Merged>>,
    bytes: u64,
}

/// Each weighs at least its share of the bytes, so that the number of documents is bounded, too.
#[derive(Clone)]
struct ByBytes {
    share: u64,
}

impl Weighter<Arc<str>, Arc<Document>> for ByBytes {
    fn weight(&self, _: &Arc<str>, document: &Arc<Document>) -> u64 {
        document.bytes.max(self.share)
    }
}

impl Guard {
    /// Over a schema in the schema definition language; fails where it is none.
    pub fn new(schema: &str, limits: Limits, costs: Costs, scalars: Scalars) -> Result<Self, parser::Error> {
        let bytes = if limits.cached_documents == 0 { 0 } else { limits.cached_document_bytes };
        let largest = LARGEST * (limits.document_bytes + limits.fields * FIELD_BYTES).max(1);
        let options = OptionsBuilder::new()
            .shards((bytes as usize / largest).clamp(1, SHARDS))
            .estimated_items_capacity(limits.cached_documents as usize)
            .weight_capacity(bytes.into())
            .build()
            .expect("both capacities are said");
        // One alone may not take all of the room.
        let share = bytes / limits.cached_documents.max(2);
        let weighter = ByBytes { share: share.max(1).into() };
        let passed = Cache::with_options(options, weighter, DefaultHashBuilder::default(), DefaultLifecycle::default());
        Ok(Self(Arc::new(Inner { types: Types::parse(schema)?, scalars, limits, costs, passed })))
    }

    /// Lets the operation pass that a request is about, or says why not. `validate` is asked where the document is not known,
    /// by the rules of the specification: a [`Validator`] does.
    ///
    /// What the operation costs is for the caller to judge.
    pub async fn pass(
        &self,
        request: &Request,
        validate: impl AsyncFnOnce(&ExecutableDocument) -> Result<(), Vec<ServerError>>,
    ) -> Result<Passed, Refusal> {
        let Inner { types, costs, passed, .. } = &*self.0;
        let document = match passed.get(request.query.as_str()) {
            Some(document) => {
                let (_, operation) = select(&document.parsed, request.operation_name.as_deref())?;
                self.check().variables(&operation.node, &request.variables)?;
                document
            }
            None => self.look_at(request, validate).await?,
        };
        let (name, operation) = select(&document.parsed, request.operation_name.as_deref())?;
        let merged = match document.merged.get(&name.cloned()) {
            Some(merged) => merged.clone(),
            None => self.merge(&document.parsed, operation, &request.variables)?,
        };
        if merged.node.ty == OperationType::Subscription && merged.node.selection_set.node.items.len() != 1 {
            return Err(Refusal::invalid("a subscription has one field of the first level", Some(merged.pos)));
        }
        let cost = cost::cost(types, costs, &merged.node, &request.variables);
        Ok(Passed { operation: merged, cost })
    }

    fn check(&self) -> Check<'_> {
        let Inner { types, scalars, limits, .. } = &*self.0;
        Check { types, scalars, list_items: limits.list_items }
    }

    /// Everything that needs to be done once for a document.
    async fn look_at(
        &self,
        request: &Request,
        validate: impl AsyncFnOnce(&ExecutableDocument) -> Result<(), Vec<ServerError>>,
    ) -> Result<Arc<Document>, Refusal> {
        let Inner { limits, passed, .. } = &*self.0;
        let text = request.query.as_str();
        let parsed = parse(text, limits)?;
        let weight = weigh::weigh(&parsed, limits)?;
        let (_, operation) = select(&parsed, request.operation_name.as_deref())?;
        self.check().variables(&operation.node, &request.variables)?;
        validate(&parsed).await.map_err(Refusal::validation)?;
        let mut merged = HashMap::new();
        if weight.directives == 0 {
            for (name, operation) in parsed.operations.iter() {
                merged.insert(name.cloned(), self.merge(&parsed, operation, &Variables::default())?);
            }
        }
        let bytes = (text.len() + weight.fields * FIELD_BYTES) as u64;
        let document = Arc::new(Document { parsed, merged, bytes });
        passed.insert(text.into(), document.clone());
        Ok(document)
    }

    fn merge(
        &self,
        document: &ExecutableDocument,
        operation: &Merged,
        variables: &Variables,
    ) -> Result<Arc<Merged>, Refusal> {
        let Inner { types, limits, .. } = &*self.0;
        let merged = merge::merged(types, &document.fragments, &operation.node, variables)?;
        shape::check(types, &merged, limits)?;
        Ok(Arc::new(Positioned::new(merged, operation.pos)))
    }
}

impl Passed {
    /// Whether it asks for nothing but the description of the schema.
    pub fn is_introspection(&self) -> bool {
        let operation = &self.operation.node;
        operation.ty == OperationType::Query
            && operation.selection_set.node.items.iter().all(|selection| match &selection.node {
                Selection::Field(field) => field.node.name.node.starts_with("__"),
                _ => false,
            })
    }

    /// Refuses what costs more. Introspection may cost [`INTROSPECTION`] in any case.
    pub fn costs_at_most(&self, most: usize) -> Result<(), Refusal> {
        let most = if self.is_introspection() { INTROSPECTION.max(most) } else { most };
        if self.cost > most {
            return Err(Refusal::limit("complexity", &format!("a complexity of {}", self.cost), most));
        }
        Ok(())
    }
}

fn parse(text: &str, limits: &Limits) -> Result<ExecutableDocument, Refusal> {
    if text.len() > limits.document_bytes {
        return Err(Refusal::limit("document_bytes", "bytes", limits.document_bytes));
    }
    let found = scan(text)?;
    if found.nesting > limits.nesting {
        return Err(Refusal::limit("nesting", "brackets within each other", limits.nesting));
    }
    if found.tokens > limits.tokens {
        return Err(Refusal::limit("tokens", "tokens", limits.tokens));
    }
    literal::parse(text, &found.literals)
}

/// Parses a document from a trusted source, without limits. The parser calls itself for each bracket within another.
pub fn parse_trusted(text: &str) -> Result<ExecutableDocument, Refusal> {
    literal::parse(text, &scan(text)?.literals)
}

fn scan(text: &str) -> Result<Scan, Refusal> {
    scan::scan(text).ok_or_else(|| Refusal::syntax("a string does not end", None))
}

type Selected<'a> = (Option<&'a Name>, &'a Merged);

fn select<'a>(document: &'a ExecutableDocument, name: Option<&str>) -> Result<Selected<'a>, Refusal> {
    let mut operations = document.operations.iter();
    let found = match name {
        Some(name) => operations.find(|(of, _)| of.is_some_and(|of| of == name)),
        None if operations.len() == 1 => operations.next(),
        None => return Err(Refusal::invalid("the query has several operations: operationName must say which", None)),
    };
    found.ok_or_else(|| Refusal::invalid("the query has no operation of that operationName", None))
}
