//! Users of a request. Data of one of them is read for all of them in one batch.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::Result;
use entity::ids::UserId;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::context::Call;
use super::view::SharedViews;
use crate::domain::overview::{self, Wish};
use crate::domain::user::{self, Profile};
use crate::error::Error;

type Overviews = HashMap<UserId, overview::Overview>;

/// Users of a request.
#[derive(Default)]
pub struct Siblings {
    pub ids: Vec<UserId>,
    profiles: OnceCell<HashMap<UserId, Profile>>,
    overviews: Mutex<HashMap<Wish, Arc<OnceCell<Overviews>>>>,
    pub views: SharedViews,
}

impl Siblings {
    /// For these users.
    pub fn of(ids: Vec<UserId>) -> Arc<Self> {
        Arc::new(Self { ids, ..Self::default() })
    }

    /// The profile of one of them.
    pub async fn profile(&self, call: Call<'_>, user: UserId) -> Result<Profile> {
        let profiles = self.profiles.get_or_try_init(|| user::profiles(call.app, call.tenant, &self.ids)).await?;
        Ok(profiles.get(&user).cloned().ok_or(Error::Erased)?)
    }

    /// The overview of one of them.
    pub async fn overview(&self, call: Call<'_>, user: UserId, wish: Wish) -> Result<overview::Overview> {
        let shared = {
            let mut overviews = self.overviews.lock();
            overviews.entry(wish.clone()).or_default().clone()
        };
        let all = shared.get_or_try_init(|| overview::of(call.app, call.tenant, &self.ids, &wish)).await?;
        Ok(all.get(&user).cloned().ok_or(Error::Erased)?)
    }
}
