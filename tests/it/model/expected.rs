//! The model: a tenant in memory, in which everything arrives at once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::op::{AUTO, Change, Draft, GROUPS, Listener, MANDATORY, Switch, TARGETS, To, USERS};
use super::switches::Switches;
use super::views::Views;

/// Codes of refusals.
pub type Answer = Result<Value, &'static str>;

#[derive(Debug, Default)]
pub struct Tenant {
    pub hour: i64,
    pub views: Views,
    log: Vec<Sent>,
    users: [User; USERS.len()],
    /// Topics that the members hear of; nothing where the group is not there.
    groups: [Option<BTreeSet<(usize, usize)>>; GROUPS.len()],
    defaults: Switches,
}

#[derive(Debug)]
struct Sent {
    draft: Draft,
    /// The hour from which on it is in no list.
    expires: Option<i64>,
}

#[derive(Debug, Default)]
struct User {
    /// By place in the log.
    inbox: BTreeMap<usize, Item>,
    /// The length of the log when he last saw the whole inbox.
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

/// Which items a mark is about, by their places in the log.
#[derive(Debug)]
pub enum Which {
    These(Vec<usize>),
    Matching { types: Option<Vec<usize>>, target: Option<usize>, up_to: Option<usize> },
}

/// Which items a list shows; conditions left out do not count.
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
    /// Where the next notification stands in the log.
    pub fn end(&self) -> usize {
        self.log.len()
    }

    pub fn send(&mut self, drafts: &[Draft]) -> Answer {
        let is_known = |draft: &Draft| match &draft.to {
            To::Groups(groups) => groups.iter().all(|group| self.groups[*group].is_some()),
            _ => true,
        };
        if !drafts.iter().all(is_known) {
            return Err("BAD_USER_INPUT");
        }
        for draft in drafts {
            for user in 0..USERS.len() {
                if self.reaches(draft, user) && self.users[user].own.want(&self.defaults, draft) {
                    self.users[user].inbox.insert(self.log.len(), Item::default());
                }
            }
            let expires = draft.lasts.map(|lasts| self.hour + lasts);
            self.log.push(Sent { draft: draft.clone(), expires });
        }
        Ok(json!(drafts.iter().map(|_| json!({ "replayed": false })).collect::<Vec<_>>()))
    }

    fn reaches(&self, draft: &Draft, user: usize) -> bool {
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

    /// Those on a target that a user or group has.
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

    /// Answers with all switches as the user then sees them.
    pub fn prefer(&mut self, user: usize, switch: Switch, on: Option<bool>) -> Answer {
        if matches!(switch, Switch::Type(MANDATORY)) && on == Some(false) {
            return Err("BAD_USER_INPUT");
        }
        self.users[user].own.set(switch, on);
        Ok(self.users[user].own.shown(&self.defaults))
    }

    pub fn prefer_by_default(&mut self, switch: Switch, on: Option<bool>) -> Value {
        self.defaults.set(switch, on);
        json!(true)
    }

    /// Answers with how many items changed.
    pub fn mark(&mut self, user: usize, change: Change, which: &Which) -> Value {
        let (log, hour) = (&self.log, self.hour);
        let inbox = &mut self.users[user].inbox;
        let before = inbox.len();
        let mut changed_count = 0;
        inbox.retain(|place, item| {
            if log[*place].has_expired(hour) || !which.names(*place, &log[*place].draft, *item, change) {
                return true;
            }
            let old = *item;
            match change {
                Change::Read => item.is_read = true,
                Change::Unread => item.is_read = false,
                Change::Archive => item.is_archived = true,
                Change::Unarchive => item.is_archived = false,
                Change::Delete => return false,
            }
            changed_count += usize::from(*item != old);
            true
        });
        json!(changed_count + before - inbox.len())
    }

    /// Answers with the unread count that is left.
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

    /// What a list shows: places in the log, newest first.
    pub fn list(&self, user: usize, filter: Filter) -> Vec<(usize, Item)> {
        let shows = |(place, item): &(&usize, &Item)| {
            let Sent { draft, .. } = &self.log[**place];
            let topic = if let To::Subscribers(target, action) = draft.to { Some((target, action)) } else { None };
            !self.log[**place].has_expired(self.hour)
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

    /// How many items of the inbox proper arrived since he last saw it.
    pub fn unseen(&self, user: usize) -> usize {
        let seen = self.users[user].seen;
        self.list(user, Filter::default()).iter().filter(|(place, _)| *place >= seen).count()
    }

    /// The type of what stands at a place in the log.
    pub fn type_at(&self, place: usize) -> usize {
        self.log[place].draft.of_type
    }
}

impl Sent {
    fn has_expired(&self, hour: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= hour)
    }
}

impl Which {
    /// A match is about the inbox proper, but for the one that takes out of the archive.
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

/// A target that no user and no group ever subscribes to.
pub fn noise() -> Draft {
    Draft { to: To::Subscribers(TARGETS.len(), 0), of_type: 0, sender: None, lasts: None }
}
