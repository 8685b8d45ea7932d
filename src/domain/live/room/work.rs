//! What a room reads for its members, and hands to them.

use std::collections::HashMap;

use entity::ids::UserId;
use futures_util::future::join_all;
use sea_orm::DbBackend;
use tokio::time::Instant;

use super::{Room, USERS};
use crate::domain::inbox::{Item, sync};
use crate::domain::live::newer::{Span, newer};
use crate::domain::live::poll::expired;
use crate::domain::overview::{self, Wish};
use crate::domain::view;
use crate::error::{Error, Result};

/// So many parts of an announcement to everyone are read at the same time, which takes as many connections.
const PARTS: usize = 4;

impl Room {
    /// What has expired since it was last asked for, so that no overview goes on counting it.
    pub(super) async fn notice_what_expired(&mut self) -> Result<()> {
        let now = self.app.now();
        for (_, seq) in expired(&self.app, &[self.tenant.id], (self.expired_upto, now)).await? {
            self.touched.add(&[seq]);
        }
        self.expired_upto = self.expired_upto.max(now);
        Ok(())
    }

    /// Syncs inboxes, and hands what is new in them to the sessions; later to those of users whose rows somebody holds, so that
    /// nobody else waits for those.
    pub(super) async fn deliver(&mut self, users: &[UserId]) -> Result<()> {
        let (end, held) = sync::those_free(&self.app, &self.tenant, users).await?;
        self.members.hold(&held, Instant::now());
        let users: Vec<UserId> = users.iter().copied().filter(|user| !held.contains(user)).collect();
        // Where other nodes cannot tell what they do, nothing is known for certain.
        let counts = self.app.hub.has_bus() || self.app.db.backend() == DbBackend::Sqlite;
        for (after, users) in self.members.behind(&users, end, counts) {
            let span = Span { after, upto: end, types: None, limit: None };
            let mut items: HashMap<UserId, Vec<Item>> = HashMap::with_capacity(users.len());
            for mut item in newer(&self.app, &self.tenant, &users, span).await?.items {
                self.contents.share(&mut item);
                items.entry(item.user).or_default().push(item);
            }
            for user in users {
                let items = items.get(&user).map(Vec::as_slice).unwrap_or_default();
                self.members.hand_out(&self.app.metrics, user, items, end);
            }
        }
        Ok(())
    }

    /// Reads overviews, and hands out those that are another than before.
    pub(super) async fn read_overviews(&mut self) -> Result<()> {
        let now = Instant::now();
        let parts = self.members.take_overviews(PARTS * USERS, now);
        let parts: Vec<(&Wish, &[UserId])> =
            parts.iter().flat_map(|(wish, users)| users.chunks(USERS).map(move |users| (wish, users))).collect();
        let read = parts.iter().map(|(wish, users)| overview::of(&self.app, &self.tenant, users, wish));
        let mut outcome = Ok(());
        for ((wish, users), overviews) in parts.iter().zip(join_all(read).await) {
            match overviews {
                Ok(overviews) => {
                    for mut overview in overviews.into_values() {
                        let latest = overview.types.iter_mut().filter_map(|kind| kind.latest.as_mut());
                        latest.for_each(|item| self.contents.share(item));
                        self.members.show(&self.app.metrics, wish, overview);
                    }
                }
                // A type that the wish names has gone.
                Err(Error::BadInput { field, message }) => self.members.refuse(wish, users, &field, &message),
                Err(error) => {
                    users.iter().for_each(|user| self.members.changed(*user));
                    outcome = Err(error);
                }
            }
        }
        outcome
    }

    /// Reads the views in overviews of which nothing else has changed.
    pub(super) async fn read_views(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        for (number, users) in self.members.take_views_changed(USERS, Instant::now()) {
            let seen = view::unread_of(&self.app, &users, number).await;
            let mut views = seen.map_err(|error| outcome = Err(error)).ok();
            for user in users {
                match &mut views {
                    Some(views) => {
                        let views = views.remove(&user).unwrap_or_default();
                        self.members.show_views(&self.app.metrics, user, number, &views);
                    }
                    None => self.members.changed(user),
                }
            }
        }
        outcome
    }
}
