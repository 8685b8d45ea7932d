//! Locks, in the words of each database. SQLite has one writer, who holds the whole file: there is nothing to be said.

use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, DbBackend, QuerySelect};

/// SELECTs that lock the rows they return, until their transaction ends.
pub trait Lock: QuerySelect {
    /// Nobody else changes or locks them meanwhile.
    #[must_use]
    fn for_update(self, db: &impl ConnectionTrait) -> Self {
        let is_postgres = db.get_database_backend() == DbBackend::Postgres;
        self.lock(if is_postgres { LockType::NoKeyUpdate } else { LockType::Update })
    }

    /// Nobody changes or deletes them meanwhile, though others may do the same.
    #[must_use]
    fn for_share(self) -> Self {
        self.lock(LockType::Share)
    }

    /// Nobody deletes them meanwhile, though others may do the same, and, on PostgreSQL, change what is no key of them.
    #[must_use]
    fn for_key_share(self, db: &impl ConnectionTrait) -> Self {
        let is_postgres = db.get_database_backend() == DbBackend::Postgres;
        self.lock(if is_postgres { LockType::KeyShare } else { LockType::Share })
    }
}

impl<S: QuerySelect> Lock for S {}
