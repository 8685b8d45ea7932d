//! The delivery figures of a notification, by channel.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use super::receiver::{Answer, Receiver};
use super::{create, settle};
use crate::after::announce;
use crate::support::relay::Relay;
use crate::support::{TestApp, everyone, on_every_database};

/// Returns `channel: pending/delivered/dead` of each notification, by title.
async fn figures(app: &TestApp) -> BTreeMap<String, Vec<String>> {
    let query = "{ sentNotifications(first: 50) { nodes { title deliveries { channel pending delivered dead } } } }";
    let data = app.service().ask(query, json!({})).await;
    let figures = |of: &Value| {
        format!("{}: {}/{}/{}", of["channel"].as_str().unwrap(), of["pending"], of["delivered"], of["dead"])
    };
    let of = |node: &Value| {
        let all = node["deliveries"].as_array().unwrap().iter().map(figures).collect();
        (node["title"].as_str().unwrap().to_owned(), all)
    };
    data["sentNotifications"]["nodes"].as_array().unwrap().iter().map(of).collect()
}

on_every_database! {
    async fn figures_tell_what_came_of_each_notification_by_channel(app) {
        let (receiver, gone, relay) = (Receiver::start().await, Receiver::start().await, Relay::start().await);
        let by_mail = json!([{ "channel": "EMAIL", "condition": "ALWAYS", "delaySeconds": 0 }]);
        app.admin().define(json!({ "code": "mailed", "title": "Mailed", "delivery": by_mail })).await;
        app.admin().define_type("news").await;
        app.admin().ask(
            "mutation($url: String!) { saveMailRelay(input: { url: $url, from: \"a@b.example\" }) { id } \
                saveUserProfiles(inputs: [{ id: \"ada\", contacts: [{ email: \"ada@b.example\" }] }]) { id } }",
            json!({ "url": relay.url() }),
        ).await;
        let events = json!(["NOTIFICATION_PUBLISHED", "NOTIFICATION_EXPIRED", "ENDPOINT_DISABLED", "ITEM_READ"]);
        create(app, &receiver.url, json!({ "events": events })).await;
        gone.answers(Answer::Status(410));
        create(app, &gone.url, json!({ "events": ["NOTIFICATION_PUBLISHED"] })).await;
        let workers = DeliveryWorkers::default();
        app.service().message("mailed", "ada", "mailed").await;
        settle(app, &workers).await;
        // Other tenants' figures do not count here, nor do events of endpoints and items, although they use the same
        // numbers.
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        domain::counters::update_counters(&app.app).await.unwrap();
        settle(app, &workers).await;
        receiver.answers(Answer::Status(500));
        app.service().message("news", "ben", "not taken").await;
        settle(app, &workers).await;
        receiver.answers(Answer::Status(204));
        announce(&app.admin(), json!({ "content": { "title": "expires" }, "expiresAt": (app.now() + TimeDelta::days(1)).to_rfc3339() })).await;
        announce(&app.admin(), json!({ "content": { "title": "later" }, "publishAt": (app.now() + TimeDelta::days(1)).to_rfc3339() })).await;
        settle(app, &workers).await;
        let expected = |first: &str, not_taken: &str| {
            BTreeMap::from([("mailed", vec![first, "EMAIL: 0/1/0"]), ("not taken", vec![not_taken]),
                ("expires", vec!["WEBHOOK: 1/1/0"]), ("later", vec![])]
                .map(|(title, figures)| (title.to_owned(), figures.into_iter().map(ToOwned::to_owned).collect::<Vec<_>>())))
        };
        assert_eq!(figures(app).await, expected("WEBHOOK: 1/1/0", "WEBHOOK: 1/0/0"));
        app.by_hand("UPDATE delivery SET state = 3 WHERE state = 1").await;
        assert_eq!(figures(app).await, expected("WEBHOOK: 0/1/1", "WEBHOOK: 0/0/1"));
        let stranger = app.stranger("operator", auth::CallerRole::Admin);
        stranger.define_type("news").await;
        stranger.announce("news", everyone(), "theirs").await;
        let theirs = stranger.ask("{ sentNotifications { nodes { deliveries { channel } } } }", json!({})).await;
        assert_eq!(theirs["sentNotifications"]["nodes"], json!([{ "deliveries": [] }]));
    }

    async fn figures_of_a_page_are_one_statement_and_the_staffs(app) {
        let receiver = Receiver::start().await;
        app.admin().define_type("news").await;
        create(app, &receiver.url, json!({})).await;
        for n in 0..30 {
            app.service().announce("news", everyone(), &format!("{n}")).await;
        }
        settle(app, &DeliveryWorkers::default()).await;
        let ask = async |fields: &str| {
            let query = format!("{{ sentNotifications(first: 50) {{ nodes {{ {fields} }} }} }}");
            app.statements_of(app.service().ask(&query, json!({}))).await
        };
        ask("id").await;
        let (without, _) = ask("id").await;
        let (with, data) = ask("deliveries { channel delivered }").await;
        assert_eq!(with, without + 1);
        let nodes = data["sentNotifications"]["nodes"].as_array().unwrap();
        assert!(nodes.len() == 30 && nodes.iter().all(|of| of["deliveries"] == json!([{ "channel": "WEBHOOK", "delivered": 1 }])));
        let send = "mutation { sendMessage(input: { type: \"news\", receiver: \"ada\", content: { title: \"x\" } }) { \
            notification { deliveries { channel } } } }";
        let refused = app.user("ben").refused(send, json!({})).await;
        assert!(refused.starts_with("FORBIDDEN"), "whether somebody has an address is nobody else's business: {refused}");
    }
}
