//! `tidings serve --demo`: fills a tenant with sample data and prints links and tokens.

use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::output::print_line;
use super::serve::{open_app, serve_app};
use super::token::TokenCommand;
use auth::CallerRole;
use base::config::{AuthConfig, KEY_BYTES, ServerConfig};
use base::error::{Error, Result};
use tidings::demo;

/// Public, so that backends can sign tokens with it, too. Not used if the operator sets a secret.
const SECRET: &str = "demo-secret-for-trying-out-only-0000";

/// How long the printed tokens are valid.
const DAY: Duration = Duration::from_hours(24);

/// Serves the demo on this machine, over a database that is thrown away.
///
/// Fails with `Config` if a database is set or if other machines could reach the server: the demo's tokens are
/// public.
pub async fn serve(mut config: ServerConfig) -> Result<()> {
    if config.database.url.is_some() {
        let why = "DATABASE_URL is set, but the tokens of --demo are public, so it only runs on a temporary database: \
            leave out one of the two";
        return Err(Error::Config(why.into()));
    }
    if !config.listen.address.ip().is_loopback() {
        let why = format!(
            "TIDINGS_LISTEN is {}, which other machines may reach, but the tokens of --demo are public: \
             use an address of this machine, such as 127.0.0.1:8080",
            config.listen.address
        );
        return Err(Error::Config(why));
    }
    let auth = &mut config.auth;
    auth.secret.get_or_insert_with(|| SECRET.to_owned());
    let auth = auth.clone();
    config.wire.local_origins = true;
    let folder = temporary_folder()?;
    config.database.url = Some(format!("sqlite://{}?mode=rwc", folder.join("demo.db").display()));
    if config.keys.key.is_none() {
        // Everything encrypted with this key is deleted with the database.
        config.keys.key = Some(random_secret()?);
    }
    let (_held, app) = open_app(config).await?;
    demo::fill_tenant(&app).await?;
    let pages = demo::routes(app.clone());
    let served = serve_app(app, pages, async |address| print_welcome(&auth, address)).await;
    // A folder left among the temporary files does no harm.
    let _ = std::fs::remove_dir_all(folder);
    served
}

fn random_secret() -> Result<String> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(key))
}

fn temporary_folder() -> Result<std::path::PathBuf> {
    let mut random = [0_u8; 6];
    getrandom::fill(&mut random).map_err(Error::internal)?;
    let folder = std::env::temp_dir().join(format!("tidings-demo-{}", URL_SAFE_NO_PAD.encode(random)));
    std::fs::create_dir_all(&folder).map_err(Error::internal)?;
    Ok(folder)
}

fn print_welcome(auth: &AuthConfig, address: SocketAddr) -> Result<()> {
    let of = |name: &str, role| TokenCommand::for_user(auth, demo::TENANT, name, role, DAY).sign();
    let (user, service, admin) =
        (of(demo::USER, CallerRole::User)?, of("shop", CallerRole::Service)?, of("operator", CallerRole::Admin)?);
    let (tenant, name) = (demo::TENANT, demo::USER);
    let known = if auth.secret.as_deref() == Some(SECRET) {
        format!(
            "Tokens are signed with TIDINGS_SECRET={SECRET}, which is public:\n\
             do not use it for another server. Pages from localhost may use the API.\n\n"
        )
    } else {
        String::new()
    };
    print_line(&format!(
        "\nThe demo is ready: the users of the tenant {tenant} have two weeks of notifications.\n\n\
         An example product with the bell, the operator's desk, and the console:\n\n  \
           product  http://{address}/demo\n  \
           desk     http://{address}/desk#token={admin}\n  \
           console  http://{address}/console#token={admin}\n\n  \
           user     {user}\n  \
           service  {service}\n  \
           admin    {admin}\n\n\
         {known}The overview of {name}:\n\n  \
           curl -s http://{address}/graphql -H 'content-type: application/json' \\\n    \
             -H 'authorization: Bearer {user}' \\\n    \
             -d '{{\"query\":\"{OVERVIEW}\"}}'\n\n"
    ))
}

/// The query that a bell in a page needs.
const OVERVIEW: &str = "{ viewer { overview(cap: 99) { unread { count exact } types { type { title } unread { count } latest { title } } } } }";
