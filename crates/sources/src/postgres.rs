//! PostgreSQL.

use std::fmt::Write;
use std::str::FromStr;
use std::time::{Duration, Instant as Since};

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use parking_lot::Mutex;
use serde_json::Value;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgConnectOptions, PgConnection, PgRow, PgTypeInfo, PgTypeKind};
use sqlx::{
    Arguments, AssertSqlSafe, Column, ConnectOptions, Connection, Encode, Executor, Postgres as Driver, Row,
    Statement as _, Type, TypeInfo, ValueRef,
};

use super::driver::{SourceCheck, SourceServer, tidings_warning};
use super::failure::ROW_BYTES;
use super::query_rows::{
    UnsupportedValue, float_value, integer_value, json_value, local_time, short_float_value, text_value, utc_time,
};
use super::scan_statement::ScanStatement;

/// Seconds from 1970 to PostgreSQL's epoch, 2000.
const EPOCH_SECONDS: i64 = 946_684_800;

/// How much longer than a statement a transaction may be idle.
const REST: Duration = Duration::from_secs(5);

/// Roles with privileges beyond reading tables. They exist since PostgreSQL 11.
const ROLES: &str = "SELECT rolname::text FROM pg_roles WHERE rolname IN ('pg_read_server_files', \
    'pg_write_server_files', 'pg_execute_server_program') AND pg_has_role(current_user, oid, 'MEMBER') ORDER BY 1";

const TABLES: &str = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
    AND n.nspname NOT LIKE 'pg\\_t%' AND has_schema_privilege(n.oid, 'USAGE') \
    AND (has_table_privilege(c.oid, 'DELETE, TRUNCATE') OR has_any_column_privilege(c.oid, 'INSERT, UPDATE'))";

/// Schemas with tables of a Tidings server that the role can read.
const OWN: &str = "SELECT c.relnamespace::regnamespace::text FROM pg_class c \
    WHERE c.relname IN ('inbox_item', 'rule_run') AND c.relkind = 'r' AND has_schema_privilege(c.relnamespace, 'USAGE') \
    AND has_table_privilege(c.oid, 'SELECT') GROUP BY 1 HAVING count(*) = 2 ORDER BY 1 LIMIT 3";

/// The beginning of the source's error for a row that is too large, before its length.
const TOO_LARGE: &str = "tidings: a row of ";

/// How long an unused connection is kept. Opening one costs the server more than most scans do.
const KEPT: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct PostgresSource {
    pub options: PgConnectOptions,
    /// A reset connection, and the time when it became unused.
    spare: Mutex<Option<(PgConnection, Since)>>,
}

impl PostgresSource {
    pub fn new(url: &str) -> sqlx::Result<Self> {
        let options = PgConnectOptions::from_str(url)?
            .application_name("tidings")
            .extra_float_digits(None)
            .disable_statement_logging();
        Ok(Self { options, spare: Mutex::default() })
    }

    /// Whether a URL has the same server, database and user.
    pub fn is_same_database(&self, database: &str) -> bool {
        if !["postgres:", "postgresql:"].iter().any(|scheme| database.starts_with(scheme)) {
            return false;
        }
        let Ok(other) = PgConnectOptions::from_str(database) else { return false };
        let place = |of: &PgConnectOptions| {
            let (host, user) = (of.get_host().to_owned(), of.get_username().to_owned());
            (host, of.get_port(), of.get_socket().cloned(), of.get_database().map(ToOwned::to_owned), user)
        };
        place(&self.options) == place(&other)
    }
}

impl SourceServer for PostgresSource {
    type Connection = PgConnection;
    type Handle = i32;
    type Row = PgRow;
    const EXPLAIN: &'static str = "EXPLAIN (FORMAT TEXT) ";

    async fn open(&self) -> sqlx::Result<PgConnection> {
        let spare = self.spare.lock().take().filter(|(_, since)| since.elapsed() < KEPT);
        if let Some((mut connection, _)) = spare
            && connection.ping().await.is_ok()
        {
            return Ok(connection);
        }
        self.options.connect().await
    }

    async fn release(&self, mut connection: PgConnection) {
        let as_new = async {
            connection.clear_cached_statements().await?;
            connection.execute("ROLLBACK").await?;
            connection.execute("DISCARD ALL").await
        };
        if as_new.await.is_ok() {
            *self.spare.lock() = Some((connection, Since::now()));
        }
    }

    /// The server-side timeouts end a statement even if this process is gone and cannot cancel it.
    async fn begin(connection: &mut PgConnection, allowed: Duration) -> sqlx::Result<i32> {
        let (statement, rest) = (allowed.as_millis().max(1), (allowed + REST).as_millis());
        let words = format!(
            "BEGIN READ ONLY; SET LOCAL statement_timeout = {statement}; SET LOCAL lock_timeout = {statement}; \
             SET LOCAL idle_in_transaction_session_timeout = {rest}; SET LOCAL standard_conforming_strings = on; \
             SELECT pg_backend_pid()"
        );
        let rows = sqlx::raw_sql(AssertSqlSafe(words)).fetch_all(connection).await?;
        rows.last().ok_or(sqlx::Error::RowNotFound)?.try_get(0)
    }

    async fn cancel(&self, process: i32) -> sqlx::Result<()> {
        let mut connection = self.open().await?;
        sqlx::query("SELECT pg_cancel_backend($1)").bind(process).execute(&mut connection).await.map(drop)
    }

    fn prepare_columns<'a>(
        connection: &'a mut PgConnection,
        statement: &'a ScanStatement,
    ) -> BoxFuture<'a, sqlx::Result<Vec<String>>> {
        Box::pin(async move {
            let types = vec![<TimestampParameter as Type<Driver>>::type_info(); statement.parameters.len()];
            let sql = sqlx::SqlSafeStr::into_sql_str(AssertSqlSafe(statement.sql.clone()));
            let prepared = connection.prepare_with(sql, &types).await?;
            Ok(prepared.columns().iter().map(|column| column.name().to_owned()).collect())
        })
    }

    /// For a row that is too large, casts a text to boolean that is not one. The resulting error contains the text.
    fn wrap_bounded(statement: &ScanStatement, _: &[String], _: usize) -> Vec<ScanStatement> {
        let before = format!(
            "SELECT CASE WHEN octet_length(ROW(t.*)::text) > {ROW_BYTES} \
             THEN ('{TOO_LARGE}' || octet_length(ROW(t.*)::text))::boolean END, t.* FROM (\n"
        );
        vec![statement.wrap_with(&before, "\n) AS t")]
    }

    fn is_row_too_large(cause: &sqlx::Error) -> bool {
        cause.as_database_error().is_some_and(|said| said.message().contains(TOO_LARGE))
    }

    fn stream_rows<'a>(
        connection: &'a mut PgConnection,
        statement: &'a ScanStatement,
        instants: &[DateTime<Utc>],
    ) -> BoxStream<'a, sqlx::Result<PgRow>> {
        let mut arguments = PgArguments::default();
        for instant in instants {
            arguments.add(TimestampParameter(*instant)).expect("encoding eight bytes does not fail");
        }
        sqlx::query_with(AssertSqlSafe(statement.sql.clone()), arguments).fetch(connection)
    }

    fn column_value(row: &PgRow, index: usize) -> Result<Value, UnsupportedValue> {
        let value = row.try_get_raw(index).map_err(|_| UnsupportedValue::Broken)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        let bytes = value.as_bytes().map_err(|_| UnsupportedValue::Broken)?;
        decode_value(value.type_info().as_ref(), bytes)
    }

    fn check_server(connection: &mut PgConnection) -> BoxFuture<'_, sqlx::Result<SourceCheck>> {
        Box::pin(async move {
            let version: String =
                sqlx::query_scalar("SELECT current_setting('server_version')").fetch_one(&mut *connection).await?;
            let mut may = Vec::new();
            let is_superuser: bool = sqlx::query_scalar("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
                .fetch_one(&mut *connection)
                .await?;
            if is_superuser {
                may.push("do anything: it is a superuser".to_owned());
            } else {
                let writable: i64 = sqlx::query_scalar(TABLES).fetch_one(&mut *connection).await?;
                if writable > 0 {
                    may.push(format!("write to {writable} tables or views"));
                }
                let roles: Vec<String> = sqlx::query_scalar(ROLES).fetch_all(&mut *connection).await?;
                may.extend(roles.into_iter().map(|role| format!("use the privileges of {role}")));
            }
            let own: Vec<String> = sqlx::query_scalar(OWN).fetch_all(connection).await?;
            may.extend(own.iter().map(|schema| tidings_warning(schema)));
            Ok(SourceCheck { version: format!("PostgreSQL {version}"), may })
        })
    }
}

/// Sent as `timestamptz`, regardless of how the statement uses it.
struct TimestampParameter(DateTime<Utc>);

impl Type<Driver> for TimestampParameter {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(1184))
    }
}

impl Encode<'_, Driver> for TimestampParameter {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let micros = self.0.timestamp_micros() - EPOCH_SECONDS * 1_000_000;
        buffer.extend_from_slice(&micros.to_be_bytes());
        Ok(IsNull::No)
    }
}

/// Reads a value in the binary format, by its name in `pg_type`. For a domain, the driver reports the base type.
fn decode_value(of: &PgTypeInfo, bytes: &[u8]) -> Result<Value, UnsupportedValue> {
    if let PgTypeKind::Enum(_) = of.kind() {
        return text_value(bytes);
    }
    Ok(match of.name() {
        "BOOL" => (bytes == [1]).into(),
        "INT2" => integer_value(i16::from_be_bytes(fixed_bytes(bytes)?).into()),
        "INT4" => integer_value(i32::from_be_bytes(fixed_bytes(bytes)?).into()),
        "INT8" => integer_value(i64::from_be_bytes(fixed_bytes(bytes)?)),
        "OID" => integer_value(u32::from_be_bytes(fixed_bytes(bytes)?).into()),
        "FLOAT4" => short_float_value(f32::from_be_bytes(fixed_bytes(bytes)?)),
        "FLOAT8" => float_value(f64::from_be_bytes(fixed_bytes(bytes)?)),
        "NUMERIC" => text_value(decode_numeric(bytes).ok_or(UnsupportedValue::Broken)?.as_bytes())?,
        "TEXT" | "VARCHAR" | "CHAR" | "\"CHAR\"" | "NAME" | "UNKNOWN" | "citext" => text_value(bytes)?,
        "JSON" => json_value(bytes)?,
        // The value starts with a version byte.
        "JSONB" => json_value(bytes.strip_prefix(&[1]).ok_or(UnsupportedValue::Broken)?)?,
        "UUID" => format_uuid(fixed_bytes(bytes)?).into(),
        "DATE" => decode_date(i32::from_be_bytes(fixed_bytes(bytes)?))?,
        "TIME" => decode_time(i64::from_be_bytes(fixed_bytes(bytes)?))?.into(),
        "TIMETZ" => {
            let (micros, zone) = bytes.split_at_checked(8).ok_or(UnsupportedValue::Broken)?;
            let west = i32::from_be_bytes(fixed_bytes(zone)?);
            format!("{}{}", decode_time(i64::from_be_bytes(fixed_bytes(micros)?))?, format_offset(-west)).into()
        }
        "TIMESTAMP" => match i64::from_be_bytes(fixed_bytes(bytes)?) {
            i64::MAX => "infinity".into(),
            i64::MIN => "-infinity".into(),
            micros => local_time(
                DateTime::from_timestamp_micros(unix_micros(micros)?).ok_or(UnsupportedValue::Broken)?.naive_utc(),
            ),
        },
        "TIMESTAMPTZ" => match i64::from_be_bytes(fixed_bytes(bytes)?) {
            i64::MAX => "infinity".into(),
            i64::MIN => "-infinity".into(),
            micros => utc_time(unix_micros(micros)?)?,
        },
        other => return Err(UnsupportedValue::Type(other.to_lowercase())),
    })
}

fn fixed_bytes<const N: usize>(bytes: &[u8]) -> Result<[u8; N], UnsupportedValue> {
    bytes.try_into().map_err(|_| UnsupportedValue::Broken)
}

fn unix_micros(micros: i64) -> Result<i64, UnsupportedValue> {
    micros.checked_add(EPOCH_SECONDS * 1_000_000).ok_or(UnsupportedValue::Broken)
}

fn decode_date(days: i32) -> Result<Value, UnsupportedValue> {
    Ok(match days {
        i32::MAX => "infinity".into(),
        i32::MIN => "-infinity".into(),
        days => {
            let days = i64::from(days) + EPOCH_SECONDS / 86_400;
            let date = NaiveDate::from_epoch_days(i32::try_from(days).map_err(|_| UnsupportedValue::Broken)?);
            date.ok_or(UnsupportedValue::Broken)?.format("%Y-%m-%d").to_string().into()
        }
    })
}

/// PostgreSQL allows `24:00:00` as the end of a day.
fn decode_time(micros: i64) -> Result<String, UnsupportedValue> {
    const DAY: i64 = 86_400_000_000;
    if micros == DAY {
        return Ok("24:00:00".into());
    }
    let (seconds, rest) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (seconds, rest) = (u32::try_from(seconds), u32::try_from(rest * 1_000));
    let (Ok(seconds), Ok(nanos)) = (seconds, rest) else { return Err(UnsupportedValue::Broken) };
    let time = NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos).ok_or(UnsupportedValue::Broken)?;
    Ok(time.format("%H:%M:%S%.f").to_string())
}

fn format_offset(seconds: i32) -> String {
    let (sign, seconds) = (if seconds < 0 { '-' } else { '+' }, seconds.abs());
    format!("{sign}{:02}:{:02}", seconds / 3_600, seconds / 60 % 60)
}

fn format_uuid(bytes: [u8; 16]) -> String {
    let mut text = format!("{:032x}", u128::from_be_bytes(bytes));
    for place in [20, 16, 12, 8] {
        text.insert(place, '-');
    }
    text
}

/// Reads digits of base 10,000 and the position of the decimal point, as `numeric_send` in PostgreSQL's `numeric.c`
/// writes them.
fn decode_numeric(bytes: &[u8]) -> Option<String> {
    let (head, digits) = bytes.split_at_checked(8)?;
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (weight, sign, scale) = (word(2).cast_signed(), word(4), usize::from(word(6)));
    match sign {
        0xC000 => return Some("NaN".into()),
        0xD000 => return Some("Infinity".into()),
        0xF000 => return Some("-Infinity".into()),
        _ => {}
    }
    let digits: Vec<u16> = digits.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    let digit = |place: i32| usize::try_from(place).ok().and_then(|place| digits.get(place)).copied().unwrap_or(0);
    let mut text = String::from(if sign == 0x4000 { "-" } else { "" });
    let weight = i32::from(weight);
    let whole = join_digits((0..=weight).map(digit));
    let whole = whole.trim_start_matches('0');
    text.push_str(if whole.is_empty() { "0" } else { whole });
    if scale > 0 {
        let groups = i32::try_from(scale.div_ceil(4)).ok()?;
        let mut fraction = join_digits((1..=groups).map(|place| digit(weight + place)));
        fraction.truncate(scale);
        text.push('.');
        text.push_str(&fraction);
    }
    Some(text)
}

/// Joins the digits, with four characters for each.
fn join_digits(digits: impl Iterator<Item = u16>) -> String {
    let mut text = String::new();
    for digit in digits {
        write!(text, "{digit:04}").expect("writing to a String does not fail");
    }
    text
}
