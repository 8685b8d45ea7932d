//! Copies a SQLite file while it is being served.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::file_lock::{check_name, parent_folder, sqlite_path};
use base::error::{Error, Result, driver_message};

/// Statistics of a finished copy.
#[derive(Clone, Copy, Debug)]
pub struct BackupStats {
    pub bytes: u64,
    pub tenants: i64,
    /// Log entries of all tenants together.
    pub entries: i64,
}

/// Copies the database at `url`, as of one moment, into a new file and checks the copy. Writers are not blocked. The
/// file appears under its name complete or not at all. If `stop` ends first, nothing is left behind.
///
/// Fails with `Config` for other databases than SQLite, and if a file cannot be read or written.
pub async fn backup(url: &str, target: &Path, stop: impl Future<Output = ()>) -> Result<BackupStats> {
    let file = sqlite_path(url).ok_or_else(|| {
        Error::Config(
            "only SQLite databases can be copied: use pg_dump for PostgreSQL, and mariadb-dump for MySQL".into(),
        )
    })?;
    if let Some(missing) = Some(parent_folder(target)).filter(|folder| !folder.is_dir()) {
        return Err(Error::Config(format!(
            "{} cannot be created: there is no folder {}",
            target.display(),
            missing.display()
        )));
    }
    check_name(target)?;
    let part = PartialCopy::create(target)?;
    let copied = tokio::select! {
        copied = copy_database(&file, &part.path) => copied?,
        () = stop => return Err(Error::Unavailable("stopped before the copy was complete: no file was created".into())),
    };
    part.persist(target)?;
    Ok(copied)
}

/// The partial copy. It is locked, and removed on drop.
struct PartialCopy {
    path: PathBuf,
    _locked: File,
}

impl PartialCopy {
    /// Creates the partial file, readable only by its owner. Replaces one that a killed process has left behind.
    fn create(target: &Path) -> Result<Self> {
        if target.symlink_metadata().is_ok() {
            return Err(Error::Config(format!("{} already exists: name a new file", target.display())));
        }
        let mut path = target.as_os_str().to_owned();
        path.push(".part");
        let path = PathBuf::from(path);
        let unusable =
            |error: std::io::Error| Error::Config(format!("{} cannot be created: {error}", target.display()));
        if path.symlink_metadata().is_ok() {
            if !is_partial_copy(&path) {
                let why = "is in the way, and is not an unfinished copy: rename it";
                return Err(Error::Config(format!("{} {why}", path.display())));
            }
            let left = File::open(&path).map_err(unusable)?;
            if left.try_lock().is_err() {
                return Err(Error::Config(format!("{} is being written by another process", target.display())));
            }
            remove_partial(&path);
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(unusable)?;
        // On file systems without locks, SQLite detects two copies at once.
        let _ = file.try_lock();
        Ok(Self { path, _locked: file })
    }

    /// Moves the copy to its name once it is synced to disk.
    fn persist(self, target: &Path) -> Result<()> {
        let part = &self.path;
        let kept = || {
            File::open(part)?.sync_all()?;
            // A hard link fails if the name has been taken meanwhile. Some file systems do not support links.
            match fs::hard_link(part, target) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
                Err(_) => fs::rename(part, target)?,
                Ok(()) => fs::remove_file(part)?,
            }
            // Not every system can sync a folder.
            File::open(parent_folder(target)).and_then(|folder| folder.sync_all()).or(Ok(()))
        };
        kept()
            .map_err(|error: std::io::Error| Error::Config(format!("{} cannot be created: {error}", target.display())))
    }
}

impl Drop for PartialCopy {
    fn drop(&mut self) {
        remove_partial(&self.path);
    }
}

/// Removes the partial copy, and SQLite's journal next to it.
fn remove_partial(part: &Path) {
    let mut journal = part.as_os_str().to_owned();
    journal.push("-journal");
    for path in [Path::new(&journal), part] {
        // If it cannot be removed, the next copy reports it.
        let _ = fs::remove_file(path);
    }
}

/// Whether a file may be a partial copy: it is empty, zeroed, or a SQLite database.
fn is_partial_copy(path: &Path) -> bool {
    if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut begin));
    read.is_ok() && (begin.iter().all(|byte| *byte == 0) || begin == *b"SQLite format 3\0")
}

async fn copy_database(file: &Path, part: &Path) -> Result<BackupStats> {
    let source = SqliteConnectOptions::new().filename(file).disable_statement_logging();
    let mut source = source.connect().await.map_err(|error| backup_error(file, &error))?;
    let written = write_pages(&mut source, file, part).await;
    // Closed even after a failure, so that SQLite leaves no files next to the source.
    let closed = source.close().await;
    written?;
    closed.map_err(|error| backup_error(file, &error))?;
    let target = part.with_extension("");
    let failed = |error: sqlx::Error| backup_error(&target, &error);
    let copied = SqliteConnectOptions::from_str("sqlite:").map(|of| of.filename(part).read_only(true).immutable(true));
    let mut copied = copied.map_err(failed)?.disable_statement_logging().connect().await.map_err(failed)?;
    let (word, tenants, entries) = check_copy(&mut copied).await.map_err(failed)?;
    copied.close().await.map_err(failed)?;
    if word != "ok" {
        return Err(Error::Config(format!("{} is damaged: {word}", file.display())));
    }
    let bytes = fs::metadata(part).map_err(|error| failed(error.into()))?.len();
    Ok(BackupStats { bytes, tenants, entries })
}

/// Reports errors of the source with the path of the source, and those of the copy with the path of the copy.
async fn write_pages(source: &mut SqliteConnection, file: &Path, part: &Path) -> Result<()> {
    let many = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name IN ('tenant', 'seaql_migrations')";
    let ours = sqlx::query_as(many).fetch_one(&mut *source).await;
    let (ours,): (i64,) = ours.map_err(|error| backup_error(file, &error))?;
    if ours < 2 {
        return Err(Error::Config(format!("{} is not a database of Tidings", file.display())));
    }
    let into = part.to_str().ok_or_else(|| Error::Config(format!("{} is not UTF-8", part.display())))?;
    let vacuumed = sqlx::query("VACUUM INTO ?").bind(into).execute(source).await;
    let target = part.with_extension("");
    vacuumed.map_err(|error| backup_error(if is_target_error(&error) { &target } else { file }, &error))?;
    Ok(())
}

fn backup_error(path: &Path, error: &sqlx::Error) -> Error {
    Error::Config(format!("{}: {}", path.display(), driver_message(error)))
}

/// Whether a copy failed while writing rather than reading: read-only, I/O error, full, cannot open
/// (<https://www.sqlite.org/rescode.html>).
fn is_target_error(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    code.is_some_and(|code| [8, 10, 13, 14].contains(&(code & 0xff)))
}

/// SQLite's verdict on all pages, and the number of tenants and log entries.
async fn check_copy(copied: &mut SqliteConnection) -> sqlx::Result<(String, i64, i64)> {
    let (word,): (String,) = sqlx::query_as("PRAGMA integrity_check(1)").fetch_one(&mut *copied).await?;
    let many = "SELECT COUNT(*), COALESCE(SUM(last_seq), 0) FROM tenant";
    let (tenants, entries) = sqlx::query_as(many).fetch_one(copied).await?;
    Ok((word, tenants, entries))
}
