//! The API: translates GraphQL into operations of the domain and back, one file per noun.
//!
//! `Schema` is an `async_graphql::Executor` (`executor`), so `async_graphql_axum` and others can mount it in another application whose
//! sessions decide the caller (`Viewer`). The document guard, rates, response budgets and metrics come with it; `examples/embed` shows it.
//!
//! This server's own routes do not use `async_graphql_axum`: they read a body only after the token and only up to the caller's limit, answer
//! 415 and 406, give one status per error with `Retry-After` and `WWW-Authenticate`, refuse duplicate ids on sockets, and bound messages and
//! operations. `tests/clients/http.mjs` holds them to the specification of GraphQL over HTTP.
//!
//! The crate builds `serde_json` with `arbitrary_precision` and `preserve_order`, also for an application that embeds it. Serde's `flatten`,
//! `untagged` and `tag` then find no numbers in a text: read such a type by way of a `serde_json::Value`.

mod account;
mod admission;
mod at_once;
mod audit;
mod budget;
mod catalogue;
mod channel;
mod connection;
mod context;
mod entities;
mod errors;
mod event;
mod executor;
mod explanation;
mod flight;
mod group;
mod hours;
mod inbox;
mod json;
mod live;
mod mark;
mod node;
mod notification;
mod outbound;
mod overview;
mod patch;
mod plain;
mod poll;
mod preference;
mod preview;
mod privacy;
mod rule;
mod scalars;
mod send;
mod sent;
mod siblings;
mod stats;
mod status;
mod user;
mod view;
mod viewer;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

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
use crate::database::{Act, Party};
use crate::domain::live::Live;
use crate::domain::notification::SearchBudget;
use crate::error::Error;
use admission::Admission;
pub use admission::{Admitted, Allowance, Bucket, Route, Share};
pub use budget::Budget;
use entities::Entities;
pub use errors::code as error_code;
use errors::failed;
use event::Events;
pub use event::Filled;
pub use flight::{Operation, code as outcome};
pub use json::value as json_value;
pub use poll::{Known, Poll};
pub use viewer::{Viewer, Who};

/// Everything that can be asked.
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

/// Everything that can be changed.
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

/// Everything that can be waited for.
#[derive(Default, MergedSubscription)]
pub struct Subscription(live::InboxSubscription);

type Library = AsyncGraphqlSchema<Query, Mutation, Subscription>;

/// The API over a running Tidings.
#[derive(Clone)]
pub struct Schema {
    app: Arc<App>,
    library: Library,
    events: Events,
    admission: Admission,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Schema")
    }
}

/// An answer on its way to a client.
pub enum Answer {
    /// As the library gives it, and what room there is for it.
    Executed(Box<Response>, Budget),
    /// One without errors, that others get as well.
    Common(Filled),
}

impl Answer {
    /// Its JSON.
    pub fn into_text(self) -> String {
        match self {
            Self::Executed(response, budget) => {
                let refused = |refusal: Box<Response>| serde_json::to_string(&refusal).unwrap_or_default();
                budget.json(&response).unwrap_or_else(refused)
            }
            Self::Common(filled) => filled.text(),
        }
    }
}

/// How deep a query may nest for the library, which the guard never lets come to it.
const RECURSION: usize = 200;

impl Schema {
    /// The API over `app`, with the sessions of this process.
    pub fn new(app: Arc<App>, live: Arc<Live>) -> Self {
        let admission = Admission::new(&app);
        // What the guard admits is valid; the fast mode does not check it again.
        let library = builder()
            .validation_mode(ValidationMode::Fast)
            .data(app.clone())
            .data(live)
            .data(admission.rates.clone())
            .finish();
        Self { library, events: Events::new(app.clone()), admission, app }
    }

    /// The API in the schema definition language, as `schema.graphql` keeps it.
    pub fn sdl() -> String {
        Self::written(SDLExportOptions::new().include_specified_by())
    }

    /// The same as a subgraph of Apollo Federation 2, with its subscriptions.
    pub fn subgraph() -> String {
        Self::written(SDLExportOptions::new().federation().compose_directive())
    }

    fn written(options: SDLExportOptions) -> String {
        let options = options.sorted_fields().sorted_arguments().sorted_enum_items();
        let mut sdl = builder().finish().sdl_with_options(options);
        sdl.truncate(sdl.trim_end().len());
        sdl.push('\n');
        sdl
    }

    /// Counts one operation of a caller before anything of their request is looked at; the answer where they have none left.
    pub async fn knock(&self, viewer: &Viewer) -> Result<(), Response> {
        let counted = self.admission.knock(&self.app, viewer).await;
        counted.inspect_err(|refusal| flight::refused(&self.app, Some(viewer), refusal))
    }

    /// Counts a request without a token, of each of these shares in their order, and of none after one that has nothing left.
    pub async fn knock_without_token(&self, shares: &[Share<'_>]) -> Result<(), Response> {
        let counted = self.admission.knock_without_token(&self.app, shares).await;
        counted.inspect_err(|refusal| flight::refused(&self.app, None, refusal))
    }

    /// A place among the requests under way for one that is no document, until it is dropped; the answer where there is none.
    pub fn place(&self) -> Result<OwnedSemaphorePermit, Box<Response>> {
        self.admission.place(&self.app).inspect_err(|refusal| flight::refused(&self.app, None, refusal))
    }

    /// Lets a request pass that may be executed, with its document parsed; the answer to one that may not.
    ///
    /// Every transport goes through here, once its caller has knocked. Without a viewer only introspection passes.
    pub async fn admit(&self, viewer: Option<&Viewer>, request: Request) -> Result<Admitted, Response> {
        let admitted = self.admission.admit(&self.app, viewer, request).await;
        admitted.inspect_err(|refusal| flight::refused(&self.app, viewer, refusal))
    }

    /// Executes a query or mutation that was admitted. The fields of a mutation run one after the other and stop at the
    /// first error. What takes longer than the settings allow ends as `UNAVAILABLE`.
    ///
    /// A mutation that has begun runs to its end, whether or not anybody waits for its answer, and is one of those under
    /// way until then; a query ends with its caller.
    pub async fn run(&self, viewer: Option<Viewer>, admitted: Admitted) -> Response {
        let span = admitted.operation.span();
        self.fly(viewer, admitted).instrument(span).await
    }

    async fn fly(&self, viewer: Option<Viewer>, admitted: Admitted) -> Response {
        let Admitted { request, operation, document, mut flight } = admitted;
        let party = viewer.as_ref().map_or_else(|| Party::tenant(0), Viewer::party);
        let budget = self.budget(viewer.as_ref());
        let request = with(request, document, viewer)
            .data(Entities::default())
            .data(SearchBudget::default())
            .data(budget.clone());
        let most = Duration::from_millis(self.app.config.limits.execution_millis);
        if operation.kind == OperationType::Mutation {
            let library = self.library.clone();
            let running = tokio::spawn(
                async move {
                    let executing = Act::followed(party.does(caught(library.execute(request))));
                    let response = budget.kept(executing.await);
                    flight.answered(&response);
                    response
                }
                .in_current_span(),
            );
            return match tokio::time::timeout(most, running).await {
                Ok(Ok(response)) => response,
                Ok(Err(cause)) => failed(Error::internal(cause)),
                Err(_) => failed(Error::Unavailable("this took too long, and may or may not have happened".into())),
            };
        }
        // Large, and to be moved by whatever is between here and the connection: hence the box.
        let executed = party.does(caught(self.library.execute(request))).boxed();
        let response = tokio::time::timeout(most, executed).await.unwrap_or_else(|_| late());
        let response = budget.kept(response);
        flight.answered(&response);
        response
    }

    /// Whether answers to polls are remembered at all.
    pub fn remembers(&self) -> bool {
        self.app.caches.answers.is_on()
    }

    /// The answer to a poll, where it is known without executing it; the one to a poll of which the database does not say so in the time that
    /// the settings allow. What fails otherwise is told by its execution.
    pub async fn known(&self, poll: &Poll) -> Result<Option<Known>, Box<Response>> {
        let most = Duration::from_millis(self.app.config.limits.execution_millis);
        match tokio::time::timeout(most, poll.known(self)).await {
            Ok(Ok(known)) => Ok(known),
            Ok(Err(error @ Error::Unavailable(_))) => Err(Box::new(failed(error))),
            Ok(Err(_)) => Ok(None),
            Err(_) => Err(Box::new(late())),
        }
    }

    /// The room that there is for an answer to a caller.
    pub fn budget(&self, viewer: Option<&Viewer>) -> Budget {
        Budget::of(&self.app.config.limits, viewer)
    }

    /// Waits until no query or mutation is under way any more.
    pub async fn landed(&self) {
        self.admission.landed(&self.app).await;
    }

    /// The answers to a subscription of a caller that was admitted, or the one to anything else.
    ///
    /// A panic ends the stream with an error. The time limit is not for subscriptions.
    pub fn stream(&self, viewer: Viewer, admitted: Admitted) -> impl Stream<Item = Answer> + Send + use<> {
        let schema = self.clone();
        if admitted.operation.kind != OperationType::Subscription {
            let budget = self.budget(Some(&viewer));
            let answer = async move { Answer::Executed(Box::new(schema.run(Some(viewer), admitted).await), budget) };
            return Either::Left(stream::once(answer.in_current_span().boxed()));
        }
        Either::Right(self.events.clone().answers(self.library.clone(), viewer, admitted))
    }
}

/// To a query that has taken longer than it may.
fn late() -> Response {
    failed(Error::Unavailable("this took too long: ask for less, or try again in a moment".into()))
}

/// A request that the library can execute.
fn with(mut request: Request, document: Arc<Positioned<OperationDefinition>>, viewer: Option<Viewer>) -> Request {
    let operations = DocumentOperations::Single(Arc::unwrap_or_clone(document));
    request.set_parsed_query(ExecutableDocument { operations, fragments: HashMap::new() });
    match viewer {
        Some(viewer) => request.data(viewer),
        None => request.only_introspection(),
    }
}

/// What comes of an execution, whose errors are translated and whose panic is one.
async fn caught(execution: impl Future<Output = Response>) -> Response {
    let response = AssertUnwindSafe(execution).catch_unwind().await;
    let mut response = response.unwrap_or_else(|_| failed(Error::internal("a resolver panicked")));
    for error in &mut response.errors {
        entities::place(error);
        errors::translate(error, "BAD_USER_INPUT");
    }
    response
}

fn builder() -> async_graphql::SchemaBuilder<Query, Mutation, Subscription> {
    AsyncGraphqlSchema::build(Query::default(), Mutation::default(), Subscription::default())
        .enable_subscription_in_federation()
        .limit_recursive_depth(RECURSION)
}
