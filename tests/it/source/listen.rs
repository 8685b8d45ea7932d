//! The server receives PostgreSQL's notifications, even after the database was down.

use sea_orm::ConnectionTrait;
use serde_json::json;
use tokio::time::timeout;

use super::with;
use crate::support::{Kind, PATIENCE};

#[tokio::test]
async fn what_is_notified_is_heard_by_all_also_after_a_lost_connection() {
    with(Kind::Postgres, json!({ "channel": "wms \"moved\"" }), async |other| {
        let mut news = other.source().subscribe_notifications().unwrap();
        let mut others = other.source().subscribe_notifications().unwrap();
        let notify = "SELECT pg_notify('wms \"moved\"', 'pallet 7')";
        for round in 0..2 {
            let begun = timeout(PATIENCE, news.recv()).await.unwrap().unwrap();
            assert_eq!(&*begun, "", "something may have been missed before it listened, round {round}");
            other.by_hand(notify).await;
            assert_eq!(&*timeout(PATIENCE, news.recv()).await.unwrap().unwrap(), "pallet 7");
            assert_eq!(&*timeout(PATIENCE, others.recv()).await.unwrap().unwrap(), "");
            assert_eq!(&*timeout(PATIENCE, others.recv()).await.unwrap().unwrap(), "pallet 7");
            let ended = other
                .owner
                .execute_unprepared(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE datname = current_database() AND query LIKE 'LISTEN%'",
                )
                .await;
            assert_eq!(ended.unwrap().rows_affected(), 1, "one connection is for all who hear");
        }
    })
    .await;
}

#[tokio::test]
async fn a_source_without_a_channel_hears_nothing() {
    for kind in [Kind::Postgres, Kind::Sqlite] {
        with(kind, json!({}), async |other| assert!(other.source().subscribe_notifications().is_none())).await;
    }
}
