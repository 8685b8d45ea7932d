//! The system under test: a database server, the nodes that use it, and a Redis between them.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::{Kind, Process, Redis, Server};

/// The size of the disk that scenarios fill.
const DISK: &str = "size=192m";

/// Runs scenarios one after the other, each with a new database.
pub struct Arena {
    pub kind: Kind,
    pub nodes: Vec<Process>,
    /// `None` for SQLite.
    pub server: Option<Server>,
    /// `None` for SQLite, or if this machine has no Redis.
    pub redis: Option<Redis>,
    url: String,
    count: usize,
    /// SQLite files and the logs of the nodes.
    folder: TempDir,
    /// The last field, so that everything on the disk is closed before it is unmounted.
    pub disk: Option<Disk>,
}

impl Arena {
    /// Starts the servers with their data on `disk` or in a folder. Returns `None`, and prints so, if the database's
    /// programs are missing.
    pub async fn open(kind: Kind, disk: Option<Disk>) -> Option<Self> {
        let server = match (kind, &disk) {
            (Kind::Sqlite, _) => None,
            (_, Some(disk)) => Some(Server::start_in(kind, disk.path()).await?),
            (_, None) => Some(Server::start(kind).await?),
        };
        let redis = if kind == Kind::Sqlite { None } else { Redis::start().await };
        let folder = tempfile::tempdir().expect("there is room for logs");
        Some(Self { kind, nodes: Vec::new(), server, redis, url: String::new(), count: 0, folder, disk })
    }

    /// Creates an empty database and starts one node per list of settings. Stops the nodes of the previous scenario.
    pub async fn begin(&mut self, nodes: &[Vec<(&str, String)>]) {
        self.nodes.clear();
        self.count += 1;
        let name = format!("chaos_{}", self.count);
        self.url = match &self.server {
            Some(server) => server.create(&name).await,
            None => format!("sqlite://{}/{name}.db?mode=rwc", self.data().display()),
        };
        let usual = [("TIDINGS_RATE", "0"), ("TIDINGS_LOG", "info")];
        for (node, settings) in nodes.iter().enumerate() {
            let further = settings.iter().map(|(name, value)| (*name, value.as_str()));
            let settings: Vec<_> = usual.into_iter().chain(further).collect();
            self.nodes.push(Process::start_with(&self.url, &settings, Some(&self.log(node))).await);
        }
    }

    /// The addresses of the nodes.
    pub fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.address.clone()).collect()
    }

    /// The logs of all nodes in the current scenario.
    pub fn logs(&self) -> String {
        let logs = (0..self.nodes.len()).map(|node| std::fs::read_to_string(self.log(node)).unwrap_or_default());
        logs.collect()
    }

    fn log(&self, node: usize) -> PathBuf {
        self.folder.path().join(format!("{}-{node}.log", self.count))
    }

    fn data(&self) -> &Path {
        self.disk.as_ref().map_or(self.folder.path(), Disk::path)
    }
}

/// A small disk that can be filled.
pub struct Disk(TempDir);

impl Disk {
    /// Mounts a tmpfs. Returns `None` without the permission to mount.
    pub fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", DISK, "tmpfs"]).arg(folder.path());
        mount.output().is_ok_and(|done| done.status.success()).then(|| Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Fills the disk. A further call fills the space that has become free since.
    pub fn fill(&self) {
        let mut zeros = std::io::repeat(0);
        let ballast = OpenOptions::new().create(true).append(true).open(self.ballast());
        std::io::copy(&mut zeros, &mut ballast.expect("a folder has room for a name")).expect_err("a disk has an end");
    }

    /// Frees the space that [`Self::fill`] took.
    pub fn free(&self) {
        std::fs::remove_file(self.ballast()).expect("it was filled");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}
