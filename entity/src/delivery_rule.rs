//! How notifications of a message type are delivered outside of the inbox.

use sea_orm::entity::prelude::*;

use crate::destination::DestinationKind;
use crate::ids::{TenantId, TypeId};
use crate::statement::OfTenant;

/// Which items are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum SendCondition {
    /// Items that are still unread and not archived.
    #[default]
    IfUnread = 0,
    /// Items that are still in the inbox, read or not.
    Always = 1,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "delivery_rule")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub type_id: TypeId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub kind: DestinationKind,
    pub tenant_id: TenantId,
    pub sends: SendCondition,
    /// Counted from publication.
    pub delay_seconds: i64,
    /// Email: unread items are sent together in one digest, at a time that the user chooses.
    pub digest: bool,
    /// WeChat: the id of the template there.
    pub wechat_template: Option<String>,
    /// WeChat: the values of its fields, as a JSON list of `name` and `value`.
    pub wechat_fields: Option<String>,
    /// WeChat: the link of a message. NULL uses the item's own link.
    pub wechat_link: Option<String>,
    /// A template for the subject of emails, instead of the title.
    pub letter_subject: Option<String>,
    /// A template for their text, instead of the body.
    pub letter_text: Option<String>,
    /// A template for their HTML, instead of the body.
    pub letter_html: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
