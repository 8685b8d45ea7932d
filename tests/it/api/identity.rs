//! Ids are unique within a type, and every object with an id is found by it.

use auth::CallerRole;
use serde_json::{Value, json};

use crate::support::{Actor, Kind, TestApp, everyone, on_every_database, with};

const NODE: &str = "query($id: ID!) { node(id: $id) { __typename id \
    ... on InboxItem { title } ... on SentNotification { title } ... on MessageType { code } ... on UserGroup { code } \
    ... on TopicTarget { type externalId } ... on TopicSubscription { action } ... on InboxView { code externalId unread { count } } \
    ... on Viewer { user { id } } ... on InboxUser { user { id } } } }";

/// Looks up an object by its id and returns its type.
async fn kind(caller: &Actor<'_>, id: &Value) -> Value {
    let mut found = caller.ask(NODE, json!({ "id": id })).await["node"].take();
    if found.is_object() {
        assert_eq!(&found["id"], id);
    }
    found["__typename"].take()
}

async fn join(app: &TestApp, code: &str, external_id: &str, users: &[&str]) -> Value {
    let query = "mutation($key: ViewKeyInput!, $users: [ID!]) { joinView(key: $key, users: $users) { view { id code externalId } } }";
    let key = json!({ "code": code, "externalId": external_id });
    app.service().ask(query, json!({ "key": key, "users": users })).await["joinView"]["view"]["id"].take()
}

on_every_database! {
    async fn whatever_has_an_id_is_found_by_it(app) {
        app.admin().define_type("news").await;
        let notification = app.admin().announce("news", everyone(), "hello").await;
        let ada = app.user("ada");
        ada.subscribe("7", &["comment"]).await;
        app.service().remind("news", "7", "comment", Some("ben"), "a comment").await;
        app.service().ask("mutation { saveUserGroup(code: \"staff\", title: \"Staff\") { id } \
            addUserGroupMembers(code: \"staff\", users: [\"ada\"]) { id } \
            subscribeTopic(input: { target: { type: \"doc\", externalId: \"8\" }, what: { actions: [\"like\"] }, who: { group: \"staff\" } }) { createdCount } }", json!({})).await;
        join(app, "chat", "7", &["ada"]).await;
        let seen = "{ viewer { id groups { id } subscriptions { nodes { id target { id } } } views { id } \
            inbox { nodes { id notificationId type { id } target { id } } } } }";
        let seen = ada.ask(seen, json!({})).await["viewer"].take();
        let item = &seen["inbox"]["nodes"][0];
        let own = [
            ("Viewer", &seen["id"]),
            ("UserGroup", &seen["groups"][0]["id"]),
            ("TopicSubscription", &seen["subscriptions"]["nodes"][0]["id"]),
            ("TopicTarget", &seen["subscriptions"]["nodes"][0]["target"]["id"]),
            ("InboxView", &seen["views"][0]["id"]),
            ("InboxItem", &item["id"]),
            ("MessageType", &item["type"]["id"]),
            ("TopicTarget", &item["target"]["id"]),
        ];
        for (name, id) in own {
            assert_eq!(kind(&ada, id).await, name);
        }
        // Neither another user nor another tenant finds her objects.
        let (ben, stranger) = (app.user("ben"), app.stranger("shop", CallerRole::Service));
        for (name, id) in own {
            let is_common = matches!(name, "UserGroup" | "MessageType" | "TopicTarget");
            assert_eq!(kind(&ben, id).await, if is_common { json!(name) } else { Value::Null }, "{name}");
            let is_a_name = name == "TopicTarget";
            assert_eq!(kind(&stranger, id).await, if is_a_name { json!(name) } else { Value::Null }, "{name}");
        }
        assert_eq!(kind(&ada, &json!(notification)).await, Value::Null);
        let service = app.service();
        assert_eq!(kind(&service, &json!(notification)).await, "SentNotification");
        let known = service.ask("{ inboxUser(id: \"ada\") { id views { id } } }", json!({})).await["inboxUser"].take();
        assert_eq!(kind(&service, &known["id"]).await, "InboxUser");
        assert_eq!(kind(&service, &known["views"][0]["id"]).await, "InboxView");
        assert_eq!(known["views"][0]["id"], seen["views"][0]["id"]);
        let subscribed = "mutation { subscribeTopic(input: { target: { type: \"doc\", externalId: \"8\" }, \
            what: { actions: [\"like\"] }, who: { group: \"staff\" } }) { createdCount subscriptions { id action } } }";
        let subscribed = service.ask(subscribed, json!({})).await["subscribeTopic"].take();
        assert_eq!(subscribed["createdCount"], 0);
        assert_eq!(kind(&service, &subscribed["subscriptions"][0]["id"]).await, "TopicSubscription");
        assert_eq!(kind(&ada, &subscribed["subscriptions"][0]["id"]).await, Value::Null);
        for made_up in ["", "7", "ada", "target.", "target.AAAA", &"A".repeat(22), &format!("target.{}", "A".repeat(5000))] {
            assert_eq!(kind(&service, &json!(made_up)).await, Value::Null, "{made_up}");
        }
    }

    async fn every_kind_of_node_is_found_by_its_id_by_those_who_may_see_it_and_by_nobody_else(app) {
        app.admin().define_type("news").await;
        let notification = app.admin().announce("news", everyone(), "hello").await;
        app.user("ada").subscribe("7", &["comment"]).await;
        app.user("ben").subscribe("8", &["comment"]).await;
        app.admin().define(json!({ "code": "late", "title": "Late", "template": { "title": "{{ params.order }}" } })).await;
        let mut made = app.admin().ask("mutation { saveUserGroup(code: \"staff\") { id } \
            saveNotificationRule(input: { code: \"late\", type: \"late\", key: [\"order\"], firstRun: RAISE, audience: { everyone: true } }) { id } \
            createWebhookEndpoint(input: { url: \"http://127.0.0.1:1/hook\" }) { endpoint { id } } \
            saveMailRelay(input: { url: \"smtp://127.0.0.1:1?tls=none\", from: \"a@b.example\" }) { id } \
            saveWeChatAccount(input: { appId: \"wx0123456789abcdef\", secret: \"0123456789abcdef0123456789abcdef\" }) { id } \
            saveWebPush(input: { contact: \"mailto:a@b.example\" }) { id } }", json!({})).await;
        let hook = made["createWebhookEndpoint"]["endpoint"]["id"].take();
        let delivery = app.admin().ask("mutation($id: ID!) { testWebhookEndpoint(id: $id) { id } }", json!({ "id": hook })).await;
        join(app, "chat", "7", &["ada"]).await;
        let seen = app.user("ada").ask("{ viewer { id subscriptions { nodes { id target { id } } } views { id } inbox { nodes { id type { id } } } } }", json!({})).await;
        let seen = &seen["viewer"];
        let known = app.service().ask("{ inboxUser(id: \"ada\") { id } }", json!({})).await["inboxUser"]["id"].take();
        let subscription = &seen["subscriptions"]["nodes"][0];
        let item = &seen["inbox"]["nodes"][0];
        // The callers who find it: the users ada and ben, a service and an admin.
        let nodes = [
            ("InboxItem", item["id"].clone(), "ada service admin"),
            ("SentNotification", json!(notification), "service admin"),
            ("MessageType", item["type"]["id"].clone(), "ada ben service admin"),
            ("UserGroup", made["saveUserGroup"]["id"].take(), "ada ben service admin"),
            ("TopicSubscription", subscription["id"].clone(), "ada service admin"),
            ("TopicTarget", subscription["target"]["id"].clone(), "ada ben service admin"),
            ("InboxView", seen["views"][0]["id"].clone(), "ada service admin"),
            ("Viewer", seen["id"].clone(), "ada"),
            ("InboxUser", known, "service admin"),
            ("NotificationRule", made["saveNotificationRule"]["id"].take(), "admin"),
            ("WebhookEndpoint", hook, "admin"),
            ("MailRelay", made["saveMailRelay"]["id"].take(), "admin"),
            ("WeChatAccount", made["saveWeChatAccount"]["id"].take(), "admin"),
            ("WebPush", made["saveWebPush"]["id"].take(), "admin"),
            ("OutboundDelivery", delivery["testWebhookEndpoint"]["id"].clone(), "service admin"),
        ];
        let callers = [("ada", app.user("ada")), ("ben", app.user("ben")), ("service", app.service()), ("admin", app.admin())];
        for (name, id, who) in &nodes {
            assert!(id.is_string(), "{name}");
            for (caller, actor) in &callers {
                let found = if who.split(' ').any(|of| of == *caller) { json!(name) } else { Value::Null };
                assert_eq!(kind(actor, id).await, found, "{name} by {caller}");
            }
            for role in [CallerRole::Admin, CallerRole::Service, CallerRole::User] {
                let found = if *name == "TopicTarget" { json!(name) } else { Value::Null };
                assert_eq!(kind(&app.stranger("ada", role), id).await, found, "{name} by a {role:?} of another tenant");
            }
        }

        // In the whole schema, every type with an opaque id is a node, and every node is in this list.
        let query = "{ __schema { types { name kind fields { name type { kind ofType { name } } } interfaces { name } } } }";
        let schema = app.service().ask(query, json!({})).await["__schema"].take();
        let mut named: Vec<&str> = Vec::new();
        for of in schema["types"].as_array().unwrap().iter().filter(|of| of["kind"] == "OBJECT") {
            let is_node = of["interfaces"].as_array().unwrap().iter().any(|of| of["name"] == "Node");
            let has_id = of["fields"].as_array().unwrap().iter().any(|field| field["name"] == "id" && field["type"]["ofType"]["name"] == "ID");
            // The id of a user is the backend's own.
            assert_eq!(is_node, has_id && of["name"] != "User", "{}", of["name"]);
            named.extend(of["name"].as_str().filter(|_| is_node));
        }
        let mut tested = nodes.each_ref().map(|(name, ..)| *name);
        named.sort_unstable();
        tested.sort_unstable();
        assert_eq!(named, tested);
    }

    async fn a_view_has_an_id_for_each_who_sees_it(app) {
        let (feed, chat) = (join(app, "feed", "7", &["ada"]).await, join(app, "chat", "7", &["ada"]).await);
        assert_ne!(feed, chat);
        let ben = join(app, "chat", "7", &["ben"]).await;
        assert_ne!(chat, ben);
        let query = "mutation { recordActivity(inputs: [{ view: { code: \"chat\", externalId: \"7\" }, actor: \"ben\" }]) { \
            views { id unread { count } } } }";
        let seen = app.service().ask(query, json!({})).await["recordActivity"]["views"].take();
        assert_eq!(seen, json!([{ "id": ben, "unread": { "count": 0 } }]));
        let both = "{ inboxUsers(ids: [\"ada\", \"ben\"]) { views { id code externalId unread { count } } } }";
        let both = app.service().ask(both, json!({})).await["inboxUsers"].take();
        let view = |id: &Value, code: &str, unread: i64| json!({ "id": id, "code": code, "externalId": "7", "unread": { "count": unread } });
        assert_eq!(both[0]["views"], json!([view(&chat, "chat", 1), view(&feed, "feed", 0)]));
        assert_eq!(both[1]["views"], json!([view(&ben, "chat", 0)]));
    }
}

#[tokio::test]
async fn names_of_users_and_ids_of_other_things_are_told_apart() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("7").await;
        app.service().ask("mutation { saveUserGroup(code: \"7\") { id } }", json!({})).await;
        app.user("7").subscribe("7", &["7"]).await;
        join(app, "7", "7", &["7"]).await;
        let query = "{ viewer { id user { id } groups { id } subscriptions { nodes { id target { id } } } views { id } } \
            messageTypes { id } userGroups { id } }";
        let seen = app.user("7").ask(query, json!({})).await;
        let texts = seen.to_string();
        let ids: Vec<&str> = texts.split("\"id\":\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let different: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!((ids.len(), different.len()), (7, 7), "{ids:?}");
        assert_eq!(ids.iter().filter(|id| **id == "7").count(), 1);
    })
    .await;
}
