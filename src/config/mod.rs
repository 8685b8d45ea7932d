//! Settings: read from the environment or the command line once, at start-up, and nowhere else.

mod connections;
mod limits;
mod log;
pub mod operations;
mod wire;

use std::net::SocketAddr;
use std::path::PathBuf;

use chrono::TimeDelta;
use clap::Args;

use crate::clock::Clock;
use crate::error::{Error, Result};
pub use connections::{ConnectionsConfig, Networks};
pub use limits::LimitsConfig;
pub use log::{LogConfig, LogFormat};
pub use wire::WireConfig;

/// What `tidings serve` and `tidings doctor` go by. Every option has an environment variable.
#[derive(Args, Clone, Debug)]
pub struct Config {
    /// Address and port to listen on.
    #[arg(long, env = "TIDINGS_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub database: DatabaseConfig,
    #[command(flatten)]
    pub auth: AuthConfig,
    /// How many days back a user's first visit reaches, and how long an idempotency key is remembered at least.
    #[arg(long, env = "TIDINGS_RETENTION_DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub retention_days: u16,
    /// Tenants whose users may call `sendMessage` as themselves, separated by commas; `*` for all.
    #[arg(long, env = "TIDINGS_USER_MESSAGES", value_delimiter = ',')]
    pub user_messages: Vec<String>,
    /// Redis by which nodes tell each other that there is news: needed by several nodes over MySQL; over PostgreSQL they
    /// use `LISTEN` and `NOTIFY` where this is not set.
    #[arg(long = "redis", env = "REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<String>,
    /// The most sockets and event streams that one user may have open on this node.
    #[arg(long, env = "TIDINGS_SESSIONS_PER_USER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub sessions_per_user: u32,
    /// The most sockets and event streams of this node.
    #[arg(long, env = "TIDINGS_SESSIONS", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub sessions: u32,
    /// Milliseconds that this node's clock is wrong by. For tests of what a wrong clock does, and for nothing else.
    #[arg(
        long = "clock-offset-millis",
        env = "TIDINGS_CLOCK_OFFSET_MILLIS",
        hide = true,
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub clock_offset_millis: i64,
    #[command(flatten)]
    pub connections: ConnectionsConfig,
    #[command(flatten)]
    pub wire: WireConfig,
    #[command(flatten)]
    pub limits: LimitsConfig,
}

/// Where things are stored.
#[derive(Args, Clone, Debug)]
pub struct DatabaseConfig {
    /// `sqlite:`, `postgres:` or `mysql:` URL of the database [default: `sqlite://tidings.db?mode=rwc`].
    #[arg(long = "database", env = "DATABASE_URL", hide_env_values = true)]
    pub url: Option<String>,
    /// The most database connections that this process opens.
    #[arg(long = "connections", env = "TIDINGS_CONNECTIONS", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub connections: u32,
}

impl DatabaseConfig {
    /// Where things are stored when nobody says otherwise: beside the program that runs.
    pub fn url(&self) -> &str {
        self.url.as_deref().unwrap_or("sqlite://tidings.db?mode=rwc")
    }
}

/// Whose tokens are believed.
#[derive(Args, Clone, Debug, Default)]
pub struct AuthConfig {
    /// Secret of HS256 tokens, at least 32 bytes.
    #[arg(long, env = "TIDINGS_SECRET", hide_env_values = true)]
    pub secret: Option<String>,
    /// File or http(s) URL of the JWKS whose RS256, ES256 and EdDSA tokens are believed.
    #[arg(long, env = "TIDINGS_JWKS")]
    pub jwks: Option<JwksSource>,
    /// When set, the `iss` that tokens must carry.
    #[arg(long, env = "TIDINGS_ISSUER")]
    pub issuer: Option<String>,
    /// When set, the `aud` that tokens must carry, alone or among others.
    #[arg(long, env = "TIDINGS_AUDIENCE")]
    pub audience: Option<String>,
}

/// Where public keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JwksSource {
    /// Read once, at start-up.
    File(PathBuf),
    /// Fetched at start-up and again when a token names a key that is not known.
    Url(String),
}

impl std::str::FromStr for JwksSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_url = text.starts_with("https://") || text.starts_with("http://");
        Ok(if is_url { Self::Url(text.to_owned()) } else { Self::File(text.into()) })
    }
}

impl Config {
    /// Everything as it is when nobody says otherwise, over the database at `url` and with tokens signed by `secret`.
    pub fn over(url: &str, secret: &str) -> Self {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            config: Config,
        }
        let Program { mut config } = clap::Parser::parse_from(["tidings"]);
        config.database.url = Some(url.to_owned());
        config.auth.secret = Some(secret.to_owned());
        config
    }

    /// Finds what is wrong with the settings before anything is opened.
    pub fn check(&self) -> Result<()> {
        self.wire.check()?;
        match (&self.auth.secret, &self.auth.jwks) {
            (None, None) => Err(Error::Config(
                "set TIDINGS_SECRET (at least 32 bytes) or TIDINGS_JWKS (a file or URL), so that tokens can be checked; \
                 `tidings serve --demo` needs neither"
                    .into(),
            )),
            (Some(secret), _) if secret.len() < 32 => Err(Error::Config(format!(
                "TIDINGS_SECRET has {} bytes, HS256 needs at least 32 (RFC 7518, section 3.2)",
                secret.len()
            ))),
            _ => Ok(()),
        }
    }

    /// By which clock this node runs.
    pub fn clock(&self) -> Clock {
        match self.clock_offset_millis {
            0 => Clock::System,
            millis => Clock::skewed(TimeDelta::milliseconds(millis)),
        }
    }

    /// How far back a first visit reaches, in milliseconds.
    pub fn retention_millis(&self) -> i64 {
        i64::from(self.retention_days) * 24 * 60 * 60 * 1000
    }

    /// Whether users of this tenant may send messages as themselves.
    pub fn lets_users_message(&self, tenant: &str) -> bool {
        self.user_messages.iter().any(|allowed| allowed == "*" || allowed == tenant)
    }
}
