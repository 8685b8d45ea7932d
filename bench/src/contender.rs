//! The programs that Tidings is compared with, in a process of their own: the best statements for the same responses
//! with almost nothing around them (the limit), and three designs over tables of letters with the same libraries as
//! Tidings.

mod answer;
mod driver;
mod letters;
mod limit;
mod together;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base::clock::Clock;
use base::config::ServerConfig;
use store::connect;
use tidings::app::App;

use crate::Result;

#[derive(clap::Args)]
pub struct Options {
    /// URL of the database to query.
    #[arg(long)]
    database: String,
    /// URL of the same database without a proxy, to read the statements from.
    #[arg(long)]
    data: String,
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    connections: u32,
    /// URL of a Redis for validation: no node trusts it while another node runs without it.
    #[arg(long)]
    redis: Option<String>,
}

/// Number of statements sent.
static STATEMENTS: AtomicU64 = AtomicU64::new(0);

/// A failed request.
struct Failed(Box<dyn std::error::Error + Send + Sync>);

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for Failed {
    fn from(cause: E) -> Self {
        Self(cause.into())
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.0.to_string()).into_response()
    }
}

pub async fn serve(options: Options) -> Result<()> {
    let mut config = ServerConfig::for_database(&options.data, "never used, but it has to be there");
    (config.board, config.redis_url) = (options.redis.is_some(), options.redis);
    let app = App::start_with_database(connect(&options.data, 2).await?, config, Clock::System).await?;
    let letters = letters::routes(&options.database, options.connections).await?;
    let limit = limit::routes(&options.database, options.connections, &app).await?;
    let own = Router::new().route("/readyz", get(async || "ready")).route("/metrics", get(metrics));
    let listener = tidings::http::listen(options.listen)?;
    axum::serve(listener, own.merge(limit).merge(letters)).await?;
    Ok(())
}

async fn metrics() -> String {
    format!("tidings_statements_total {}\n", STATEMENTS.load(Ordering::Relaxed))
}

fn json(body: Vec<u8>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], body)
}

fn count_one() {
    STATEMENTS.fetch_add(1, Ordering::Relaxed);
}

type Shared<T> = axum::extract::State<Arc<T>>;
