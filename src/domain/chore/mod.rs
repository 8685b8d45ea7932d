//! Chores: what the server does from time to time, on one node.

pub mod drift;
pub mod fence;
pub mod pending;
mod raise;
pub mod restored;
mod statement;
pub mod sweep;

use entity::chore::{self, Column};
use entity::prelude::*;
use sea_orm::sea_query::ExprTrait;

use crate::app::App;
use crate::clock::Millis;
use crate::database::transaction;
use crate::error::Result;

/// What is to be done, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// Adding up how many have received and read what was sent.
    Count,
    /// Deleting what is past the retention window.
    Sweep,
    /// Deleting what is left of users who are none any more.
    Orphans,
}

impl Chore {
    fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sweep => "sweep",
            Self::Orphans => "orphans",
        }
    }

    /// Milliseconds from one time to the next.
    fn every(self) -> Millis {
        match self {
            Self::Count => 10_000,
            Self::Sweep => 3_600_000,
            Self::Orphans => 86_400_000,
        }
    }

    /// Whether it is due, and this node is the one to do it: the first to move its next time on.
    ///
    /// A node that dies over it leaves it to whoever comes when it is due again. A time that is farther off than it can
    /// be was set by a clock that went wrong, and does not count.
    pub async fn is_ours(self, app: &App) -> Result<bool> {
        let now = app.now();
        let due = Column::DueAt.lte(now).or(Column::DueAt.gt(now + self.every()));
        let due = Column::Name.eq(self.name()).and(due);
        if chore::Entity::find().filter(due.clone()).one(&app.db.read).await?.is_none() {
            return Ok(false);
        }
        let moved = transaction!(app.db, |txn| {
            let on = chore::Entity::update_many().col_expr(Column::DueAt, Expr::val(now + self.every()));
            Ok(on.filter(due.clone()).exec(txn).await?.rows_affected)
        })?;
        Ok(moved > 0)
    }
}
