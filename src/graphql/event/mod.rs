//! Executes subscriptions: each event is a query of its own.
//!
//! The library would keep a copy of the document for every subscription, and several nested futures, about 9 KB in all.
//! Here an idle subscription keeps only the source of its events, and subscriptions with the same text share a
//! document. Responses that others share are made on the stack: a future would have to be kept for each subscription,
//! and loaded from memory.

mod shared;
mod spending;

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
use super::admission::Admitted;
use super::budget::Budget;
use super::context::Call;
use super::errors::failed;
use super::flight::Flight;
use super::inbox::InboxItem;
use super::live::ItemEdge;
use super::plain::Plain;
use super::view::View;
use super::viewer::Viewer;
use super::{Answer, Library, caught, with};
use crate::app::App;
use crate::auth::Role;
use crate::domain::inbox::Item;
use crate::domain::live::{ItemFeed, OverviewFeed, ViewFeed};
use crate::domain::{overview, view};
use crate::error::{Error, Result};
use crate::model::actor::Origin;
use crate::model::seal::Kind;
pub use shared::{Filled, NOBODY};
use shared::{Found, Question, Shared, Template};
use spending::{Spending, Spendings};

/// The source of a subscription's events. A resolver of the schema's subscription creates it, and ends.
pub enum Source {
    Items(ItemFeed),
    Overviews(OverviewFeed),
    Views(ViewFeed),
}

#[derive(Clone)]
enum Event {
    Item(Item),
    /// The overview of this user. Others may share it.
    Overview(UserId, Arc<overview::Overview>),
    View(view::View),
}

impl Source {
    fn user(&self) -> UserId {
        match self {
            Self::Items(feed) => feed.user(),
            Self::Overviews(feed) => feed.user(),
            Self::Views(feed) => feed.user(),
        }
    }

    fn poll_next(&mut self, cx: &task::Context<'_>) -> Poll<Result<Event>> {
        match self {
            Self::Items(feed) => feed.poll_next(cx).map_ok(Event::Item),
            Self::Overviews(feed) => feed.poll_next(cx).map_ok(|of| Event::Overview(feed.user(), of)),
            Self::Views(feed) => feed.poll_next(cx).map_ok(Event::View),
        }
    }
}

impl Event {
    /// The user of the event; the placeholder user for a view.
    fn user(&self) -> UserId {
        match self {
            Self::Item(item) => item.user,
            Self::Overview(user, _) => *user,
            Self::View(_) => NOBODY,
        }
    }

    /// Whether others may get the same response. Views differ between users.
    fn is_common(&self) -> bool {
        match self {
            Self::Item(_) => true,
            Self::Overview(_, of) => of.views.views.is_empty(),
            Self::View(_) => false,
        }
    }

    /// A hash: equal for equal events, and rarely equal for others.
    fn outline(&self) -> u64 {
        match self {
            Self::Item(item) => item.seq.0.unsigned_abs(),
            Self::Overview(_, of) => Arc::as_ptr(of) as u64,
            Self::View(_) => 0,
        }
    }

    /// Whether both are equal except for the user. A room gives equal overviews to all their users as one `Arc`.
    fn shows_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Item(one), Self::Item(other)) => one.shows_same(other),
            (Self::Overview(_, one), Self::Overview(_, other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    fn for_nobody(&self) -> Self {
        let mut event = self.clone();
        match &mut event {
            Self::Item(item) => item.user = NOBODY,
            Self::Overview(user, _) => *user = NOBODY,
            Self::View(_) => {}
        }
        event
    }

    /// Ids in the response that are sealed over its user.
    fn ids(&self) -> Vec<(Kind, Seq)> {
        match self {
            Self::Item(item) => vec![(Kind::Cursor, item.seq), (Kind::Item, item.seq)],
            Self::Overview(_, of) => {
                let items = of.types.iter().filter_map(|kind| Some((Kind::Item, kind.latest.as_ref()?.seq)));
                items.chain([(Kind::Cursor, of.cursor), (Kind::Viewer, Seq(0))]).collect()
            }
            Self::View(_) => Vec::new(),
        }
    }
}

/// A slot in the data of a request, to pass a value into or out of a resolver.
pub struct Handover<T>(Arc<Mutex<Option<T>>>);

impl<T> Handover<T> {
    fn of(value: Option<T>) -> Self {
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
        let Some(Event::Item(item)) = ctx.data_unchecked::<Handover<Event>>().take() else { return Err(lost()) };
        let cursor = Call::of(ctx).tenant.seal.close(Kind::Cursor, item.user.0, item.seq.0);
        Ok(ItemEdge::new(cursor, Plain(InboxItem(item))))
    }

    async fn overview_changed(&self, ctx: &Context<'_>) -> Result<ViewerAccount> {
        let Some(Event::Overview(user, of)) = ctx.data_unchecked::<Handover<Event>>().take() else {
            return Err(lost());
        };
        Ok(ViewerAccount::told(user, &of))
    }

    async fn view_changed(&self, ctx: &Context<'_>) -> Result<View> {
        let Some(Event::View(of)) = ctx.data_unchecked::<Handover<Event>>().take() else { return Err(lost()) };
        Ok(View(of))
    }
}

/// The error if the field in the document is not the event's.
fn lost() -> Error {
    Error::internal("the field of the event's document is not that of the event")
}

/// Executes events.
#[derive(Clone)]
pub struct Events {
    app: Arc<App>,
    schema: Schema<EventRoot, EmptyMutation, EmptySubscription>,
    shared: Arc<Shared>,
    spendings: Arc<Spendings>,
}

/// The responses to a subscription.
struct Answers {
    /// The work in progress, unless the subscription waits for an event.
    work: Option<BoxFuture<'static, Worked>>,
    /// The subscription while it waits for an event. Both fields are `None` after the end.
    running: Option<Running>,
}

/// The result of work: a subscription that continues, perhaps with a response, or the last response.
type Worked = Result<(Running, Option<Answer>), Answer>;

/// The work for the next response.
enum Work {
    /// An event with a response that others may share.
    Common(Event),
    /// An event with a response only for this subscription.
    Own(Event),
    /// Missed items must be read.
    Missed,
    /// The user's event bytes are used up.
    Spent,
    Failed(Error),
}

/// A subscription that has begun.
struct Running {
    events: Events,
    source: Source,
    viewer: Viewer,
    question: Arc<Question>,
    /// The event bytes of the user; `None` if there is no limit.
    spending: Option<Arc<Spending>>,
    flight: Flight,
    /// The span of its start.
    span: Span,
}

impl Events {
    /// For a server.
    pub fn new(app: Arc<App>) -> Self {
        let schema = Schema::build(EventRoot, EmptyMutation, EmptySubscription);
        let schema = schema.validation_mode(ValidationMode::Fast).data(app.clone()).finish();
        let spendings = Arc::new(Spendings::new(&app));
        Self { app, schema, shared: Arc::default(), spendings }
    }

    /// The responses to a subscription: one per event, and an error as the last one.
    pub fn answers(
        self,
        library: Library,
        viewer: Viewer,
        admitted: Admitted,
    ) -> impl Stream<Item = Answer> + Send + 'static {
        let begun = async { Ok((self.begin(library, viewer, admitted).await?, None)) };
        Answers { work: Some(begun.in_current_span().boxed()), running: None }
    }

    async fn begin(self, library: Library, viewer: Viewer, admitted: Admitted) -> Result<Running, Answer> {
        let Admitted { request, document, mut flight, .. } = admitted;
        let variables = request.variables.clone();
        let source = Arc::new(Mutex::new(None::<Source>));
        let request = request.data(Handover(source.clone()));
        let mut beginning = library.execute_stream(with(request, document.clone(), Some(viewer.clone())));
        let refusal = caught(async { beginning.next().await.unwrap_or_default() }).await;
        if let Some(source) = Handover(source).take() {
            let question = self.shared.question(document, variables);
            let spending = self.spendings.of(&self.app, source.user());
            let span = Span::current();
            return Ok(Running { events: self, source, viewer, question, spending, flight, span });
        }
        flight.answered(&refusal);
        Err(Answer::Executed(Box::new(refusal), self.budget(&viewer)))
    }

    fn budget(&self, viewer: &Viewer) -> Budget {
        Budget::of(&self.app.config.limits, Some(viewer))
    }
}

impl Stream for Answers {
    type Item = Answer;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Answer>> {
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
                Err(work) => self.work = self.running.take().map(|running| running.work(work).boxed()),
            }
        }
    }
}

impl Running {
    /// The next response if it is cached, else the work for it.
    fn poll_next(&mut self, cx: &task::Context<'_>) -> Poll<Result<Answer, Work>> {
        if self.spending.as_ref().is_some_and(|spending| spending.is_over()) {
            return Poll::Ready(Err(Work::Spent));
        }
        if matches!(&self.source, Source::Items(feed) if feed.is_behind()) {
            return Poll::Ready(Err(Work::Missed));
        }
        Poll::Ready(match ready!(self.source.poll_next(cx)) {
            Ok(event) => match self.events.shared.find(self.viewer.tenant.id, &self.question, &event) {
                Found::Same(template) => Ok(self.filled(template, &event)),
                Found::Nothing => Err(Work::Common(event)),
                Found::Own => Err(Work::Own(event)),
            },
            Err(error) => Err(Work::Failed(error)),
        })
    }

    async fn work(mut self, work: Work) -> Worked {
        let answer = match work {
            Work::Common(event) => {
                let reserved = self.reserve();
                let template = self.template(event.clone()).await;
                self.settle(reserved, 0);
                match template {
                    Some(template) => Some(self.filled(template, &event)),
                    None => Some(self.answer(event).await),
                }
            }
            Work::Own(event) => Some(self.answer(event).await),
            Work::Missed => {
                if let Source::Items(feed) = &mut self.source {
                    let read = feed.catch_up().await;
                    let (parts, items) = feed.take_read();
                    if let Some(spending) = &self.spending {
                        spending.missed(parts, items);
                    }
                    read.map_err(|error| self.failed(error))?;
                }
                None
            }
            Work::Spent => {
                if let Some(spending) = &self.spending {
                    spending.recovered().await;
                }
                None
            }
            Work::Failed(error) => return Err(self.failed(error)),
        };
        Ok((self, answer))
    }

    fn filled(&mut self, template: Arc<Template>, event: &Event) -> Answer {
        self.flight.went_well();
        let filled = Filled { template, tenant: self.viewer.tenant.clone(), user: event.user() };
        if let Some(spending) = &self.spending {
            spending.event(filled.bytes());
        }
        Answer::Common(filled)
    }

    /// Reserves an estimate for the next event before it is made, so that not all subscriptions of a user make one at
    /// once.
    fn reserve(&self) -> usize {
        let reserved = self.events.spendings.estimate(self.question.fields);
        if let Some(spending) = &self.spending {
            spending.reserve(reserved);
        }
        reserved
    }

    /// Returns the part of a reservation that was not used.
    fn settle(&self, reserved: usize, bytes: usize) {
        if let Some(spending) = &self.spending {
            spending.settle(reserved, bytes);
        }
    }

    async fn answer(&mut self, event: Event) -> Answer {
        let reserved = self.reserve();
        let (answer, bytes) = self.execute(event, self.viewer.clone()).await;
        self.settle(reserved, bytes);
        let answer = Box::new(answer);
        self.flight.answered(&answer);
        Answer::Executed(answer, self.events.budget(&self.viewer))
    }

    /// The last response of a subscription that failed.
    fn failed(&mut self, error: Error) -> Answer {
        let answer = Box::new(self.span.in_scope(|| failed(error)));
        self.flight.answered(&answer);
        Answer::Executed(answer, self.events.budget(&self.viewer))
    }

    /// The response to an event, and its approximate size in bytes.
    async fn execute(&self, event: Event, viewer: Viewer) -> (Response, usize) {
        let budget = self.events.budget(&viewer);
        let request = Request::new("").variables(self.question.variables.clone()).data(Handover::of(Some(event)));
        let request = with(request.data(budget.clone()), self.question.document.clone(), Some(viewer));
        let executed = caught(self.events.schema.execute(request)).instrument(self.span.clone());
        let executed = executed.await;
        let bytes = budget.taken();
        (budget.kept(executed), bytes)
    }

    /// The response that all recipients of an event share; `None` if each needs a separate one.
    async fn template(&self, event: Event) -> Option<Arc<Template>> {
        let tenant = &self.viewer.tenant;
        let nobody = Viewer { tenant: tenant.clone(), role: Role::User, sub: String::new(), origin: Origin::Unknown };
        let (answer, _) = self.execute(event.for_nobody(), nobody).await;
        let ids = event.ids().into_iter();
        let template = answer.errors.is_empty().then(|| Arc::new(Template::of(&answer, &tenant.seal, ids)));
        self.events.shared.learn(tenant.id, &self.question, event, template.clone());
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
        let subscriptions = fields(&crate::graphql::Schema::sdl(), "Subscription");
        assert!(subscriptions.len() >= 2);
        assert_eq!(fields(&events.sdl_with_options(options), "EventRoot"), subscriptions);
    }
}
