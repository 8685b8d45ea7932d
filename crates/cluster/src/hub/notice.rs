//! The change notice of a commit, for the sessions on all nodes.

use entity::ids::{ChannelId, Seq, TenantId, UserId, ViewId};
use serde::{Deserialize, Serialize};

/// Beyond this many ids a notice says `everybody` instead, because reading the database is then cheaper than the list.
const IDS: usize = 1000;

/// Beyond this many ids of views and of their users a notice says `all_views` instead.
const VIEW_IDS: usize = 500;

/// Names the users, channels and views that a commit concerns, never the content.
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent, and mostly false")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notice {
    #[serde(rename = "t")]
    pub tenant: TenantId,
    /// Ranges of positions in the log that this notice covers: first and last of each.
    #[serde(rename = "s", skip_serializing_if = "Vec::is_empty")]
    pub seqs: Vec<(Seq, Seq)>,
    /// Subscribers of these channels may have new items.
    #[serde(rename = "c", skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelId>,
    /// Users with new items.
    #[serde(rename = "u", skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<UserId>,
    /// Users with an inbox that changed state without a new item.
    #[serde(rename = "m", skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<UserId>,
    /// Notifications that were amended or withdrawn: the inboxes of their recipients changed.
    #[serde(rename = "i", skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Seq>,
    /// Users with changed channel subscriptions.
    #[serde(rename = "l", skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<UserId>,
    /// Users that were erased.
    #[serde(rename = "x", skip_serializing_if = "Vec::is_empty")]
    pub erased: Vec<UserId>,
    /// Views with new activity.
    #[serde(rename = "v", skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<ViewId>,
    /// A user's last visit to a view changed, or the user left it.
    #[serde(rename = "w", skip_serializing_if = "Vec::is_empty")]
    pub visits: Vec<(UserId, ViewId)>,
    /// The same for users who may have joined the view with this change.
    #[serde(rename = "j", skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<(UserId, ViewId)>,
    /// Any view may have new activity.
    #[serde(rename = "a", skip_serializing_if = "std::ops::Not::not")]
    pub all_views: bool,
    /// The tenant's catalogue changed.
    #[serde(rename = "k", skip_serializing_if = "std::ops::Not::not")]
    pub catalogue: bool,
    /// Cached inboxes may be stale, because a sender's profile changed or was erased.
    #[serde(rename = "d", skip_serializing_if = "std::ops::Not::not")]
    pub doubtful: bool,
    /// Any user may have new items.
    #[serde(rename = "e", skip_serializing_if = "std::ops::Not::not")]
    pub everybody: bool,
}

impl Notice {
    /// An empty notice about a tenant.
    pub fn for_tenant(tenant: TenantId) -> Self {
        Self { tenant, ..Self::default() }
    }

    /// The state of these users' inboxes changed.
    pub fn inbox_changes(tenant: TenantId, users: &[UserId]) -> Self {
        Self { changed: users.to_vec(), ..Self::for_tenant(tenant) }
    }

    /// The channel subscriptions of these users changed.
    pub fn subscription_changes(tenant: TenantId, users: &[UserId]) -> Self {
        Self { listeners: users.to_vec(), ..Self::for_tenant(tenant) }
    }

    /// These users' last visit to a view changed, or they left it.
    pub fn view_visits(tenant: TenantId, view: ViewId, users: &[UserId]) -> Self {
        Self { visits: users.iter().map(|user| (*user, view)).collect(), ..Self::for_tenant(tenant) }
    }

    /// The same for users who may have joined the view with this change.
    pub fn view_joins(tenant: TenantId, view: ViewId, users: &[UserId]) -> Self {
        Self { joins: users.iter().map(|user| (*user, view)).collect(), ..Self::for_tenant(tenant) }
    }

    /// Whether there is nothing to publish. Log positions are published: they spare the listener a poll.
    pub fn is_empty(&self) -> bool {
        *self == Self::for_tenant(self.tenant)
    }

    /// Adds another notice about the same tenant.
    pub fn merge(&mut self, other: &Self) {
        for &(first, last) in &other.seqs {
            match self.seqs.last_mut() {
                Some((_, end)) if end.0 + 1 == first.0 => *end = last,
                _ => self.seqs.push((first, last)),
            }
        }
        self.everybody |= other.everybody;
        self.all_views |= other.all_views;
        self.doubtful |= other.doubtful;
        self.catalogue |= other.catalogue;
        add_sorted(&mut self.channels, &other.channels);
        add_sorted(&mut self.users, &other.users);
        add_sorted(&mut self.changed, &other.changed);
        add_sorted(&mut self.items, &other.items);
        add_sorted(&mut self.listeners, &other.listeners);
        add_sorted(&mut self.erased, &other.erased);
        add_sorted(&mut self.views, &other.views);
        add_sorted(&mut self.visits, &other.visits);
        add_sorted(&mut self.joins, &other.joins);
    }

    /// Removes the entries of the selected views, and returns them as a notice of their own.
    #[must_use]
    pub fn take_views(&mut self, is_taken: impl Fn(ViewId) -> bool) -> Self {
        Self {
            views: self.views.extract_if(.., |view| is_taken(*view)).collect(),
            visits: self.visits.extract_if(.., |(_, view)| is_taken(*view)).collect(),
            joins: self.joins.extract_if(.., |(_, view)| is_taken(*view)).collect(),
            ..Self::for_tenant(self.tenant)
        }
    }

    /// Limits the message's size: replaces a long list of views by `all_views`, any other long list by `everybody`.
    pub fn limit_size(&mut self) {
        self.all_views |= self.views.len() + 2 * (self.visits.len() + self.joins.len()) > VIEW_IDS;
        if self.all_views {
            self.views.clear();
            self.visits.clear();
            self.joins.clear();
        }
        let users = self.users.len() + self.changed.len() + self.listeners.len() + self.erased.len();
        if users + self.channels.len() + self.items.len() + 2 * self.seqs.len() > IDS {
            *self = Self {
                everybody: true,
                seqs: self.seqs.first().copied().into_iter().collect(),
                ..Self::for_tenant(self.tenant)
            };
        }
    }
}

fn add_sorted<T: Copy + Ord>(to: &mut Vec<T>, more: &[T]) {
    if more.is_empty() {
        return;
    }
    to.extend_from_slice(more);
    to.sort_unstable();
    to.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_merge_and_long_ones_become_everybody() {
        let mut all =
            Notice { seqs: vec![(Seq(1), Seq(3))], ..Notice::inbox_changes(TenantId(7), &[UserId(2), UserId(1)]) };
        all.merge(&Notice {
            seqs: vec![(Seq(4), Seq(4))],
            ..Notice::inbox_changes(TenantId(7), &[UserId(2), UserId(9)])
        });
        assert_eq!(all.changed, [UserId(1), UserId(2), UserId(9)]);
        assert_eq!(all.seqs, [(Seq(1), Seq(4))]);
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(text, r#"{"t":7,"s":[[1,4]],"m":[1,2,9]}"#);
        assert_eq!(serde_json::from_str::<Notice>(&text).unwrap(), all);

        all.merge(&Notice::subscription_changes(TenantId(7), &(0..2000).map(UserId).collect::<Vec<_>>()));
        all.limit_size();
        assert!(all.everybody && all.listeners.is_empty());
    }

    #[test]
    fn what_is_said_of_views_merges_and_can_be_taken_out() {
        let mut all = Notice::view_visits(TenantId(7), ViewId(2), &[UserId(5), UserId(4)]);
        all.merge(&Notice { views: vec![ViewId(3)], ..Notice::view_visits(TenantId(7), ViewId(2), &[UserId(4)]) });
        all.merge(&Notice::view_joins(TenantId(7), ViewId(2), &[UserId(6)]));
        assert_eq!(serde_json::to_string(&all).unwrap(), r#"{"t":7,"v":[3],"w":[[4,2],[5,2]],"j":[[6,2]]}"#);
        let taken = all.take_views(|view| view == ViewId(2));
        assert_eq!(taken.visits, [(UserId(4), ViewId(2)), (UserId(5), ViewId(2))]);
        assert_eq!(taken.joins, [(UserId(6), ViewId(2))]);
        assert_eq!(all, Notice { views: vec![ViewId(3)], ..Notice::for_tenant(TenantId(7)) });

        all.merge(&Notice::view_visits(TenantId(7), ViewId(2), &(0..250).map(UserId).collect::<Vec<_>>()));
        all.limit_size();
        assert_eq!(all, Notice { all_views: true, ..Notice::for_tenant(TenantId(7)) });
    }
}
