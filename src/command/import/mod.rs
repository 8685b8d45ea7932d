//! Moving over from tables of one's own, by files: users, subscriptions, and what was sent before.
//!
//! A file is read twice: once to check all of it, and once to bring it over, in steps of 1,000 lines, each in transactions of
//! its own. What is there already is passed over, so that the same command goes on where another one was cut off.

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

/// Lines of one step.
const LINES: usize = 1000;

/// Bad lines that are told before it is given up.
const BAD: usize = 20;

/// After how many lines it is told how far it is.
const TOLD: u64 = 100_000;

/// How often a step is tried that the database has no time for, and how long it is waited in between.
const TRIES: usize = 30;
const PAUSE: Duration = Duration::from_secs(1);

/// What to bring over, and from where.
#[derive(Args)]
pub struct Import {
    /// What the file has.
    #[arg(value_enum)]
    what: What,
    /// The file; `-` for what comes in.
    file: PathBuf,
    /// Whose it is. There must be one of this name.
    #[arg(long)]
    tenant: String,
    /// How the file is written, where its name does not end in .csv, .jsonl or .ndjson.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Only check the file, and say what would be done.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    config: Config,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// By id: name, avatarUrl, locale, groups.
    Users,
    /// By user, targetType, target, and actions or reason.
    Subscriptions,
    /// By key, from the oldest to the newest: type, receiver, title, body, link, params, data, sender, targetType, target, action,
    /// createdAt, readAt, archivedAt.
    Notifications,
}

impl Import {
    /// Brings it over, and says what came of it; nothing where any line is bad.
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
        let done = if self.dry_run { "the file is checked, nothing was changed" } else { "all of it is brought over" };
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
                return Err(Error::Config(format!("{name}:{line}: {error}: the file was changed meanwhile")));
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

    /// Looks at all lines, tells those that are bad, and returns how many there are.
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

/// Each with its number.
type Numbered<T> = Vec<(u64, T)>;

/// The next lines, and what is wrong with others among them.
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

/// Brings lines over as soon as the database has time for it.
async fn patiently<T: Table>(table: &mut T, needs: &Needs, rows: Vec<T::Row>) -> Result<()> {
    for _ in 1..TRIES {
        match table.make(needs, rows.clone()).await {
            Err(Error::Unavailable(why)) => {
                tracing::warn!("{why}: it is tried again");
                sleep(PAUSE).await;
            }
            made => return made,
        }
    }
    table.make(needs, rows).await
}
