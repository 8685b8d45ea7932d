//! Subscriptions: what happens, as it happens. Here they begin; what they give is in `event`, under the same names.

use async_graphql::connection::{Edge, EmptyFields};
use async_graphql::{Context, Result, Subscription};
use futures_util::stream::{Empty, empty};

use super::context::Call;
use super::event::{Handover, Source};
use super::inbox::{InboxItem, Items, seq_at};
use super::overview::{Overview, wish};
use crate::domain::live;
use crate::error::Error;

/// An item with its cursor.
pub type ItemEdge = Edge<String, InboxItem, EmptyFields, Items>;

#[derive(Default)]
pub struct InboxSubscription;

#[Subscription]
impl InboxSubscription {
    /// Every new item of the viewer, in order, of these types or of all. With `after`, first everything newer than that
    /// cursor (`overview.cursor`, or that of an item): nothing is missed and nothing comes twice, whatever happened to the
    /// connection or the server in between. A cursor from before the retention window, or of another inbox, is
    /// `BAD_USER_INPUT`; whoever falls 256 items behind is ended with `UNAVAILABLE` and resumes from his last cursor. USER.
    async fn item_received(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        types: Option<Vec<String>>,
    ) -> Result<Empty<Result<ItemEdge>>> {
        let (call, user) = Call::user(ctx).await?;
        let place = |cursor: String| {
            let place = seq_at(call, user, &cursor);
            let message = "is no cursor of this inbox: start from the cursor of a fresh overview";
            place.ok_or_else(|| Error::bad_input("after", message))
        };
        let after = after.map(place).transpose()?;
        let feed = live::items(call.app, call.tenant, user, after, types).await?;
        ctx.data_unchecked::<Handover<Source>>().put(Source::Items(feed));
        Ok(empty())
    }

    /// The overview of the viewer, at once and after every change of it (new items, read on another device, retraction,
    /// expiry); bursts are merged to ten a second, and the last state always comes. Arguments as for `User.overview`. USER.
    async fn overview_changed(
        &self,
        ctx: &Context<'_>,
        types: Option<Vec<String>>,
        cap: Option<i32>,
    ) -> Result<Empty<Result<Overview>>> {
        let (call, user) = Call::user(ctx).await?;
        let watch = live::overviews(call.app, call.tenant, user, wish(ctx, types, cap)).await?;
        ctx.data_unchecked::<Handover<Source>>().put(Source::Overviews(watch));
        Ok(empty())
    }
}
