//! What the database says of what was read of inboxes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::prelude::{Among, EntityTrait, LIST, QueryFilter, QuerySelect};
use entity::user::{Column, Entity as User};

use super::statement::{Row, question};
use crate::app::App;
use crate::clock::Millis;
use crate::domain::inbox::standing::{Reach, Standing};
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::proof::{Proof, Stamp};

/// So much is asked about in one statement.
pub const PROOFS: usize = 256;

/// As of which place in the log each of some things is shown that were read of inboxes; nothing for those that do not hold any more.
pub type Held = Vec<Option<Seq>>;

/// What inboxes may have changed by.
pub struct Known {
    users: HashMap<UserId, (Standing, Stamp)>,
    /// Versions of their rows.
    senders: HashMap<UserId, i64>,
    /// When something of the tenant last expired.
    expired_at: Millis,
    /// When something does next.
    pub expires_at: Millis,
}

impl Default for Known {
    fn default() -> Self {
        Self { users: HashMap::new(), senders: HashMap::new(), expired_at: 0, expires_at: Millis::MAX }
    }
}

impl Known {
    /// As far as the log went.
    pub fn end(&self) -> Seq {
        self.users.values().map(|(standing, _)| standing.complete_upto()).max().unwrap_or_default()
    }

    /// Asks the database about some of it, besides what is known already.
    pub async fn ask(
        &mut self,
        app: &App,
        tenant: &Tenant,
        proofs: &[&Arc<Proof>],
        reach: Reach,
        now: Millis,
    ) -> Result<()> {
        for proofs in proofs.chunks(PROOFS) {
            let users: BTreeSet<UserId> = proofs.iter().map(|proof| proof.user).collect();
            let senders: BTreeSet<UserId> = proofs.iter().flat_map(|proof| &proof.senders).map(|(id, _)| *id).collect();
            let senders = Vec::from_iter(senders);
            let (senders, more) = senders.split_at(senders.len().min(LIST));
            let question = question(app, tenant, (Vec::from_iter(users), senders), reach, now);
            for ((standing, stamp), besides) in question.all::<Row>(&app.db.read).await? {
                if besides.is_sender == 1 {
                    self.senders.insert(standing.user, stamp.version);
                    continue;
                }
                tenant.saw(standing.complete_upto());
                self.expired_at = self.expired_at.max(besides.expired_at);
                self.expires_at = self.expires_at.min(besides.expires_at);
                self.users.insert(standing.user, (standing, stamp));
            }
            for senders in more.chunks(LIST) {
                self.ask_of(app, senders).await?;
            }
        }
        Ok(())
    }

    /// The versions of senders alone.
    async fn ask_of(&mut self, app: &App, senders: &[UserId]) -> Result<()> {
        let versions = User::find().filter(Column::Id.among(&app.db.read, senders)).select_only();
        let versions = versions.column(Column::Id).column(Column::ProfileVersion).into_tuple::<(UserId, i64)>();
        self.senders.extend(versions.all(&app.db.read).await?);
        Ok(())
    }

    /// As of which place in the log it is shown, where it still holds. A clock that went back would show again what has expired.
    pub fn of(&self, tenant: &Tenant, proof: &Proof, now: Millis) -> Option<Seq> {
        let has_expired = proof.read_at < self.expired_at || now < proof.read_at;
        let senders_are_same = proof.senders.iter().all(|(sender, version)| self.senders.get(sender) == Some(version));
        if has_expired || !senders_are_same {
            return None;
        }
        let (standing, stamp) = self.users.get(&proof.user)?;
        if !standing.is_behind() && standing.complete_upto() < proof.complete_upto() {
            tenant.went_back(standing.complete_upto());
        }
        proof.at(standing, *stamp)
    }
}
