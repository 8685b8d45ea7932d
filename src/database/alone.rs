//! Who may be at a file of SQLite at the same time: one process that serves it, and whoever else writes to it beside that one;
//! or one who needs it for themselves.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::sqlite::SqliteConnectOptions;

use crate::error::{Error, Result};

/// What a process wants of a file of SQLite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// To serve it: no other process does.
    Serving,
    /// To write to it, whether it is served or not.
    Beside,
    /// To be the only one.
    Alone,
}

/// Until it is dropped, or the process ends, no other process does with the file what does not go with it. Of the other databases
/// any number may do anything.
///
/// Files of their own beside the database are locked: SQLite's own locks would be gone as soon as this process closed the
/// database's a second time (<https://www.sqlite.org/howtocorrupt.html>, section 2.2).
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "they are locked while they are open")] Vec<File>);

impl Held {
    /// Fails with `Config` where another process is in the way, and where the file has a name by which SQLite loses data.
    pub fn of(url: &str, wanted: Use) -> Result<Self> {
        let Some(named) = file_of(url) else { return Ok(Self(Vec::new())) };
        let file = resolved(&named).map_err(|error| unusable(&named, &error))?;
        check_name(&file)?;
        check_links(&file)?;
        let shown = named.display();
        let mut held = Vec::new();
        if wanted != Use::Beside {
            let why = "is served by another process: SQLite has one at a time, PostgreSQL and MySQL any number";
            held.extend(lock(&file, "-serve", File::try_lock).map_err(|error| told(error, &named, why))?);
        }
        let (take, why): (Take, _) = match wanted {
            Use::Alone => (File::try_lock, "is being written to by another command: wait until that has ended"),
            _ => (File::try_lock_shared, "is another command's alone: wait until that has ended"),
        };
        held.extend(lock(&file, "-use", take).map_err(|error| told(error, &named, why))?);
        if held.is_empty() {
            tracing::warn!("nothing keeps a second process from {shown}: its file system has no locks");
        }
        Ok(Self(held))
    }
}

/// How a file is locked: shared, or not.
type Take = fn(&File) -> Result<(), TryLockError>;

/// What a lock was not had for.
enum Missed {
    Taken,
    Unusable(std::io::Error),
}

/// Locks a file that is called as the database is, and this. Nothing on file systems without locks.
fn lock(file: &Path, suffix: &str, take: Take) -> Result<Option<File>, Missed> {
    let mut path = OsString::from(file);
    path.push(suffix);
    let open = File::options().create(true).append(true).open(&path).map_err(Missed::Unusable)?;
    match take(&open) {
        Ok(()) => Ok(Some(open)),
        Err(TryLockError::WouldBlock) => Err(Missed::Taken),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

fn told(missed: Missed, named: &Path, why: &str) -> Error {
    match missed {
        Missed::Taken => Error::Config(format!("{} {why}", named.display())),
        Missed::Unusable(error) => unusable(named, &error),
    }
}

fn unusable(named: &Path, error: &std::io::Error) -> Error {
    let why = "files beside it cannot be opened";
    Error::Config(format!("{} cannot be used, for {why}: {error}", named.display()))
}

/// The one path of a file, by whatever links it is reached, and whether it is there yet or not.
fn resolved(named: &Path) -> std::io::Result<PathBuf> {
    let mut file = named.to_owned();
    // A link to a file that is not there yet: SQLite would make that one. Rings of links end in an error below.
    for _ in 0..40 {
        let Ok(target) = std::fs::read_link(&file) else { break };
        file = folder_of(&file).join(target);
    }
    let name = file.file_name().ok_or(std::io::ErrorKind::InvalidFilename)?;
    Ok(folder_of(&file).canonicalize()?.join(name))
}

/// The folder that a file is in.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Fails where SQLite, or we, would take a file of this name for what belongs to another database.
pub fn check_name(file: &Path) -> Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    match ["-journal", "-wal", "-shm", "-serve", "-use"].into_iter().find(|suffix| name.ends_with(suffix)) {
        Some(suffix) => Err(Error::Config(format!(
            "{} cannot be the name of a database: what ends in {suffix} belongs to the database that is called so without it",
            file.display()
        ))),
        None => Ok(()),
    }
}

/// Fails where the file has a second name: SQLite keeps a log for each, and loses what is in the other one's
/// (<https://www.sqlite.org/howtocorrupt.html>, section 2.5).
fn check_links(file: &Path) -> Result<()> {
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(file)
        && std::os::unix::fs::MetadataExt::nlink(&metadata) > 1
    {
        return Err(Error::Config(format!(
            "{} has another name (a hard link), by which SQLite would lose what is written: remove that, or copy the file",
            file.display()
        )));
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Where SQLite keeps the database of a URL; nothing for other databases, and for one in memory.
pub fn file_of(url: &str) -> Option<PathBuf> {
    let is_file = url.starts_with("sqlite:") && !url.contains(":memory:") && !url.contains("mode=memory");
    let options = SqliteConnectOptions::from_str(url).ok().filter(|_| is_file)?;
    Some(options.get_filename().to_owned()).filter(|file| !file.as_os_str().is_empty())
}
