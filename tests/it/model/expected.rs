//! The model: a tenant in memory that delivers everything at once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::log::Sent;
use super::op::{AUTO, Change, Draft, GROUPS, Listener, MANDATORY, Switch, To, USERS};
use super::switches::Switches;
use super::views::Views;

/// An answer, or an error code.
pub type Answer = Result<Value, &'static str>;

#[derive(Debug, Default)]
pub struct Tenant {
    pub hour: i64,
    pub views: Views,
    /// By number.
    pub sent: Vec<Sent>,
    /// The numbers of the published notifications, by log position.
    pub log: Vec<usize>,
    pub users: [User; USERS.len()],
    /// The topics of the group, or `None` if it does not exist.
    groups: [Option<BTreeSet<(usize, usize)>>; GROUPS.len()],
    defaults: Switches,
}

#[derive(Debug, Default)]
pub struct User {
    pub is_known: bool,
    /// By log position.
    pub inbox: BTreeMap<usize, Item>,
    /// The length of the log when the user last saw the whole inbox.
    seen: usize,
    topics: BTreeSet<(usize, usize)>,
    follows: BTreeSet<usize>,
    groups: BTreeSet<usize>,
    own: Switches,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item {
    pub is_read: bool,
    pub is_archived: bool,
}

/// The items that a mark selects, by log position.
#[derive(Debug)]
pub enum Which {
    These(Vec<usize>),
    Matching { types: Option<Vec<usize>>, target: Option<usize>, up_to: Option<usize> },
}

/// The items that a list shows. `None` means no condition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    pub is_archived: bool,
    pub is_read: Option<bool>,
    pub of_type: Option<usize>,
    pub target: Option<usize>,
    pub action: Option<usize>,
    pub sender: Option<usize>,
}

impl Tenant {
    pub fn has_group(&self, group: usize) -> bool {
        self.groups[group].is_some()
    }

    pub fn wants(&self, draft: &Draft, user: usize) -> bool {
        self.users[user].own.want(&self.defaults, draft)
    }

    pub fn reaches(&self, draft: &Draft, user: usize) -> bool {
        let who = &self.users[user];
        match &draft.to {
            To::Everyone => true,
            To::Groups(groups) => groups.iter().any(|group| who.groups.contains(group)),
            To::Users(users) => users.contains(&user),
            To::Receiver(receiver) => *receiver == user,
            To::Subscribers(target, action) => {
                let topic = (*target, *action);
                let by_group =
                    |group: &usize| self.groups[*group].as_ref().is_some_and(|topics| topics.contains(&topic));
                let follows = draft.sender.is_some_and(|sender| who.follows.contains(&sender));
                let hears = who.topics.contains(&topic) || follows || who.groups.iter().any(by_group);
                hears && draft.sender != Some(user)
            }
        }
    }

    /// The topics of a user or group.
    fn topics(&mut self, who: Listener) -> Result<&mut BTreeSet<(usize, usize)>, &'static str> {
        match who {
            Listener::User(user) => Ok(&mut self.users[user].topics),
            Listener::Group(group) => self.groups[group].as_mut().ok_or("NOT_FOUND"),
        }
    }

    pub fn subscribe(&mut self, who: Listener, target: usize, actions: &[usize]) -> Answer {
        let topics = self.topics(who)?;
        Ok(json!(actions.iter().filter(|action| topics.insert((target, **action))).count()))
    }

    pub fn unsubscribe(&mut self, who: Listener, target: usize, actions: Option<&[usize]>) -> Answer {
        let topics = self.topics(who)?;
        let before = topics.len();
        topics.retain(|(on, action)| *on != target || actions.is_some_and(|actions| !actions.contains(action)));
        Ok(json!(before - topics.len()))
    }

    pub fn follow(&mut self, user: usize, other: usize) -> Value {
        self.users[user].follows.insert(other);
        json!(USERS[other])
    }

    pub fn unfollow(&mut self, user: usize, other: usize) -> Value {
        self.users[user].follows.remove(&other);
        json!(USERS[other])
    }

    pub fn join(&mut self, group: usize, users: &[usize]) -> Answer {
        self.groups[group].as_ref().ok_or("NOT_FOUND")?;
        for user in users {
            self.users[*user].groups.insert(group);
        }
        Ok(self.member_count(group))
    }

    pub fn leave(&mut self, group: usize, users: &[usize]) -> Answer {
        self.groups[group].as_ref().ok_or("NOT_FOUND")?;
        for user in users {
            self.users[*user].groups.remove(&group);
        }
        Ok(self.member_count(group))
    }

    pub fn save_group(&mut self, group: usize) -> Value {
        self.groups[group].get_or_insert_default();
        self.member_count(group)
    }

    fn member_count(&self, group: usize) -> Value {
        json!(self.users.iter().filter(|user| user.groups.contains(&group)).count())
    }

    pub fn delete_group(&mut self, group: usize) -> Value {
        for user in &mut self.users {
            user.groups.remove(&group);
        }
        json!(self.groups[group].take().is_some())
    }

    /// Returns all switches as the user then sees them.
    pub fn prefer(&mut self, user: usize, switch: Switch, on: Option<bool>) -> Answer {
        if matches!(switch, Switch::Type(MANDATORY)) && on == Some(false) {
            return Err("BAD_USER_INPUT");
        }
        self.users[user].own.set(switch, on);
        Ok(self.users[user].own.shown(&self.defaults))
    }

    pub fn prefer_by_default(&mut self, switch: Switch, on: Option<bool>) -> Value {
        self.defaults.set(switch, on);
        Switches::default().shown(&self.defaults)
    }

    /// Returns how many items changed.
    pub fn mark(&mut self, user: usize, change: Change, which: &Which) -> Value {
        let mut changed_count = 0;
        for (place, old) in self.users[user].inbox.clone() {
            let sent = &mut self.sent[self.log[place]];
            if sent.has_expired(self.hour) || !which.names(place, &sent.draft, old, change) {
                continue;
            }
            let mut new = old;
            match change {
                Change::Read => new.is_read = true,
                Change::Unread => new.is_read = false,
                Change::Archive => new.is_archived = true,
                Change::Unarchive => new.is_archived = false,
                Change::Delete => {
                    self.users[user].inbox.remove(&place);
                    changed_count += 1;
                    continue;
                }
            }
            changed_count += usize::from(new != old);
            if new.is_read {
                sent.readers.insert(user);
            } else {
                sent.readers.remove(&user);
            }
            self.users[user].inbox.insert(place, new);
        }
        json!(changed_count)
    }

    /// Returns the unread count that is left.
    pub fn see(&mut self, user: usize, only: Option<usize>) -> Value {
        if only.is_none_or(|of_type| of_type == AUTO) {
            let all = Which::Matching { types: Some(vec![AUTO]), target: None, up_to: None };
            self.mark(user, Change::Read, &all);
        }
        if only.is_none() {
            self.users[user].seen = self.log.len();
        }
        json!(self.list(user, Filter { is_read: Some(false), ..Filter::default() }).len())
    }

    /// Returns the items of a list with their log positions, newest first.
    pub fn list(&self, user: usize, filter: Filter) -> Vec<(usize, Item)> {
        let shows = |(place, item): &(&usize, &Item)| {
            let sent = &self.sent[self.log[**place]];
            let draft = &sent.draft;
            let topic = if let To::Subscribers(target, action) = draft.to { Some((target, action)) } else { None };
            !sent.has_expired(self.hour)
                && item.is_archived == filter.is_archived
                && filter.is_read.is_none_or(|is_read| is_read == item.is_read)
                && filter.of_type.is_none_or(|of_type| of_type == draft.of_type)
                && filter.target.is_none_or(|target| topic.is_some_and(|topic| topic.0 == target))
                && filter.action.is_none_or(|action| topic.is_some_and(|topic| topic.1 == action))
                && filter.sender.is_none_or(|sender| draft.sender == Some(sender))
        };
        let items = self.users[user].inbox.iter().rev().filter(shows);
        items.map(|(place, item)| (*place, *item)).collect()
    }

    /// The number of items in the inbox proper that arrived since the user last saw it.
    pub fn unseen(&self, user: usize) -> usize {
        let seen = self.users[user].seen;
        self.list(user, Filter::default()).iter().filter(|(place, _)| *place >= seen).count()
    }
}

impl Which {
    /// A match selects from the inbox proper, except `Unarchive`, which selects from the archive.
    fn names(&self, place: usize, draft: &Draft, item: Item, change: Change) -> bool {
        match self {
            Self::These(places) => places.contains(&place),
            Self::Matching { types, target, up_to } => {
                item.is_archived == (change == Change::Unarchive)
                    && types.as_ref().is_none_or(|types| types.contains(&draft.of_type))
                    && target.is_none_or(|target| matches!(draft.to, To::Subscribers(on, _) if on == target))
                    && up_to.is_none_or(|up_to| place <= up_to)
            }
        }
    }
}
