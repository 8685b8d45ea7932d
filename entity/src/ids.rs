//! Newtype ids, so that ids of different tables cannot be mixed up.

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
    /// A kind of event on a target.
    ActionId,
    /// A channel.
    ChannelId,
    /// A view: a chat, feed or page. A visit marks all of it as read.
    ViewId,
    /// A position in a tenant's log: assigned at publication, consecutive in commit order, starting at 1.
    Seq,
}
