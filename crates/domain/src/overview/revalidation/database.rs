//! Revalidates cached data of inboxes against the database.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::prelude::{EntityTrait, InList, LIST, QueryFilter, QuerySelect};
use entity::user::{Column, Entity as User};

use super::queries::{VersionRow, select_versions};
use crate::inbox::freshness::{InboxPosition, ReadBound};
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use model::cache_validator::{CacheValidator, InboxVersions};
use store::Store;

/// Validators per statement.
pub const PROOFS: usize = 256;

/// For each validator, the log position its data is valid for. `None` if it is no longer valid.
pub type ValidityList = Vec<Option<Seq>>;

/// The versions that the database returned.
pub struct VersionSnapshot {
    users: HashMap<UserId, (InboxPosition, InboxVersions)>,
    /// The versions of their profiles.
    senders: HashMap<UserId, i64>,
    /// When a notification of the tenant last expired.
    expired_at: Millis,
    /// When the next one expires.
    pub expires_at: Millis,
}

impl Default for VersionSnapshot {
    fn default() -> Self {
        Self { users: HashMap::new(), senders: HashMap::new(), expired_at: 0, expires_at: Millis::MAX }
    }
}

impl VersionSnapshot {
    /// The end of the log, as far as these rows show.
    pub fn log_end(&self) -> Seq {
        self.users.values().map(|(standing, _)| standing.complete_upto()).max().unwrap_or_default()
    }

    /// Reads the versions for these validators from the database and adds them to those already read.
    pub async fn load_versions(
        &mut self,
        store: &Store,
        tenant: &Tenant,
        proofs: &[&Arc<CacheValidator>],
        reach: ReadBound,
        now: Millis,
    ) -> Result<()> {
        for proofs in proofs.chunks(PROOFS) {
            let users: BTreeSet<UserId> = proofs.iter().map(|proof| proof.user).collect();
            let senders: BTreeSet<UserId> = proofs.iter().flat_map(|proof| &proof.senders).map(|(id, _)| *id).collect();
            let senders = Vec::from_iter(senders);
            let (senders, more) = senders.split_at(senders.len().min(LIST));
            let question = select_versions(store, tenant, (Vec::from_iter(users), senders), reach, now);
            for ((standing, stamp), besides) in question.fetch_all::<VersionRow>(&store.db.read).await? {
                if besides.is_sender == 1 {
                    self.senders.insert(standing.user, stamp.version);
                    continue;
                }
                tenant.observe_log_end(standing.complete_upto());
                self.expired_at = self.expired_at.max(besides.expired_at);
                self.expires_at = self.expires_at.min(besides.expires_at);
                self.users.insert(standing.user, (standing, stamp));
            }
            for senders in more.chunks(LIST) {
                self.load_sender_versions(store, senders).await?;
            }
        }
        Ok(())
    }

    /// Reads only the versions of senders.
    async fn load_sender_versions(&mut self, store: &Store, senders: &[UserId]) -> Result<()> {
        let versions = User::find().filter(Column::Id.is_in_list(&store.db.read, senders)).select_only();
        let versions = versions.column(Column::Id).column(Column::ProfileVersion).into_tuple::<(UserId, i64)>();
        self.senders.extend(versions.all(&store.db.read).await?);
        Ok(())
    }

    /// The log position its data is valid for. `None` if it is outdated or the clock went back: expired items would
    /// reappear.
    pub fn valid_position(&self, tenant: &Tenant, proof: &CacheValidator, now: Millis) -> Option<Seq> {
        let has_expired = proof.read_at < self.expired_at || now < proof.read_at;
        let senders_are_same = proof.senders.iter().all(|(sender, version)| self.senders.get(sender) == Some(version));
        if has_expired || !senders_are_same {
            return None;
        }
        let (standing, stamp) = self.users.get(&proof.user)?;
        if !standing.is_behind() && standing.complete_upto() < proof.complete_upto() {
            tenant.reset_log_end(standing.complete_upto());
        }
        proof.valid_at(standing, *stamp)
    }
}
