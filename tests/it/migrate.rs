//! Migrations: up, down, and up again.

use serde_json::json;

use crate::support::{Kind, TestApp, everyone};

async fn there_and_back(kind: Kind) {
    crate::support::with(kind, async |app| {
        app.admin().define_type("release").await;
        app.service().announce("release", everyone(), "gone with the tables").await;
        let db = &app.app.db;
        db.unmigrate().await.unwrap();
        assert!(db.pending_migrations().await.unwrap() > 0);
        db.migrate().await.unwrap();
        db.migrate().await.unwrap();
        assert_eq!(db.pending_migrations().await.unwrap(), 0);
        let anew = TestApp::start(app.app.config.database.url()).await;
        assert_eq!(anew.admin().ask("{ messageTypes { code } }", json!({})).await["messageTypes"], json!([]));
        anew.admin().define_type("release").await;
        assert_eq!(anew.user("ada").overview().await, ["release: 0 (-)", "= 0"]);
    })
    .await;
}

#[tokio::test]
async fn all_migrations_go_back_and_come_again_on_sqlite() {
    there_and_back(Kind::Sqlite).await;
}

#[tokio::test]
async fn all_migrations_go_back_and_come_again_on_postgres() {
    there_and_back(Kind::Postgres).await;
}

#[tokio::test]
async fn all_migrations_go_back_and_come_again_on_mysql() {
    there_and_back(Kind::Mysql).await;
}
