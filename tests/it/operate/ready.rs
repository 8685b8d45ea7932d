//! Whether a balancer should send requests to a node.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use sea_orm::ConnectionTrait;
use tower::ServiceExt;

use crate::support::{Kind, TestApp, on_every_database, with};

pub async fn ready(app: &TestApp) -> (StatusCode, String) {
    let request = Request::get("/readyz").body(Body::empty()).unwrap();
    let response = app.routes.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

on_every_database! {
    async fn a_node_is_ready_where_no_migration_is_missing(app) {
        assert_eq!(ready(app).await, (StatusCode::OK, "ready\n".into()));
        app.app.db.revert_migrations().await.unwrap();
        assert_eq!(ready(app).await, (StatusCode::SERVICE_UNAVAILABLE, "the database is not migrated\n".into()));
        app.app.db.migrate().await.unwrap();
        assert_eq!(ready(app).await, (StatusCode::OK, "ready\n".into()));
    }
}

#[tokio::test]
async fn a_node_is_ready_while_it_writes() {
    with(Kind::Sqlite, async |app| {
        // Blocks all other writes until it ends.
        let busy = app.app.db.begin().await.unwrap();
        assert_eq!(ready(app).await.0, StatusCode::OK);
        busy.rollback().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_node_is_ready_while_its_database_is_busy() {
    with(Kind::Postgres, async |app| {
        app.admin().define_type("news").await;
        // Queries of the migrations get no response in time; other queries do.
        let busy = app.app.db.begin().await.unwrap();
        busy.execute_unprepared("LOCK TABLE seaql_migrations IN ACCESS EXCLUSIVE MODE").await.unwrap();
        let asked = async {
            for _ in 0..3 {
                assert_eq!(ready(app).await, (StatusCode::OK, "ready\n".into()));
            }
        };
        let load = async {
            loop {
                app.user("ada").overview().await;
            }
        };
        tokio::select! {
            () = asked => {}
            () = load => {}
        }
        busy.rollback().await.unwrap();
    })
    .await;
}
