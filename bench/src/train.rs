//! Training: all ordinary work of a server, in small, for one that counts what it runs (`.ci/dist`). What it runs often is built for speed
//! then, and the rest for size. Nothing is measured, and it needs no data but what it sends itself.

mod work;

use std::path::PathBuf;
use std::time::Duration;

use sea_orm::{ConnectionTrait, Database, DbBackend};

use crate::server::{FORGETFUL, Server, board};
use crate::work::{delivery, rules};
use crate::{Place, Plan, Result};
use work::{TENANT, Work};

/// Where servers of databases are, beside SQLite.
#[derive(clap::Args)]
pub struct Ground {
    /// The server that counts what it runs.
    #[arg(long)]
    server: PathBuf,
    /// URL of a PostgreSQL without a database: one is made, and goes again.
    #[arg(
        long,
        env = "TIDINGS_TEST_POSTGRES",
        default_value = "postgres://postgres@127.0.0.1:5432",
        hide_env_values = true
    )]
    postgres: String,
    /// The same of a MySQL or MariaDB.
    #[arg(long, env = "TIDINGS_TEST_MYSQL", default_value = "mysql://root@127.0.0.1:3306", hide_env_values = true)]
    mysql: String,
    /// URL of the Redis that a board hangs in.
    #[arg(long, env = "BENCH_REDIS_URL", default_value = "redis://127.0.0.1:6379", hide_env_values = true)]
    redis: String,
    /// For how many seconds each kind of work is done.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Folder for what servers count that are started and left alone, beside what others do.
    #[arg(long)]
    starts: PathBuf,
}

/// For how long a server is left alone: most of what runs now and then has run once.
const REST: Duration = Duration::from_secs(10);

/// Of each server.
const CONNECTIONS: usize = 8;

/// Trains over each kind of database, and with a board in Redis.
///
/// # Errors
///
/// Where a database does not answer: what is not trained is built for size, and would be slower than it was without any training.
pub async fn run(ground: &Ground) -> Result<()> {
    let own = crate::Ground { database: None, redis: ground.redis.clone(), server: Some(ground.server.clone()) };
    let place = Place::bare(&own)?;
    over(ground, &place.empty(TENANT).await?).await?;
    let plan = Plan { rounds: 1, seconds: ground.seconds, ground: own };
    rules::runs(&place, &plan, &rules::Ground::make(&place).await?).await?;
    delivery::many(&plan, &mut delivery::Ground::make(&place).await?).await?;
    for (server, admin) in [(&ground.postgres, "postgres"), (&ground.mysql, "mysql")] {
        let admin = Database::connect(format!("{server}/{admin}")).await?;
        let name = format!("tidings_training_{}", std::process::id());
        let charset = if admin.get_database_backend() == DbBackend::MySql { " CHARACTER SET utf8mb4" } else { "" };
        admin.execute_unprepared(&format!("CREATE DATABASE {name}{charset}")).await?;
        let trained = over(ground, &format!("{server}/{name}")).await;
        admin.execute_unprepared(&format!("DROP DATABASE {name}")).await?;
        trained?;
    }
    Ok(())
}

async fn over(ground: &Ground, url: &str) -> Result<()> {
    eprintln!("training over {}", url.split(':').next().unwrap_or_default());
    let seconds = ground.seconds;
    let server = async |settings: &[(&str, &str)]| {
        let server = Server::tidings_with(&ground.server, url, CONNECTIONS, settings).await?;
        Result::<_>::Ok(Work { server, seconds })
    };
    let work = server(&[]).await?;
    work.fill().await?;
    work.sends().await?;
    work.reads().await?;
    work.marks().await?;
    work.views().await?;
    work.sockets().await?;
    drop(work);
    server(&FORGETFUL).await?.reads().await?;
    // SQLite has one node, which needs no board.
    if !url.starts_with("sqlite") {
        let work = server(&board(&ground.redis)).await?;
        work.reads().await?;
        work.marks().await?;
    }
    let starts = ground.starts.join("%p.profraw");
    let _rests = server(&[("LLVM_PROFILE_FILE", &starts.to_string_lossy())]).await?;
    tokio::time::sleep(REST).await;
    Ok(())
}
