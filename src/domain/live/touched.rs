//! What was amended, retracted or has expired: whoever has it has another inbox now.

use std::collections::BTreeSet;

use entity::ids::Seq;
use entity::inbox_item::{Column, Entity as InboxItem};
use entity::prelude::*;

use super::members::Members;
use crate::app::App;
use crate::error::Result;

/// Places in the log, and users, of one statement.
const AT_ONCE: usize = 500;

/// Places in the log about which users may have to be told.
#[derive(Debug, Default)]
pub(super) struct Touched(BTreeSet<Seq>);

impl Touched {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn add(&mut self, seqs: &[Seq]) {
        self.0.extend(seqs);
    }

    /// Finds those of the connected who have some of it, by probes of `inbox_item`'s key: their overviews have changed. The sync that has
    /// taken it from others already has told that itself. What fails is still to be done.
    pub async fn find(&mut self, app: &App, members: &mut Members) -> Result<()> {
        let seqs: Vec<Seq> = self.0.iter().copied().take(AT_ONCE).collect();
        if seqs.is_empty() {
            return Ok(());
        }
        for users in members.with_overviews().chunks(AT_ONCE) {
            let having = InboxItem::find().filter(Column::UserId.among(&app.db.read, users));
            let having = having.filter(Column::Seq.among(&app.db.read, &seqs));
            let having = having.select_only().column(Column::UserId).distinct().into_tuple();
            having.all(&app.db.read).await?.into_iter().for_each(|user| members.changed(user));
        }
        self.0.retain(|seq| !seqs.contains(seq));
        Ok(())
    }
}
