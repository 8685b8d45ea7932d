//! The command line: its arguments and its output.

use std::process::{Command, Stdio};

use serde_json::json;

use store::{FileAccess, FileLock};

use crate::support::{Kind, Process, SECRET, TestApp, free_port};

/// Decodes the payload of a token.
fn payload(token: &str) -> serde_json::Value {
    use base64::Engine;
    let part = token.trim().split('.').nth(1).unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[test]
fn a_token_says_whose_it_is_and_what_servers_ask_for() {
    let secret = [("TIDINGS_SECRET", SECRET)];
    let of = |arguments: &[&str], settings: &[(&str, &str)]| {
        let (signed, token, told) = Process::command(&[&["token", "--tenant", "acme"], arguments].concat(), settings);
        assert!(signed, "{told}");
        payload(&token)
    };
    let ada = of(&["--user", "ada"], &secret);
    assert_eq!((&ada["sub"], &ada["role"], &ada["iss"]), (&json!("ada"), &json!("user"), &json!(null)));
    assert_eq!(of(&["--role", "admin"], &secret)["sub"], "admin");
    let asked = [("TIDINGS_SECRET", SECRET), ("TIDINGS_ISSUER", "us"), ("TIDINGS_AUDIENCE", "bell")];
    let issued = of(&["--role", "service", "--user", "shop"], &asked);
    assert_eq!((&issued["sub"], &issued["iss"], &issued["aud"]), (&json!("shop"), &json!("us"), &json!("bell")));

    for (arguments, words) in [
        (&["--tenant", "acme"][..], "--user <USER>"),
        (&["--tenant", "acme", "--role", "user"], "--user <USER>"),
        (&["--tenant", "acme", "--user", ""], "must have 1 to 128 characters"),
        (&["--tenant", "", "--user", "ada"], "must have 1 to 128 characters"),
        (&["--tenant", "acme", "--user", " ada"], "must not begin or end with white space"),
        (&["--tenant", "acme", "--user", "ada", "--ttl", "0h"], "must be longer than 0"),
        (&["--tenant", "acme", "--user", "ada", "--secret", "short"], "TIDINGS_SECRET has 5 bytes"),
    ] {
        let (signed, token, told) = Process::command(&[&["token"], arguments].concat(), &secret);
        assert!(!signed && token.is_empty() && told.contains(words), "{arguments:?}: {told}");
    }
}

/// Supervisors retry temporary failures, but not those that an operator must fix.
#[test]
fn what_a_start_ends_with_says_whether_another_may_help() {
    let folder = tempfile::tempdir().unwrap();
    let code = |arguments: &[&str], settings: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        let command = command.args(arguments).envs(settings.iter().copied()).current_dir(&folder);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code()
    };
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = busy.local_addr().unwrap().to_string();
    let secret = ("TIDINGS_SECRET", SECRET);
    for (arguments, settings, ends_with) in [
        (&["serve"][..], &[][..], 78),
        (&["serve"], &[("TIDINGS_SECRET", "short")], 78),
        (&["serve"], &[secret, ("DATABASE_URL", "oracle://here")], 78),
        (&["serve"], &[secret, ("TIDINGS_LOG", "loud")], 78),
        (&["serve"], &[secret, ("TIDINGS_LOG", "info,tidings[request]=debug")], 78),
        (&["serve", "--config", "nowhere"], &[secret], 78),
        (&["serve", "--loudly"], &[secret], 2),
        (&["serve"], &[secret, ("DATABASE_URL", "sqlite::memory:"), ("TIDINGS_LISTEN", &taken)], 1),
        (&["serve"], &[secret, ("DATABASE_URL", "postgres://postgres@127.0.0.1:1/tidings")], 1),
        (&["serve"], &[secret, ("DATABASE_URL", "mysql://root@127.0.0.1:1/tidings")], 1),
        (&["serve"], &[secret, ("DATABASE_URL", "sqlite::memory:"), ("TIDINGS_LISTEN", "no such name:1")], 1),
        (&["serve"], &[secret, ("TIDINGS_LISTEN", "nothing")], 2),
        (&["doctor"], &[], 1),
    ] {
        assert_eq!(code(arguments, settings), Some(ends_with), "{arguments:?} {settings:?}");
    }
}

/// Errors are printed even if logging is off.
#[test]
fn an_error_is_never_silent() {
    for log in ["", " , ", "off", "tidings=off"] {
        let settings = [("DATABASE_URL", "sqlite:/nowhere/a.db"), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LOG", log)];
        let (is_done, _, said) = Process::command(&["serve"], &settings);
        assert!(!is_done && said.contains("/nowhere/a.db"), "{log:?}: {said}");
    }
}

#[test]
fn settings_stand_in_a_file_and_secrets_in_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let secret = file("secret", &format!("{SECRET}\n"));
    let config = file("tidings.env", &format!("# the shop\nTIDINGS_ISSUER = shop\nTIDINGS_SECRET_FILE={secret}\n"));
    let arguments = ["token", "--tenant", "acme", "--user", "ada"];
    let (_, token, told) = Process::command(&[&arguments[..], &["--config", &config]].concat(), &[]);
    assert_eq!(payload(&token)["iss"], "shop", "{told}");
    let (_, token, told) = Process::command(&arguments, &[("TIDINGS_CONFIG", &config), ("TIDINGS_ISSUER", "other")]);
    assert_eq!(payload(&token)["iss"], "other", "{told}");
    let (signed, _, told) =
        Process::command(&arguments, &[("TIDINGS_SECRET", SECRET), ("TIDINGS_SECRET_FILE", &secret)]);
    assert!(!signed && told.contains("both TIDINGS_SECRET and TIDINGS_SECRET_FILE are set"), "{told}");
    let (signed, _, told) = Process::command(&arguments, &[("TIDINGS_CONFIG", &file("wrong", "TIDINGS_SECRT=x"))]);
    assert!(!signed && told.contains("there is no setting \"TIDINGS_SECRT\""), "{told}");
}

#[tokio::test]
async fn tokens_of_two_secrets_are_believed_while_one_replaces_the_other() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let older = "the secret of before, with 32 bytes";
    let of = |secret| Process::command(&["token", "--tenant", "acme", "--user", "ada", "--secret", secret], &[]).1;
    let (new, old) = (of(SECRET), of(older));
    let viewer = "{ viewer { user { id } } }";
    let mut server = Process::start_with(&database.url, &[("TIDINGS_PREVIOUS_SECRET", older)], None).await;
    for token in [&new, &old] {
        assert!(server.ask(token.trim(), viewer, json!({})).await.is_some());
    }
    let third = of("a secret that nobody has ever known");
    assert!(server.ask(third.trim(), viewer, json!({})).await.is_none());
    server.stop();
    let server = Process::start(&database.url).await;
    assert!(server.ask(new.trim(), viewer, json!({})).await.is_some());
    assert!(server.ask(old.trim(), viewer, json!({})).await.is_none());
}

#[tokio::test]
async fn health_says_what_the_server_that_runs_here_says() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let admin = format!("localhost:{}", free_port());
    let mut server = Process::start_with(&database.url, &[("TIDINGS_ADMIN_LISTEN", &admin)], None).await;
    let address = server.address.clone();
    let own = [("TIDINGS_LISTEN", &*address)];
    let everywhere = format!("0.0.0.0:{}", server.address.rsplit_once(':').unwrap().1);
    for (settings, arguments, said) in [
        (&own[..], &["health"][..], "alive\n"),
        (&own, &["health", "--ready"], "ready\n"),
        (&[("TIDINGS_LISTEN", &*everywhere)], &["health"], "alive\n"),
        (&[("TIDINGS_ADMIN_LISTEN", &*admin)], &["health", "--ready"], "ready\n"),
    ] {
        let (is_well, told, log) = Process::command(arguments, settings);
        assert!(is_well && told == said, "{told}{log}");
    }
    server.stop();
    for (answer, why) in [
        ("", "/healthz: the connection was closed"),
        ("HTTP/1.1 302 Found\r\n\r\n", "/healthz: the answer is \"HTTP/1.1 302"),
    ] {
        let other = std::net::TcpListener::bind(&address).unwrap();
        let said = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let mut stream = other.accept().unwrap().0;
            let _ = stream.read(&mut [0; 1024]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let (is_well, _, log) = Process::command(&["health"], &own);
        said.join().unwrap();
        assert!(!is_well && log.contains(why), "{log}");
    }
    let (is_well, _, log) = Process::command(&["health"], &own);
    assert!(!is_well && log.contains("/healthz: Connection refused"), "{log}");
}

#[tokio::test]
async fn one_process_at_a_time_serves_a_file() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let serve = [("DATABASE_URL", &*database.url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
    let mut server = Process::start(&database.url).await;
    let (_, _, log) = Process::command(&["serve"], &serve);
    assert!(log.contains("test.db is served by another process"), "{log}");
    let (is_done, _, log) = Process::command(&["migrate", "--down", "--yes"], &serve[..1]);
    assert!(!is_done && log.contains("is served by another process"), "{log}");
    let (is_done, _, log) = Process::command(&["restored", "--yes"], &serve[..2]);
    assert!(!is_done && log.contains("is served by another process"), "{log}");
    server.kill_and_start().await;
    assert!(
        server
            .ask(
                Process::command(&["token", "--tenant", "a", "--user", "b"], &serve[1..2]).1.trim(),
                "{ viewer { id } }",
                json!({})
            )
            .await
            .is_some()
    );
}

/// Links give a file other names, but it is the same file.
#[cfg(unix)]
#[tokio::test]
async fn one_process_at_a_time_serves_a_file_by_whatever_name() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let path = std::path::PathBuf::from(database.url.strip_prefix("sqlite://").unwrap().split('?').next().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    std::os::unix::fs::symlink(&path, &other).unwrap();
    let url = format!("sqlite://{}?mode=rwc", other.display());
    // The link pointed to no file when the server started.
    let mut server = Process::start(&url).await;
    for url in [&database.url, &url] {
        let settings = [("DATABASE_URL", &**url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
        for arguments in [&["serve"][..], &["restored", "--yes"], &["migrate", "--down", "--yes"]] {
            let (is_done, _, log) = Process::command(arguments, &settings);
            assert!(!is_done && log.contains(".db is served by another process"), "{arguments:?}: {log}");
        }
        let (is_done, _, log) = Process::command(&["sweep"], &settings);
        assert!(is_done, "{log}");
    }
    server.stop();
    let hard = path.with_file_name("hard.db");
    std::fs::hard_link(&path, &hard).unwrap();
    for path in [&path, &hard, &other] {
        let url = format!("sqlite://{}", path.display());
        let settings = [("DATABASE_URL", &*url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
        for arguments in
            [&["serve"][..], &["restored", "--yes"], &["migrate"], &["migrate", "--down", "--yes"], &["sweep"]]
        {
            let (is_done, _, log) = Process::command(arguments, &settings);
            assert!(!is_done && log.contains("has a second name (a hard link)"), "{arguments:?}: {log}");
        }
    }
    std::fs::remove_file(&hard).unwrap();
    let (is_done, _, log) = Process::command(&["migrate", "--down", "--yes"], &[("DATABASE_URL", &database.url)]);
    assert!(is_done, "{log}");
}

#[tokio::test]
async fn who_needs_a_file_alone_and_who_writes_to_it_keep_each_other_away() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let settings = [("DATABASE_URL", &*database.url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
    let import = ["import", "users", "/dev/null", "--tenant", "acme", "--format", "csv"];
    assert!(Process::command(&["migrate"], &settings[..1]).0);
    let beside = FileLock::acquire(&database.url, FileAccess::Beside).unwrap();
    for arguments in [&["migrate", "--down", "--yes"][..], &["restored", "--yes"]] {
        let (is_done, _, log) = Process::command(arguments, &settings);
        assert!(!is_done && log.contains("test.db is in use by another command"), "{arguments:?}: {log}");
    }
    assert!(Process::command(&["sweep"], &settings).0);
    drop(beside);
    let alone = FileLock::acquire(&database.url, FileAccess::Alone).unwrap();
    for arguments in [&["migrate"][..], &["sweep"], &import] {
        let (is_done, _, log) = Process::command(arguments, &settings);
        assert!(!is_done && log.contains("test.db is in exclusive use by another command"), "{arguments:?}: {log}");
    }
    drop(alone);
    assert!(Process::command(&["restored", "--yes"], &settings).0);
}

/// Files that belong to a database are no databases, and nothing may replace them.
#[tokio::test]
async fn what_sqlite_calls_its_own_is_no_database() {
    let folder = tempfile::tempdir().unwrap();
    for suffix in ["-journal", "-wal", "-shm", "-serve", "-use"] {
        let url = format!("sqlite://{}/a.db{suffix}?mode=rwc", folder.path().display());
        let (is_done, _, log) = Process::command(&["migrate"], &[("DATABASE_URL", &url)]);
        assert!(!is_done && log.contains("cannot be the name of a database"), "{log}");
    }
    for url in ["sqlite:", "sqlite://", "sqlite://?mode=rwc", "sqlite:x.db?mode=memory"] {
        let (is_done, _, log) = Process::command(&["migrate"], &[("DATABASE_URL", url)]);
        assert!(!is_done && log.contains("DATABASE_URL names no file"), "{url}: {log}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A command for an existing database creates none if the path is wrong.
#[tokio::test]
async fn what_works_on_a_database_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("users.csv");
    std::fs::write(&lines, "id\nada\n").unwrap();
    let import = ["import", "users", lines.to_str().unwrap(), "--tenant", "acme"];
    let dry = [&import[..], &["--dry-run"]].concat();
    let commands = [&["sweep"][..], &["restored", "--yes"], &import, &dry];
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("new.db").display());
    for arguments in commands {
        let (is_done, _, log) = Process::command(arguments, &[("DATABASE_URL", &url), ("TIDINGS_SECRET", SECRET)]);
        assert!(!is_done && log.contains("there is no database") && log.contains("new.db"), "{arguments:?}: {log}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        let Some(database) = kind.make().await else { continue };
        if kind == Kind::Sqlite {
            let path = database.url.strip_prefix("sqlite://").unwrap().split('?').next().unwrap();
            std::fs::write(path, "").unwrap();
        }
        for arguments in commands {
            let settings = [("DATABASE_URL", &*database.url), ("TIDINGS_SECRET", SECRET)];
            let (is_done, _, log) = Process::command(arguments, &settings);
            assert!(!is_done && log.contains("the database has no tables of Tidings"), "{arguments:?}: {log}");
        }
        let (_, said, log) = Process::command(&["migrate"], &[("DATABASE_URL", &database.url)]);
        assert!(said.starts_with("applied: m20261121_000001_tenant_and_users\n"), "{said}{log}");
        database.remove().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_cannot_be_said_is_an_error_that_says_what_was_done() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (copy, lines) = (folder.path().join("copy.db"), folder.path().join("users.csv"));
    std::fs::write(&lines, "id\n").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(arguments).env_clear().stdin(Stdio::null());
        command.envs([("DATABASE_URL", &*database.url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "localhost:0")]);
        command.stdout(std::fs::File::create("/dev/full").unwrap());
        let ended = command.output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    let import = ["import", "users", lines.to_str().unwrap(), "--tenant", "acme"];
    for (arguments, words) in [
        (&["schema"][..], "standard output cannot be written: No space left"),
        (&["token", "--tenant", "acme", "--user", "ada"], "standard output cannot be written"),
        (&["migrate"], "migrations are applied, but standard output cannot be written"),
        (&["doctor"], "standard output cannot be written"),
        (&["sweep"], "everything past the retention was deleted, but"),
        (&["backup", copy.to_str().unwrap()], "the copy was written and checked, but"),
        (&["restored", "--yes"], "the numbers were raised, but"),
        (&import, "everything was imported, but"),
        (&["migrate", "--down", "--yes"], "migrations are reverted, but"),
    ] {
        if arguments[0] == "import" {
            let app = TestApp::start(&database.url).await;
            app.admin().define_type("news").await;
            app.app.db.close().await;
        }
        let (code, log) = run(arguments);
        assert!(code == Some(1) && log.contains(words), "{arguments:?}: {code:?} {log}");
    }
    assert!(copy.exists());
}

#[tokio::test]
async fn migrating_says_what_it_did_and_never_back_while_somebody_serves() {
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        let Some(database) = kind.make().await else { continue };
        let url = [("DATABASE_URL", &*database.url)];
        let (_, said, log) = Process::command(&["migrate"], &url);
        assert!(said.starts_with("applied: m20261121_000001_tenant_and_users\n"), "{said}{log}");
        let (_, said, _) = Process::command(&["migrate"], &url);
        assert_eq!(said, "nothing to do: the database is up to date\n");
        let (is_done, _, log) = Process::command(&["migrate", "--down"], &url);
        assert!(!is_done && log.contains("--yes"), "{log}");
        let server = Process::start(&database.url).await;
        let (is_done, _, log) = Process::command(&["migrate", "--down", "--yes"], &url);
        assert!(!is_done && (log.contains("stop all its servers first") || log.contains("another process")), "{log}");
        drop(server);
        let mut said = String::new();
        // A database notices only after a moment that a client was killed.
        for _ in 0..100 {
            let (is_done, told, log) = Process::command(&["migrate", "--down", "--yes"], &url);
            said = if is_done { told } else { log };
            if is_done {
                break;
            }
        }
        assert!(said.ends_with("reverted: m20261121_000001_tenant_and_users\n"), "{kind:?}: {said}");
        database.remove().await;
    }
}

/// A child process that is killed at the end of its test.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The tokens of the demo are public.
#[test]
fn the_demo_has_neither_somebodys_database_nor_an_address_that_others_reach() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("real.db");
    let url = format!("sqlite://{}?mode=rwc", file.display());
    for (name, value, words) in [
        ("DATABASE_URL", &*url, "DATABASE_URL is set, but the tokens of --demo are public"),
        ("DATABASE_URL", "postgres://u:hunter2@127.0.0.1:1/x", "DATABASE_URL is set"),
        ("TIDINGS_LISTEN", "0.0.0.0:0", "TIDINGS_LISTEN is 0.0.0.0:0, which other machines may reach"),
        ("TIDINGS_LISTEN", "[::]:0", "TIDINGS_LISTEN is [::]:0"),
        ("TIDINGS_LISTEN", "192.0.2.1:8080", "TIDINGS_LISTEN is 192.0.2.1:8080"),
        ("TIDINGS_LISTEN", "10.0.0.1:8080", "TIDINGS_LISTEN is 10.0.0.1:8080"),
    ] {
        let (is_done, said, log) = Process::command(&["serve", "--demo"], &[(name, value)]);
        assert!(!is_done && log.contains(words) && said.is_empty(), "{name}={value}: {said}{log}");
        assert!(!log.contains("hunter2"), "{log}");
    }
    assert!(!file.exists());
}

/// Only the owner may read a SQLite database.
#[cfg(unix)]
#[tokio::test]
async fn files_of_sqlite_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidings.db");
    let url = format!("sqlite://{}?mode=rwc", file.display());
    let mode = |suffix: &str| {
        let mut path = file.as_os_str().to_owned();
        path.push(suffix);
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    let mut server = Process::start(&url).await;
    reqwest::get(format!("http://{}/healthz", server.address)).await.unwrap();
    for suffix in ["", "-wal", "-shm"] {
        assert_eq!(mode(suffix), 0o600, "{suffix}");
    }
    server.stop();

    // A file from an earlier release.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut server = Process::start(&url).await;
    reqwest::get(format!("http://{}/healthz", server.address)).await.unwrap();
    for suffix in ["", "-wal", "-shm"] {
        assert_eq!(mode(suffix), 0o600, "{suffix}");
    }
    let copy = folder.path().join("copy.db");
    let settings = [("DATABASE_URL", &*url), ("TIDINGS_SECRET", SECRET)];
    let (is_done, _, log) = Process::command(&["backup", &copy.display().to_string()], &settings);
    assert!(is_done, "{log}");
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    server.stop();
}

#[tokio::test]
async fn the_demo_says_by_what_secret_and_lets_pages_of_this_machine_in() {
    use std::io::{BufRead, BufReader};
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(["serve", "--demo", "--listen", "localhost:0"]).env_clear().env("TIDINGS_LOG", "warn");
    let mut demo = Killed(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    // Keep the pipe open until the end, or the demo could not print the rest.
    let mut said = BufReader::new(demo.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (mut secret, mut address, mut user) = (String::new(), String::new(), String::new());
    for line in &mut said {
        if let Some(found) = line.split_once("TIDINGS_SECRET=").and_then(|(_, rest)| rest.split(',').next()) {
            secret = found.to_owned();
        }
        if let Some((found, _)) =
            line.strip_prefix("  console  http://").and_then(|url| url.split_once("/console#token="))
        {
            address = found.to_owned();
        }
        if let Some(token) = line.strip_prefix("  user     ") {
            user = token.to_owned();
        }
        if line.contains("curl -s") {
            break;
        }
    }
    let signed = Process::command(&["token", "--tenant", "orchard", "--user", "ben"], &[("TIDINGS_SECRET", &secret)]).1;
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let page = client.get(format!("http://{address}/demo")).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("<tidings-bell"), "{page}");
    let of_page =
        client.get(format!("http://{address}/demo/token?user=chen")).send().await.unwrap().text().await.unwrap();
    for token in [user.as_str(), signed.trim(), &of_page] {
        let request = client.post(format!("http://{address}/graphql")).bearer_auth(token);
        let request = request.header("origin", "http://localhost:5173").json(&json!({ "query": "{ viewer { id } }" }));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["access-control-allow-origin"], "http://localhost:5173");
        assert!(answer.json::<serde_json::Value>().await.unwrap()["data"]["viewer"]["id"].is_string());
    }
    let root = client.get(format!("http://{address}/")).send().await.unwrap();
    assert_eq!((root.status().as_u16(), root.headers()["location"].to_str().unwrap()), (307, "/desk"));
    for nobody in ["", "?user=ada&service=shop"] {
        let answer = client.get(format!("http://{address}/demo/token{nobody}")).send().await.unwrap();
        assert_eq!(answer.status(), 400, "{nobody}");
    }
    let foreign = client.post(format!("http://{address}/graphql")).header("origin", "https://evil.example").body("{}");
    assert!(!foreign.send().await.unwrap().headers().contains_key("access-control-allow-origin"));
    let mut log = BufReader::new(demo.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = log.find(|line| line.contains("https://evil.example")).unwrap();
    assert!(line.contains("WARN") && line.contains("TIDINGS_ORIGINS"), "{line}");
}
