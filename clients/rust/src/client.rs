//! The operations, carried to a server.

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

/// Notifications that a server takes in one request.
pub(crate) const CHUNK_LENGTH: usize = 1_000;

/// Bytes of notifications in one request, of the 2 MiB that a server takes of a service.
pub(crate) const CHUNK_BYTES: usize = 1_500_000;

/// Before the second try; twice as long before each further one, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A client of one server, for a backend. Copies share their connections.
///
/// What may go well another time (the server is away, busy or starts, or the rate is used up) is tried again, after as long as
/// the server says (`Retry-After`), within a minute since the call. What is sent without an idempotency key is given one, in
/// its input: so neither another try nor another call with the same input sends it twice.
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
    /// A client of the server whose `/graphql` is at `url`. It fails with `BadUserInput` where that is no http(s) URL.
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

    /// For how long since a call it is tried again, a minute unless this says otherwise; zero: once.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// How long one try may take, 30 seconds unless this says otherwise.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sends to everyone, to groups or to named users.
    pub async fn send_announcement(&self, input: &mut SendAnnouncementInput) -> Result<SendPayload, Error> {
        give_key(&mut input.idempotency_key);
        self.ask(operations::SEND_ANNOUNCEMENT, Input { input }).await
    }

    /// Sends to the subscribers of a target's action, users and groups, and to the sender's followers.
    pub async fn send_reminder(&self, input: &mut SendReminderInput) -> Result<SendPayload, Error> {
        give_key(&mut input.idempotency_key);
        self.ask(operations::SEND_REMINDER, Input { input }).await
    }

    /// Sends to one user.
    pub async fn send_message(&self, input: &mut SendMessageInput) -> Result<SendPayload, Error> {
        give_key(&mut input.idempotency_key);
        self.ask(operations::SEND_MESSAGE, Input { input }).await
    }

    /// Sends up to 1,000 in one transaction, all or none; says what came of each.
    pub async fn send_notifications(&self, inputs: &mut [SendNotificationInput]) -> Result<Vec<SendPayload>, Error> {
        for input in inputs.iter_mut() {
            give_key(input.key());
        }
        self.ask(operations::SEND_NOTIFICATIONS, Inputs { inputs }).await
    }

    /// Sends any number, in this order, by 1,000 in one transaction each; says what came of each.
    ///
    /// Where a thousand is refused, those before it are sent and those after it are not; `field` of the error counts from the
    /// first of all (`inputs[1700].message.type`). The same inputs may then be sent again: none goes out twice.
    pub async fn send_many(&self, inputs: &mut [SendNotificationInput]) -> Result<Vec<SendPayload>, Error> {
        let mut outcomes = Vec::with_capacity(inputs.len());
        for range in chunks(inputs) {
            let first = range.start;
            let chunk = self.send_notifications(&mut inputs[range]).await;
            outcomes.extend(chunk.map_err(|error| error.shifted(first))?);
        }
        Ok(outcomes)
    }

    /// Changes what is scheduled, or amends what is published. `Conflict` where it is retracted or has expired.
    pub async fn update_sent_notification(
        &self,
        id: &str,
        input: &NotificationPatch,
    ) -> Result<SentNotification, Error> {
        self.ask(operations::UPDATE_SENT_NOTIFICATION, json!({ "id": id, "input": input })).await
    }

    /// Takes it out of every inbox; what is scheduled is not published. Retracting twice is the same as once.
    pub async fn retract_sent_notification(&self, id: &str) -> Result<SentNotification, Error> {
        self.ask(operations::RETRACT_SENT_NOTIFICATION, json!({ "id": id })).await
    }

    /// Saves up to 1,000 profiles, all or none; answers with them in this order.
    pub async fn save_user_profiles(&self, inputs: &[UserProfileInput]) -> Result<Vec<User>, Error> {
        self.ask(operations::SAVE_USER_PROFILES, Inputs { inputs }).await
    }

    /// Makes a group, or gives it another title.
    pub async fn save_user_group(&self, code: &str, title: Option<&str>) -> Result<UserGroup, Error> {
        self.ask(operations::SAVE_USER_GROUP, json!({ "code": code, "title": title })).await
    }

    /// Adds users, 10,000 at the most, to a group, whose notifications they hear from now on.
    pub async fn add_user_group_members(&self, code: &str, users: &[String]) -> Result<UserGroup, Error> {
        self.ask(operations::ADD_USER_GROUP_MEMBERS, json!({ "code": code, "users": users })).await
    }

    /// Removes users, 10,000 at the most, from a group; what was sent before is theirs.
    pub async fn remove_user_group_members(&self, code: &str, users: &[String]) -> Result<UserGroup, Error> {
        self.ask(operations::REMOVE_USER_GROUP_MEMBERS, json!({ "code": code, "users": users })).await
    }

    /// Makes a message type, or changes all of it. Only with a token of the role `admin`.
    pub async fn save_message_type(&self, input: &MessageTypeInput) -> Result<MessageType, Error> {
        self.ask(operations::SAVE_MESSAGE_TYPE, Input { input }).await
    }

    /// Subscribes a user or a group to actions on a target, from now on.
    pub async fn subscribe_topic(&self, input: &SubscribeTopicInput) -> Result<SubscribeTopicPayload, Error> {
        self.ask(operations::SUBSCRIBE_TOPIC, Input { input }).await
    }

    /// Marks items of a user read.
    pub async fn mark_read(&self, user: &str, select: &InboxItemSelector) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::MARK_READ, json!({ "user": user, "select": select })).await
    }

    /// Marks items of a user unread.
    pub async fn mark_unread(&self, user: &str, select: &InboxItemSelector) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::MARK_UNREAD, json!({ "user": user, "select": select })).await
    }

    /// The user has looked at the inbox, or at one type of it.
    pub async fn mark_seen(&self, user: &str, message_type: Option<&str>) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::MARK_SEEN, json!({ "user": user, "type": message_type })).await
    }

    /// Takes items of a user out of the inbox proper.
    pub async fn archive_items(&self, user: &str, select: &InboxItemSelector) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::ARCHIVE_ITEMS, json!({ "user": user, "select": select })).await
    }

    /// Puts items of a user back into the inbox proper.
    pub async fn unarchive_items(&self, user: &str, select: &InboxItemSelector) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::UNARCHIVE_ITEMS, json!({ "user": user, "select": select })).await
    }

    /// Deletes items of a user for good; the archive is emptied by ids.
    pub async fn delete_items(&self, user: &str, select: &InboxItemSelector) -> Result<InboxItemsPayload, Error> {
        self.ask(operations::DELETE_ITEMS, json!({ "user": user, "select": select })).await
    }

    /// Unread counts and latest items of a user, who is `None` where the tenant has never heard of them. Counts stop at `cap`,
    /// and are exact without; of the types with these codes, and of all without.
    pub async fn inbox_user_overview(
        &self,
        id: &str,
        cap: Option<i32>,
        types: Option<&[String]>,
    ) -> Result<Option<InboxOverview>, Error> {
        let variables = json!({ "id": id, "cap": cap, "types": types });
        Ok(self.ask(operations::INBOX_USER_OVERVIEW, variables).await?.map(|user| user.overview))
    }

    /// A page of a user's inbox, newest first, 20 items unless `first` (200 at the most) says otherwise; `after` is the
    /// `end_cursor` of the page before. `None` where the tenant has never heard of them.
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

    /// A page of what was sent or is scheduled, newest first, with its statistics; 20 unless `first` (200 at the most) says
    /// otherwise. `after` is the `end_cursor` of the page before.
    pub async fn sent_notifications(
        &self,
        first: Option<i32>,
        after: Option<&str>,
        filter: Option<&NotificationFilter>,
    ) -> Result<Page<SentNotification>, Error> {
        let variables = json!({ "first": first, "after": after, "filter": filter });
        self.ask(operations::SENT_NOTIFICATIONS, variables).await
    }

    /// Where your events go, oldest first. Only with a token of the role `admin`, as all of endpoints and the relay.
    pub async fn webhook_endpoints(&self) -> Result<Vec<WebhookEndpoint>, Error> {
        self.ask(operations::WEBHOOK_ENDPOINTS, json!({})).await
    }

    /// Makes an endpoint, which hears of what happens from now on. The secret is in this answer and in no other. Another try after an
    /// answer that was lost makes another endpoint.
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

    /// Gives an endpoint another secret, in this answer and in no other. The one before signs, too, for 24 hours: after an answer that was
    /// lost, another try makes that the one that nobody has seen.
    pub async fn rotate_webhook_secret(&self, id: &str) -> Result<WebhookEndpointSecret, Error> {
        self.ask(operations::ROTATE_WEBHOOK_SECRET, json!({ "id": id })).await
    }

    /// Sends an endpoint nothing for now.
    pub async fn pause_webhook_endpoint(&self, id: &str) -> Result<WebhookEndpoint, Error> {
        self.ask(operations::PAUSE_WEBHOOK_ENDPOINT, json!({ "id": id })).await
    }

    /// Sends again what is due: to an endpoint that was paused or disabled, or rests since it has failed.
    pub async fn resume_webhook_endpoint(&self, id: &str) -> Result<WebhookEndpoint, Error> {
        self.ask(operations::RESUME_WEBHOOK_ENDPOINT, json!({ "id": id })).await
    }

    /// Deletes an endpoint with all that was to be sent, or was sent, to it.
    pub async fn delete_webhook_endpoint(&self, id: &str) -> Result<DeletePayload, Error> {
        self.ask(operations::DELETE_WEBHOOK_ENDPOINT, json!({ "id": id })).await
    }

    /// Sends `test.ping` to an endpoint now, once, and answers with what came of it.
    pub async fn test_webhook_endpoint(&self, id: &str) -> Result<OutboundDelivery, Error> {
        self.ask(operations::TEST_WEBHOOK_ENDPOINT, json!({ "id": id })).await
    }

    /// The relay of your mail; `None` where there is none, and no mail is sent.
    pub async fn mail_relay(&self) -> Result<Option<MailRelay>, Error> {
        self.ask(operations::MAIL_RELAY, json!({})).await
    }

    /// Makes the relay, or replaces all of its settings.
    pub async fn save_mail_relay(&self, input: &MailRelayInput) -> Result<MailRelay, Error> {
        self.ask(operations::SAVE_MAIL_RELAY, Input { input }).await
    }

    /// Lets the relay send, or not.
    pub async fn switch_mail_relay(&self, to: MailRelaySwitch) -> Result<MailRelay, Error> {
        self.ask(operations::SWITCH_MAIL_RELAY, json!({ "to": to })).await
    }

    /// Deletes the relay with all that was to be sent, or was sent, by it.
    pub async fn delete_mail_relay(&self) -> Result<DeletePayload, Error> {
        self.ask(operations::DELETE_MAIL_RELAY, json!({})).await
    }

    /// A page of what was sent to the outside, is to be sent or was given up, newest first; 20 unless `first` (200 at the most) says
    /// otherwise. `after` is the `end_cursor` of the page before.
    pub async fn outbound_deliveries(
        &self,
        first: Option<i32>,
        after: Option<&str>,
        filter: Option<&OutboundDeliveryFilter>,
    ) -> Result<Page<OutboundDelivery>, Error> {
        let variables = json!({ "first": first, "after": after, "filter": filter });
        self.ask(operations::OUTBOUND_DELIVERIES, variables).await
    }

    /// Sends again what was given up or, where its id is named, delivered.
    pub async fn replay_outbound_deliveries(
        &self,
        select: &OutboundDeliverySelector,
    ) -> Result<ReplayOutboundDeliveriesPayload, Error> {
        self.ask(operations::REPLAY_OUTBOUND_DELIVERIES, json!({ "select": select })).await
    }

    /// Carries out an operation, several times where that may help.
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
            // Not all at the same time, those who wait for the same server.
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

/// Gives what has no idempotency key one that nothing else has.
pub(crate) fn give_key(key: &mut Option<String>) {
    key.get_or_insert_with(|| {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has random numbers");
        format!("{:032x}", u128::from_ne_bytes(bytes))
    });
}

/// From 0 to 1.
fn chance() -> f64 {
    f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX)
}

/// How many bytes of a request it takes.
pub(crate) fn size(input: &SendNotificationInput) -> usize {
    serde_json::to_vec(input).map_or(0, |json| json.len())
}

/// As many at a time as fit into one request.
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
