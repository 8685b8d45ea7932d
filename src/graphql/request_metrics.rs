//! Metrics and traces of a request, from the guard to its response.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use async_graphql::parser::types::{OperationDefinition, OperationType, Selection};
use async_graphql::{Response, Value};
use entity::ids::TenantId;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Span;

use crate::app::App;
use crate::graphql::Viewer;
use auth::CallerRole;
use base::telemetry::metrics::CallerLabels;

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
        Some(Value::String(code)) => code.clone(),
        _ => "INTERNAL".into(),
    }
}
