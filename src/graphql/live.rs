//! Subscriptions: what happens, as it happens. Here they begin; what they give is in `event`, under the same names.

use async_graphql::connection::{Edge, EmptyFields};
use async_graphql::{Context, InputType, Result, Subscription};
use futures_util::stream::{Empty, empty};

use super::account::ViewerAccount;
use super::context::Call;
use super::event::{Handover, Source};
use super::inbox::{InboxItem, Items, seq_at};
use super::overview::wish_of;
use super::plain::Plain;
use super::view::{View, ViewKeyInput};
use crate::domain::live;
use crate::domain::overview::Wish;
use crate::error::Error;

/// An item with its cursor.
pub type ItemEdge = Edge<String, Plain<InboxItem>, EmptyFields, Items>;

#[derive(Default)]
pub struct InboxSubscription;

#[Subscription]
impl InboxSubscription {
    /// Every new item of the viewer, in order, of these types or of all. With `after`, first everything newer than that
    /// cursor (`overview.cursor`, or that of an item): nothing is missed and nothing comes twice, whatever happened to the
    /// connection or the server in between. A cursor from before the retention window, or of another inbox, is
    /// `BAD_USER_INPUT`; whoever falls 256 items behind is ended with `UNAVAILABLE` and resumes from their last cursor. USER.
    async fn item_received(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "A cursor after which to begin; what comes from now on where it is left out.")] after: Option<
            String,
        >,
        #[graphql(desc = "Codes of message types: only of these.")] types: Option<Vec<String>>,
    ) -> Result<Empty<Result<ItemEdge>>> {
        let (call, user) = Call::user(ctx).await?;
        let place = |cursor: String| {
            let place = seq_at(call, user, &cursor);
            let message = "is no cursor of this inbox: start from the cursor of a fresh overview";
            place.ok_or_else(|| Error::bad_input("after", message))
        };
        let after = after.map(place).transpose()?;
        let feed = live::items(call.app, ctx.data_unchecked(), call.tenant, user, after, types).await?;
        ctx.data_unchecked::<Handover<Source>>().put(Source::Items(feed));
        Ok(empty())
    }

    /// The viewer with the `overview` that is selected in it, at once and after every change of that (new items, read on another
    /// device, retraction, expiry; where `total` or `views` is asked for, also activities, visits, joining and leaving of
    /// views); bursts are merged to ten a second, and the last state always comes. Another name or picture of a sender is
    /// told within a minute. Nothing but `id` and `overview`, with the same arguments wherever it is selected, is told of.
    /// USER.
    async fn overview_changed(&self, ctx: &Context<'_>) -> Result<Empty<Result<ViewerAccount>>> {
        let (call, user) = Call::user(ctx).await?;
        let wish = told(ctx, call)?;
        let feed = live::overviews(call.app, ctx.data_unchecked(), call.tenant, user, wish).await?;
        ctx.data_unchecked::<Handover<Source>>().put(Source::Overviews(feed));
        Ok(empty())
    }

    /// Views of the viewer whose unread changed, as the viewer sees them then: after activities of others, after a visit or an
    /// activity of their own wherever they made it, and when they join or leave (all null, and nothing unread). With `keys` (at
    /// most 200) only these, also those that they are not in yet, from when they join; without, all that they are in. A visit
    /// where nothing was unread changes nothing. Nothing comes at once: read `views` when the subscription has begun, or
    /// begin with `overviewChanged`, whose first value holds them. What changes after that is told, merged to ten times a
    /// second a view, and the last state always comes; a client that reads slowly gets the newest state of each view. USER.
    async fn view_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only these; at most 200.")] keys: Option<Vec<ViewKeyInput>>,
    ) -> Result<Empty<Result<View>>> {
        let (call, user) = Call::user(ctx).await?;
        let keys = keys.map(|keys| keys.into_iter().map(Into::into).collect());
        let feed = live::views(call.app, ctx.data_unchecked(), call.tenant, user, keys).await?;
        ctx.data_unchecked::<Handover<Source>>().put(Source::Views(feed));
        Ok(empty())
    }
}

/// The overview that is selected in the viewer of a subscription.
fn told(ctx: &Context<'_>, call: Call<'_>) -> Result<Wish> {
    let mut asked: Option<(Option<Vec<String>>, Option<i32>)> = None;
    for field in ctx.field().selection_set() {
        match field.name() {
            "id" | "__typename" => continue,
            "overview" => {}
            other => {
                let message = format!("tells of `id` and `overview` alone: read `{other}` by a query");
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
                "tells of one overview: give the same arguments each time",
            )
            .into());
        }
        asked = Some((types, cap));
    }
    let (types, cap) = asked.unwrap_or_default();
    Ok(wish_of(call, &ctx.look_ahead().field("overview"), types, cap))
}
