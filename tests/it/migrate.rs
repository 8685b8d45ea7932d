//! Migrations: up, down, and up again.

use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::json;

use crate::support::{Kind, TestApp, config, everyone};

async fn there_and_back(kind: Kind) {
    crate::support::with(kind, async |app| {
        app.admin().define_type("release").await;
        app.service().announce("release", everyone(), "gone with the tables").await;
        let db = &app.app.db;
        db.revert_migrations().await.unwrap();
        assert!(!db.migration_status().await.unwrap().pending.is_empty());
        db.migrate().await.unwrap();
        db.migrate().await.unwrap();
        assert!(db.migration_status().await.unwrap().pending.is_empty());
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

/// The database file is complete without its write-ahead log, from the first start on.
#[tokio::test]
async fn what_was_migrated_is_in_the_file() {
    let database = Kind::Sqlite.make().await.unwrap();
    let db = store::open(&config(&database.url).database).await.unwrap();
    db.migrate().await.unwrap();
    let file = database.url.strip_prefix("sqlite://").unwrap().split('?').next().unwrap();
    assert_eq!(std::fs::metadata(format!("{file}-wal")).unwrap().len(), 0, "nothing is in the log alone");
    db.close().await;
}

/// Older nodes serve requests during a migration, and lock tables in another order than the migrations do.
#[tokio::test]
async fn migrations_that_lose_to_requests_are_tried_again() {
    crate::support::with(Kind::Postgres, async |app| {
        app.by_hand("ALTER TABLE users DROP COLUMN profile_version").await;
        app.by_hand("ALTER TABLE action DROP COLUMN used_at").await;
        let these = "('m20261122_000016_profile_version', 'm20261122_000017_used_actions')";
        app.by_hand(&format!("DELETE FROM seaql_migrations WHERE version IN {these}")).await;
        let older = app.app.db.begin().await.unwrap();
        // The older transaction waits so long that the migration detects the deadlock first and fails.
        older.execute_unprepared("SET LOCAL deadlock_timeout = '1min'").await.unwrap();
        older.execute_unprepared("LOCK TABLE action IN ROW EXCLUSIVE MODE").await.unwrap();
        let request = async {
            let waits = "SELECT 1 FROM pg_locks WHERE relation = 'action'::regclass AND NOT granted";
            while older.query_one_raw(Statement::from_string(DbBackend::Postgres, waits)).await.unwrap().is_none() {
                tokio::task::yield_now().await;
            }
            older.execute_unprepared("LOCK TABLE users IN ROW EXCLUSIVE MODE").await.unwrap();
            older.commit().await.unwrap();
        };
        let (migrated, ()) = tokio::join!(app.app.db.migrate(), request);
        assert_eq!(migrated.unwrap(), ["m20261122_000016_profile_version", "m20261122_000017_used_actions"]);
        assert!(app.app.db.migration_status().await.unwrap().pending.is_empty());
    })
    .await;
}

/// As when a newer node changes the tables while this one serves.
#[tokio::test]
async fn reads_that_lose_to_changes_of_tables_are_run_again() {
    crate::support::with(Kind::Postgres, async |app| {
        let newer = app.app.db.begin().await.unwrap();
        newer.execute_unprepared("SET LOCAL deadlock_timeout = '1min'").await.unwrap();
        newer.execute_unprepared("LOCK TABLE users IN ACCESS EXCLUSIVE MODE").await.unwrap();
        let statement = |text: &str| Statement::from_string(DbBackend::Postgres, text);
        let (one, all) = (statement("SELECT 1 FROM action, users LIMIT 1"), statement("SELECT 1 FROM action, users"));
        let change = async {
            let waiting = statement("SELECT count(*) FROM pg_locks WHERE relation = 'users'::regclass AND NOT granted");
            let many = async || {
                let row = newer.query_one_raw(waiting.clone()).await.unwrap().unwrap();
                row.try_get_by_index::<i64>(0).unwrap()
            };
            while many().await < 2 {
                tokio::task::yield_now().await;
            }
            newer.execute_unprepared("LOCK TABLE action IN ACCESS EXCLUSIVE MODE").await.unwrap();
            newer.commit().await.unwrap();
        };
        let read = &app.app.db.read;
        let (one, all, ()) = tokio::join!(read.query_one_raw(one), read.query_all_raw(all), change);
        assert!(one.unwrap().is_none() && all.unwrap().is_empty());
    })
    .await;
}
