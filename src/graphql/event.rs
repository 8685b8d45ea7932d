//! How subscriptions are executed: each of their events as a query of its own.
//!
//! The library would keep its own copy of the document for every subscription, and several futures within each other, which
//! took about 9 KB. A subscription that rests keeps its variables and where its events come from; the document is shared
//! by all that were sent the same text.

use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::parser::types::{OperationDefinition, OperationType};
use async_graphql::{
    Context, EmptyMutation, EmptySubscription, Object, Positioned, Request, Response, Schema, ValidationMode, Variables,
};
use futures_util::future::Either;
use futures_util::stream::{self, BoxStream, StreamExt};

use super::context::{Call, Viewer};
use super::flight::Flight;
use super::guard::Admitted;
use super::inbox::InboxItem;
use super::live::ItemEdge;
use super::overview::Overview;
use super::view::View;
use super::{Library, caught, failed, with};
use crate::app::App;
use crate::domain::inbox::Item;
use crate::domain::live::{Feed, Lookout, Watch};
use crate::domain::{overview, view};
use crate::error::Result;
use crate::seal::Kind;

/// Where the events of a subscription come from. A resolver of the schema's subscription makes it, and ends.
pub enum Source {
    Items(Feed),
    Overviews(Watch),
    Views(Lookout),
}

enum Event {
    Item(Item),
    Overview(overview::Overview),
    View(view::View),
}

impl Source {
    async fn next(&mut self) -> Result<Event> {
        match self {
            Self::Items(feed) => feed.next().await.map(Event::Item),
            Self::Overviews(watch) => watch.next().await.map(Event::Overview),
            Self::Views(lookout) => lookout.next().await.map(Event::View),
        }
    }
}

/// Holds what is handed over through the data of a request.
pub struct Handover<T>(Arc<Mutex<Option<T>>>);

impl<T> Handover<T> {
    fn of(value: Option<T>) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// Puts it there.
    pub fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// An event under the name of the subscription's field that asked for it.
struct EventRoot;

#[Object]
impl EventRoot {
    async fn item_received(&self, ctx: &Context<'_>) -> Option<ItemEdge> {
        let Some(Event::Item(item)) = ctx.data_unchecked::<Handover<Event>>().take() else { return None };
        let cursor = Call::of(ctx).tenant.seal.close(Kind::Cursor, item.user.0, item.seq.0);
        Some(ItemEdge::new(cursor, InboxItem(item)))
    }

    async fn overview_changed(&self, ctx: &Context<'_>) -> Option<Overview> {
        let Some(Event::Overview(of)) = ctx.data_unchecked::<Handover<Event>>().take() else { return None };
        Some(Overview(of))
    }

    async fn view_changed(&self, ctx: &Context<'_>) -> Option<View> {
        let Some(Event::View(of)) = ctx.data_unchecked::<Handover<Event>>().take() else { return None };
        Some(View::from(of))
    }
}

/// Executes events.
#[derive(Clone)]
pub struct Events(Schema<EventRoot, EmptyMutation, EmptySubscription>);

/// A subscription that has begun.
struct Running {
    events: Events,
    source: Source,
    viewer: Viewer,
    variables: Variables,
    document: Arc<Positioned<OperationDefinition>>,
    flight: Flight,
}

impl Events {
    /// Of a server.
    pub fn new(app: Arc<App>) -> Self {
        let schema = Schema::build(EventRoot, EmptyMutation, EmptySubscription);
        Self(schema.validation_mode(ValidationMode::Fast).data(app).finish())
    }

    /// The answers to a subscription: one an event, and an error as the last one.
    pub fn answers(self, library: Library, viewer: Viewer, admitted: Admitted) -> BoxStream<'static, Response> {
        // Boxed, so that nothing of it is kept once it is over.
        let begun = Box::pin(self.begin(library, viewer, admitted));
        let answers = stream::once(begun).flat_map(|begun| match begun {
            Ok(running) => Either::Left(stream::unfold(Some(running), Running::next)),
            Err(refusal) => Either::Right(stream::once(std::future::ready(*refusal))),
        });
        answers.boxed()
    }

    async fn begin(self, library: Library, viewer: Viewer, admitted: Admitted) -> Result<Running, Box<Response>> {
        let Admitted { request, document, mut flight, .. } = admitted;
        let variables = request.variables.clone();
        let source = Arc::new(Mutex::new(None));
        let request = request.data(Handover(source.clone()));
        let mut beginning = library.execute_stream(with(request, document.clone(), Some(viewer.clone())));
        let refusal = caught(async { beginning.next().await.unwrap_or_default() }).await;
        if let Some(source) = Handover(source).take() {
            return Ok(Running { events: self, source, viewer, variables, document, flight });
        }
        flight.answered(&refusal);
        Err(Box::new(refusal))
    }
}

impl Running {
    async fn next(running: Option<Self>) -> Option<(Response, Option<Self>)> {
        let mut running = running?;
        match running.source.next().await {
            Ok(event) => {
                let answer = Box::pin(running.execute(event)).await;
                running.flight.answered(&answer);
                Some((answer, Some(running)))
            }
            Err(error) => {
                let answer = failed(error);
                running.flight.answered(&answer);
                Some((answer, None))
            }
        }
    }

    async fn execute(&self, event: Event) -> Response {
        let mut document = (*self.document).clone();
        document.node.ty = OperationType::Query;
        let request = Request::new("").variables(self.variables.clone()).data(Handover::of(Some(event)));
        caught(self.events.0.execute(with(request, Arc::new(document), Some(self.viewer.clone())))).await
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
