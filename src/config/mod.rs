//! Settings: read from the environment or the command line once, at start-up, and nowhere else.

mod connections;
mod credentials;
mod egress;
mod files;
mod keys;
mod limits;
mod log;
mod oidc;
pub mod operations;
mod public;
mod sources;
mod wechat;
mod wire;

use std::path::PathBuf;

use chrono::TimeDelta;
use clap::{ArgAction, Args, ValueEnum};

use crate::clock::Clock;
use crate::error::{Error, Result};
pub use connections::{ConnectionsConfig, ListenConfig, Networks, NotFound};
pub use credentials::without_credentials;
pub use egress::{Destinations, EgressConfig};
pub use files::{Environment, FilesConfig, with_files};
pub use keys::{KEY_BYTES, KeysConfig};
pub use limits::LimitsConfig;
pub use log::{LogConfig, LogFormat};
pub use oidc::{OidcConfig, SignInConfig, TenantOf};
pub use public::{PublicConfig, PublicUrl, is_confidential};
pub use sources::{SourceSettings, SourcesConfig};
pub use wechat::WeChatConfig;
pub use wire::WireConfig;

/// The least bytes of a secret of HS256 tokens (RFC 7518, section 3.2).
const SECRET_BYTES: usize = 32;

/// What `tidings serve` and `tidings doctor` go by. Every option has an environment variable.
#[derive(Args, Clone, Debug)]
pub struct Config {
    #[command(flatten)]
    pub listen: ListenConfig,
    #[command(flatten)]
    pub database: DatabaseConfig,
    #[command(flatten)]
    pub auth: AuthConfig,
    /// How many days back a user's first visit reaches, and how long an idempotency key is remembered at least.
    #[arg(long, env = "TIDINGS_RETENTION_DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub retention_days: u16,
    /// How many days the audit log is kept; as long as the retention window where it is left out.
    #[arg(long, env = "TIDINGS_AUDIT_DAYS", value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub audit_days: Option<u16>,
    /// Tenants whose users may call `sendMessage` as themselves, separated by commas; `*` for all.
    #[arg(long, env = "TIDINGS_USER_MESSAGES", value_delimiter = ',')]
    pub user_messages: Vec<String>,
    /// Redis by which nodes tell each other that there is news: needed by several nodes over MySQL; over PostgreSQL they
    /// use `LISTEN` and `NOTIFY` where this is not set.
    #[arg(long = "redis", env = "REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<String>,
    /// Serves remembered overviews by what hangs in Redis, without asking the database. All nodes need it, or none has it.
    #[arg(long, env = "TIDINGS_BOARD", num_args = 0..=1, default_missing_value = "1", default_value = "0", value_parser = switch, action = ArgAction::Set)]
    pub board: bool,
    /// How long a node believes the board without looking, in milliseconds. For tests, and the same on all nodes.
    #[arg(
        long,
        env = "TIDINGS_BOARD_TRUST_MILLIS",
        hide = true,
        default_value_t = 2000,
        value_parser = clap::value_parser!(u64).range(100..=10_000)
    )]
    pub board_trust_millis: u64,
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

/// Where things are stored.
#[derive(Args, Clone, Debug)]
pub struct DatabaseConfig {
    /// `sqlite:`, `postgres:` or `mysql:` URL of the database [default: `sqlite://tidings.db?mode=rwc`].
    #[arg(long = "database", env = "DATABASE_URL", hide_env_values = true)]
    pub url: Option<String>,
    /// The most database connections that this process opens.
    #[arg(long = "connections", env = "TIDINGS_CONNECTIONS", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub connections: u32,
    /// What stands between this process and PostgreSQL: `transaction` for a pooler that hands connections out by transaction.
    #[arg(long, env = "TIDINGS_POOLER")]
    pub pooler: Option<Pooler>,
    /// `postgres:` URL of the same database past the pooler: for migrations, and for `LISTEN` where Redis is not set.
    #[arg(long, env = "TIDINGS_DIRECT_URL", hide_env_values = true)]
    pub direct_url: Option<String>,
}

/// How a pooler hands out connections. One that keeps them for whole sessions need not be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pooler {
    /// By transaction, as `PgBouncer` does with `pool_mode = transaction`.
    Transaction,
}

impl DatabaseConfig {
    /// Where things are stored when nobody says otherwise: beside the program that runs.
    pub fn url(&self) -> &str {
        self.url.as_deref().unwrap_or("sqlite://tidings.db?mode=rwc")
    }

    /// Which setting the URL stands in.
    pub fn setting(&self) -> &'static str {
        if self.is_direct() { "TIDINGS_DIRECT_URL" } else { "DATABASE_URL" }
    }

    /// Whether the URL is the direct one.
    pub fn is_direct(&self) -> bool {
        self.direct_url.as_deref() == Some(self.url())
    }

    /// The same by the direct URL, where that is another.
    pub fn directly(&self) -> Option<Self> {
        let url = self.direct_url.clone().filter(|_| !self.is_direct())?;
        Some(Self { url: Some(url), pooler: None, ..self.clone() })
    }

    /// The same for whoever has to know who else is connected.
    ///
    /// Fails with `Config` where only the pooler knows.
    pub fn past_the_pooler(&self) -> Result<Self> {
        match self.directly() {
            Some(direct) => Ok(direct),
            None if self.pooler.is_none() => Ok(self.clone()),
            None => Err(Error::Config(
                "behind a pooler nobody can tell who else is connected: set TIDINGS_DIRECT_URL".into(),
            )),
        }
    }

    /// Finds settings of poolers for databases that have none.
    pub fn check(&self) -> Result<()> {
        let is_postgres = |url: &str| url.starts_with("postgres:") || url.starts_with("postgresql:");
        match (self.pooler, &self.direct_url) {
            (None, None) => Ok(()),
            _ if !is_postgres(self.url()) => Err(Error::Config(
                "TIDINGS_POOLER and TIDINGS_DIRECT_URL are for PostgreSQL, which DATABASE_URL does not name".into(),
            )),
            (_, Some(url)) if !is_postgres(url) => {
                Err(Error::Config("TIDINGS_DIRECT_URL must begin with postgres:".into()))
            }
            (Some(_), _) if self.is_direct() => {
                Err(Error::Config("TIDINGS_DIRECT_URL must lead past the pooler, to which DATABASE_URL leads".into()))
            }
            _ => Ok(()),
        }
    }
}

/// Whose tokens are believed.
#[derive(Args, Clone, Debug, Default)]
pub struct AuthConfig {
    /// Secret of HS256 tokens, at least 32 bytes.
    #[arg(long, env = "TIDINGS_SECRET", hide_env_values = true)]
    pub secret: Option<String>,
    /// Another secret whose HS256 tokens are believed, too, while it is being replaced: at least 32 bytes.
    #[arg(long, env = "TIDINGS_PREVIOUS_SECRET", hide_env_values = true)]
    pub previous_secret: Option<String>,
    /// File or http(s) URL of the JWKS whose RS256, ES256 and EdDSA tokens are believed.
    #[arg(long, env = "TIDINGS_JWKS", hide_env_values = true)]
    pub jwks: Option<JwksSource>,
    /// When set, the `iss` that tokens must carry.
    #[arg(long, env = "TIDINGS_ISSUER")]
    pub issuer: Option<String>,
    /// When set, the `aud` that tokens must carry, alone or among others.
    #[arg(long, env = "TIDINGS_AUDIENCE")]
    pub audience: Option<String>,
}

impl AuthConfig {
    /// Finds secrets that are too short to be any, and key URLs over plain HTTP, which an attacker on the network could replace.
    pub fn check(&self) -> Result<()> {
        if let Some(JwksSource::Url(url)) = &self.jwks
            && !reqwest::Url::parse(url).is_ok_and(|url| is_confidential(&url))
        {
            let why = "must be a file or an https URL (http: is for this machine): tokens are believed that its keys have signed";
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

/// Where public keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JwksSource {
    /// Read once, at start-up.
    File(PathBuf),
    /// Fetched at start-up and again when a token names a key that is not known.
    Url(String),
}

/// The path of a file; of a URL, which may have a password in it, where it leads. A path may be a URL that was mistyped.
impl std::fmt::Display for JwksSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) if path.to_string_lossy().contains(['@', '?']) => f.write_str("the file that it names"),
            Self::File(path) => path.display().fmt(f),
            Self::Url(url) => match reqwest::Url::parse(url) {
                Ok(url) => f.write_str(&url.origin().ascii_serialization()),
                Err(_) => f.write_str("what it names"),
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
        self.database.check()?;
        self.listen.check()?;
        self.keys.read()?;
        self.oidc.read(&self.auth, &self.public)?;
        self.check_board()?;
        if self.database.pooler.is_some() && self.database.direct_url.is_none() && self.redis_url.is_none() {
            return Err(Error::Config(
                "LISTEN, by which nodes hear of each other, does not work through a pooler: set TIDINGS_DIRECT_URL, or REDIS_URL"
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

    /// Finds a board that nothing could hang on, or that could be of no use.
    fn check_board(&self) -> Result<()> {
        if !self.board {
            return Ok(());
        }
        if self.database.url().starts_with("sqlite:") {
            return Err(Error::Config(
                "TIDINGS_BOARD is for PostgreSQL and MySQL: a SQLite database is in this process, and has one node"
                    .into(),
            ));
        }
        match self.redis_url {
            Some(_) => Ok(()),
            None => Err(Error::Config("TIDINGS_BOARD needs REDIS_URL".into())),
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

    /// How far back the audit log goes, in milliseconds.
    pub fn audit_millis(&self) -> i64 {
        i64::from(self.audit_days.unwrap_or(self.retention_days)) * 24 * 60 * 60 * 1000
    }

    /// Whether users of this tenant may send messages as themselves.
    pub fn lets_users_message(&self, tenant: &str) -> bool {
        self.user_messages.iter().any(|allowed| allowed == "*" || allowed == tenant)
    }
}

/// Whether something is on.
fn switch(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err("is 1 or 0".into()),
    }
}
