//! A tenant with endpoints.

use auth::CallerRole;
use serde_json::{Value, json};

use crate::Result;
use crate::load::Ask;
use crate::server::{Server, token};

/// Messages per call.
const TOGETHER: usize = 100;

/// Number of recipients.
const USERS: usize = 100;

const TYPE: &str = "mutation($i: MessageTypeInput!) { saveMessageType(input: $i) { code } }";
const CREATE: &str =
    "mutation($i: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $i) { endpoint { id } } }";
const SEND: &str = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { notification { id } } }";
const MANY: &str = "mutation($i: [SendNotificationInput!]!) { sendNotifications(inputs: $i) { replayed } }";

#[derive(Clone, Copy)]
pub struct Tenant {
    pub code: &'static str,
}

/// An operation on an endpoint.
#[derive(Clone, Copy)]
pub enum Act {
    Pause,
    Resume,
}

impl Tenant {
    pub async fn make(server: &Server, code: &'static str) -> Result<Self> {
        let tenant = Self { code };
        server.data(&tenant.admin(), TYPE, json!({ "i": { "code": "news", "title": "News" } })).await?;
        Ok(tenant)
    }

    fn admin(self) -> String {
        token(self.code, "admin", CallerRole::Admin)
    }

    /// Creates an endpoint that receives published notifications; returns its id.
    pub async fn endpoint(self, server: &Server, url: &str) -> Result<String> {
        let input = json!({ "url": url, "events": ["NOTIFICATION_PUBLISHED"] });
        let data = server.data(&self.admin(), CREATE, json!({ "i": input })).await?;
        text(&data["createWebhookEndpoint"]["endpoint"]["id"])
    }

    pub async fn act(self, server: &Server, act: Act, endpoint: &str) -> Result<()> {
        let name = match act {
            Act::Pause => "pauseWebhookEndpoint",
            Act::Resume => "resumeWebhookEndpoint",
        };
        let query = format!("mutation($id: ID!) {{ {name}(id: $id) {{ id }} }}");
        server.data(&self.admin(), &query, json!({ "id": endpoint })).await.map(drop)
    }

    /// Sends a message; returns its id.
    pub async fn send(self, server: &Server) -> Result<String> {
        let data = server.data(&self.admin(), SEND, json!({ "i": message(0) })).await?;
        text(&data["sendMessage"]["notification"]["id"])
    }

    pub async fn send_many(self, server: &Server, many: usize) -> Result<()> {
        for first in (0..many).step_by(TOGETHER) {
            let inputs: Vec<Value> = (first..first + TOGETHER).map(|n| json!({ "message": message(n) })).collect();
            server.data(&self.admin(), MANY, json!({ "i": inputs })).await?;
        }
        Ok(())
    }

    /// Requests that send messages to the users in turn.
    pub fn asks(self) -> Vec<Ask> {
        let body = |n| json!({ "query": SEND, "variables": { "i": message(n) } });
        (0..USERS).map(|n| Ask::graphql(&self.admin(), &body(n))).collect()
    }
}

fn message(n: usize) -> Value {
    let content = json!({ "title": "What has changed, and why it matters to you", "link": "/news" });
    json!({ "type": "news", "receiver": format!("u{}", n % USERS), "content": content })
}

fn text(id: &Value) -> Result<String> {
    Ok(id.as_str().ok_or("there is no id")?.to_owned())
}
