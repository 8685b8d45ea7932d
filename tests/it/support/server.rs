//! A database server for one test, which can be hung, killed, stopped and started without affecting other tests.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::database::{Kind, everything_must_be_tested};
use super::process::free_port;
use super::socket::PATIENCE;

/// A PostgreSQL or MariaDB server with its own data folder.
pub struct Server {
    kind: Kind,
    programs: Programs,
    /// The folder for data, socket and log.
    folder: PathBuf,
    port: u16,
    child: Child,
    /// Additional arguments of the server program.
    further: Vec<String>,
    /// The data folder if this value owns it; deleted on drop.
    own_folder: Option<TempDir>,
}

/// The programs that create a data folder and serve it.
struct Programs {
    make: PathBuf,
    serve: PathBuf,
    /// The user and group ids of the processes: neither database runs as root.
    owner: Option<(u32, u32)>,
}

impl Server {
    /// Starts a server. Returns `None` if its programs are missing, or panics if `TIDINGS_TEST_ALL=1`.
    pub async fn start(kind: Kind) -> Option<Self> {
        let folder = tempfile::tempdir().expect("there is room for a database");
        let mut server = Self::start_in(kind, folder.path()).await?;
        server.own_folder = Some(folder);
        Some(server)
    }

    /// Like [`Self::start`], with the data in an existing folder that is not deleted on drop.
    pub async fn start_in(kind: Kind, folder: &Path) -> Option<Self> {
        Self::start_as(kind, folder, Vec::new()).await
    }

    /// Starts a server that can have replicas.
    pub async fn primary(kind: Kind) -> Option<Self> {
        let folder = tempfile::tempdir().expect("there is room for a database");
        let further = if kind == Kind::Mysql { vec!["--server-id=1".into(), "--log-bin".into()] } else { Vec::new() };
        let mut server = Self::start_as(kind, folder.path(), further).await?;
        server.own_folder = Some(folder);
        Some(server)
    }

    async fn start_as(kind: Kind, folder: &Path, further: Vec<String>) -> Option<Self> {
        let Some(programs) = Programs::find(kind) else {
            assert!(!everything_must_be_tested(), "the programs of {kind:?} are missing, and TIDINGS_TEST_ALL=1");
            #[expect(clippy::print_stderr, reason = "it tells whoever runs the tests what they left out")]
            {
                eprintln!("LEFT OUT: the programs of {kind:?} are missing");
            }
            return None;
        };
        if let Some((uid, gid)) = programs.owner {
            chown(folder, Some(uid), Some(gid)).expect("the folder can be given away");
        }
        let (folder, port) = (folder.to_owned(), free_port());
        let made = programs.make_data(kind, &folder).status().expect("the program runs");
        assert!(made.success(), "{kind:?} makes no database: {}", log(&folder));
        let child = programs.serve(kind, &folder, port).args(&further).spawn().expect("the server starts");
        let mut server = Self { kind, programs, folder, port, child, further, own_folder: None };
        server.wait().await;
        Some(server)
    }

    /// Starts a replica of this server.
    pub async fn standby(&self) -> Self {
        let own_folder = tempfile::tempdir().expect("there is room for a database");
        let (folder, port) = (own_folder.path().to_owned(), free_port());
        let programs = Programs::find(self.kind).expect("this one has them");
        if let Some((uid, gid)) = programs.owner {
            chown(&folder, Some(uid), Some(gid)).expect("the folder can be given away");
        }
        let mut further = Vec::new();
        let made = if self.kind == Kind::Postgres {
            let copy = program("pg_basebackup").expect("it comes with the server");
            let mut copy = programs.command(&copy, &folder);
            copy.args(["-h", "127.0.0.1", "-U", "postgres", "-X", "stream", "-c", "fast", "--no-sync", "-R"]);
            copy.args(["-p", &self.port.to_string(), "-D"]).arg(folder.join("data")).status()
        } else {
            further.extend([format!("--server-id={port}"), "--log-bin".into(), "--log-slave-updates".into()]);
            programs.make_data(self.kind, &folder).status()
        };
        assert!(made.expect("the program runs").success(), "no copy is made: {}", log(&folder));
        let child = programs.serve(self.kind, &folder, port).args(&further).spawn().expect("the server starts");
        let mut server = Self { kind: self.kind, programs, folder, port, child, further, own_folder: Some(own_folder) };
        server.wait().await;
        if self.kind == Kind::Mysql {
            let source = format!("MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, MASTER_USER = 'root'", self.port);
            let how = "MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1";
            server.run(&[&format!("CHANGE MASTER TO {source}, {how}"), "START SLAVE"]).await;
        }
        server
    }

    /// The server's host and port.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Runs statements as the database's administrator.
    pub async fn run(&self, statements: &[&str]) {
        let connection = self.connect().await.expect("the server answers");
        for words in statements {
            connection.execute_unprepared(words).await.expect("the operator may");
        }
        connection.close().await.expect("the connection closes");
    }

    /// The URL of a database on this server.
    pub fn url(&self, database: &str) -> String {
        let scheme = if self.kind == Kind::Postgres { "postgres://postgres" } else { "mysql://root" };
        format!("{scheme}@127.0.0.1:{}/{database}", self.port)
    }

    /// Creates an empty database and returns its URL.
    pub async fn create(&self, database: &str) -> String {
        let charset = if self.kind == Kind::Mysql { " CHARACTER SET utf8mb4" } else { "" };
        let connection = self.connect().await.expect("the server answers");
        connection.execute_unprepared(&format!("CREATE DATABASE {database}{charset}")).await.expect("it is made");
        connection.close().await.expect("the connection closes");
        self.url(database)
    }

    /// Suspends all processes of the server: connections stay open, but nothing replies.
    pub fn hang(&self) {
        signal("STOP", &self.processes());
    }

    /// Resumes the server after [`Self::hang`].
    pub fn go_on(&self) {
        signal("CONT", &self.processes());
    }

    /// Kills all processes at once, as a power loss does.
    pub fn kill(&mut self) {
        signal("KILL", &self.processes());
        self.child.wait().expect("it has ended");
    }

    /// Shuts the server down without waiting for clients to disconnect.
    pub fn stop(&mut self) {
        signal(if self.kind == Kind::Postgres { "INT" } else { "TERM" }, &[self.child.id()]);
        self.child.wait().expect("it ends");
    }

    /// Whether the server process has exited.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_some())
    }

    /// Starts the server at the same address and waits until it replies.
    pub async fn start_again(&mut self) {
        self.child = self.spawn();
        self.wait().await;
    }

    fn spawn(&self) -> Child {
        let mut serve = self.programs.serve(self.kind, &self.folder, self.port);
        serve.args(&self.further).spawn().expect("the server starts")
    }

    async fn wait(&mut self) {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(connection) = self.connect().await {
                return connection.close().await.expect("the connection closes");
            }
            assert!(Instant::now() < until, "{:?} does not answer: {}", self.kind, log(&self.folder));
            if self.has_ended() {
                // The previous process may not have exited completely yet, which makes a start fail. Try again.
                sleep(Duration::from_millis(100)).await;
                self.child = self.spawn();
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn connect(&self) -> Option<DatabaseConnection> {
        let url = self.url(if self.kind == Kind::Postgres { "postgres" } else { "mysql" });
        let mut options = ConnectOptions::new(url);
        options.max_connections(1).acquire_timeout(Duration::from_secs(1)).sqlx_logging(false);
        Database::connect(options).await.ok()
    }

    /// The ids of the server process and of the processes that it started for its connections.
    fn processes(&self) -> Vec<u32> {
        let own = self.child.id();
        let all = std::fs::read_dir("/proc").expect("there is /proc").flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(|number| *number == own || parent(*number) == Some(own)).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.kill();
        }
    }
}

impl Programs {
    fn find(kind: Kind) -> Option<Self> {
        let (make, serve, user) = match kind {
            Kind::Sqlite => panic!("SQLite has no server"),
            Kind::Postgres => ("initdb", "postgres", "postgres"),
            Kind::Mysql => ("mariadb-install-db", "mariadbd", "mysql"),
        };
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0);
        let owner = if is_root { Some(owner(user)?) } else { None };
        Some(Self { make: program(make)?, serve: program(serve)?, owner })
    }

    fn make_data(&self, kind: Kind, folder: &Path) -> Command {
        let mut command = self.command(&self.make, folder);
        if kind == Kind::Postgres {
            command.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-locale", "--no-sync"]);
            command.arg("--wal-segsize=1").arg("-D").arg(folder.join("data"));
        } else {
            command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
            command.args(["--skip-name-resolve", LOG_SIZE]).arg(argument("--datadir=", &folder.join("data")));
            command.arg(argument("--tmpdir=", folder));
        }
        command
    }

    /// Serves the data with the default durability, but with little memory and disk space.
    fn serve(&self, kind: Kind, folder: &Path, port: u16) -> Command {
        let mut command = self.command(&self.serve, folder);
        if kind == Kind::Postgres {
            command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-D"]).arg(folder.join("data"));
            command.arg("-k").arg(folder);
            command.args(["-c", "shared_buffers=32MB", "-c", "max_wal_size=16MB", "-c", "min_wal_size=2MB"]);
        } else {
            command.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", LOG_SIZE]);
            command.args(["--innodb-buffer-pool-size=64M", &format!("--port={port}")]);
            command.arg(argument("--datadir=", &folder.join("data")));
            // A starting server deletes files in its folder for temporary files, so it must not share that folder.
            command.arg(argument("--tmpdir=", folder));
            command.arg(argument("--socket=", &folder.join("socket")));
            command.arg(argument("--pid-file=", &folder.join("pid")));
        }
        command
    }

    fn command(&self, program: &Path, folder: &Path) -> Command {
        let log = || -> File {
            let log = OpenOptions::new().create(true).append(true).open(folder.join("log"));
            log.expect("the log can be written")
        };
        let mut command = Command::new(program);
        command.current_dir(folder).stdin(Stdio::null()).stdout(log()).stderr(log());
        if let Some((uid, gid)) = self.owner {
            command.uid(uid).gid(gid);
        }
        command
    }
}

/// The size of MariaDB's redo log: smaller than the default, for disks that a test fills.
const LOG_SIZE: &str = "--innodb-log-file-size=8M";

fn argument(name: &str, path: &Path) -> String {
    format!("{name}{}", path.display())
}

fn log(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("log")).unwrap_or_default()
}

/// Finds a program in `PATH`, in Debian's folders of PostgreSQL (newest version first) or in `/usr/sbin`.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    versions.sort();
    let folders = std::env::split_paths(&path).chain(versions.into_iter().rev()).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|program| program.exists())
}

/// The user id and group id of a user of this machine.
fn owner(user: &str) -> Option<(u32, u32)> {
    let all = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = all.lines().find(|line| line.split(':').next() == Some(user))?.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// The parent process of a process.
fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in brackets and may contain any character. After it come the state and the parent.
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

fn signal(name: &str, processes: &[u32]) {
    let mut command = Command::new("kill");
    command.arg(format!("-{name}")).args(processes.iter().map(u32::to_string));
    // A process may have exited in the meantime; ignore that error.
    command.stderr(Stdio::null()).status().expect("there is kill");
}
