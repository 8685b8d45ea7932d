//! The environment of a measurement: the database with its data, and the server's binary.

use std::path::{Path, PathBuf};
use std::process::Command;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, raw_sql};

use crate::{Ground, Result, data};

/// A prepared environment.
pub struct Place {
    pub url: String,
    pub binary: PathBuf,
    pub scenes: Vec<data::Scene>,
}

impl Place {
    /// Builds the server and fills the database, unless both exist already.
    pub async fn prepare(ground: &Ground) -> Result<Self> {
        let bare = Self::bare(ground)?;
        let scenes = data::prepare(&bare.url).await?;
        Ok(Self { scenes, ..bare })
    }

    /// Prepares the environment without data, for work that creates its own databases.
    pub fn bare(ground: &Ground) -> Result<Self> {
        let binary = ground.server.clone().map_or_else(build, Ok)?;
        let folder = root().join("target/bench");
        std::fs::create_dir_all(&folder)?;
        let local = format!("sqlite://{}?mode=rwc", folder.join("data.db").display());
        let url = ground.database.clone().unwrap_or(local);
        Ok(Self { url, binary, scenes: Vec::new() })
    }

    pub fn is_postgres(&self) -> bool {
        self.url.starts_with("postgres")
    }

    /// The kind of database, as named in results.
    pub fn database(&self) -> &'static str {
        if self.is_postgres() { "postgresql" } else { "sqlite" }
    }

    /// Creates an empty database next to the one with the data.
    pub async fn empty(&self, name: &str) -> Result<String> {
        if !self.is_postgres() {
            return Ok(format!("sqlite://{}?mode=rwc", cleared(&format!("empty-{name}"))));
        }
        let (base, settings) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let (server, database) = base.rsplit_once('/').ok_or("the URL names no database")?;
        let name = format!("{database}_empty_{name}");
        let (client, connection) = tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        client.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        Ok(format!("{server}/{name}?{settings}"))
    }

    /// The same data for a second server, before the first one starts. On SQLite, which allows one server at a time, it
    /// is a copy.
    pub async fn again(&self) -> Result<String> {
        if !self.is_postgres() {
            let options: SqliteConnectOptions = self.url.parse()?;
            let copy = cleared("again");
            let mut connection = options.connect().await?;
            raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
            std::fs::copy(options.get_filename(), &copy)?;
            return Ok(format!("sqlite://{copy}?mode=rwc"));
        }
        Ok(self.url.clone())
    }

    /// The tenant of that name.
    pub fn scene(&self, code: &str) -> &data::Scene {
        self.scenes.iter().find(|scene| scene.code == code).expect("work names tenants that there are")
    }
}

/// Deletes a SQLite database and returns its path.
fn cleared(name: &str) -> String {
    let file = root().join(format!("target/bench/{name}.db")).display().to_string();
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{file}{end}"));
    }
    file
}

/// The repository's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("bench is in the repository").to_owned()
}

fn build() -> Result<PathBuf> {
    let build = ["build", "--locked", "--profile", "dist", "--bin", "tidings"];
    if !Command::new("cargo").args(build).current_dir(root()).status()?.success() {
        return Err("the server cannot be built".into());
    }
    Ok(root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into())).join("dist/tidings"))
}
