//! Endpoints as operators create them, and which roles see which fields.

use auth::CallerRole;
use delivery::workers::DeliveryWorkers;
use maintenance::scheduled::sweep;
use serde_json::{Value, json};

use super::{CREATE, act, create, deliveries, look_at, number, settle, with_endpoint};
use crate::support::{Kind, everyone, on_every_database, with_settings};

const URL: &str = "http://127.0.0.1:1/hook";

on_every_database! {
    async fn an_endpoint_is_shown_as_it_was_made_and_changed(app) {
        app.admin().define_type("alarm").await;
        app.admin().ask("mutation { saveUserGroup(code: \"operators\") { code } }", json!({})).await;
        let endpoint = create(app, URL, json!({ "alarm": { "type": "alarm" } })).await;
        assert!(endpoint.secret.starts_with("whsec_"));
        let fields = "url events full alarm { type group } state failingSince restingUntil lastAttemptAt lastStatus lastError pendingCount deadCount \
            previousSecretUntil";
        let mut expected = json!({
            "url": URL, "events": ["NOTIFICATION_PUBLISHED", "NOTIFICATION_RETRACTED", "NOTIFICATION_AMENDED"], "full": false,
            "alarm": { "type": "alarm", "group": "operators" }, "state": "ACTIVE", "failingSince": null, "restingUntil": null,
            "lastAttemptAt": null, "lastStatus": null, "lastError": null, "pendingCount": 0, "deadCount": 0, "previousSecretUntil": null,
        });
        assert_eq!(look_at(app, &endpoint, fields).await, expected);
        let change = "mutation($id: ID!, $input: UpdateWebhookEndpointInput!) { updateWebhookEndpoint(id: $id, input: $input) { id } }";
        let input = json!({ "url": "https://hooks.example/a", "events": ["ENDPOINT_DISABLED"], "full": true, "clear": ["ALARM"] });
        app.admin().ask(change, json!({ "id": endpoint.id, "input": input })).await;
        for (name, value) in [("url", json!("https://hooks.example/a")), ("events", json!(["ENDPOINT_DISABLED"])), ("full", json!(true)), ("alarm", Value::Null)] {
            expected[name] = value;
        }
        assert_eq!(look_at(app, &endpoint, fields).await, expected);
        app.admin().ask(change, json!({ "id": endpoint.id, "input": {} })).await;
        assert_eq!(look_at(app, &endpoint, fields).await, expected);
        let both = json!({ "alarm": { "type": "alarm" }, "clear": ["ALARM"] });
        let refused = app.admin().refused(change, json!({ "id": endpoint.id, "input": both })).await;
        assert!(refused.starts_with("BAD_USER_INPUT input.clear"), "{refused}");
        for query in ["mutation($id: ID!) { rotateWebhookSecret(id: $id) { endpoint { id } } }", "mutation($id: ID!) { testWebhookEndpoint(id: $id) { id } }"] {
            let refused = app.admin().refused(query, json!({ "id": "nobody" })).await;
            assert!(refused.starts_with("NOT_FOUND"), "{refused}");
        }
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM lane WHERE secret LIKE '%whsec%'").await, 0, "they are sealed");
    }

    async fn what_is_no_endpoint_is_refused_where_it_is_wrong(app) {
        for (input, code, field) in [
            (json!({ "url": "ftp://hooks.example/" }), "BAD_USER_INPUT", "input.url"),
            (json!({ "url": "http://hooks.example/" }), "BAD_USER_INPUT", "input.url"),
            (json!({ "url": "https://ada:x@hooks.example/" }), "BAD_USER_INPUT", "input.url"),
            (json!({ "url": "https://10.0.0.1/" }), "BAD_USER_INPUT", "input.url"),
            (json!({ "url": "https://[::ffff:169.254.169.254]/" }), "BAD_USER_INPUT", "input.url"),
            (json!({ "url": URL, "events": [] }), "BAD_USER_INPUT", "input.events"),
            (json!({ "url": URL, "alarm": { "type": "none" } }), "BAD_USER_INPUT", "input.alarm.type"),
        ] {
            let (_, answer) = app.admin().send(CREATE, json!({ "input": input })).await;
            let error = &answer["errors"][0]["extensions"];
            assert_eq!((&error["code"], &error["field"]), (&json!(code), &json!(field)), "{input}: {answer}");
        }
        for _ in 0..20 {
            create(app, URL, json!({})).await;
        }
        let refused = app.admin().refused(CREATE, json!({ "input": { "url": URL } })).await;
        assert!(refused.starts_with("CONFLICT : a tenant has at most 20"), "{refused}");
    }

    async fn those_who_make_endpoints_at_once_are_counted(app) {
        for _ in 0..15 {
            create(app, URL, json!({})).await;
        }
        let operator = app.admin();
        let calls = (0..12).map(|_| operator.send(CREATE, json!({ "input": { "url": URL } })));
        let made = futures_util::future::join_all(calls).await;
        let made = made.iter().filter(|(_, answer)| answer["errors"].is_null()).count();
        assert!(made <= 5, "{made} were made");
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM lane").await, 15 + i64::try_from(made).unwrap());
    }

    async fn endpoints_are_their_tenants_and_their_operators(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        app.service().announce("news", everyone(), "x").await;
        settle(app, &DeliveryWorkers::default()).await;
        let delivery = receiver.take().remove(0).id;
        let node = "query($id: ID!) { node(id: $id) { id } }";
        let stranger = || app.stranger("operator", CallerRole::Admin);
        for (id, who, is_seen) in [
            (endpoint.id.clone(), app.admin(), true),
            (endpoint.id.clone(), app.service(), false),
            (endpoint.id.clone(), app.user("ada"), false),
            (endpoint.id.clone(), stranger(), false),
            (json!(delivery), app.service(), true),
            (json!(delivery), app.user("ada"), false),
            (json!(delivery), stranger(), false),
        ] {
            let found = who.ask(node, json!({ "id": id })).await["node"].clone();
            assert_eq!(found, if is_seen { json!({ "id": id }) } else { Value::Null });
        }
        let data = stranger().ask("{ webhookEndpoints { id } outboundDeliveries { nodes { id } } }", json!({})).await;
        assert_eq!(data, json!({ "webhookEndpoints": [], "outboundDeliveries": { "nodes": [] } }));
        for act in ["pauseWebhookEndpoint", "resumeWebhookEndpoint", "testWebhookEndpoint"] {
            let query = format!("mutation($id: ID!) {{ {act}(id: $id) {{ id }} }}");
            let refused = stranger().refused(&query, json!({ "id": endpoint.id })).await;
            assert!(refused.starts_with("NOT_FOUND"), "{refused}");
        }
        let theirs = stranger().ask("mutation($id: ID!) { deleteWebhookEndpoint(id: $id) { deletedId } }", json!({ "id": endpoint.id })).await;
        assert_eq!(theirs["deleteWebhookEndpoint"]["deletedId"], Value::Null);
        let replay = "mutation($ids: [ID!]!) { replayOutboundDeliveries(select: { ids: $ids }) { replayedCount } }";
        assert!(stranger().refused(replay, json!({ "ids": [delivery] })).await.starts_with("NOT_FOUND"));
        assert_eq!(look_at(app, &endpoint, "state").await["state"], "ACTIVE");
        app.admin().ask("mutation($id: ID!) { deleteWebhookEndpoint(id: $id) { deletedId } }", json!({ "id": endpoint.id })).await;
        let update = "mutation($id: ID!) { updateWebhookEndpoint(id: $id, input: {}) { id } }".to_owned();
        let others = ["pauseWebhookEndpoint", "resumeWebhookEndpoint", "testWebhookEndpoint"];
        let others = others.map(|act| format!("mutation($id: ID!) {{ {act}(id: $id) {{ id }} }}"));
        for query in others.iter().chain([&update]) {
            let why = app.admin().refused(query, json!({ "id": endpoint.id })).await;
            assert!(why.contains(&format!("no webhook endpoint {}", endpoint.id)), "{query}: {why}");
        }
    }

    async fn deliveries_are_listed_newest_first_and_filtered(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        let second = create(app, &receiver.url, json!({ "events": ["NOTIFICATION_RETRACTED"] })).await;
        let mut ids = Vec::new();
        for n in 0..5 {
            ids.push(json!(app.service().announce("news", everyone(), &format!("{n}")).await));
        }
        crate::after::retract(&app.admin(), &ids[0]).await;
        settle(app, &DeliveryWorkers::default()).await;
        let listed = async |filter: Value| deliveries(app, filter, "event notificationId endpointId").await;
        let all = listed(json!({})).await;
        assert_eq!(all.len(), 7);
        let of_first = listed(json!({ "endpoint": endpoint.id, "events": ["NOTIFICATION_PUBLISHED"] })).await;
        let order: Vec<&Value> = of_first.iter().map(|of| &of["notificationId"]).collect();
        assert_eq!(order, ids.iter().rev().collect::<Vec<_>>());
        assert_eq!(listed(json!({ "endpoint": second.id })).await.len(), 1);
        assert_eq!(listed(json!({ "notification": ids[0] })).await.len(), 3);
        assert_eq!(listed(json!({ "states": ["DEAD", "PENDING"] })).await.len(), 0);
        let pages = "query($after: String) { outboundDeliveries(first: 3, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }";
        let (mut seen, mut after) = (0, Value::Null);
        loop {
            let page = app.service().ask(pages, json!({ "after": after })).await["outboundDeliveries"].take();
            seen += page["nodes"].as_array().unwrap().len();
            if page["pageInfo"]["hasNextPage"] == json!(false) {
                break;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
        assert_eq!(seen, 7);
        act_delete(app, &endpoint).await;
        assert_eq!(listed(json!({})).await.len(), 1);
    }

    async fn deliveries_go_with_the_retention_window(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        app.service().announce("news", everyone(), "old").await;
        settle(app, &DeliveryWorkers::default()).await;
        act(app, "pauseWebhookEndpoint", &endpoint).await;
        app.service().announce("news", everyone(), "missed").await;
        app.advance(chrono::TimeDelta::days(31));
        app.service().announce("news", everyone(), "new").await;
        assert_eq!(sweep::sweep_all(&app.app.delivery).await.unwrap().deliveries, 1);
        act(app, "resumeWebhookEndpoint", &endpoint).await;
        settle(app, &DeliveryWorkers::default()).await;
        assert_eq!(receiver.take().len(), 2, "what is gone is not told any more");
        assert_eq!(deliveries(app, json!({}), "id").await.len(), 1);
    }
}

async fn act_delete(app: &crate::support::TestApp, endpoint: &super::Endpoint) {
    let query = "mutation($id: ID!) { deleteWebhookEndpoint(id: $id) { deletedId } }";
    let data = app.admin().ask(query, json!({ "id": endpoint.id })).await;
    assert_eq!(data["deleteWebhookEndpoint"]["deletedId"], endpoint.id);
    let again = app.admin().ask(query, json!({ "id": endpoint.id })).await;
    assert_eq!(again["deleteWebhookEndpoint"]["deletedId"], Value::Null);
}

#[tokio::test]
async fn private_addresses_are_reached_by_nobody() {
    let closed = |config: &mut base::config::ServerConfig| {
        config.egress.allow = base::config::AllowedDestinations::default();
    };
    with_settings(Kind::Sqlite, closed, async |app| {
        app.admin().define_type("news").await;
        let refused = app.admin().refused(CREATE, json!({ "input": { "url": "https://127.0.0.1/" } })).await;
        assert!(refused.starts_with("BAD_USER_INPUT input.url"), "{refused}");
        // A name that resolves to this machine is refused only when the server connects.
        let receiver = super::receiver::Receiver::start().await;
        let endpoint = create(app, "https://localhost:1/", json!({})).await;
        app.service().announce("news", everyone(), "x").await;
        settle(app, &DeliveryWorkers::default()).await;
        let error = look_at(app, &endpoint, "lastError lastStatus").await;
        assert!(error["lastError"].as_str().unwrap().contains("address"), "{error}");
        // The same applies to a URL that was written to the table directly.
        app.by_hand(&format!("UPDATE lane SET url = '{}', due_at = 0", receiver.url)).await;
        app.advance(chrono::TimeDelta::seconds(10));
        settle(app, &DeliveryWorkers::default()).await;
        assert_eq!(receiver.many(), 0);
        assert_eq!(deliveries(app, json!({}), "attemptCount").await, [json!({ "attemptCount": 2 })]);
    })
    .await;
}

#[tokio::test]
async fn without_a_key_there_are_no_endpoints() {
    with_settings(
        Kind::Sqlite,
        |config| config.keys.key = None,
        async |app| {
            let refused = app.admin().refused(CREATE, json!({ "input": { "url": URL } })).await;
            assert!(refused.starts_with("CONFLICT") && refused.contains("TIDINGS_KEY"), "{refused}");
        },
    )
    .await;
}
