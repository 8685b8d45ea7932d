//! Lets hosts that execute schemas of async-graphql, such as `async_graphql_axum` in another application, use the API.
//!
//! A host names the caller by a [`Viewer`] in the data of the request, or of its session. This module limits only the
//! caller's rate. The host is responsible for everything in front of the schema: tokens, methods and content types (if
//! cookies identify the caller, it must refuse a mutation by GET or in a form of another site), sizes of bodies,
//! connections, sessions per user, and operations per session.

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

    /// Refuses batches: their requests would all run at once, and all their responses would be in memory together.
    async fn execute_batch(&self, batch: BatchRequest) -> BatchResponse {
        match batch {
            BatchRequest::Single(request) => self.execute(request).await.into(),
            BatchRequest::Batch(_) => {
                failed(Error::bad_input("", "batched requests are not supported: send one request at a time")).into()
            }
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
            return Err(failed(Error::Unauthenticated("send a token: Authorization: Bearer …".into())));
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
    /// The response in the library's form.
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

/// A response without errors.
#[derive(Deserialize)]
struct Event {
    data: Value,
}

/// The response, or an error if its JSON exceeds the limit.
fn within(budget: &Budget, response: Response) -> Response {
    match budget.json(&response) {
        Ok(_) => response,
        Err(refusal) => *refusal,
    }
}

fn viewer(data: &Data) -> Option<Viewer> {
    data.get(&TypeId::of::<Viewer>())?.downcast_ref().cloned()
}
