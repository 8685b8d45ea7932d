//! A template database with all migrations applied. It is made once and copied for each test, since the migrations take
//! longer than most tests do.
//!
//! On a server, its name contains a hash of the migrations, and it stays there for later test runs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::path::Path;

use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};
use store::open;
use tokio::sync::OnceCell;

use super::{Kind, TestDatabase, config};

/// The template's name on a server, once it is ready.
static POSTGRES: OnceCell<String> = OnceCell::const_new();
static MYSQL: OnceCell<String> = OnceCell::const_new();

/// The content of the SQLite template.
static SQLITE: OnceCell<Vec<u8>> = OnceCell::const_new();

impl Kind {
    /// Creates a database that has all migrations and nothing else. Returns `None` if [`Kind::make`] does.
    pub async fn migrated(self) -> Option<TestDatabase> {
        let database = if self == Self::Sqlite {
            let database = self.make().await?;
            fs::write(path(&database.url), sqlite().await).expect("there is room for a copy");
            database
        } else {
            self.make_by(copy).await?
        };
        // Give the copy a unique name: nodes find their peers by it on a Redis that other databases share.
        let name =
            format!("UPDATE server SET value = '{:x}' WHERE name = 'name'", RandomState::new().hash_one(&database.url));
        let db = Database::connect(&database.url).await.expect("the copy answers");
        run(&db, &name).await;
        db.close().await.expect("it is closed");
        Some(database)
    }
}

/// Returns the content of the SQLite template; makes it first if necessary.
async fn sqlite() -> &'static [u8] {
    let make = async || {
        let database = Kind::Sqlite.make().await.expect("there is always one");
        migrate(&database.url).await;
        fs::read(path(&database.url)).expect("the migrations made it")
    };
    SQLITE.get_or_init(make).await
}

fn path(url: &str) -> &str {
    url.trim_start_matches("sqlite://").trim_end_matches("?mode=rwc")
}

/// Copies the template to a new database of this name.
async fn copy(server: &DatabaseConnection, base: &str, name: &str) {
    let backend = server.get_database_backend();
    let template = if backend == DbBackend::Postgres { &POSTGRES } else { &MYSQL };
    let template = template.get_or_init(async || make(server, base).await).await;
    if backend == DbBackend::Postgres {
        run(server, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        return;
    }
    run(server, &format!("CREATE DATABASE {name} CHARACTER SET utf8mb4")).await;
    let tables = format!("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '{template}'");
    let tables = server.query_all_raw(Statement::from_string(backend, tables)).await.expect("it is read");
    let copies = tables.iter().map(|row| {
        let table: String = row.try_get("", "name").expect("it has a name");
        format!("CREATE TABLE {name}.{table} LIKE {template}.{table}; INSERT INTO {name}.{table} SELECT * FROM {template}.{table};")
    });
    run(server, &copies.collect::<String>()).await;
}

async fn make(server: &DatabaseConnection, base: &str) -> String {
    let name = format!("tidings_test_template_{:016x}", fingerprint());
    let charset = if server.get_database_backend() == DbBackend::MySql { " CHARACTER SET utf8mb4" } else { "" };
    // It may exist already, with some or all of the migrations.
    let _ = server.execute_unprepared(&format!("CREATE DATABASE {name}{charset}")).await;
    migrate(&format!("{base}/{name}")).await;
    name
}

async fn migrate(url: &str) {
    let db = open(&config(url).database).await.expect("the database answers");
    db.migrate().await.expect("the migrations apply");
    db.close().await;
}

async fn run(db: &DatabaseConnection, statement: &str) {
    db.execute_unprepared(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// Returns a hash of all migration files.
fn fingerprint() -> u64 {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migration/src");
    let files = fs::read_dir(folder).expect("the migrations are there").map(|file| file.expect("it is one").path());
    let texts: BTreeMap<_, _> =
        files.map(|path| (path.file_name().map(OsStr::to_owned), fs::read(path).expect("it is read"))).collect();
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}
