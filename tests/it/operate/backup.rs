//! Backups of a database in use, and the server's behaviour after a restore.

use std::collections::HashSet;
use std::process::{Command, Stdio};

use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::{Value, json};

use crate::support::{ITEMS, Kind, Process, SECRET, Socket, TestApp, everyone, everything_must_be_tested};

const SEND: &str =
    "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { notification { id } } }";

/// Sends an announcement to everyone per title; returns the ids.
async fn send(app: &TestApp, titles: impl Iterator<Item = String>) -> Vec<Value> {
    let input =
        |title| json!({ "announcement": { "type": "news", "audience": everyone(), "content": { "title": title } } });
    let inputs: Vec<Value> = titles.map(input).collect();
    let mut ids = Vec::with_capacity(inputs.len());
    for inputs in inputs.chunks(1000) {
        let sent = app.service().ask(SEND, json!({ "inputs": inputs })).await;
        ids.extend(sent["sendNotifications"].as_array().unwrap().iter().map(|sent| sent["notification"]["id"].clone()));
    }
    ids
}

/// A backup contains everything acknowledged before it began, and is consistent despite concurrent writes.
#[tokio::test]
async fn a_copy_has_all_that_was_acknowledged_before_it_was_begun() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let app = TestApp::start(&database.url).await;
    app.admin().define_type("news").await;
    let node = app.listen().await;
    let acknowledged = std::sync::atomic::AtomicUsize::new(0);
    let copies = async {
        let mut copies = Vec::new();
        for number in 0..20 {
            let target = folder.path().join(format!("{number}.db"));
            let before = acknowledged.load(std::sync::atomic::Ordering::SeqCst);
            let (url, shown) = (database.url.clone(), target.display().to_string());
            let done =
                tokio::task::spawn_blocking(move || Process::command(&["backup", &shown], &[("DATABASE_URL", &url)]));
            let (is_done, said, log) = done.await.unwrap();
            assert!(is_done && said.contains(" bytes, 1 tenants, "), "{said}{log}");
            copies.push((target, before));
        }
        copies
    };
    let sends = async {
        for number in 0.. {
            send(&app, (0..10).map(|part| format!("{number}.{part}"))).await;
            acknowledged.fetch_add(10, std::sync::atomic::Ordering::SeqCst);
        }
    };
    let copies = tokio::select! {
        copies = copies => copies,
        () = sends => unreachable!("it goes on until the copies are made"),
    };
    node.stop().await;
    assert!(copies.last().unwrap().1 > 0, "nothing was sent meanwhile");
    for (target, before) in copies {
        let url = format!("sqlite://{}", target.display());
        let (is_content, said) = Process::doctor(&url, &[]);
        assert!(is_content, "{said}");
        let copy = TestApp::start(&url).await;
        let ada = copy.user("ada").ask("{ viewer { overview { unread { count } } } }", json!({})).await;
        let unread = usize::try_from(ada["viewer"]["overview"]["unread"]["count"].as_u64().unwrap()).unwrap();
        assert!(unread >= before && unread.is_multiple_of(10), "{unread} of {before}");
        copy.app.db.close().await;
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(target).unwrap().permissions()) & 0o777,
            0o600
        );
    }
    app.app.db.close().await;
}

#[tokio::test]
async fn a_copy_takes_nothings_place_and_leaves_nothing_unfinished() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    assert!(Process::command(&["migrate"], &[("DATABASE_URL", &database.url)]).0);
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there.db");
    std::fs::write(&there, "something else").unwrap();
    let missing = format!("sqlite://{}", folder.path().join("missing.db").display());
    let backup = |target: &std::path::Path, url: &str| {
        let (is_done, _, log) = Process::command(&["backup", target.to_str().unwrap()], &[("DATABASE_URL", url)]);
        assert!(!is_done);
        log
    };
    assert!(backup(&there, &database.url).contains("there.db already exists"));
    assert_eq!(std::fs::read(&there).unwrap(), b"something else");
    assert!(backup(&folder.path().join("new.db"), &missing).contains("missing.db: unable to open database file"));
    assert!(
        backup(&folder.path().join("no/new.db"), &database.url)
            .contains("new.db cannot be created: there is no folder")
    );
    assert!(backup(&folder.path().join("new.db"), "postgres://postgres@127.0.0.1/x").contains("only SQLite databases"));
    for suffix in ["-journal", "-wal", "-shm", "-serve", "-use"] {
        let path = format!("{}{suffix}", database.url.strip_prefix("sqlite://").unwrap().split('?').next().unwrap());
        let _ = std::fs::remove_file(&path);
        assert!(backup(path.as_ref(), &database.url).contains("cannot be the name of a database"));
    }
    let foreign = format!("sqlite://{}", there.display());
    assert!(backup(&folder.path().join("new.db"), &foreign).contains("there.db: file is not a database"));
    std::fs::write(&there, "").unwrap();
    assert!(backup(&folder.path().join("new.db"), &foreign).contains("there.db is not a database of Tidings"));
    let damaged = folder.path().join("damaged.db");
    let mut bytes = std::fs::read(database.url.strip_prefix("sqlite://").unwrap().split('?').next().unwrap()).unwrap();
    // A single page might be unused, so damage a quarter of the file.
    let (quarter, half) = (bytes.len() / 4, bytes.len() / 2);
    bytes[quarter..half].fill(0x5a);
    std::fs::write(&damaged, bytes).unwrap();
    backup(&folder.path().join("new.db"), &format!("sqlite://{}", damaged.display()));
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["damaged.db", "there.db"]);
}

/// After a killed backup, the next one succeeds. Files of others stay.
#[tokio::test]
async fn a_copy_that_was_cut_off_is_in_nobodys_way() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    assert!(Process::command(&["migrate"], &[("DATABASE_URL", &database.url)]).0);
    let folder = tempfile::tempdir().unwrap();
    let (target, part) = (folder.path().join("new.db"), folder.path().join("new.db.part"));
    let backup = || Process::command(&["backup", target.to_str().unwrap()], &[("DATABASE_URL", &database.url)]);
    std::fs::write(&part, "somebody's own").unwrap();
    let (is_done, _, log) = backup();
    assert!(!is_done && log.contains("new.db.part is in the way"), "{log}");
    assert_eq!(std::fs::read(&part).unwrap(), b"somebody's own");
    std::fs::write(&part, "SQLite format 3\0and a half").unwrap();
    std::fs::write(folder.path().join("new.db.part-journal"), "of it").unwrap();
    let other = std::fs::File::open(&part).unwrap();
    other.lock().unwrap();
    let (is_done, _, log) = backup();
    assert!(!is_done && log.contains("new.db is being written by another process"), "{log}");
    drop(other);
    let (is_done, _, log) = backup();
    assert!(is_done, "{log}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["new.db"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_copy_that_is_told_to_stop_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source.db"), folder.path().join("new.db"));
    let url = format!("sqlite://{}?mode=rwc", source.display());
    let holder = sea_orm::Database::connect(&url).await.unwrap();
    holder.execute_unprepared("CREATE TABLE tenant (id)").await.unwrap();
    // A reader waits for some seconds.
    let txn = sea_orm::TransactionTrait::begin(&holder).await.unwrap();
    txn.execute_unprepared("COMMIT; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE").await.unwrap();
    for signal in ["-INT", "-TERM", "-HUP"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.arg("backup").arg(&target).env_clear().env("DATABASE_URL", &url).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        while !folder.path().join("new.db.part").exists() {
            tokio::task::yield_now().await;
        }
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        let log = String::from_utf8(ended.stderr).unwrap();
        assert!(
            ended.status.code() == Some(1) && log.contains("stopped before the copy was complete"),
            "{signal}: {log}"
        );
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["source.db"]);
}

/// Copies a database with the tools that operators use. `None` if a program is missing.
fn copied(kind: Kind, from: &str, to: &str) -> Option<()> {
    let run = |words: &str| Command::new("sh").args(["-c", words]).stdout(Stdio::null()).status().unwrap().success();
    let name = |url: &str| url.rsplit_once('/').unwrap().1.to_owned();
    let is_done = match kind {
        Kind::Sqlite => {
            let target = to.strip_prefix("sqlite://").unwrap().split('?').next().unwrap();
            Process::command(&["backup", target], &[("DATABASE_URL", from)]).0
        }
        Kind::Postgres => run(&format!("pg_dump '{from}' | psql -q '{to}'")),
        Kind::Mysql => {
            let at = "-h127.0.0.1 -uroot";
            run(&format!("mariadb-dump {at} --single-transaction {} | mariadb {at} {}", name(from), name(to)))
        }
    };
    assert!(is_done || !everything_must_be_tested(), "{kind:?} cannot be copied, and TIDINGS_TEST_ALL=1");
    is_done.then_some(())
}

async fn restored(kind: Kind) {
    let (Some(lost), Some(kept)) = (kind.make().await, kind.make().await) else { return };
    let app = TestApp::start(&lost.url).await;
    app.admin().define_type("news").await;
    let old = send(&app, (0..10).map(|number| format!("before {number}"))).await;
    let group = |app, code: &str| {
        let save = "mutation($code: ID!) { saveUserGroup(code: $code) { id } }";
        let app: &TestApp = app;
        let code = code.to_owned();
        async move { app.admin().ask(save, json!({ "code": code })).await["saveUserGroup"]["id"].clone() }
    };
    let items = "{ viewer { overview { cursor unread { count } } inbox(first: 100) { nodes { id title } } } }";
    let before = app.user("ada").ask(items, json!({})).await;
    let Some(()) = copied(kind, &lost.url, &kept.url) else { return };

    let sent = send(&app, (0..1000).map(|number| format!("lost {number}"))).await;
    let lost_group = group(&app, "lost").await;
    let after = app.user("ada").ask(items, json!({})).await;
    let newcomer = app.user("newcomer").ask(items, json!({})).await;
    app.app.db.close().await;

    let settings = [("DATABASE_URL", &*kept.url), ("TIDINGS_SECRET", SECRET)];
    let (is_done, _, log) = Process::command(&["restored"], &settings);
    assert!(!is_done && log.contains("--yes"), "{log}");
    let (is_done, said, log) = Process::command(&["restored", "--yes"], &settings);
    assert!(is_done && said.starts_with("raised the numbers of 1 tenants by 10000000"), "{said}{log}");

    let app = TestApp::start(&kept.url).await;
    let new = send(&app, (0..2000).map(|number| format!("new {number}"))).await;
    assert!(new.iter().all(|id| !sent.contains(id)), "a notification has the id of another one");
    assert_ne!(group(&app, "new").await, lost_group);
    // A new user, who must not be mistaken for one created after the copy.
    app.user("somebody").overview().await;
    let node = app.listen().await;

    // Cursors from after the copy are invalid: the server asks the client to start anew. `earlier` is still valid.
    let earlier = &before["viewer"]["overview"]["cursor"];
    for (user, after) in
        [("ada", &after["viewer"]["overview"]["cursor"]), ("newcomer", &newcomer["viewer"]["overview"]["cursor"])]
    {
        let token = app.user(user).token.clone();
        let mut socket = Socket::subscribed(&node.address, &token, ITEMS, json!({ "after": after })).await;
        assert_eq!(socket.hear().await["payload"][0]["extensions"]["field"], "after", "{user}");
    }
    let mut socket =
        Socket::subscribed(&node.address, &app.user("ada").token, ITEMS, json!({ "after": earlier })).await;
    for number in 0..2000 {
        assert_eq!(socket.title().await, format!("new {number}"));
    }
    node.stop().await;

    // No lost id refers to anything else now.
    let unread = async || app.user("ada").ask(items, json!({})).await["viewer"]["overview"]["unread"]["count"].clone();
    assert_eq!(unread().await, 2010);
    let ids = |of: &Value| -> Vec<Value> {
        of["viewer"]["inbox"]["nodes"].as_array().unwrap().iter().map(|node| node["id"].clone()).collect()
    };
    let mark = "mutation($ids: [ID!]!) { markRead(select: { ids: $ids }) { changedCount } }";
    let (known, all) = (ids(&before), ids(&after));
    let lost_ids: Vec<&Value> = all.iter().filter(|id| !known.contains(id)).collect();
    assert!(lost_ids.len() > 50);
    assert_eq!(app.user("ada").ask(mark, json!({ "ids": lost_ids })).await["markRead"]["changedCount"], 0);
    assert_eq!(unread().await, 2010);
    let find = "query($id: ID!) { sentNotification(id: $id) { title } }";
    for id in sent.iter().step_by(100) {
        assert!(app.admin().ask(find, json!({ "id": id })).await["sentNotification"].is_null());
    }
    assert_eq!(
        app.user("ada").ask("query($id: ID!) { node(id: $id) { id } }", json!({ "id": lost_group })).await["node"],
        json!(null)
    );

    // Ids from before the copy still work.
    assert_eq!(app.admin().ask(find, json!({ "id": old[3] })).await["sentNotification"]["title"], "before 3");
    assert_eq!(app.user("ada").ask(mark, json!({ "ids": known })).await["markRead"]["changedCount"], 10);
    assert_eq!(unread().await, 2000);
    domain::counters::update_counters(&app.app).await.unwrap();
    let stats = "query($id: ID!) { sentNotification(id: $id) { stats { deliveredCount readCount audienceSize } } }";
    let counted = app.admin().ask(stats, json!({ "id": old[3] })).await;
    assert_eq!(counted["sentNotification"]["stats"]["readCount"], 1);
    assert!(
        app.admin().ask(stats, json!({ "id": new[0] })).await["sentNotification"]["stats"]["audienceSize"].as_i64()
            >= Some(2)
    );
    generated(&app).await;
    app.app.db.close().await;
    lost.remove().await;
    kept.remove().await;
}

/// Checks that all tables with generated ids are known; the ids of unknown tables would not be advanced.
async fn generated(app: &TestApp) {
    let backend = app.app.db.backend();
    let words = match backend {
        DbBackend::Postgres => {
            "SELECT CAST(table_name AS text) AS name FROM information_schema.columns \
             WHERE table_schema = current_schema() AND column_default LIKE 'nextval(%' OR is_identity = 'YES' AND table_schema = current_schema()"
        }
        DbBackend::MySql => {
            "SELECT table_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND extra LIKE '%auto_increment%'"
        }
        _ => "SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'",
    };
    let rows = app.app.db.read.query_all_raw(Statement::from_string(backend, words)).await.unwrap();
    let found: HashSet<String> = rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect();
    assert_eq!(found, store::GENERATED.map(str::to_owned).into());
}

#[tokio::test]
async fn after_a_restore_nothing_is_skipped_and_nothing_foreign_marked_on_sqlite() {
    restored(Kind::Sqlite).await;
}

#[tokio::test]
async fn after_a_restore_nothing_is_skipped_and_nothing_foreign_marked_on_postgres() {
    restored(Kind::Postgres).await;
}

#[tokio::test]
async fn after_a_restore_nothing_is_skipped_and_nothing_foreign_marked_on_mariadb() {
    restored(Kind::Mysql).await;
}
