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

use async_graphql::parser::types::{ExecutableDocument, OperationDefinition, OperationType, Selection};
use async_graphql::{Name, Positioned, Request, ServerError, Variables, parser};
use async_graphql_value::ConstValue;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

pub use cost::{CostRules, CostlyArgument};
pub use limits::DocumentLimits;
pub use refusal::DocumentRefusal;
use scan::TextScan;
use types::SchemaTypes;
pub use validator::DocumentValidator;
use variables::VariableChecker;

/// The minimum complexity limit for introspection. The introspection query of `GraphiQL` costs 160,000.
pub const INTROSPECTION: usize = 200_000;

/// Approximate memory per field of a cached document.
const FIELD_BYTES: usize = 1024;

/// The maximum number of shards of the document cache (each has its own lock), and how many of the largest documents a
/// shard holds.
const SHARDS: usize = 4;
const LARGEST: usize = 2;

/// An operation with equal fields merged into one.
pub type MergedDefinition = Positioned<OperationDefinition>;

/// Validation of custom scalars, by name. Returns an error message for an invalid value.
pub type ScalarValidators = HashMap<&'static str, fn(&ConstValue) -> Result<(), String>>;

/// Validates documents against a schema and caches the valid ones. Clones share the cache.
#[derive(Clone)]
pub struct Guard(Arc<GuardInner>);

struct GuardInner {
    types: SchemaTypes,
    scalars: ScalarValidators,
    limits: DocumentLimits,
    costs: CostRules,
    passed: Cache<Arc<str>, Arc<ValidDocument>, DocumentWeighter>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guard({} documents)", self.0.passed.len())
    }
}

/// A valid operation.
#[derive(Clone, Debug)]
pub struct GuardedOperation {
    /// Without fragments, and with equal fields merged. Requests with the same document share it.
    pub operation: Arc<MergedDefinition>,
    /// The maximum cost: 1 per field, and the cost of a list's rows times its maximum number of rows.
    pub cost: usize,
}

/// A valid document.
struct ValidDocument {
    parsed: ExecutableDocument,
    /// Its operations with equal fields merged. Empty if merging depends on the variables.
    merged: HashMap<Option<Name>, Arc<MergedDefinition>>,
    bytes: u64,
}

/// Weighs each document at least its share of the bytes, so that the number of documents is bounded too.
#[derive(Clone)]
struct DocumentWeighter {
    share: u64,
}

impl Weighter<Arc<str>, Arc<ValidDocument>> for DocumentWeighter {
    fn weight(&self, _: &Arc<str>, document: &Arc<ValidDocument>) -> u64 {
        document.bytes.max(self.share)
    }
}

impl Guard {
    /// Creates a guard for a schema in SDL. Fails if the schema is invalid.
    pub fn new(
        schema: &str,
        limits: DocumentLimits,
        costs: CostRules,
        scalars: ScalarValidators,
    ) -> Result<Self, parser::Error> {
        let bytes = if limits.cached_documents == 0 { 0 } else { limits.cached_document_bytes };
        let largest = LARGEST * (limits.document_bytes + limits.fields * FIELD_BYTES).max(1);
        let options = OptionsBuilder::new()
            .shards((bytes as usize / largest).clamp(1, SHARDS))
            .estimated_items_capacity(limits.cached_documents as usize)
            .weight_capacity(bytes.into())
            .build()
            .expect("both capacities are set");
        // A single document may not take all of the space.
        let share = bytes / limits.cached_documents.max(2);
        let weighter = DocumentWeighter { share: share.max(1).into() };
        let passed = Cache::with_options(options, weighter, DefaultHashBuilder::default(), DefaultLifecycle::default());
        Ok(Self(Arc::new(GuardInner { types: SchemaTypes::parse(schema)?, scalars, limits, costs, passed })))
    }

    /// Returns the operation of a request, or the reason why it is refused. `validate` applies the rules of the
    /// specification to a document that is not cached; a [`DocumentValidator`] does this.
    ///
    /// The caller decides whether the operation's cost is acceptable.
    pub async fn check_request(
        &self,
        request: &Request,
        validate: impl AsyncFnOnce(&ExecutableDocument) -> Result<(), Vec<ServerError>>,
    ) -> Result<GuardedOperation, DocumentRefusal> {
        let GuardInner { types, costs, passed, .. } = &*self.0;
        let document = match passed.get(request.query.as_str()) {
            Some(document) => {
                let (_, operation) = select_operation(&document.parsed, request.operation_name.as_deref())?;
                self.variable_checker().check_variables(&operation.node, &request.variables)?;
                document
            }
            None => self.check_document(request, validate).await?,
        };
        let (name, operation) = select_operation(&document.parsed, request.operation_name.as_deref())?;
        let merged = match document.merged.get(&name.cloned()) {
            Some(merged) => merged.clone(),
            None => self.merge_operation(&document.parsed, operation, &request.variables)?,
        };
        if merged.node.ty == OperationType::Subscription && merged.node.selection_set.node.items.len() != 1 {
            return Err(DocumentRefusal::invalid(
                "a subscription must have exactly one field at the top level",
                Some(merged.pos),
            ));
        }
        let cost = cost::operation_cost(types, costs, &merged.node, &request.variables);
        Ok(GuardedOperation { operation: merged, cost })
    }

    fn variable_checker(&self) -> VariableChecker<'_> {
        let GuardInner { types, scalars, limits, .. } = &*self.0;
        VariableChecker { types, scalars, list_items: limits.list_items }
    }

    /// Runs the checks that a document needs only once.
    async fn check_document(
        &self,
        request: &Request,
        validate: impl AsyncFnOnce(&ExecutableDocument) -> Result<(), Vec<ServerError>>,
    ) -> Result<Arc<ValidDocument>, DocumentRefusal> {
        let GuardInner { limits, passed, .. } = &*self.0;
        let text = request.query.as_str();
        let parsed = parse_limited(text, limits)?;
        let weight = weigh::measure_document(&parsed, limits)?;
        let (_, operation) = select_operation(&parsed, request.operation_name.as_deref())?;
        self.variable_checker().check_variables(&operation.node, &request.variables)?;
        validate(&parsed).await.map_err(DocumentRefusal::validation)?;
        let mut merged = HashMap::new();
        if weight.directives == 0 {
            for (name, operation) in parsed.operations.iter() {
                merged.insert(name.cloned(), self.merge_operation(&parsed, operation, &Variables::default())?);
            }
        }
        let bytes = (text.len() + weight.fields * FIELD_BYTES) as u64;
        let document = Arc::new(ValidDocument { parsed, merged, bytes });
        passed.insert(text.into(), document.clone());
        Ok(document)
    }

    fn merge_operation(
        &self,
        document: &ExecutableDocument,
        operation: &MergedDefinition,
        variables: &Variables,
    ) -> Result<Arc<MergedDefinition>, DocumentRefusal> {
        let GuardInner { types, limits, .. } = &*self.0;
        let merged = merge::merge_fields(types, &document.fragments, &operation.node, variables)?;
        shape::check_shape(types, &merged, limits)?;
        Ok(Arc::new(Positioned::new(merged, operation.pos)))
    }
}

impl GuardedOperation {
    /// Whether the operation only queries the schema (introspection).
    pub fn is_introspection(&self) -> bool {
        let operation = &self.operation.node;
        operation.ty == OperationType::Query
            && operation.selection_set.node.items.iter().all(|selection| match &selection.node {
                Selection::Field(field) => field.node.name.node.starts_with("__"),
                _ => false,
            })
    }

    /// Refuses an operation that costs more than `most`. For introspection, the limit is at least [`INTROSPECTION`].
    pub fn check_cost(&self, most: usize) -> Result<(), DocumentRefusal> {
        let most = if self.is_introspection() { INTROSPECTION.max(most) } else { most };
        if self.cost > most {
            return Err(DocumentRefusal::limit("complexity", &format!("a complexity of {}", self.cost), most));
        }
        Ok(())
    }
}

fn parse_limited(text: &str, limits: &DocumentLimits) -> Result<ExecutableDocument, DocumentRefusal> {
    if text.len() > limits.document_bytes {
        return Err(DocumentRefusal::limit("document_bytes", "bytes", limits.document_bytes));
    }
    let found = scan_text(text)?;
    if found.nesting > limits.nesting {
        return Err(DocumentRefusal::limit("nesting", "nested brackets", limits.nesting));
    }
    if found.tokens > limits.tokens {
        return Err(DocumentRefusal::limit("tokens", "tokens", limits.tokens));
    }
    literal::parse_document(text, &found.literals)
}

/// Parses a document from a trusted source, without limits. The parser recurses for each nested bracket.
pub fn parse_trusted(text: &str) -> Result<ExecutableDocument, DocumentRefusal> {
    literal::parse_document(text, &scan_text(text)?.literals)
}

fn scan_text(text: &str) -> Result<TextScan, DocumentRefusal> {
    scan::scan_document(text).ok_or_else(|| DocumentRefusal::syntax("a string does not end", None))
}

type SelectedOperation<'a> = (Option<&'a Name>, &'a MergedDefinition);

fn select_operation<'a>(
    document: &'a ExecutableDocument,
    name: Option<&str>,
) -> Result<SelectedOperation<'a>, DocumentRefusal> {
    let mut operations = document.operations.iter();
    let found = match name {
        Some(name) => operations.find(|(of, _)| of.is_some_and(|of| of == name)),
        None if operations.len() == 1 => operations.next(),
        None => {
            return Err(DocumentRefusal::invalid(
                "the query has several operations: operationName must say which",
                None,
            ));
        }
    };
    found.ok_or_else(|| DocumentRefusal::invalid("the query has no operation of that operationName", None))
}
