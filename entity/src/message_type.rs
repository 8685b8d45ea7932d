//! A category of notifications: a tab of the inbox.

use sea_orm::entity::prelude::*;

use crate::ids::{TenantId, TypeId};
use crate::statement::OfTenant;

/// How items become read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum ReadPolicy {
    /// When they are marked.
    #[default]
    Manual = 0,
    /// When they are viewed.
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
    /// Whether users cannot disable it.
    pub mandatory: bool,
    /// Users may send messages of this type, if the server allows users of the tenant to send at all.
    pub users_may_send: bool,
    pub ttl_seconds: Option<i64>,
    /// Sort order in overviews, ascending; ties by code.
    pub position: i32,
    /// MiniJinja. NULL if the type has no template.
    pub template_title: Option<String>,
    pub template_body: Option<String>,
    pub template_link: Option<String>,
    /// The name of an icon, or an https URL.
    pub icon: Option<String>,
    /// JSON for user interfaces, which the server does not interpret.
    pub ui: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
