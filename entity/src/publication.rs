//! Notification × channel: the log from which inboxes are synced.

use sea_orm::entity::prelude::*;

use crate::ids::{ActionId, ChannelId, Seq, TenantId, TypeId, UserId};
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "publication")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub channel_id: ChannelId,
    /// The same as the notification's, so that its id need not be stored here.
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: Seq,
    pub tenant_id: TenantId,
    pub type_id: TypeId,
    pub action_id: Option<ActionId>,
    /// The actor of a reminder, who does not receive it.
    pub actor_id: Option<UserId>,
    /// Milliseconds since 1970.
    pub expires_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
