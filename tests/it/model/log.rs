//! The model of sent notifications: their publication, audience and fate.

use std::collections::BTreeSet;

use serde_json::json;

use super::after::Patch;
use super::expected::{Answer, Item, Tenant};
use super::op::{Draft, TARGETS, TTLS, To, USERS};

/// The number of hours after which a sweep deletes a published or cancelled notification.
pub const RETENTION: i64 = 30 * 24;

/// A notification. Its number, which is in its title, is the number of notifications sent before it.
#[derive(Debug)]
pub struct Sent {
    pub draft: Draft,
    /// How many times its text was amended, which the title also shows.
    edits: usize,
    /// The hour of publication while it is scheduled.
    due: Option<i64>,
    /// Its log position, and the hour of its publication.
    pub published: Option<(usize, i64)>,
    /// The hour from which it is in no list.
    pub expires: Option<i64>,
    retracted: Option<i64>,
    pub is_swept: bool,
    /// The users it is for, and the users who certainly have it in their inbox.
    pub reached: BTreeSet<usize>,
    pub arrived: BTreeSet<usize>,
    pub readers: BTreeSet<usize>,
    /// Users it was for who did not want it.
    pub unwanted: BTreeSet<usize>,
}

impl Sent {
    pub fn title(&self, number: usize) -> String {
        format!("n{number}{}", "'".repeat(self.edits))
    }

    pub fn has_expired(&self, hour: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= hour)
    }

    pub fn status(&self, hour: i64) -> &'static str {
        match self {
            Self { retracted: Some(_), .. } => "RETRACTED",
            Self { published: None, .. } => "SCHEDULED",
            _ if self.has_expired(hour) => "EXPIRED",
            _ => "PUBLISHED",
        }
    }

    /// Whether it is about a target without subscribers.
    pub fn is_noise(&self) -> bool {
        matches!(self.draft.to, To::Subscribers(target, _) if target == TARGETS.len())
    }

    /// Whether a sweep deletes it.
    fn is_old(&self, hour: i64) -> bool {
        let since = self.published.map(|(_, hour)| hour).or(self.retracted);
        since.is_some_and(|since| since < hour - RETENTION)
    }
}

/// The number in a title.
pub fn number(title: &str) -> usize {
    title[1..].trim_end_matches('\'').parse().expect("titles are n, the number, and a stroke for each change")
}

/// A draft about a target that no user and no group ever subscribes to.
pub fn noise() -> Draft {
    Draft { to: To::Subscribers(TARGETS.len(), 0), of_type: 0, sender: None, later: None, lasts: None }
}

impl Tenant {
    pub fn send(&mut self, drafts: &[Draft]) -> Answer {
        let is_known = |draft: &Draft| match &draft.to {
            To::Groups(groups) => groups.iter().all(|group| self.has_group(*group)),
            _ => true,
        };
        if !drafts.iter().all(is_known) {
            return Err("BAD_USER_INPUT");
        }
        for draft in drafts {
            let due = draft.later.map(|later| self.hour + later);
            self.sent.push(Sent {
                draft: draft.clone(),
                edits: 0,
                due,
                published: None,
                expires: draft.lasts.map(|lasts| due.unwrap_or(self.hour) + lasts),
                retracted: None,
                is_swept: false,
                reached: BTreeSet::new(),
                arrived: BTreeSet::new(),
                readers: BTreeSet::new(),
                unwanted: BTreeSet::new(),
            });
            if due.is_none() {
                self.publish(self.sent.len() - 1);
            }
        }
        Ok(json!(drafts.iter().map(|_| json!({ "replayed": false })).collect::<Vec<_>>()))
    }

    /// Advances the clock and publishes what falls due, in the order of the times.
    pub fn advance(&mut self, hours: i64) {
        self.hour += hours;
        let waiting = self.sent.iter().enumerate().filter_map(|(number, sent)| Some((sent.due?, number)));
        let mut due: Vec<(i64, usize)> = waiting.filter(|(due, _)| *due <= self.hour).collect();
        due.sort_unstable();
        for (_, number) in due {
            self.publish(number);
        }
    }

    /// Publishes to all who are subscribed now and want it.
    fn publish(&mut self, number: usize) {
        let (place, hour) = (self.log.len(), self.hour);
        self.log.push(number);
        let draft = self.sent[number].draft.clone();
        let is_named = matches!(draft.to, To::Users(_) | To::Receiver(_));
        let sent = &mut self.sent[number];
        (sent.due, sent.published) = (None, Some((place, hour)));
        sent.expires = sent.expires.or(TTLS[draft.of_type].map(|ttl| hour + ttl));
        if sent.has_expired(hour) {
            return;
        }
        for user in 0..USERS.len() {
            if self.reaches(&draft, user) && !self.wants(&draft, user) {
                self.sent[number].unwanted.insert(user);
            } else if self.reaches(&draft, user) {
                self.users[user].inbox.insert(place, Item::default());
                let sent = &mut self.sent[number];
                sent.reached.insert(user);
                if is_named {
                    sent.arrived.insert(user);
                }
            }
        }
    }

    /// Returns the title and the status.
    pub fn amend(&mut self, number: usize, patch: &Patch) -> Answer {
        let hour = self.hour;
        let sent = &mut self.sent[number];
        match sent.status(hour) {
            _ if sent.is_swept => return Err("NOT_FOUND"),
            "RETRACTED" | "EXPIRED" => return Err("CONFLICT"),
            "PUBLISHED" if patch.publish.is_some() => return Err("CONFLICT"),
            _ => {}
        }
        let due = sent.due.map(|due| patch.publish.map_or(due, |hours| hour + hours.max(0)));
        let expires = patch.expiry.map_or(sent.expires, |said| {
            let ttl = sent.published.and_then(|(_, hour)| Some(hour + TTLS[sent.draft.of_type]?));
            said.map(|hours| hour + hours).or(ttl)
        });
        if expires.is_some_and(|expires| expires <= due.map_or(hour, |due| due.max(hour))) {
            return Err("BAD_USER_INPUT");
        }
        (sent.due, sent.expires) = (due, expires);
        sent.edits += usize::from(patch.is_edited);
        Ok(json!({ "title": sent.title(number), "status": sent.status(hour) }))
    }

    /// Returns the title and the status.
    pub fn retract(&mut self, number: usize) -> Answer {
        let hour = self.hour;
        let sent = &mut self.sent[number];
        if sent.is_swept {
            return Err("NOT_FOUND");
        }
        sent.retracted.get_or_insert(hour);
        sent.due = None;
        if let Some((place, _)) = sent.published {
            for user in &mut self.users {
                user.inbox.remove(&place);
            }
        }
        Ok(json!({ "title": sent.title(number), "status": "RETRACTED" }))
    }

    /// Deletes everything past the retention window.
    pub fn sweep(&mut self) {
        let hour = self.hour;
        for sent in &mut self.sent {
            sent.is_swept |= sent.is_old(hour);
        }
        for user in 0..USERS.len() {
            self.forget_old(user);
        }
        self.views.forget_keys(hour - RETENTION);
    }

    /// Introduces a user to the tenant. Their inbox reaches back as far as the retention window.
    pub fn introduce(&mut self, user: usize) {
        if !std::mem::replace(&mut self.users[user].is_known, true) {
            self.forget_old(user);
        }
    }

    fn forget_old(&mut self, user: usize) {
        let (sent, log, hour) = (&self.sent, &self.log, self.hour);
        self.users[user].inbox.retain(|place, _| !sent[log[*place]].is_old(hour));
    }

    /// Records that a user has seen everything in their inbox.
    pub fn show(&mut self, user: usize) {
        for place in self.users[user].inbox.keys() {
            let sent = &mut self.sent[self.log[*place]];
            if !sent.has_expired(self.hour) {
                sent.arrived.insert(user);
            }
        }
    }
}
