//! A company: the unit of isolation, and the head of its log.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId};
use crate::statement::OfTenant;
use crate::target_type::SubscriptionPolicy;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "tenant")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: TenantId,
    /// What the tenant is called in tokens.
    pub code: String,
    /// 16 random bytes that seal the ids given to clients, so that they mean nothing elsewhere.
    pub id_key: Vec<u8>,
    /// The newest entry of the log. Its row lock is what makes seq order and commit order the same.
    pub last_seq: Seq,
    /// The newest entry that amends an earlier one.
    pub amended_seq: Seq,
    /// The audiences of what was published up to here are counted.
    pub counted_seq: Seq,
    /// What was published up to here is past the retention window, and gone.
    pub swept_seq: Seq,
    /// Ids of notifications are counted a tenant, so that a send knows them before it inserts.
    pub last_notification_id: i64,
    /// When `last_seq` was published, in milliseconds; it never goes back, whatever the nodes'
    /// clocks say.
    pub published_at: i64,
    /// Raised by every change of message types, reasons, codes of views, target types, the follow policy and defaults: a cached
    /// catalogue is checked against it.
    pub catalogue_version: i64,
    /// Who may let users follow others. Part of the catalogue.
    pub follow_policy: SubscriptionPolicy,
    /// Raised when the text of something that is published is amended.
    pub text_version: i64,
    /// How many users were erased. What was looked up while it was the same is still there.
    pub erased_count: i64,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::Id;
}
