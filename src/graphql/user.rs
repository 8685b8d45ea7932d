//! Users: whose inbox, overview, subscriptions and preferences these are.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, MaybeUndefined, Object, Result};
use entity::ids::UserId;
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::channel::{Group, Groups, Subscriptions, TopicSubscription};
use super::connection::{Named, Walked, by_channel, channel_at, names, size};
use super::context::{Call, STAFF};
use super::entities::Entities;
use super::inbox::InboxItem;
use super::inbox::{InboxFilter, Items, inbox_page};
use super::overview::{Overview, wish};
use super::plain::Plain;
use super::preference::Preferences;
use super::view::{SharedViews, View, ViewKeyInput};
use crate::auth::Role;
use crate::domain::channel;
use crate::domain::overview::{self, Wish};
use crate::domain::user::{self, Profile, ProfileChange};
use crate::error::Error;
use crate::model::check;

names!(Users, "UserConnection", "UserEdge");

/// The most users of one `users` query, and of whom things are read at once.
pub const USERS: usize = 200;

type Overviews = HashMap<UserId, overview::Overview>;

/// Users that were asked for together, so that what is asked of each of them is read for all of them at once.
#[derive(Default)]
pub struct Siblings {
    ids: Vec<UserId>,
    profiles: OnceCell<HashMap<UserId, Profile>>,
    overviews: Mutex<HashMap<Wish, Arc<OnceCell<Overviews>>>>,
    views: SharedViews,
}

impl Siblings {
    /// Of these users.
    pub fn of(ids: Vec<UserId>) -> Arc<Self> {
        Arc::new(Self { ids, ..Self::default() })
    }

    async fn profile(&self, call: Call<'_>, user: UserId) -> Result<Profile> {
        let profiles = self.profiles.get_or_try_init(|| user::profiles(call.app, call.tenant, &self.ids)).await?;
        Ok(profiles.get(&user).cloned().ok_or(Error::Erased)?)
    }

    async fn overview(&self, call: Call<'_>, user: UserId, wish: Wish) -> Result<overview::Overview> {
        let shared = {
            let mut overviews = self.overviews.lock();
            overviews.entry(wish.clone()).or_default().clone()
        };
        let all = shared.get_or_try_init(|| overview::of(call.app, call.tenant, &self.ids, &wish)).await?;
        Ok(all.get(&user).cloned().ok_or(Error::Erased)?)
    }
}

/// A recipient.
#[derive(Clone)]
pub struct User {
    row: UserId,
    profile: Option<Arc<Profile>>,
    siblings: Arc<Siblings>,
}

impl User {
    /// One of several who were asked for together.
    pub fn among(siblings: &Arc<Siblings>, row: UserId) -> Self {
        Self { row, profile: None, siblings: siblings.clone() }
    }

    /// One alone.
    pub fn alone(row: UserId) -> Self {
        Self::among(&Siblings::of(vec![row]), row)
    }

    /// One whose profile was read along with something else.
    pub fn known(profile: Profile) -> Self {
        let alone = Self::alone(profile.id);
        Self { profile: Some(Arc::new(profile)), ..alone }
    }

    async fn read(&self, call: Call<'_>) -> Result<Arc<Profile>> {
        match &self.profile {
            Some(profile) => Ok(profile.clone()),
            None => Ok(Arc::new(self.siblings.profile(call, self.row).boxed().await?)),
        }
    }

    /// What is nobody's business but their own, and the partner's.
    async fn private<'a>(&self, ctx: &'a Context<'_>) -> Result<Call<'a>> {
        let call = Call::of(ctx);
        if call.viewer.role == Role::User {
            let own = user::mention_one(call.app, call.tenant, "sub", &call.viewer.sub).boxed().await?;
            if own != self.row {
                let id = self.read(call).await?.external_id.clone();
                return Err(Error::not_found("inbox of user", id).into());
            }
        }
        Ok(call)
    }
}

// What is read for a field is boxed: all fields share the room of the largest, and every sender of an item is a user.

/// A recipient. Users see the profile of others, and all of themselves; services and operators see everything.
#[Object]
impl User {
    /// The partner's own id of the user.
    async fn id(&self, ctx: &Context<'_>) -> Result<ID> {
        Ok(ID(self.read(Call::of(ctx)).await?.external_id.clone()))
    }

    /// As far as the partner has told it (`saveUsers`).
    async fn name(&self, ctx: &Context<'_>) -> Option<Result<String>> {
        self.read(Call::of(ctx)).await.map(|profile| profile.name.clone()).transpose()
    }

    /// As far as the partner has told it (`saveUsers`).
    async fn avatar_url(&self, ctx: &Context<'_>) -> Option<Result<String>> {
        self.read(Call::of(ctx)).await.map(|profile| profile.avatar_url.clone()).transpose()
    }

    /// BCP 47, as far as the partner has told it (`saveUsers`).
    async fn locale(&self, ctx: &Context<'_>) -> Option<Result<String>> {
        self.read(Call::of(ctx)).await.map(|profile| profile.locale.clone()).transpose()
    }

    /// All types at once: unread counts and latest items, in one batched statement however many types or users are asked
    /// for. `types` limits it to these types; counts stop at `cap` (at least 1) where it is given.
    async fn overview(&self, ctx: &Context<'_>, types: Option<Vec<String>>, cap: Option<i32>) -> Result<Overview> {
        let call = self.private(ctx).await?;
        let wish = wish(ctx, types, cap);
        Ok(Overview(Arc::new(self.siblings.overview(call, self.row, wish).boxed().await?)))
    }

    /// Newest first; 20 items where neither `first` nor `last` is given, 200 at the most. `first` with `after` walks
    /// towards older items, `last` with `before` towards newer ones. A page that is filtered by kind, target, action or sender
    /// looks at 1,000 items: it may have fewer than were asked for, or none, and go on at its `endCursor` (`startCursor`).
    async fn inbox(
        &self,
        ctx: &Context<'_>,
        filter: Option<InboxFilter>,
        first: Option<i32>,
        after: Option<String>,
        last: Option<i32>,
        before: Option<String>,
    ) -> Result<Walked<Plain<InboxItem>, Items>> {
        let call = self.private(ctx).await?;
        inbox_page(ctx, call, self.row, filter, (first, after), (last, before)).boxed().await
    }

    /// Targets and actions that the user hears of directly; not those of their groups. Oldest topic first.
    async fn subscriptions(
        &self,
        ctx: &Context<'_>,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Named<TopicSubscription, Subscriptions>> {
        let call = self.private(ctx).await?;
        let size = size(call, "first", first)?;
        let from = channel_at(call, after.as_deref())?;
        let rows = channel::subscriptions(call.app, self.row, size, from).boxed().await?;
        let rows = rows.into_iter().map(|row| (row.channel, row)).collect();
        Ok(by_channel(call, after.as_deref(), size, rows, TopicSubscription))
    }

    /// Users whose doings they hear of.
    async fn following(
        &self,
        ctx: &Context<'_>,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Named<User, Users>> {
        let call = self.private(ctx).await?;
        let size = size(call, "first", first)?;
        let from = channel_at(call, after.as_deref())?;
        let rows = channel::following(call.app, self.row, size, from).boxed().await?;
        let siblings = Siblings::of(rows.iter().map(|(_, user)| *user).collect());
        Ok(by_channel(call, after.as_deref(), size, rows, |user| Self::among(&siblings, user)))
    }

    /// The groups that the user is in, by code.
    async fn groups(&self, ctx: &Context<'_>) -> Result<Vec<Group>> {
        let call = self.private(ctx).await?;
        Ok(Groups::list(channel::groups_of(call.app, call.tenant, self.row).boxed().await?))
    }

    /// What the user wants to hear.
    async fn preferences(&self, ctx: &Context<'_>) -> Result<Preferences> {
        let call = self.private(ctx).await?;
        Preferences::of(call, self.row).boxed().await
    }

    /// Auto-read views (chats, feeds) that the user is in, most recently active first; 20 where `first` is not given, 200
    /// at the most. With `keys` (at most 200) those of them that they are in, in the order asked for, all where `first` is not
    /// given.
    async fn views(
        &self,
        ctx: &Context<'_>,
        keys: Option<Vec<ViewKeyInput>>,
        first: Option<i32>,
    ) -> Result<Vec<Plain<View>>> {
        let call = self.private(ctx).await?;
        self.siblings.views.of(call, &self.siblings.ids, self.row, keys, first).boxed().await
    }
}

async fn find(ctx: &Context<'_>, id: &ID) -> Result<Option<User>> {
    let call = Call::by(ctx, STAFF)?;
    check::code("id", id)?;
    let found = user::find(call.app, call.tenant, std::slice::from_ref(&id.0)).await?;
    Ok(found.get(id.as_str()).copied().map(User::alone))
}

#[derive(Default)]
pub struct UserQuery;

#[Object]
impl UserQuery {
    /// The token's user. USER.
    async fn viewer(&self, ctx: &Context<'_>) -> Result<User> {
        let (_, user) = Call::user(ctx).await?;
        Ok(User::alone(user))
    }

    /// The user of a supergraph (Apollo Federation 2). USER (about themselves), SERVICE, ADMIN. One of whom the tenant has never
    /// heard is made now, so that they have an inbox.
    #[graphql(entity)]
    async fn find_user_by_id(&self, ctx: &Context<'_>, id: ID) -> Result<User> {
        ctx.data_unchecked::<Entities>().user(ctx, &id).await
    }

    /// Null where the tenant has never heard of the user. SERVICE, ADMIN.
    async fn user(&self, ctx: &Context<'_>, id: ID) -> Option<Result<User>> {
        find(ctx, &id).await.transpose()
    }

    /// In the order asked for, null where the tenant has never heard of one; at most 200. Overviews of all of them cost
    /// one statement. SERVICE, ADMIN.
    async fn users(&self, ctx: &Context<'_>, ids: Vec<ID>) -> Result<Vec<Option<User>>> {
        let call = Call::by(ctx, STAFF)?;
        check::count("ids", ids.len(), USERS)?;
        let ids: Vec<String> = ids.into_iter().map(|id| id.0).collect();
        ids.iter().try_for_each(|id| check::code("ids", id))?;
        let found = user::find(call.app, call.tenant, &ids).await?;
        let mut rows: Vec<UserId> = found.values().copied().collect();
        rows.sort_unstable();
        let siblings = Siblings::of(rows);
        Ok(ids.iter().map(|id| found.get(id).map(|row| User::among(&siblings, *row))).collect())
    }
}

/// A user's profile: a field that is left out stays, null clears it.
#[derive(InputObject)]
pub struct UserInput {
    /// The partner's own id of the user; 1 to 128 characters.
    pub id: ID,
    /// 1 to 256 characters.
    pub name: MaybeUndefined<String>,
    /// An absolute http(s) URL or a path.
    pub avatar_url: MaybeUndefined<String>,
    /// BCP 47.
    pub locale: MaybeUndefined<String>,
}

#[derive(Default)]
pub struct UserMutation;

#[Object]
impl UserMutation {
    /// Up to 1,000 profiles, all or none. SERVICE, ADMIN.
    async fn save_users(&self, ctx: &Context<'_>, inputs: Vec<UserInput>) -> Result<Vec<User>> {
        let call = Call::by(ctx, STAFF)?;
        let change = |input: UserInput| ProfileChange {
            external_id: input.id.0,
            name: input.name.into(),
            avatar_url: input.avatar_url.into(),
            locale: input.locale.into(),
        };
        let rows = user::save(call.app, call.tenant, inputs.into_iter().map(change).collect()).await?;
        let siblings = Siblings::of(rows.clone());
        Ok(rows.into_iter().map(|row| User::among(&siblings, row)).collect())
    }
}
