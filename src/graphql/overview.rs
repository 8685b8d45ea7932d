//! Overviews and counts.

use async_graphql::{Context, Object, SimpleObject};

use super::catalogue::MessageType;
use super::context::Call;
use super::inbox::InboxItem;
use crate::domain::overview::{self, Wish};
use crate::seal::Kind;

/// How many.
#[derive(SimpleObject)]
pub struct Count {
    /// Exact, or `cap` when there are more than `cap`.
    pub count: i32,
    /// False when the count was cut at the cap: show it as "99+".
    pub exact: bool,
}

impl From<overview::Count> for Count {
    fn from(of: overview::Count) -> Self {
        Self { count: i32::try_from(of.count).unwrap_or(i32::MAX), exact: of.is_exact }
    }
}

/// What an overview must hold to answer the fields asked for under it.
pub fn wish(ctx: &Context<'_>, types: Option<Vec<String>>, cap: Option<i32>) -> Wish {
    Wish { types, cap: cap.map(i64::from), unseen: ctx.look_ahead().field("unseen").exists() }
}

/// Where an inbox stands.
pub struct Overview(pub overview::Overview);

/// Where an inbox stands.
#[Object]
impl Overview {
    /// Unread items of the types asked for, archived and expired ones left out.
    async fn unread(&self) -> Count {
        self.0.unread.into()
    }

    /// Items (of the types asked for) that arrived since `markSeen` was last called for the whole inbox.
    async fn unseen(&self) -> Count {
        self.0.unseen.into()
    }

    /// In catalogue order; a type without items is listed with 0 and no latest item.
    async fn types(&self) -> Vec<TypeOverview<'_>> {
        self.0.types.iter().map(TypeOverview).collect()
    }

    /// Where the inbox stands: all that was published before is in it.
    async fn cursor(&self, ctx: &Context<'_>) -> String {
        Call::of(ctx).tenant.seal.close(Kind::Cursor, self.0.user.0, self.0.cursor.0)
    }
}

/// One type of an overview.
pub struct TypeOverview<'a>(&'a overview::TypeOverview);

/// One type of an overview.
#[Object]
impl TypeOverview<'_> {
    /// The category.
    async fn r#type(&self) -> MessageType {
        MessageType(self.0.message_type.clone())
    }

    /// Unread items of the type, archived and expired ones left out.
    async fn unread(&self) -> Count {
        self.0.unread.into()
    }

    /// Newest item that is neither archived nor expired, read or not.
    async fn latest(&self) -> Option<InboxItem> {
        self.0.latest.clone().map(InboxItem)
    }
}
