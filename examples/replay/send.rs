//! Runs the mutations of the lanes.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::AddAssign;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Result;
use crate::activity::{Activity, Topic};
use crate::client::Client;
use crate::plan::{Lane, Stage};

/// The message type of all reminders.
pub const MESSAGE_TYPE: &str = "activity";

/// Maximum characters of a title.
const MAX_TITLE: usize = 256;

const SAVE_MESSAGE_TYPE: &str = "mutation SaveMessageType($input: MessageTypeInput!) {
  saveMessageType(input: $input) { code }
}";

/// Progress of the replay.
#[derive(Default)]
pub struct Tally {
    /// Subscriptions requested, and the new ones among them.
    pub subscribed: usize,
    pub created: usize,
    /// Reminders sent, and those among them that an earlier run had sent.
    pub sent: usize,
    pub replayed: usize,
    pub requests: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.subscribed += other.subscribed;
        self.created += other.created;
        self.sent += other.sent;
        self.replayed += other.replayed;
        self.requests += other.requests;
    }
}

/// The subscriptions, by the aliases that `document` gives them.
#[derive(Deserialize)]
struct Answer {
    sent: Vec<Sent>,
    #[serde(flatten)]
    subscribed: HashMap<String, Subscribed>,
}

#[derive(Deserialize)]
struct Sent {
    replayed: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subscribed {
    created_count: usize,
}

/// Creates the message type or leaves it as it is. Requires the role ADMIN.
pub async fn save_message_type(admin: &Client) -> Result<()> {
    let input = json!({ "code": MESSAGE_TYPE, "title": "Activity", "readPolicy": "MANUAL" });
    let _: Value = admin.call(SAVE_MESSAGE_TYPE, json!({ "input": input })).await?;
    Ok(())
}

/// Runs all lanes concurrently, until the last one ends.
pub async fn lanes(client: &Client, lanes: Vec<Lane<'_>>) -> Result<Tally> {
    let lane_count = lanes.len();
    stream::iter(lanes)
        .map(|stages| lane(client, stages))
        .buffer_unordered(lane_count)
        .try_fold(Tally::default(), async |mut tally, of_lane| {
            tally += of_lane;
            Ok(tally)
        })
        .await
}

async fn lane(client: &Client, stages: Lane<'_>) -> Result<Tally> {
    let mut tally = Tally::default();
    for stage in &stages {
        let answer: Answer = client.call(&document(stage), variables(stage)).await?;
        tally += Tally {
            subscribed: answer.subscribed.len(),
            created: answer.subscribed.values().map(|subscribed| subscribed.created_count).sum(),
            sent: answer.sent.len(),
            replayed: answer.sent.iter().filter(|sent| sent.replayed).count(),
            requests: 1,
        };
    }
    Ok(tally)
}

/// One document for the whole stage: GraphQL runs the fields of a mutation in sequence.
fn document(stage: &Stage<'_>) -> String {
    let mut parameters = String::from("$reminders: [SendNotificationInput!]!");
    let mut fields = String::new();
    for index in 0..stage.subscriptions.len() {
        write!(parameters, ", $s{index}: SubscribeTopicInput!").expect("a string can always grow");
        writeln!(fields, "  s{index}: subscribeTopic(input: $s{index}) {{ createdCount }}")
            .expect("a string can always grow");
    }
    format!(
        "mutation Replay({parameters}) {{\n{fields}  sent: sendNotifications(inputs: $reminders) {{ replayed }}\n}}"
    )
}

fn variables(stage: &Stage<'_>) -> Map<String, Value> {
    let reminders = stage.reminders.iter().map(|activity| json!({ "reminder": reminder(activity) })).collect();
    let subscriptions = stage.subscriptions.iter().enumerate();
    subscriptions
        .map(|(index, activity)| (format!("s{index}"), subscription(activity)))
        .chain([("reminders".to_owned(), reminders)])
        .collect()
}

fn subscription(Activity { actor, topic, .. }: &Activity) -> Value {
    json!({ "target": target(topic), "what": { "actions": [topic.action] }, "who": { "user": actor } })
}

fn reminder(activity: &Activity) -> Value {
    json!({
        "type": MESSAGE_TYPE,
        "target": target(&activity.topic),
        "action": activity.topic.action,
        "sender": activity.actor,
        "content": { "title": title(activity) },
        "idempotencyKey": format!("replay-{}", activity.line),
    })
}

fn target(topic: &Topic) -> Value {
    json!({ "type": topic.target_type, "externalId": topic.target_id })
}

/// For example "a1 changed folder src/foo".
fn title(Activity { actor, topic, .. }: &Activity) -> String {
    let Topic { action, target_type, target_id } = topic;
    let past = if action.ends_with('e') { "d" } else { "ed" };
    let title = format!("{actor} {action}{past} {target_type} {target_id}");
    title.chars().take(MAX_TITLE).collect()
}
