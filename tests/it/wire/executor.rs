//! The API as executed by another application.

use async_graphql::{BatchRequest, Executor, Request, Response, Value};
use auth::CallerRole;
use futures_util::StreamExt;
use tidings::graphql::{Schema, Viewer};

use crate::support::{TestApp, everyone, on_every_database};

fn code(response: &Response) -> String {
    let error = response.errors.first().expect("it has an error");
    match error.extensions.as_ref().and_then(|extensions| extensions.get("code")) {
        Some(Value::String(code)) => code.clone(),
        other => panic!("no code: {other:?}"),
    }
}

async fn ada(app: &TestApp) -> Viewer {
    Viewer::with_names(&app.app, "acme", CallerRole::User, "ada").await.unwrap()
}

on_every_database! {
    async fn whoever_the_host_says_is_calling_is_bound_as_at_our_own_doors(app) {
        let schema = Schema::new(app.app.clone(), app.live.clone());
        let query = "{ viewer { user { id } } }";
        assert_eq!(code(&schema.execute(Request::new(query)).await), "UNAUTHENTICATED");
        let answer = schema.execute(Request::new(query).data(ada(app).await)).await;
        assert_eq!(answer.data.to_string(), r#"{viewer: {user: {id: "ada"}}}"#);
        let retract = Request::new("mutation { retractSentNotification(id: \"x\") { id } }").data(ada(app).await);
        assert_eq!(code(&schema.execute(retract).await), "FORBIDDEN");
        let deep = Request::new("{".repeat(60)).data(ada(app).await);
        assert_eq!(code(&schema.execute(deep).await), "GRAPHQL_VALIDATION_FAILED");
        let batch = (0..3).map(|_| Request::new(query)).collect();
        let answers = schema.execute_batch(BatchRequest::Batch(batch)).await;
        assert!(!answers.is_ok(), "batches are refused");
    }

    async fn events_have_their_fields_in_the_order_in_which_they_were_asked_for(app) {
        app.admin().define_type("news").await;
        let schema = Schema::new(app.app.clone(), app.live.clone());
        let query = "subscription { itemReceived { node { title expiresAt createdAt } cursor } }";
        let mut events = schema.execute_stream(Request::new(query).data(ada(app).await), None);
        let sending = async {
            // Once the session is registered.
            while app.app.metrics.subscriptions.get() == 0 {
                tokio::task::yield_now().await;
            }
            app.service().announce("news", everyone(), "hello").await;
        };
        let (event, ()) = tokio::join!(events.next(), sending);
        let event = event.expect("it is an event");
        assert!(event.errors.is_empty(), "{event:?}");
        let text = event.data.to_string();
        let places: Vec<_> = ["title", "expiresAt", "createdAt", "cursor"].map(|field| text.find(field)).into();
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{text}");
    }
}
