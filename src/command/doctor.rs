//! `tidings doctor`: checks the settings and the services they name. It changes nothing and leaves nothing behind.

use std::borrow::Cow;

use sea_orm::DbBackend;
use serde_json::{Value, json};

use super::output::print_line;
use auth::SignIn;
use base::clock::SharedClock;
use base::config::{
    AuthConfig, DatabaseConfig, EgressConfig, KeysConfig, LogConfig, ServerConfig, without_credentials,
};
use base::error::{Error, Result};
use base::telemetry;
use cluster::{hub, invalidation};
use delivery::{destination, mail};
use outside::egress::EgressClient;
use outside::vault::Vault;
use sources::{DataSource, DataSources, QueryFailure, QueryFailureKind};
use store::Database;
use tidings::graphql::PersistedOperations;

/// What was checked, and the result of each check.
#[derive(Default)]
struct CheckReport(Vec<(Cow<'static, str>, Result<String>)>);

impl CheckReport {
    fn record_check(&mut self, what: impl Into<Cow<'static, str>>, found: Result<String>) {
        self.0.push((what.into(), found));
    }

    fn failed_count(&self) -> usize {
        self.0.iter().filter(|(_, found)| found.is_err()).count()
    }
}

/// Runs all checks and prints the results. Fails if any check failed.
pub async fn run(config: &ServerConfig, log: &LogConfig, json: bool) -> Result<()> {
    let findings = run_checks(config, log).await;
    let ailing = findings.failed_count();
    if json {
        let found = |(what, found): (Cow<'_, str>, Result<String>)| match found {
            Ok(found) => json!({ "what": what, "ok": true, "found": found }),
            Err(error) => json!({ "what": what, "ok": false, "found": without_credentials(&error.log_message()) }),
        };
        let all: Vec<Value> = findings.0.into_iter().map(found).collect();
        print_line(&format!("{}\n", json!({ "ok": ailing == 0, "findings": all })))?;
    } else {
        let line = |(what, found): (Cow<'static, str>, Result<String>)| match found {
            Ok(found) => format!("ok    {what}: {found}\n"),
            Err(error) => format!("WRONG {what}: {}\n", without_credentials(&error.log_message())),
        };
        print_line(&findings.0.into_iter().map(line).collect::<String>())?;
    }
    if ailing == 0 { Ok(()) } else { Err(Error::Config(format!("{ailing} problem(s) found"))) }
}

async fn run_checks(config: &ServerConfig, log: &LogConfig) -> CheckReport {
    let mut findings = CheckReport::default();
    findings.record_check("log", telemetry::check_config(log).map(|()| format!("filter {}", log.log)));
    findings.record_check("settings", config.check().map(|()| "complete".into()));
    findings.record_check("tokens", check_token_keys(&config.auth).await);
    // Errors in these settings are already reported by the check of all settings.
    if let Ok(Some(of)) = config.oidc.sign_in_config(&config.auth, &config.public) {
        findings.record_check("sign-in", SignIn::check_provider(of).await);
    }
    if let Some(path) = &config.wire.operations {
        let listed = PersistedOperations::load(path).await;
        findings.record_check(
            "operations",
            listed.map(|_| format!("users may run only the operations of {}", path.display())),
        );
    }
    findings.record_check("secrets", list_encryption_keys(&config.keys));
    let sends = EgressClient::new(&config.egress).and_then(|egress| egress.check_client());
    findings.record_check("egress", sends.map(|()| list_destinations(&config.egress)));
    if let Some(url) = &config.redis_url {
        findings.record_check("redis", hub::describe_redis(url).await);
        if config.board {
            findings.record_check("board", invalidation::describe_redis(url).await);
        }
    }
    match store::open_existing(&config.database).await {
        Ok(Some(db)) => {
            check_database(&mut findings, config, &db).await;
            db.close().await;
        }
        Ok(None) => findings.record_check("database", Ok(format!("{} will be created", config.database.url()))),
        Err(error) => findings.record_check("database", Err(error)),
    }
    match DataSources::load(&config.sources, &|name| std::env::var_os(name)) {
        Ok(sources) => {
            if let Err(error) = sources.reject_own_database(config.database.url()) {
                findings.record_check("sources", Err(error));
            }
            for source in sources.all() {
                findings.record_check(format!("source {}", source.name()), check_source(source).await);
            }
            sources.close().await;
        }
        Err(error) => findings.record_check("sources", Err(error)),
    }
    for (what, address) in [("address", Some(config.listen.address)), ("admin address", config.listen.admin)] {
        let Some(address) = address else { continue };
        findings.record_check(what, tidings::http::listen(address).map(|_| format!("{address} is free")));
    }
    findings
}

/// Checks that a source answers, and that its user has no more privileges than rules need.
async fn check_source(source: &DataSource) -> Result<String> {
    let checked = source.check().await.map_err(|failure: QueryFailure| match failure.kind {
        QueryFailureKind::Unreachable | QueryFailureKind::TimedOut => Error::Unavailable(failure.to_string()),
        QueryFailureKind::Refused | QueryFailureKind::Failed => Error::Config(failure.to_string()),
    })?;
    if checked.may.is_empty() {
        return Ok(format!("{} answers, and its user can only read", checked.version));
    }
    Err(Error::Config(format!(
        "{}: its user can do more than read: {}; docs/rules.md says what to grant",
        checked.version,
        checked.may.join(", ")
    )))
}

/// Lists what verifies tokens, and fails if the keys cannot be read.
async fn check_token_keys(auth: &AuthConfig) -> Result<String> {
    auth.check()?;
    let mut by = Vec::new();
    if auth.secret.is_some() {
        by.push("the secret".to_owned());
    }
    if auth.previous_secret.is_some() {
        by.push("the previous secret".to_owned());
    }
    if let Some(source) = &auth.jwks {
        by.push(format!("{} keys of the JWKS", auth::count_keys(source).await?));
    }
    if by.is_empty() {
        return Err(Error::Config(
            "neither TIDINGS_SECRET nor TIDINGS_JWKS is set: every token would be refused".into(),
        ));
    }
    Ok(format!("verified with {}", by.join(", ")))
}

/// Lists the keys that encrypt secrets of tenants.
fn list_encryption_keys(keys: &KeysConfig) -> Result<String> {
    let vault = Vault::new(keys)?;
    Ok(match (vault.require_key(), &keys.previous_key) {
        (Err(_), _) => "the server cannot store any: TIDINGS_KEY is not set".into(),
        (Ok(()), None) => "encrypted with TIDINGS_KEY".into(),
        (Ok(()), Some(_)) => "encrypted with TIDINGS_KEY, and decrypted with TIDINGS_PREVIOUS_KEY too".into(),
    })
}

/// Lists the destinations that requests to user-supplied URLs may reach.
fn list_destinations(config: &EgressConfig) -> String {
    let with = |(entry, opens): (String, bool)| if opens { format!("{entry} on every port") } else { entry };
    let listed: Vec<_> = config.allow.entries().into_iter().map(with).collect();
    match listed.as_slice() {
        [] => "reaches only public addresses, over https".into(),
        listed => format!("reaches public addresses over https, and {}", listed.join(", ")),
    }
}

async fn check_database(findings: &mut CheckReport, config: &ServerConfig, db: &Database) {
    let pooler = if config.database.pooler.is_some() { " through a pooler" } else { "" };
    let mut sound = db.check_integrity(config.database.url()).await;
    if sound.is_ok() && db.fence.is_read_only() {
        let why = "the server is read-only, so it may be a replica: set DATABASE_URL to the primary";
        sound = Err(Error::Config(why.into()));
    }
    findings.record_check("database", sound.map(|()| format!("{:?} answers{pooler}", db.backend())));
    if let Some(direct) = config.database.with_direct_url() {
        findings.record_check("direct URL", check_direct_url(&direct, db).await);
    }
    findings.record_check("migrations", check_migrations(db).await);
    findings.record_check("connections", check_connection_limit(config, db).await);
    findings.record_check("clock", check_clock(config, db).await);
    if config.public.url.is_none() && mail::has_relays(db).await.unwrap_or_default() {
        let hint = "emails have no unsubscribe link, because TIDINGS_PUBLIC_URL is not set";
        findings.record_check("mail", Ok(hint.into()));
    }
    let is_up_to_date =
        db.migration_status().await.is_ok_and(|all| all.check_compatible().is_ok() && all.pending.is_empty());
    // The check of `secrets` reports errors in the keys.
    if let Ok(vault) = Vault::new(&config.keys)
        && is_up_to_date
    {
        match destination::examine_destinations(db, &vault, config.clock().now()).await {
            Ok(tenants) => {
                for (code, of) in tenants {
                    findings.record_check(format!("tenant {code}"), of.to_report_text());
                }
            }
            Err(error) => findings.record_check("tenants", Err(error)),
        }
    }
}

/// Whether the direct URL names the same database.
async fn check_direct_url(direct: &DatabaseConfig, db: &Database) -> Result<String> {
    let direct = store::open(direct).await?;
    let is_same = db.check_same_database(&direct).await;
    direct.close().await;
    is_same.map(|()| "leads to the same database, without a pooler".into())
}

async fn check_migrations(db: &Database) -> Result<String> {
    let migrations = db.migration_status().await?;
    migrations.check_compatible()?;
    match migrations.pending.len() {
        0 if !migrations.unknown.is_empty() => {
            Ok("up to date, and has newer migrations that this program does not need".into())
        }
        0 => Ok("up to date".into()),
        _ if let Err(error) = db.rehearse_migrations().await => Err(error),
        _ if !db.can_create_tables().await? => Err(Error::Config(
            "some are pending, but this database user may not create tables: run `tidings migrate` as a user who may"
                .into(),
        )),
        many => Ok(format!("{many} pending: `tidings migrate` or `tidings serve` applies them")),
    }
}

/// Whether the database allows as many connections as this process may open.
async fn check_connection_limit(config: &ServerConfig, db: &Database) -> Result<String> {
    // Besides the pool: connections for health checks, migrations, and change notices between nodes.
    let wanted = i64::from(config.database.connections) + if db.backend() == DbBackend::Postgres { 4 } else { 2 };
    if config.database.pooler.is_some() {
        return Ok(format!(
            "up to {} to the pooler, whose own connections all nodes share",
            config.database.connections + 1
        ));
    }
    match db.connection_limit().await? {
        Some(most) if most < wanted => Err(Error::Config(format!(
            "this process may open {wanted} connections, but the database allows this user {most}: lower TIDINGS_CONNECTIONS"
        ))),
        Some(most) => Ok(format!("up to {wanted} of the {most} that the database allows")),
        None => Ok("the database has no limit".into()),
    }
}

async fn check_clock(config: &ServerConfig, db: &Database) -> Result<String> {
    if db.backend() == DbBackend::Sqlite {
        return Ok("SQLite uses the clock of this machine".into());
    }
    let agreed = SharedClock::new(config.clock(), true);
    agreed.compare_with(db.server_time()).await?;
    if agreed.is_in_doubt() {
        Err(Error::Config(agreed.describe_difference()))
    } else {
        Ok(agreed.describe_difference())
    }
}
