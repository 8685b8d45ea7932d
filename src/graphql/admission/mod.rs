//! The checks that every request passes before its execution, on any transport: a permit for a request in progress, the
//! list of documents, the guard, and the caller's rate.

mod documents;
mod rate;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use async_graphql::{Request, Response, ScalarType};
use guard::{Costs, Dear, Guard, Limits, Merged, Refusal, Scalars};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::DEFAULT_SIZE;
use super::errors::failed;
use super::flight::Flight;
use super::scalars::Instant as DateTime;
use super::{Mutation, Operation, Query, Schema, Subscription, Viewer, builder};
use crate::app::App;
use crate::auth::Role;
use crate::config::LimitsConfig;
use crate::error::Error;
use documents::Persisted;
pub use rate::{Allowance, Bucket, Rates, Route, Share};

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
pub struct Admission {
    guard: Guard,
    validator: guard::Validator<Query, Mutation, Subscription>,
    persisted: Persisted,
    /// The rates of callers.
    pub rates: Rates,
    /// Permits for queries and mutations in progress.
    places: Arc<Semaphore>,
}

/// A request that may be executed.
pub struct Admitted {
    /// Without its document.
    pub request: Request,
    /// Its type and name.
    pub operation: Operation,
    /// Its operation with equal fields merged. Requests with the same document share it.
    pub document: Arc<Merged>,
    /// Counts the request when it ends.
    pub flight: Flight,
}

impl Admission {
    /// With the settings of `app`.
    pub fn new(app: &Arc<App>) -> Self {
        let limits = &app.config.limits;
        let scalars: Scalars = HashMap::from([("DateTime", instant as fn(&_) -> _)]);
        let guard = Guard::new(&Schema::sdl(), documents_of(limits), costs(limits), scalars);
        Self {
            guard: guard.expect("the server's own schema is valid"),
            validator: guard::Validator::new(builder),
            persisted: Persisted::new(&app.config),
            rates: Rates::new(app),
            places: Arc::new(Semaphore::new(limits.in_flight.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Waits until no admitted query or mutation is in progress.
    pub async fn landed(&self, app: &App) {
        let all = u32::try_from(app.config.limits.in_flight).unwrap_or(u32::MAX);
        // Cannot fail: the semaphore is never closed.
        let _ = self.places.acquire_many(all).await;
    }

    /// Counts one operation of a caller, or refuses if the rate is used up. This comes before the server looks at the
    /// request, so that a refused or unparsable request is not free.
    pub async fn knock(&self, app: &Arc<App>, viewer: &Viewer) -> Result<(), Response> {
        self.rates.take(app, viewer, 1).await.map_err(failed)
    }

    /// The same for a caller without a token.
    pub async fn knock_without_token(&self, app: &Arc<App>, shares: &[Share<'_>]) -> Result<(), Response> {
        self.rates.take_without_token(app, shares).await.map_err(failed)
    }

    /// A permit for a request in progress. Without a free one the caller is refused at once instead of queued, and has
    /// used up nothing.
    pub fn place(&self, app: &App) -> Result<OwnedSemaphorePermit, Box<Response>> {
        self.places.clone().try_acquire_owned().map_err(|_| {
            app.metrics.shed.inc();
            Box::new(failed(Error::Unavailable("the server is overloaded, try again in a moment".into())))
        })
    }

    /// Admits a request with its document parsed, or refuses it. Without a viewer only introspection passes.
    ///
    /// A refused request has executed nothing. Each field of the first level counts as an operation, except the one
    /// that `knock` has counted.
    pub async fn admit(
        &self,
        app: &Arc<App>,
        viewer: Option<&Viewer>,
        mut request: Request,
    ) -> Result<Admitted, Response> {
        let began_at = Instant::now();
        let permit = self.place(app).map_err(|refusal| *refusal)?;
        let registration = self.persisted.find(app, viewer, &mut request).map_err(|refusal| *refusal)?;
        let is_staff = viewer.is_some_and(|viewer| viewer.role != Role::User);
        let validate = async |document: &_| self.validator.validate(document, &request, is_staff).await;
        let passed = self.guard.pass(&request, validate).await.map_err(Refusal::response)?;
        if viewer.is_none() && !passed.is_introspection() {
            return Err(failed(Error::Unauthenticated("send a token: Authorization: Bearer …".into())));
        }
        let complexity = app.config.limits.complexity;
        let most = if is_staff { complexity.saturating_mul(STAFF) } else { complexity };
        passed.costs_at_most(most).map_err(Refusal::response)?;
        let document = passed.operation;
        let fields = document.node.selection_set.node.items.len();
        if let Some(viewer) = viewer {
            self.rates.take(app, viewer, fields.saturating_sub(1)).await.map_err(failed)?;
        }
        self.persisted.register(registration);
        request.query = String::new();
        request.operation_name = None;
        let operation = Operation::of(&document.node);
        let flight = Flight::new(app, viewer, operation.clone(), (began_at, permit));
        Ok(Admitted { request, operation, document, flight })
    }
}

/// The limits of a document.
fn documents_of(limits: &LimitsConfig) -> Limits {
    Limits {
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

fn costs(limits: &LimitsConfig) -> Costs {
    Costs {
        rows: ROWS,
        page: DEFAULT_SIZE,
        longest_page: limits.page_size,
        counted: COUNTED.to_vec(),
        dear: vec![Dear { argument: "filter", fields: LOOKING.to_vec(), cost: FILTERED }],
    }
}

fn instant(value: &async_graphql::Value) -> Result<(), String> {
    let why = "must be an instant such as 2026-11-21T08:30:00.000Z (RFC 3339)";
    DateTime::parse(value.clone()).map(drop).map_err(|_| why.to_owned())
}
