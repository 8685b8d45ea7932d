//! A new database for each test, on each database server that is reachable.

use std::sync::atomic::{AtomicUsize, Ordering};

use sea_orm::{ConnectionTrait, Database, DatabaseConnection};

/// Numbers the databases of this test run.
static COUNTER: AtomicUsize = AtomicUsize::new(0);

/// The kinds of database that Tidings supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
    Mysql,
}

/// The database of one test.
pub struct TestDatabase {
    pub url: String,
    /// The server and the database's name there; `None` for SQLite, which uses a temporary folder that is deleted on
    /// drop.
    server: Option<(DatabaseConnection, String)>,
    _folder: Option<tempfile::TempDir>,
}

impl Kind {
    /// Creates an empty database. Returns `None` if no server of this kind is reachable, or panics if
    /// `TIDINGS_TEST_ALL=1`.
    pub async fn make(self) -> Option<TestDatabase> {
        if self == Self::Sqlite {
            return Some(sqlite());
        }
        let charset = if self == Self::Mysql { " CHARACTER SET utf8mb4" } else { "" };
        let create = async |server: &DatabaseConnection, _: &str, name: &str| {
            let create = format!("CREATE DATABASE {name}{charset}");
            server.execute_unprepared(&create).await.expect("a new database comes");
        };
        self.make_by(create).await
    }

    /// Like [`Self::make`], but `create` makes the database. It gets the server, the server's URL and the database's
    /// name.
    pub async fn make_by(self, create: impl AsyncFnOnce(&DatabaseConnection, &str, &str)) -> Option<TestDatabase> {
        let base = match self {
            Self::Sqlite => unreachable!("it has no server"),
            Self::Postgres => setting("TIDINGS_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432"),
            Self::Mysql => setting("TIDINGS_TEST_MYSQL", "mysql://root@127.0.0.1:3306"),
        };
        let admin = if self == Self::Postgres { format!("{base}/postgres") } else { format!("{base}/mysql") };
        let server = match Database::connect(&admin).await {
            Ok(server) => server,
            Err(error) => {
                assert!(
                    !everything_must_be_tested(),
                    "{self:?} does not answer at {admin}, and TIDINGS_TEST_ALL=1: {error}"
                );
                #[expect(clippy::print_stderr, reason = "it tells whoever runs the tests what they left out")]
                {
                    eprintln!("LEFT OUT: {self:?} does not answer at {admin}");
                }
                return None;
            }
        };
        let name = format!("tidings_test_{}_{}", std::process::id(), COUNTER.fetch_add(1, Ordering::SeqCst));
        let drop_first = format!("DROP DATABASE IF EXISTS {name}");
        server.execute_unprepared(&drop_first).await.expect("an old database goes");
        create(&server, &base, &name).await;
        Some(TestDatabase { url: format!("{base}/{name}"), server: Some((server, name)), _folder: None })
    }
}

impl TestDatabase {
    /// Drops the database. Tests that fail do not get here, so their databases remain for inspection.
    pub async fn remove(self) {
        if let Some((server, name)) = self.server {
            let force =
                if server.get_database_backend() == sea_orm::DbBackend::Postgres { " WITH (FORCE)" } else { "" };
            server.execute_unprepared(&format!("DROP DATABASE {name}{force}")).await.expect("the database goes");
        }
    }
}

fn sqlite() -> TestDatabase {
    let folder = tempfile::tempdir().expect("there is room for a database");
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("test.db").display());
    TestDatabase { url, server: None, _folder: Some(folder) }
}

/// Whether it is a failure to skip a test.
pub fn everything_must_be_tested() -> bool {
    setting("TIDINGS_TEST_ALL", "0") == "1"
}

#[expect(clippy::disallowed_methods, reason = "the tests' own settings, which the server does not have")]
fn setting(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}
