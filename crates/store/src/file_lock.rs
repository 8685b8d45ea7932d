//! Lock files for a SQLite database. One process may serve it while others write to it, or one process has exclusive
//! access.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::sqlite::SqliteConnectOptions;

use base::error::{Error, Result};

/// The access that a process needs to a SQLite file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// Serve it. Only one process can.
    Serving,
    /// Write to it, whether or not it is being served.
    Beside,
    /// Exclusive access.
    Alone,
}

/// A lock on a SQLite file against processes with conflicting access, until it is dropped or the process ends. The
/// other databases need none.
///
/// It locks separate files next to the database. POSIX would release SQLite's own locks as soon as this process closed
/// a second handle of the database file (<https://www.sqlite.org/howtocorrupt.html>, section 2.2).
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "they are locked while they are open")] Vec<File>);

impl FileLock {
    /// Fails with `Config` if another process has conflicting access, or if SQLite would lose data under the file's
    /// name.
    pub fn acquire(url: &str, wanted: FileAccess) -> Result<Self> {
        let Some(named) = sqlite_path(url) else { return Ok(Self(Vec::new())) };
        let file = resolve_path(&named).map_err(|error| unusable_file(&named, &error))?;
        check_name(&file)?;
        check_links(&file)?;
        let shown = named.display();
        let mut held = Vec::new();
        if wanted != FileAccess::Beside {
            let why = "is served by another process: SQLite allows one at a time, PostgreSQL and MySQL any number";
            held.extend(lock_file(&file, "-serve", File::try_lock).map_err(|error| lock_message(error, &named, why))?);
        }
        let (take, why): (LockMode, _) = match wanted {
            FileAccess::Alone => (File::try_lock, "is in use by another command: wait until it ends"),
            _ => (File::try_lock_shared, "is in exclusive use by another command: wait until it ends"),
        };
        held.extend(lock_file(&file, "-use", take).map_err(|error| lock_message(error, &named, why))?);
        if held.is_empty() {
            tracing::warn!("make sure that no second process uses {shown}: its file system does not support locks");
        }
        Ok(Self(held))
    }
}

/// How to take a lock: shared or exclusive.
type LockMode = fn(&File) -> Result<(), TryLockError>;

/// Why a lock was not taken.
enum LockError {
    Taken,
    Unusable(std::io::Error),
}

/// Locks the file with the database's name and this suffix. `None` on file systems without locks.
fn lock_file(file: &Path, suffix: &str, take: LockMode) -> Result<Option<File>, LockError> {
    let mut path = OsString::from(file);
    path.push(suffix);
    let open = File::options().create(true).append(true).open(&path).map_err(LockError::Unusable)?;
    match take(&open) {
        Ok(()) => Ok(Some(open)),
        Err(TryLockError::WouldBlock) => Err(LockError::Taken),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

fn lock_message(missed: LockError, named: &Path, why: &str) -> Error {
    match missed {
        LockError::Taken => Error::Config(format!("{} {why}", named.display())),
        LockError::Unusable(error) => unusable_file(named, &error),
    }
}

fn unusable_file(named: &Path, error: &std::io::Error) -> Error {
    let why = "its lock files cannot be opened";
    Error::Config(format!("{} cannot be used, because {why}: {error}", named.display()))
}

/// The canonical path of a file, with links resolved. The file need not exist.
fn resolve_path(named: &Path) -> std::io::Result<PathBuf> {
    let mut file = named.to_owned();
    // Follows a link to a missing file, since SQLite would create its target. Circular links fail below.
    for _ in 0..40 {
        let Ok(target) = std::fs::read_link(&file) else { break };
        file = parent_folder(&file).join(target);
    }
    let name = file.file_name().ok_or(std::io::ErrorKind::InvalidFilename)?;
    Ok(parent_folder(&file).canonicalize()?.join(name))
}

/// The folder that contains a file.
pub fn parent_folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Fails if SQLite or Tidings would take a file of this name for a side file of another database.
pub fn check_name(file: &Path) -> Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    match ["-journal", "-wal", "-shm", "-serve", "-use"].into_iter().find(|suffix| name.ends_with(suffix)) {
        Some(suffix) => Err(Error::Config(format!(
            "{} cannot be the name of a database: a file that ends in {suffix} belongs to the database without this ending",
            file.display()
        ))),
        None => Ok(()),
    }
}

/// Fails if the file has a hard link: SQLite keeps one log per name, and would lose the contents of the other
/// (<https://www.sqlite.org/howtocorrupt.html>, section 2.5).
fn check_links(file: &Path) -> Result<()> {
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(file)
        && std::os::unix::fs::MetadataExt::nlink(&metadata) > 1
    {
        return Err(Error::Config(format!(
            "{} has a second name (a hard link), with which SQLite would lose writes: remove it, or copy the file",
            file.display()
        )));
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// The file of a SQLite URL. `None` for other databases, and for one in memory.
pub fn sqlite_path(url: &str) -> Option<PathBuf> {
    let is_file = url.starts_with("sqlite:") && !url.contains(":memory:") && !url.contains("mode=memory");
    let options = SqliteConnectOptions::from_str(url).ok().filter(|_| is_file)?;
    Some(options.get_filename().to_owned()).filter(|file| !file.as_os_str().is_empty())
}
