//! How much one caller may do in a minute.

use axum::http::StatusCode;
use chrono::TimeDelta;
use serde_json::{Value, json};
use tidings::auth::Role;
use tidings::config::Config;

use super::{code, post, raw};
use crate::support::{Kind, with_settings};

fn six_a_minute(settings: &mut Config) {
    settings.limits.rate = 6;
}

#[tokio::test]
async fn a_user_has_so_many_operations_a_minute_and_is_told_when_to_come_back() {
    with_settings(Kind::Sqlite, six_a_minute, async |app| {
        let ada = app.user("ada");
        // Operations count, not requests.
        let (status, _) =
            ada.send("{ viewer { id } groups { code } reasons { code } messageTypes { code } }", json!({})).await;
        assert_eq!(status, StatusCode::OK);
        let (statements, (status, answer)) =
            app.statements_of(ada.send("{ viewer { id } groups { code } reasons { code } }", json!({}))).await;
        assert_eq!((status, statements, code(&answer)), (StatusCode::TOO_MANY_REQUESTS, 0, &json!("RATE_LIMITED")));
        assert_eq!(answer["errors"][0]["extensions"]["retryAfter"], 10);
        assert_eq!(ada.send("{ viewer { id } }", json!({})).await.0, StatusCode::OK);
        let (status, headers, body) =
            raw(app, post(&ada.token, json!({ "query": "{ viewer { id } }" }).to_string())).await;
        assert_eq!((status, headers["retry-after"].to_str().unwrap()), (StatusCode::TOO_MANY_REQUESTS, "10"));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["errors"][0]["message"], "too many operations, try again in 10 s");
        // What does not parse is not for free.
        assert_eq!(ada.send("{", json!({})).await.0, StatusCode::TOO_MANY_REQUESTS);
        app.advance(TimeDelta::seconds(10));
        assert_eq!(ada.send("{ viewer { id } }", json!({})).await.0, StatusCode::OK);
    })
    .await;
}

#[tokio::test]
async fn each_caller_has_his_own_share() {
    with_settings(Kind::Sqlite, six_a_minute, async |app| {
        for _ in 0..6 {
            app.user("ada").send("{ viewer { id } }", json!({})).await;
        }
        assert_eq!(app.user("ada").send("{ viewer { id } }", json!({})).await.0, StatusCode::TOO_MANY_REQUESTS);
        for other in [app.user("ben"), app.stranger("ada", Role::User)] {
            assert_eq!(other.send("{ viewer { id } }", json!({})).await.0, StatusCode::OK);
        }
        for _ in 0..50 {
            assert_eq!(app.service().send("{ groups { code } }", json!({})).await.0, StatusCode::OK);
        }
    })
    .await;
    let both = |settings: &mut Config| settings.limits.staff_rate = 2;
    with_settings(Kind::Sqlite, both, async |app| {
        for status in [StatusCode::OK, StatusCode::OK, StatusCode::TOO_MANY_REQUESTS] {
            assert_eq!(app.service().send("{ groups { code } }", json!({})).await.0, status);
        }
        assert_eq!(app.admin().send("{ groups { code } }", json!({})).await.0, StatusCode::OK);
    })
    .await;
}
