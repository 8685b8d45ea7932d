//! A database that hangs, is full, takes no writes, or is gone. What cannot be done is refused in time and with words, and what can
//! be done goes on.

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

/// How late an answer may be on a machine that has much else to do.
const LATE: Duration = Duration::from_secs(3);

/// Waits until a node says this of itself.
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

/// The words of a refusal that says the same may succeed later.
fn unavailable(answer: &Value) -> &str {
    assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{answer}");
    answer["errors"][0]["message"].as_str().unwrap()
}

/// Everything that is asked of a database that hangs is refused within 3 s, and readiness says so within 2; afterwards all goes on.
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
    // Some have a connection that has just answered, more wait for one, or for others who share a statement with them.
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
    // By now it is known, and nobody waits.
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

/// What needs no write, and what does, while no writes are taken; `words` say why.
async fn reads_go_on(app: &TestApp, words: &str) {
    // Whoever is behind would be written to. Connections of before may have ended first.
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

/// Ada has read what there is, and ben is behind.
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

/// Lets the database take no writes from connections that are made from now on, and ends those that there are.
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

/// As after a failover to a server that copies another one still.
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

/// A folder with room for so many megabytes, as far as this machine lets us have one.
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

    /// Leaves no room on it.
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

/// A disk without any more room. What is read goes on, and everything does once there is room again. MariaDB is left out: it ends
/// where its disk is full.
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

/// SQLite writes on into a file that nobody will ever find again.
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
            assert!(unavailable(&answer).contains("not in its place any more"), "{what}: {answer}");
            says(app, "not in its place any more").await;
            if what != "its log" {
                let (_, answer) = app.user("newcomer").send(OVERVIEW, json!({})).await;
                assert!(unavailable(&answer).contains("not in its place any more"), "{answer}");
            }
            assert_eq!(app.user("ada").overview().await, ["news: 1 (first)", "= 1"], "what is read goes on");
        })
        .await;
    }
}

/// A database user who may read and write rows, and nothing else.
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

/// What locks the row of a tenant, and that of one of its users.
const TENANT: &str = "UPDATE tenant SET last_seq = last_seq WHERE code = 'acme'";
const ADA: &str = "UPDATE users SET cursor_seq = cursor_seq WHERE external_id = 'ada'";

/// Somebody else's transaction holds a row that many want, on a pool of four. Others do not wait with them.
async fn held(kind: Kind, row: &str) {
    let few = |settings: &mut tidings::config::Config| settings.database.connections = 4;
    with_settings(kind, few, async |app| {
        let is_user = row == ADA;
        let other = TestApp::at(app.app.config.clone(), app.app.clock.clone()).await;
        for user in ["ada", "ben"] {
            app.user(user).ask(MARK, json!({})).await;
        }
        let globex = app.stranger("operator", tidings::auth::Role::Admin);
        globex.define_type("news").await;
        let others: Vec<String> = (0..10).map(|number| format!("user-{number}")).collect();
        for user in &others {
            app.user(user).ask("{ viewer { id } }", json!({})).await;
        }
        if is_user {
            app.admin().define_type("news").await;
            // Everybody is behind.
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
            // Once the stuck have what connections they get.
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
