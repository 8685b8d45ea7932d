//! A category of notifications: a tab of the inbox.

use sea_orm::entity::prelude::*;

use crate::ids::{TenantId, TypeId};
use crate::statement::OfTenant;

/// How what is in an inbox becomes read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum ReadPolicy {
    /// By marks.
    #[default]
    Manual = 0,
    /// By being looked at.
    Auto = 1,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "message_type")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: TypeId,
    pub tenant_id: TenantId,
    pub code: String,
    pub title: String,
    /// Free label under which a UI groups types.
    pub group_label: Option<String>,
    pub read_policy: ReadPolicy,
    /// Users cannot switch it off.
    pub mandatory: bool,
    /// Users may send messages of it, where the server lets users of the tenant send at all.
    pub users_may_send: bool,
    pub ttl_seconds: Option<i64>,
    /// Order in overviews, ascending; ties by code.
    pub position: i32,
    /// MiniJinja; null where the type has no template.
    pub template_title: Option<String>,
    pub template_body: Option<String>,
    pub template_link: Option<String>,
    /// A name of an icon, or an https URL.
    pub icon: Option<String>,
    /// JSON for user interfaces, untouched.
    pub ui: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
