//! The checks that every request passes before its execution, on any transport: a permit for a request in progress, the
//! list of documents, the guard, and the caller's rate.

mod documents;
mod operations;
mod rate;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use async_graphql::{Request, Response, ScalarType};
use guard::{CostRules, CostlyArgument, DocumentLimits, DocumentRefusal, Guard, MergedDefinition, ScalarValidators};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::DEFAULT_SIZE;
use super::engine::RequestMetrics;
use super::errors::error_response;
use super::scalars::DateTimeScalar;
use super::{Mutation, OperationName, Query, Schema, Subscription, Viewer, schema_builder};
use crate::app::App;
use auth::CallerRole;
use base::config::LimitsConfig;
use base::error::Error;
use documents::PersistedDocuments;
pub use operations::{PersistedOperations, sha256_hex};
pub use rate::{PublicRoute, RateLimit, RateLimiter, RateScope, TokenBucket};

/// Services and operators may use this many times the complexity of a user's request.
const STAFF: usize = 10;

/// Assumed rows of a list of unknown length.
const ROWS: usize = 10;

/// Arguments with a row in the response for each entry.
const COUNTED: [&str; 3] = ["ids", "inputs", "representations"];

/// Cost of a list of items with one of the conditions below: the notification of each skipped item must be read.
const FILTERED: usize = 1_000;

/// Conditions that only an item's notification can answer.
const LOOKING: [&str; 4] = ["kinds", "target", "action", "sender"];

/// Admits requests, or refuses them.
#[derive(Clone)]
pub struct AdmissionControl {
    guard: Guard,
    validator: guard::DocumentValidator<Query, Mutation, Subscription>,
    persisted: PersistedDocuments,
    /// The rates of callers.
    pub rates: RateLimiter,
    /// Permits for queries and mutations in progress.
    places: Arc<Semaphore>,
}

/// A request that may be executed.
pub struct AdmittedRequest {
    /// Without its document.
    pub request: Request,
    /// Its type and name.
    pub operation: OperationName,
    /// Its operation with equal fields merged. Requests with the same document share it.
    pub document: Arc<MergedDefinition>,
    /// Counts the request when it ends.
    pub flight: RequestMetrics,
}

impl AdmissionControl {
    /// With the settings of `app`.
    pub fn new(app: &Arc<App>) -> Self {
        let limits = &app.config.limits;
        let scalars: ScalarValidators = HashMap::from([("DateTime", check_date_time as fn(&_) -> _)]);
        let guard = Guard::new(&Schema::export_sdl(), document_limits(limits), cost_rules(limits), scalars);
        Self {
            guard: guard.expect("the server's own schema is valid"),
            validator: guard::DocumentValidator::new(schema_builder),
            persisted: PersistedDocuments::new(&app.config),
            rates: RateLimiter::new(app),
            places: Arc::new(Semaphore::new(limits.in_flight.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Waits until no admitted query or mutation is in progress.
    pub async fn wait_idle(&self, app: &App) {
        let all = u32::try_from(app.config.limits.in_flight).unwrap_or(u32::MAX);
        // Cannot fail: the semaphore is never closed.
        let _ = self.places.acquire_many(all).await;
    }

    /// Counts one operation of a caller, or refuses if the rate is used up. This comes before the server looks at the
    /// request, so that a refused or unparsable request is not free.
    pub async fn charge(&self, app: &Arc<App>, viewer: &Viewer) -> Result<(), Response> {
        self.rates.charge_operations(app, viewer, 1).await.map_err(error_response)
    }

    /// The same for a caller without a token.
    pub async fn charge_without_token(&self, app: &Arc<App>, shares: &[RateScope<'_>]) -> Result<(), Response> {
        self.rates.charge_without_token(app, shares).await.map_err(error_response)
    }

    /// A permit for a request in progress. Without a free one the caller is refused at once instead of queued, and has
    /// used up nothing.
    pub fn acquire_permit(&self, app: &App) -> Result<OwnedSemaphorePermit, Box<Response>> {
        self.places.clone().try_acquire_owned().map_err(|_| {
            app.metrics.shed.inc();
            Box::new(error_response(Error::Unavailable("the server is overloaded, try again in a moment".into())))
        })
    }

    /// Admits a request with its document parsed, or refuses it. Without a viewer only introspection passes.
    ///
    /// A refused request has executed nothing. Each field of the first level counts as an operation, except the one
    /// that `charge` has counted.
    pub async fn admit(
        &self,
        app: &Arc<App>,
        viewer: Option<&Viewer>,
        mut request: Request,
    ) -> Result<AdmittedRequest, Response> {
        let began_at = Instant::now();
        let permit = self.acquire_permit(app).map_err(|refusal| *refusal)?;
        let registration = self.persisted.resolve_document(app, viewer, &mut request).map_err(|refusal| *refusal)?;
        let is_staff = viewer.is_some_and(|viewer| viewer.role != CallerRole::User);
        let validate = async |document: &_| self.validator.validate(document, &request, is_staff).await;
        let passed = self.guard.check_request(&request, validate).await.map_err(DocumentRefusal::into_response)?;
        if viewer.is_none() && !passed.is_introspection() {
            return Err(error_response(Error::Unauthenticated("send a token: Authorization: Bearer …".into())));
        }
        let complexity = app.config.limits.complexity;
        let most = if is_staff { complexity.saturating_mul(STAFF) } else { complexity };
        passed.check_cost(most).map_err(DocumentRefusal::into_response)?;
        let document = passed.operation;
        let fields = document.node.selection_set.node.items.len();
        if let Some(viewer) = viewer {
            self.rates.charge_operations(app, viewer, fields.saturating_sub(1)).await.map_err(error_response)?;
        }
        self.persisted.register(registration);
        request.query = String::new();
        request.operation_name = None;
        let operation = OperationName::from_definition(&document.node);
        let flight = RequestMetrics::new(app, viewer, operation.clone(), (began_at, permit));
        Ok(AdmittedRequest { request, operation, document, flight })
    }
}

/// The limits of a document.
fn document_limits(limits: &LimitsConfig) -> DocumentLimits {
    DocumentLimits {
        document_bytes: limits.document_bytes,
        tokens: limits.tokens,
        nesting: limits.nesting,
        fields: limits.fields,
        depth: limits.depth,
        recursion: limits.recursion,
        root_fields: limits.root_fields,
        aliases: limits.aliases,
        directives: limits.directives,
        list_items: limits.list_items,
        cached_documents: limits.cached_documents,
        cached_document_bytes: limits.cached_document_bytes,
    }
}

fn cost_rules(limits: &LimitsConfig) -> CostRules {
    CostRules {
        rows: ROWS,
        page: DEFAULT_SIZE,
        longest_page: limits.page_size,
        counted: COUNTED.to_vec(),
        dear: vec![CostlyArgument { argument: "filter", fields: LOOKING.to_vec(), cost: FILTERED }],
    }
}

fn check_date_time(value: &async_graphql::Value) -> Result<(), String> {
    let why = "must be an instant such as 2026-11-21T08:30:00.000Z (RFC 3339)";
    DateTimeScalar::parse(value.clone()).map(drop).map_err(|_| why.to_owned())
}
