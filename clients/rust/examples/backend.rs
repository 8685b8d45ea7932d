//! A backend that uses the client. `tests/clients/backend.mjs` calls it once for each of its steps and reads its
//! output.
//!
//! Settings: `TIDINGS_URL` and `TIDINGS_SECRET`.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "it is a program")]

use std::collections::HashSet;
use std::env;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tidings_client::{
    Client, CreateWebhookEndpointInput, Error, ErrorCode, InboxFilter, InboxItemMatch, InboxItemSelector, InboxState,
    ListenerChoice, MailRelayInput, MailRelaySwitch, MessageTypeInput, NotificationAudienceInput,
    NotificationContentInput, NotificationField, NotificationFilter, NotificationPatch, NotificationStatus,
    OutboundDeadFilter, OutboundDeliverySelector, ReadPolicy, SendAnnouncementInput, SendMessageInput,
    SendReminderInput, Sender, SubscribeTopicInput, Token, TopicChoice, TopicTargetInput, UpdateWebhookEndpointInput,
    UserProfileInput, sign,
};
use tokio::task::JoinSet;

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is set"))
}

fn client(tenant: &str) -> Client {
    let token = Token::signed(variable("TIDINGS_SECRET"), tenant, "backend");
    Client::new(&variable("TIDINGS_URL"), token).expect("it is a URL")
}

fn admin() -> Client {
    let ask = || async {
        Ok::<_, Error>(sign(&variable("TIDINGS_SECRET"), "shop", "operator", "admin", Duration::from_mins(1)))
    };
    Client::new(&variable("TIDINGS_URL"), Token::from_fn(ask)).expect("it is a URL")
}

fn message(message_type: &str, title: &str, receiver: &str) -> SendMessageInput {
    SendMessageInput {
        message_type: message_type.into(),
        receiver: receiver.into(),
        content: NotificationContentInput::titled(title),
        ..SendMessageInput::default()
    }
}

/// The code and field of an error.
fn refusal<T: std::fmt::Debug>(outcome: Result<T, Error>) -> (ErrorCode, Option<String>) {
    let error = outcome.expect_err("it is refused");
    (error.code, error.field)
}

fn of_input(field: &str) -> (ErrorCode, Option<String>) {
    (ErrorCode::BadUserInput, Some(field.into()))
}

async fn saves(client: &Client) -> Result<(), Error> {
    let admin = admin();
    for code in ["news", "many"] {
        let input = MessageTypeInput { code: code.into(), title: code.into(), ..MessageTypeInput::default() };
        let made = admin.save_message_type(&input).await?;
        assert_eq!((made.code.as_str(), made.read_policy), (code, ReadPolicy::Manual));
    }
    let ada = UserProfileInput { id: "ada".into(), name: Some("Ada".into()), ..UserProfileInput::default() };
    let ben = UserProfileInput { id: "ben".into(), ..UserProfileInput::default() };
    let saved = client.save_user_profiles(&[ada, ben]).await?;
    assert_eq!((saved[0].name.as_deref(), &saved[1].name), (Some("Ada"), &None));
    assert_eq!(client.save_user_group("staff", Some("Staff")).await?.member_count, 0);
    assert_eq!(client.add_user_group_members("staff", &["ada".into(), "ben".into()]).await?.member_count, 2);
    assert_eq!(client.remove_user_group_members("staff", &["ben".into()]).await?.member_count, 1);
    let topic = SubscribeTopicInput {
        target: TopicTargetInput::new("doc", "7"),
        what: TopicChoice::Actions(vec!["comment".into()]),
        who: Some(ListenerChoice::User("ada".into())),
    };
    assert_eq!(client.subscribe_topic(&topic).await?.subscriptions[0].target.external_id, "7");
    Ok(())
}

async fn sends(client: &Client) -> Result<(), Error> {
    let mut news = SendAnnouncementInput {
        message_type: "news".into(),
        audience: NotificationAudienceInput::Groups(vec!["staff".into()]),
        content: NotificationContentInput::titled("Hello"),
        ..SendAnnouncementInput::default()
    };
    let sent = client.send_announcement(&mut news).await?;
    assert_eq!((sent.replayed, sent.notification.status), (false, NotificationStatus::Published));
    assert!(client.send_announcement(&mut news).await?.replayed);
    let content = NotificationContentInput {
        data: Some(json!({ "page": null })),
        ..NotificationContentInput::titled("A comment")
    };
    let mut reminder = SendReminderInput {
        message_type: "news".into(),
        target: TopicTargetInput::new("doc", "7"),
        action: "comment".into(),
        sender: Some("ben".into()),
        content,
        ..SendReminderInput::default()
    };
    client.send_reminder(&mut reminder).await?;
    let mut first = message("news", "Helo", "ada");
    let sent = client.send_message(&mut first).await?.notification;
    first.content.title = Some("Other".into());
    assert_eq!(refusal(client.send_message(&mut first).await), (ErrorCode::Conflict, None));
    let later = Some((SystemTime::now() + Duration::from_hours(24)).into());
    let mut later = SendMessageInput { publish_at: later, ..message("news", "Tomorrow", "ada") };
    let waits = client.send_message(&mut later).await?.notification;
    assert_eq!(waits.status, NotificationStatus::Scheduled);

    let patch = NotificationPatch {
        title: Some("Hello, Ada".into()),
        clear: Some(vec![NotificationField::Link]),
        ..NotificationPatch::default()
    };
    assert_eq!(client.update_sent_notification(&sent.id, &patch).await?.title, "Hello, Ada");
    assert!(client.retract_sent_notification(&waits.id).await?.retracted_at.is_some());
    assert_eq!(refusal(client.update_sent_notification(&waits.id, &patch).await), (ErrorCode::Conflict, None));

    let filter =
        NotificationFilter { statuses: Some(vec![NotificationStatus::Published]), ..NotificationFilter::default() };
    let page = client.sent_notifications(Some(2), None, Some(&filter)).await?;
    let titles: Vec<_> = page.nodes.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["Hello, Ada", "A comment"]);
    assert_eq!((page.nodes[1].stats.read_count, &page.nodes[1].data), (0, &Some(json!({ "page": null }))));
    let rest = client.sent_notifications(Some(2), page.page_info.end_cursor.as_deref(), Some(&filter)).await?;
    assert_eq!((rest.nodes.len(), rest.page_info.has_next_page), (1, false));
    Ok(())
}

async fn marks(client: &Client) -> Result<(), Error> {
    let overview = client.inbox_user_overview("ada", Some(99), None).await?.expect("they are known");
    assert_eq!((overview.unread.count, overview.unread.exact), (3, true));
    let news = client.inbox_user_overview("ada", None, Some(&["news".into()])).await?.expect("they are known");
    assert_eq!(news.types[0].latest.as_ref().expect("there is one").title, "Hello, Ada");
    let inbox = client.inbox_user_inbox("ada", Some(2), None, None).await?.expect("they are known");
    assert_eq!((inbox.nodes.len(), inbox.page_info.has_next_page), (2, true));
    let newest = InboxItemSelector::Ids(vec![inbox.nodes[0].id.clone()]);
    let everything = InboxItemSelector::Matching(InboxItemMatch::default());
    assert_eq!(client.mark_seen("ada", None).await?.changed_count, 0);
    assert_eq!(client.mark_read("ada", &newest).await?.changed_count, 1);
    assert_eq!(client.mark_unread("ada", &newest).await?.changed_count, 1);
    assert_eq!(client.mark_read("ada", &everything).await?.changed_count, 3);
    assert_eq!(client.archive_items("ada", &newest).await?.changed_count, 1);
    let filter = InboxFilter { state: Some(InboxState::Archived), ..InboxFilter::default() };
    let archive = client.inbox_user_inbox("ada", None, None, Some(&filter)).await?.expect("they are known");
    assert_eq!(archive.nodes[0].id, inbox.nodes[0].id);
    assert_eq!(client.unarchive_items("ada", &newest).await?.changed_count, 1);
    assert_eq!(client.delete_items("ada", &newest).await?.changed_count, 1);
    assert!(client.inbox_user_overview("nobody", None, None).await?.is_none());
    Ok(())
}

async fn errs(client: &Client) -> Result<(), Error> {
    let mut wrong: Vec<_> = (0..1800).map(|index| message("news", &index.to_string(), "ben").into()).collect();
    wrong[1700] = message("unknown", "1700", "ben").into();
    assert_eq!(refusal(client.send_many(&mut wrong).await), of_input("inputs[1700].message.type"));
    wrong[1700] = message("news", "1700", "ben").into();
    let replayed: Vec<_> = client.send_many(&mut wrong).await?.iter().map(|one| one.replayed).collect();
    assert_eq!(replayed, [vec![true; 1000], vec![false; 800]].concat());
    assert_eq!(refusal(client.send_message(&mut message("unknown", "x", "ada")).await), of_input("input.type"));
    assert_eq!(refusal(client.send_message(&mut message("news", "x", "")).await), of_input("input.receiver"));
    let forbidden = client.save_message_type(&MessageTypeInput::default()).await;
    assert_eq!(refusal(forbidden), (ErrorCode::Forbidden, None));
    // Large inputs: together more than a server accepts in one request.
    let body = Some("x".repeat(16_000));
    let large = |_| {
        let content = NotificationContentInput { body: body.clone(), ..NotificationContentInput::titled("x") };
        SendMessageInput { content, ..message("news", "x", "ben") }.into()
    };
    let mut large: Vec<_> = (0..200).map(large).collect();
    assert_eq!(client.send_many(&mut large).await?.len(), 200);
    Ok(())
}

async fn goes_out() -> Result<(), Error> {
    let admin = admin();
    let url = |path: &str| format!("https://hooks.invalid/{path}");
    let input = CreateWebhookEndpointInput { url: url("tidings"), ..CreateWebhookEndpointInput::default() };
    let made = admin.create_webhook_endpoint(&input).await?;
    let id = made.endpoint.id.as_str();
    let input = UpdateWebhookEndpointInput { url: Some(url("other")), ..UpdateWebhookEndpointInput::default() };
    assert_eq!(admin.update_webhook_endpoint(id, &input).await?.url, url("other"));
    assert_ne!(admin.rotate_webhook_secret(id).await?.secret, made.secret);
    let tried = admin.test_webhook_endpoint(id).await?;
    assert!(tried.last_error.is_some() && tried.endpoint_id.as_deref() == Some(id));
    assert_eq!(admin.webhook_endpoints().await?.len(), 1);
    assert_eq!(json!(admin.pause_webhook_endpoint(id).await?.state), "PAUSED");
    assert_eq!(json!(admin.resume_webhook_endpoint(id).await?.state), "ACTIVE");
    assert_eq!(admin.outbound_deliveries(Some(1), None, None).await?.nodes[0].id, tried.id);
    let again = OutboundDeadFilter { endpoint: id.to_owned(), since: None };
    let again = OutboundDeliverySelector::Dead(again);
    assert_eq!(admin.replay_outbound_deliveries(&again).await?.replayed_count, 0, "pings are not sent again");
    admin.delete_webhook_endpoint(id).await?;
    assert!(admin.mail_relay().await?.is_none());
    let relay = MailRelayInput {
        url: "smtps://name:secret@mail.invalid".into(),
        from: "Shop <noreply@shop.example>".into(),
        ..MailRelayInput::default()
    };
    assert!(!admin.save_mail_relay(&relay).await?.url.contains("secret"));
    assert_eq!(json!(admin.switch_mail_relay(MailRelaySwitch::Off).await?.state), "PAUSED");
    admin.delete_mail_relay().await?;
    Ok(())
}

async fn operations() -> Result<Value, Error> {
    let client = client("shop");
    saves(&client).await?;
    sends(&client).await?;
    marks(&client).await?;
    errs(&client).await?;
    goes_out().await?;
    let sent = client.sent_notifications(None, None, None).await?.nodes[0].id.clone();
    let another = self::client("another");
    assert!(another.sent_notifications(None, None, None).await?.nodes.is_empty());
    assert!(another.inbox_user_overview("ada", None, None).await?.is_none());
    assert_eq!(refusal(another.retract_sent_notification(&sent).await), (ErrorCode::NotFound, None));
    Ok(json!({ "operations": 35 }))
}

/// Half of them have idempotency keys of their own; the client generates the others.
async fn many() -> Result<Value, Error> {
    let one = |index: i32| {
        let idempotency_key = (index % 2 == 0).then(|| format!("many-{index}"));
        SendMessageInput { idempotency_key, ..message("many", &index.to_string(), "crowd") }.into()
    };
    let mut sent: Vec<_> = (0..2500).map(one).collect();
    let outcomes = client("shop").send_many(&mut sent).await?;
    let ids: HashSet<_> = outcomes.iter().map(|one| &one.notification.id).collect();
    assert_eq!(ids.len(), outcomes.len());
    let replayed = outcomes.iter().filter(|one| one.replayed).count();
    Ok(json!({ "outcomes": outcomes.len(), "replayed": replayed }))
}

/// Sends from 2,000 tasks; one message is invalid.
async fn sender() -> Result<Value, Error> {
    let sender = Sender::new(client("shop"), Duration::from_millis(20));
    let mut tasks = JoinSet::new();
    for index in 0..2000 {
        let sender = sender.clone();
        let message_type = if index == 700 { "unknown" } else { "news" };
        tasks.spawn(async move { sender.send(message(message_type, &index.to_string(), "ben")).await });
    }
    let (mut sent, mut refused) = (0, Vec::new());
    for outcome in tasks.join_all().await {
        match outcome {
            Ok(_) => sent += 1,
            Err(error) => refused.push(format!("{:?} {}", error.code, error.field.unwrap_or_default())),
        }
    }
    Ok(json!({ "sent": sent, "refused": refused }))
}

async fn refused() -> Result<Value, Error> {
    let token =
        sign("another secret, which is of 32 bytes and more", "shop", "backend", "service", Duration::from_mins(1));
    let client = Client::new(&variable("TIDINGS_URL"), Token::fixed(token))?;
    let (code, _) = refusal(client.sent_notifications(None, None, None).await);
    Ok(json!({ "code": code }))
}

async fn limited() -> Result<Value, Error> {
    let patient = client("shop");
    let hasty = patient.clone().patience(Duration::ZERO);
    let code = loop {
        if let Err(error) = hasty.inbox_user_overview("ada", None, None).await {
            break error.code;
        }
    };
    patient.inbox_user_overview("ada", None, None).await?;
    Ok(json!({ "code": code }))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let said = match env::args().nth(1).as_deref() {
        Some("operations") => operations().await?,
        Some("many") => many().await?,
        Some("sender") => sender().await?,
        Some("refused") => refused().await?,
        Some("limited") => limited().await?,
        other => panic!("{other:?} is not a step"),
    };
    println!("{said}");
    Ok(())
}
