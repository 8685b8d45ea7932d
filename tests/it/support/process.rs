//! Child processes: the server program as users run it, and a Redis for one test.

use std::fs::OpenOptions;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::socket::PATIENCE;
use super::{SECRET, everything_must_be_tested};

/// Returns a port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port is free").port()
}

async fn wait_for(address: &str) {
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(address).await.is_err() {
        assert!(Instant::now() < until, "nothing answers at {address}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// The server program: the one built by this test run, or the one that `TIDINGS_TEST_PROGRAM` names.
fn program() -> PathBuf {
    let other = std::env::var_os("TIDINGS_TEST_PROGRAM");
    other.map_or_else(|| env!("CARGO_BIN_EXE_tidings").into(), PathBuf::from)
}

/// A server process.
pub struct Process {
    pub address: String,
    /// The settings for the next start.
    pub settings: Vec<(String, String)>,
    log: Option<PathBuf>,
    child: Child,
}

impl Process {
    /// Starts a server with the database at `url`.
    pub async fn start(url: &str) -> Self {
        Self::start_with(url, &[], None).await
    }

    /// Like [`Self::start`], with additional settings and a log file.
    pub async fn start_with(url: &str, further: &[(&str, &str)], log: Option<&Path>) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let usual = [
            ("TIDINGS_LISTEN", address.as_str()),
            ("DATABASE_URL", url),
            ("TIDINGS_SECRET", SECRET),
            ("TIDINGS_LOG", "warn"),
        ];
        let settings: Vec<_> =
            usual.iter().chain(further).map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let log = log.map(Path::to_owned);
        let child = Self::spawn(&settings, log.as_deref());
        wait_for(&address).await;
        Self { address, settings, log, child }
    }

    fn spawn(settings: &[(String, String)], log: Option<&Path>) -> Child {
        let mut command = Command::new(program());
        command.arg("serve").stdin(Stdio::null()).env_clear().envs(settings.iter().cloned());
        if let Some(log) = log {
            let log = OpenOptions::new().create(true).append(true).open(log);
            command.stderr(log.expect("the log can be written"));
        }
        command.spawn().expect("the server starts")
    }

    /// Starts a server that may open at most `files` files.
    pub async fn start_with_files(url: &str, files: u32) -> Self {
        let server = Self::start(url).await;
        let limit = format!("--nofile={files}:{files}");
        let limited = Command::new("prlimit").arg(limit).arg("--pid").arg(server.child.id().to_string()).status();
        assert!(limited.expect("there is prlimit").success());
        server
    }

    /// The resident memory of the process, in bytes.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs on Linux");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it says what it has");
        resident.trim().trim_end_matches(" kB").parse::<u64>().expect("it is a number") * 1024
    }

    /// Runs `tidings doctor`. Returns whether it succeeded, and its output.
    pub fn doctor(url: &str, further: &[(&str, &str)]) -> (bool, String) {
        let usual = [("DATABASE_URL", url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
        let (is_content, said, _) = Self::command(&["doctor"], &[&usual, further].concat());
        (is_content, said)
    }

    /// Runs a command. Returns whether it succeeded, its standard output and its log.
    pub fn command(arguments: &[&str], settings: &[(&str, &str)]) -> (bool, String, String) {
        let mut command = Command::new(program());
        command.args(arguments).stdin(Stdio::null()).env_clear().envs(settings.iter().copied());
        let ended = command.output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("it is text");
        (ended.status.success(), text(ended.stdout), text(ended.stderr))
    }

    /// Waits until a log line contains `words` and returns that line.
    pub async fn logged(&self, words: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let log = std::fs::read_to_string(self.log.as_ref().expect("it has a log")).expect("the log can be read");
            if let Some(line) = log.lines().find(|line| line.contains(words)) {
                return line.to_owned();
            }
            assert!(Instant::now() < until, "{words:?} in vain in {log}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends SIGTERM and waits for the process to exit.
    pub fn stop(&mut self) {
        self.ask_to_stop();
        self.wait();
    }

    /// Sends SIGTERM.
    pub fn ask_to_stop(&self) {
        self.signal("TERM");
    }

    /// Sends SIGSTOP.
    pub fn stand_still(&self) {
        self.signal("STOP");
    }

    /// Sends SIGCONT.
    pub fn go_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Whether the process has exited by itself; does not block. Panics if it failed.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it can be asked").is_some_and(|ended| {
            assert!(ended.success());
            true
        })
    }

    /// Waits for the process to exit by itself.
    pub fn wait(&mut self) {
        assert!(self.child.wait().expect("it ends").success());
    }

    /// Sends SIGKILL and starts the process again at the same address.
    pub async fn kill_and_start(&mut self) {
        self.kill();
        self.start_again().await;
    }

    /// Sends SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("it can be killed");
    }

    /// Starts the process again at the same address after it has exited.
    pub async fn start_again(&mut self) {
        self.child = Self::spawn(&self.settings, self.log.as_deref());
        wait_for(&self.address).await;
    }

    /// Returns the data of a request over HTTP, or `None` on any failure.
    pub async fn ask(&self, token: &str, query: &str, variables: Value) -> Option<Value> {
        let request = reqwest::Client::new().post(format!("http://{}/graphql", self.address)).bearer_auth(token);
        let body = json!({ "query": query, "variables": variables });
        let mut answer: Value = request.json(&body).send().await.ok()?.json().await.ok()?;
        answer["errors"].is_null().then(|| answer["data"].take())
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name]).arg(child.id().to_string()).status();
    assert!(sent.expect("there is kill").success());
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Redis that can be stopped and started.
pub struct Redis {
    port: u16,
    child: Child,
    /// The folder for Redis dumps.
    folder: TempDir,
}

impl Redis {
    /// Starts a Redis. Returns `None` if this machine has no Redis, or panics if `TIDINGS_TEST_ALL=1`.
    pub async fn start() -> Option<Self> {
        let port = free_port();
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let Some(child) = Self::spawn(port, folder.path()) else {
            assert!(!everything_must_be_tested(), "redis-server cannot be started, and TIDINGS_TEST_ALL=1");
            #[expect(clippy::print_stderr, reason = "it tells whoever runs the tests what they left out")]
            {
                eprintln!("LEFT OUT: redis-server cannot be started");
            }
            return None;
        };
        wait_for(&format!("127.0.0.1:{port}")).await;
        Some(Self { port, child, folder })
    }

    fn spawn(port: u16, folder: &Path) -> Option<Child> {
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.arg("--dir").arg(folder).stdin(Stdio::null()).stdout(Stdio::null()).spawn().ok()
    }

    /// Sends SIGSTOP.
    pub fn stand_still(&self) {
        signal(&self.child, "STOP");
    }

    /// Sends SIGCONT.
    pub fn go_on(&self) {
        signal(&self.child, "CONT");
    }

    /// Runs a command. Returns `None` if it fails.
    pub async fn ask(&self, command: &[&str]) -> Option<redis::Value> {
        let client = redis::Client::open(self.url()).expect("it is a URL");
        let mut connection = client.get_multiplexed_async_connection().await.ok()?;
        redis::cmd(command[0]).arg(&command[1..]).query_async(&mut connection).await.ok()
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn stop(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("it can be stopped");
    }

    pub async fn start_again(&mut self) {
        self.child = Self::spawn(self.port, self.folder.path()).expect("it starts again");
        wait_for(&format!("127.0.0.1:{}", self.port)).await;
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
