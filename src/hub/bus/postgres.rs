//! `LISTEN` and `NOTIFY`, on two dedicated connections.

use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgListener, PgPoolOptions};

use crate::error::{Error, Result, words_of};

/// PostgreSQL delivers notifications within one database only, so one name serves all.
const CHANNEL: &str = "tidings";

pub struct Reader(PgListener);

pub struct Writer(PgConnection);

pub async fn connect(url: &str) -> Result<(Reader, Writer)> {
    let options =
        PgConnectOptions::from_str(url).map_err(away)?.application_name("tidings bus").extra_float_digits(None);
    let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
    let mut listener = PgListener::connect_with(&pool.connect_lazy_with(options.clone())).await.map_err(away)?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await.map_err(away)?;
    Ok((Reader(listener), Writer(options.connect().await.map_err(away)?)))
}

impl Reader {
    pub async fn next(&mut self) -> Result<String> {
        let notification = self.0.try_recv().await.map_err(away)?;
        let notification = notification.ok_or_else(|| Error::Unavailable("the connection was lost".into()))?;
        Ok(notification.payload().to_owned())
    }
}

impl Writer {
    pub async fn publish(&mut self, text: String) -> Result<()> {
        let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(text);
        notify.execute(&mut self.0).await.map_err(away)?;
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it by value")]
fn away(cause: sqlx::Error) -> Error {
    Error::Unavailable(words_of(&cause))
}
