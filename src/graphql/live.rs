//! Starts subscriptions. The objects that they send are in `event`, under the same names.

use async_graphql::connection::{Edge, EmptyFields};
use async_graphql::{Context, InputType, Result, Subscription};
use futures_util::stream::{Empty, empty};

use super::account::ViewerAccount;
use super::context::CallContext;
use super::event::{EventSource, OutputSlot};
use super::inbox::{InboxItem, Items, open_cursor};
use super::inline::InlineObject;
use super::overview::selected_parts_of;
use super::view::{InboxView, ViewKeyInput};
use base::error::Error;
use domain::overview::OverviewRequest;

/// An item with its cursor.
pub type ItemEdge = Edge<String, InlineObject<InboxItem>, EmptyFields, Items>;

#[derive(Default)]
pub struct InboxSubscription;

#[Subscription]
impl InboxSubscription {
    /// Every new item of the viewer in order, of these types or of all. With `after`, everything newer than that
    /// cursor comes first (`overview.cursor`, or an item's): nothing is missed or repeated, even if the connection or
    /// the server failed. A cursor from before the retention window, or of another inbox, is `BAD_USER_INPUT`.
    /// A session that falls 256 items behind ends with `UNAVAILABLE`; resume from its last cursor. USER.
    async fn item_received(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Start after this cursor. Default: only items that arrive from now on.")] after: Option<
            String,
        >,
        #[graphql(desc = "Codes of message types. Default: all types.")] types: Option<Vec<String>>,
    ) -> Result<Empty<Result<ItemEdge>>> {
        let (call, user) = CallContext::for_calling_user(ctx).await?;
        let place = |cursor: String| {
            let place = open_cursor(call, user, &cursor);
            let message = "is not a cursor of this inbox: get a new one from `overview.cursor`";
            place.ok_or_else(|| Error::bad_input("after", message))
        };
        let after = after.map(place).transpose()?;
        let feed = live::subscribe_items(call.app, ctx.data_unchecked(), call.tenant, user, after, types).await?;
        ctx.data_unchecked::<OutputSlot<EventSource>>().put(EventSource::Items(feed));
        Ok(empty())
    }

    /// The viewer with the selected `overview`, at once and after every change: new items, marks on other devices,
    /// retraction, expiry, and with `total` or `views` also activities, visits, joining and leaving. At most ten
    /// values a second; the last state always comes. A sender's new name or picture comes within a minute. Only `id`
    /// and `overview` may be selected, with the same arguments everywhere. USER.
    async fn overview_changed(&self, ctx: &Context<'_>) -> Result<Empty<Result<ViewerAccount>>> {
        let (call, user) = CallContext::for_calling_user(ctx).await?;
        let wish = selected_overview(ctx, call)?;
        let feed = live::subscribe_overviews(call.app, ctx.data_unchecked(), call.tenant, user, wish).await?;
        ctx.data_unchecked::<OutputSlot<EventSource>>().put(EventSource::Overviews(feed));
        Ok(empty())
    }

    /// Changed unread counts of the viewer's views: after activities of other users, after the viewer's own visits and
    /// activities on any device, and on joining and leaving (all fields null, nothing unread). With `keys` (200 at
    /// most) only these views, including views that the viewer joins later; without, all views of the viewer. A visit
    /// with nothing unread sends nothing. The subscription sends no initial state: read `views` after it has begun, or
    /// begin with `overviewChanged`. At most ten values a second per view; a slow client gets the newest state of each
    /// view. USER.
    async fn view_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only these views, at most 200. Default: all views of the viewer.")] keys: Option<
            Vec<ViewKeyInput>,
        >,
    ) -> Result<Empty<Result<InboxView>>> {
        let (call, user) = CallContext::for_calling_user(ctx).await?;
        let keys = keys.map(|keys| keys.into_iter().map(Into::into).collect());
        let feed = live::subscribe_views(call.app, ctx.data_unchecked(), call.tenant, user, keys).await?;
        ctx.data_unchecked::<OutputSlot<EventSource>>().put(EventSource::Views(feed));
        Ok(empty())
    }
}

/// The overview that is selected under the subscription's viewer.
fn selected_overview(ctx: &Context<'_>, call: CallContext<'_>) -> Result<OverviewRequest> {
    let mut asked: Option<(Option<Vec<String>>, Option<i32>)> = None;
    for field in ctx.field().selection_set() {
        match field.name() {
            "id" | "__typename" => continue,
            "overview" => {}
            other => {
                let message = format!("returns only `id` and `overview`: read `{other}` with a query");
                return Err(Error::bad_input("overviewChanged", message).into());
            }
        }
        let (mut types, mut cap) = (None, None);
        for (name, value) in field.arguments()? {
            match name.as_str() {
                "types" => {
                    types = InputType::parse(Some(value))
                        .map_err(|_| Error::bad_input("types", "must be a list of codes"))?;
                }
                _ => cap = InputType::parse(Some(value)).map_err(|_| Error::bad_input("cap", "must be a number"))?,
            }
        }
        if asked.as_ref().is_some_and(|before| *before != (types.clone(), cap)) {
            return Err(Error::bad_input(
                "overviewChanged",
                "returns one overview: give `overview` the same arguments each time",
            )
            .into());
        }
        asked = Some((types, cap));
    }
    let (types, cap) = asked.unwrap_or_default();
    Ok(selected_parts_of(call, &ctx.look_ahead().field("overview"), types, cap))
}
