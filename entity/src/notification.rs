//! What was sent, once, however many users it reaches.

use sea_orm::entity::prelude::*;

use crate::ids::{ActionId, Seq, TenantId, TypeId, UserId};
use crate::statement::OfTenant;

/// What a notification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum Kind {
    /// Sent by an operator to an audience.
    Announcement = 0,
    /// Raised by something that happened to a target.
    Reminder = 1,
    /// Addressed to one user.
    Message = 2,
}

impl Kind {
    /// As metrics call it.
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
    /// Counted a tenant.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i64,
    /// Its place in the tenant's log, given at publication.
    pub seq: Option<Seq>,
    pub kind: Kind,
    pub type_id: TypeId,
    /// May be missing where the type has a template.
    pub title: Option<String>,
    pub body: Option<String>,
    pub link: Option<String>,
    /// JSON for the template.
    pub params: Option<String>,
    /// JSON for the client, untouched.
    pub data: Option<String>,
    pub sender_id: Option<UserId>,
    /// Of a message.
    pub receiver_id: Option<UserId>,
    pub target_type: Option<String>,
    pub target_id: Option<String>,
    pub action_id: Option<ActionId>,
    /// JSON: `{"everyone":true}`, `{"groups":["…"]}` or `{"users":3}`.
    pub audience: String,
    /// Milliseconds since 1970, as every instant here.
    pub created_at: i64,
    /// Nothing where it was not scheduled.
    pub publish_at: Option<i64>,
    /// Nothing while it is scheduled, and where it was retracted before its time.
    pub published_at: Option<i64>,
    pub expires_at: Option<i64>,
    /// When its text was last amended.
    pub updated_at: Option<i64>,
    pub retracted_at: Option<i64>,
    /// Users addressed at the time of publication; nothing until they were counted.
    pub audience_size: Option<i64>,
    /// Counted up to a minute ago.
    pub delivered_count: i64,
    /// Counted up to a minute ago.
    pub read_count: i64,
    /// As its owner says it; a user's as a digest behind U+001F.
    pub idempotency_key: Option<String>,
    /// Of the content, so that a key used again for something else is noticed.
    pub fingerprint: i64,
    /// The code of the rule that has raised it.
    pub rule: Option<String>,
    /// JSON: the key of the row that it was raised for.
    pub row_key: Option<String>,
    /// The service or operator who has sent it: role, class of address and name. Nothing where a user or the server itself has, or a
    /// node from before this was kept.
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
