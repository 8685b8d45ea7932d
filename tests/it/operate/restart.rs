//! The database ends all connections, as on a restart.

use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sea_orm::{ConnectionTrait, Database, DbBackend, Statement};
use serde_json::json;
use tokio::time::sleep;

use crate::support::{Kind, TestApp, with};

/// How long requests may fail because of connections that have ended.
const GRACE: Duration = Duration::from_secs(1);

/// Ends every connection to the test's database but its own.
async fn end_all(app: &TestApp, kind: Kind) {
    let server = Database::connect(app.app.config.database.url()).await.unwrap();
    if kind == Kind::Postgres {
        let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        server.execute_unprepared(all).await.unwrap();
    } else {
        let all = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()";
        for row in server.query_all_raw(Statement::from_string(server.get_database_backend(), all)).await.unwrap() {
            let id: i64 = row.try_get("", "id").unwrap();
            // A connection that has ended by itself cannot be killed.
            let _ = server.execute_unprepared(&format!("KILL {id}")).await;
        }
    }
    server.close().await.unwrap();
}

async fn requests_go_on(kind: Kind) {
    with(kind, async |app| {
        app.admin().define_type("release").await;
        let (ended, failed) = (OnceLock::new(), Mutex::new(Vec::new()));
        let is_over = || ended.get().is_some_and(|ended: &Instant| ended.elapsed() > 3 * GRACE);
        // Some never pause, some let connections idle, and some write.
        let ask = async |user: &str, what: &str, pause: u64| {
            let (user, mut asked) = (app.user(user), 0);
            while !is_over() {
                let began_at = Instant::now();
                let (_, answer) = user.send(what, json!({})).await;
                if !answer["errors"].is_null() {
                    failed.lock().unwrap().push((began_at, answer["errors"].clone()));
                }
                asked += 1;
                sleep(Duration::from_millis(pause)).await;
            }
            asked
        };
        let read = "{ viewer { overview { unread { count } } } }";
        let write = "mutation { markSeen { viewer { overview { unread { count } } } } }";
        let all = async {
            sleep(GRACE).await;
            end_all(app, kind).await;
            ended.set(Instant::now()).unwrap();
        };
        let asked = tokio::join!(
            ask("ada", read, 0),
            ask("ben", read, 0),
            ask("chris", read, 170),
            ask("dora", read, 430),
            ask("emil", write, 0),
            ask("fay", write, 310),
            all,
        );
        assert!(asked.0 > 10 && asked.4 > 10, "{asked:?}");
        let ended = *ended.get().unwrap();
        for (began_at, errors) in failed.into_inner().unwrap() {
            assert_eq!(errors[0]["extensions"]["code"], "UNAVAILABLE", "{errors}");
            assert!(began_at < ended + GRACE, "{:?} after the end: {errors}", began_at - ended);
        }

        // Connections that end while all of them are idle.
        let everybody =
            async || join_all((0..16).map(|_| async { app.user("ada").send(read, json!({})).await.1 })).await;
        everybody().await;
        end_all(app, kind).await;
        sleep(GRACE).await;
        for answer in everybody().await {
            assert!(answer["errors"].is_null(), "{answer}");
        }
    })
    .await;
}

#[tokio::test]
async fn no_request_fails_for_long_once_postgres_has_ended_all_connections() {
    requests_go_on(Kind::Postgres).await;
}

#[tokio::test]
async fn no_request_fails_for_long_once_mysql_has_ended_all_connections() {
    requests_go_on(Kind::Mysql).await;
}

/// If a tenant is newer than the statistics, a plan for specific values reads all its rows. And a table that was empty
/// when it was analyzed is read completely for each row of another table.
#[tokio::test]
async fn nothing_but_keys_has_a_say_in_a_plan_of_postgresql() {
    with(Kind::Postgres, async |app| {
        let (reading, writing) = (&app.app.db.read, app.app.db.begin().await.unwrap());
        for (setting, value) in [
            ("plan_cache_mode", "force_generic_plan"),
            ("enable_seqscan", "off"),
            ("enable_bitmapscan", "off"),
            ("enable_hashjoin", "off"),
            ("jit", "off"),
        ] {
            let show = || Statement::from_string(DbBackend::Postgres, format!("SHOW {setting}"));
            for row in [reading.query_one_raw(show()).await, writing.query_one_raw(show()).await] {
                assert_eq!(row.unwrap().unwrap().try_get_by_index::<String>(0).unwrap(), value, "{setting}");
            }
        }
        writing.rollback().await.unwrap();
    })
    .await;
}

/// Without these options, SQLite prepares statements again on each run, and connections contend for its memory
/// statistics.
#[tokio::test]
async fn sqlite_is_compiled_as_the_repository_says() {
    with(Kind::Sqlite, async |app| {
        let asked = Statement::from_string(DbBackend::Sqlite, "PRAGMA compile_options");
        let rows = app.app.db.read.query_all_raw(asked).await.unwrap();
        let options: Vec<String> = rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect();
        for option in ["ENABLE_QPSG", "DEFAULT_MEMSTATUS=0"] {
            assert!(options.iter().any(|of| of == option), "{option} is not in {options:?}, see .cargo/config.toml");
        }
        for option in ["ENABLE_STAT4", "ENABLE_MEMORY_MANAGEMENT"] {
            assert!(!options.iter().any(|of| of == option), "{option} is in {options:?}, see .cargo/config.toml");
        }
    })
    .await;
}
