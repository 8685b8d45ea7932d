//! Views that read themselves.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Json, Object, Result, SimpleObject};
use entity::ids::UserId;
use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::connection::size;
use super::context::{ADMIN, Call};
use super::overview::Count;
use super::plain::Plain;
use super::scalars::Instant;
use crate::auth::Role;
use crate::domain::catalogue::{self, ViewCode};
use crate::domain::overview;
use crate::domain::view::{self, Activity, By, Key, Listing};
use crate::error::Error;
use crate::model::check;

/// A view by the partner's own strings, 1 to 128 characters each.
#[derive(InputObject)]
pub struct ViewKeyInput {
    /// What kind of view it is, such as `chat`.
    pub code: String,
    /// Which of its kind.
    pub id: ID,
}

impl From<ViewKeyInput> for Key {
    fn from(input: ViewKeyInput) -> Self {
        Self { code: input.code, id: input.id.0 }
    }
}

/// A view as a user sees it, whose counts stop at a cap if there is one.
pub struct View {
    of: view::View,
    cap: Option<i64>,
}

impl View {
    /// With counts that stop at `cap`.
    pub fn capped(of: view::View, cap: Option<i64>) -> Self {
        Self { of, cap }
    }
}

impl From<view::View> for View {
    fn from(of: view::View) -> Self {
        Self::capped(of, None)
    }
}

/// Something whose items count as read when the user looks at it: a chat, a feed, a news page. `unread` and
/// `lastVisitedAt` are those of the one user whom the answer is about; 0 and null where it is about nobody or several.
#[Object]
impl View {
    /// What kind of view it is.
    async fn code(&self) -> &str {
        &self.of.key.code
    }

    /// The partner's own id, among the views of its code.
    async fn id(&self) -> ID {
        ID(self.of.key.id.clone())
    }

    /// Activity since the user's last visit, or since they joined where they never visited; what they do there themselves is a
    /// visit. Exact whatever the number, and cut at `cap` (at least 1) where it is given, or else at the overview's.
    fn unread(&self, cap: Option<i32>) -> Result<Plain<Count>> {
        if cap.is_some_and(|cap| cap < 1) {
            return Err(Error::bad_input("cap", "must be at least 1").into());
        }
        Ok(overview::Count::of(self.of.unread, cap.map(i64::from).or(self.cap)).into())
    }

    /// Null while nothing has happened.
    async fn last_activity_at(&self) -> Option<Instant> {
        self.of.last_activity_at.map(Into::into)
    }

    /// Null while the user has never looked.
    async fn last_visited_at(&self) -> Option<Instant> {
        self.of.last_visited_at.map(Into::into)
    }

    /// What the latest activity carried as its `preview`.
    async fn latest(&self) -> Option<Json<Value>> {
        self.of.latest.clone().map(Json)
    }
}

type Lists = HashMap<UserId, Vec<view::View>>;

/// Lists of views of users who were asked for together, each read for all of them at once.
#[derive(Default)]
pub struct SharedViews(Mutex<HashMap<Listing, Arc<OnceCell<Lists>>>>);

impl SharedViews {
    /// The list of one of the users.
    pub async fn of(
        &self,
        call: Call<'_>,
        users: &[UserId],
        user: UserId,
        keys: Option<Vec<ViewKeyInput>>,
        first: Option<i32>,
    ) -> Result<Vec<Plain<View>>> {
        let size = size(call, "first", first)?;
        let (listing, shown) = match keys {
            Some(keys) => {
                (Listing::These(keys.into_iter().map(Into::into).collect()), first.map_or(usize::MAX, |_| size))
            }
            None => (Listing::Newest(size), size),
        };
        let shared = {
            let mut lists = self.0.lock();
            lists.entry(listing.clone()).or_default().clone()
        };
        let all = shared.get_or_try_init(|| view::of(call.app, call.tenant, users, &listing)).await?;
        Ok(all.get(&user).into_iter().flatten().take(shown).cloned().map(View::from).map(Plain).collect())
    }
}

/// A kind of views.
#[derive(SimpleObject)]
#[graphql(name = "ViewCode")]
pub struct ViewCodeObject {
    /// 1 to 128 characters.
    pub code: String,
    /// Whether users may join and leave views of this code by themselves; a visit then joins.
    pub open: bool,
}

#[derive(Default)]
pub struct ViewQuery;

#[Object]
impl ViewQuery {
    /// The codes of views that the tenant has opened or closed, by code; views may have other codes, which are closed. Any
    /// role.
    async fn view_codes(&self, ctx: &Context<'_>) -> Result<Vec<ViewCodeObject>> {
        let call = Call::of(ctx);
        let catalogue = catalogue::current(call.app, call.tenant).await?;
        let object = |(code, open): (&String, &bool)| ViewCodeObject { code: code.clone(), open: *open };
        Ok(catalogue.view_codes.iter().map(object).collect())
    }
}

/// Something that happened in a view.
#[derive(InputObject)]
pub struct ActivityInput {
    /// Made with its first activity.
    pub view: ViewKeyInput,
    /// Whose doing; it counts as their visit, and they are in the view from then on.
    pub actor: Option<ID>,
    /// Small preview for `latest`; 4 KiB of JSON at most.
    pub preview: Option<Json<Value>>,
    /// 1 to 128 characters. A second activity of the view with the same key changes nothing; with another actor or preview
    /// it is a CONFLICT. Keys are remembered for the retention window (30 days by default).
    pub idempotency_key: Option<String>,
}

#[derive(Default)]
pub struct ViewMutation;

#[Object]
impl ViewMutation {
    /// Users are in a view from now on, which is made if it is missing; at most 10,000 a call. Whoever is in it already
    /// stays as they are. SERVICE for anybody; USER for themselves (without `users`) where the view's code is open, else
    /// `FORBIDDEN`.
    async fn join_view(&self, ctx: &Context<'_>, key: ViewKeyInput, users: Option<Vec<ID>>) -> Result<View> {
        let call = Call::by(ctx, &[Role::User, Role::Service])?;
        let (by, users) = members(call, users)?;
        let key = key.into();
        Ok(call.making(ctx, users.len(), view::join(call.app, call.tenant, by, &key, &users).boxed()).await?.into())
    }

    /// Users are no longer in a view; at most 10,000 a call. SERVICE for anybody; USER for themselves (without `users`) where
    /// the view's code is open, else `FORBIDDEN`.
    async fn leave_view(&self, ctx: &Context<'_>, key: ViewKeyInput, users: Option<Vec<ID>>) -> Result<View> {
        let call = Call::by(ctx, &[Role::User, Role::Service])?;
        let (by, users) = members(call, users)?;
        Ok(view::leave(call.app, call.tenant, by, &key.into(), &users).await?.into())
    }

    /// Things happened in views: unread for everybody who is in them, but for what the actors did or could see before. Up
    /// to 1,000 at once, in one transaction, all or none. Answers with the view of each, as its actor sees it after all of
    /// them. SERVICE.
    async fn record_activity(&self, ctx: &Context<'_>, inputs: Vec<ActivityInput>) -> Result<Vec<Plain<View>>> {
        let call = Call::by(ctx, &[Role::Service])?;
        let activity = |input: ActivityInput| Activity {
            view: input.view.into(),
            actor: input.actor.map(|id| id.0),
            preview: input.preview.map(|Json(preview)| preview),
            idempotency_key: input.idempotency_key,
        };
        let activities: Vec<Activity> = inputs.into_iter().map(activity).collect();
        let views = view::record(call.app, call.tenant, &activities).await?;
        Ok(views.into_iter().map(View::from).map(Plain).collect())
    }

    /// The user looked at a view: nothing in it is unread. It joins them where the view's code is open; elsewhere a view
    /// that they are not in is `NOT_FOUND`. USER.
    async fn visit_view(&self, ctx: &Context<'_>, key: ViewKeyInput) -> Result<View> {
        let (call, user) = Call::user(ctx).await?;
        let key = key.into();
        Ok(call.making(ctx, 1, view::visit(call.app, call.tenant, user, &key).boxed()).await?.into())
    }

    /// Says whether users may join and leave views of a code (1 to 128 characters) by themselves; who is in one stays. At
    /// most 1,000 codes a tenant. ADMIN.
    async fn save_view_code(&self, ctx: &Context<'_>, code: String, open: bool) -> Result<ViewCodeObject> {
        let call = Call::by(ctx, ADMIN)?;
        let saved = ViewCode { code, is_open: open };
        catalogue::save_view_code(call.app, call.tenant, &saved).await?;
        Ok(ViewCodeObject { code: saved.code, open })
    }

    /// Takes a code of views out of the catalogue, which closes them; who is in one stays. False where there is none. ADMIN.
    async fn delete_view_code(&self, ctx: &Context<'_>, code: String) -> Result<bool> {
        let call = Call::by(ctx, ADMIN)?;
        Ok(catalogue::delete_view_code(call.app, call.tenant, &code).await?)
    }
}

/// Who joins or leaves, and by whom: users can name only themselves, and need not; services must name somebody.
fn members(call: Call<'_>, users: Option<Vec<ID>>) -> crate::error::Result<(By, Vec<String>)> {
    let named = users.map(|users| users.into_iter().map(|id| id.0).collect::<Vec<String>>());
    match (call.viewer.role, named) {
        (Role::User, named) => {
            let other = named.iter().flatten().find(|id| **id != call.viewer.sub);
            if let Some(other) = other {
                check::code("users", other)?;
                return Err(Error::not_found("user", other));
            }
            Ok((By::Themselves, vec![call.viewer.sub.clone()]))
        }
        (_, Some(named)) => Ok((By::Partner, named)),
        (_, None) => Err(Error::bad_input("users", "is required, for the token is not a user's")),
    }
}
