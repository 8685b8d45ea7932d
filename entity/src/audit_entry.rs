//! Audit entries: actions of services and operators that concern others. Sends are recorded in `notification` instead.

use sea_orm::entity::prelude::*;

use crate::ids::TenantId;
use crate::statement::OfTenant;

/// The kind of subject, and how `subject` identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum SubjectKind {
    /// The tenant as a whole; `subject` is NULL.
    Tenant = 0,
    /// A user: the internal id, which refers to no one after the user is erased.
    User = 1,
    /// A group: its code.
    Group = 2,
    /// A view: its code, a slash, and the backend's id of it.
    View = 3,
    /// A notification: its id.
    Notification = 4,
    /// A message type: its code.
    MessageType = 5,
    /// A reason: its code.
    Reason = 6,
    /// A view code.
    ViewCode = 7,
    /// A rule: its code.
    Rule = 8,
    /// A webhook endpoint: its id.
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
    /// Role, network class and name, as in `notification.sent_by`.
    pub actor: String,
    /// The mutation or query of the API.
    pub action: String,
    pub subject_kind: SubjectKind,
    pub subject: Option<String>,
    /// How many objects or users it was about.
    pub subject_count: i64,
    /// Details, in at most 1,000 characters. NULL for most actions.
    pub detail: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
