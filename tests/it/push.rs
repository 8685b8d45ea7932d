//! Web Push: waiting inbox items reach the browsers of their users, and no others.

mod browsers;
mod sending;
mod service;

use serde_json::{Value, json};

use crate::support::{Actor, TestApp};
use crate::webhook;
use service::Browser;

const SAVE: &str = "mutation($of: JSON!, $user: ID) { savePushSubscription(subscription: $of, user: $user) { pushSubscriptionCount } }";

/// Creates the tenant's Web Push settings and returns the public key.
async fn turn_on(app: &TestApp) -> String {
    let input = json!({ "contact": "mailto:ops@shop.example", "linkBase": "https://shop.example/app/" });
    turn_on_with(app, input).await["key"].as_str().unwrap().to_owned()
}

async fn turn_on_with(app: &TestApp, input: Value) -> Value {
    let save =
        "mutation($input: WebPushInput!) { saveWebPush(input: $input) { id key contact linkBase state lastError } }";
    app.admin().ask(save, json!({ "input": input })).await["saveWebPush"].take()
}

/// Defines a type that sends its items to browsers at once.
async fn define(app: &TestApp, code: &str) {
    let delivery = json!([{ "channel": "WEB_PUSH", "delaySeconds": 0 }]);
    app.admin().define(json!({ "code": code, "title": code, "delivery": delivery })).await;
}

/// Subscribes a browser and returns the number of the user's browsers.
async fn save(by: &Actor<'_>, browser: &Browser) -> i64 {
    by.ask(SAVE, json!({ "of": browser.subscription() })).await["savePushSubscription"]["pushSubscriptionCount"]
        .as_i64()
        .unwrap()
}

async fn delete(by: &Actor<'_>, browser: &Browser) -> i64 {
    let query = "mutation($of: String!) { deletePushSubscription(endpoint: $of) { pushSubscriptionCount } }";
    let done = by.ask(query, json!({ "of": browser.endpoint })).await;
    done["deletePushSubscription"]["pushSubscriptionCount"].as_i64().unwrap()
}

async fn key(by: &Actor<'_>) -> Value {
    by.ask("{ webPushKey }", json!({})).await["webPushKey"].take()
}

/// Returns push deliveries, newest first.
async fn deliveries(app: &TestApp, filter: Value) -> Vec<Value> {
    let fields = "id channel state attemptCount lastStatus lastError endpointId dueAt user { id }";
    webhook::deliveries(app, filter, fields).await
}
