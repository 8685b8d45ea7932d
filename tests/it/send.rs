//! Sending: who is reached, once, and what is refused.

use chrono::TimeDelta;
use serde_json::json;

use crate::support::{everyone, on_every_database};

on_every_database! {
    async fn an_announcement_reaches_a_user_who_was_away(app) {
        app.admin().define_type("release").await;
        app.service().announce("release", everyone(), "v2 is out").await;
        app.advance(TimeDelta::days(3));
        assert_eq!(app.user("ada").overview().await, ["release: 1 (v2 is out)", "= 1"]);
    }

    async fn an_announcement_reaches_users_who_are_first_mentioned_within_the_retention_window(app) {
        app.admin().define_type("release").await;
        app.service().announce("release", everyone(), "old").await;
        app.advance(TimeDelta::days(31));
        app.service().announce("release", everyone(), "new").await;
        app.advance(TimeDelta::days(29));
        assert_eq!(app.user("ada").titles(json!({})).await, ["new"]);
    }
}
