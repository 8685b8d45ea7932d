//! While a transaction holds a lock on a user's row, the sessions of others continue. The user's sessions get
//! everything once it is released.

use sea_orm::ConnectionTrait;
use serde_json::json;

use crate::support::{Kind, Socket, TestApp, everyone, with};

const HOLD: &str = "UPDATE users SET cursor_seq = cursor_seq WHERE external_id = 'ada'";

async fn held(kind: Kind) {
    with(kind, async |app| {
        app.admin().define_type("news").await;
        let node = app.listen().await;
        let mut ada = Socket::feed(&node.address, &app.user("ada").token, json!({})).await;
        let mut bob = Socket::feed(&node.address, &app.user("bob").token, json!({})).await;
        let mut overviews = Socket::open(&node.address, &app.user("bob").token).await;
        overviews.subscribe("o", "subscription { overviewChanged { overview { unread { count } } } }", json!({})).await;
        overviews.data().await;
        app.service().announce("news", everyone(), "before").await;
        assert_eq!((ada.title().await, bob.title().await), ("before".into(), "before".into()));

        let other = TestApp::at(app.app.config.clone(), app.app.clock.clone()).await;
        let holder = other.app.db.begin().await.unwrap();
        holder.execute_unprepared(HOLD).await.unwrap();
        for number in 0..5 {
            let title = format!("meanwhile {number}");
            app.service().announce("news", everyone(), &title).await;
            assert_eq!(bob.title().await, title);
        }
        // New sessions work during the lock, too.
        let mut eve = Socket::feed(&node.address, &app.user("eve").token, json!({})).await;
        app.service().message("news", "eve", "to eve").await;
        while eve.title().await != "to eve" {}
        while overviews.data().await["overviewChanged"]["overview"]["unread"]["count"] != 6 {}
        assert!(ada.is_silent(1).await);
        holder.rollback().await.unwrap();
        for number in 0..5 {
            assert_eq!(ada.title().await, format!("meanwhile {number}"));
        }
        drop((ada, bob, eve, overviews));
        node.stop().await;
        other.app.db.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_user_whose_row_is_held_keeps_no_session_of_others_waiting_on_postgres() {
    held(Kind::Postgres).await;
}

#[tokio::test]
async fn a_user_whose_row_is_held_keeps_no_session_of_others_waiting_on_mysql() {
    held(Kind::Mysql).await;
}
