//! Ids as types, so that none is passed for another.

use sea_orm::DeriveValueType;
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, DeriveValueType, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl From<$name> for i64 {
            fn from(id: $name) -> i64 {
                id.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

id! {
    /// A company.
    TenantId,
    /// A recipient.
    UserId,
    /// A message type.
    TypeId,
    /// What happened to a target.
    ActionId,
    /// What is published to and listened to.
    ChannelId,
    /// Something that reads itself while it is looked at.
    ViewId,
    /// A place in a tenant's log: given at publication, consecutive in commit order, from 1.
    Seq,
}
