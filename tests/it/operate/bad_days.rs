//! A database that hangs, is full, is read-only, or is gone. Requests that cannot succeed fail in time and with a
//! reason; the others continue.

use std::path::PathBuf;
use std::time::Duration;

use axum::http::StatusCode;
use futures_util::future::join_all;
use sea_orm::{ConnectionTrait, Database};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::ready::ready;
use crate::support::{Kind, OwnServer, PATIENCE, Process, TestApp, everyone, with, with_settings};

const OVERVIEW: &str = "{ viewer { overview { unread { count } } } }";
const MARK: &str = "mutation { markSeen { viewer { overview { unread { count } } } } }";

/// How late a response may be on a busy machine.
const LATE: Duration = Duration::from_secs(3);

/// Waits until a node's readiness contains these words.
async fn says(app: &TestApp, words: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let (_, said) = ready(app).await;
        if said.contains(words) {
            return;
        }
        assert!(Instant::now() < until, "{said:?} rather than {words:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Returns the message of an error that says a retry may succeed.
fn unavailable(answer: &Value) -> &str {
    assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{answer}");
    answer["errors"][0]["message"].as_str().unwrap()
}

/// While the database hangs, every request fails within 3 s, and readiness fails within 2 s. Afterwards everything
/// works again.
async fn hangs(kind: Kind) {
    let Some(server) = OwnServer::start(kind).await else { return };
    let url = server.create("tidings").await;
    let app = TestApp::start_with(&url, |settings| settings.database.connections = 4).await;
    app.admin().define_type("news").await;
    app.service().announce("news", everyone(), "before").await;
    let send = "mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { notification { id } } }";
    let input = json!({ "input": { "type": "news", "audience": { "everyone": true }, "content": { "title": "x" } } });
    for user in 0..10 {
        app.user(&format!("user-{user}")).overview().await;
    }
    server.hang();
    let asked = Instant::now();
    // Some requests have a connection that has just responded. More of them wait for a connection, or for others that
    // share a statement with them.
    let read = async |user: usize| {
        let (_, answer) = app.user(&format!("user-{user}")).send(OVERVIEW, json!({})).await;
        unavailable(&answer);
        asked.elapsed()
    };
    let write = async |user: usize| {
        let (_, answer) = app.user(&format!("user-{user}")).send(MARK, json!({})).await;
        unavailable(&answer);
        asked.elapsed()
    };
    let announce = async |_: usize| {
        let (_, answer) = app.service().send(send, input.clone()).await;
        unavailable(&answer);
        asked.elapsed()
    };
    let is_ready = async {
        let (status, said) = ready(&app).await;
        assert_eq!((status, said.as_str()), (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n"));
        asked.elapsed()
    };
    let (reads, writes, sends, readiness) = tokio::join!(
        join_all((0..10).map(read)),
        join_all((0..10).map(write)),
        join_all((0..10).map(announce)),
        is_ready
    );
    let last = reads.iter().chain(&writes).chain(&sends).max().unwrap();
    assert!(*last < Duration::from_secs(3) + LATE, "refused after {last:?}");
    assert!(readiness < Duration::from_secs(2) + LATE, "not ready after {readiness:?}");
    // The node knows by now, and fails at once.
    let again = Instant::now();
    let (_, answer) = app.user("user-1").send(OVERVIEW, json!({})).await;
    unavailable(&answer);
    assert!(again.elapsed() < LATE);
    server.go_on();
    says(&app, "ready").await;
    let until = Instant::now() + PATIENCE;
    while !app.user("user-1").send(OVERVIEW, json!({})).await.1["errors"].is_null() {
        assert!(Instant::now() < until, "it answers again");
        sleep(Duration::from_millis(50)).await;
    }
    app.service().announce("news", everyone(), "after").await;
    assert_eq!(app.user("user-1").titles(json!({})).await[0], "after");
    app.app.db.close().await;
}

#[tokio::test]
async fn nobody_waits_for_a_postgres_that_hangs() {
    hangs(Kind::Postgres).await;
}

#[tokio::test]
async fn nobody_waits_for_a_mariadb_that_hangs() {
    hangs(Kind::Mysql).await;
}

/// Checks requests with and without a write while the database accepts no writes; `words` give the reason.
async fn reads_go_on(app: &TestApp, words: &str) {
    // To read, a user with a cursor behind the log needs a write. Connections from before may have to fail first.
    let until = Instant::now() + PATIENCE;
    while !unavailable(&app.user("ben").send(OVERVIEW, json!({})).await.1).contains(words) {
        assert!(Instant::now() < until, "{words}");
        sleep(Duration::from_millis(50)).await;
    }
    says(app, words).await;
    assert_eq!(app.user("ada").titles(json!({})).await, ["first"]);
    assert_eq!(app.user("ada").overview().await, ["news: 1 (first)", "= 1"]);
    app.user("ada").ask("{ viewer { user { id } preferences { types { code } } groups { code } } }", json!({})).await;
    let (_, answer) = app.user("ada").send(MARK, json!({})).await;
    assert!(unavailable(&answer).contains(words), "{answer}");
    let (_, answer) = app.user("newcomer").send(OVERVIEW, json!({})).await;
    assert!(unavailable(&answer).contains(words), "{answer}");
}

/// Ada has read everything, and ben is behind.
async fn prepared(app: &TestApp) {
    app.admin().define_type("news").await;
    app.user("ben").overview().await;
    app.service().announce("news", everyone(), "first").await;
    assert_eq!(app.user("ada").titles(json!({})).await, ["first"]);
}

async fn everything_goes_on(app: &TestApp) {
    says(app, "ready").await;
    assert_eq!(app.user("ben").titles(json!({})).await, ["first"]);
    app.service().announce("news", everyone(), "second").await;
    assert_eq!(app.user("newcomer").titles(json!({})).await, ["second", "first"]);
}

/// Makes new connections to the database read-only or not, and ends the existing ones.
async fn read_only(app: &TestApp, is_read_only: bool) {
    let (server, database) = app.app.config.database.url().rsplit_once('/').unwrap();
    let server = Database::connect(format!("{server}/postgres")).await.unwrap();
    for words in [
        format!("ALTER DATABASE {database} SET default_transaction_read_only = {is_read_only}"),
        format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"),
    ] {
        server.execute_unprepared(&words).await.unwrap();
    }
    server.close().await.unwrap();
}

/// As after a failover to a server that is still a standby.
#[tokio::test]
async fn a_read_only_postgres_is_read() {
    with(Kind::Postgres, async |app| {
        prepared(app).await;
        read_only(app, true).await;
        reads_go_on(app, "the database is read-only").await;
        read_only(app, false).await;
        everything_goes_on(app).await;
    })
    .await;
}

#[tokio::test]
async fn a_read_only_mariadb_is_read() {
    let Some(server) = OwnServer::start(Kind::Mysql).await else { return };
    let url = server.create("tidings").await;
    let root = Database::connect(&url).await.unwrap();
    root.execute_unprepared("CREATE USER tidings").await.unwrap();
    root.execute_unprepared("GRANT ALL ON tidings.* TO tidings").await.unwrap();
    let app = TestApp::start(&url.replace("root@", "tidings@")).await;
    prepared(&app).await;
    root.execute_unprepared("SET GLOBAL read_only = 1").await.unwrap();
    reads_go_on(&app, "the database is read-only").await;
    root.execute_unprepared("SET GLOBAL read_only = 0").await.unwrap();
    everything_goes_on(&app).await;
    app.app.db.close().await;
}

/// A folder with room for this many megabytes, if this machine permits such a mount.
struct Disk(tempfile::TempDir);

impl Disk {
    fn of(megabytes: usize) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let mount =
            std::process::Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        if mount.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self(folder));
        }
        #[expect(clippy::print_stderr, reason = "it tells whoever runs the tests what they left out")]
        {
            eprintln!("LEFT OUT: no file system can be mounted");
        }
        None
    }

    /// Fills the disk completely.
    fn fill(&self) -> PathBuf {
        let (path, mut size) = (self.0.path().join("filler"), 1 << 20);
        let mut file = std::fs::File::create(&path).unwrap();
        while size > 0 {
            if std::io::Write::write(&mut file, &vec![0; size]).is_err() {
                size /= 2;
            }
        }
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

/// A full disk: reads continue, and everything works once there is space again. MariaDB is left out, since it exits
/// when its disk is full.
async fn full(kind: Kind) {
    let Some(disk) = Disk::of(if kind == Kind::Sqlite { 16 } else { 300 }) else { return };
    let folder = disk.0.path().join("server");
    std::fs::create_dir(&folder).unwrap();
    let (url, _server) = if kind == Kind::Sqlite {
        (format!("sqlite://{}?mode=rwc", folder.join("test.db").display()), None)
    } else {
        let Some(server) = OwnServer::start_in(kind, &folder).await else { return };
        (server.create("tidings").await, Some(server))
    };
    let app = TestApp::start(&url).await;
    prepared(&app).await;
    app.admin().ask("mutation { saveUserGroup(code: \"nobody\") { code } }", json!({})).await;
    let filler = disk.fill();
    let content = json!({ "title": "x", "body": "y".repeat(9000) });
    let announcement =
        json!({ "announcement": { "type": "news", "audience": { "groups": ["nobody"] }, "content": content } });
    let send =
        "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { notification { id } } }";
    let inputs: Vec<Value> = std::iter::repeat_n(announcement, 50).collect();
    let until = Instant::now() + PATIENCE;
    let words = loop {
        let (_, answer) = app.service().send(send, json!({ "inputs": inputs })).await;
        if !answer["errors"].is_null() {
            break unavailable(&answer).to_owned();
        }
        assert!(Instant::now() < until, "it has room without end");
    };
    assert!(words.contains("the database is full"), "{words}");
    says(&app, "the database is full").await;
    assert_eq!(app.user("ada").overview().await, ["news: 1 (first)", "= 1"]);
    assert_eq!(app.user("ada").titles(json!({})).await, ["first"]);
    std::fs::remove_file(filler).unwrap();
    everything_goes_on(&app).await;
    app.app.db.close().await;
}

#[tokio::test]
async fn a_full_sqlite_is_read() {
    full(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_full_postgres_is_read() {
    full(Kind::Postgres).await;
}

/// SQLite continues to write into a deleted file, which cannot be found again.
#[tokio::test]
async fn nothing_is_acknowledged_into_a_file_that_was_deleted() {
    for what in ["deleted", "replaced", "its log"] {
        with(Kind::Sqlite, async |app| {
            prepared(app).await;
            let url = app.app.config.database.url();
            let path = url.strip_prefix("sqlite://").unwrap().split('?').next().unwrap();
            match what {
                "deleted" => std::fs::remove_file(path).unwrap(),
                "replaced" => {
                    std::fs::copy(path, format!("{path}.copy")).unwrap();
                    std::fs::rename(format!("{path}.copy"), path).unwrap();
                }
                _ => std::fs::remove_file(format!("{path}-wal")).unwrap(),
            }
            let (_, answer) = app.user("ada").send(MARK, json!({})).await;
            assert!(unavailable(&answer).contains("file was moved or replaced"), "{what}: {answer}");
            says(app, "file was moved or replaced").await;
            if what != "its log" {
                let (_, answer) = app.user("newcomer").send(OVERVIEW, json!({})).await;
                assert!(unavailable(&answer).contains("file was moved or replaced"), "{answer}");
            }
            assert_eq!(app.user("ada").overview().await, ["news: 1 (first)", "= 1"], "what is read goes on");
        })
        .await;
    }
}

/// A database user who may only read and write rows.
async fn humble(kind: Kind) {
    let Some(server) = OwnServer::start(kind).await else { return };
    let url = server.create("tidings").await;
    TestApp::start(&url).await.app.db.close().await;
    let root = Database::connect(&url).await.unwrap();
    let (words, from) = if kind == Kind::Postgres {
        (
            "CREATE USER humble; REVOKE CREATE ON SCHEMA public FROM PUBLIC; REVOKE ALL ON DATABASE tidings FROM PUBLIC; \
          GRANT CONNECT ON DATABASE tidings TO humble; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO humble; \
          GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO humble",
            "postgres@",
        )
    } else {
        ("CREATE USER humble; GRANT SELECT, INSERT, UPDATE, DELETE ON tidings.* TO humble", "root@")
    };
    for words in words.split("; ") {
        root.execute_unprepared(words).await.unwrap();
    }
    let process = Process::start(&url.replace(from, "humble@")).await;
    let answer = reqwest::get(format!("http://{}/readyz", process.address)).await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "ready\n");
    let app = TestApp::start(&url.replace(from, "humble@")).await;
    prepared(&app).await;
    app.app.db.close().await;
}

#[tokio::test]
async fn a_user_who_may_make_no_tables_serves_a_migrated_postgres() {
    humble(Kind::Postgres).await;
}

#[tokio::test]
async fn a_user_who_may_make_no_tables_serves_a_migrated_mariadb() {
    humble(Kind::Mysql).await;
}

/// Statements that lock the row of a tenant, and of one of its users.
const TENANT: &str = "UPDATE tenant SET last_seq = last_seq WHERE code = 'acme'";
const ADA: &str = "UPDATE users SET cursor_seq = cursor_seq WHERE external_id = 'ada'";

/// Another transaction locks a row that many requests need, with a pool of four. Other requests do not wait with them.
async fn held(kind: Kind, row: &str) {
    let few = |settings: &mut base::config::ServerConfig| settings.database.connections = 4;
    with_settings(kind, few, async |app| {
        let is_user = row == ADA;
        let other = TestApp::at(app.app.config.clone(), app.app.clock.clone()).await;
        for user in ["ada", "ben"] {
            app.user(user).ask(MARK, json!({})).await;
        }
        let globex = app.stranger("operator", auth::CallerRole::Admin);
        globex.define_type("news").await;
        let others: Vec<String> = (0..10).map(|number| format!("user-{number}")).collect();
        for user in &others {
            app.user(user).ask("{ viewer { id } }", json!({})).await;
        }
        if is_user {
            app.admin().define_type("news").await;
            // All users are behind.
            app.service().announce("news", everyone(), "first").await;
        }
        let holder = other.app.db.begin().await.unwrap();
        holder.execute_unprepared(row).await.unwrap();
        let stuck = async |number: usize| {
            let (actor, query) = if is_user {
                (app.user("ada"), if number.is_multiple_of(2) { MARK } else { OVERVIEW }.to_owned())
            } else {
                let query = "mutation { saveMessageType(input: { code: \"tCODE\", title: \"T\" }) { code } }";
                (app.admin(), query.replace("CODE", &number.to_string()))
            };
            let (_, answer) = actor.send(&query, json!({})).await;
            unavailable(&answer);
        };
        let free = async {
            // Wait until the blocked requests have all connections they can get.
            let until = Instant::now() + PATIENCE;
            while app.app.metrics.in_flight.get() < 12 {
                assert!(Instant::now() < until, "they are under way");
                sleep(Duration::from_millis(5)).await;
            }
            for (number, user) in others.iter().enumerate() {
                globex.define_type(&format!("type-{number}")).await;
                if is_user {
                    app.user("ben").ask(MARK, json!({})).await;
                }
                let unread = format!("= {}", i32::from(is_user));
                assert_eq!(app.user(user).overview().await.last(), Some(&unread));
            }
        };
        tokio::join!(join_all((0..12).map(stuck)), free);
        holder.rollback().await.unwrap();
        app.user("ada").ask(MARK, json!({})).await;
        app.admin().define_type("later").await;
        other.app.db.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_tenant_whose_row_is_held_keeps_nobody_else_waiting_on_postgres() {
    held(Kind::Postgres, TENANT).await;
}

#[tokio::test]
async fn a_tenant_whose_row_is_held_keeps_nobody_else_waiting_on_mysql() {
    held(Kind::Mysql, TENANT).await;
}

#[tokio::test]
async fn a_user_whose_row_is_held_keeps_nobody_else_waiting_on_postgres() {
    held(Kind::Postgres, ADA).await;
}

#[tokio::test]
async fn a_user_whose_row_is_held_keeps_nobody_else_waiting_on_mysql() {
    held(Kind::Mysql, ADA).await;
}
