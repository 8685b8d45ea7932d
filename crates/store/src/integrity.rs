//! Checks that a SQLite file is intact and can be written.

use std::path::Path;

use sea_orm::{ConnectionTrait, DbBackend, Statement};

use super::Database;
use super::file_lock::{parent_folder, sqlite_path};
use base::error::{Error, Result};

/// Free bytes on the disk below which the next writes would fail: one WAL of SQLite before its checkpoint, and some
/// margin.
const ROOM: u64 = 16 * 1024 * 1024;

impl Database {
    /// Checks the whole file at `url`, and that it can grow. Does nothing for the other databases.
    ///
    /// Fails with `Config` if the file is damaged or read-only, or if its disk is full.
    pub async fn check_integrity(&self, url: &str) -> Result<()> {
        let Some(file) = sqlite_path(url).filter(|_| self.backend() == DbBackend::Sqlite) else { return Ok(()) };
        let shown = file.display();
        let look = Statement::from_string(DbBackend::Sqlite, "PRAGMA quick_check(1)");
        let found = self.maintenance_reader().query_one_raw(look).await;
        let found = found.and_then(|row| row.map(|row| row.try_get_by_index::<String>(0)).transpose());
        match found.map_err(Error::from) {
            Ok(Some(word)) if word != "ok" => return Err(Error::Config(format!("{shown} is damaged: {word}"))),
            Err(error @ Error::Internal(_)) => {
                return Err(Error::Config(format!("{shown} is damaged: {}", error.log_message())));
            }
            found => drop(found?),
        }
        check_writable(&file)
    }
}

/// Fails if the file or its folder is read-only, or if the disk is full.
#[cfg(unix)]
fn check_writable(file: &Path) -> Result<()> {
    let folder = parent_folder(file);
    for path in [file, folder] {
        rustix::fs::access(path, rustix::fs::Access::WRITE_OK)
            .map_err(|error| Error::Config(format!("{} is not writable: {error}", path.display())))?;
    }
    let disk = rustix::fs::statvfs(folder).map_err(Error::internal)?;
    match disk.f_bavail.saturating_mul(disk.f_frsize) {
        room if room < ROOM => Err(Error::Config(format!("the disk of {} has only {room} bytes left", file.display()))),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn check_writable(file: &Path) -> Result<()> {
    let _ = (file, ROOM, parent_folder(file));
    Ok(())
}
