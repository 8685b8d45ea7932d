//! A token holder that calls the API over HTTP as a client does.

use std::time::{Duration, Instant};

use auth::{CallerRole, TokenClaims, sign_claims};
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;
use tower::ServiceExt;

use super::{PATIENCE, SECRET, TestApp};

/// A caller with a token.
pub struct Actor<'a> {
    pub app: &'a TestApp,
    pub token: String,
    /// The caller's tenant if the caller is a user; `None` for a backend or an operator.
    user_of: Option<String>,
}

/// The audience of all users.
pub fn everyone() -> Value {
    json!({ "everyone": true })
}

impl<'a> Actor<'a> {
    /// Creates a caller with a token that is valid for ten years.
    pub fn new(app: &'a TestApp, tenant: &str, sub: &str, role: CallerRole) -> Self {
        let exp = app.now().timestamp() + 10 * 365 * 24 * 60 * 60;
        let claims = TokenClaims { tenant: tenant.into(), sub: sub.into(), role, exp, scope: None };
        let user_of = (role == CallerRole::User).then(|| tenant.to_owned());
        Self { app, token: sign_claims(SECRET, &claims).expect("a token can be signed"), user_of }
    }

    /// Returns the status and the whole response of a request. If the caller is a user, first opens to users the target
    /// types that the request subscribes to, and following.
    pub async fn send(&self, query: &str, variables: Value) -> (StatusCode, Value) {
        if let Some(tenant) = &self.user_of {
            self.app.open_to_users(tenant, query, &variables).await;
        }
        self.send_as_is(query, variables).await
    }

    /// Like [`Self::send`], but opens nothing: users may do only what their tenant permits.
    pub async fn send_as_is(&self, query: &str, variables: Value) -> (StatusCode, Value) {
        let request = Request::post("/graphql")
            .header("content-type", "application/json")
            .header("accept", "application/graphql-response+json")
            .header("authorization", format!("Bearer {}", self.token))
            .body(Body::from(json!({ "query": query, "variables": variables }).to_string()))
            .expect("it is a request");
        let response = self.app.routes.clone().oneshot(request).await.expect("routes never fail");
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.expect("the body arrives");
        (status, serde_json::from_slice(&body).expect("the body is JSON"))
    }

    /// Returns the data of a request that must succeed.
    pub async fn ask(&self, query: &str, variables: Value) -> Value {
        let (_, mut answer) = self.send(query, variables).await;
        assert!(answer["errors"].is_null(), "{query}\n{answer:#}");
        answer["data"].take()
    }

    /// Like [`Self::ask`], but retries on `UNAVAILABLE`: many parallel requests can exhaust the database on a slow
    /// machine.
    pub async fn ask_in_time(&self, query: &str, variables: Value) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let (_, mut answer) = self.send(query, variables.clone()).await;
            if answer["errors"][0]["extensions"]["code"] != "UNAVAILABLE" || Instant::now() > until {
                assert!(answer["errors"].is_null(), "{query}\n{answer:#}");
                return answer["data"].take();
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Returns the code and message of the first error, without opening anything to users first.
    pub async fn refused_as_is(&self, query: &str, variables: Value) -> String {
        let (_, answer) = self.send_as_is(query, variables).await;
        let error = &answer["errors"][0];
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned();
        format!("{}: {}", text(&error["extensions"]["code"]), text(&error["message"]))
    }

    /// Returns the first error of a request that must fail, as `CODE field: message`. Strips the field name from the
    /// start of the message.
    pub async fn refused(&self, query: &str, variables: Value) -> String {
        let (_, answer) = self.send(query, variables).await;
        let error = &answer["errors"][0];
        assert!(error.is_object(), "{query}\n{answer:#}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (code, field) = (text(&error["extensions"]["code"]), text(&error["extensions"]["field"]));
        let message = text(&error["message"]);
        let said = message.strip_prefix(&format!("`{field}` ")).unwrap_or(&message);
        let names_its_subject = field.is_empty() || code != "BAD_USER_INPUT" || said != message;
        assert!(names_its_subject, "{query}\n{answer:#}");
        format!("{code} {field}: {said}")
    }

    /// Creates a plain message type that users may also send.
    pub async fn define_type(&self, code: &str) {
        self.define(json!({ "code": code, "title": code, "usersMaySend": true })).await;
    }

    /// Creates a message type.
    pub async fn define(&self, input: Value) {
        let query = "mutation($input: MessageTypeInput!) { saveMessageType(input: $input) { code } }";
        self.ask(query, json!({ "input": input })).await;
    }

    /// Sends an announcement to an audience and returns the notification's id.
    pub async fn announce(&self, message_type: &str, audience: Value, title: &str) -> String {
        let input = json!({ "type": message_type, "audience": audience, "content": { "title": title } });
        let query =
            "mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { notification { id } } }";
        let data = self.ask(query, json!({ "input": input })).await;
        data["sendAnnouncement"]["notification"]["id"].as_str().expect("it has an id").to_owned()
    }

    /// Sends a message to one user.
    pub async fn message(&self, message_type: &str, receiver: &str, title: &str) {
        let input = json!({ "type": message_type, "receiver": receiver, "content": { "title": title } });
        let query = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { replayed } }";
        self.ask(query, json!({ "input": input })).await;
    }

    /// Sends a reminder about an action by `sender` to the subscribers of the document `target`.
    pub async fn remind(&self, message_type: &str, target: &str, action: &str, sender: Option<&str>, title: &str) {
        let target = json!({ "type": "doc", "externalId": target });
        let content = json!({ "title": title });
        let input =
            json!({ "type": message_type, "target": target, "action": action, "sender": sender, "content": content });
        let query = "mutation($input: SendReminderInput!) { sendReminder(input: $input) { replayed } }";
        self.ask(query, json!({ "input": input })).await;
    }

    /// Subscribes to actions on the document `target` and returns the number of new subscriptions.
    pub async fn subscribe(&self, target: &str, actions: &[&str]) -> i64 {
        let input = json!({ "target": { "type": "doc", "externalId": target }, "what": { "actions": actions } });
        let query = "mutation($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount } }";
        self.ask(query, json!({ "input": input })).await["subscribeTopic"]["createdCount"]
            .as_i64()
            .expect("it is a count")
    }

    /// Returns the overview as one `type: unread (latest)` line per type, then the total unread count.
    pub async fn overview(&self) -> Vec<String> {
        let query = "{ viewer { overview { unread { count exact } \
            types { type { code } unread { count } latest { title } } } } }";
        let data = self.ask(query, json!({})).await;
        let overview = &data["viewer"]["overview"];
        let types = overview["types"].as_array().expect("it is a list").iter().map(|of| {
            let latest = of["latest"]["title"].as_str().unwrap_or("-");
            format!("{}: {} ({latest})", of["type"]["code"].as_str().unwrap_or_default(), of["unread"]["count"])
        });
        types.chain([format!("= {}", overview["unread"]["count"])]).collect()
    }

    /// Returns the titles of a filtered list, newest first, from all of its pages.
    pub async fn titles(&self, filter: Value) -> Vec<String> {
        self.items(filter).await.iter().map(|item| item["title"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Returns the items of a filtered list, newest first, from all of its pages.
    pub async fn items(&self, filter: Value) -> Vec<Value> {
        let query = "query($filter: InboxFilter, $after: String) { viewer { inbox(filter: $filter, first: 50, after: $after) { \
            nodes { id notificationId title isRead readAt isArchived createdAt type { code } sender { id name } } \
            pageInfo { hasNextPage endCursor } } } }";
        let (mut items, mut after) = (Vec::new(), Value::Null);
        loop {
            let data = self.ask(query, json!({ "filter": filter, "after": after })).await;
            let page = &data["viewer"]["inbox"];
            items.extend(page["nodes"].as_array().expect("it is a list").iter().cloned());
            if page["pageInfo"]["hasNextPage"] != json!(true) {
                return items;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
    }

    /// Marks items (`markRead`, `archiveItems`, …); returns how many changed.
    pub async fn mark(&self, how: &str, select: Value) -> i64 {
        let query = format!("mutation($select: InboxItemSelector!) {{ {how}(select: $select) {{ changedCount }} }}");
        self.ask(&query, json!({ "select": select })).await[how]["changedCount"].as_i64().expect("it is a count")
    }
}
