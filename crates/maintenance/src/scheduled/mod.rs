//! Scheduled maintenance tasks. Each run happens on one node.

mod advance_ids;
pub mod drift;
pub mod fence;
pub mod pending_jobs;
mod queries;
pub mod restored;
pub mod sweep;

use entity::chore::{self, Column};
use entity::prelude::*;
use sea_orm::sea_query::ExprTrait;

use base::clock::Millis;
use base::error::Result;
use store::{Store, transaction};

/// A task. It runs at a fixed interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduledTask {
    /// Adds up how many users received and read each notification.
    Count,
    /// Deletes data past the retention window.
    Sweep,
    /// Deletes leftover rows of erased users.
    Orphans,
}

impl ScheduledTask {
    fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sweep => "sweep",
            Self::Orphans => "orphans",
        }
    }

    /// The interval in milliseconds.
    fn interval(self) -> Millis {
        match self {
            Self::Count => 10_000,
            Self::Sweep => 3_600_000,
            Self::Orphans => 86_400_000,
        }
    }

    /// Tries to claim the task: true if it is due and this node is the first to move its next due time.
    ///
    /// If the node dies during the task, the next run happens when it is due again. A due time further away than the
    /// interval was set by a wrong clock, so the task counts as due.
    pub async fn try_claim(self, store: &Store) -> Result<bool> {
        let now = store.now();
        let due = Column::DueAt.lte(now).or(Column::DueAt.gt(now + self.interval()));
        let due = Column::Name.eq(self.name()).and(due);
        if chore::Entity::find().filter(due.clone()).one(&store.db.read).await?.is_none() {
            return Ok(false);
        }
        let moved = transaction!(store.db, |txn| {
            let on = chore::Entity::update_many().col_expr(Column::DueAt, Expr::val(now + self.interval()));
            Ok(on.filter(due.clone()).exec(txn).await?.rows_affected)
        })?;
        Ok(moved > 0)
    }
}
