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
use tokio::time::sleep;

use super::output::{print_progress, print_result};
use super::serve::open_existing_app;
use base::config::ServerConfig;
use base::error::{Error, Result};
use domain::tenant::{self, TenantContext};
use fields::FileFormat;
use file::{ImportFile, ImportLines};
use notifications::NotificationImport;
use store::FileAccess;
use subscriptions::SubscriptionImport;
use table::ImportTable;
use users::UserImport;

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
pub struct ImportCommand {
    /// Kind of rows in the file.
    #[arg(value_enum)]
    what: ImportKind,
    /// File to import; `-` for standard input.
    file: PathBuf,
    /// Tenant to import into; it must exist.
    #[arg(long)]
    tenant: String,
    /// Format of the file; required if its name does not end in .csv, .jsonl or .ndjson.
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// Only check the file, and print what an import would do.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    config: ServerConfig,
}

#[derive(Clone, Copy, ValueEnum)]
enum ImportKind {
    /// Columns: id, name, avatarUrl, locale, email, groups.
    Users,
    /// Columns: user, targetType, target, and actions or reason.
    Subscriptions,
    /// Columns: key, type, receiver, title, body, link, params, data, sender, targetType, target, action, createdAt,
    /// readAt, archivedAt; oldest first.
    Notifications,
}

impl ImportCommand {
    /// Imports the file and prints the result. Changes nothing if any line is invalid.
    pub async fn run(self) -> Result<()> {
        let source = ImportFile::open(&self.file, self.format)?;
        let (_held, app) = open_existing_app(self.config, FileAccess::Beside).await?;
        let tenant = tenant::get_existing(&app, &self.tenant).await?;
        let work = ImportTask { needs: (app.store.clone(), tenant), source, is_dry: self.dry_run };
        let told = match self.what {
            ImportKind::Users => work.import_file::<UserImport>().await,
            ImportKind::Subscriptions => work.import_file::<SubscriptionImport>().await,
            ImportKind::Notifications => work.import_file::<NotificationImport>().await,
        };
        app.db.close().await;
        let done =
            if self.dry_run { "the file was checked and nothing was changed" } else { "everything was imported" };
        print_result(&format!("{}\n", told?), done)
    }
}

struct ImportTask {
    needs: TenantContext,
    source: ImportFile,
    is_dry: bool,
}

impl ImportTask {
    async fn import_file<T: ImportTable>(&self) -> Result<String> {
        let name = self.source.name();
        let many = self.check_file::<T>().await?;
        let (mut table, mut lines, mut done) = (T::default(), self.source.lines(T::COLUMNS)?, 0);
        loop {
            let (rows, bad) = read_batch(&mut table, &mut lines);
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
                table.count_rows(&self.needs, rows).await?;
            } else {
                import_with_retry(&mut table, &self.needs, rows).await?;
            }
            if done / TOLD > before {
                print_progress(&format!("{name}: {done} of {many} lines"));
            }
        }
        let dry = if self.is_dry { " (dry run: nothing was changed)" } else { "" };
        Ok(format!("{name}: {many} lines: {}{dry}", table.format_counts()))
    }

    /// Checks all lines, prints the invalid ones, and returns the number of lines.
    async fn check_file<T: ImportTable>(&self) -> Result<u64> {
        let name = self.source.name();
        let (mut table, mut lines) = (T::default(), self.source.lines(T::COLUMNS)?);
        let (mut many, mut bad_count) = (0, 0);
        loop {
            let (rows, mut bad) = read_batch(&mut table, &mut lines);
            if rows.is_empty() && bad.is_empty() {
                break;
            }
            many += rows.len() as u64;
            let (numbers, rows): (Vec<u64>, Vec<T::Row>) = rows.into_iter().unzip();
            for (place, error) in table.check_rows(&self.needs, &rows).await? {
                bad.push((numbers[place], error.to_string()));
            }
            bad.sort();
            for (line, why) in bad.into_iter().take(BAD - bad_count) {
                print_progress(&format!("{name}:{line}: {why}"));
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
type NumberedRows<T> = Vec<(u64, T)>;

/// Reads the next batch; returns its valid rows and the errors of its other lines.
fn read_batch<T: ImportTable>(table: &mut T, lines: &mut ImportLines) -> (NumberedRows<T::Row>, NumberedRows<String>) {
    let (mut rows, mut bad) = (Vec::new(), Vec::new());
    while rows.len() < LINES && bad.len() < BAD {
        let Some((line, said)) = lines.next() else { break };
        let row = said.and_then(|mut said| table.parse_line(&mut said).map_err(|error| error.to_string()));
        match row {
            Ok(row) => rows.push((line, row)),
            Err(why) => bad.push((line, why)),
        }
    }
    (rows, bad)
}

/// Imports a batch, and retries while the database is unavailable.
async fn import_with_retry<T: ImportTable>(table: &mut T, needs: &TenantContext, rows: Vec<T::Row>) -> Result<()> {
    for _ in 1..TRIES {
        match table.import_rows(needs, rows.clone()).await {
            Err(Error::Unavailable(why)) => {
                tracing::warn!("{why}: retrying");
                sleep(PAUSE).await;
            }
            made => return made,
        }
    }
    table.import_rows(needs, rows).await
}
