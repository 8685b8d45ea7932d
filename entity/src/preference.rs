//! What users have switched on or off themselves.

use sea_orm::Iterable;
use sea_orm::entity::prelude::*;

use crate::ids::UserId;
use crate::lane;
use crate::statement::OfUser;

/// What is switched on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum Scope {
    /// Reminders of an action.
    Action = 0,
    /// All of a message type.
    Type = 1,
    /// Letters about a message type. Scopes of channels are 16 and the number of the kind of lane.
    Mail = 17,
    /// Messages by WeChat about a message type.
    WeChat = 18,
    /// Messages to browsers about a message type.
    WebPush = 19,
}

impl Scope {
    /// The scope of a message type's switch for a channel; nothing where no lane of this kind leads to users.
    pub fn of_channel(kind: lane::Kind) -> Option<Self> {
        match kind {
            lane::Kind::Webhook => None,
            lane::Kind::Email => Some(Self::Mail),
            lane::Kind::WeChat => Some(Self::WeChat),
            lane::Kind::WebPush => Some(Self::WebPush),
        }
    }

    /// The kind of lane whose channel it is about, where it is about one.
    pub fn channel(self) -> Option<lane::Kind> {
        lane::Kind::iter().find(|kind| Self::of_channel(*kind) == Some(self))
    }

    /// Those whose subject is a message type.
    pub fn of_types() -> impl Iterator<Item = Self> {
        Self::iter().filter(|scope| *scope != Self::Action)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "preference")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub scope: Scope,
    /// The action's or the message type's id.
    #[sea_orm(primary_key, auto_increment = false)]
    pub subject_id: i64,
    pub enabled: bool,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfUser for Entity {
    const USER: Column = Column::UserId;
}
