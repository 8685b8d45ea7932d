//! A request on its way from the guard to its answer: what is counted and traced of it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use async_graphql::parser::types::{OperationDefinition, OperationType, Selection};
use async_graphql::{Response, Value};
use entity::ids::TenantId;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Span;

use crate::app::App;
use crate::auth::Role;
use crate::graphql::Viewer;
use crate::telemetry::metrics::Caller;

/// What a request that may be executed is called where requests are counted. No client can make such a name up.
#[derive(Clone, Debug)]
pub struct Operation {
    pub kind: OperationType,
    /// The field of the first level, `many` where there are several.
    pub name: String,
}

impl Operation {
    /// Of an operation that is valid and has its fragments written out.
    pub fn of(operation: &OperationDefinition) -> Self {
        let name = match operation.selection_set.node.items.as_slice() {
            [only] => match &only.node {
                Selection::Field(field) => field.node.name.node.to_string(),
                _ => "many".into(),
            },
            _ => "many".into(),
        };
        Self { kind: operation.ty, name }
    }

    /// As metrics and logs call what it does.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            OperationType::Query => "query",
            OperationType::Mutation => "mutation",
            OperationType::Subscription => "subscription",
        }
    }

    /// A span of a trace for it, whose `code` is recorded when it ends.
    pub fn span(&self) -> Span {
        let (kind, name) = (self.kind(), &self.name);
        tracing::debug_span!(
            target: "tidings::trace", "operation", otel.name = name, graphql.operation.type = kind,
            code = tracing::field::Empty
        )
    }
}

/// A request that is counted when this is dropped. A query or mutation is one of those under way until then.
#[derive(Debug)]
pub struct Flight {
    app: Arc<App>,
    tenant: Option<TenantId>,
    operation: Operation,
    began_at: Instant,
    code: Cow<'static, str>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Flight {
    /// Begun with a place among the requests under way, which a subscription gives up again.
    pub fn new(
        app: &Arc<App>,
        viewer: Option<&Viewer>,
        operation: Operation,
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

    /// One of its answers, of which the last says what came of it.
    pub fn answered(&mut self, response: &Response) {
        self.ended(code(response));
    }

    /// One of its answers, without an error.
    pub fn went_well(&mut self) {
        if self.code != "OK" {
            self.ended("OK");
        }
    }

    /// It is not executed after all, for what this code says.
    pub fn ended(&mut self, code: impl Into<Cow<'static, str>>) {
        self.code = code.into();
        Span::current().record("code", &*self.code);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let Self { app, tenant, operation, began_at, code, .. } = self;
        let is_short = operation.kind != OperationType::Subscription;
        if is_short {
            app.metrics.in_flight.dec();
        } else if code == "CANCELLED" {
            // A subscription ends when its client goes away: that is no failure.
            *code = "OK".into();
        }
        app.metrics.answered(&operation.name, operation.kind(), code, is_short.then(|| began_at.elapsed()));
        count(app, *tenant, code);
    }
}

/// Counts a request that was not admitted.
pub fn refused(app: &App, viewer: Option<&Viewer>, response: &Response) {
    let code = code(response);
    app.metrics.answered("none", "none", &code, None);
    count(app, viewer.map(|viewer| viewer.tenant.id), &code);
    if code == "RATE_LIMITED" {
        let caller = match viewer.map(|viewer| viewer.role) {
            Some(Role::User) => "user",
            Some(Role::Service) => "service",
            Some(Role::Admin) => "admin",
            None => "nobody",
        };
        app.metrics.rate_limited.get_or_create(&Caller { caller }).inc();
    }
}

/// Counts for its tenant what failed without being the caller's fault.
fn count(app: &App, tenant: Option<TenantId>, code: &str) {
    if let Some(tenant) = tenant
        && ["INTERNAL", "UNAVAILABLE"].contains(&code)
    {
        app.pulse.failed(tenant);
    }
}

/// `OK`, or the code of the first error.
pub fn code(response: &Response) -> String {
    let Some(error) = response.errors.first() else { return "OK".into() };
    match error.extensions.as_ref().and_then(|extensions| extensions.get("code")) {
        Some(Value::String(code)) => code.clone(),
        _ => "INTERNAL".into(),
    }
}
