//! MySQL and MariaDB.

use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlRow};
use sqlx::{Arguments, AssertSqlSafe, Column, ConnectOptions, Executor, Row, Statement as _, TypeInfo, ValueRef};

use super::failure::ROW_BYTES;
use super::found::{Unfit, instant, integer, json, local, natural, real, short_real, text};
use super::server::{Checked, Server, reads_tidings};
use super::statement::Statement;

/// Privileges that no scan needs.
const TOO_MUCH: [&str; 11] = [
    "ALL PRIVILEGES",
    "ALTER",
    "CREATE",
    "DELETE",
    "DROP",
    "EXECUTE",
    "FILE",
    "INSERT",
    "LOCK TABLES",
    "SUPER",
    "UPDATE",
];

/// Schemas with tables of a Tidings server that the user can read.
const OWN: &str = "SELECT CAST(table_schema AS CHAR) FROM information_schema.tables \
    WHERE table_name IN ('inbox_item', 'rule_run') GROUP BY table_schema HAVING COUNT(*) = 2 ORDER BY 1 LIMIT 3";

/// Identifies an overflow of our own `EXP`.
const OVERFLOW: u32 = 714_025;

#[derive(Debug)]
pub struct MySql {
    options: MySqlConnectOptions,
}

impl MySql {
    pub fn new(url: &str) -> sqlx::Result<Self> {
        let options = MySqlConnectOptions::from_str(url)?
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .disable_statement_logging();
        Ok(Self { options })
    }

    /// Whether a URL has the same server, database and user.
    pub fn is_over(&self, database: &str) -> bool {
        if !["mysql:", "mariadb:"].iter().any(|scheme| database.starts_with(scheme)) {
            return false;
        }
        let Ok(other) = MySqlConnectOptions::from_str(database) else { return false };
        let place = |of: &MySqlConnectOptions| {
            let (host, user) = (of.get_host().to_owned(), of.get_username().to_owned());
            (host, of.get_port(), of.get_socket().cloned(), of.get_database().map(ToOwned::to_owned), user)
        };
        place(&self.options) == place(&other)
    }
}

impl Server for MySql {
    type Connection = MySqlConnection;
    type Handle = u64;
    type Row = MySqlRow;
    const EXPLAIN: &'static str = "EXPLAIN FORMAT=JSON ";

    async fn open(&self) -> sqlx::Result<MySqlConnection> {
        self.options.connect().await
    }

    /// Sets `sql_mode`, because it decides how texts end, which [`Statement`] relies on. MySQL and MariaDB each ignore
    /// the timeout of the other.
    async fn begin(connection: &mut MySqlConnection, allowed: Duration) -> sqlx::Result<u64> {
        let (millis, seconds, whole) =
            (allowed.as_millis().max(1), allowed.as_secs_f64().max(0.001), allowed.as_secs().max(1));
        let words = format!(
            "SET SESSION sql_mode = '', innodb_lock_wait_timeout = {whole}, lock_wait_timeout = {whole} \
             /*!50708 , max_execution_time = {millis} */ /*M!100101 , max_statement_time = {seconds:.3} */"
        );
        sqlx::raw_sql(AssertSqlSafe(words)).execute(&mut *connection).await?;
        sqlx::raw_sql("START TRANSACTION READ ONLY").execute(&mut *connection).await?;
        sqlx::query_scalar("SELECT CONNECTION_ID()").fetch_one(connection).await
    }

    /// Kills the connection, which also releases its named locks.
    async fn cancel(&self, connection: u64) -> sqlx::Result<()> {
        let words = AssertSqlSafe(format!("KILL {connection}"));
        sqlx::raw_sql(words).execute(&mut self.open().await?).await.map(drop)
    }

    fn columns<'a>(
        connection: &'a mut MySqlConnection,
        statement: &'a Statement,
    ) -> BoxFuture<'a, sqlx::Result<Vec<String>>> {
        Box::pin(async move {
            let sql = sqlx::SqlSafeStr::into_sql_str(AssertSqlSafe(statement.sql.clone()));
            let prepared = connection.prepare_with(sql, &[]).await?;
            Ok(prepared.columns().iter().map(|column| column.name().to_owned()).collect())
        })
    }

    /// Forces an error for a row that is too large: `EXP` of more than 709 overflows. `LIMIT` keeps the order of the
    /// rows and makes the source compute each row once. MariaDB does not allow parentheses around `WITH`, so the second
    /// variant loses the order there.
    fn bounded(statement: &Statement, columns: &[String], limit: usize) -> Vec<Statement> {
        let length = |column: &String| format!("COALESCE(LENGTH(t.`{}`), 0)", column.replace('`', "``"));
        let length = columns.iter().map(length).collect::<Vec<_>>().join(" + ");
        let before = format!("SELECT IF({length} <= {ROW_BYTES}, 0, EXP({OVERFLOW} + {length})), t.* FROM ");
        // One more row, to detect a truncated result.
        let limit = format!("\n) LIMIT {}) AS t", limit + 1);
        vec![
            statement.between(&format!("{before}((\n"), &limit),
            statement.between(&format!("{before}(SELECT t.* FROM (\n"), &limit.replacen(')', ") AS t", 1)),
        ]
    }

    fn is_row_too_large(cause: &sqlx::Error) -> bool {
        let said = cause.as_database_error().and_then(|said| said.try_downcast_ref::<MySqlDatabaseError>());
        said.is_some_and(|said| said.number() == 1690 && said.message().contains(&format!("{OVERFLOW} + ")))
    }

    fn rows<'a>(
        connection: &'a mut MySqlConnection,
        statement: &'a Statement,
        instants: &[DateTime<Utc>],
    ) -> BoxStream<'a, sqlx::Result<MySqlRow>> {
        let mut arguments = MySqlArguments::default();
        for instant in instants {
            let text = instant.format("%Y-%m-%d %H:%M:%S%.6f").to_string();
            arguments.add(text).expect("encoding a text does not fail");
        }
        sqlx::query_with(AssertSqlSafe(statement.sql.clone()), arguments).fetch(connection)
    }

    fn value(row: &MySqlRow, index: usize) -> Result<Value, Unfit> {
        let value = row.try_get_raw(index).map_err(|_| Unfit::Broken)?;
        // A zero date is NULL as well.
        if value.is_null() {
            return Ok(Value::Null);
        }
        // Includes text with a binary collation, which the driver calls a blob: MariaDB's JSON, and `_bin` columns.
        let is_text = <str as sqlx::Type<sqlx::MySql>>::compatible(&value.type_info());
        let name = if is_text { "TEXT".to_owned() } else { value.type_info().name().to_owned() };
        let bytes: &[u8] = row.try_get_unchecked(index).map_err(|_| Unfit::Broken)?;
        read(&name, bytes)
    }

    fn check(connection: &mut MySqlConnection) -> BoxFuture<'_, sqlx::Result<Checked>> {
        Box::pin(async move {
            let version: String = sqlx::query_scalar("SELECT VERSION()").fetch_one(&mut *connection).await?;
            let kind = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
            let granted: Vec<String> = sqlx::query_scalar("SHOW GRANTS").fetch_all(&mut *connection).await?;
            let granted: Vec<String> = granted
                .iter()
                .filter_map(|line| line.strip_prefix("GRANT ")?.split_once(" ON "))
                .flat_map(|(rights, _)| {
                    rights
                        .split(',')
                        .filter_map(|right| right.split('(').next())
                        .map(|right| right.trim().to_uppercase())
                })
                .collect();
            let too_much = TOO_MUCH.iter().filter(|right| granted.iter().any(|granted| granted == *right));
            let mut may: Vec<String> = too_much.map(|right| (*right).to_owned()).collect();
            let own: Vec<String> = sqlx::query_scalar(OWN).fetch_all(connection).await?;
            may.extend(own.iter().map(|schema| reads_tidings(schema)));
            Ok(Checked { version: format!("{kind} {version}"), may })
        })
    }
}

/// Reads a value in the binary format.
fn read(of: &str, bytes: &[u8]) -> Result<Value, Unfit> {
    let (signed, is_unsigned) = match of.strip_suffix(" UNSIGNED") {
        Some(signed) => (signed, true),
        None => (of, false),
    };
    Ok(match signed {
        // The driver's name for TINYINT(1), which by convention is a boolean.
        "BOOLEAN" => match bytes {
            [0] => false.into(),
            [1] => true.into(),
            _ => integer(i8::from_le_bytes(exactly(bytes)?).into()),
        },
        "TINYINT" if is_unsigned => natural(u8::from_le_bytes(exactly(bytes)?).into()),
        "SMALLINT" if is_unsigned => natural(u16::from_le_bytes(exactly(bytes)?).into()),
        "MEDIUMINT" | "INT" if is_unsigned => natural(u32::from_le_bytes(exactly(bytes)?).into()),
        "BIGINT" if is_unsigned => natural(u64::from_le_bytes(exactly(bytes)?)),
        "TINYINT" => integer(i8::from_le_bytes(exactly(bytes)?).into()),
        "SMALLINT" => integer(i16::from_le_bytes(exactly(bytes)?).into()),
        "MEDIUMINT" | "INT" => integer(i32::from_le_bytes(exactly(bytes)?).into()),
        "BIGINT" => integer(i64::from_le_bytes(exactly(bytes)?)),
        "YEAR" => natural(u16::from_le_bytes(exactly(bytes)?).into()),
        "BIT" if bytes.len() <= 8 => natural(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))),
        "FLOAT" => short_real(f32::from_le_bytes(exactly(bytes)?)),
        "DOUBLE" => real(f64::from_le_bytes(exactly(bytes)?)),
        "DECIMAL" | "CHAR" | "VARCHAR" | "TINYTEXT" | "TEXT" | "MEDIUMTEXT" | "LONGTEXT" | "ENUM" | "SET" => {
            text(bytes)?
        }
        "JSON" => json(bytes)?,
        "DATE" => calendar(bytes)?.format("%Y-%m-%d").to_string().into(),
        "DATETIME" => local(calendar(bytes)?),
        "TIMESTAMP" => instant(calendar(bytes)?.and_utc().timestamp_micros())?,
        "TIME" => time(bytes)?.into(),
        other => return Err(Unfit::Type(other.to_lowercase())),
    })
}

fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Unfit> {
    bytes.try_into().map_err(|_| Unfit::Broken)
}

/// Reads a length byte and that many bytes: year, month, day, hour, minute, second, microseconds. Trailing zeros are
/// omitted.
fn calendar(bytes: &[u8]) -> Result<NaiveDateTime, Unfit> {
    let (length, rest) = bytes.split_first().ok_or(Unfit::Broken)?;
    let mut all = [0; 11];
    all.get_mut(..rest.len()).ok_or(Unfit::Broken)?.copy_from_slice(rest);
    if usize::from(*length) != rest.len() {
        return Err(Unfit::Broken);
    }
    let [y0, y1, month, day, hour, minute, second, m0, m1, m2, m3] = all;
    let date = NaiveDate::from_ymd_opt(u16::from_le_bytes([y0, y1]).into(), month.into(), day.into());
    let micros = u32::from_le_bytes([m0, m1, m2, m3]);
    date.and_then(|date| date.and_hms_micro_opt(hour.into(), minute.into(), second.into(), micros)).ok_or(Unfit::Broken)
}

/// Reads a time of day or a duration: up to 838 hours, possibly negative.
fn time(bytes: &[u8]) -> Result<String, Unfit> {
    let (_, rest) = bytes.split_first().ok_or(Unfit::Broken)?;
    let mut all = [0; 12];
    all.get_mut(..rest.len()).ok_or(Unfit::Broken)?.copy_from_slice(rest);
    let [is_negative, d0, d1, d2, d3, hour, minute, second, m0, m1, m2, m3] = all;
    let hours = u32::from_le_bytes([d0, d1, d2, d3]).saturating_mul(24).saturating_add(hour.into());
    let sign = if is_negative == 1 { "-" } else { "" };
    let fraction = match u32::from_le_bytes([m0, m1, m2, m3]) {
        0 => String::new(),
        micros => format!(".{micros:06}"),
    };
    Ok(format!("{sign}{hours:02}:{minute:02}:{second:02}{fraction}"))
}
