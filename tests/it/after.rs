//! What becomes of a notification after it was sent.

mod amend;
mod expire;
mod privacy;
mod schedule;
mod stats;
mod sweep;

use serde_json::{Value, json};

use crate::support::Actor;

/// What an operator asks of a notification.
const FIELDS: &str = "{ id status title body publishAt publishedAt updatedAt expiresAt retractedAt audience { everyone userCount } \
    stats { audienceSize deliveredCount readCount } }";

/// Sends an announcement with more than the usual and returns the notification.
pub async fn announce(operator: &Actor<'_>, input: Value) -> Value {
    let query = format!(
        "mutation($input: AnnouncementInput!) {{ sendAnnouncement(input: $input) {{ notification {FIELDS} }} }}"
    );
    let mut whole = json!({ "type": "news", "audience": { "everyone": true }, "content": { "title": "hello" } });
    for (name, value) in input.as_object().unwrap() {
        whole[name] = value.clone();
    }
    operator.ask(&query, json!({ "input": whole })).await["sendAnnouncement"]["notification"].take()
}

pub async fn update(operator: &Actor<'_>, id: &Value, input: Value) -> Value {
    let query = format!(
        "mutation($id: ID!, $input: NotificationPatch!) {{ updateNotification(id: $id, input: $input) {FIELDS} }}"
    );
    operator.ask(&query, json!({ "id": id, "input": input })).await["updateNotification"].take()
}

async fn retract(operator: &Actor<'_>, id: &Value) -> Value {
    let query = format!("mutation($id: ID!) {{ retractNotification(id: $id) {FIELDS} }}");
    operator.ask(&query, json!({ "id": id })).await["retractNotification"].take()
}

async fn look_at(operator: &Actor<'_>, id: &Value) -> Value {
    let query = format!("query($id: ID!) {{ notification(id: $id) {FIELDS} }}");
    operator.ask(&query, json!({ "id": id })).await["notification"].take()
}

/// The titles of what was sent, by a filter.
async fn sent(operator: &Actor<'_>, filter: Value) -> Vec<String> {
    let query = "query($filter: NotificationFilter) { notifications(filter: $filter, first: 50) { nodes { title } } }";
    let data = operator.ask(query, json!({ "filter": filter })).await;
    let nodes = data["notifications"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["title"].as_str().unwrap().to_owned()).collect()
}
