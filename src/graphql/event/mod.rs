//! Executes subscriptions: each event is a query of its own.
//!
//! The library would keep a copy of the document for every subscription, and several nested futures, about 9 KB in all.
//! Here an idle subscription keeps only the source of its events, and subscriptions with the same text share a
//! document. Responses that others share are made on the stack: a future would have to be kept for each subscription,
//! and loaded from memory.

mod event_budget;
mod response_template;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, ready};

use async_graphql::{Context, EmptyMutation, EmptySubscription, Object, Request, Response, Schema, ValidationMode};
use entity::ids::{Seq, UserId};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{Stream, StreamExt};
use parking_lot::Mutex;
use tracing::{Instrument, Span};

use super::account::ViewerAccount;
use super::admission::AdmittedRequest;
use super::context::CallContext;
use super::context::Viewer;
use super::engine::RequestMetrics;
use super::errors::error_response;
use super::inbox::InboxItem;
use super::inline::InlineObject;
use super::live::ItemEdge;
use super::response_budget::ResponseBudget;
use super::view::InboxView;
use super::{GraphqlSchema, StreamResponse, build_request, catch_panic};
use crate::app::App;
use auth::CallerRole;
use base::error::{Error, Result};
use domain::inbox::UserItem;
use domain::{overview, view};
use event_budget::{EventBudget, EventBudgets};
use live::{ItemFeed, OverviewFeed, ViewFeed};
use model::actor::NetworkClass;
use model::id_cipher::IdKind;
pub use response_template::{NOBODY, PersonalizedResponse};
use response_template::{ResponseTemplate, SharedResponses, SubscriptionDocument, TemplateLookup};

/// The source of a subscription's events. A resolver of the schema's subscription creates it, and ends.
pub enum EventSource {
    Items(ItemFeed),
    Overviews(OverviewFeed),
    Views(ViewFeed),
}

#[derive(Clone)]
enum SubscriptionEvent {
    Item(UserItem),
    /// The overview of this user. Others may share it.
    Overview(UserId, Arc<overview::UserOverview>),
    View(view::UserView),
}

impl EventSource {
    fn user(&self) -> UserId {
        match self {
            Self::Items(feed) => feed.user_id(),
            Self::Overviews(feed) => feed.user_id(),
            Self::Views(feed) => feed.user_id(),
        }
    }

    fn poll_next(&mut self, cx: &task::Context<'_>) -> Poll<Result<SubscriptionEvent>> {
        match self {
            Self::Items(feed) => feed.poll_next(cx).map_ok(SubscriptionEvent::Item),
            Self::Overviews(feed) => feed.poll_next(cx).map_ok(|of| SubscriptionEvent::Overview(feed.user_id(), of)),
            Self::Views(feed) => feed.poll_next(cx).map_ok(SubscriptionEvent::View),
        }
    }
}

impl SubscriptionEvent {
    /// The user of the event; the placeholder user for a view.
    fn user(&self) -> UserId {
        match self {
            Self::Item(item) => item.user,
            Self::Overview(user, _) => *user,
            Self::View(_) => NOBODY,
        }
    }

    /// Whether others may get the same response. Views differ between users.
    fn is_shareable(&self) -> bool {
        match self {
            Self::Item(_) => true,
            Self::Overview(_, of) => of.views.views.is_empty(),
            Self::View(_) => false,
        }
    }

    /// A hash: equal for equal events, and rarely equal for others.
    fn cache_hash(&self) -> u64 {
        match self {
            // Equal items share their content. Readers of several languages get several contents of a seq.
            Self::Item(item) => Arc::as_ptr(&item.content) as u64,
            Self::Overview(_, of) => Arc::as_ptr(of) as u64,
            Self::View(_) => 0,
        }
    }

    /// Whether both are equal except for the user. A room gives equal overviews to all their users as one `Arc`.
    fn shows_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Item(one), Self::Item(other)) => one.is_equivalent(other),
            (Self::Overview(_, one), Self::Overview(_, other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    fn for_placeholder(&self) -> Self {
        let mut event = self.clone();
        match &mut event {
            Self::Item(item) => item.user = NOBODY,
            Self::Overview(user, _) => *user = NOBODY,
            Self::View(_) => {}
        }
        event
    }

    /// Ids in the response that are sealed over its user.
    fn sealed_ids(&self) -> Vec<(IdKind, Seq)> {
        match self {
            Self::Item(item) => vec![(IdKind::Cursor, item.seq), (IdKind::Item, item.seq)],
            Self::Overview(_, of) => {
                let items = of.types.iter().filter_map(|kind| Some((IdKind::Item, kind.latest.as_ref()?.seq)));
                items.chain([(IdKind::Cursor, of.cursor), (IdKind::Viewer, Seq(0))]).collect()
            }
            Self::View(_) => Vec::new(),
        }
    }
}

/// A slot in the data of a request, to pass a value into or out of a resolver.
pub struct OutputSlot<T>(Arc<Mutex<Option<T>>>);

impl<T> OutputSlot<T> {
    fn with_value(value: Option<T>) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// Fills the slot.
    pub fn put(&self, value: T) {
        *self.0.lock() = Some(value);
    }

    fn take(&self) -> Option<T> {
        self.0.lock().take()
    }
}

/// The root of an event's query. Its fields are named like those of the subscription.
struct EventRoot;

#[Object]
#[expect(clippy::unused_async, reason = "resolvers are asynchronous, and these have nothing to wait for")]
impl EventRoot {
    async fn item_received(&self, ctx: &Context<'_>) -> Result<ItemEdge> {
        let Some(SubscriptionEvent::Item(item)) = ctx.data_unchecked::<OutputSlot<SubscriptionEvent>>().take() else {
            return Err(wrong_field_error());
        };
        let cursor = CallContext::from_context(ctx).tenant.id_cipher.encode(IdKind::Cursor, item.user.0, item.seq.0);
        Ok(ItemEdge::new(cursor, InlineObject(InboxItem(item))))
    }

    async fn overview_changed(&self, ctx: &Context<'_>) -> Result<ViewerAccount> {
        let Some(SubscriptionEvent::Overview(user, of)) = ctx.data_unchecked::<OutputSlot<SubscriptionEvent>>().take()
        else {
            return Err(wrong_field_error());
        };
        Ok(ViewerAccount::from_event(user, &of))
    }

    async fn view_changed(&self, ctx: &Context<'_>) -> Result<InboxView> {
        let Some(SubscriptionEvent::View(of)) = ctx.data_unchecked::<OutputSlot<SubscriptionEvent>>().take() else {
            return Err(wrong_field_error());
        };
        Ok(InboxView(of))
    }
}

/// The error if the field in the document is not the event's.
fn wrong_field_error() -> Error {
    Error::internal("the field of the event's document is not that of the event")
}

/// Executes events.
#[derive(Clone)]
pub struct EventExecutor {
    app: Arc<App>,
    schema: Schema<EventRoot, EmptyMutation, EmptySubscription>,
    shared: Arc<SharedResponses>,
    spendings: Arc<EventBudgets>,
}

/// The responses to a subscription.
struct ResponseStream {
    /// The work in progress, unless the subscription waits for an event.
    work: Option<BoxFuture<'static, WorkResult>>,
    /// The subscription while it waits for an event. Both fields are `None` after the end.
    running: Option<RunningSubscription>,
}

/// The result of work: a subscription that continues, perhaps with a response, or the last response.
type WorkResult = Result<(RunningSubscription, Option<StreamResponse>), StreamResponse>;

/// The work for the next response.
enum ResponseWork {
    /// An event with a response that others may share.
    Common(SubscriptionEvent),
    /// An event with a response only for this subscription.
    Own(SubscriptionEvent),
    /// Missed items must be read.
    Missed,
    /// The user's event bytes are used up.
    Spent,
    Failed(Error),
}

/// A subscription that has begun.
struct RunningSubscription {
    events: EventExecutor,
    source: EventSource,
    viewer: Viewer,
    question: Arc<SubscriptionDocument>,
    /// The event bytes of the user; `None` if there is no limit.
    spending: Option<Arc<EventBudget>>,
    flight: RequestMetrics,
    /// The span of its start.
    span: Span,
}

impl EventExecutor {
    /// For a server.
    pub fn new(app: Arc<App>) -> Self {
        let schema = Schema::build(EventRoot, EmptyMutation, EmptySubscription);
        let schema = schema.validation_mode(ValidationMode::Fast).data(app.clone()).finish();
        let spendings = Arc::new(EventBudgets::new(&app));
        Self { app, schema, shared: Arc::default(), spendings }
    }

    /// The responses to a subscription: one per event, and an error as the last one.
    pub fn response_stream(
        self,
        library: GraphqlSchema,
        viewer: Viewer,
        admitted: AdmittedRequest,
    ) -> impl Stream<Item = StreamResponse> + Send + 'static {
        let begun = async { Ok((self.begin(library, viewer, admitted).await?, None)) };
        ResponseStream { work: Some(begun.in_current_span().boxed()), running: None }
    }

    async fn begin(
        self,
        library: GraphqlSchema,
        viewer: Viewer,
        admitted: AdmittedRequest,
    ) -> Result<RunningSubscription, StreamResponse> {
        let AdmittedRequest { request, document, mut flight, .. } = admitted;
        let variables = request.variables.clone();
        let source = Arc::new(Mutex::new(None::<EventSource>));
        let request = request.data(OutputSlot(source.clone()));
        let mut beginning = library.execute_stream(build_request(request, document.clone(), Some(viewer.clone())));
        let refusal = catch_panic(async { beginning.next().await.unwrap_or_default() }).await;
        if let Some(source) = OutputSlot(source).take() {
            let question = self.shared.document_for(document, variables);
            let spending = self.spendings.for_user(&self.app, source.user());
            let span = Span::current();
            return Ok(RunningSubscription { events: self, source, viewer, question, spending, flight, span });
        }
        flight.record_response(&refusal);
        Err(StreamResponse::Executed(Box::new(refusal), self.response_budget(&viewer)))
    }

    fn response_budget(&self, viewer: &Viewer) -> ResponseBudget {
        ResponseBudget::for_viewer(&self.app.config.limits, Some(viewer))
    }
}

impl Stream for ResponseStream {
    type Item = StreamResponse;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<StreamResponse>> {
        loop {
            if let Some(work) = &mut self.work {
                let worked = ready!(work.as_mut().poll(cx));
                self.work = None;
                match worked {
                    Ok((running, answer)) => {
                        self.running = Some(running);
                        if answer.is_some() {
                            return Poll::Ready(answer);
                        }
                    }
                    Err(last) => return Poll::Ready(Some(last)),
                }
            }
            let Some(running) = &mut self.running else { return Poll::Ready(None) };
            match ready!(running.poll_next(cx)) {
                Ok(answer) => return Poll::Ready(Some(answer)),
                Err(work) => self.work = self.running.take().map(|running| running.run_work(work).boxed()),
            }
        }
    }
}

impl RunningSubscription {
    /// The next response if it is cached, else the work for it.
    fn poll_next(&mut self, cx: &task::Context<'_>) -> Poll<Result<StreamResponse, ResponseWork>> {
        if self.spending.as_ref().is_some_and(|spending| spending.is_over()) {
            return Poll::Ready(Err(ResponseWork::Spent));
        }
        if matches!(&self.source, EventSource::Items(feed) if feed.is_behind()) {
            return Poll::Ready(Err(ResponseWork::Missed));
        }
        Poll::Ready(match ready!(self.source.poll_next(cx)) {
            Ok(event) => match self.events.shared.find_template(self.viewer.tenant.id, &self.question, &event) {
                TemplateLookup::Same(template) => Ok(self.fill_template(template, &event)),
                TemplateLookup::Nothing => Err(ResponseWork::Common(event)),
                TemplateLookup::Own => Err(ResponseWork::Own(event)),
            },
            Err(error) => Err(ResponseWork::Failed(error)),
        })
    }

    async fn run_work(mut self, work: ResponseWork) -> WorkResult {
        let answer = match work {
            ResponseWork::Common(event) => {
                let reserved = self.reserve_bytes();
                let template = self.render_template(event.clone()).await;
                self.settle_reserved(reserved, 0);
                match template {
                    Some(template) => Some(self.fill_template(template, &event)),
                    None => Some(self.respond_to(event).await),
                }
            }
            ResponseWork::Own(event) => Some(self.respond_to(event).await),
            ResponseWork::Missed => {
                if let EventSource::Items(feed) = &mut self.source {
                    let read = feed.catch_up().await;
                    let (parts, items) = feed.take_read_counts();
                    if let Some(spending) = &self.spending {
                        spending.charge_missed(parts, items);
                    }
                    read.map_err(|error| self.fail_with(error))?;
                }
                None
            }
            ResponseWork::Spent => {
                if let Some(spending) = &self.spending {
                    spending.wait_recovered().await;
                }
                None
            }
            ResponseWork::Failed(error) => return Err(self.fail_with(error)),
        };
        Ok((self, answer))
    }

    fn fill_template(&mut self, template: Arc<ResponseTemplate>, event: &SubscriptionEvent) -> StreamResponse {
        self.flight.record_success();
        let filled = PersonalizedResponse { template, tenant: self.viewer.tenant.clone(), user: event.user() };
        if let Some(spending) = &self.spending {
            spending.charge_event(filled.byte_len());
        }
        StreamResponse::Common(filled)
    }

    /// Reserves an estimate for the next event before it is made, so that not all subscriptions of a user make one at
    /// once.
    fn reserve_bytes(&self) -> usize {
        let reserved = self.events.spendings.estimate_bytes(self.question.fields);
        if let Some(spending) = &self.spending {
            spending.reserve_bytes(reserved);
        }
        reserved
    }

    /// Returns the part of a reservation that was not used.
    fn settle_reserved(&self, reserved: usize, bytes: usize) {
        if let Some(spending) = &self.spending {
            spending.settle_reserved(reserved, bytes);
        }
    }

    async fn respond_to(&mut self, event: SubscriptionEvent) -> StreamResponse {
        let reserved = self.reserve_bytes();
        let (answer, bytes) = self.execute(event, self.viewer.clone()).await;
        self.settle_reserved(reserved, bytes);
        let answer = Box::new(answer);
        self.flight.record_response(&answer);
        StreamResponse::Executed(answer, self.events.response_budget(&self.viewer))
    }

    /// The last response of a subscription that failed.
    fn fail_with(&mut self, error: Error) -> StreamResponse {
        let answer = Box::new(self.span.in_scope(|| error_response(error)));
        self.flight.record_response(&answer);
        StreamResponse::Executed(answer, self.events.response_budget(&self.viewer))
    }

    /// The response to an event, and its approximate size in bytes.
    async fn execute(&self, event: SubscriptionEvent, viewer: Viewer) -> (Response, usize) {
        let budget = self.events.response_budget(&viewer);
        let request =
            Request::new("").variables(self.question.variables.clone()).data(OutputSlot::with_value(Some(event)));
        let request = build_request(request.data(budget.clone()), self.question.document.clone(), Some(viewer));
        let executed = catch_panic(self.events.schema.execute(request)).instrument(self.span.clone());
        let executed = executed.await;
        let bytes = budget.used_bytes();
        (budget.check_response(executed), bytes)
    }

    /// The response that all recipients of an event share; `None` if each needs a separate one.
    async fn render_template(&self, event: SubscriptionEvent) -> Option<Arc<ResponseTemplate>> {
        let tenant = &self.viewer.tenant;
        let nobody = Viewer {
            tenant: tenant.clone(),
            role: CallerRole::User,
            sub: String::new(),
            origin: NetworkClass::Unknown,
        };
        let (answer, _) = self.execute(event.for_placeholder(), nobody).await;
        let ids = event.sealed_ids().into_iter();
        let template = answer
            .errors
            .is_empty()
            .then(|| Arc::new(ResponseTemplate::from_response(&answer, &tenant.id_cipher, ids)));
        self.events.shared.store_template(tenant.id, &self.question, event, template.clone());
        template
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_schema;
    use async_graphql::parser::types::{TypeKind, TypeSystemDefinition};

    use super::*;

    /// The names of the fields of a type.
    fn fields(sdl: &str, of: &str) -> Vec<String> {
        let document = parse_schema(sdl).unwrap();
        let fields = document.definitions.iter().find_map(|definition| match definition {
            TypeSystemDefinition::Type(found) if found.node.name.node == of => match &found.node.kind {
                TypeKind::Object(object) => Some(&object.fields),
                _ => None,
            },
            _ => None,
        });
        fields.unwrap().iter().map(|field| field.node.name.node.to_string()).collect()
    }

    #[test]
    fn every_subscription_has_its_event() {
        let events = Schema::build(EventRoot, EmptyMutation, EmptySubscription).finish();
        let options = async_graphql::SDLExportOptions::new().sorted_fields();
        let subscriptions = fields(&crate::graphql::Schema::export_sdl(), "Subscription");
        assert!(subscriptions.len() >= 2);
        assert_eq!(fields(&events.sdl_with_options(options), "EventRoot"), subscriptions);
    }
}
