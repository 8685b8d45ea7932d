//! How what is sent under a message type leaves the inbox.

use sea_orm::entity::prelude::*;

use crate::ids::{TenantId, TypeId};
use crate::lane::Kind;
use crate::statement::OfTenant;

/// Of which items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum Condition {
    /// Those that are still unread, and not archived.
    #[default]
    IfUnread = 0,
    /// Those that are still in the inbox, read or not.
    Always = 1,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "delivery_rule")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub type_id: TypeId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub kind: Kind,
    pub tenant_id: TenantId,
    pub sends: Condition,
    /// From publication on.
    pub delay_seconds: i64,
    /// Of mail: what is unread goes into one letter, at an hour of the user's own.
    pub digest: bool,
    /// Of WeChat: the id of the template there.
    pub wechat_template: Option<String>,
    /// Of WeChat: what fills its fields, as JSON: a list of `name` and `value`.
    pub wechat_fields: Option<String>,
    /// Of WeChat: where a click leads; NULL where that is the item's own link.
    pub wechat_link: Option<String>,
    /// A template: what letters say instead of the title.
    pub letter_subject: Option<String>,
    /// Instead of the body.
    pub letter_text: Option<String>,
    /// Instead of the body, in HTML.
    pub letter_html: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
