//! WeChat messages to the followers of a tenant's official account.

mod account;
mod codes;
mod message;
mod server;
mod token;

use serde_json::{Value, json};

use crate::support::TestApp;
use crate::webhook;
use server::Server;

/// The secret of the account. No response and no log line may contain it.
const SECRET: &str = "0123456789hunter2hunter2";

/// A node over the same database that sends to this WeChat server.
async fn node(app: &TestApp, server: &Server) -> TestApp {
    let mut config = app.app.config.clone();
    config.wechat.api = format!("{}/", server.url);
    TestApp::at(config, app.app.clock.clone()).await
}

/// Creates the tenant's account.
async fn save(app: &TestApp, further: Value) -> Value {
    let mut input = json!({ "appId": "wx0123", "secret": SECRET });
    input.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    let save = "mutation($input: WeChatAccountInput!) { saveWeChatAccount(input: $input) { id appId linkBase state lastError } }";
    app.admin().ask(save, json!({ "input": input })).await["saveWeChatAccount"].take()
}

/// Returns fields of the tenant's account.
async fn look_at(app: &TestApp, fields: &str) -> Value {
    app.admin().ask(&format!("{{ weChatAccount {{ {fields} }} }}"), json!({})).await["weChatAccount"].take()
}

/// Gives each user an open id made of their user id.
async fn follow(app: &TestApp, users: &[&str]) {
    let of = |user: &&str| json!({ "id": user, "contacts": [{ "wechatOpenId": format!("o-{user}") }] });
    let save = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }";
    app.service().ask(save, json!({ "inputs": users.iter().map(of).collect::<Vec<_>>() })).await;
}

/// A delivery rule that sends unread items at once, with their title in the field `thing1`.
fn rule() -> Value {
    let wechat = json!({ "templateId": "T-1", "fields": [{ "name": "thing1", "value": "{{ title }}" }] });
    json!({ "channel": "WECHAT", "delaySeconds": 0, "wechat": wechat })
}

/// A WeChat server, a node that uses it, an account, the type `news`, and users who follow the account.
async fn furnished(app: &TestApp, users: &[&str]) -> (Server, TestApp) {
    let server = Server::start().await;
    let node = node(app, &server).await;
    save(&node, json!({ "linkBase": "https://shop.example/app/" })).await;
    node.admin().define(json!({ "code": "news", "title": "News", "delivery": [rule()] })).await;
    follow(&node, users).await;
    (server, node)
}

/// Returns deliveries with all their fields, newest first.
async fn deliveries(app: &TestApp, filter: Value) -> Vec<Value> {
    let fields = "id channel state attemptCount lastStatus lastError endpointId event dueAt user { id }";
    webhook::deliveries(app, filter, fields).await
}
