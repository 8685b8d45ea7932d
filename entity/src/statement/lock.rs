//! Locks, in the words of each database. SQLite has one writer, who holds the whole file: there is nothing to be said.

use sea_orm::sea_query::{LockBehavior, LockType};
use sea_orm::{ConnectionTrait, DbBackend, QuerySelect};

/// SELECTs that lock the rows they return, until their transaction ends.
pub trait Lock: QuerySelect {
    /// Nobody else changes or locks them meanwhile.
    fn for_update(self, db: &impl ConnectionTrait) -> Self {
        self.lock(update(db.get_database_backend()))
    }

    /// The same without waiting: rows that somebody holds are left out.
    fn for_update_of_free(self, db: &impl ConnectionTrait) -> Self {
        self.lock_with_behavior(update(db.get_database_backend()), LockBehavior::SkipLocked)
    }

    /// Nobody changes or deletes them meanwhile, though others may do the same.
    fn for_share(self) -> Self {
        self.lock(LockType::Share)
    }

    /// Nobody deletes them meanwhile, though others may do the same, and, on PostgreSQL, change what is no key of them.
    fn for_key_share(self, db: &impl ConnectionTrait) -> Self {
        let is_postgres = db.get_database_backend() == DbBackend::Postgres;
        self.lock(if is_postgres { LockType::KeyShare } else { LockType::Share })
    }
}

impl<S: QuerySelect> Lock for S {}

fn update(backend: DbBackend) -> LockType {
    if backend == DbBackend::Postgres { LockType::NoKeyUpdate } else { LockType::Update }
}
