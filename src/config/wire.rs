//! Who may come through the door, and with what.

use std::path::PathBuf;

use clap::Args;

use crate::error::{Error, Result};

/// Settings of the HTTP side.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct WireConfig {
    /// Origins of other sites whose pages may use the API (`https://app.example`), separated by commas; `*` for all.
    #[arg(long, env = "TIDINGS_ORIGINS", value_delimiter = ',')]
    pub origins: Vec<String>,
    /// Whether pages that this machine serves may use it, too, whatever their port. For the demo alone.
    #[arg(skip)]
    pub local_origins: bool,
    /// Answer introspection without a token.
    #[arg(long, env = "TIDINGS_PUBLIC_SCHEMA", num_args = 0..=1, default_missing_value = "1", default_value = "0", value_parser = clap::builder::BoolishValueParser::new())]
    pub public_schema: bool,
    /// JSON file of an object `{ "id": "document" }`: users may run these documents and no others.
    #[arg(long, env = "TIDINGS_OPERATIONS")]
    pub operations: Option<PathBuf>,
    /// Refuse automatic persisted queries.
    #[arg(long, env = "TIDINGS_NO_PERSISTED_QUERIES", num_args = 0..=1, default_missing_value = "1", default_value = "0", value_parser = clap::builder::BoolishValueParser::new())]
    pub no_persisted_queries: bool,
    /// Serve no elements for pages of applications at /ui/1/.
    #[arg(long, env = "TIDINGS_NO_UI", num_args = 0..=1, default_missing_value = "1", default_value = "0", value_parser = clap::builder::BoolishValueParser::new())]
    pub no_ui: bool,
}

impl WireConfig {
    /// Finds origins that no browser would send, and that so would never be let in.
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
