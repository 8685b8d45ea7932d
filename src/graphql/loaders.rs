//! Data of several objects of a request, read in one batch: [`BatchLoader`] for any keys, [`UserLoader`] for users.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use async_graphql::Result;
use entity::ids::UserId;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::context::CallContext;
use super::view::ViewLoader;
use base::error::Error;
use domain::overview::{self, OverviewRequest};
use domain::user::{self, UserProfile};

/// One value for each key. The first read loads the values of all keys.
#[derive(Debug)]
pub struct BatchLoader<Key, Value> {
    keys: Vec<Key>,
    all: OnceCell<HashMap<Key, Value>>,
}

impl<Key: Eq + Hash, Value> BatchLoader<Key, Value> {
    /// For these keys.
    pub fn for_keys(keys: Vec<Key>) -> Arc<Self> {
        Arc::new(Self { keys, all: OnceCell::new() })
    }

    /// The value of one key, or `None`. `read` loads the values of all.
    pub async fn load<'a, Reading>(
        &'a self,
        key: Key,
        read: impl FnOnce(&'a [Key]) -> Reading,
    ) -> base::error::Result<Option<&'a Value>>
    where
        Reading: Future<Output = base::error::Result<HashMap<Key, Value>>>,
    {
        let all = self.all.get_or_try_init(|| read(&self.keys)).await?;
        Ok(all.get(&key))
    }
}

type OverviewsByUser = HashMap<UserId, overview::UserOverview>;

/// Users of a request.
#[derive(Default)]
pub struct UserLoader {
    pub ids: Vec<UserId>,
    profiles: OnceCell<HashMap<UserId, UserProfile>>,
    overviews: Mutex<HashMap<OverviewRequest, Arc<OnceCell<OverviewsByUser>>>>,
    pub views: ViewLoader,
}

impl UserLoader {
    /// For these users.
    pub fn for_users(ids: Vec<UserId>) -> Arc<Self> {
        Arc::new(Self { ids, ..Self::default() })
    }

    /// The profile of one of them.
    pub async fn load_profile(&self, call: CallContext<'_>, user: UserId) -> Result<UserProfile> {
        let profiles = self.profiles.get_or_try_init(|| user::load_profiles(call.app, call.tenant, &self.ids)).await?;
        Ok(profiles.get(&user).cloned().ok_or(Error::Erased)?)
    }

    /// The overview of one of them.
    pub async fn load_overview(
        &self,
        call: CallContext<'_>,
        user: UserId,
        wish: OverviewRequest,
    ) -> Result<overview::UserOverview> {
        let shared = {
            let mut overviews = self.overviews.lock();
            overviews.entry(wish.clone()).or_default().clone()
        };
        let all = shared.get_or_try_init(|| overview::load_overviews(call.app, call.tenant, &self.ids, &wish)).await?;
        Ok(all.get(&user).cloned().ok_or(Error::Erased)?)
    }
}
