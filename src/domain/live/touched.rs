//! What was amended, retracted or has expired: whoever has it has another inbox now.

use std::collections::BTreeSet;

use entity::ids::Seq;

use super::members::Members;
use crate::app::App;
use crate::error::Result;
use crate::sql::Sql;

/// Places in the log, and users, of one statement.
const AT_ONCE: usize = 500;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Touched(BTreeSet<Seq>);

impl Touched {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn add(&mut self, seqs: &[Seq]) {
        self.0.extend(seqs);
    }

    /// Finds those of the connected who have some of it, by probes of `inbox_item`'s key: their overviews have changed. What
    /// fails is still to be done.
    pub async fn find(&mut self, app: &App, members: &mut Members) -> Result<()> {
        let seqs: Vec<Seq> = self.0.iter().copied().take(AT_ONCE).collect();
        if seqs.is_empty() {
            return Ok(());
        }
        for users in members.viewers().chunks(AT_ONCE) {
            let mut sql = Sql::new(&app.db.read);
            sql.push("SELECT DISTINCT i.user_id FROM inbox_item i WHERE i.user_id").among(users);
            sql.push(" AND i.seq").among(&seqs);
            for row in sql.all(&app.db.read).await? {
                members.changed(row.try_get("", "user_id")?);
            }
        }
        self.0.retain(|seq| !seqs.contains(seq));
        Ok(())
    }
}
