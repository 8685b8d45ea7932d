//! Replacement of the key that encrypts secrets.

use delivery::workers::DeliveryWorkers;
use maintenance::scheduled::sweep;
use serde_json::json;

use super::{create, deliveries, look_at, number, settle, with_endpoint};
use crate::support::{KEY, TestApp, everyone, on_every_database};

const NEW: &str = "0808080808080808080808080808080808080808080808080808080808080808";

/// A node over the same database, with other keys.
async fn with_keys(app: &TestApp, key: &str, previous_key: Option<&str>) -> TestApp {
    let mut config = app.app.config.clone();
    config.keys.key = Some(key.into());
    config.keys.previous_key = previous_key.map(Into::into);
    TestApp::at(config, app.app.clock.clone()).await
}

on_every_database! {
    async fn secrets_are_sealed_anew_and_then_open_with_the_new_key_alone(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        create(app, &receiver.url, json!({ "events": ["ENDPOINT_DISABLED"] })).await;
        let rotate = "mutation($id: ID!) { rotateWebhookSecret(id: $id) { secret } }";
        let second = app.admin().ask(rotate, json!({ "id": endpoint.id })).await["rotateWebhookSecret"]["secret"].take();
        let secrets = [&endpoint.secret, second.as_str().unwrap()];
        app.service().announce("news", everyone(), "one").await;

        let new = with_keys(app, NEW, None).await;
        settle(&new, &DeliveryWorkers::default()).await;
        let failed = look_at(app, &endpoint, "lastError lastStatus").await;
        assert!(failed["lastError"].as_str().unwrap().starts_with("the server cannot decrypt the secret"), "{failed}");
        assert_eq!(receiver.many(), 0);

        app.advance(chrono::TimeDelta::seconds(10));
        let both = with_keys(app, NEW, Some(KEY)).await;
        settle(&both, &DeliveryWorkers::default()).await;
        let got = receiver.take();
        assert!(got.len() == 1 && secrets.iter().all(|secret| got[0].is_signed_by(secret)));

        let sealed = "SELECT COUNT(DISTINCT secret) + COUNT(previous_secret) AS many FROM lane";
        assert_eq!(number(app, sealed).await, 3);
        for _ in 0..2 {
            sweep::sweep_all(&both.app.delivery).await.unwrap();
        }
        new.service().announce("news", everyone(), "two").await;
        settle(&new, &DeliveryWorkers::default()).await;
        let got = receiver.take();
        assert!(got.len() == 1 && secrets.iter().all(|secret| got[0].is_signed_by(secret)));

        // The previous key decrypts none of them any more.
        app.service().announce("news", everyone(), "three").await;
        settle(app, &DeliveryWorkers::default()).await;
        assert_eq!((receiver.many(), deliveries(app, json!({ "states": ["PENDING"] }), "id").await.len()), (0, 1));
    }

    async fn a_secret_that_no_key_opens_holds_up_no_other_ones(app) {
        let (receiver, broken) = with_endpoint(app).await;
        create(app, &receiver.url, json!({})).await;
        app.by_hand("UPDATE lane SET secret = 'AQ' WHERE id = (SELECT id FROM (SELECT MIN(id) AS id FROM lane) AS first)").await;
        let both = with_keys(app, NEW, Some(KEY)).await;
        drop(sweep::sweep_all(&both.app.delivery).await);
        let new = with_keys(app, NEW, None).await;
        new.service().announce("news", everyone(), "x").await;
        settle(&new, &DeliveryWorkers::default()).await;
        assert_eq!(receiver.take().len(), 1);
        let failed = look_at(app, &broken, "lastError").await;
        assert!(failed["lastError"].as_str().unwrap().starts_with("the server cannot decrypt the secret"), "{failed}");
    }
}
