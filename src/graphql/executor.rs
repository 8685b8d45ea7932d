//! The API for whatever executes schemas of async-graphql, such as `async_graphql_axum` in another application.
//!
//! A host says who is calling by a [`Viewer`] in the data of the request, or of the session that it belongs to. What stands
//! before the schema is the host's business, and bounded by nothing here but the rate: tokens, methods and content types (a
//! mutation by GET, or in a form of another site, is to be refused where cookies say who is calling), bytes of bodies,
//! connections, and how many sessions a user may have, and operations in each.

use std::any::TypeId;
use std::sync::Arc;

use async_graphql::{BatchRequest, BatchResponse, Data, Executor, Request, Response};
use futures_util::stream::{self, BoxStream, StreamExt};
use serde::Deserialize;
use serde_json::Value;

use super::errors::failed;
use super::json::{restore_numbers, value};
use super::{Admitted, Answer, Budget, Route, Schema, Share, Viewer};
use crate::error::Error;
use crate::model::network::Network;

impl Executor for Schema {
    async fn execute(&self, request: Request) -> Response {
        let viewer = viewer(&request.data);
        let budget = self.budget(viewer.as_ref());
        match self.let_in(viewer.as_ref(), request).await {
            Ok(admitted) => within(&budget, self.run(viewer, admitted).await),
            Err(refusal) => refusal,
        }
    }

    /// Requests come one by one: those of a batch would run all at once, and their answers be held together.
    async fn execute_batch(&self, batch: BatchRequest) -> BatchResponse {
        match batch {
            BatchRequest::Single(request) => self.execute(request).await.into(),
            BatchRequest::Batch(_) => failed(Error::bad_input("", "requests are not sent in batches")).into(),
        }
    }

    fn execute_stream(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let schema = self.clone();
        let answers = async move {
            let viewer = viewer(&request.data).or_else(|| viewer(session_data.as_ref()?));
            match (schema.let_in(viewer.as_ref(), request).await, viewer) {
                (Ok(admitted), Some(viewer)) => schema.stream(viewer, admitted).map(Answer::into_response).boxed(),
                (Ok(admitted), None) => stream::once(async move { schema.run(None, admitted).await }).boxed(),
                (Err(refusal), _) => stream::once(async { refusal }).boxed(),
            }
        };
        stream::once(answers).flatten().boxed()
    }
}

impl Schema {
    async fn let_in(&self, viewer: Option<&Viewer>, mut request: Request) -> Result<Admitted, Response> {
        if viewer.is_none() && !self.app.config.wire.public_schema {
            return Err(failed(Error::Unauthenticated("nobody is signed in".into())));
        }
        match viewer {
            Some(viewer) => self.knock(viewer).await?,
            None => self.knock_without_token(&Share::of(Route::Introspection, Network::unknown())).await?,
        }
        restore_numbers(&mut request);
        self.admit(viewer, request).await
    }
}

impl Answer {
    /// As the library has it.
    fn into_response(self) -> Response {
        match self {
            Self::Executed(response, budget) => within(&budget, *response),
            Self::Common(filled) => match serde_json::from_str::<Event>(&filled.text()) {
                Ok(Event { data }) => Response::new(value(data)),
                Err(error) => failed(Error::internal(error)),
            },
        }
    }
}

/// An answer without errors.
#[derive(Deserialize)]
struct Event {
    data: Value,
}

/// The response, or what is said instead where its JSON has more bytes than there is room for.
fn within(budget: &Budget, response: Response) -> Response {
    match budget.json(&response) {
        Ok(_) => response,
        Err(refusal) => *refusal,
    }
}

fn viewer(data: &Data) -> Option<Viewer> {
    data.get(&TypeId::of::<Viewer>())?.downcast_ref().cloned()
}
