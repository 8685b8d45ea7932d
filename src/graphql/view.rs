//! Auto-read views.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};
use entity::audit_entry::SubjectKind;
use entity::ids::UserId;
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::account::ViewerAccount;
use super::catalogue::DeleteCodePayload;
use super::connection::page_size;
use super::context::{ADMIN, CallContext, distinct_count};
use super::inline::InlineObject;
use super::json::JsonScalar;
use super::overview::CappedCount;
use super::scalars::DateTimeScalar;
use auth::CallerRole;
use base::error::Error;
use domain::catalogue::{self, ViewCode};
use domain::overview;
use domain::view::{self, MembershipCaller, ViewActivity, ViewKey, ViewListing};
use model::{id_cipher, validate};

/// A view, by your own strings of 1 to 128 characters each.
#[derive(InputObject)]
pub struct ViewKeyInput {
    /// Kind of the view, such as `chat`.
    pub code: String,
    /// Your id among the views of that kind.
    pub external_id: ID,
}

impl From<ViewKeyInput> for ViewKey {
    fn from(input: ViewKeyInput) -> Self {
        Self { code: input.code, id: input.external_id.0 }
    }
}

/// A view as a user sees it.
pub struct InboxView(pub view::UserView);

/// A chat, feed or news page: its items count as read when the user looks at it. `unread` and `lastVisitedAt` belong to
/// the one user of the response; they are 0 and null if it is about no user or several.
#[Object(name = "InboxView")]
impl InboxView {
    /// Opaque. It names the view as this user sees it.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        let user = self.0.user.unwrap_or_default();
        ID(CallContext::from_context(ctx).tenant.id_cipher.encode(id_cipher::IdKind::View, user.0, self.0.row.0))
    }

    /// Kind of the view.
    async fn code(&self) -> &str {
        &self.0.key.code
    }

    /// Your id among the views of that kind.
    async fn external_id(&self) -> ID {
        ID(self.0.key.id.clone())
    }

    /// Activities since the user's last visit, or since the user joined. The user's own activities count as visits.
    /// Exact, up to `cap`.
    fn unread(
        &self,
        #[graphql(desc = "Cap of the count, at least 1.")] cap: Option<i32>,
    ) -> Result<InlineObject<CappedCount>> {
        if cap.is_some_and(|cap| cap < 1) {
            return Err(Error::bad_input("cap", "must be at least 1").into());
        }
        Ok(overview::BoundedCount::with_cap(self.0.unread, cap.map(i64::from)).into())
    }

    /// Null if nothing has happened yet.
    async fn last_activity_at(&self) -> Option<DateTimeScalar> {
        self.0.last_activity_at.map(Into::into)
    }

    /// Null if the user has never visited it.
    async fn last_visited_at(&self) -> Option<DateTimeScalar> {
        self.0.last_visited_at.map(Into::into)
    }

    /// The `preview` of the latest activity.
    async fn latest(&self) -> Option<JsonScalar> {
        self.0.latest.clone().map(JsonScalar)
    }
}

type ViewLists = HashMap<UserId, Vec<view::UserView>>;

/// Lists of views for the users of a request. Each list is read once for all of them.
#[derive(Default)]
pub struct ViewLoader(Mutex<HashMap<ViewListing, Arc<OnceCell<ViewLists>>>>);

impl ViewLoader {
    /// The list of one user.
    pub async fn load_views(
        &self,
        call: CallContext<'_>,
        users: &[UserId],
        user: UserId,
        keys: Option<Vec<ViewKeyInput>>,
        first: Option<i32>,
    ) -> Result<Vec<InlineObject<InboxView>>> {
        let size = page_size(call, "first", first)?;
        let (listing, shown) = match keys {
            Some(keys) => {
                (ViewListing::These(keys.into_iter().map(Into::into).collect()), first.map_or(usize::MAX, |_| size))
            }
            None => (ViewListing::Newest(size), size),
        };
        let shared = {
            let mut lists = self.0.lock();
            lists.entry(listing.clone()).or_default().clone()
        };
        let all = shared.get_or_try_init(|| view::load_lists(call.app, call.tenant, users, &listing)).await?;
        Ok(all.get(&user).into_iter().flatten().take(shown).cloned().map(InboxView).map(InlineObject).collect())
    }
}

/// A kind of views.
#[derive(SimpleObject)]
#[graphql(name = "ViewCode")]
pub struct ViewCodeObject {
    /// 1 to 128 characters.
    pub code: String,
    /// Whether users may join and leave views of this kind themselves; a visit then joins.
    pub open: bool,
}

#[derive(Default)]
pub struct ViewQuery;

#[Object]
impl ViewQuery {
    /// The kinds of views that the tenant has opened or closed, by code. Views of other kinds exist, too, and are
    /// closed. Any role.
    async fn view_codes(&self, ctx: &Context<'_>) -> Result<Vec<ViewCodeObject>> {
        let call = CallContext::from_context(ctx);
        let catalogue = catalogue::load_current(call.app, call.tenant).await?;
        let object = |(code, open): (&String, &bool)| ViewCodeObject { code: code.clone(), open: *open };
        Ok(catalogue.view_codes.iter().map(object).collect())
    }
}

/// An activity in a view.
#[derive(InputObject)]
#[graphql(name = "ViewActivityInput")]
pub struct ActivityInput {
    /// Created by its first activity.
    pub view: ViewKeyInput,
    /// The user who did it, who joins the view; the activity counts as a visit.
    pub actor: Option<ID>,
    /// Small preview for `latest`, 4 KiB of JSON at most.
    pub preview: Option<JsonScalar>,
    /// 1 to 128 characters. A repeated activity of the view with the same key changes nothing; with another actor or
    /// preview it is `CONFLICT`. Keys are kept for the retention window (30 days by default).
    pub idempotency_key: Option<String>,
}

/// The result of joining, leaving or visiting a view.
pub struct ViewPayload {
    view: InboxView,
    visitor: Option<UserId>,
}

/// The result of joining, leaving or visiting a view.
#[Object]
impl ViewPayload {
    /// As the one affected user sees it; without a user's state if there were several.
    async fn view(&self) -> &InboxView {
        &self.view
    }

    /// The token's user after the call; null for services.
    async fn viewer(&self) -> Option<ViewerAccount> {
        self.visitor.map(ViewerAccount::for_user)
    }
}

impl ViewPayload {
    fn from_view(call: CallContext<'_>, of: view::UserView) -> Self {
        Self { visitor: of.user.filter(|_| call.viewer.role == CallerRole::User), view: InboxView(of) }
    }
}

/// The result of recording activities.
#[derive(SimpleObject)]
pub struct RecordActivityPayload {
    /// The view of each activity, as its actor sees it after all of them.
    pub views: Vec<InboxView>,
}

#[derive(Default)]
pub struct ViewMutation;

#[Object]
impl ViewMutation {
    /// Adds users to a view, which is created if it does not exist. Members stay as they are. SERVICE for any users;
    /// USER for themselves (without `users`) if the view's kind is open, else `FORBIDDEN`.
    async fn join_view(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which view.")] key: ViewKeyInput,
        #[graphql(desc = "Your ids of the users, at most 10,000.")] users: Option<Vec<ID>>,
    ) -> Result<ViewPayload> {
        let call = CallContext::with_role(ctx, &[CallerRole::User, CallerRole::Service])?;
        let (by, users) = named_members(call, users)?;
        let named = format!("{}/{}", key.code, key.external_id.as_str());
        call.start_audit_many(ctx, (SubjectKind::View, &[named]), distinct_count(&users));
        let key = key.into();
        let joining = view::join(call.app, call.tenant, by, &key, &users).boxed();
        Ok(ViewPayload::from_view(call, call.charge_creation(ctx, users.len(), joining).await?))
    }

    /// Removes users from a view. SERVICE for any users; USER for themselves (without `users`) if the view's kind is
    /// open, else `FORBIDDEN`.
    async fn leave_view(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which view.")] key: ViewKeyInput,
        #[graphql(desc = "Your ids of the users, at most 10,000.")] users: Option<Vec<ID>>,
    ) -> Result<ViewPayload> {
        let call = CallContext::with_role(ctx, &[CallerRole::User, CallerRole::Service])?;
        let (by, users) = named_members(call, users)?;
        let named = format!("{}/{}", key.code, key.external_id.as_str());
        call.start_audit_many(ctx, (SubjectKind::View, &[named]), distinct_count(&users));
        Ok(ViewPayload::from_view(call, view::leave(call.app, call.tenant, by, &key.into(), &users).await?))
    }

    /// Records activities, which are unread for all members except their actors. Up to 1,000 in one transaction: all
    /// or none. SERVICE.
    async fn record_activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The activities in order, at most 1,000.")] inputs: Vec<ActivityInput>,
    ) -> Result<RecordActivityPayload> {
        let call = CallContext::with_role(ctx, &[CallerRole::Service])?;
        let activity = |input: ActivityInput| ViewActivity {
            view: input.view.into(),
            actor: input.actor.map(|id| id.0),
            preview: input.preview.map(|JsonScalar(preview)| preview),
            idempotency_key: input.idempotency_key,
        };
        let activities: Vec<ViewActivity> = inputs.into_iter().map(activity).collect();
        let views = view::record_activities(call.app, call.tenant, &activities).await?;
        Ok(RecordActivityPayload { views: views.into_iter().map(InboxView).collect() })
    }

    /// The user visits a view: nothing in it is unread any more. The visit joins the view if its kind is open;
    /// otherwise `NOT_FOUND` for views that the user is not in. USER.
    async fn visit_view(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which view.")] key: ViewKeyInput,
    ) -> Result<ViewPayload> {
        let (call, user) = CallContext::for_calling_user(ctx).await?;
        let key = key.into();
        let visited = call.charge_creation(ctx, 1, view::visit(call.app, call.tenant, user, &key).boxed()).await?;
        Ok(ViewPayload::from_view(call, visited))
    }

    /// Sets whether users may join and leave views of a kind themselves. Members stay. At most 1,000 kinds per tenant.
    /// ADMIN.
    async fn save_view_code(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "1 to 128 characters.")] code: String,
        #[graphql(desc = "Whether users may join and leave by themselves.")] open: bool,
    ) -> Result<ViewCodeObject> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, SubjectKind::ViewCode, &[&code]);
        let saved = ViewCode { code, is_open: open };
        catalogue::save_view_code(call.app, call.tenant, &saved).await?;
        Ok(ViewCodeObject { code: saved.code, open })
    }

    /// Removes a kind of views from the catalogue, which closes its views. Members stay. ADMIN.
    async fn delete_view_code(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the kind of views.")] code: String,
    ) -> Result<DeleteCodePayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, SubjectKind::ViewCode, &[&code]);
        let is_deleted = catalogue::delete_view_code(call.app, call.tenant, &code).await?;
        Ok(DeleteCodePayload { deleted_code: is_deleted.then_some(code) })
    }
}

/// The users who join or leave: USER names at most the token's user, SERVICE must name users.
fn named_members(
    call: CallContext<'_>,
    users: Option<Vec<ID>>,
) -> base::error::Result<(MembershipCaller, Vec<String>)> {
    let named = users.map(|users| users.into_iter().map(|id| id.0).collect::<Vec<String>>());
    match (call.viewer.role, named) {
        (CallerRole::User, named) => {
            let other = named.iter().flatten().enumerate().find(|(_, id)| **id != call.viewer.sub);
            if let Some((place, other)) = other {
                let field = format!("users[{place}]");
                validate::identifier(&field, other)?;
                return Err(Error::not_found_at(field, "user", other));
            }
            Ok((MembershipCaller::Themselves, vec![call.viewer.sub.clone()]))
        }
        (_, Some(named)) => Ok((MembershipCaller::Backend, named)),
        (_, None) => Err(Error::bad_input("users", "is required, because the token is not a user's")),
    }
}
