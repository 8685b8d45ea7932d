//! Row locks in each SQL dialect. SQLite needs none, because its single writer locks the whole file.

use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, DbBackend, QuerySelect};

/// SELECTs that lock the rows they return until the transaction ends.
pub trait LockRows: QuerySelect {
    /// Prevents other transactions from changing or locking the rows.
    #[must_use]
    fn for_update(self, db: &impl ConnectionTrait) -> Self {
        let is_postgres = db.get_database_backend() == DbBackend::Postgres;
        self.lock(if is_postgres { LockType::NoKeyUpdate } else { LockType::Update })
    }

    /// Prevents other transactions from changing or deleting the rows. Several can hold this lock.
    #[must_use]
    fn for_share(self) -> Self {
        self.lock(LockType::Share)
    }

    /// Prevents other transactions from deleting the rows. Several can hold this lock; on PostgreSQL, non-key columns
    /// can still change.
    #[must_use]
    fn for_key_share(self, db: &impl ConnectionTrait) -> Self {
        let is_postgres = db.get_database_backend() == DbBackend::Postgres;
        self.lock(if is_postgres { LockType::KeyShare } else { LockType::Share })
    }
}

impl<S: QuerySelect> LockRows for S {}
