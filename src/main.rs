//! The command line.
#![expect(clippy::print_stdout, reason = "a command line program talks on standard output")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::{Parser, Subcommand};
use tidings::app::App;
use tidings::auth::{Claims, Role, sign};
use tidings::clock::{Agreed, Clock};
use tidings::config::{AuthConfig, Config, DatabaseConfig, LogConfig};
use tidings::error::{Error, Result};
use tidings::graphql::Schema;
use tidings::http::Server;
use tidings::{database, demo, domain, telemetry, worker};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A notification inbox server: a bell, an inbox and unread counts that are never wrong.
#[derive(Parser)]
#[command(version, about)]
struct Tidings {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    log: LogConfig,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the API.
    Serve {
        #[command(flatten)]
        config: Box<Config>,
        /// With a tenant to look at, an own secret, and a database that is thrown away.
        #[arg(long)]
        demo: bool,
    },
    /// Print a signed token.
    Token {
        /// The tenant that the token opens.
        #[arg(long)]
        tenant: String,
        /// The user; for services and operators, a name of your choice.
        #[arg(long, required_if_eq("role", "user"))]
        user: Option<String>,
        #[arg(long, value_enum, default_value_t = Role::User)]
        role: Role,
        /// How long it is valid: a number with s, m, h or d.
        #[arg(long, default_value = "1h", value_parser = duration)]
        ttl: Duration,
        #[arg(long)]
        scope: Option<String>,
        #[command(flatten)]
        auth: AuthConfig,
    },
    /// Apply the migrations that the database lacks; `serve` does it by itself.
    Migrate {
        #[command(flatten)]
        database: DatabaseConfig,
        /// Take all of them back instead, and with them EVERYTHING that is stored.
        #[arg(long)]
        down: bool,
    },
    /// Delete once, now, what is past the retention window; `serve` does it every hour. Safe while servers run.
    Sweep {
        #[command(flatten)]
        config: Box<Config>,
    },
    /// Print the API in the schema definition language.
    Schema,
    /// Say what is wrong with the configuration and the database.
    Doctor {
        #[command(flatten)]
        config: Box<Config>,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Tidings::parse();
    let telemetry = match telemetry::start(&arguments.log) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            println!("{}", error.told());
            return ExitCode::FAILURE;
        }
    };
    let ended = run(arguments.command).await;
    if let Err(error) = &ended {
        tracing::error!("{}", error.told());
    }
    // Off the threads of the server, for it waits for a collector that may not answer.
    let _ = tokio::task::spawn_blocking(move || drop(telemetry)).await;
    if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run(command: Command) -> Result<()> {
    match command {
        Command::Serve { config, demo: true } => serve_demo(*config).await,
        Command::Serve { config, demo: false } => serve(start(*config).await?, async |_| Ok(())).await,
        Command::Token { tenant, user, role, ttl, scope, auth } => {
            println!("{}", token(&auth, &tenant, user, role, ttl, scope)?);
            Ok(())
        }
        Command::Migrate { database, down } => {
            let db = database::connect(database.url(), database.connections).await?;
            if down {
                db.unmigrate().await?;
            } else {
                db.migrate().await?;
            }
            db.close().await;
            Ok(())
        }
        Command::Sweep { config } => {
            let app = start(*config).await?;
            let swept = domain::chore::sweep::sweep(&app).await?;
            println!(
                "deleted {} notifications, {} publications, {} inbox items, {} channels, {} actions, {} views and keys of \
                 activities",
                swept.notifications, swept.publications, swept.items, swept.channels, swept.actions, swept.views
            );
            app.db.close().await;
            Ok(())
        }
        Command::Schema => {
            print!("{}", Schema::sdl());
            Ok(())
        }
        Command::Doctor { config } => doctor(*config).await,
    }
}

async fn start(config: Config) -> Result<Arc<App>> {
    let clock = config.clock();
    App::start(config, clock).await
}

async fn serve(app: Arc<App>, greet: impl AsyncFnOnce(std::net::SocketAddr) -> Result<()>) -> Result<()> {
    let address = app.config.listen;
    let refused = |error| Error::Config(format!("TIDINGS_LISTEN={address} cannot be listened on: {error}"));
    let listener = tidings::http::listen(address).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    tracing::info!(%address, database = ?app.db.backend(), "serving");
    greet(address).await?;
    let live = Arc::default();
    let worker = worker::start(&app, &live).await?;
    Server::new(app.clone(), live).serve(listener, told_to_stop()).await?;
    drop(worker);
    tracing::info!("stopped");
    app.db.close().await;
    Ok(())
}

async fn serve_demo(mut config: Config) -> Result<()> {
    let mut random = [0_u8; 32];
    getrandom::fill(&mut random).map_err(Error::internal)?;
    let random = URL_SAFE_NO_PAD.encode(random);
    let secret = config.auth.secret.get_or_insert_with(|| random.clone()).clone();
    let thrown_away =
        config.database.url.is_none().then(|| std::env::temp_dir().join(format!("tidings-demo-{}", &random[..8])));
    if let Some(folder) = &thrown_away {
        std::fs::create_dir_all(folder).map_err(Error::internal)?;
        config.database.url = Some(format!("sqlite://{}?mode=rwc", folder.join("demo.db").display()));
    }
    let app = start(config).await?;
    demo::fill(&app).await?;
    let auth = AuthConfig { secret: Some(secret), ..AuthConfig::default() };
    let served = serve(app, async |address| greet(&auth, address)).await;
    if let Some(folder) = thrown_away {
        // What is left in the folder for temporary files is nobody's loss.
        let _ = std::fs::remove_dir_all(folder);
    }
    served
}

fn greet(auth: &AuthConfig, address: std::net::SocketAddr) -> Result<()> {
    let day = Duration::from_hours(24);
    let of = |name: &str, role| token(auth, demo::TENANT, Some(name.into()), role, day, None);
    let user = of(demo::USER, Role::User)?;
    let admin = of("operator", Role::Admin)?;
    println!("\nThe demo is ready: a tenant called {}, whose users have two weeks of notifications.\n", demo::TENANT);
    println!("The operator's console, and {}'s with a bell that rings when you announce something:\n", demo::USER);
    println!("  console  http://{address}/console#token={admin}");
    println!("  bell     http://{address}/console#token={user}\n");
    println!("  user     {user}");
    println!("  service  {}", of("shop", Role::Service)?);
    println!("  admin    {admin}\n");
    println!("The overview of {}:\n", demo::USER);
    println!("  curl -s http://{address}/graphql -H 'content-type: application/json' \\");
    println!("    -H 'authorization: Bearer {user}' \\");
    println!(
        "    -d '{{\"query\":\"{{ viewer {{ overview {{ unread {{ count }} types {{ type {{ title }} unread {{ count }} latest {{ title }} }} }} }} }}\"}}'\n"
    );
    Ok(())
}

fn token(
    auth: &AuthConfig,
    tenant: &str,
    user: Option<String>,
    role: Role,
    ttl: Duration,
    scope: Option<String>,
) -> Result<String> {
    let secret = auth.secret.as_deref().filter(|secret| secret.len() >= 32);
    let secret =
        secret.ok_or_else(|| Error::Config("set TIDINGS_SECRET, of at least 32 bytes, to sign tokens".into()))?;
    let now = Clock::System.now() / 1000;
    let exp = now.saturating_add_unsigned(ttl.as_secs());
    let sub = user.unwrap_or_else(|| role.to_string());
    sign(secret, &Claims { tenant: tenant.into(), sub, role, exp, scope })
}

async fn doctor(config: Config) -> Result<()> {
    let mut ailing = 0;
    let mut say = |what: &str, found: Result<String>| match found {
        Ok(found) => println!("ok    {what}: {found}"),
        Err(error) => {
            ailing += 1;
            println!("WRONG {what}: {error}");
        }
    };
    say("settings", config.check().map(|()| "complete".into()));
    let tokens = tidings::auth::Verifier::new(&config.auth).await;
    say("tokens", tokens.map(|_| "keys can be used".into()));
    if let Some(path) = &config.wire.operations {
        let listed = tidings::config::operations::Operations::open(path).await;
        say("operations", listed.map(|_| format!("users may run those of {}", path.display())));
    }
    match database::connect(config.database.url(), config.database.connections).await {
        Ok(db) => {
            say("database", Ok(format!("{:?} answers", db.backend())));
            let pending = db.pending_migrations().await.map(|pending| match pending {
                0 => "up to date".into(),
                many => format!("{many} to apply: `tidings migrate`, or `tidings serve`, does it"),
            });
            say("migrations", pending);
            say("clock", clock(&config, &db).await);
        }
        Err(error) => say("database", Err(error)),
    }
    for (what, address) in [("address", Some(config.listen)), ("admin address", config.connections.admin_listen)] {
        let Some(address) = address else { continue };
        let busy = |error| Error::Config(format!("{address} cannot be listened on: {error}"));
        say(what, tidings::http::listen(address).map(|_| format!("{address} is free")).map_err(busy));
    }
    if ailing == 0 { Ok(()) } else { Err(Error::Config(format!("{ailing} thing(s) to mend"))) }
}

async fn clock(config: &Config, db: &database::Database) -> Result<String> {
    if db.backend() == sea_orm::DbBackend::Sqlite {
        return Ok("this machine's".into());
    }
    let agreed = Agreed::new(config.clock(), true);
    agreed.compare(db.time()).await?;
    if agreed.is_in_doubt() { Err(Error::Config(agreed.told())) } else { Ok(agreed.told()) }
}

/// Ctrl-C, or SIGTERM from whatever supervises us.
async fn told_to_stop() {
    let interrupt = async {
        // Without the signal nobody can ask us to stop, which is no reason to.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}

fn duration(text: &str) -> std::result::Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = number.parse().map_err(|_| "must be a number with s, m, h or d, such as 30m".to_owned())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err("must end in s, m, h or d".into()),
    };
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}
