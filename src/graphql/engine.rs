//! Executes requests: their metrics and traces ([`RequestMetrics`]), and the schema as an executor of async-graphql, so
//! that hosts such as `async_graphql_axum` in another application can use the API.
//!
//! A host names the caller by a [`Viewer`] in the data of the request, or of its session. This module limits only the
//! caller's rate. The host is responsible for everything in front of the schema: tokens, methods and content types (if
//! cookies identify the caller, it must refuse a mutation by GET or in a form of another site), sizes of bodies,
//! connections, sessions per user, and operations per session.

use std::any::TypeId;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use async_graphql::parser::types::{OperationDefinition, OperationType, Selection};
use async_graphql::{BatchRequest, BatchResponse, Data, Executor, Request, Response};
use entity::ids::TenantId;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Span;

use super::errors::error_response;
use super::json::{json_to_value, restore_numbers};
use super::{AdmittedRequest, PublicRoute, RateScope, ResponseBudget, Schema, StreamResponse, Viewer};
use crate::app::App;
use auth::CallerRole;
use base::error::Error;
use base::telemetry::metrics::CallerLabels;
use model::network::CallerNetwork;

impl Executor for Schema {
    async fn execute(&self, request: Request) -> Response {
        let viewer = viewer_of_data(&request.data);
        let budget = self.response_budget(viewer.as_ref());
        match self.charge_and_admit(viewer.as_ref(), request).await {
            Ok(admitted) => limit_response(&budget, self.run(viewer, admitted).await),
            Err(refusal) => refusal,
        }
    }

    /// Refuses batches: their requests would all run at once, and all their responses would be in memory together.
    async fn execute_batch(&self, batch: BatchRequest) -> BatchResponse {
        match batch {
            BatchRequest::Single(request) => self.execute(request).await.into(),
            BatchRequest::Batch(_) => {
                error_response(Error::bad_input("", "batched requests are not supported: send one request at a time"))
                    .into()
            }
        }
    }

    fn execute_stream(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let schema = self.clone();
        let answers = async move {
            let viewer = viewer_of_data(&request.data).or_else(|| viewer_of_data(session_data.as_ref()?));
            match (schema.charge_and_admit(viewer.as_ref(), request).await, viewer) {
                (Ok(admitted), Some(viewer)) => {
                    schema.stream(viewer, admitted).map(StreamResponse::into_response).boxed()
                }
                (Ok(admitted), None) => stream::once(async move { schema.run(None, admitted).await }).boxed(),
                (Err(refusal), _) => stream::once(async { refusal }).boxed(),
            }
        };
        stream::once(answers).flatten().boxed()
    }
}

impl Schema {
    async fn charge_and_admit(
        &self,
        viewer: Option<&Viewer>,
        mut request: Request,
    ) -> Result<AdmittedRequest, Response> {
        if viewer.is_none() && !self.app.config.wire.public_schema {
            return Err(error_response(Error::Unauthenticated("send a token: Authorization: Bearer …".into())));
        }
        match viewer {
            Some(viewer) => self.charge(viewer).await?,
            None => {
                self.charge_without_token(&RateScope::for_route(PublicRoute::Introspection, CallerNetwork::unknown()))
                    .await?;
            }
        }
        restore_numbers(&mut request);
        self.admit(viewer, request).await
    }
}

impl StreamResponse {
    /// The response in the library's form.
    fn into_response(self) -> Response {
        match self {
            Self::Executed(response, budget) => limit_response(&budget, *response),
            Self::Common(filled) => match serde_json::from_str::<ResponseData>(&filled.to_json()) {
                Ok(ResponseData { data }) => Response::new(json_to_value(data)),
                Err(error) => error_response(Error::internal(error)),
            },
        }
    }
}

/// A response without errors.
#[derive(Deserialize)]
struct ResponseData {
    data: Value,
}

/// The response, or an error if its JSON exceeds the limit.
fn limit_response(budget: &ResponseBudget, response: Response) -> Response {
    match budget.to_json(&response) {
        Ok(_) => response,
        Err(refusal) => *refusal,
    }
}

fn viewer_of_data(data: &Data) -> Option<Viewer> {
    data.get(&TypeId::of::<Viewer>())?.downcast_ref().cloned()
}

/// The name of an admitted request in metrics. Clients cannot invent such names.
#[derive(Clone, Debug)]
pub struct OperationName {
    pub kind: OperationType,
    /// The field of the first level, or `many`.
    pub name: String,
}

impl OperationName {
    /// For a valid operation with expanded fragments.
    pub fn from_definition(operation: &OperationDefinition) -> Self {
        let name = match operation.selection_set.node.items.as_slice() {
            [only] => match &only.node {
                Selection::Field(field) => field.node.name.node.to_string(),
                _ => "many".into(),
            },
            _ => "many".into(),
        };
        Self { kind: operation.ty, name }
    }

    /// The type of the operation in metrics and logs.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            OperationType::Query => "query",
            OperationType::Mutation => "mutation",
            OperationType::Subscription => "subscription",
        }
    }

    /// A trace span for the request. Its `code` is recorded at the end.
    pub fn trace_span(&self) -> Span {
        let (kind, name) = (self.kind_name(), &self.name);
        tracing::debug_span!(
            target: "tidings::trace", "operation", otel.name = name, graphql.operation.type = kind,
            code = tracing::field::Empty
        )
    }
}

/// Counts a request when dropped. A query or mutation is in progress until then.
#[derive(Debug)]
pub struct RequestMetrics {
    app: Arc<App>,
    tenant: Option<TenantId>,
    operation: OperationName,
    began_at: Instant,
    code: Cow<'static, str>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl RequestMetrics {
    /// Starts with a permit for a request in progress. A subscription releases it at once.
    pub fn new(
        app: &Arc<App>,
        viewer: Option<&Viewer>,
        operation: OperationName,
        (began_at, permit): (Instant, OwnedSemaphorePermit),
    ) -> Self {
        let passes = operation.kind != OperationType::Subscription;
        if passes {
            app.metrics.in_flight.inc();
        }
        let code = Cow::Borrowed("CANCELLED");
        let tenant = viewer.map(|viewer| viewer.tenant.id);
        Self { app: app.clone(), tenant, operation, began_at, code, _permit: passes.then_some(permit) }
    }

    /// Records one of its responses. The last one decides about the result.
    pub fn record_response(&mut self, response: &Response) {
        self.record_code(response_code(response));
    }

    /// Records a response without an error.
    pub fn record_success(&mut self) {
        if self.code != "OK" {
            self.record_code("OK");
        }
    }

    /// Records the code of its result.
    pub fn record_code(&mut self, code: impl Into<Cow<'static, str>>) {
        self.code = code.into();
        Span::current().record("code", &*self.code);
    }
}

impl Drop for RequestMetrics {
    fn drop(&mut self) {
        let Self { app, tenant, operation, began_at, code, .. } = self;
        let is_short = operation.kind != OperationType::Subscription;
        if is_short {
            app.metrics.in_flight.dec();
        } else if code == "CANCELLED" {
            // A subscription ends when its client leaves, which is no failure.
            *code = "OK".into();
        }
        app.metrics.record_request(&operation.name, operation.kind_name(), code, is_short.then(|| began_at.elapsed()));
        count_failure(app, *tenant, code);
    }
}

/// Counts a request that was not admitted.
pub fn count_refusal(app: &App, viewer: Option<&Viewer>, response: &Response) {
    let code = response_code(response);
    app.metrics.record_request("none", "none", &code, None);
    count_failure(app, viewer.map(|viewer| viewer.tenant.id), &code);
    if code == "RATE_LIMITED" {
        let caller = match viewer.map(|viewer| viewer.role) {
            Some(CallerRole::User) => "user",
            Some(CallerRole::Service) => "service",
            Some(CallerRole::Admin) => "admin",
            None => "nobody",
        };
        app.metrics.rate_limited.get_or_create(&CallerLabels { caller }).inc();
    }
}

/// Counts failures for the tenant that are not the caller's fault.
fn count_failure(app: &App, tenant: Option<TenantId>, code: &str) {
    if let Some(tenant) = tenant
        && ["INTERNAL", "UNAVAILABLE"].contains(&code)
    {
        app.activity.record_failure(tenant);
    }
}

/// `OK`, or the code of the first error.
pub fn response_code(response: &Response) -> String {
    let Some(error) = response.errors.first() else { return "OK".into() };
    match error.extensions.as_ref().and_then(|extensions| extensions.get("code")) {
        Some(async_graphql::Value::String(code)) => code.clone(),
        _ => "INTERNAL".into(),
    }
}
