//! `tidings import`: imports users, subscriptions and earlier notifications from files.
//!
//! A file is read twice: once to check all of it, once to import it, in batches of 1,000 lines, each with transactions
//! of its own. Rows that exist already are skipped, so after an interruption the same command continues.

mod fields;
mod file;
mod notifications;
mod strict;
mod subscriptions;
mod table;
mod users;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tidings::config::Config;
use tidings::database::Use;
use tidings::domain::tenant::{self, Needs};
use tidings::error::{Error, Result};
use tokio::time::sleep;

use super::say::{note, say_done};
use super::serve::start_over;
use fields::Format;
use file::{Lines, Source};
use notifications::Notifications;
use subscriptions::Subscriptions;
use table::Table;
use users::Users;

/// Lines per batch.
const LINES: usize = 1000;

/// The check stops after this many invalid lines.
const BAD: usize = 20;

/// Lines between two progress messages.
const TOLD: u64 = 100_000;

/// Attempts per batch while the database is unavailable, and the pause between them.
const TRIES: usize = 30;
const PAUSE: Duration = Duration::from_secs(1);

/// Options of `tidings import`.
#[derive(Args)]
pub struct Import {
    /// Kind of rows in the file.
    #[arg(value_enum)]
    what: What,
    /// File to import; `-` for standard input.
    file: PathBuf,
    /// Tenant to import into; it must exist.
    #[arg(long)]
    tenant: String,
    /// Format of the file; required if its name does not end in .csv, .jsonl or .ndjson.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Only check the file, and print what an import would do.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    config: Config,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Columns: id, name, avatarUrl, locale, email, groups.
    Users,
    /// Columns: user, targetType, target, and actions or reason.
    Subscriptions,
    /// Columns: key, type, receiver, title, body, link, params, data, sender, targetType, target, action, createdAt,
    /// readAt, archivedAt; oldest first.
    Notifications,
}

impl Import {
    /// Imports the file and prints the result. Changes nothing if any line is invalid.
    pub async fn run(self) -> Result<()> {
        let source = Source::open(&self.file, self.format)?;
        let (_held, app) = start_over(self.config, Use::Beside).await?;
        let tenant = tenant::existing(&app, &self.tenant).await?;
        let work = Work { needs: (app.clone(), tenant), source, is_dry: self.dry_run };
        let told = match self.what {
            What::Users => work.bring::<Users>().await,
            What::Subscriptions => work.bring::<Subscriptions>().await,
            What::Notifications => work.bring::<Notifications>().await,
        };
        app.db.close().await;
        let done =
            if self.dry_run { "the file was checked and nothing was changed" } else { "everything was imported" };
        say_done(&format!("{}\n", told?), done)
    }
}

struct Work {
    needs: Needs,
    source: Source,
    is_dry: bool,
}

impl Work {
    async fn bring<T: Table>(&self) -> Result<String> {
        let name = self.source.name();
        let many = self.check::<T>().await?;
        let (mut table, mut lines, mut done) = (T::default(), self.source.lines(T::COLUMNS)?, 0);
        loop {
            let (rows, bad) = step(&mut table, &mut lines);
            if let Some((line, error)) = bad.first() {
                return Err(Error::Config(format!("{name}:{line}: {error}: the file changed during the import")));
            }
            if rows.is_empty() {
                break;
            }
            let before = done / TOLD;
            done += rows.len() as u64;
            let rows: Vec<T::Row> = rows.into_iter().map(|(_, row)| row).collect();
            if self.is_dry {
                table.count(&self.needs, rows).await?;
            } else {
                patiently(&mut table, &self.needs, rows).await?;
            }
            if done / TOLD > before {
                note(&format!("{name}: {done} of {many} lines"));
            }
        }
        let dry = if self.is_dry { " (dry run: nothing was changed)" } else { "" };
        Ok(format!("{name}: {many} lines: {}{dry}", table.told()))
    }

    /// Checks all lines, prints the invalid ones, and returns the number of lines.
    async fn check<T: Table>(&self) -> Result<u64> {
        let name = self.source.name();
        let (mut table, mut lines) = (T::default(), self.source.lines(T::COLUMNS)?);
        let (mut many, mut bad_count) = (0, 0);
        loop {
            let (rows, mut bad) = step(&mut table, &mut lines);
            if rows.is_empty() && bad.is_empty() {
                break;
            }
            many += rows.len() as u64;
            let (numbers, rows): (Vec<u64>, Vec<T::Row>) = rows.into_iter().unzip();
            for (place, error) in table.check(&self.needs, &rows).await? {
                bad.push((numbers[place], error.to_string()));
            }
            bad.sort();
            for (line, why) in bad.into_iter().take(BAD - bad_count) {
                note(&format!("{name}:{line}: {why}"));
                bad_count += 1;
            }
            if bad_count == BAD {
                break;
            }
        }
        match bad_count {
            0 => Ok(many),
            BAD => Err(Error::Config(format!("{name}: {BAD} bad lines so far: nothing was changed"))),
            _ => Err(Error::Config(format!("{name}: {bad_count} bad lines: nothing was changed"))),
        }
    }
}

/// Values with their line numbers.
type Numbered<T> = Vec<(u64, T)>;

/// Reads the next batch; returns its valid rows and the errors of its other lines.
fn step<T: Table>(table: &mut T, lines: &mut Lines) -> (Numbered<T::Row>, Numbered<String>) {
    let (mut rows, mut bad) = (Vec::new(), Vec::new());
    while rows.len() < LINES && bad.len() < BAD {
        let Some((line, said)) = lines.next() else { break };
        let row = said.and_then(|mut said| table.read(&mut said).map_err(|error| error.to_string()));
        match row {
            Ok(row) => rows.push((line, row)),
            Err(why) => bad.push((line, why)),
        }
    }
    (rows, bad)
}

/// Imports a batch, and retries while the database is unavailable.
async fn patiently<T: Table>(table: &mut T, needs: &Needs, rows: Vec<T::Row>) -> Result<()> {
    for _ in 1..TRIES {
        match table.make(needs, rows.clone()).await {
            Err(Error::Unavailable(why)) => {
                tracing::warn!("{why}: retrying");
                sleep(PAUSE).await;
            }
            made => return made,
        }
    }
    table.make(needs, rows).await
}
