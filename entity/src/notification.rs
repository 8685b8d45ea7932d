//! A notification, stored once however many users it reaches.

use sea_orm::entity::prelude::*;

use crate::ids::{ActionId, Seq, TenantId, TypeId, UserId};
use crate::statement::OfTenant;

/// The kind of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum NotificationKind {
    /// Sent by an operator to an audience.
    Announcement = 0,
    /// Raised by an event on a target.
    Reminder = 1,
    /// Addressed to one user.
    Message = 2,
}

impl NotificationKind {
    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Announcement => "announcement",
            Self::Reminder => "reminder",
            Self::Message => "message",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "notification")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub tenant_id: TenantId,
    /// Unique within the tenant.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i64,
    /// Its position in the tenant's log, assigned at publication.
    pub seq: Option<Seq>,
    pub kind: NotificationKind,
    pub type_id: TypeId,
    /// May be missing if the type has a template.
    pub title: Option<String>,
    pub body: Option<String>,
    pub link: Option<String>,
    /// JSON for the template.
    pub params: Option<String>,
    /// JSON for the client, which the server does not interpret.
    pub data: Option<String>,
    pub sender_id: Option<UserId>,
    /// Set for messages.
    pub receiver_id: Option<UserId>,
    pub target_type: Option<String>,
    pub target_id: Option<String>,
    pub action_id: Option<ActionId>,
    /// JSON: `{"everyone":true}`, `{"groups":["…"]}` or `{"users":3}`.
    pub audience: String,
    /// Milliseconds since 1970, as are all times here.
    pub created_at: i64,
    /// NULL if it was not scheduled.
    pub publish_at: Option<i64>,
    /// NULL while it is scheduled, and if it was retracted before its time.
    pub published_at: Option<i64>,
    pub expires_at: Option<i64>,
    /// When its text was last changed.
    pub updated_at: Option<i64>,
    pub retracted_at: Option<i64>,
    /// Users addressed at the time of publication. NULL until they have been counted.
    pub audience_size: Option<i64>,
    /// Up to a minute old.
    pub delivered_count: i64,
    /// Up to a minute old.
    pub read_count: i64,
    /// As the backend provided it. For a user's key: U+001F and a digest of user id and key.
    pub idempotency_key: Option<String>,
    /// A hash of the content, to detect a key reused for different content.
    pub fingerprint: i64,
    /// The code of the rule that raised it.
    pub rule: Option<String>,
    /// JSON: the key of the row that it was raised for.
    pub row_key: Option<String>,
    /// The service or operator that sent it: role, network class and name. NULL if a user or the server itself sent it,
    /// or a node from before this column existed.
    pub sent_by: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {
    #[sea_orm(belongs_to = "super::action::Entity", from = "Column::ActionId", to = "super::action::Column::Id")]
    Action,
}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
