//! Which requests the server accepts over HTTP.

use std::path::PathBuf;

use clap::Args;

use crate::error::{Error, Result};

/// HTTP settings.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the settings are independent")]
pub struct WireConfig {
    /// Comma-separated origins of other sites that may call the API from a browser (`https://app.example`); `*` for
    /// all.
    #[arg(long, env = "TIDINGS_ORIGINS", value_delimiter = ',')]
    pub origins: Vec<String>,
    /// Whether pages from this machine may also use the API, on any port. Only for the demo.
    #[arg(skip)]
    pub local_origins: bool,
    /// Answer introspection without a token.
    #[arg(long, env = "TIDINGS_PUBLIC_SCHEMA", num_args = 0..=1, default_missing_value = "1", default_value = "0", value_parser = clap::builder::BoolishValueParser::new())]
    pub public_schema: bool,
    /// JSON file of an object `{ "id": "document" }`, or an Apollo manifest: users may run only the documents in it.
    #[arg(long, env = "TIDINGS_OPERATIONS")]
    pub operations: Option<PathBuf>,
    /// Reject automatic persisted queries.
    #[arg(long, env = "TIDINGS_NO_PERSISTED_QUERIES", num_args = 0..=1, default_missing_value = "1", default_value = "0", value_parser = clap::builder::BoolishValueParser::new())]
    pub no_persisted_queries: bool,
    /// Do not serve the web components at /ui/1/.
    #[arg(long, env = "TIDINGS_NO_UI", num_args = 0..=1, default_missing_value = "1", default_value = "0", value_parser = clap::builder::BoolishValueParser::new())]
    pub no_ui: bool,
}

impl WireConfig {
    /// Fails with `Config` if an origin has a form that no browser sends, so that it could never match.
    pub fn check(&self) -> Result<()> {
        let is_origin = |origin: &str| {
            let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            origin == "*" || host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '*', ' ']))
        };
        match self.origins.iter().find(|origin| !is_origin(origin)) {
            None => Ok(()),
            Some(wrong) => Err(Error::Config(format!(
                "TIDINGS_ORIGINS has {wrong:?}, which must be * or a scheme and host such as https://app.example"
            ))),
        }
    }
}
