//! `tidings doctor`: checks the settings and the services they name. It changes nothing and leaves nothing behind.

use std::borrow::Cow;

use sea_orm::DbBackend;
use serde_json::{Value, json};
use tidings::auth::SignIn;
use tidings::clock::Agreed;
use tidings::config::operations::Operations;
use tidings::config::{AuthConfig, Config, DatabaseConfig, EgressConfig, KeysConfig, LogConfig, without_credentials};
use tidings::database::{self, Database};
use tidings::domain::{lane, mail};
use tidings::egress::Egress;
use tidings::error::{Error, Result};
use tidings::source::{Failure, FailureKind, Source, Sources};
use tidings::vault::Vault;
use tidings::{auth, board, hub, telemetry};

use super::say::say;

/// What was checked, and the result of each check.
#[derive(Default)]
struct Findings(Vec<(Cow<'static, str>, Result<String>)>);

impl Findings {
    fn note(&mut self, what: impl Into<Cow<'static, str>>, found: Result<String>) {
        self.0.push((what.into(), found));
    }

    fn ailing(&self) -> usize {
        self.0.iter().filter(|(_, found)| found.is_err()).count()
    }
}

/// Runs all checks and prints the results. Fails if any check failed.
pub async fn run(config: &Config, log: &LogConfig, json: bool) -> Result<()> {
    let findings = look(config, log).await;
    let ailing = findings.ailing();
    if json {
        let found = |(what, found): (Cow<'_, str>, Result<String>)| match found {
            Ok(found) => json!({ "what": what, "ok": true, "found": found }),
            Err(error) => json!({ "what": what, "ok": false, "found": without_credentials(&error.told()) }),
        };
        let all: Vec<Value> = findings.0.into_iter().map(found).collect();
        say(&format!("{}\n", json!({ "ok": ailing == 0, "findings": all })))?;
    } else {
        let line = |(what, found): (Cow<'static, str>, Result<String>)| match found {
            Ok(found) => format!("ok    {what}: {found}\n"),
            Err(error) => format!("WRONG {what}: {}\n", without_credentials(&error.told())),
        };
        say(&findings.0.into_iter().map(line).collect::<String>())?;
    }
    if ailing == 0 { Ok(()) } else { Err(Error::Config(format!("{ailing} problem(s) found"))) }
}

async fn look(config: &Config, log: &LogConfig) -> Findings {
    let mut findings = Findings::default();
    findings.note("log", telemetry::check(log).map(|()| format!("filter {}", log.log)));
    findings.note("settings", config.check().map(|()| "complete".into()));
    findings.note("tokens", tokens(&config.auth).await);
    // Errors in these settings are already reported by the check of all settings.
    if let Ok(Some(of)) = config.oidc.read(&config.auth, &config.public) {
        findings.note("sign-in", SignIn::examine(of).await);
    }
    if let Some(path) = &config.wire.operations {
        let listed = Operations::open(path).await;
        findings.note("operations", listed.map(|_| format!("users may run only the operations of {}", path.display())));
    }
    findings.note("secrets", secrets(&config.keys));
    let sends = Egress::new(&config.egress).and_then(|egress| egress.examine());
    findings.note("egress", sends.map(|()| egress(&config.egress)));
    if let Some(url) = &config.redis_url {
        findings.note("redis", hub::reach(url).await);
        if config.board {
            findings.note("board", board::examine(url).await);
        }
    }
    match database::without_a_trace(&config.database).await {
        Ok(Some(db)) => {
            look_at(&mut findings, config, &db).await;
            db.close().await;
        }
        Ok(None) => findings.note("database", Ok(format!("{} will be created", config.database.url()))),
        Err(error) => findings.note("database", Err(error)),
    }
    match Sources::read(&config.sources, &|name| std::env::var_os(name)) {
        Ok(sources) => {
            if let Err(error) = sources.refuse_own(config.database.url()) {
                findings.note("sources", Err(error));
            }
            for source in sources.all() {
                findings.note(format!("source {}", source.name()), looked_at(source).await);
            }
            sources.close().await;
        }
        Err(error) => findings.note("sources", Err(error)),
    }
    for (what, address) in [("address", Some(config.listen.address)), ("admin address", config.listen.admin)] {
        let Some(address) = address else { continue };
        findings.note(what, tidings::http::listen(address).map(|_| format!("{address} is free")));
    }
    findings
}

/// Checks that a source answers, and that its user has no more privileges than rules need.
async fn looked_at(source: &Source) -> Result<String> {
    let checked = source.check().await.map_err(|failure: Failure| match failure.kind {
        FailureKind::Unreachable | FailureKind::TimedOut => Error::Unavailable(failure.to_string()),
        FailureKind::Refused | FailureKind::Failed => Error::Config(failure.to_string()),
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
async fn tokens(auth: &AuthConfig) -> Result<String> {
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
fn secrets(keys: &KeysConfig) -> Result<String> {
    let vault = Vault::new(keys)?;
    Ok(match (vault.check(), &keys.previous_key) {
        (Err(_), _) => "the server cannot store any: TIDINGS_KEY is not set".into(),
        (Ok(()), None) => "encrypted with TIDINGS_KEY".into(),
        (Ok(()), Some(_)) => "encrypted with TIDINGS_KEY, and decrypted with TIDINGS_PREVIOUS_KEY too".into(),
    })
}

/// Lists the destinations that requests to user-supplied URLs may reach.
fn egress(config: &EgressConfig) -> String {
    let with = |(entry, opens): (String, bool)| if opens { format!("{entry} on every port") } else { entry };
    let listed: Vec<_> = config.allow.entries().into_iter().map(with).collect();
    match listed.as_slice() {
        [] => "reaches only public addresses, over https".into(),
        listed => format!("reaches public addresses over https, and {}", listed.join(", ")),
    }
}

async fn look_at(findings: &mut Findings, config: &Config, db: &Database) {
    let pooler = if config.database.pooler.is_some() { " through a pooler" } else { "" };
    let mut sound = db.is_sound(config.database.url()).await;
    if sound.is_ok() && db.fence.is_read_only() {
        let why = "the server is read-only, so it may be a replica: set DATABASE_URL to the primary";
        sound = Err(Error::Config(why.into()));
    }
    findings.note("database", sound.map(|()| format!("{:?} answers{pooler}", db.backend())));
    if let Some(direct) = config.database.directly() {
        findings.note("direct URL", directly(&direct, db).await);
    }
    findings.note("migrations", migrations(db).await);
    findings.note("connections", connections(config, db).await);
    findings.note("clock", clock(config, db).await);
    if config.public.url.is_none() && mail::has_relays(db).await.unwrap_or_default() {
        let hint = "emails have no unsubscribe link, because TIDINGS_PUBLIC_URL is not set";
        findings.note("mail", Ok(hint.into()));
    }
    let is_up_to_date = db.migrations().await.is_ok_and(|all| all.check().is_ok() && all.pending.is_empty());
    // The check of `secrets` reports errors in the keys.
    if let Ok(vault) = Vault::new(&config.keys)
        && is_up_to_date
    {
        match lane::examine(db, &vault, config.clock().now()).await {
            Ok(tenants) => {
                for (code, of) in tenants {
                    findings.note(format!("tenant {code}"), of.told());
                }
            }
            Err(error) => findings.note("tenants", Err(error)),
        }
    }
}

/// Whether the direct URL names the same database.
async fn directly(direct: &DatabaseConfig, db: &Database) -> Result<String> {
    let direct = database::open(direct).await?;
    let is_same = db.is(&direct).await;
    direct.close().await;
    is_same.map(|()| "leads to the same database, without a pooler".into())
}

async fn migrations(db: &Database) -> Result<String> {
    let migrations = db.migrations().await?;
    migrations.check()?;
    match migrations.pending.len() {
        0 if !migrations.unknown.is_empty() => {
            Ok("up to date, and has newer migrations that this program does not need".into())
        }
        0 => Ok("up to date".into()),
        _ if let Err(error) = db.rehearse().await => Err(error),
        _ if !db.may_create().await? => Err(Error::Config(
            "some are pending, but this database user may not create tables: run `tidings migrate` as a user who may"
                .into(),
        )),
        many => Ok(format!("{many} pending: `tidings migrate` or `tidings serve` applies them")),
    }
}

/// Whether the database allows as many connections as this process may open.
async fn connections(config: &Config, db: &Database) -> Result<String> {
    // Besides the pool: connections for health checks, migrations, and change notices between nodes.
    let wanted = i64::from(config.database.connections) + if db.backend() == DbBackend::Postgres { 4 } else { 2 };
    if config.database.pooler.is_some() {
        return Ok(format!(
            "up to {} to the pooler, whose own connections all nodes share",
            config.database.connections + 1
        ));
    }
    match db.most_connections().await? {
        Some(most) if most < wanted => Err(Error::Config(format!(
            "this process may open {wanted} connections, but the database allows this user {most}: lower TIDINGS_CONNECTIONS"
        ))),
        Some(most) => Ok(format!("up to {wanted} of the {most} that the database allows")),
        None => Ok("the database has no limit".into()),
    }
}

async fn clock(config: &Config, db: &Database) -> Result<String> {
    if db.backend() == DbBackend::Sqlite {
        return Ok("SQLite uses the clock of this machine".into());
    }
    let agreed = Agreed::new(config.clock(), true);
    agreed.compare(db.time()).await?;
    if agreed.is_in_doubt() { Err(Error::Config(agreed.told())) } else { Ok(agreed.told()) }
}
