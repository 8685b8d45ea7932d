//! The client and its operations.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use reqwest::{Url, header, redirect};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::error::{Error, Told};
use crate::input::{
    CreateWebhookEndpointInput, InboxFilter, InboxItemSelector, MailRelayInput, MailRelaySwitch, MessageTypeInput,
    NotificationFilter, NotificationPatch, OutboundDeliveryFilter, OutboundDeliverySelector, SendAnnouncementInput,
    SendMessageInput, SendNotificationInput, SendReminderInput, SubscribeTopicInput, UpdateWebhookEndpointInput,
    UserProfileInput,
};
use crate::operations::{self, Operation};
use crate::output::{
    DeletePayload, ErrorCode, InboxItem, InboxItemsPayload, InboxOverview, MailRelay, MessageType, OutboundDelivery,
    Page, ReplayOutboundDeliveriesPayload, SendPayload, SentNotification, SubscribeTopicPayload, User, UserGroup,
    WebhookEndpoint, WebhookEndpointSecret,
};
use crate::token::Token;

/// Maximum notifications that a server accepts in one request.
pub(crate) const CHUNK_LENGTH: usize = 1_000;

/// Maximum bytes of notifications in one request; a server accepts 2 MiB from a service.
pub(crate) const CHUNK_BYTES: usize = 1_500_000;

/// Pause before the second attempt; it doubles before each further one, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A client of one server, for backends. Clones share their connections.
///
/// The client retries temporary failures (the server is down, busy or starting, or the rate limit is reached) for up to
/// a minute after the call, and waits as long as `Retry-After` says. It writes an idempotency key into an input that
/// has none, so neither a retry nor another call with the same input sends a notification twice.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    url: Url,
    token: Token,
    patience: Duration,
    timeout: Duration,
}

#[derive(Serialize)]
struct Request<'a, Variables> {
    query: &'a str,
    #[serde(rename = "operationName")]
    name: &'a str,
    variables: Variables,
}

#[derive(Deserialize)]
struct Answer<Data> {
    /// By the name of the root field.
    data: Option<BTreeMap<String, Data>>,
    #[serde(default)]
    errors: Vec<Told>,
}

#[derive(Serialize)]
struct Input<'a, T> {
    input: &'a T,
}

#[derive(Serialize)]
struct Inputs<'a, T> {
    inputs: &'a [T],
}

impl Client {
    /// A client of the server with its `/graphql` at `url`. Fails with `BadUserInput` if `url` is not an http(s) URL.
    pub fn new(url: &str, token: Token) -> Result<Self, Error> {
        let wrong = |why: String| Error::new(ErrorCode::BadUserInput, why);
        let url = Url::parse(url).map_err(|error| wrong(format!("not a URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(format!("not an http(s) URL: {url}")));
        }
        let http = reqwest::Client::builder().redirect(redirect::Policy::none()).build();
        let http = http.map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))?;
        Ok(Self { http, url, token, patience: Duration::from_mins(1), timeout: Duration::from_secs(30) })
    }

    /// How long after a call the client retries, by default a minute. Zero disables retries.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Time limit of one attempt, by default 30 seconds.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sends to everyone, to groups or to named users.
    pub async fn send_announcement(&self, input: &mut SendAnnouncementInput) -> Result<SendPayload, Error> {
        give_key(&mut input.idempotency_key);
        self.ask(operations::SEND_ANNOUNCEMENT, Input { input }).await
    }

    /// Sends to the users and groups subscribed to a target's action, and to the sender's followers.
    pub async fn send_reminder(&self, input: &mut SendReminderInput) -> Result<SendPayload, Error> {
        give_key(&mut input.idempotency_key);
        self.ask(operations::SEND_REMINDER, Input { input }).await
    }

    /// Sends to one user.
    pub async fn send_message(&self, input: &mut SendMessageInput) -> Result<SendPayload, Error> {
        give_key(&mut input.idempotency_key);
        self.ask(operations::SEND_MESSAGE, Input { input }).await
    }

    /// Sends up to 1,000 in one transaction: all or none. Returns the result of each.
    pub async fn send_notifications(&self, inputs: &mut [SendNotificationInput]) -> Result<Vec<SendPayload>, Error> {
        for input in inputs.iter_mut() {
            give_key(input.key());
        }
        self.ask(operations::SEND_NOTIFICATIONS, Inputs { inputs }).await
    }

    /// Sends any number in this order, 1,000 per transaction. Returns the result of each.
    ///
    /// If a batch is rejected, the batches before it are sent and those after it are not. `field` of the error counts
    /// from the first of all inputs (`inputs[1700].message.type`). The same inputs can be sent again: none is sent
    /// twice.
    pub async fn send_many(&self, inputs: &mut [SendNotificationInput]) -> Result<Vec<SendPayload>, Error> {
        let mut outcomes = Vec::with_capacity(inputs.len());
        for range in chunks(inputs) {
            let first = range.start;
            let chunk = self.send_notifications(&mut inputs[range]).await;
            outcomes.extend(chunk.map_err(|error| error.shifted(first))?);
        }
        Ok(outcomes)
    }

    /// Changes a scheduled notification, or amends a published one. `Conflict` if it was retracted or has expired.
    pub async fn update_sent_notification(
        &self,
        id: &str,
        input: &NotificationPatch,
    ) -> Result<SentNotification, Error> {
        self.ask(operations::UPDATE_SENT_NOTIFICATION, json!({ "id": id, "input": input })).await
    }

    /// Removes it from every inbox; a scheduled one is not published. Safe to repeat.
    pub async fn retract_sent_notification(&self, id: &str) -> Result<SentNotification, Error> {
        self.ask(operations::RETRACT_SENT_NOTIFICATION, json!({ "id": id })).await
    }

    /// Saves up to 1,000 profiles: all or none. Returns them in this order.
    pub async fn save_user_profiles(&self, inputs: &[UserProfileInput]) -> Result<Vec<User>, Error> {
        self.ask(operations::SAVE_USER_PROFILES, Inputs { inputs }).await
    }

    /// Creates a group or changes its title.
    pub async fn save_user_group(&self, code: &str, title: Option<&str>) -> Result<UserGroup, Error> {
        self.ask(operations::SAVE_USER_GROUP, json!({ "code": code, "title": title })).await
    }

    /// Adds up to 10,000 users to a group; they receive its notifications from now on.
    pub async fn add_user_group_members(&self, code: &str, users: &[String]) -> Result<UserGroup, Error> {
        self.ask(operations::ADD_USER_GROUP_MEMBERS, json!({ "code": code, "users": users })).await
    }

    /// Removes up to 10,000 users from a group; they keep earlier notifications.
    pub async fn remove_user_group_members(&self, code: &str, users: &[String]) -> Result<UserGroup, Error> {
        self.ask(operations::REMOVE_USER_GROUP_MEMBERS, json!({ "code": code, "users": users })).await
    }

    /// Creates a message type, or replaces all of its settings. Requires the role `admin`.
    pub async fn save_message_type(&self, input: &MessageTypeInput) -> Result<MessageType, Error> {
        self.ask(operations::SAVE_MESSAGE_TYPE, Input { input }).await
    }

    /// Subscribes a user or a group to actions on a target, from now on.
    pub async fn subscribe_topic(&self, input: &SubscribeTopicInput) -> Result<SubscribeTopicPayload, Error> {
        self.ask(operations::SUBSCRIBE_TOPIC, Input { input }).await
    }

    /// Marks items of a user as read.
    pub async fn mark_read(&self, user: &str, select: &InboxItemSelector) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::MARK_READ, json!({ "user": user, "select": select })).await
    }

    /// Marks items of a user as unread.
    pub async fn mark_unread(&self, user: &str, select: &InboxItemSelector) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::MARK_UNREAD, json!({ "user": user, "select": select })).await
    }

    /// Marks a user's inbox, or one type of it, as seen.
    pub async fn mark_seen(&self, user: &str, message_type: Option<&str>) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::MARK_SEEN, json!({ "user": user, "type": message_type })).await
    }

    /// Archives items of a user.
    pub async fn archive_items(&self, user: &str, select: &InboxItemSelector) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::ARCHIVE_ITEMS, json!({ "user": user, "select": select })).await
    }

    /// Moves archived items of a user back to the inbox.
    pub async fn unarchive_items(&self, user: &str, select: &InboxItemSelector) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::UNARCHIVE_ITEMS, json!({ "user": user, "select": select })).await
    }

    /// Deletes items of a user permanently; archived ones can only be deleted by ids.
    pub async fn delete_items(&self, user: &str, select: &InboxItemSelector) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::DELETE_ITEMS, json!({ "user": user, "select": select })).await
    }

    /// Unread counts and latest items of a user, of the types with these codes or of all types. Counts stop at `cap`;
    /// without it they are exact. `None` if the tenant does not know the user.
    pub async fn inbox_user_overview(
        &self,
        id: &str,
        cap: Option<i32>,
        types: Option<&[String]>,
    ) -> Result<Option<InboxOverview>, Error> {
        let variables = json!({ "id": id, "cap": cap, "types": types });
        Ok(self.ask(operations::INBOX_USER_OVERVIEW, variables).await?.map(|user| user.overview))
    }

    /// A page of a user's inbox, newest first: 20 items, or `first` (at most 200). `after` is the `end_cursor` of the
    /// page before. `None` if the tenant does not know the user.
    pub async fn inbox_user_inbox(
        &self,
        id: &str,
        first: Option<i32>,
        after: Option<&str>,
        filter: Option<&InboxFilter>,
    ) -> Result<Option<Page<InboxItem>>, Error> {
        let variables = json!({ "id": id, "first": first, "after": after, "filter": filter });
        Ok(self.ask(operations::INBOX_USER_INBOX, variables).await?.map(|user| user.inbox))
    }

    /// A page of sent and scheduled notifications with statistics, newest first: 20, or `first` (at most 200). `after`
    /// is the `end_cursor` of the page before.
    pub async fn sent_notifications(
        &self,
        first: Option<i32>,
        after: Option<&str>,
        filter: Option<&NotificationFilter>,
    ) -> Result<Page<SentNotification>, Error> {
        let variables = json!({ "first": first, "after": after, "filter": filter });
        self.ask(operations::SENT_NOTIFICATIONS, variables).await
    }

    /// The webhook endpoints, oldest first. All operations on endpoints and the relay require the role `admin`.
    pub async fn webhook_endpoints(&self) -> Result<Vec<WebhookEndpoint>, Error> {
        self.ask(operations::WEBHOOK_ENDPOINTS, json!({})).await
    }

    /// Creates an endpoint, which receives events from now on. Only this response contains the secret. If the response
    /// is lost, a retry creates another endpoint.
    pub async fn create_webhook_endpoint(
        &self,
        input: &CreateWebhookEndpointInput,
    ) -> Result<WebhookEndpointSecret, Error> {
        self.ask(operations::CREATE_WEBHOOK_ENDPOINT, Input { input }).await
    }

    /// Changes an endpoint.
    pub async fn update_webhook_endpoint(
        &self,
        id: &str,
        input: &UpdateWebhookEndpointInput,
    ) -> Result<WebhookEndpoint, Error> {
        self.ask(operations::UPDATE_WEBHOOK_ENDPOINT, json!({ "id": id, "input": input })).await
    }

    /// Replaces the secret of an endpoint. Only this response contains the new one; the previous one also signs for 24
    /// hours. If the response is lost, a retry generates another secret, and the lost one becomes the previous one.
    pub async fn rotate_webhook_secret(&self, id: &str) -> Result<WebhookEndpointSecret, Error> {
        self.ask(operations::ROTATE_WEBHOOK_SECRET, json!({ "id": id })).await
    }

    /// Pauses an endpoint: nothing is sent to it.
    pub async fn pause_webhook_endpoint(&self, id: &str) -> Result<WebhookEndpoint, Error> {
        self.ask(operations::PAUSE_WEBHOOK_ENDPOINT, json!({ "id": id })).await
    }

    /// Resumes an endpoint that was paused or disabled, or that rests after failures, and sends what is due.
    pub async fn resume_webhook_endpoint(&self, id: &str) -> Result<WebhookEndpoint, Error> {
        self.ask(operations::RESUME_WEBHOOK_ENDPOINT, json!({ "id": id })).await
    }

    /// Deletes an endpoint with all its deliveries.
    pub async fn delete_webhook_endpoint(&self, id: &str) -> Result<DeletePayload, Error> {
        self.ask(operations::DELETE_WEBHOOK_ENDPOINT, json!({ "id": id })).await
    }

    /// Sends `test.ping` to an endpoint once, now, and returns the result.
    pub async fn test_webhook_endpoint(&self, id: &str) -> Result<OutboundDelivery, Error> {
        self.ask(operations::TEST_WEBHOOK_ENDPOINT, json!({ "id": id })).await
    }

    /// The mail relay; `None` if there is none, and then no email is sent.
    pub async fn mail_relay(&self) -> Result<Option<MailRelay>, Error> {
        self.ask(operations::MAIL_RELAY, json!({})).await
    }

    /// Creates the relay, or replaces all of its settings.
    pub async fn save_mail_relay(&self, input: &MailRelayInput) -> Result<MailRelay, Error> {
        self.ask(operations::SAVE_MAIL_RELAY, Input { input }).await
    }

    /// Turns the relay on or off.
    pub async fn switch_mail_relay(&self, to: MailRelaySwitch) -> Result<MailRelay, Error> {
        self.ask(operations::SWITCH_MAIL_RELAY, json!({ "to": to })).await
    }

    /// Deletes the relay with all its deliveries.
    pub async fn delete_mail_relay(&self) -> Result<DeletePayload, Error> {
        self.ask(operations::DELETE_MAIL_RELAY, json!({})).await
    }

    /// A page of pending, delivered and failed deliveries, newest first: 20, or `first` (at most 200). `after` is the
    /// `end_cursor` of the page before.
    pub async fn outbound_deliveries(
        &self,
        first: Option<i32>,
        after: Option<&str>,
        filter: Option<&OutboundDeliveryFilter>,
    ) -> Result<Page<OutboundDelivery>, Error> {
        let variables = json!({ "first": first, "after": after, "filter": filter });
        self.ask(operations::OUTBOUND_DELIVERIES, variables).await
    }

    /// Sends again deliveries that failed for good, or delivered ones if selected by id.
    pub async fn replay_outbound_deliveries(
        &self,
        select: &OutboundDeliverySelector,
    ) -> Result<ReplayOutboundDeliveriesPayload, Error> {
        self.ask(operations::REPLAY_OUTBOUND_DELIVERIES, json!({ "select": select })).await
    }

    /// Runs an operation, with retries.
    async fn ask<Data: DeserializeOwned>(
        &self,
        operation: Operation<Data>,
        variables: impl Serialize,
    ) -> Result<Data, Error> {
        let request = Request { query: operation.document, name: operation.name, variables };
        let body =
            serde_json::to_vec(&request).map_err(|error| Error::new(ErrorCode::BadUserInput, error.to_string()))?;
        let until = Instant::now() + self.patience;
        let mut pause = FIRST_PAUSE;
        loop {
            let tried = timeout(self.timeout, self.try_once(body.clone())).await;
            let error = match tried.unwrap_or_else(|_| Err(Error::new(ErrorCode::Unavailable, "no answer in time"))) {
                Ok(data) => return Ok(data),
                Err(error) => error,
            };
            // Random, so that clients of one server do not retry at the same time.
            let wait = pause.max(error.retry_after.unwrap_or_default()).mul_f64(1.0 + 0.2 * chance());
            if !error.is_passing() || Instant::now() + wait > until {
                return Err(error);
            }
            sleep(wait).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    async fn try_once<Data: DeserializeOwned>(&self, body: Vec<u8>) -> Result<Data, Error> {
        let request = self.http.post(self.url.clone()).bearer_auth(self.token.give().await?).body(body);
        let request = request
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/graphql-response+json, application/json");
        let answer = request.send().await.map_err(Error::unanswered)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = answer.bytes().await.map_err(Error::unanswered)?;
        let told: Option<Answer<Data>> = serde_json::from_slice(&body).ok();
        let (data, errors) = told.map_or((None, Vec::new()), |told| (told.data, told.errors));
        let error = errors.into_iter().next();
        match data.and_then(|data| data.into_values().next()) {
            Some(data) if error.is_none() => Ok(data),
            _ => Err(Error::of_answer(status, &headers, error)),
        }
    }
}

/// Generates a random idempotency key if there is none.
pub(crate) fn give_key(key: &mut Option<String>) {
    key.get_or_insert_with(|| {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has random numbers");
        format!("{:032x}", u128::from_ne_bytes(bytes))
    });
}

/// A random number from 0 to 1.
fn chance() -> f64 {
    f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX)
}

/// Bytes of an input in a request.
pub(crate) fn size(input: &SendNotificationInput) -> usize {
    serde_json::to_vec(input).map_or(0, |json| json.len())
}

/// Ranges of inputs that fit into one request each.
fn chunks(inputs: &[SendNotificationInput]) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, input) in inputs.iter().enumerate() {
        let more = size(input);
        if index > start && (index - start == CHUNK_LENGTH || bytes + more > CHUNK_BYTES) {
            chunks.push(start..index);
            (start, bytes) = (index, 0);
        }
        bytes += more;
    }
    if start < inputs.len() {
        chunks.push(start..inputs.len());
    }
    chunks
}
