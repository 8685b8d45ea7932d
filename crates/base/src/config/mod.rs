//! Settings, read once at start-up from the command line, the environment and files.

mod connections;
mod credentials;
mod egress;
mod files;
mod keys;
mod limits;
mod log;
mod oidc;
mod public_url;
mod sources;
mod transport;
mod wechat;

use std::path::PathBuf;

use chrono::TimeDelta;
use clap::{ArgAction, Args, ValueEnum};

use crate::clock::Clock;
use crate::error::{Error, Result};
pub use connections::{ConnectionsConfig, HostNotFound, ListenConfig, NetworkList};
pub use credentials::without_credentials;
pub use egress::{AllowedDestinations, EgressConfig};
pub use files::{EnvironmentLookup, FilesConfig, with_files};
pub use keys::{KEY_BYTES, KeysConfig};
pub use limits::LimitsConfig;
pub use log::{LogConfig, LogFormat};
pub use oidc::{OidcConfig, SignInConfig, TenantSource};
pub use public_url::{PublicConfig, PublicUrl, is_confidential};
pub use sources::{SourceSettings, SourcesConfig};
pub use transport::WireConfig;
pub use wechat::WeChatConfig;

/// Minimum bytes of a secret of HS256 tokens (RFC 7518, section 3.2).
const SECRET_BYTES: usize = 32;

/// Settings of `tidings serve` and `tidings doctor`. Every option has an environment variable.
#[derive(Args, Clone, Debug)]
pub struct ServerConfig {
    #[command(flatten)]
    pub listen: ListenConfig,
    #[command(flatten)]
    pub database: DatabaseConfig,
    #[command(flatten)]
    pub auth: AuthConfig,
    /// Days for which notifications are kept, 1 to 3650. A user's first visit reaches back as far, and idempotency keys
    /// are remembered at least as long.
    #[arg(long, env = "TIDINGS_RETENTION_DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub retention_days: u16,
    /// Days for which the audit log is kept, 1 to 3650 [default: as `--retention-days`].
    #[arg(long, env = "TIDINGS_AUDIT_DAYS", value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub audit_days: Option<u16>,
    /// Comma-separated tenants that let users call `sendMessage` as themselves; `*` for all.
    #[arg(long, env = "TIDINGS_USER_MESSAGES", value_delimiter = ',')]
    pub user_messages: Vec<String>,
    /// URL of a Redis that carries change notices between nodes. Several nodes on MySQL need it; on PostgreSQL they use
    /// `LISTEN` and `NOTIFY` without it.
    #[arg(long = "redis", env = "REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<String>,
    /// Validate cached overviews against Redis instead of the database. Needs `REDIS_URL`, and PostgreSQL or MySQL; set
    /// it on all nodes or on none.
    #[arg(long, env = "TIDINGS_BOARD", num_args = 0..=1, default_missing_value = "1", default_value = "0", value_parser = parse_switch, action = ArgAction::Set)]
    pub board: bool,
    /// How long a node trusts the invalidation epoch without reading it again, in milliseconds. For tests; the same on
    /// all nodes.
    #[arg(
        long,
        env = "TIDINGS_BOARD_TRUST_MILLIS",
        hide = true,
        default_value_t = 2000,
        value_parser = clap::value_parser!(u64).range(100..=10_000)
    )]
    pub board_trust_millis: u64,
    /// Maximum sockets and event streams that one user may have open on this node.
    #[arg(long, env = "TIDINGS_SESSIONS_PER_USER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub sessions_per_user: u32,
    /// Maximum sockets and event streams of this node.
    #[arg(long, env = "TIDINGS_SESSIONS", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub sessions: u32,
    /// Milliseconds to add to this node's clock. Only for tests of clock skew.
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
    #[command(flatten)]
    pub sources: SourcesConfig,
    #[command(flatten)]
    pub egress: EgressConfig,
    #[command(flatten)]
    pub keys: KeysConfig,
    #[command(flatten)]
    pub wechat: WeChatConfig,
    #[command(flatten)]
    pub public: PublicConfig,
    #[command(flatten)]
    pub oidc: OidcConfig,
}

/// Settings of the database.
#[derive(Args, Clone, Debug)]
pub struct DatabaseConfig {
    /// URL of the database: `sqlite:`, `postgres:` or `mysql:` [default: `sqlite://tidings.db?mode=rwc`].
    #[arg(long = "database", env = "DATABASE_URL", hide_env_values = true)]
    pub url: Option<String>,
    /// Maximum database connections that this process opens, 2 to 1000.
    #[arg(long = "connections", env = "TIDINGS_CONNECTIONS", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub connections: u32,
    /// Pooler between this process and PostgreSQL: `transaction` if it assigns connections per transaction.
    #[arg(long, env = "TIDINGS_POOLER")]
    pub pooler: Option<PoolerMode>,
    /// `postgres:` URL of the same database that bypasses the pooler: for migrations, and for `LISTEN` if Redis is not
    /// set.
    #[arg(long, env = "TIDINGS_DIRECT_URL", hide_env_values = true)]
    pub direct_url: Option<String>,
}

/// How a pooler assigns connections. A pooler that keeps one for a whole session needs no setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PoolerMode {
    /// Per transaction, as `PgBouncer` does with `pool_mode = transaction`.
    Transaction,
}

impl DatabaseConfig {
    /// The database URL; by default a SQLite file in the working directory.
    pub fn url(&self) -> &str {
        self.url.as_deref().unwrap_or("sqlite://tidings.db?mode=rwc")
    }

    /// The name of the setting that holds the URL.
    pub fn setting_name(&self) -> &'static str {
        if self.is_direct() { "TIDINGS_DIRECT_URL" } else { "DATABASE_URL" }
    }

    /// Whether the URL is the direct one.
    pub fn is_direct(&self) -> bool {
        self.direct_url.as_deref() == Some(self.url())
    }

    /// The same settings with the direct URL; `None` if there is no other URL than this.
    pub fn with_direct_url(&self) -> Option<Self> {
        let url = self.direct_url.clone().filter(|_| !self.is_direct())?;
        Some(Self { url: Some(url), pooler: None, ..self.clone() })
    }

    /// The same settings for commands that must see all other clients of the database.
    ///
    /// Fails with `Config` if there is a pooler and no direct URL, because a pooler hides the other clients.
    pub fn without_pooler(&self) -> Result<Self> {
        match self.with_direct_url() {
            Some(direct) => Ok(direct),
            None if self.pooler.is_none() => Ok(self.clone()),
            None => {
                Err(Error::Config("a pooler hides the other clients of the database: set TIDINGS_DIRECT_URL".into()))
            }
        }
    }

    /// Fails with `Config` if pooler settings contradict each other or the database is not PostgreSQL.
    pub fn check(&self) -> Result<()> {
        let is_postgres = |url: &str| url.starts_with("postgres:") || url.starts_with("postgresql:");
        match (self.pooler, &self.direct_url) {
            (None, None) => Ok(()),
            _ if !is_postgres(self.url()) => Err(Error::Config(
                "TIDINGS_POOLER and TIDINGS_DIRECT_URL are only for PostgreSQL, but DATABASE_URL names another database".into(),
            )),
            (_, Some(url)) if !is_postgres(url) => {
                Err(Error::Config("TIDINGS_DIRECT_URL must begin with postgres:".into()))
            }
            (Some(_), _) if self.is_direct() => {
                Err(Error::Config("TIDINGS_DIRECT_URL must bypass the pooler, but it is the same as DATABASE_URL".into()))
            }
            _ => Ok(()),
        }
    }
}

/// Which tokens the server accepts.
#[derive(Args, Clone, Debug, Default)]
pub struct AuthConfig {
    /// Secret that signs HS256 tokens, at least 32 bytes.
    #[arg(long, env = "TIDINGS_SECRET", hide_env_values = true)]
    pub secret: Option<String>,
    /// Previous secret, still accepted while `TIDINGS_SECRET` replaces it; at least 32 bytes.
    #[arg(long, env = "TIDINGS_PREVIOUS_SECRET", hide_env_values = true)]
    pub previous_secret: Option<String>,
    /// File or http(s) URL of a JWKS: the server accepts RS256, ES256 and EdDSA tokens signed by its keys.
    #[arg(long, env = "TIDINGS_JWKS", hide_env_values = true)]
    pub jwks: Option<JwksSource>,
    /// Required `iss` of tokens; without it any is accepted.
    #[arg(long, env = "TIDINGS_ISSUER")]
    pub issuer: Option<String>,
    /// Required `aud` of tokens, alone or among others; without it any is accepted.
    #[arg(long, env = "TIDINGS_AUDIENCE")]
    pub audience: Option<String>,
}

impl AuthConfig {
    /// Fails with `Config` if a secret is too short, or if the JWKS URL is plain HTTP, where an attacker on the
    /// network could replace the keys.
    pub fn check(&self) -> Result<()> {
        if let Some(JwksSource::Url(url)) = &self.jwks
            && !reqwest::Url::parse(url).is_ok_and(|url| is_confidential(&url))
        {
            let why = "must be a file or an https URL (http: only on this machine), because the server trusts tokens signed with its keys";
            return Err(Error::Config(format!("TIDINGS_JWKS {why}")));
        }
        for (name, secret) in [("TIDINGS_SECRET", &self.secret), ("TIDINGS_PREVIOUS_SECRET", &self.previous_secret)] {
            if let Some(secret) = secret.as_ref().filter(|secret| secret.len() < SECRET_BYTES) {
                let bytes = secret.len();
                let why =
                    format!("{name} has {bytes} bytes, HS256 needs at least {SECRET_BYTES} (RFC 7518, section 3.2)");
                return Err(Error::Config(why));
            }
        }
        Ok(())
    }
}

/// Source of the public keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JwksSource {
    /// Read once, at start-up.
    File(PathBuf),
    /// Fetched at start-up, and again if a token names an unknown key.
    Url(String),
}

/// Shows the path, or only the origin of a URL, which may contain a password. A path with `@` or `?` may be a mistyped
/// URL and is not shown.
impl std::fmt::Display for JwksSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) if path.to_string_lossy().contains(['@', '?']) => f.write_str("the file"),
            Self::File(path) => path.display().fmt(f),
            Self::Url(url) => match reqwest::Url::parse(url) {
                Ok(url) => f.write_str(&url.origin().ascii_serialization()),
                Err(_) => f.write_str("the value"),
            },
        }
    }
}

impl std::str::FromStr for JwksSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_url = text.starts_with("https://") || text.starts_with("http://");
        Ok(if is_url { Self::Url(text.to_owned()) } else { Self::File(text.into()) })
    }
}

impl ServerConfig {
    /// The default settings with the database at `url` and tokens signed by `secret`.
    pub fn for_database(url: &str, secret: &str) -> Self {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            config: ServerConfig,
        }
        let Program { mut config } = clap::Parser::parse_from(["tidings"]);
        config.database.url = Some(url.to_owned());
        config.auth.secret = Some(secret.to_owned());
        config
    }

    /// Fails with `Config` if settings are invalid or contradict each other, before anything is opened.
    pub fn check(&self) -> Result<()> {
        self.wire.check()?;
        self.database.check()?;
        self.listen.check()?;
        self.keys.read_keys()?;
        self.oidc.sign_in_config(&self.auth, &self.public)?;
        self.check_redis_validation()?;
        if self.database.pooler.is_some() && self.database.direct_url.is_none() && self.redis_url.is_none() {
            return Err(Error::Config(
                "nodes notify each other with LISTEN, which does not work through a pooler: set TIDINGS_DIRECT_URL or REDIS_URL"
                    .into(),
            ));
        }
        match (&self.auth.secret, &self.auth.jwks) {
            (None, None) => Err(Error::Config(
                "set TIDINGS_SECRET (at least 32 bytes) or TIDINGS_JWKS (a file or URL), so that tokens can be checked; \
                 `tidings serve --demo` needs neither"
                    .into(),
            )),
            _ => self.auth.check(),
        }
    }

    /// Fails with `Config` if Redis validation is on without Redis, or over SQLite, where it is of no use.
    fn check_redis_validation(&self) -> Result<()> {
        if !self.board {
            return Ok(());
        }
        if self.database.url().starts_with("sqlite:") {
            return Err(Error::Config(
                "TIDINGS_BOARD is only for PostgreSQL and MySQL: a SQLite database has one node".into(),
            ));
        }
        match self.redis_url {
            Some(_) => Ok(()),
            None => Err(Error::Config("TIDINGS_BOARD needs REDIS_URL".into())),
        }
    }

    /// The clock of this node.
    pub fn clock(&self) -> Clock {
        match self.clock_offset_millis {
            0 => Clock::System,
            millis => Clock::skewed_by(TimeDelta::milliseconds(millis)),
        }
    }

    /// The retention window, in milliseconds.
    pub fn retention_millis(&self) -> i64 {
        i64::from(self.retention_days) * 24 * 60 * 60 * 1000
    }

    /// How long the audit log is kept, in milliseconds.
    pub fn audit_millis(&self) -> i64 {
        i64::from(self.audit_days.unwrap_or(self.retention_days)) * 24 * 60 * 60 * 1000
    }

    /// Whether users of this tenant may send messages as themselves.
    pub fn can_users_message(&self, tenant: &str) -> bool {
        self.user_messages.iter().any(|allowed| allowed == "*" || allowed == tenant)
    }
}

/// Parses an option that is on or off.
fn parse_switch(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err("is 1 or 0".into()),
    }
}
