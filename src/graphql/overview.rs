//! Overviews and counts.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_graphql::{Context, Lookahead, Object, Result, SelectionField, SimpleObject, Value};

use super::catalogue::MessageType;
use super::connection::size;
use super::context::{Call, STAFF};
use super::inbox::InboxItem;
use super::plain::{Plain, Row};
use super::scalars::int;
use super::view::View;
use crate::domain::overview::{self, Wish};
use crate::model::overview::Fields;
use crate::model::seal::Kind;

/// A count that may stop at a cap.
#[derive(SimpleObject)]
#[graphql(name = "CappedCount")]
pub struct Count {
    /// Exact, or the cap if there are more.
    pub count: i32,
    /// False if the count stopped at the cap: show it as "99+".
    pub exact: bool,
}

impl From<overview::Count> for Plain<Count> {
    fn from(of: overview::Count) -> Self {
        Self(Count { count: int(of.count), exact: of.is_exact })
    }
}

/// The parts of an overview that the selected fields need.
pub fn wish(ctx: &Context<'_>, types: Option<Vec<String>>, cap: Option<i32>) -> Wish {
    wish_of(Call::of(ctx), &ctx.look_ahead(), types, cap)
}

/// The parts of an overview that the selections in `asked` need.
pub fn wish_of(call: Call<'_>, asked: &Lookahead<'_>, types: Option<Vec<String>>, cap: Option<i32>) -> Wish {
    // Sorted and without duplicates, because caches and shared reads use the list as their key.
    let types = types.map(|types| Vec::from_iter(BTreeSet::from_iter(types)));
    Wish { types, cap: cap.map(i64::from), unseen: asked.field("unseen").exists(), views: views(call, asked) }
}

/// How many unread views the query selects; `None` if it selects neither `views` nor `total`.
fn views(call: Call<'_>, overview: &Lookahead<'_>) -> Option<usize> {
    let lists = overview.field("views").selection_fields();
    if lists.is_empty() {
        return overview.field("total").exists().then_some(0);
    }
    let first = |list: &SelectionField<'_>| match list.arguments().ok()?.into_iter().find(|(name, _)| name == "first") {
        Some((_, Value::Number(first))) => Some(i32::try_from(first.as_i64()?).ok()?),
        _ => None,
    };
    // A size out of bounds fails when the list is resolved.
    lists.iter().map(|list| size(call, "first", first(list)).unwrap_or_default()).max()
}

/// Unread counts and latest items of an inbox.
pub struct Overview(pub Arc<overview::Overview>);

/// Unread counts and latest items of an inbox.
#[Object(name = "InboxOverview")]
impl Overview {
    /// Unread items of the requested types, without archived and expired ones.
    async fn unread(&self) -> Plain<Count> {
        self.0.unread.into()
    }

    /// Items of the requested types that arrived since the last `markSeen` for the whole inbox.
    async fn unseen(&self) -> Plain<Count> {
        self.0.unseen.into()
    }

    /// In catalogue order. A type without items is listed with 0 and no latest item.
    async fn types(&self) -> Row<Plain<TypeOverview<'_>>> {
        Row(self.0.types.iter().map(TypeOverview).map(Plain).collect())
    }

    /// Unread in the inbox (of the requested types) and in all views together.
    async fn total(&self) -> Plain<Count> {
        self.0.total().into()
    }

    /// Views with something unread, most recently active first; 20 without `first`, at most 200.
    fn views(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Maximum number, up to 200. Default: 20.")] first: Option<i32>,
    ) -> Result<Vec<Plain<View>>> {
        let views = self.0.views.views.iter().take(size(Call::of(ctx), "first", first)?);
        Ok(views.cloned().map(View).map(Plain).collect())
    }

    /// Changes whenever any field except `cursor` and `templateError` changes, including fields of types, items,
    /// senders and views. Equal overviews have equal values. Pass it to `overviewUnless`.
    async fn etag(&self, ctx: &Context<'_>) -> String {
        etag(Call::of(ctx), &self.0)
    }

    /// The inbox's position in the log: it contains everything published before.
    async fn cursor(&self, ctx: &Context<'_>) -> String {
        Call::of(ctx).tenant.seal.close(Kind::Cursor, self.0.user.0, self.0.cursor.0)
    }
}

/// An overview's `etag`.
pub fn etag(call: Call<'_>, of: &overview::Overview) -> String {
    let fields = if STAFF.contains(&call.viewer.role) { Fields::All } else { Fields::OfUsers };
    format!("{:016x}", of.tag(fields))
}

/// One type of an overview.
pub struct TypeOverview<'a>(&'a overview::TypeOverview);

/// One type of an overview.
#[Object(name = "MessageTypeOverview")]
impl TypeOverview<'_> {
    /// The message type.
    async fn r#type(&self) -> Plain<MessageType> {
        Plain(MessageType(self.0.message_type.clone()))
    }

    /// Unread items of the type, without archived and expired ones.
    async fn unread(&self) -> Plain<Count> {
        self.0.unread.into()
    }

    /// Newest item that is neither archived nor expired, read or not.
    async fn latest(&self) -> Option<Plain<InboxItem>> {
        self.0.latest.clone().map(InboxItem).map(Plain)
    }
}
