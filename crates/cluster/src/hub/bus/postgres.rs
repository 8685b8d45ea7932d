//! `LISTEN` and `NOTIFY`, on two dedicated connections.

use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgListener, PgPoolOptions};

use base::error::{Error, Result, driver_message};

/// PostgreSQL delivers notifications within one database only, so one name serves all.
const CHANNEL: &str = "tidings";

pub struct PostgresReader(PgListener);

pub struct PostgresWriter(PgConnection);

pub async fn connect(url: &str) -> Result<(PostgresReader, PostgresWriter)> {
    let options = PgConnectOptions::from_str(url)
        .map_err(unavailable_error)?
        .application_name("tidings bus")
        .extra_float_digits(None);
    let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
    let mut listener =
        PgListener::connect_with(&pool.connect_lazy_with(options.clone())).await.map_err(unavailable_error)?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await.map_err(unavailable_error)?;
    Ok((PostgresReader(listener), PostgresWriter(options.connect().await.map_err(unavailable_error)?)))
}

impl PostgresReader {
    pub async fn next_message(&mut self) -> Result<String> {
        let notification = self.0.try_recv().await.map_err(unavailable_error)?;
        let notification = notification.ok_or_else(|| Error::Unavailable("the connection was lost".into()))?;
        Ok(notification.payload().to_owned())
    }
}

impl PostgresWriter {
    pub async fn publish(&mut self, text: String) -> Result<()> {
        let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(text);
        notify.execute(&mut self.0).await.map_err(unavailable_error)?;
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it by value")]
fn unavailable_error(cause: sqlx::Error) -> Error {
    Error::Unavailable(driver_message(&cause))
}
