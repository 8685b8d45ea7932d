//! The API: translates GraphQL into operations of the domain and back, one file per noun.
//!
//! `Schema` is an `async_graphql::Executor` (`executor`), so `async_graphql_axum` and others can mount it in another
//! application. The sessions of that application decide the caller (`Viewer`). The document guard, rates, response
//! budgets and metrics come with it; `examples/embed` shows it.
//!
//! This server's own routes do not use `async_graphql_axum`: they read a body only after the token and only up to the
//! caller's limit, respond with 415 and 406, give one status per error with `Retry-After` and `WWW-Authenticate`,
//! refuse duplicate ids on sockets, and bound messages and operations. `tests/clients/http.mjs` checks them against
//! the specification of GraphQL over HTTP.
//!
//! The crate builds `serde_json` with `arbitrary_precision` and `preserve_order`, also for an application that embeds
//! it. Types with Serde's `flatten`, `untagged` or `tag` then cannot read numbers from JSON text: deserialize such a
//! type from a `serde_json::Value`.

mod account;
mod admission;
mod audit;
mod cacheable;
mod catalogue;
mod channel;
mod connection;
mod context;
mod engine;
mod entities;
mod errors;
mod event;
mod explanation;
mod group;
mod hours;
mod inbox;
mod inline;
mod json;
mod live;
mod loaders;
mod mark;
mod node;
mod notification;
mod outbound;
mod overview;
mod patch;
mod preference;
mod preview;
mod privacy;
mod response_budget;
mod rule;
mod scalars;
mod send;
mod sent;
mod stats;
mod status;
mod user;
mod view;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use ::live::LiveRooms;
use async_graphql::parser::types::{DocumentOperations, ExecutableDocument, OperationDefinition, OperationType};
use async_graphql::{
    MergedObject, MergedSubscription, Positioned, Request, Response, SDLExportOptions, Schema as AsyncGraphqlSchema,
    ValidationMode,
};
use futures_util::FutureExt;
use futures_util::future::Either;
use futures_util::stream::{self, Stream};
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument;

use crate::app::App;
use admission::AdmissionControl;
pub use admission::{AdmittedRequest, PersistedOperations, PublicRoute, RateLimit, RateScope, TokenBucket, sha256_hex};
use base::error::Error;
pub use cacheable::{CacheableQuery, ReusableResponse};
pub use context::{CallerIdentity, Viewer};
use domain::notification::SearchBudget;
pub use engine::{OperationName, response_code as outcome};
use entities::EntityLoader;
pub use errors::error_code;
use errors::error_response;
use event::EventExecutor;
pub use event::PersonalizedResponse;
pub use json::json_to_value as json_value;
pub use response_budget::ResponseBudget;
use store::{PendingAudit, Principal};

/// All queries.
#[derive(Default, MergedObject)]
pub struct Query(
    account::AccountQuery,
    user::UserQuery,
    catalogue::CatalogueQuery,
    catalogue::TargetTypeQuery,
    preview::PreviewQuery,
    preference::PreferenceQuery,
    group::GroupQuery,
    node::NodeQuery,
    privacy::PrivacyQuery,
    audit::AuditQuery,
    status::StatusQuery,
    errors::ErrorQuery,
    send::SendQuery,
    sent::SentQuery,
    explanation::ExplanationQuery,
    view::ViewQuery,
    rule::RuleQuery,
    outbound::WebhookQuery,
    outbound::MailQuery,
    outbound::WeChatQuery,
    outbound::PushQuery,
    outbound::DeliveryQuery,
);

/// All mutations.
#[derive(Default, MergedObject)]
pub struct Mutation(
    send::SendMutation,
    sent::SentMutation,
    channel::SubscribeMutation,
    group::GroupMutation,
    preference::PreferenceMutation,
    hours::HoursMutation,
    mark::MarkMutation,
    view::ViewMutation,
    catalogue::CatalogueMutation,
    catalogue::TargetTypeMutation,
    user::UserMutation,
    privacy::PrivacyMutation,
    rule::RuleMutation,
    outbound::WebhookMutation,
    outbound::MailMutation,
    outbound::WeChatMutation,
    outbound::PushMutation,
    outbound::DeliveryMutation,
);

/// All subscriptions.
#[derive(Default, MergedSubscription)]
pub struct Subscription(live::InboxSubscription);

type GraphqlSchema = AsyncGraphqlSchema<Query, Mutation, Subscription>;

/// The API of a running server.
#[derive(Clone)]
pub struct Schema {
    app: Arc<App>,
    library: GraphqlSchema,
    events: EventExecutor,
    admission: AdmissionControl,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Schema")
    }
}

/// A response on its way to a client.
pub enum StreamResponse {
    /// A response of the library, and its size limit.
    Executed(Box<Response>, ResponseBudget),
    /// A response without errors, shared with other subscribers.
    Common(PersonalizedResponse),
}

impl StreamResponse {
    /// Its JSON.
    pub fn into_text(self) -> String {
        match self {
            Self::Executed(response, budget) => {
                let refused = |refusal: Box<Response>| serde_json::to_string(&refusal).unwrap_or_default();
                budget.to_json(&response).unwrap_or_else(refused)
            }
            Self::Common(filled) => filled.to_json(),
        }
    }
}

/// The library's limit of nesting. It is never reached, because the guard's limits are lower.
const RECURSION: usize = 200;

impl Schema {
    /// The API over `app`, with the sessions of this process.
    pub fn new(app: Arc<App>, live: Arc<LiveRooms>) -> Self {
        let admission = AdmissionControl::new(&app);
        // What the guard admits is valid; the fast mode does not check it again.
        let library = schema_builder()
            .validation_mode(ValidationMode::Fast)
            .data(app.clone())
            .data(live)
            .data(admission.rates.clone())
            .finish();
        Self { library, events: EventExecutor::new(app.clone()), admission, app }
    }

    /// The API in the schema definition language, as `schema.graphql` keeps it.
    pub fn export_sdl() -> String {
        Self::sorted_sdl(SDLExportOptions::new().include_specified_by())
    }

    /// The same as a subgraph of Apollo Federation 2, with its subscriptions.
    pub fn export_subgraph() -> String {
        Self::sorted_sdl(SDLExportOptions::new().federation().compose_directive())
    }

    fn sorted_sdl(options: SDLExportOptions) -> String {
        let options = options.sorted_fields().sorted_arguments().sorted_enum_items();
        let mut sdl = schema_builder().finish().sdl_with_options(options);
        sdl.truncate(sdl.trim_end().len());
        sdl.push('\n');
        sdl
    }

    /// Counts one operation of a caller before the server looks at the request. `Err` is the response if the rate is
    /// used up.
    pub async fn charge(&self, viewer: &Viewer) -> Result<(), Response> {
        let counted = self.admission.charge(&self.app, viewer).await;
        counted.inspect_err(|refusal| engine::count_refusal(&self.app, Some(viewer), refusal))
    }

    /// Counts a request without a token against each of these shares in order, and stops at the first that is used up.
    pub async fn charge_without_token(&self, shares: &[RateScope<'_>]) -> Result<(), Response> {
        let counted = self.admission.charge_without_token(&self.app, shares).await;
        counted.inspect_err(|refusal| engine::count_refusal(&self.app, None, refusal))
    }

    /// A permit for a request in progress that has no document, until it is dropped. `Err` is the response if there is
    /// none.
    pub fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, Box<Response>> {
        self.admission.acquire_permit(&self.app).inspect_err(|refusal| engine::count_refusal(&self.app, None, refusal))
    }

    /// Admits a request that may be executed, with its document parsed. `Err` is the response to a refused one.
    ///
    /// Every transport calls this after `charge`. Without a viewer only introspection passes.
    pub async fn admit(&self, viewer: Option<&Viewer>, request: Request) -> Result<AdmittedRequest, Response> {
        let admitted = self.admission.admit(&self.app, viewer, request).await;
        admitted.inspect_err(|refusal| engine::count_refusal(&self.app, viewer, refusal))
    }

    /// Executes an admitted query or mutation. The fields of a mutation run one after the other and stop at the first
    /// error. An operation that exceeds the configured time ends as `UNAVAILABLE`.
    ///
    /// A mutation that has begun runs to its end and counts as in progress until then, even if its caller is gone. A
    /// query ends with its caller.
    pub async fn run(&self, viewer: Option<Viewer>, admitted: AdmittedRequest) -> Response {
        let span = admitted.operation.trace_span();
        self.execute_admitted(viewer, admitted).instrument(span).await
    }

    async fn execute_admitted(&self, viewer: Option<Viewer>, admitted: AdmittedRequest) -> Response {
        let AdmittedRequest { request, operation, document, mut flight } = admitted;
        let party = viewer.as_ref().map_or_else(|| Principal::for_tenant(0), Viewer::principal);
        let budget = self.response_budget(viewer.as_ref());
        let request = build_request(request, document, viewer)
            .data(EntityLoader::default())
            .data(SearchBudget::default())
            .data(budget.clone());
        let most = Duration::from_millis(self.app.config.limits.execution_millis);
        if operation.kind == OperationType::Mutation {
            let library = self.library.clone();
            let running = tokio::spawn(
                async move {
                    let executing = PendingAudit::audit_scope(party.run_as(catch_panic(library.execute(request))));
                    let response = budget.check_response(executing.await);
                    flight.record_response(&response);
                    response
                }
                .in_current_span(),
            );
            return match tokio::time::timeout(most, running).await {
                Ok(Ok(response)) => response,
                Ok(Err(cause)) => error_response(Error::internal(cause)),
                Err(_) => error_response(Error::Unavailable(
                    "the mutation took too long, and may or may not have been applied".into(),
                )),
            };
        }
        // Boxed: it is large, and every layer up to the connection would move it.
        let executed = party.run_as(catch_panic(self.library.execute(request))).boxed();
        let response = tokio::time::timeout(most, executed).await.unwrap_or_else(|_| timeout_response());
        let response = budget.check_response(response);
        flight.record_response(&response);
        response
    }

    /// Whether responses to polls are cached.
    pub fn has_response_cache(&self) -> bool {
        self.app.caches.answers.is_enabled()
    }

    /// The cached response to a poll, if it is still valid. `Err` is the response if the database is unavailable or
    /// exceeds the configured time. Other errors are left to the execution.
    pub async fn cached_response(&self, poll: &CacheableQuery) -> Result<Option<ReusableResponse>, Box<Response>> {
        let most = Duration::from_millis(self.app.config.limits.execution_millis);
        match tokio::time::timeout(most, poll.find_response(self)).await {
            Ok(Ok(known)) => Ok(known),
            Ok(Err(error @ Error::Unavailable(_))) => Err(Box::new(error_response(error))),
            Ok(Err(_)) => Ok(None),
            Err(_) => Err(Box::new(timeout_response())),
        }
    }

    /// The size limit of a response to a caller.
    pub fn response_budget(&self, viewer: Option<&Viewer>) -> ResponseBudget {
        ResponseBudget::for_viewer(&self.app.config.limits, viewer)
    }

    /// Waits until no query or mutation is in progress.
    pub async fn wait_idle(&self) {
        self.admission.wait_idle(&self.app).await;
    }

    /// The responses to an admitted subscription, or the one response to another operation.
    ///
    /// A panic ends the stream with an error. Subscriptions have no time limit.
    pub fn stream(
        &self,
        viewer: Viewer,
        admitted: AdmittedRequest,
    ) -> impl Stream<Item = StreamResponse> + Send + use<> {
        let schema = self.clone();
        if admitted.operation.kind != OperationType::Subscription {
            let budget = self.response_budget(Some(&viewer));
            let answer =
                async move { StreamResponse::Executed(Box::new(schema.run(Some(viewer), admitted).await), budget) };
            return Either::Left(stream::once(answer.in_current_span().boxed()));
        }
        Either::Right(self.events.clone().response_stream(self.library.clone(), viewer, admitted))
    }
}

/// The response to a query that exceeded the time limit.
fn timeout_response() -> Response {
    error_response(Error::Unavailable("the query took too long: request less, or try again in a moment".into()))
}

/// A request that the library can execute.
fn build_request(
    mut request: Request,
    document: Arc<Positioned<OperationDefinition>>,
    viewer: Option<Viewer>,
) -> Request {
    let operations = DocumentOperations::Single(Arc::unwrap_or_clone(document));
    request.set_parsed_query(ExecutableDocument { operations, fragments: HashMap::new() });
    match viewer {
        Some(viewer) => request.data(viewer),
        None => request.only_introspection(),
    }
}

/// The response of an execution. Translates errors, and turns a panic into one.
async fn catch_panic(execution: impl Future<Output = Response>) -> Response {
    let response = AssertUnwindSafe(execution).catch_unwind().await;
    let mut response = response.unwrap_or_else(|_| error_response(Error::internal("a resolver panicked")));
    for error in &mut response.errors {
        entities::add_entity_index(error);
        errors::add_extensions(error, "BAD_USER_INPUT");
    }
    response
}

fn schema_builder() -> async_graphql::SchemaBuilder<Query, Mutation, Subscription> {
    AsyncGraphqlSchema::build(Query::default(), Mutation::default(), Subscription::default())
        .enable_subscription_in_federation()
        .limit_recursive_depth(RECURSION)
}
