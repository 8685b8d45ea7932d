//! Overviews and counts.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_graphql::{Context, Lookahead, Object, Result, SelectionField, SimpleObject, Value};

use super::catalogue::MessageType;
use super::connection::page_size;
use super::context::{CallContext, STAFF};
use super::inbox::InboxItem;
use super::inline::{InlineList, InlineObject};
use super::scalars::to_int;
use super::view::InboxView;
use domain::overview::{self, OverviewRequest};
use model::id_cipher::IdKind;
use model::overview::VisibleFields;

/// A count that may stop at a cap.
#[derive(SimpleObject)]
#[graphql(name = "CappedCount")]
pub struct CappedCount {
    /// Exact, or the cap if there are more.
    pub count: i32,
    /// False if the count stopped at the cap: show it as "99+".
    pub exact: bool,
}

impl From<overview::BoundedCount> for InlineObject<CappedCount> {
    fn from(of: overview::BoundedCount) -> Self {
        Self(CappedCount { count: to_int(of.count), exact: of.is_exact })
    }
}

/// The parts of an overview that the selected fields need.
pub fn selected_parts(ctx: &Context<'_>, types: Option<Vec<String>>, cap: Option<i32>) -> OverviewRequest {
    selected_parts_of(CallContext::from_context(ctx), &ctx.look_ahead(), types, cap)
}

/// The parts of an overview that the selections in `asked` need.
pub fn selected_parts_of(
    call: CallContext<'_>,
    asked: &Lookahead<'_>,
    types: Option<Vec<String>>,
    cap: Option<i32>,
) -> OverviewRequest {
    // Sorted and without duplicates, because caches and shared reads use the list as their key.
    let types = types.map(|types| Vec::from_iter(BTreeSet::from_iter(types)));
    OverviewRequest {
        types,
        cap: cap.map(i64::from),
        unseen: asked.field("unseen").exists(),
        views: selected_view_count(call, asked),
    }
}

/// How many unread views the query selects; `None` if it selects neither `views` nor `total`.
fn selected_view_count(call: CallContext<'_>, overview: &Lookahead<'_>) -> Option<usize> {
    let lists = overview.field("views").selection_fields();
    if lists.is_empty() {
        return overview.field("total").exists().then_some(0);
    }
    let first = |list: &SelectionField<'_>| match list.arguments().ok()?.into_iter().find(|(name, _)| name == "first") {
        Some((_, Value::Number(first))) => Some(i32::try_from(first.as_i64()?).ok()?),
        _ => None,
    };
    // A size out of bounds fails when the list is resolved.
    lists.iter().map(|list| page_size(call, "first", first(list)).unwrap_or_default()).max()
}

/// Unread counts and latest items of an inbox.
pub struct InboxOverview(pub Arc<overview::UserOverview>);

/// Unread counts and latest items of an inbox.
#[Object(name = "InboxOverview")]
impl InboxOverview {
    /// Unread items of the requested types, without archived and expired ones.
    async fn unread(&self) -> InlineObject<CappedCount> {
        self.0.unread.into()
    }

    /// Items of the requested types that arrived since the last `markSeen` for the whole inbox.
    async fn unseen(&self) -> InlineObject<CappedCount> {
        self.0.unseen.into()
    }

    /// In catalogue order. A type without items is listed with 0 and no latest item.
    async fn types(&self) -> InlineList<InlineObject<TypeOverview<'_>>> {
        InlineList(self.0.types.iter().map(TypeOverview).map(InlineObject).collect())
    }

    /// Unread in the inbox (of the requested types) and in all views together.
    async fn total(&self) -> InlineObject<CappedCount> {
        self.0.total_unread().into()
    }

    /// Views with something unread, most recently active first; 20 without `first`, at most 200.
    fn views(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Maximum number, up to 200. Default: 20.")] first: Option<i32>,
    ) -> Result<Vec<InlineObject<InboxView>>> {
        let views = self.0.views.views.iter().take(page_size(CallContext::from_context(ctx), "first", first)?);
        Ok(views.cloned().map(InboxView).map(InlineObject).collect())
    }

    /// Changes whenever any field except `cursor` and `templateError` changes, including fields of types, items,
    /// senders and views. Equal overviews have equal values. Pass it to `overviewUnless`.
    async fn etag(&self, ctx: &Context<'_>) -> String {
        overview_etag(CallContext::from_context(ctx), &self.0)
    }

    /// The inbox's position in the log: it contains everything published before.
    async fn cursor(&self, ctx: &Context<'_>) -> String {
        CallContext::from_context(ctx).tenant.id_cipher.encode(IdKind::Cursor, self.0.user.0, self.0.cursor.0)
    }
}

/// An overview's `etag`.
pub fn overview_etag(call: CallContext<'_>, of: &overview::UserOverview) -> String {
    let fields = if STAFF.contains(&call.viewer.role) { VisibleFields::All } else { VisibleFields::OfUsers };
    format!("{:016x}", of.content_tag(fields))
}

/// One type of an overview.
pub struct TypeOverview<'a>(&'a overview::TypeOverview);

/// One type of an overview.
#[Object(name = "MessageTypeOverview")]
impl TypeOverview<'_> {
    /// The message type.
    async fn r#type(&self) -> InlineObject<MessageType> {
        InlineObject(MessageType(self.0.message_type.clone()))
    }

    /// Unread items of the type, without archived and expired ones.
    async fn unread(&self) -> InlineObject<CappedCount> {
        self.0.unread.into()
    }

    /// Newest item that is neither archived nor expired, read or not.
    async fn latest(&self) -> Option<InlineObject<InboxItem>> {
        self.0.latest.clone().map(InboxItem).map(InlineObject)
    }
}
