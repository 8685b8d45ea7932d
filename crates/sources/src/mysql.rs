//! MySQL and MariaDB.

use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlRow};
use sqlx::{Arguments, AssertSqlSafe, Column, ConnectOptions, Executor, Row, Statement as _, TypeInfo, ValueRef};

use super::driver::{SourceCheck, SourceServer, tidings_warning};
use super::failure::ROW_BYTES;
use super::query_rows::{
    UnsupportedValue, float_value, integer_value, json_value, local_time, short_float_value, text_value,
    unsigned_value, utc_time,
};
use super::scan_statement::ScanStatement;

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
pub struct MySqlSource {
    options: MySqlConnectOptions,
}

impl MySqlSource {
    pub fn new(url: &str) -> sqlx::Result<Self> {
        let options = MySqlConnectOptions::from_str(url)?
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .disable_statement_logging();
        Ok(Self { options })
    }

    /// Whether a URL has the same server, database and user.
    pub fn is_same_database(&self, database: &str) -> bool {
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

impl SourceServer for MySqlSource {
    type Connection = MySqlConnection;
    type Handle = u64;
    type Row = MySqlRow;
    const EXPLAIN: &'static str = "EXPLAIN FORMAT=JSON ";

    async fn open(&self) -> sqlx::Result<MySqlConnection> {
        self.options.connect().await
    }

    /// Sets `sql_mode`, because it decides how texts end, which [`ScanStatement`] relies on. MySQL and MariaDB each
    /// ignore the timeout of the other.
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

    fn prepare_columns<'a>(
        connection: &'a mut MySqlConnection,
        statement: &'a ScanStatement,
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
    fn wrap_bounded(statement: &ScanStatement, columns: &[String], limit: usize) -> Vec<ScanStatement> {
        let length = |column: &String| format!("COALESCE(LENGTH(t.`{}`), 0)", column.replace('`', "``"));
        let length = columns.iter().map(length).collect::<Vec<_>>().join(" + ");
        let before = format!("SELECT IF({length} <= {ROW_BYTES}, 0, EXP({OVERFLOW} + {length})), t.* FROM ");
        // One more row, to detect a truncated result.
        let limit = format!("\n) LIMIT {}) AS t", limit + 1);
        vec![
            statement.wrap_with(&format!("{before}((\n"), &limit),
            statement.wrap_with(&format!("{before}(SELECT t.* FROM (\n"), &limit.replacen(')', ") AS t", 1)),
        ]
    }

    fn is_row_too_large(cause: &sqlx::Error) -> bool {
        let said = cause.as_database_error().and_then(|said| said.try_downcast_ref::<MySqlDatabaseError>());
        said.is_some_and(|said| said.number() == 1690 && said.message().contains(&format!("{OVERFLOW} + ")))
    }

    fn stream_rows<'a>(
        connection: &'a mut MySqlConnection,
        statement: &'a ScanStatement,
        instants: &[DateTime<Utc>],
    ) -> BoxStream<'a, sqlx::Result<MySqlRow>> {
        let mut arguments = MySqlArguments::default();
        for instant in instants {
            let text = instant.format("%Y-%m-%d %H:%M:%S%.6f").to_string();
            arguments.add(text).expect("encoding a text does not fail");
        }
        sqlx::query_with(AssertSqlSafe(statement.sql.clone()), arguments).fetch(connection)
    }

    fn column_value(row: &MySqlRow, index: usize) -> Result<Value, UnsupportedValue> {
        let value = row.try_get_raw(index).map_err(|_| UnsupportedValue::Broken)?;
        // A zero date is NULL as well.
        if value.is_null() {
            return Ok(Value::Null);
        }
        // Includes text with a binary collation, which the driver calls a blob: MariaDB's JSON, and `_bin` columns.
        let is_text = <str as sqlx::Type<sqlx::MySql>>::compatible(&value.type_info());
        let name = if is_text { "TEXT".to_owned() } else { value.type_info().name().to_owned() };
        let bytes: &[u8] = row.try_get_unchecked(index).map_err(|_| UnsupportedValue::Broken)?;
        decode_value(&name, bytes)
    }

    fn check_server(connection: &mut MySqlConnection) -> BoxFuture<'_, sqlx::Result<SourceCheck>> {
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
            may.extend(own.iter().map(|schema| tidings_warning(schema)));
            Ok(SourceCheck { version: format!("{kind} {version}"), may })
        })
    }
}

/// Reads a value in the binary format.
fn decode_value(of: &str, bytes: &[u8]) -> Result<Value, UnsupportedValue> {
    let (signed, is_unsigned) = match of.strip_suffix(" UNSIGNED") {
        Some(signed) => (signed, true),
        None => (of, false),
    };
    Ok(match signed {
        // The driver's name for TINYINT(1), which by convention is a boolean.
        "BOOLEAN" => match bytes {
            [0] => false.into(),
            [1] => true.into(),
            _ => integer_value(i8::from_le_bytes(fixed_bytes(bytes)?).into()),
        },
        "TINYINT" if is_unsigned => unsigned_value(u8::from_le_bytes(fixed_bytes(bytes)?).into()),
        "SMALLINT" if is_unsigned => unsigned_value(u16::from_le_bytes(fixed_bytes(bytes)?).into()),
        "MEDIUMINT" | "INT" if is_unsigned => unsigned_value(u32::from_le_bytes(fixed_bytes(bytes)?).into()),
        "BIGINT" if is_unsigned => unsigned_value(u64::from_le_bytes(fixed_bytes(bytes)?)),
        "TINYINT" => integer_value(i8::from_le_bytes(fixed_bytes(bytes)?).into()),
        "SMALLINT" => integer_value(i16::from_le_bytes(fixed_bytes(bytes)?).into()),
        "MEDIUMINT" | "INT" => integer_value(i32::from_le_bytes(fixed_bytes(bytes)?).into()),
        "BIGINT" => integer_value(i64::from_le_bytes(fixed_bytes(bytes)?)),
        "YEAR" => unsigned_value(u16::from_le_bytes(fixed_bytes(bytes)?).into()),
        "BIT" if bytes.len() <= 8 => {
            unsigned_value(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        }
        "FLOAT" => short_float_value(f32::from_le_bytes(fixed_bytes(bytes)?)),
        "DOUBLE" => float_value(f64::from_le_bytes(fixed_bytes(bytes)?)),
        "DECIMAL" | "CHAR" | "VARCHAR" | "TINYTEXT" | "TEXT" | "MEDIUMTEXT" | "LONGTEXT" | "ENUM" | "SET" => {
            text_value(bytes)?
        }
        "JSON" => json_value(bytes)?,
        "DATE" => decode_datetime(bytes)?.format("%Y-%m-%d").to_string().into(),
        "DATETIME" => local_time(decode_datetime(bytes)?),
        "TIMESTAMP" => utc_time(decode_datetime(bytes)?.and_utc().timestamp_micros())?,
        "TIME" => decode_time(bytes)?.into(),
        other => return Err(UnsupportedValue::Type(other.to_lowercase())),
    })
}

fn fixed_bytes<const N: usize>(bytes: &[u8]) -> Result<[u8; N], UnsupportedValue> {
    bytes.try_into().map_err(|_| UnsupportedValue::Broken)
}

/// Reads a length byte and that many bytes: year, month, day, hour, minute, second, microseconds. Trailing zeros are
/// omitted.
fn decode_datetime(bytes: &[u8]) -> Result<NaiveDateTime, UnsupportedValue> {
    let (length, rest) = bytes.split_first().ok_or(UnsupportedValue::Broken)?;
    let mut all = [0; 11];
    all.get_mut(..rest.len()).ok_or(UnsupportedValue::Broken)?.copy_from_slice(rest);
    if usize::from(*length) != rest.len() {
        return Err(UnsupportedValue::Broken);
    }
    let [y0, y1, month, day, hour, minute, second, m0, m1, m2, m3] = all;
    let date = NaiveDate::from_ymd_opt(u16::from_le_bytes([y0, y1]).into(), month.into(), day.into());
    let micros = u32::from_le_bytes([m0, m1, m2, m3]);
    date.and_then(|date| date.and_hms_micro_opt(hour.into(), minute.into(), second.into(), micros))
        .ok_or(UnsupportedValue::Broken)
}

/// Reads a time of day or a duration: up to 838 hours, possibly negative.
fn decode_time(bytes: &[u8]) -> Result<String, UnsupportedValue> {
    let (_, rest) = bytes.split_first().ok_or(UnsupportedValue::Broken)?;
    let mut all = [0; 12];
    all.get_mut(..rest.len()).ok_or(UnsupportedValue::Broken)?.copy_from_slice(rest);
    let [is_negative, d0, d1, d2, d3, hour, minute, second, m0, m1, m2, m3] = all;
    let hours = u32::from_le_bytes([d0, d1, d2, d3]).saturating_mul(24).saturating_add(hour.into());
    let sign = if is_negative == 1 { "-" } else { "" };
    let fraction = match u32::from_le_bytes([m0, m1, m2, m3]) {
        0 => String::new(),
        micros => format!(".{micros:06}"),
    };
    Ok(format!("{sign}{hours:02}:{minute:02}:{second:02}{fraction}"))
}
