//! Preferences that users have set themselves.

use sea_orm::Iterable;
use sea_orm::entity::prelude::*;

use crate::destination;
use crate::ids::UserId;
use crate::statement::OfUser;

/// The scope of a preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum PreferenceScope {
    /// Reminders of an action.
    Action = 0,
    /// All notifications of a message type.
    Type = 1,
    /// Emails about a message type. The scope of a channel is 16 plus the number of its destination kind.
    Mail = 17,
    /// WeChat messages about a message type.
    WeChat = 18,
    /// Web Push messages about a message type.
    WebPush = 19,
}

impl PreferenceScope {
    /// The scope of a message type's preference for a channel. `None` if destinations of this kind do not reach users.
    pub fn for_destination(kind: destination::DestinationKind) -> Option<Self> {
        match kind {
            destination::DestinationKind::Webhook => None,
            destination::DestinationKind::Email => Some(Self::Mail),
            destination::DestinationKind::WeChat => Some(Self::WeChat),
            destination::DestinationKind::WebPush => Some(Self::WebPush),
        }
    }

    /// The destination kind of a channel's scope. `None` for other scopes.
    pub fn destination_kind(self) -> Option<destination::DestinationKind> {
        destination::DestinationKind::iter().find(|kind| Self::for_destination(*kind) == Some(self))
    }

    /// The scopes with a message type as the subject.
    pub fn type_scopes() -> impl Iterator<Item = Self> {
        Self::iter().filter(|scope| *scope != Self::Action)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "preference")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub scope: PreferenceScope,
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
