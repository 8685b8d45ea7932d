//! What a service or an operator did that concerns others. What they sent stands in `notification`.

use sea_orm::entity::prelude::*;

use crate::ids::TenantId;
use crate::statement::OfTenant;

/// What something was done to, and by what `subject` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum Subject {
    /// What all of the tenant have in common; `subject` is nothing.
    Tenant = 0,
    /// A user: their number, which nobody is any more once they are erased.
    User = 1,
    /// A group: its code.
    Group = 2,
    /// A view: its code and, behind a slash, the partner's id of it.
    View = 3,
    /// A notification: its number.
    Notification = 4,
    /// A message type: its code.
    MessageType = 5,
    /// A reason: its code.
    Reason = 6,
    /// A code of views.
    ViewCode = 7,
    /// A rule: its code.
    Rule = 8,
    /// A webhook endpoint: its number.
    Endpoint = 9,
    /// A target type: its code.
    TargetType = 10,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "audit_entry")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    /// Milliseconds since 1970.
    pub at: i64,
    /// Role, class of address and name, as `notification.sent_by`.
    pub actor: String,
    /// The mutation, or query, of the API.
    pub action: String,
    pub subject_kind: Subject,
    pub subject: Option<String>,
    /// How many things or users it was about.
    pub subject_count: i64,
    /// What it was about in particular, in at most 1,000 characters; NULL for most acts.
    pub detail: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
