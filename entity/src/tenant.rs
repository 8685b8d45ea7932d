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
    /// The tenant's name in tokens.
    pub code: String,
    /// 16 random bytes that encrypt the ids given to clients, so that these are meaningless in other tenants.
    pub id_key: Vec<u8>,
    /// The newest entry of the log. Sends lock this row, so that seq order equals commit order.
    pub last_seq: Seq,
    /// The newest entry that amends an earlier one.
    pub amended_seq: Seq,
    /// The audiences of publications up to this position have been counted.
    pub counted_seq: Seq,
    /// Publications up to this position are past the retention window and deleted.
    pub swept_seq: Seq,
    /// Ids of notifications are assigned per tenant, so that a send knows them before it inserts.
    pub last_notification_id: i64,
    /// When `last_seq` was published, in milliseconds since 1970. It never decreases, even if the clocks of nodes
    /// differ.
    pub published_at: i64,
    /// Increases with every change of message types, reasons, view codes, target types, the follow policy and defaults.
    /// Validates cached catalogues.
    pub catalogue_version: i64,
    /// Who may let users follow others. Part of the catalogue.
    pub follow_policy: SubscriptionPolicy,
    /// Increases when the text of a publication changes.
    pub text_version: i64,
    /// How many users were erased. While it is unchanged, users that were looked up earlier still exist.
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
