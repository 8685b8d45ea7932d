//! Sign-in for people without a token, through an OpenID Connect provider.

use clap::Args;
use reqwest::Url;

use super::{AuthConfig, PublicConfig, PublicUrl, is_confidential};
use crate::error::{Error, Result};

/// Settings of sign-in.
#[derive(Args, Clone, Debug)]
pub struct OidcConfig {
    /// URL of the OpenID Connect provider for sign-in to the desk; its metadata must be at
    /// `/.well-known/openid-configuration` below it.
    #[arg(id = "oidc_issuer", long = "oidc-issuer", env = "TIDINGS_OIDC_ISSUER")]
    pub issuer: Option<String>,
    /// Client id of this server at the provider.
    #[arg(id = "oidc_client_id", long = "oidc-client-id", env = "TIDINGS_OIDC_CLIENT_ID")]
    pub client_id: Option<String>,
    /// Client secret of this server at the provider; without it the server is a public client.
    #[arg(
        id = "oidc_client_secret",
        long = "oidc-client-secret",
        env = "TIDINGS_OIDC_CLIENT_SECRET",
        hide_env_values = true
    )]
    pub client_secret: Option<String>,
    /// Scopes to request from the provider, separated by spaces; `openid` must be among them.
    #[arg(
        id = "oidc_scopes",
        long = "oidc-scopes",
        env = "TIDINGS_OIDC_SCOPES",
        default_value = "openid profile email"
    )]
    pub scopes: String,
    /// Tenant of all people who sign in. Set this or `TIDINGS_OIDC_TENANT_CLAIM`.
    #[arg(id = "oidc_tenant", long = "oidc-tenant", env = "TIDINGS_OIDC_TENANT")]
    pub tenant: Option<String>,
    /// Claim that names the tenant of the person who signs in. Set this or `TIDINGS_OIDC_TENANT`.
    #[arg(id = "oidc_tenant_claim", long = "oidc-tenant-claim", env = "TIDINGS_OIDC_TENANT_CLAIM")]
    pub tenant_claim: Option<String>,
    /// Claim, a string or a list of strings, that decides whether a person is an operator or a service.
    #[arg(id = "oidc_role_claim", long = "oidc-role-claim", env = "TIDINGS_OIDC_ROLE_CLAIM", default_value = "groups")]
    pub role_claim: String,
    /// Comma-separated values of the role claim that make a person an operator.
    #[arg(id = "oidc_admins", long = "oidc-admins", env = "TIDINGS_OIDC_ADMINS", value_delimiter = ',')]
    pub admins: Vec<String>,
    /// Comma-separated values of the role claim that make a person a service.
    #[arg(id = "oidc_services", long = "oidc-services", env = "TIDINGS_OIDC_SERVICES", value_delimiter = ',')]
    pub services: Vec<String>,
    /// Claim that identifies a person, as `sub` does in tokens.
    #[arg(id = "oidc_sub_claim", long = "oidc-sub-claim", env = "TIDINGS_OIDC_SUB_CLAIM", default_value = "email")]
    pub sub_claim: String,
    /// Hours after which people must sign in again, 1 to 168.
    #[arg(id = "oidc_session_hours", long = "oidc-session-hours", env = "TIDINGS_OIDC_SESSION_HOURS", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=168))]
    pub session_hours: u16,
}

/// Complete sign-in settings.
#[derive(Clone, Debug)]
pub struct SignInConfig {
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Option<String>,
    pub scopes: String,
    pub tenant: TenantSource,
    pub role_claim: String,
    pub admins: Vec<String>,
    pub services: Vec<String>,
    pub sub_claim: String,
    pub session_hours: u16,
    /// Secrets from which the cookie keys are derived: the one that encrypts, then the previous one.
    pub secrets: Vec<String>,
    /// URL at which browsers reach this server.
    pub public: PublicUrl,
}

/// How the tenant of a person is found.
#[derive(Clone, Debug)]
pub enum TenantSource {
    /// All people belong to this tenant.
    All(String),
    /// This claim names the tenant.
    Claim(String),
}

impl OidcConfig {
    /// The sign-in settings; `None` if no provider is set.
    ///
    /// Fails with `Config` if a setting is missing or contradicts another.
    pub fn sign_in_config(&self, auth: &AuthConfig, public: &PublicConfig) -> Result<Option<SignInConfig>> {
        let read = || {
            let Some(issuer) = &self.issuer else { return self.check_unused().map(|()| None) };
            self.build_config(issuer, auth, public).map(Some)
        };
        read().map_err(Error::Config)
    }

    /// Fails if settings of a provider are set but no provider is.
    fn check_unused(&self) -> Result<(), String> {
        let set = [
            ("TIDINGS_OIDC_CLIENT_ID", self.client_id.is_some()),
            ("TIDINGS_OIDC_CLIENT_SECRET", self.client_secret.is_some()),
            ("TIDINGS_OIDC_TENANT", self.tenant.is_some()),
            ("TIDINGS_OIDC_TENANT_CLAIM", self.tenant_claim.is_some()),
            ("TIDINGS_OIDC_ADMINS", !self.admins.is_empty()),
            ("TIDINGS_OIDC_SERVICES", !self.services.is_empty()),
        ];
        match set.into_iter().find(|(_, is_set)| *is_set) {
            None => Ok(()),
            Some((name, _)) => Err(format!(
                "{name} is set, but TIDINGS_OIDC_ISSUER is not: set it to the URL of the identity provider"
            )),
        }
    }

    fn build_config(&self, issuer: &str, auth: &AuthConfig, public: &PublicConfig) -> Result<SignInConfig, String> {
        check_issuer(issuer)?;
        let client_id = self.client_id.clone().filter(|id| !id.is_empty());
        let client_id = client_id.ok_or("TIDINGS_OIDC_ISSUER needs TIDINGS_OIDC_CLIENT_ID too")?;
        if self.client_secret.as_deref() == Some("") {
            return Err("TIDINGS_OIDC_CLIENT_SECRET is empty: leave it out for a public client".into());
        }
        if !self.scopes.split(' ').any(|scope| scope == "openid") {
            return Err("TIDINGS_OIDC_SCOPES must include openid".into());
        }
        for (name, claim) in [
            ("TIDINGS_OIDC_TENANT_CLAIM", self.tenant_claim.as_deref().unwrap_or("-")),
            ("TIDINGS_OIDC_ROLE_CLAIM", &self.role_claim),
            ("TIDINGS_OIDC_SUB_CLAIM", &self.sub_claim),
        ] {
            if claim.trim().is_empty() {
                return Err(format!("{name} is empty: it must name a claim"));
            }
        }
        self.check_roles()?;
        let missing = "TIDINGS_OIDC_ISSUER needs TIDINGS_SECRET too, which protects the cookies of people who sign in";
        let secret = auth.secret.clone().ok_or(missing)?;
        Ok(SignInConfig {
            issuer: issuer.to_owned(),
            client_id,
            client_secret: self.client_secret.clone(),
            scopes: self.scopes.clone(),
            tenant: self.tenant_source()?,
            role_claim: self.role_claim.clone(),
            admins: self.admins.clone(),
            services: self.services.clone(),
            sub_claim: self.sub_claim.clone(),
            session_hours: self.session_hours,
            secrets: [secret].into_iter().chain(auth.previous_secret.clone()).collect(),
            public: reachable_url(public)?,
        })
    }

    fn tenant_source(&self) -> Result<TenantSource, String> {
        match (&self.tenant, &self.tenant_claim) {
            (Some(tenant), None) if !is_tenant_name(tenant) => {
                Err("TIDINGS_OIDC_TENANT must have 1 to 128 characters, no control characters and no white space at its ends".into())
            }
            (Some(tenant), None) => Ok(TenantSource::All(tenant.clone())),
            (None, Some(claim)) => Ok(TenantSource::Claim(claim.clone())),
            (Some(_), Some(_)) => {
                Err("both TIDINGS_OIDC_TENANT and TIDINGS_OIDC_TENANT_CLAIM are set: leave one of them out".into())
            }
            (None, None) => {
                Err("set TIDINGS_OIDC_TENANT, one tenant for all people, or TIDINGS_OIDC_TENANT_CLAIM, \
                 a claim that names the tenant"
                    .into())
            }
        }
    }

    /// Fails if no person could sign in, or if the two role lists overlap.
    fn check_roles(&self) -> Result<(), String> {
        if self.admins.is_empty() && self.services.is_empty() {
            return Err(format!(
                "no person could sign in: list in TIDINGS_OIDC_ADMINS or TIDINGS_OIDC_SERVICES the values of the claim {:?} \
                 that give the role ADMIN or SERVICE",
                self.role_claim
            ));
        }
        if self.admins.iter().chain(&self.services).any(|value| value.trim().is_empty()) {
            return Err("TIDINGS_OIDC_ADMINS or TIDINGS_OIDC_SERVICES has an empty value".into());
        }
        match self.admins.iter().find(|value| self.services.contains(value)) {
            None => Ok(()),
            Some(both) => Err(format!("both TIDINGS_OIDC_ADMINS and TIDINGS_OIDC_SERVICES have {both:?}")),
        }
    }
}

fn check_issuer(issuer: &str) -> Result<(), String> {
    let url = Url::parse(issuer).map_err(|_| "TIDINGS_OIDC_ISSUER must be an absolute https URL".to_owned())?;
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
        return Err("TIDINGS_OIDC_ISSUER must not have a user, password, query or fragment".into());
    }
    if is_confidential(&url) {
        return Ok(());
    }
    Err("TIDINGS_OIDC_ISSUER must begin with https: (http: only for a provider on this machine)".into())
}

/// Whether the text is a valid tenant name.
fn is_tenant_name(text: &str) -> bool {
    let is_short = (1..=128).contains(&text.chars().count());
    is_short && text.trim() == text && !text.chars().any(char::is_control)
}

/// The public URL; the provider sends people back to a page below it.
fn reachable_url(public: &PublicConfig) -> Result<PublicUrl, String> {
    let missing = "TIDINGS_OIDC_ISSUER needs TIDINGS_PUBLIC_URL too: the provider sends people back to a page below it";
    let url = public.url.clone().ok_or(missing)?;
    if url.is_confidential() {
        return Ok(url);
    }
    Err("TIDINGS_PUBLIC_URL must begin with https: if people sign in, to protect their cookies (http: only on this machine)"
        .into())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::config::ServerConfig;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        config: ServerConfig,
    }

    /// Checks complete settings after some changes; the value `-` removes a setting.
    fn told(changes: &[(&str, &str)]) -> Result<(), String> {
        let complete = [
            ("--secret", "0123456789abcdef0123456789abcdef"),
            ("--public-url", "https://inbox.example.com"),
            ("--oidc-issuer", "https://login.example.com/realms/staff"),
            ("--oidc-client-id", "tidings"),
            ("--oidc-tenant", "acme"),
            ("--oidc-admins", "operators"),
        ];
        let kept = complete.iter().filter(|(name, _)| !changes.iter().any(|(of, _)| of == name));
        let others = changes.iter().filter(|(_, value)| *value != "-");
        let all = kept.chain(others).map(|(name, value)| format!("{name}={value}"));
        let Program { config } = Program::parse_from(["tidings".to_owned()].into_iter().chain(all));
        config.check().map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_complete_is_taken() {
        for changes in [
            &[][..],
            &[("--oidc-client-secret", "s3cret")],
            &[("--oidc-issuer", "http://127.0.0.1:9000")],
            &[("--oidc-issuer", "http://localhost:9000/a"), ("--public-url", "http://[::1]:8080")],
            &[("--oidc-tenant", "-"), ("--oidc-tenant-claim", "org")],
            &[("--oidc-admins", "-"), ("--oidc-services", "support,it")],
            &[("--oidc-issuer", "-"), ("--oidc-client-id", "-"), ("--oidc-tenant", "-"), ("--oidc-admins", "-")],
        ] {
            assert_eq!(told(changes), Ok(()), "{changes:?}");
        }
    }

    #[test]
    fn what_is_missing_or_contradicts_the_rest_is_named() {
        for (changes, words) in [
            (&[("--oidc-issuer", "-")][..], "TIDINGS_OIDC_CLIENT_ID is set, but TIDINGS_OIDC_ISSUER is not"),
            (&[("--oidc-issuer", "login.example.com")], "TIDINGS_OIDC_ISSUER must be an absolute https URL"),
            (&[("--oidc-issuer", "")], "TIDINGS_OIDC_ISSUER must be an absolute https URL"),
            (&[("--oidc-issuer", "http://login.example.com")], "TIDINGS_OIDC_ISSUER must begin with https:"),
            (&[("--oidc-issuer", "http://10.0.0.1")], "TIDINGS_OIDC_ISSUER must begin with https:"),
            (&[("--oidc-issuer", "ftp://127.0.0.1")], "TIDINGS_OIDC_ISSUER must begin with https:"),
            (
                &[("--oidc-issuer", "https://a@login.example.com")],
                "TIDINGS_OIDC_ISSUER must not have a user, password, query or fragment",
            ),
            (
                &[("--oidc-issuer", "https://login.example.com/?a")],
                "TIDINGS_OIDC_ISSUER must not have a user, password, query or fragment",
            ),
            (&[("--oidc-client-id", "-")], "needs TIDINGS_OIDC_CLIENT_ID"),
            (&[("--oidc-client-id", "")], "needs TIDINGS_OIDC_CLIENT_ID"),
            (&[("--oidc-client-secret", "")], "TIDINGS_OIDC_CLIENT_SECRET is empty"),
            (&[("--oidc-scopes", "profile email")], "TIDINGS_OIDC_SCOPES must include openid"),
            (&[("--oidc-tenant", "-")], "set TIDINGS_OIDC_TENANT"),
            (&[("--oidc-tenant", " acme")], "TIDINGS_OIDC_TENANT must have 1 to 128 characters"),
            (&[("--oidc-tenant", &"x".repeat(129))], "TIDINGS_OIDC_TENANT must have 1 to 128 characters"),
            (&[("--oidc-tenant-claim", "org")], "both TIDINGS_OIDC_TENANT and TIDINGS_OIDC_TENANT_CLAIM"),
            (&[("--oidc-tenant", "-"), ("--oidc-tenant-claim", "")], "TIDINGS_OIDC_TENANT_CLAIM is empty"),
            (&[("--oidc-role-claim", "")], "TIDINGS_OIDC_ROLE_CLAIM is empty"),
            (&[("--oidc-sub-claim", " ")], "TIDINGS_OIDC_SUB_CLAIM is empty"),
            (&[("--oidc-admins", "-")], "no person could sign in: list in TIDINGS_OIDC_ADMINS"),
            (&[("--oidc-admins", "a,,b")], "has an empty value"),
            (
                &[("--oidc-services", "it,operators")],
                "both TIDINGS_OIDC_ADMINS and TIDINGS_OIDC_SERVICES have \"operators\"",
            ),
            (&[("--secret", "-"), ("--jwks", "/keys.json")], "TIDINGS_OIDC_ISSUER needs TIDINGS_SECRET"),
            (&[("--public-url", "-")], "needs TIDINGS_PUBLIC_URL"),
            (&[("--public-url", "http://inbox.example.com")], "TIDINGS_PUBLIC_URL must begin with https:"),
        ] {
            let told = told(changes).unwrap_err();
            assert!(told.contains(words), "{changes:?}: {told}");
        }
    }
}
