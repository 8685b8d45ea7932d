//! `tidings token`: signs tokens.

use std::time::Duration;

use clap::Args;

use auth::{CallerRole, TokenClaims, issue_token};
use base::clock::Clock;
use base::config::AuthConfig;
use base::error::Result;
use model::validate;

/// Options of `tidings token`.
#[derive(Args)]
pub struct TokenCommand {
    /// Tenant that the token gives access to.
    #[arg(long, value_parser = parse_id)]
    tenant: String,
    /// User that the token identifies; for services and operators, any name.
    #[arg(long, value_parser = parse_id, required_unless_present = "role", required_if_eq("role", "user"))]
    user: Option<String>,
    #[arg(long, value_enum, default_value_t)]
    role: CallerRole,
    /// How long the token is valid: a number followed by s, m, h or d.
    #[arg(long, default_value = "1h", value_parser = parse_duration)]
    ttl: Duration,
    #[arg(long)]
    scope: Option<String>,
    #[command(flatten)]
    auth: AuthConfig,
}

impl TokenCommand {
    /// A token for a user, with the settings of a server.
    pub fn for_user(auth: &AuthConfig, tenant: &str, user: &str, role: CallerRole, ttl: Duration) -> Self {
        Self { tenant: tenant.into(), user: Some(user.into()), role, ttl, scope: None, auth: auth.clone() }
    }

    /// Signs the token.
    pub fn sign(self) -> Result<String> {
        let Self { tenant, user, role, ttl, scope, auth } = self;
        let exp = (Clock::System.now() / 1000).saturating_add_unsigned(ttl.as_secs());
        let sub = user.unwrap_or_else(|| role.to_string());
        issue_token(&auth, &TokenClaims { tenant, sub, role, exp, scope })
    }
}

/// Parses an id that is valid in a token.
fn parse_id(text: &str) -> Result<String, String> {
    validate::identifier("", text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = number.parse().map_err(|_| "must be a number with s, m, h or d, such as 30m".to_owned())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err("must end in s, m, h or d".into()),
    };
    match number.saturating_mul(seconds) {
        0 => Err("must be longer than 0".into()),
        seconds => Ok(Duration::from_secs(seconds)),
    }
}
