//! An expired notification is in no list and no count from that instant on.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{announce, look_at, update};
use crate::support::{Socket, on_every_database};

on_every_database! {
    async fn an_amended_expiry_reaches_those_who_have_it_and_those_who_have_not(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let in_hours = |hours: i64| json!((app.now() + TimeDelta::hours(hours)).to_rfc3339());
        let longer = announce(&operator, json!({ "expiresAt": in_hours(1), "content": { "title": "longer" } })).await;
        let shorter = announce(&operator, json!({ "expiresAt": in_hours(9), "content": { "title": "shorter" } })).await;
        let for_good = announce(&operator, json!({ "expiresAt": in_hours(1), "content": { "title": "for good" } })).await;
        assert_eq!(app.user("ada").titles(json!({})).await.len(), 3);
        update(&operator, &longer["id"], json!({ "expiresAt": in_hours(5) })).await;
        update(&operator, &shorter["id"], json!({ "expiresAt": in_hours(2) })).await;
        assert_eq!(update(&operator, &for_good["id"], json!({ "clear": ["EXPIRES_AT"] })).await["expiresAt"], Value::Null);
        app.advance(TimeDelta::hours(3));
        for user in ["ada", "newcomer"] {
            assert_eq!(app.user(user).titles(json!({})).await, ["for good", "longer"]);
            assert_eq!(app.user(user).overview().await.last().unwrap(), "= 2");
        }
        assert_eq!(look_at(&operator, &shorter["id"]).await["status"], "EXPIRED");
    }

    async fn the_ttl_of_a_type_counts_from_publication_and_comes_back(app) {
        let operator = app.admin();
        operator.define(json!({ "code": "news", "title": "News", "ttlSeconds": 3600 })).await;
        let publish_at = json!((app.now() + TimeDelta::hours(1)).to_rfc3339());
        let later = announce(&operator, json!({ "publishAt": publish_at })).await;
        assert_eq!(later["expiresAt"], Value::Null);
        app.advance(TimeDelta::hours(1));
        domain::notification::publish_due(&app.app).await.unwrap();
        let instant = |hours: i64| json!((app.now() + TimeDelta::hours(hours)).to_rfc3339_opts(chrono::SecondsFormat::Millis, true));
        assert_eq!(look_at(&operator, &later["id"]).await["expiresAt"], instant(1));
        assert_eq!(update(&operator, &later["id"], json!({ "expiresAt": instant(9) })).await["expiresAt"], instant(9));
        assert_eq!(update(&operator, &later["id"], json!({ "clear": ["EXPIRES_AT"] })).await["expiresAt"], instant(1));
    }

    async fn a_live_overview_changes_when_something_expires(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        announce(&operator, json!({ "expiresAt": (app.now() + TimeDelta::hours(1)).to_rfc3339() })).await;
        let node = app.listen().await;
        let query = "subscription { overviewChanged { overview { unread { count } } } }";
        let mut ada = Socket::subscribed(&node.address, &app.user("ada").token, query, json!({})).await;
        assert_eq!(ada.data().await["overviewChanged"]["overview"]["unread"]["count"], 1);
        // Tokens also expire by the test clock.
        app.advance(TimeDelta::minutes(59));
        app.advance(TimeDelta::minutes(1));
        ada.until_unread(0).await;
        drop(ada);
        node.stop().await;
    }
}
