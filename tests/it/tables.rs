//! The entities match the tables that the migrations create, on every database.

use sea_orm::{EntityTrait, PaginatorTrait};

use crate::support::{TestApp, on_every_database};

/// Reads a table through its entity, so that every column exists and has the declared type.
async fn reads<E>(app: &TestApp) -> u64
where
    E: EntityTrait,
    E::Model: Send + Sync,
{
    let db = &app.app.db.read;
    let all = E::find().all(db).await.expect("the entity fits its table");
    assert_eq!(E::find().count(db).await.unwrap(), all.len() as u64);
    all.len() as u64
}

on_every_database! {
    async fn every_entity_reads_its_table(app) {
        tidings::demo::fill_tenant(&app.app).await.unwrap();
        app.by_hand("INSERT INTO ended_session (id, expires_at) VALUES ('x', 1)").await;
        app.admin().define_type("direct").await;
        app.service().message("direct", "ada", "hello").await;
        app.user("ada").mark("markRead", serde_json::json!({ "matching": {} })).await;
        app.service().message("direct", "ada", "once more").await;
        let item = app.user("ada").items(serde_json::json!({})).await[0].clone();
        app.user("ada").mark("markRead", serde_json::json!({ "ids": [item["id"]] })).await;
        app.service().announce("direct", crate::support::everyone(), "to be counted").await;
        app.user("ada").overview().await;
        let send = "mutation($at: DateTime!) { sendAnnouncement(input: { type: \"direct\", audience: { users: [\"ada\"] }, \
            content: { title: \"later\" }, publishAt: $at }) { notification { id } } }";
        app.service().ask(send, serde_json::json!({ "at": (app.now() + chrono::TimeDelta::days(1)).to_rfc3339() })).await;
        let retract = "mutation($id: ID!) { retractSentNotification(id: $id) { id } }";
        app.service().ask(retract, serde_json::json!({ "id": item["notificationId"] })).await;
        app.service().ask("mutation { saveUserGroup(code: \"gone\") { code } deleteUserGroup(code: \"gone\") { deletedId } }", serde_json::json!({})).await;
        app.admin().ask(
            "mutation { saveMessageType(input: { code: \"late\", title: \"Late\", template: { title: \"{{ params.order }}\" } }) { code } \
                saveNotificationRule(input: { code: \"late\", type: \"late\", key: [\"order\"], firstRun: RAISE, audience: { everyone: true } }) { code } \
                reportRuleRows(input: { rule: \"late\", rows: [{ order: \"7\" }] }) { raised } }",
            serde_json::json!({}),
        ).await;
        app.admin().ask(
            "mutation { createWebhookEndpoint(input: { url: \"https://127.0.0.1:1/\", events: [NOTIFICATION_PUBLISHED, ITEM_READ] }) { endpoint { id } } }",
            serde_json::json!({}),
        ).await;
        domain::counters::update_counters(&app.app).await.unwrap();
        app.user("ada").mark("markUnread", serde_json::json!({ "matching": {} })).await;
        app.service().announce("direct", crate::support::everyone(), "to be counted, too").await;
        app.user("ada").overview().await;
        app.admin().ask(
            "mutation { saveMessageType(input: { code: \"mailed\", title: \"Mailed\", delivery: [{ channel: EMAIL }] }) { code } \
                digested: saveMessageType(input: { code: \"digested\", title: \"Digested\", delivery: [{ channel: EMAIL, digest: true }] }) { code } \
                saveMailRelay(input: { url: \"smtp://127.0.0.1:1?tls=none\", from: \"a@b.example\" }) { id } \
                saveUserProfiles(inputs: [{ id: \"ada\", contacts: [{ email: \"ada@b.example\" }] }]) { id } }",
            serde_json::json!({}),
        ).await;
        app.service().message("mailed", "ada", "for the relay").await;
        app.service().message("digested", "ada", "for the digest").await;
        app.service().message("direct", "ada", "for the webhook").await;
        let workers = delivery::workers::DeliveryWorkers::default();
        workers.start_due(&app.app.delivery).await.unwrap();
        for _ in 0..500 {
            let db = &app.app.db.read;
            let waiting = entity::dispatch::Entity::find().count(db).await.unwrap();
            let digests = entity::digest::Entity::find().count(db).await.unwrap();
            if waiting > 0 && digests > 0 && entity::delivery::Entity::find().count(db).await.unwrap() > 0 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        maintenance::scheduled::restored::advance_numbers(&app.app, 1000).await.unwrap();
        for rows in [
            reads::<entity::gap::Entity>(app).await,
            reads::<entity::tenant::Entity>(app).await,
            reads::<entity::user::Entity>(app).await,
            reads::<entity::message_type::Entity>(app).await,
            reads::<entity::reason::Entity>(app).await,
            reads::<entity::action::Entity>(app).await,
            reads::<entity::default_preference::Entity>(app).await,
            reads::<entity::preference::Entity>(app).await,
            reads::<entity::channel::Entity>(app).await,
            reads::<entity::subscription::Entity>(app).await,
            reads::<entity::group_subscription::Entity>(app).await,
            reads::<entity::notification::Entity>(app).await,
            reads::<entity::publication::Entity>(app).await,
            reads::<entity::inbox_item::Entity>(app).await,
            reads::<entity::read_mark::Entity>(app).await,
            reads::<entity::view::Entity>(app).await,
            reads::<entity::view_visit::Entity>(app).await,
            reads::<entity::view_code::Entity>(app).await,
            reads::<entity::activity_key::Entity>(app).await,
            reads::<entity::chore::Entity>(app).await,
            reads::<entity::job::Entity>(app).await,
            reads::<entity::schedule::Entity>(app).await,
            reads::<entity::recipient::Entity>(app).await,
            reads::<entity::amendment::Entity>(app).await,
            reads::<entity::tally_span::Entity>(app).await,
            reads::<entity::tally::Entity>(app).await,
            reads::<entity::tally_hour::Entity>(app).await,
            reads::<entity::rule::Entity>(app).await,
            reads::<entity::rule_row::Entity>(app).await,
            reads::<entity::rule_run::Entity>(app).await,
            reads::<entity::contact::Entity>(app).await,
            reads::<entity::delivery_rule::Entity>(app).await,
            reads::<entity::dispatch::Entity>(app).await,
            reads::<entity::digest::Entity>(app).await,
            reads::<entity::destination::Entity>(app).await,
            reads::<entity::delivery::Entity>(app).await,
            reads::<entity::webhook_batch::Entity>(app).await,
            reads::<entity::audit_entry::Entity>(app).await,
            reads::<entity::target_type::Entity>(app).await,
            reads::<entity::ended_session::Entity>(app).await,
        ] {
            assert!(rows > 0, "a table that the demo leaves empty is not tested");
        }
    }

    async fn a_code_that_no_enum_has_is_an_error_and_no_default(app) {
        app.admin().define_type("direct").await;
        app.service().message("direct", "ada", "hello").await;
        let list = "{ viewer { inbox(first: 5) { nodes { title } } } }";
        for (table, column) in [("inbox_item", "state"), ("notification", "kind")] {
            app.by_hand(&format!("UPDATE {table} SET {column} = {column} + 50")).await;
            app.by_hand("UPDATE users SET version = version + 1").await;
            // An item with an invalid state is in no list. An item of an invalid kind is an internal error.
            let (_, answer) = app.user("ada").send(list, serde_json::json!({})).await;
            let is_told = answer["errors"][0]["extensions"]["code"] == "INTERNAL";
            let is_left_out = answer["data"]["viewer"]["inbox"]["nodes"] == serde_json::json!([]);
            assert!(if column == "kind" { is_told } else { is_left_out }, "{table}: {answer}");
            app.by_hand(&format!("UPDATE {table} SET {column} = {column} - 50")).await;
        }
        app.by_hand("UPDATE message_type SET read_policy = 7").await;
        app.by_hand("UPDATE tenant SET catalogue_version = catalogue_version + 1").await;
        let (_, answer) = app.user("ada").send(list, serde_json::json!({})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "INTERNAL", "{answer}");
    }

    async fn the_demo_fills_a_tenant_once(app) {
        for _ in 0..2 {
            tidings::demo::fill_tenant(&app.app).await.unwrap();
        }
        let demo = crate::support::Actor::new(app, tidings::demo::TENANT, tidings::demo::USER, auth::CallerRole::User);
        let overview = demo.overview().await;
        assert_eq!(overview.last().map(String::as_str), Some("= 22"));
        assert!(overview.contains(&"comment: 8 (Ben Weiss commented on Checkout redesign)".to_owned()), "{overview:?}");
        let views = "{ viewer { overview { total { count } views { externalId unread { count } latest } } } }";
        let data = demo.ask(views, serde_json::json!({})).await;
        assert_eq!(data["viewer"]["overview"], serde_json::json!({ "total": { "count": 29 }, "views": [
            { "externalId": "orchard", "unread": { "count": 2 }, "latest": { "from": "dara", "text": "We are hiring: two engineers, one designer." } },
            { "externalId": "launch", "unread": { "count": 3 }, "latest": { "from": "hana", "text": "The stores have approved the build." } },
            { "externalId": "design", "unread": { "count": 2 }, "latest": { "from": "fay", "text": "A shade darker, then." } },
        ] }));
        let operator = crate::support::Actor::new(app, tidings::demo::TENANT, "operator", auth::CallerRole::Admin);
        let rules = "{ notificationRules { code state rowCount runs { raised amended resolved } openNotifications { nodes { rowKey } } } }";
        assert_eq!(operator.ask(rules, serde_json::json!({})).await["notificationRules"], serde_json::json!([{
            "code": "late_reviews", "state": "ACTIVE", "rowCount": 2,
            "runs": [{ "raised": 1, "amended": 0, "resolved": 1 }, { "raised": 2, "amended": 0, "resolved": 0 }],
            "openNotifications": { "nodes": [
                { "rowKey": { "number": "R-8" } },
                { "rowKey": { "number": "R-7" } },
            ] },
        }]));
    }
}
