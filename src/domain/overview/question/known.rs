//! Revalidates cached data of inboxes against the database.

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

/// Validators per statement.
pub const PROOFS: usize = 256;

/// For each validator, the log position its data is valid for. `None` if it is no longer valid.
pub type Held = Vec<Option<Seq>>;

/// The versions that the database returned.
pub struct Known {
    users: HashMap<UserId, (Standing, Stamp)>,
    /// The versions of their profiles.
    senders: HashMap<UserId, i64>,
    /// When a notification of the tenant last expired.
    expired_at: Millis,
    /// When the next one expires.
    pub expires_at: Millis,
}

impl Default for Known {
    fn default() -> Self {
        Self { users: HashMap::new(), senders: HashMap::new(), expired_at: 0, expires_at: Millis::MAX }
    }
}

impl Known {
    /// The end of the log, as far as these rows show.
    pub fn end(&self) -> Seq {
        self.users.values().map(|(standing, _)| standing.complete_upto()).max().unwrap_or_default()
    }

    /// Reads the versions for these validators from the database and adds them to those already read.
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

    /// Reads only the versions of senders.
    async fn ask_of(&mut self, app: &App, senders: &[UserId]) -> Result<()> {
        let versions = User::find().filter(Column::Id.among(&app.db.read, senders)).select_only();
        let versions = versions.column(Column::Id).column(Column::ProfileVersion).into_tuple::<(UserId, i64)>();
        self.senders.extend(versions.all(&app.db.read).await?);
        Ok(())
    }

    /// The log position its data is valid for. `None` if it is outdated or the clock went back: expired items would
    /// reappear.
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
