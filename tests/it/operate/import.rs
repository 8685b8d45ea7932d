//! Imports from a tenant's previous tables.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use base::clock::{Clock, to_date_time};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::counters;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use crate::support::{OVERVIEWS, PATIENCE, Process, SECRET, Socket, TestApp, on_every_database};

/// The same app with the machine's clock, which the command uses.
async fn of_today(app: &TestApp) -> TestApp {
    let app = TestApp::at(app.app.config.clone(), Clock::System).await;
    app.admin().define_type("news").await;
    app.admin().define(json!({ "code": "offer", "title": "offer", "ttlSeconds": 864_000 })).await;
    app
}

/// The time this many days before the start of the tests, in whole seconds.
fn ago(days: i64) -> DateTime<Utc> {
    static NOW: OnceLock<i64> = OnceLock::new();
    to_date_time(*NOW.get_or_init(|| Clock::System.now() / 1000 * 1000)) - TimeDelta::days(days)
}

fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Runs the command with a file of this name and content. Returns its output in either case, without the file's folder.
fn import(app: &TestApp, name: &str, of: &str, further: &[&str]) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, of).unwrap();
    let what = name.split('.').next().unwrap();
    let path = path.display().to_string();
    let arguments = [&["import", what, &path, "--tenant", "acme"], further].concat();
    let (is_done, said, log) = Process::command(&arguments, &settings(app));
    let folder = format!("{}/", folder.path().display());
    (is_done, format!("{said}{log}").replace(&folder, ""))
}

fn settings(app: &TestApp) -> [(&str, &str); 3] {
    [("DATABASE_URL", app.app.config.database.url()), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LOG", "error")]
}

/// The number of rows of some tables.
async fn rows(app: &TestApp) -> Vec<i64> {
    let mut counts = Vec::new();
    for table in ["users", "notification", "inbox_item", "subscription", "tally", "channel", "tenant", "action"] {
        let count = Statement::from_string(app.app.db.backend(), format!("SELECT COUNT(*) FROM {table}"));
        counts.push(app.app.db.read.query_one_raw(count).await.unwrap().unwrap().try_get_by_index(0).unwrap());
    }
    counts
}

/// Lines with one message each to a user, ten seconds apart; every third is read.
fn messages(user: &str, many: i64) -> String {
    let mut lines = String::from("key,type,receiver,title,createdAt,readAt\n");
    for number in 0..many {
        let at = ago(1) + TimeDelta::seconds(10 * number);
        let read = if number % 3 == 0 { text(at + TimeDelta::seconds(1)) } else { String::new() };
        writeln!(lines, "{user}-{number},news,{user},{number},{},{read}", text(at)).unwrap();
    }
    lines
}

async fn unread(app: &TestApp, user: &str) -> i64 {
    let overview = "{ viewer { overview { unread { count } } } }";
    app.user(user).ask(overview, json!({})).await["viewer"]["overview"]["unread"]["count"].as_i64().unwrap()
}

on_every_database! {
    async fn three_users_come_over_with_all_that_they_have_and_once(app) {
        let app = &of_today(app).await;
        app.admin().ask(r#"mutation { saveUserGroup(code: "writers") { code } }"#, json!({})).await;
        let users = "\u{feff}id,name,locale,groups\r\nada,\"Ada \"\"L\"\", Countess\",en,writers\r\nben,Ben,,\r\n\
            chen,,,writers\r\n";
        let subscriptions = r#"{"user":"ada","targetType":"doc","target":7,"actions":["comment","like"]}
{"user":"ben","targetType":"doc","target":"7","actions":["comment"]}
"#;
        let (read, archived) = (ago(19), ago(3));
        let notifications = format!(
            "key,type,receiver,title,body,createdAt,readAt,archivedAt,targetType,target,action,sender,data\n\
             1,news,ada,long ago,,{},,,,,,,\n\
             2,news,ada,two,\"one, \"\"two\"\"\nthree\",{},{},,doc,7,comment,ben,\"{{\"\"a\"\":1}}\"\n\
             3,offer,ada,expired,,{},,,,,,,\n\
             4,offer,ada,four,,{},,,,,,,\n\
             5,news,ben,five,,{},{},{},,,,,\n\
             6,news,ada,six,,{},,,,,,,\n\
             7,news,ada,seven,,{},,{},,,,,\n",
            text(ago(60)), text(ago(20)), text(read), text(ago(15)), text(ago(9)), text(ago(5)), text(ago(4)),
            text(archived), text(ago(2)), text(ago(1)), text(ago(0) - TimeDelta::hours(1)),
        );
        let before = rows(app).await;
        for (further, made, there, told) in [
            (&["--dry-run"][..], 3, 0, " (dry run: nothing was changed)"),
            (&[], 3, 0, ""),
            (&[], 0, 3, ""),
            (&["--dry-run"], 0, 3, " (dry run: nothing was changed)"),
        ] {
            let said = format!("users.csv: 3 lines: {made} users created, 0 changed, {there} already existed{told}\n");
            assert_eq!(import(app, "users.csv", users, further), (true, said));
            let said = format!("subscriptions.jsonl: 2 lines: {made} subscriptions created, {there} already existed{told}\n");
            assert_eq!(import(app, "subscriptions.jsonl", subscriptions, further), (true, said));
            let (made, there) = if made > 0 { (5, 0) } else { (0, 5) };
            let said = format!(
                "notifications.csv: 7 lines: {made} notifications created, {there} already existed, 2 too old{told}\n"
            );
            assert_eq!(import(app, "notifications.csv", &notifications, further), (true, said));
            if there == 0 && !told.is_empty() {
                assert_eq!(rows(app).await, before);
            }
        }
        let ada = app.user("ada");
        assert_eq!(ada.overview().await, ["news: 1 (six)", "offer: 1 (four)", "= 2"]);
        let query = "{ viewer { user { name locale } inbox(first: 9) { nodes { id title body isRead readAt createdAt data \
            target { type externalId } action sender { id name } } } } }";
        let viewer = ada.ask(query, json!({})).await["viewer"].clone();
        assert_eq!(viewer["user"], json!({ "name": "Ada \"L\", Countess", "locale": "en" }));
        let nodes = viewer["inbox"]["nodes"].as_array().unwrap();
        let titles: Vec<&str> = nodes.iter().map(|node| node["title"].as_str().unwrap()).collect();
        assert_eq!(titles, ["six", "four", "two"]);
        let mut two = nodes[2].clone();
        two["id"].take();
        assert_eq!(two, json!({ "id": null, "title": "two", "body": "one, \"two\"\nthree", "isRead": true, "readAt": text(read),
            "createdAt": text(ago(20)), "data": { "a": 1 }, "target": { "type": "doc", "externalId": "7" }, "action": "comment",
            "sender": { "id": "ben", "name": "Ben" } }));
        // By its creation time in the import.
        assert_eq!(ada.titles(json!({ "since": text(ago(10)), "until": text(ago(1)) })).await, ["six", "four"]);
        assert_eq!(unread(app, "ben").await, 0);
        let archive = app.user("ben").items(json!({ "state": "ARCHIVED" })).await;
        assert_eq!((&archive[0]["title"], &archive[0]["isRead"], archive.len()), (&json!("five"), &json!(true), 1));
        assert_eq!(ada.items(json!({ "state": "ARCHIVED" })).await[0]["isRead"], json!(false));
        // Marks made since the import stay.
        ada.mark("markRead", json!({ "ids": [nodes[0]["id"]] })).await;
        ada.mark("markUnread", json!({ "ids": [nodes[2]["id"]] })).await;
        import(app, "notifications.csv", &notifications, &[]);
        assert_eq!(ada.overview().await, ["news: 1 (six)", "offer: 1 (four)", "= 2"]);
        counters::update_counters(&app.app).await.unwrap();
        let stats = "{ sentNotifications(first: 9) { nodes { title createdAt stats { audienceSize deliveredCount readCount } } } }";
        let sent = app.admin().ask(stats, json!({})).await;
        let sent: Vec<String> = sent["sentNotifications"]["nodes"].as_array().unwrap().iter().map(|of| {
            format!("{}: {}/{}", of["title"].as_str().unwrap(), of["stats"]["readCount"], of["stats"]["deliveredCount"])
        }).collect();
        assert_eq!(sent, ["seven: 0/1", "six: 1/1", "five: 1/1", "four: 0/1", "two: 0/1"]);
        // New sends reach them.
        app.service().remind("news", "7", "comment", Some("chen"), "new").await;
        assert_eq!((unread(app, "ada").await, unread(app, "ben").await, unread(app, "chen").await), (3, 1, 0));
        app.service().announce("news", json!({ "groups": ["writers"] }), "to writers").await;
        assert_eq!((unread(app, "ada").await, unread(app, "ben").await, unread(app, "chen").await), (4, 1, 1));
        assert_eq!(app.stranger("ada", auth::CallerRole::User).titles(json!({})).await, Vec::<String>::new());
        // If the log is already newer, an import gets times at its end. A key that was used for something else keeps
        // that.
        let late = format!(
            "{{\"key\":8,\"type\":\"news\",\"receiver\":\"chen\",\"title\":\"eight\",\"createdAt\":\"{0}\"}}\n\
             {{\"key\":\"2\",\"type\":\"news\",\"receiver\":\"ada\",\"title\":\"else\",\"createdAt\":\"{0}\"}}\n\
             {{\"key\":\"8\",\"type\":\"news\",\"receiver\":\"chen\",\"title\":\"eight\",\"createdAt\":\"{0}\"}}\n",
            text(ago(2))
        );
        let said = "notifications.jsonl: 3 lines: 1 notifications created, 1 already existed, 0 too old, 1 created with a later time (the \
            log has newer entries), 1 skipped (their keys were used for something else)\n";
        let foretold = said.replace(" else)\n", " else) (dry run: nothing was changed)\n");
        assert_eq!(import(app, "notifications.jsonl", &late, &["--dry-run"]), (true, foretold));
        assert_eq!(import(app, "notifications.jsonl", &late, &[]), (true, said.into()));
        let twice = "id,name\nzoe,Zoe\nzoe,Zoe\nzoe,Zora\n";
        for (further, dry) in [(&["--dry-run"][..], " (dry run: nothing was changed)"), (&[], "")] {
            let said = format!("users.csv: 3 lines: 1 users created, 1 changed, 1 already existed{dry}\n");
            assert_eq!(import(app, "users.csv", twice, further), (true, said));
        }
        assert_eq!(app.user("chen").titles(json!({ "since": text(ago(1)) })).await, ["eight", "to writers"]);
    }

    async fn what_was_cut_off_goes_on_where_it_was(app) {
        let app = &of_today(app).await;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notifications.csv");
        let lines = messages("ada", 4500);
        std::fs::write(&path, &lines).unwrap();
        for made in [1000, 2000, 3000] {
            let mut cut_off = begun(app, &path);
            let until = Instant::now() + PATIENCE;
            while rows(app).await[1] < made {
                assert!(Instant::now() < until, "it makes nothing");
                sleep(Duration::from_millis(1)).await;
            }
            cut_off.kill().unwrap();
            cut_off.wait().unwrap();
            // Only complete batches, and each item with its state.
            let rows = rows(app).await;
            assert!(rows[1] % 1000 == 0 || rows[1] == 4500, "{rows:?}");
            assert_eq!((rows[1], unread(app, "ada").await), (rows[2], rows[1] - (rows[1] + 2) / 3));
        }
        let (is_done, said) = import(app, "notifications.csv", &lines, &[]);
        assert!(is_done && said.contains("4500 lines: "), "{said}");
        assert_eq!((rows(app).await[1], unread(app, "ada").await), (4500, 3000));
        let titles = app.user("ada").titles(json!({ "since": text(ago(1) + TimeDelta::seconds(44_000)) })).await;
        assert!(titles.first().is_some_and(|title| title == "4499"), "{titles:?}");
    }

    async fn who_is_connected_hears_it_and_their_numbers_are_right(app) {
        let app = &of_today(app).await;
        let node = app.listen().await;
        let ada = app.user("ada");
        app.service().message("news", "ada", "before").await;
        assert_eq!(unread(app, "ada").await, 1);
        let mut socket = Socket::subscribed(&node.address, &ada.token, OVERVIEWS, json!({})).await;
        let lines = messages("ada", 300);
        let (url, name) = (app.app.config.database.url().to_owned(), "notifications.csv");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), &lines).unwrap();
        let path = folder.path().join(name).display().to_string();
        let importing = tokio::task::spawn_blocking(move || {
            let settings = [("DATABASE_URL", &*url), ("TIDINGS_SECRET", SECRET)];
            Process::command(&["import", "notifications", &path, "--tenant", "acme"], &settings)
        });
        loop {
            let overview = socket.data().await["overviewChanged"]["overview"].clone();
            if overview["unread"]["count"] == json!(201) {
                assert_eq!(overview["types"][0]["latest"]["title"], "299");
                break;
            }
        }
        let (is_done, said, log) = importing.await.unwrap();
        assert!(is_done && said.contains("300 notifications created") && said.contains("300 created with a later time"), "{said}{log}");
        // The cached count, and the count read from the database.
        assert_eq!((unread(app, "ada").await, unread(&app.beside().await, "ada").await), (201, 201));
        node.stop().await;
    }

    async fn a_bad_line_is_named_and_nothing_changed(app) {
        let app = &of_today(app).await;
        let before = rows(app).await;
        let (old, new) = (text(ago(2)), text(ago(1)));
        let line = |further: Value| {
            let mut line = json!({ "key": "k", "type": "news", "receiver": "zoe", "title": "t", "createdAt": new });
            line.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
            line
        };
        for (bad, why) in [
            (json!({ "key": null }), "`key` is required"),
            (json!({ "key": "x".repeat(129) }), "`key` must have 1 to 128 characters, not 129"),
            (json!({ "type": "none" }), "`type` names no message type: \"none\"; create it with saveMessageType"),
            (json!({ "receiver": " zoe" }), "`receiver` must not begin or end with white space"),
            (json!({ "title": null }), "`title` is required, because the message type \"news\" has no template"),
            (json!({ "title": "x".repeat(257) }), "`title` must have 1 to 256 characters, not 257"),
            (json!({ "title": ["t"] }), "`title` must be a string"),
            (json!({ "body": "x".repeat(16385) }), "`body` must have at most 16384 bytes, not 16385"),
            (json!({ "link": "javascript:x" }), "`link` must be an absolute http(s) URL or a path"),
            (json!({ "createdAt": "yesterday" }), "`createdAt` must be an instant such as"),
            (json!({ "createdAt": null }), "`createdAt` is required"),
            (json!({ "createdAt": old }), "`createdAt` must not be earlier than on the line before"),
            (json!({ "createdAt": text(ago(-1)) }), "`createdAt` must not be in the future"),
            (json!({ "readAt": text(ago(-1)) }), "`readAt` must not be in the future"),
            (json!({ "target": "7" }), "`target` must be given together with targetType"),
            (json!({ "target": "", "targetType": "doc" }), "`target` must have 1 to 128 characters, not 0"),
            (json!({ "colour": "red" }), "there is no column \"colour\""),
        ] {
            let lines = format!("{}\n{}\n", line(json!({})), line(bad));
            let (is_done, said) = import(app, "notifications.jsonl", &lines, &[]);
            assert!(!is_done && said.contains(&format!("notifications.jsonl:2: {why}")), "{said}");
            assert!(said.contains("1 bad lines: nothing was changed"), "{said}");
        }
        for (name, of, why) in [
            ("notifications.jsonl", "{\"key\": 1\n".to_owned(), ":1: not a JSON object: EOF while parsing an object at column "),
            ("notifications.csv", "key,type\n1,news,2\n".into(), ":2: has 3 fields, but the first line names 2"),
            ("notifications.csv", "key,type,key\n".into(), ":1: names the column \"key\" twice"),
            ("notifications.csv", String::new(), ":1: is empty: the first line must name the columns"),
            ("notifications.csv", format!("key\n\"{}", "x\n".repeat(700_000)), ":2: opens a quote that is not closed: no line may have more than 1048576 bytes"),
            ("notifications.jsonl", format!("{{\"key\": \"{}\"}}\n", "x".repeat(3_000_000)), ": 1 bad lines: nothing was changed"),
            ("users.csv", "id,name\nzoe,\"Zoe\nben,Ben\n".into(), ":2: opens a quote that is never closed"),
            ("users.csv", "id,\"name\nzoe,Zoe\n".into(), ":1: opens a quote that is never closed"),
            ("users.csv", "id,name\nben,\"B\"\"n\nn\"\nzoe,\"Zoe\"Z\n".into(), ":4: has text after a closing quote"),
            ("users.csv", format!("id,name\nzoe,{}\nben,\"Ben\n", "x".repeat(100_000)), ":3: opens a quote that is never closed"),
            ("users.csv", "id,colour\n".into(), ":1: there is no column \"colour\": the columns are id, name"),
            ("users.csv", "id,name\nzoe,Zoe\n,Ben\n".into(), ":3: `id` is required"),
            ("users.csv", "id,locale\nzoe,not a language\n".into(), ":2: `locale` must be a language tag"),
            ("users.csv", "id,groups\nzoe,none\n".into(), ":2: `groups` names no group: \"none\"; create it with saveUserGroup"),
            ("subscriptions.csv", "user,targetType,target,actions\nzoe,doc,7,\n".into(), ":2: `actions` or `reason` must be given"),
            ("subscriptions.csv", "user,targetType,target,reason\nzoe,doc,7,none\n".into(), ":2: `reason` names no reason"),
            ("subscriptions.csv", "user,targetType,target,actions\nzoe,doc,,like\n".into(), ":2: `target` is required"),
            ("users.txt", "id\n".into(), "users.txt ends in neither .csv nor .jsonl: add --format"),
        ] {
            let (is_done, said) = import(app, name, &of, &[]);
            assert!(!is_done && said.contains(why), "{name}: {why}\n{said}");
        }
        let arguments = ["import", "users", "/dev/null", "--tenant", "none", "--format", "csv"];
        let (is_done, said, log) = Process::command(&arguments, &settings(app));
        assert!(!is_done && log.contains("no tenant \"none\""), "{said}{log}");
        assert_eq!(rows(app).await, before);
    }

    async fn what_comes_in_is_a_file_too(app) {
        let app = &of_today(app).await;
        let mut child = begun(app, Path::new("-"));
        child.stdin.take().unwrap().write_all(messages("ada", 10).as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        assert_eq!(said, "-: 10 lines: 10 notifications created, 0 already existed, 0 too old\n");
        assert_eq!(unread(app, "ada").await, 6);
        let arguments = ["import", "users", "-", "--tenant", "acme", "--format", "csv"];
        let nowhere = [&settings(app)[..], &[("TMPDIR", "/nowhere")]].concat();
        let (is_done, _, log) = Process::command(&arguments, &nowhere);
        assert!(!is_done && log.contains("cannot buffer the input in /nowhere (TMPDIR)"), "{log}");
    }
}

/// Starts the command without waiting for its end.
fn begun(app: &TestApp, path: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(["import", "notifications"]).arg(path).args(["--tenant", "acme", "--format", "csv"]);
    command.env_clear().envs(settings(app)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}
