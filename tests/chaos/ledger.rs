//! Records which requests were acknowledged, and thus what must be true in the end.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// The number of a user in a scenario.
pub type Person = usize;

/// The audience of a notification.
#[derive(Clone, Debug)]
pub enum To {
    Everyone,
    /// The members of the group: the active users with an odd number.
    Crew,
    People(Vec<Person>),
    /// The users who are subscribed to the topic when it is sent.
    Topic(String),
    /// No audience: it is due long after the scenario.
    NobodyYet,
}

/// An acknowledged notification.
#[derive(Debug)]
pub struct Sent {
    /// Its id on the server.
    pub id: String,
    pub to: To,
    /// When its idempotency key was first sent, and when the server had acknowledged it.
    pub begun: Instant,
    pub acknowledged: Instant,
}

/// How often a user must have a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Once,
    /// Their subscription changed while it was sent, or its state is unknown.
    AtMostOnce,
    Never,
}

/// A user subscribes to a topic or unsubscribes from it.
#[derive(Debug)]
struct Change {
    person: Person,
    hears: bool,
    begun: Instant,
    /// `None` while the request runs, or if it failed: then the change may take effect at any time.
    acknowledged: Option<Instant>,
}

/// What clients know for certain.
#[derive(Debug, Default)]
pub struct Ledger {
    book: Mutex<Book>,
}

/// The data of a ledger.
#[derive(Debug, Default)]
pub struct Book {
    pub sent: Vec<Sent>,
    /// The number of notifications that were not acknowledged within the time limit.
    pub unsent: usize,
    changes: HashMap<String, Vec<Change>>,
    /// The current topic of each user.
    topics: HashMap<Person, String>,
    /// The title of each notification; `None` while it is unknown which of two it has.
    pub titles: HashMap<String, Option<String>>,
    /// Whether a user has read an item; `None` while that is unknown.
    pub read: HashMap<Person, HashMap<String, Option<bool>>>,
}

impl Ledger {
    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics over it")
    }
}

impl Book {
    /// Records a change before it is requested, and returns its index.
    pub fn change_begins(&mut self, topic: &str, person: Person, hears: bool) -> usize {
        let changes = self.changes.entry(topic.to_owned()).or_default();
        changes.push(Change { person, hears, begun: Instant::now(), acknowledged: None });
        changes.len() - 1
    }

    /// Records that a change was acknowledged.
    pub fn change_is_done(&mut self, topic: &str, place: usize) {
        let changes = self.changes.get_mut(topic).expect("it has begun");
        changes[place].acknowledged = Some(Instant::now());
    }

    /// Sets the current topic of a user.
    pub fn turn_to(&mut self, person: Person, topic: &str) {
        self.topics.insert(person, topic.to_owned());
    }

    pub fn topic_of(&self, person: Person) -> Option<String> {
        self.topics.get(&person).cloned()
    }

    /// Marks the read state of all of a user's items as unknown. Returns the items that stay unknown even if the mark
    /// is acknowledged.
    pub fn forget_reads(&mut self, person: Person) -> HashMap<String, Option<bool>> {
        let read = self.read.entry(person).or_default();
        let never = read.iter().filter(|(_, read)| read.is_none()).map(|(id, read)| (id.clone(), *read)).collect();
        read.extend(self.sent.iter().map(|sent| (sent.id.clone(), None)));
        never
    }

    /// Marks the read state of items as unknown until a mark is acknowledged. Returns the items with a known state
    /// after that. For the others, an earlier mark that was given up may still take effect.
    pub fn doubt_reads(&mut self, person: Person, ids: &[&str]) -> Vec<String> {
        let read = self.read.entry(person).or_default();
        let known = ids.iter().filter(|id| read.get(**id) != Some(&None)).map(|id| (*id).to_owned()).collect();
        read.extend(ids.iter().map(|id| ((*id).to_owned(), None)));
        known
    }

    /// How often a user must have a notification. The first `people` users are active; the others only listen.
    pub fn expects(&self, sent: &Sent, person: Person, people: usize) -> Expected {
        let is_for_them = match &sent.to {
            To::Everyone => true,
            To::Crew => person < people && person % 2 == 1,
            To::People(people) => people.contains(&person),
            To::Topic(topic) => return self.hears(topic, person, sent),
            To::NobodyYet => false,
        };
        if is_for_them { Expected::Once } else { Expected::Never }
    }

    fn hears(&self, topic: &str, person: Person, sent: &Sent) -> Expected {
        let mut expected = Expected::Never;
        let own = self.changes.get(topic).into_iter().flatten().filter(|change| change.person == person);
        for change in own {
            if change.acknowledged.is_some_and(|at| at <= sent.begun) {
                expected = if change.hears { Expected::Once } else { Expected::Never };
            } else if change.begun < sent.acknowledged {
                return Expected::AtMostOnce;
            }
        }
        expected
    }
}
