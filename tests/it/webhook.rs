//! Webhooks: each event reaches external servers once, under one id.

mod api;
mod chance;
mod crash;
mod events;
mod failing;
mod figures;
mod items;
mod keys;
mod receiver;
mod stop;
mod tls;

use std::time::Duration;

use delivery::workers::DeliveryWorkers;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::{Value, json};

use crate::support::{PATIENCE, TestApp};
use receiver::Receiver;

const CREATE: &str =
    "mutation($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { endpoint { id } secret } }";

/// An endpoint with its secret.
struct Endpoint {
    id: Value,
    secret: String,
}

/// Creates an endpoint of `acme` for a URL, with additional settings.
async fn create(app: &TestApp, url: &str, further: Value) -> Endpoint {
    let mut input = json!({ "url": url });
    input.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    let mut made = app.admin().ask(CREATE, json!({ "input": input })).await["createWebhookEndpoint"].take();
    let secret = made["secret"].as_str().unwrap().to_owned();
    Endpoint { id: made["endpoint"]["id"].take(), secret }
}

/// A receiver, an endpoint for all events but expiries, and a message type.
async fn with_endpoint(app: &TestApp) -> (Receiver, Endpoint) {
    app.admin().define_type("news").await;
    let receiver = Receiver::start().await;
    let endpoint = create(app, &receiver.url, json!({})).await;
    (receiver, endpoint)
}

pub async fn number(app: &TestApp, sql: &str) -> i64 {
    let db = &app.app.db.read;
    let count = Statement::from_string(db.get_database_backend(), sql.to_owned());
    db.query_one_raw(count).await.unwrap().unwrap().try_get("", "many").unwrap()
}

/// Delivers until nothing is due or in flight.
pub async fn settle(app: &TestApp, workers: &DeliveryWorkers) {
    let now = app.app.now();
    let busy = format!(
        "SELECT COUNT(*) AS many FROM lane e JOIN tenant t ON t.id = e.tenant_id WHERE e.lease_until <> 0 \
         OR (e.state = 0 AND e.open_until <= {now} AND (e.due_at <= {now} OR e.cursor_seq <> t.last_seq))"
    );
    for _ in 0..PATIENCE.as_millis() / 10 {
        workers.start_due(&app.app.delivery).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        if number(app, &busy).await == 0 {
            return;
        }
    }
    panic!("it goes on and on");
}

/// Returns fields of an endpoint.
async fn look_at(app: &TestApp, endpoint: &Endpoint, fields: &str) -> Value {
    let query = format!("query($id: ID!) {{ webhookEndpoint(id: $id) {{ {fields} }} }}");
    app.admin().ask(&query, json!({ "id": endpoint.id })).await["webhookEndpoint"].take()
}

/// Returns fields of deliveries, newest first.
pub async fn deliveries(app: &TestApp, filter: Value, fields: &str) -> Vec<Value> {
    let query = format!(
        "query($filter: OutboundDeliveryFilter) {{ outboundDeliveries(filter: $filter, first: 200) {{ nodes {{ {fields} }} }} }}"
    );
    let mut data = app.service().ask(&query, json!({ "filter": filter })).await;
    data["outboundDeliveries"]["nodes"].as_array_mut().unwrap().drain(..).collect()
}

/// Runs an operator's mutation on an endpoint: `pauseWebhookEndpoint`, …
async fn act(app: &TestApp, what: &str, endpoint: &Endpoint) -> Value {
    let query = format!("mutation($id: ID!) {{ {what}(id: $id) {{ id }} }}");
    app.admin().ask(&query, json!({ "id": endpoint.id })).await[what].take()
}
