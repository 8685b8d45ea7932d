//! The findings of `tidings doctor`, which must leave nothing behind.

use std::net::TcpListener;

use sea_orm::{ConnectionTrait, Database};
use serde_json::Value;

use crate::support::{KEY, Kind, OwnServer, Process, Redis, SECRET, TestApp, free_port, with};

/// Returns the finding about a subject, and whether it is good.
fn said_of(what: &str, settings: &[(&str, &str)]) -> (bool, String) {
    let (is_content, said, log) = Process::command(&["doctor", "--json"], settings);
    let said: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}{log}"));
    assert_eq!(said["ok"], is_content);
    let findings = said["findings"].as_array().unwrap();
    let found = findings.iter().find(|found| found["what"] == what);
    let found = found.unwrap_or_else(|| panic!("nothing of {what} in {said}"));
    (found["ok"].as_bool().unwrap(), found["found"].as_str().unwrap().to_owned())
}

/// Each problem that keeps a server from working is a finding with its own message.
#[tokio::test]
async fn what_is_named_and_cannot_be_used_is_found() {
    let usual = [("DATABASE_URL", "sqlite::memory:"), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "localhost:0")];
    let nobody = free_port().to_string();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().port().to_string();
    for (what, setting, value, words) in [
        ("log", "TIDINGS_LOG", "verbose", "\"verbose\" must be one of error, warn, info"),
        ("log", "TIDINGS_LOG", "info,tidings=loud", "error parsing level filter"),
        ("log", "TIDINGS_LOG", "", "nothing would be logged"),
        ("log", "TIDINGS_LOG", "off", "nothing would be logged"),
        ("settings", "TIDINGS_ORIGINS", "app.example", "must be * or a scheme and host"),
        ("tokens", "TIDINGS_SECRET", "short", "TIDINGS_SECRET has 5 bytes"),
        ("tokens", "TIDINGS_PREVIOUS_SECRET", "short", "TIDINGS_PREVIOUS_SECRET has 5 bytes"),
        ("tokens", "TIDINGS_JWKS", "/nowhere.json", "/nowhere.json cannot be used: No such file"),
        ("tokens", "TIDINGS_JWKS", &format!("http://127.0.0.1:{nobody}/keys"), "Connection refused"),
        ("redis", "REDIS_URL", &format!("redis://127.0.0.1:{nobody}"), "Connection refused"),
        ("redis", "REDIS_URL", &format!("redis://127.0.0.1:{silent}"), "timed out"),
        ("redis", "REDIS_URL", "http://127.0.0.1", "REDIS_URL cannot be used"),
        ("secrets", "TIDINGS_KEY", "short", "TIDINGS_KEY must be 32 bytes, in base64"),
        (
            "egress",
            "TIDINGS_EGRESS_ALLOW",
            "169.254.0.0/16",
            "TIDINGS_EGRESS_ALLOW has 169.254.0.0/16, which is never allowed",
        ),
        ("egress", "SSL_CERT_FILE", "/nowhere.pem", "the HTTP client cannot be created"),
        ("operations", "TIDINGS_OPERATIONS", "/nowhere.json", "No such file"),
        (
            "database",
            "DATABASE_URL",
            "sqlite:///no/such/folder/a.db?mode=rwc",
            "it cannot be created in /no/such/folder",
        ),
        ("database", "DATABASE_URL", "sqlite:///tmp/no-such-file.db", "does not end in ?mode=rwc"),
        ("database", "DATABASE_URL", "oracle://x", "must begin with sqlite:, postgres: or mysql:"),
        ("database", "DATABASE_URL", &format!("postgres://postgres@127.0.0.1:{nobody}/x"), "Connection refused"),
        (
            "database",
            "TIDINGS_POOLER",
            "transaction",
            "are only for PostgreSQL, but DATABASE_URL names another database",
        ),
        ("database", "TIDINGS_DIRECT_URL", "postgres://127.0.0.1/x", "are only for PostgreSQL"),
        ("address", "TIDINGS_LISTEN", &format!("localhost:{silent}"), "Address already in use"),
    ] {
        let settings: Vec<_> =
            usual.iter().copied().filter(|(name, _)| *name != setting).chain([(setting, value)]).collect();
        let (is_well, said) = said_of(what, &settings);
        assert!(!is_well && said.contains(words), "{setting}={value}: {said}");
    }
    let same = free_port().to_string();
    let same =
        [("TIDINGS_LISTEN", &*format!("127.0.0.1:{same}")), ("TIDINGS_ADMIN_LISTEN", &format!("localhost:{same}"))];
    let (is_well, said) = said_of("settings", &[&usual[..2], &same].concat());
    assert!(!is_well && said.contains("are the same address"), "{said}");
    let (is_well, said) = said_of("tokens", &[usual[0], usual[2]]);
    assert!(!is_well && said.contains("neither TIDINGS_SECRET nor TIDINGS_JWKS is set"), "{said}");
    if let Some(redis) = Redis::start().await {
        let (is_well, said) = said_of("redis", &[&usual[..], &[("REDIS_URL", &redis.url())]].concat());
        assert!(is_well && said.ends_with(" answers"), "{said}");
    }
}

#[test]
fn a_database_that_is_not_there_yet_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("new.db").display());
    let settings = [("DATABASE_URL", &*url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
    let (is_well, said) = said_of("database", &settings);
    assert!(is_well && said.ends_with("new.db?mode=rwc will be created"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_database_that_is_there_is_left_as_it_is() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let settings = [("DATABASE_URL", &*database.url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
    assert!(Process::command(&["migrate"], &settings[..1]).0);
    // SQLite's write-ahead log exists as long as any process has the database open, even if others close it.
    let open = Database::connect(&database.url).await.unwrap();
    open.execute_unprepared("SELECT version FROM seaql_migrations").await.unwrap();
    let path = database.url.strip_prefix("sqlite://").unwrap().split('?').next().unwrap();
    let files = || {
        let folder = std::fs::read_dir(std::path::Path::new(path).parent().unwrap()).unwrap();
        let mut names: Vec<_> = folder.map(|file| file.unwrap().file_name()).collect();
        names.sort();
        (names, std::fs::read(path).unwrap())
    };
    let before = files();
    assert_eq!(said_of("migrations", &settings), (true, "up to date".into()));
    assert!(files() == before, "{:?} rather than {:?}", files().0, before.0);
    open.close().await.unwrap();
}

/// A server exits with such tables, and `serve` says so: an operator has to look.
#[tokio::test]
async fn tables_that_no_migration_has_made_are_found() {
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        for words in [
            "",
            "CREATE TABLE channel (title INT)",
            "DELETE FROM seaql_migrations WHERE version LIKE '%_look_of_types'",
        ] {
            let is_foreign = words.starts_with("CREATE");
            let Some(database) = kind.make().await else { continue };
            let settings =
                [("DATABASE_URL", &*database.url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
            let db = Database::connect(&database.url).await.unwrap();
            if words.starts_with("DELETE") {
                assert!(Process::command(&["migrate"], &settings[..1]).0);
            }
            db.execute_unprepared(if words.is_empty() { "SELECT 1" } else { words }).await.unwrap();
            db.close().await.unwrap();
            let (is_well, said) = said_of("migrations", &settings);
            if words.is_empty() {
                assert!(is_well && said.contains(" pending"), "{said}");
            } else if kind == Kind::Sqlite {
                assert!(
                    !is_well
                        && said
                            .contains("the tables do not match the record of migrations, or belong to another program"),
                    "{said}"
                );
            } else if is_foreign {
                assert!(!is_well && said.contains("has a table channel that no migration has created"), "{said}");
            }
            if !words.is_empty() {
                let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tidings"));
                let ended = command.arg("serve").env_clear().envs(settings).output().unwrap();
                let log = String::from_utf8(ended.stderr).unwrap();
                assert!(
                    ended.status.code() == Some(78) && log.contains("no migration can be applied"),
                    "{kind:?}: {log}"
                );
            }
            database.remove().await;
        }
    }
}

#[tokio::test]
async fn a_file_that_is_damaged_is_found() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let settings = [("DATABASE_URL", &*database.url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
    assert!(Process::command(&["migrate"], &settings[..1]).0);
    let path = database.url.strip_prefix("sqlite://").unwrap().split('?').next().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let end = bytes.len() - 4096;
    bytes[end..].fill(0x5a);
    std::fs::write(path, bytes).unwrap();
    let (is_well, said) = said_of("database", &settings);
    assert!(!is_well && said.contains("test.db is damaged"), "{said}");
}

/// A database user with few connections who may not create tables.
async fn humble(kind: Kind) {
    let Some(server) = OwnServer::start(kind).await else { return };
    let url = server.create("tidings").await;
    let root = Database::connect(&url).await.unwrap();
    let (words, from) = if kind == Kind::Postgres {
        let words = "CREATE USER humble CONNECTION LIMIT 8; REVOKE CREATE ON SCHEMA public FROM PUBLIC; \
            GRANT CONNECT ON DATABASE tidings TO humble";
        (words, "postgres@")
    } else {
        ("CREATE USER humble; SET GLOBAL max_connections = 10; GRANT SELECT, INSERT ON tidings.* TO humble", "root@")
    };
    for words in words.split("; ") {
        root.execute_unprepared(words).await.unwrap();
    }
    let url = url.replace(from, "humble@");
    let settings = [("DATABASE_URL", &*url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
    let (is_well, said) = said_of("migrations", &settings);
    assert!(!is_well && said.contains("this database user may not create tables"), "{said}");
    let (is_well, said) = said_of("connections", &settings);
    assert!(!is_well && said.contains("lower TIDINGS_CONNECTIONS"), "{said}");
    let (is_well, said) = said_of("connections", &[&settings[..], &[("TIDINGS_CONNECTIONS", "4")]].concat());
    assert!(is_well && said.contains("that the database allows"), "{said}");
}

#[tokio::test]
async fn too_few_connections_and_rights_are_found_on_postgres() {
    humble(Kind::Postgres).await;
}

#[tokio::test]
async fn too_few_connections_and_rights_are_found_on_mariadb() {
    humble(Kind::Mysql).await;
}

/// A server that sends nothing needs no certificates.
#[tokio::test]
async fn a_system_that_trusts_nobody_keeps_no_server_from_starting() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let server = Process::start_with(&database.url, &[("SSL_CERT_FILE", "/nowhere.pem")], None).await;
    drop(server);
    database.remove().await;
}

/// Errors of the database server appear without its source locations.
#[tokio::test]
async fn a_database_that_refuses_us_is_quoted_without_its_own_sources() {
    let Some(database) = Kind::Postgres.make().await else { return };
    let other = format!("{}_that_is_not_there", database.url);
    let (_, said) = Process::doctor(&other, &[]);
    assert!(said.contains("_that_is_not_there\" does not exist") && !said.contains("at line"), "{said}");
    database.remove().await;
}

/// The doctor counts a tenant's destinations and tries to decrypt their secrets, but connects to none.
#[tokio::test]
async fn what_goes_out_of_each_tenant_is_looked_at() {
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        with(kind, async |app| {
            let url = app.app.config.database.url().to_owned();
            let other = "08".repeat(32);
            let settings = |key: &'static str, value: &str| {
                let all = [("DATABASE_URL", &*url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0"), (key, value)];
                all.map(|(key, value)| (key, value.to_owned()))
            };
            let said = |what: &str, settings: &[(&str, String)]| {
                let settings: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (*key, &**value)).collect();
                said_of(what, &settings)
            };
            for _ in 0..3 {
                let create = "mutation { createWebhookEndpoint(input: { url: \"https://127.0.0.1:1/\" }) { secret } }";
                app.admin().ask(create, serde_json::json!({})).await;
            }
            let relay = "mutation { saveMailRelay(input: { url: \"smtp://ada:hunter2@127.0.0.1:1?tls=none\", from: \"a@b.example\" }) { id } }";
            app.admin().ask(relay, serde_json::json!({})).await;
            app.stranger("operator", auth::CallerRole::Admin).ask(relay, serde_json::json!({})).await;
            let first = "(SELECT id FROM (SELECT MIN(id) AS id FROM lane) AS first)";
            app.by_hand(&format!("UPDATE lane SET state = 2 WHERE id = {first}")).await;
            app.by_hand(&format!("UPDATE lane SET open_until = 9000000000000 WHERE id = {first} + 1")).await;
            let ours = "3 webhook endpoints (1 disabled, 1 resting), 1 mail relay (0 disabled, 0 resting)";
            let (is_well, found) = said("tenant acme", &settings("TIDINGS_KEY", KEY));
            assert!(is_well && found == format!("{ours}; their secrets can be decrypted"), "{found}");
            for set in [settings("TIDINGS_KEY", &other), settings("TIDINGS_LOG", "info")] {
                let (is_well, found) = said("tenant acme", &set);
                assert!(!is_well && found.contains(&format!("{ours}; of 4 secrets 4 cannot be decrypted: ")), "{found}");
                assert!(!said("tenant globex", &set).0 && !found.contains("hunter2"));
            }
        })
        .await;
    }
}

/// Other encodings cannot store most texts, or sort them differently. Neither a server nor a command starts with such a
/// database.
#[tokio::test]
async fn a_database_that_does_not_keep_text_as_utf_8_is_refused_in_words() {
    let latin = async |server: &sea_orm::DatabaseConnection, _: &str, name: &str| {
        let how = "ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'";
        server.execute_unprepared(&format!("CREATE DATABASE {name} {how}")).await.unwrap();
    };
    let mut refused = Vec::new();
    let postgres = Kind::Postgres.make_by(latin).await;
    if let Some(database) = &postgres {
        refused.push((database.url.clone(), "the database is encoded in LATIN1, which cannot store most texts"));
    }
    let mysql = Kind::Mysql.make().await;
    if let Some(database) = &mysql {
        refused.push((format!("{}?charset=latin1", database.url), "the connection uses latin1"));
    }
    let sqlite = Kind::Sqlite.make().await.unwrap();
    let db = Database::connect(&sqlite.url).await.unwrap();
    for words in ["PRAGMA encoding = 'UTF-16le'", "CREATE TABLE other (text TEXT)"] {
        db.execute_unprepared(words).await.unwrap();
    }
    db.close().await.unwrap();
    refused.push((sqlite.url.clone(), "the file is encoded in UTF-16le"));
    for (url, words) in &refused {
        let settings = [("DATABASE_URL", &**url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
        let (is_well, said) = said_of("database", &settings);
        assert!(!is_well && said.contains(words), "{url}: {said}");
        for command in [&["migrate"][..], &["serve"]] {
            let (is_well, _, log) = Process::command(command, &settings);
            assert!(!is_well && log.contains(words), "{command:?} with {url}: {log}");
        }
    }
    for database in postgres.into_iter().chain(mysql) {
        database.remove().await;
    }
}

/// The tables declare their character set themselves.
#[tokio::test]
async fn a_mysql_database_of_another_character_set_keeps_any_text() {
    let latin = async |server: &sea_orm::DatabaseConnection, _: &str, name: &str| {
        server.execute_unprepared(&format!("CREATE DATABASE {name} CHARACTER SET latin1")).await.unwrap();
    };
    let Some(database) = Kind::Mysql.make_by(latin).await else { return };
    let app = TestApp::start(&database.url).await;
    app.admin().define_type("通知").await;
    app.service().message("通知", "用户 😀", "標題 😀").await;
    assert_eq!(app.user("用户 😀").overview().await, ["通知: 1 (標題 😀)", "= 1"]);
    app.app.db.close().await;
    database.remove().await;
}
