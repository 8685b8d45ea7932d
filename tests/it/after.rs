//! A notification after it was sent: schedule, amendments, statistics, erasure and sweep.

mod amend;
mod expire;
mod privacy;
mod schedule;
mod stats;
mod sweep;

use serde_json::{Value, json};

use crate::support::Actor;

/// The fields that an operator requests of a notification.
const FIELDS: &str = "{ id status title body publishAt publishedAt updatedAt expiresAt retractedAt audience { everyone userCount } \
    stats { audienceSize deliveredCount readCount } }";

/// Sends an announcement with additional input fields and returns the notification.
pub async fn announce(operator: &Actor<'_>, input: Value) -> Value {
    let query = format!(
        "mutation($input: SendAnnouncementInput!) {{ sendAnnouncement(input: $input) {{ notification {FIELDS} }} }}"
    );
    let mut whole = json!({ "type": "news", "audience": { "everyone": true }, "content": { "title": "hello" } });
    for (name, value) in input.as_object().unwrap() {
        whole[name] = value.clone();
    }
    operator.ask(&query, json!({ "input": whole })).await["sendAnnouncement"]["notification"].take()
}

pub async fn update(operator: &Actor<'_>, id: &Value, input: Value) -> Value {
    let query = format!(
        "mutation($id: ID!, $input: NotificationPatch!) {{ updateSentNotification(id: $id, input: $input) {FIELDS} }}"
    );
    operator.ask(&query, json!({ "id": id, "input": input })).await["updateSentNotification"].take()
}

pub async fn retract(operator: &Actor<'_>, id: &Value) -> Value {
    let query = format!("mutation($id: ID!) {{ retractSentNotification(id: $id) {FIELDS} }}");
    operator.ask(&query, json!({ "id": id })).await["retractSentNotification"].take()
}

pub async fn look_at(operator: &Actor<'_>, id: &Value) -> Value {
    let query = format!("query($id: ID!) {{ sentNotification(id: $id) {FIELDS} }}");
    operator.ask(&query, json!({ "id": id })).await["sentNotification"].take()
}

/// Returns the titles of the sent notifications that match a filter.
async fn sent(operator: &Actor<'_>, filter: Value) -> Vec<String> {
    let query =
        "query($filter: NotificationFilter) { sentNotifications(filter: $filter, first: 50) { nodes { title } } }";
    let data = operator.ask(query, json!({ "filter": filter })).await;
    let nodes = data["sentNotifications"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["title"].as_str().unwrap().to_owned()).collect()
}
