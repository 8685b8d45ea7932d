//! SQLite: a file that scans only read.
//!
//! SQLite runs inside this process and has no roles, so each connection is restricted before it gets a statement. The
//! file is opened read-only, an authorizer only permits reading tables and calling functions, and limits bound the size
//! of values. SQLite itself decides how many statements a text contains, its parameters, and its effects. Nothing here
//! parses SQL.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, OpenFlags, Row, Statement};
use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;

use super::driver::{SourceCheck, tidings_warning};
use super::failure::{QueryFailure, ROW_BYTES};
use super::query_rows::{QueryRows, RowCollector, UnsupportedValue, float_value, integer_value, text_value};
use super::scan_statement::{NO_OTHERS, ONE_ALONE};

/// SQLite calls the progress handler after this many steps of its virtual machine (a few microseconds).
const STEPS: i32 = 1_000;

/// These limits bound a single call of a function or operator. SQLite interrupts a statement only between steps, and
/// `instr` or `LIKE` over long values is a single step.
const LIMITS: [(Limit, i32); 8] = [
    (Limit::SQLITE_LIMIT_LENGTH, ROW_BYTES.cast_signed()),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
    (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 10),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Functions with access beyond the file, in builds of SQLite that have them.
const REFUSED_FUNCTIONS: [&str; 6] =
    ["load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "sqlite_log"];

#[derive(Debug)]
pub struct SqliteSource {
    path: PathBuf,
}

/// A query, owned by the thread that runs it.
pub struct OwnedQuery {
    pub sql: String,
    pub now: DateTime<Utc>,
    pub since: DateTime<Utc>,
    /// Maximum number of rows.
    pub limit: usize,
}

/// Ends a scan at a deadline, or when its caller is gone.
#[derive(Clone)]
pub struct ScanDeadline {
    pub until: Instant,
    pub is_over: Arc<AtomicBool>,
}

impl ScanDeadline {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

impl SqliteSource {
    /// Uses the URL's path. Parameters other than `mode` are refused; the file is always opened read-only.
    pub fn new(url: &str) -> sqlx::Result<Self> {
        let refused = |why: &str| sqlx::Error::Configuration(why.to_owned().into());
        let options = SqliteConnectOptions::from_str(url)?;
        let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters);
        if !["", "mode=ro", "mode=rw", "mode=rwc"].contains(&parameters) {
            return Err(refused("a source allows no parameter except `mode`"));
        }
        // SQLite would treat a path that begins with `file:` as a URI with parameters.
        let path = std::path::absolute(options.get_filename()).map_err(sqlx::Error::Io)?;
        if url.ends_with(":memory:") {
            return Err(refused("a source must be a file"));
        }
        Ok(Self { path })
    }

    /// Whether the URL leads to the same file, by any path.
    pub fn is_same_file(&self, database: &str) -> bool {
        if !database.starts_with("sqlite:") {
            return false;
        }
        let Ok(options) = SqliteConnectOptions::from_str(database) else { return false };
        match (file_identity(&self.path), file_identity(options.get_filename())) {
            (Some(file), Some(own)) => file == own,
            _ => false,
        }
    }

    /// Runs a query. Blocks.
    pub fn scan(&self, question: &OwnedQuery, patience: &ScanDeadline) -> Result<QueryRows, QueryFailure> {
        let connection = self.open_connection(patience).map_err(QueryFailure::without_address)?;
        let statement = prepare_statement(&connection, &question.sql)?;
        collect_rows(statement, question)
    }

    /// The query plan, with SQLite's description in the last column. Blocks.
    pub fn plan(&self, question: &OwnedQuery, patience: &ScanDeadline) -> Result<QueryRows, QueryFailure> {
        let connection = self.open_connection(patience).map_err(QueryFailure::without_address)?;
        prepare_statement(&connection, &question.sql)?;
        let explained = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", question.sql))?;
        collect_rows(explained, question)
    }

    /// Checks that the file can be read, and returns its version. Blocks.
    pub fn check(&self, patience: &ScanDeadline) -> Result<SourceCheck, QueryFailure> {
        let connection = self.open_connection(patience)?;
        let of_tidings =
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('inbox_item', 'rule_run')";
        let tables: i64 = connection.query_row(of_tidings, [], |row| row.get(0))?;
        let may = if tables == 2 { vec![tidings_warning("this file")] } else { Vec::new() };
        Ok(SourceCheck { version: format!("SQLite {}", rusqlite::version()), may })
    }

    /// Opens a connection that can only read this file's tables.
    fn open_connection(&self, patience: &ScanDeadline) -> Result<Connection, QueryFailure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        let left = patience.until.saturating_duration_since(Instant::now());
        connection.busy_timeout(left.max(Duration::from_millis(1)))?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.pragma_update(None, "query_only", true)?;
        // Opening does not read the file; this does.
        connection.pragma_query(None, "schema_version", |_| Ok(()))?;
        // SQLite declares the tables behind these functions at their first use, and asks the authorizer about it as
        // about a write. All other table-valued functions stay undeclared.
        drop(connection.prepare("SELECT 1 FROM json_each('[]'), json_tree('[]')")?);
        for (limit, most) in LIMITS {
            connection.set_limit(limit, most)?;
        }
        let patience = patience.clone();
        connection.progress_handler(STEPS, Some(move || patience.is_over()))?;
        connection.authorizer(Some(authorize))?;
        Ok(connection)
    }
}

/// Identifies a file by device and inode number, so that links do not hide it.
#[cfg(unix)]
fn file_identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn file_identity(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

/// SQLite calls this while it prepares a statement. Permits reading tables and views of the file, and calling
/// functions.
///
/// `PRAGMA` is refused, both as a statement and inside table-valued functions such as `pragma_database_list`, which
/// prepare one.
fn authorize(asked: AuthContext<'_>) -> Authorization {
    let is_let = match asked.action {
        AuthAction::Select | AuthAction::Recursive => true,
        AuthAction::Read { .. } => matches!(asked.database_name, None | Some("main")),
        AuthAction::Function { function_name } => {
            !REFUSED_FUNCTIONS.iter().any(|refused| refused.eq_ignore_ascii_case(function_name))
        }
        _ => false,
    };
    if is_let { Authorization::Allow } else { Authorization::Deny }
}

/// Prepares a single statement that returns rows and has no parameters other than `:now` and `:since`.
fn prepare_statement<'a>(connection: &'a Connection, sql: &str) -> Result<Statement<'a>, QueryFailure> {
    let statement = connection.prepare(sql)?;
    if statement.column_count() == 0 || statement.is_explain() != 0 || !statement.readonly() {
        return Err(QueryFailure::rejected_statement("a scan must be one SELECT, but this is not one", None));
    }
    for number in 1..=statement.parameter_count() {
        match statement.parameter_name(number) {
            Some(":now" | ":since") => {}
            name => {
                let place = name.and_then(|name| sql.find(name)).map(|at| sql[..at].chars().count() + 1);
                return Err(QueryFailure::rejected_statement(NO_OTHERS, place));
            }
        }
    }
    Ok(statement)
}

fn collect_rows(mut statement: Statement<'_>, question: &OwnedQuery) -> Result<QueryRows, QueryFailure> {
    let columns: Vec<String> = statement.column_names().into_iter().map(ToOwned::to_owned).collect();
    let booleans: Vec<bool> = statement
        .columns()
        .iter()
        .map(|column| {
            column.decl_type().is_some_and(|declared| ["BOOLEAN", "BOOL"].contains(&&*declared.to_uppercase()))
        })
        .collect();
    // The format of `datetime('now')`, without fractions.
    let written = |instant: DateTime<Utc>| instant.format("%Y-%m-%d %H:%M:%S").to_string();
    for (name, instant) in [(":now", question.now), (":since", question.since)] {
        if let Some(number) = statement.parameter_index(name)? {
            statement.raw_bind_parameter(number, written(instant))?;
        }
    }
    let mut gathering = RowCollector::for_columns(columns, question.limit)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(|cause| QueryFailure::from(cause).without_values())? {
        if !gathering.add_row(|index| column_value(row, index, booleans[index]))? {
            break;
        }
    }
    Ok(gathering.into_rows())
}

fn column_value(row: &Row<'_>, index: usize, is_boolean: bool) -> Result<Value, UnsupportedValue> {
    Ok(match row.get_ref(index).map_err(|_| UnsupportedValue::Broken)? {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number @ (0 | 1)) if is_boolean => (number == 1).into(),
        ValueRef::Integer(number) => integer_value(number),
        ValueRef::Real(number) => float_value(number),
        ValueRef::Text(bytes) => text_value(bytes)?,
        ValueRef::Blob(_) => return Err(UnsupportedValue::Type("blob".into())),
    })
}

impl From<Error> for QueryFailure {
    fn from(cause: Error) -> Self {
        match cause {
            Error::MultipleStatement => Self::rejected_statement(ONE_ALONE, None),
            Error::SqlInputError { error, msg, sql, offset } => {
                let before = usize::try_from(offset).ok().and_then(|offset| sql.get(..offset));
                Self { position: before.map(|before| before.chars().count() + 1), ..Self::from_sqlite(error, msg) }
            }
            Error::SqliteFailure(error, message) => Self::from_sqlite(error, message.unwrap_or_default()),
            other => Self::failed_statement(other.to_string()),
        }
    }
}
