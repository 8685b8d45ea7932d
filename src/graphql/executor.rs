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

use super::errors::error_response;
use super::json::{json_to_value, restore_numbers};
use super::{AdmittedRequest, PublicRoute, RateScope, ResponseBudget, Schema, StreamResponse, Viewer};
use base::error::Error;
use model::network::CallerNetwork;

impl Executor for Schema {
    async fn execute(&self, request: Request) -> Response {
        let viewer = viewer_of_data(&request.data);
        let budget = self.response_budget(viewer.as_ref());
        match self.charge_and_admit(viewer.as_ref(), request).await {
            Ok(admitted) => limit_response(&budget, self.run(viewer, admitted).await),
            Err(refusal) => refusal,
        }
    }

    /// Refuses batches: their requests would all run at once, and all their responses would be in memory together.
    async fn execute_batch(&self, batch: BatchRequest) -> BatchResponse {
        match batch {
            BatchRequest::Single(request) => self.execute(request).await.into(),
            BatchRequest::Batch(_) => {
                error_response(Error::bad_input("", "batched requests are not supported: send one request at a time"))
                    .into()
            }
        }
    }

    fn execute_stream(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let schema = self.clone();
        let answers = async move {
            let viewer = viewer_of_data(&request.data).or_else(|| viewer_of_data(session_data.as_ref()?));
            match (schema.charge_and_admit(viewer.as_ref(), request).await, viewer) {
                (Ok(admitted), Some(viewer)) => {
                    schema.stream(viewer, admitted).map(StreamResponse::into_response).boxed()
                }
                (Ok(admitted), None) => stream::once(async move { schema.run(None, admitted).await }).boxed(),
                (Err(refusal), _) => stream::once(async { refusal }).boxed(),
            }
        };
        stream::once(answers).flatten().boxed()
    }
}

impl Schema {
    async fn charge_and_admit(
        &self,
        viewer: Option<&Viewer>,
        mut request: Request,
    ) -> Result<AdmittedRequest, Response> {
        if viewer.is_none() && !self.app.config.wire.public_schema {
            return Err(error_response(Error::Unauthenticated("send a token: Authorization: Bearer …".into())));
        }
        match viewer {
            Some(viewer) => self.charge(viewer).await?,
            None => {
                self.charge_without_token(&RateScope::for_route(PublicRoute::Introspection, CallerNetwork::unknown()))
                    .await?;
            }
        }
        restore_numbers(&mut request);
        self.admit(viewer, request).await
    }
}

impl StreamResponse {
    /// The response in the library's form.
    fn into_response(self) -> Response {
        match self {
            Self::Executed(response, budget) => limit_response(&budget, *response),
            Self::Common(filled) => match serde_json::from_str::<ResponseData>(&filled.to_json()) {
                Ok(ResponseData { data }) => Response::new(json_to_value(data)),
                Err(error) => error_response(Error::internal(error)),
            },
        }
    }
}

/// A response without errors.
#[derive(Deserialize)]
struct ResponseData {
    data: Value,
}

/// The response, or an error if its JSON exceeds the limit.
fn limit_response(budget: &ResponseBudget, response: Response) -> Response {
    match budget.to_json(&response) {
        Ok(_) => response,
        Err(refusal) => *refusal,
    }
}

fn viewer_of_data(data: &Data) -> Option<Viewer> {
    data.get(&TypeId::of::<Viewer>())?.downcast_ref().cloned()
}
