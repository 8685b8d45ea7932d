//! What every request passes before anything of it is executed, whichever transport it came by.
//!
//! A document is looked at as text, parsed once, weighed without writing its fragments out, validated, and its equal
//! fields are made one. What has passed is remembered by its text: only its variables are looked at again.

mod documents;
mod measure;
mod merge;
mod rate;
mod refusal;
mod scan;
mod types;
mod variables;
mod weigh;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use async_graphql::parser::types::{ExecutableDocument, OperationDefinition, OperationType};
use async_graphql::parser::{self, parse_query};
use async_graphql::{Name, Positioned, Request, Response, Variables};
use moka::future::Cache;
use tokio::sync::Semaphore;

use super::flight::Flight;
use super::{Operation, Validator, Viewer};
use crate::app::App;
use crate::auth::Role;
use crate::config::LimitsConfig;
use crate::error::Error;
use documents::Persisted;
pub use rate::{Allowance, Bucket, Rates};
use refusal::Refusal;

/// How much more than a user a service or an operator may ask for at once.
const STAFF: usize = 10;

/// About the bytes of memory that a field of a remembered document takes.
const FIELD_BYTES: usize = 1024;

/// Lets requests pass, or not.
#[derive(Clone)]
pub struct Guard {
    validator: Validator,
    passed: Cache<Arc<str>, Arc<Document>>,
    persisted: Persisted,
    /// What callers may still do.
    pub rates: Rates,
    /// Places for queries and mutations under way.
    places: Arc<Semaphore>,
}

/// A request that may be executed.
pub struct Admitted {
    /// Without its document.
    pub request: Request,
    /// What it does.
    pub operation: Operation,
    /// Its operation with equal fields made one, which requests with the same document share.
    pub document: Arc<Merged>,
    /// Counts it once it has ended.
    pub flight: Flight,
}

type Merged = Positioned<OperationDefinition>;

/// A document that has passed.
struct Document {
    parsed: ExecutableDocument,
    /// Its operations with equal fields made one; empty where that depends on the variables.
    merged: HashMap<Option<Name>, Arc<Merged>>,
    bytes: u32,
}

impl Guard {
    /// For a server with the settings of `app`.
    pub fn new(app: &Arc<App>, validator: Validator) -> Self {
        let limits = &app.config.limits;
        // Each weighs at least its share of the bytes, so that the number of them is bounded, too.
        let share = limits.cached_document_bytes / limits.cached_documents.max(1);
        let passed = Cache::builder()
            .max_capacity(if limits.cached_documents == 0 { 0 } else { limits.cached_document_bytes.into() })
            .weigher(move |_, document: &Arc<Document>| document.bytes.max(share))
            .build();
        let places = Semaphore::new(limits.in_flight.min(Semaphore::MAX_PERMITS));
        Self {
            validator,
            passed,
            persisted: Persisted::new(&app.config),
            rates: Rates::new(app),
            places: Arc::new(places),
        }
    }

    /// Waits until none of those that passed is under way any more.
    pub async fn landed(&self, app: &App) {
        let all = u32::try_from(app.config.limits.in_flight).unwrap_or(u32::MAX);
        // Nobody closes them.
        let _ = self.places.acquire_many(all).await;
    }

    /// Counts one operation of a caller, or answers that they have none left: before anything of their request is looked at, so
    /// that what is refused or does not even parse is not for free.
    pub async fn knock(&self, app: &Arc<App>, viewer: Option<&Viewer>) -> Result<(), Response> {
        self.count(app, viewer, 1).await.map_err(Refusal::response)
    }

    /// Lets a request pass with its document parsed, or answers why not. Without a viewer only introspection passes.
    ///
    /// Nothing of the request was executed when it is refused. Counts its fields of the first level as operations, but for one,
    /// with which its caller has knocked.
    pub async fn admit(&self, app: &Arc<App>, viewer: Option<&Viewer>, request: Request) -> Result<Admitted, Response> {
        self.pass(app, viewer, request).await.map_err(Refusal::response)
    }

    async fn pass(&self, app: &Arc<App>, viewer: Option<&Viewer>, mut request: Request) -> Result<Admitted, Refusal> {
        let began_at = Instant::now();
        let limits = &app.config.limits;
        // Whoever would only join a queue that is too long already is told at once, and has used up nothing.
        let Ok(permit) = self.places.clone().try_acquire_owned() else {
            app.metrics.shed.inc();
            return Err(Refusal::of(Error::Unavailable("the server is overloaded, try again in a moment".into())));
        };
        let registration = self.persisted.find(app, viewer, &mut request).await?;
        let document = match self.passed.get(request.query.as_str()).await {
            Some(document) => {
                let (_, operation) = select(&document.parsed, request.operation_name.as_deref())?;
                variables::check(&operation.node, &request.variables, limits.list_items)?;
                document
            }
            None => self.look_at(viewer, &request, limits).await?,
        };
        let (name, operation) = select(&document.parsed, request.operation_name.as_deref())?;
        let merged = match document.merged.get(&name.cloned()) {
            Some(merged) => merged.clone(),
            None => merge(&document.parsed, operation, &request.variables, limits)?,
        };
        if viewer.is_none() && !is_introspection(&merged.node) {
            let message = "send a token: Authorization: Bearer …".to_owned();
            return Err(Refusal::of(Error::Unauthenticated(message)));
        }
        let is_staff = viewer.is_some_and(|viewer| viewer.role != Role::User);
        let most = if is_introspection(&merged.node) {
            measure::INTROSPECTION.max(limits.complexity)
        } else if is_staff {
            limits.complexity.saturating_mul(STAFF)
        } else {
            limits.complexity
        };
        let cost = measure::cost(&merged.node, &request.variables, limits);
        if cost > most {
            return Err(Refusal::limit("complexity", &format!("a complexity of {cost}"), most));
        }
        let fields = &merged.node.selection_set.node.items;
        if merged.node.ty == OperationType::Subscription && fields.len() != 1 {
            return Err(Refusal::invalid("a subscription has one field of the first level", Some(merged.pos)));
        }
        self.count(app, viewer, fields.len().saturating_sub(1)).await?;
        self.persisted.register(registration).await;
        request.query = String::new();
        request.operation_name = None;
        let operation = Operation::of(&merged.node);
        let flight = Flight::new(app, operation.clone(), began_at, permit);
        Ok(Admitted { request, operation, document: merged, flight })
    }

    async fn count(&self, app: &Arc<App>, viewer: Option<&Viewer>, operations: usize) -> Result<(), Refusal> {
        self.rates.take(app, viewer, operations).await.map_err(Refusal::of)
    }

    /// Everything that needs to be done once for a document.
    async fn look_at(
        &self,
        viewer: Option<&Viewer>,
        request: &Request,
        limits: &LimitsConfig,
    ) -> Result<Arc<Document>, Refusal> {
        let text = request.query.as_str();
        let parsed = parse(text, limits)?;
        let weight = weigh::weigh(&parsed, limits)?;
        let (_, operation) = select(&parsed, request.operation_name.as_deref())?;
        variables::check(&operation.node, &request.variables, limits.list_items)?;
        let suggests = viewer.is_some_and(|viewer| viewer.role != Role::User);
        self.validator.validate(&parsed, request, suggests).await.map_err(Refusal::validation)?;
        let mut merged = HashMap::new();
        if weight.directives == 0 {
            for (name, operation) in parsed.operations.iter() {
                let operation = merge(&parsed, operation, &Variables::default(), limits)?;
                merged.insert(name.cloned(), operation);
            }
        }
        let bytes = u32::try_from(text.len() + weight.fields * FIELD_BYTES).unwrap_or(u32::MAX);
        let document = Arc::new(Document { parsed, merged, bytes });
        self.passed.insert(text.into(), document.clone()).await;
        Ok(document)
    }
}

fn parse(text: &str, limits: &LimitsConfig) -> Result<ExecutableDocument, Refusal> {
    if text.len() > limits.document_bytes {
        return Err(Refusal::limit("document_bytes", "bytes", limits.document_bytes));
    }
    let found = scan::scan(text).ok_or_else(|| Refusal::syntax("a string does not end", None))?;
    if found.nesting > limits.nesting {
        return Err(Refusal::limit("nesting", "brackets within each other", limits.nesting));
    }
    if found.tokens > limits.tokens {
        return Err(Refusal::limit("tokens", "tokens", limits.tokens));
    }
    parse_query(text).map_err(|error| match error {
        // The last line says what was expected; those before repeat the document.
        parser::Error::Syntax { message, start, .. } => {
            let expected = message.rsplit_once("= ").map(|(_, expected)| expected.trim());
            Refusal::syntax(expected.filter(|text| text.starts_with("expected")).unwrap_or_default(), Some(start))
        }
        other => Refusal::invalid(other.to_string(), other.positions().next()),
    })
}

type Selected<'a> = (Option<&'a Name>, &'a Positioned<OperationDefinition>);

fn select<'a>(document: &'a ExecutableDocument, name: Option<&str>) -> Result<Selected<'a>, Refusal> {
    let mut operations = document.operations.iter();
    let found = match name {
        Some(name) => operations.find(|(of, _)| of.is_some_and(|of| of == name)),
        None if operations.len() == 1 => operations.next(),
        None => return Err(Refusal::invalid("the query has several operations: operationName must say which", None)),
    };
    found.ok_or_else(|| Refusal::invalid("the query has no operation of that operationName", None))
}

fn merge(
    document: &ExecutableDocument,
    operation: &Merged,
    variables: &Variables,
    limits: &LimitsConfig,
) -> Result<Arc<Merged>, Refusal> {
    let merged = merge::merged(&document.fragments, &operation.node, variables)?;
    measure::measure(&merged, limits)?;
    Ok(Arc::new(Positioned::new(merged, operation.pos)))
}

fn is_introspection(operation: &OperationDefinition) -> bool {
    use async_graphql::parser::types::{OperationType, Selection};
    operation.ty == OperationType::Query
        && operation.selection_set.node.items.iter().all(|selection| match &selection.node {
            Selection::Field(field) => field.node.name.node.starts_with("__"),
            _ => false,
        })
}
