//! The API for whatever executes schemas of async-graphql, such as `async_graphql_axum` in another application.
//!
//! A host says who is calling by a [`Viewer`] in the data of the request, or of the session that it belongs to. What stands
//! before the schema is the host's business: tokens, bytes of bodies, connections and how many sessions a user may have.

use std::any::TypeId;
use std::sync::Arc;

use async_graphql::{Data, Executor, Request, Response, Value};
use futures_util::stream::{self, BoxStream, StreamExt};

use super::errors::failed;
use super::{Admitted, Answer, Schema, Viewer};
use crate::error::Error;

impl Executor for Schema {
    async fn execute(&self, request: Request) -> Response {
        let viewer = viewer(&request.data);
        match self.let_in(viewer.as_ref(), request).await {
            Ok(admitted) => self.run(viewer, admitted).await,
            Err(refusal) => refusal,
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
    async fn let_in(&self, viewer: Option<&Viewer>, request: Request) -> Result<Admitted, Response> {
        if viewer.is_none() && !self.app.config.wire.public_schema {
            return Err(failed(Error::Unauthenticated("nobody is signed in".into())));
        }
        self.knock(viewer).await?;
        self.admit(viewer, request).await
    }
}

impl Answer {
    /// As the library has it.
    fn into_response(self) -> Response {
        match self {
            Self::Executed(response, budget) => budget.kept(*response),
            Self::Text(text) => {
                let answer = serde_json::from_str(&text).map(|mut answer: serde_json::Value| answer["data"].take());
                answer
                    .ok()
                    .and_then(|data| Value::from_json(data).ok())
                    .map_or_else(|| failed(Error::internal("an event is no JSON")), Response::new)
            }
        }
    }
}

fn viewer(data: &Data) -> Option<Viewer> {
    data.get(&TypeId::of::<Viewer>())?.downcast_ref().cloned()
}
