//! What was acknowledged, and to whom: that which must be so in the end.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// The users of a scenario go by their number.
pub type Person = usize;

/// Whom a notification is for.
#[derive(Clone, Debug)]
pub enum To {
    Everyone,
    /// Who is in the group: those with an odd number, among those who do things.
    Crew,
    People(Vec<Person>),
    /// Who hears of a topic when it is sent.
    Topic(String),
    /// It is due long after the scenario.
    NobodyYet,
}

/// A notification that was acknowledged.
#[derive(Debug)]
pub struct Sent {
    /// What the server calls it.
    pub id: String,
    pub to: To,
    /// Its key was first sent at this instant, and acknowledged by then.
    pub begun: Instant,
    pub acknowledged: Instant,
}

/// How often somebody must have a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Once,
    /// They began or ended to hear of it while it was sent, or nobody knows whether they did.
    AtMostOnce,
    Never,
}

/// Somebody begins or ends to hear of a topic.
#[derive(Debug)]
struct Change {
    person: Person,
    hears: bool,
    begun: Instant,
    /// None while it is under way, and where it failed: then it may happen at any time.
    acknowledged: Option<Instant>,
}

/// What clients know for sure.
#[derive(Debug, Default)]
pub struct Ledger {
    book: Mutex<Book>,
}

/// The pages of a ledger.
#[derive(Debug, Default)]
pub struct Book {
    pub sent: Vec<Sent>,
    /// Keys that were not acknowledged within a long time.
    pub unsent: usize,
    changes: HashMap<String, Vec<Change>>,
    /// Whose own topic is what at present.
    topics: HashMap<Person, String>,
    /// The title of each notification; none where nobody knows which of two.
    pub titles: HashMap<String, Option<String>>,
    /// Whether somebody has read an item; none where nobody knows for sure.
    pub read: HashMap<Person, HashMap<String, Option<bool>>>,
}

impl Ledger {
    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics over it")
    }
}

impl Book {
    /// Notes a change that is about to be asked for; gives its place.
    pub fn change_begins(&mut self, topic: &str, person: Person, hears: bool) -> usize {
        let changes = self.changes.entry(topic.to_owned()).or_default();
        changes.push(Change { person, hears, begun: Instant::now(), acknowledged: None });
        changes.len() - 1
    }

    /// It was acknowledged.
    pub fn change_is_done(&mut self, topic: &str, place: usize) {
        let changes = self.changes.get_mut(topic).expect("it has begun");
        changes[place].acknowledged = Some(Instant::now());
    }

    /// From now on this is somebody's own topic.
    pub fn turn_to(&mut self, person: Person, topic: &str) {
        self.topics.insert(person, topic.to_owned());
    }

    pub fn topic_of(&self, person: Person) -> Option<String> {
        self.topics.get(&person).cloned()
    }

    /// Nobody knows any more whether somebody has read whatever there is; gives what is never known again even if the mark is
    /// acknowledged.
    pub fn forget_reads(&mut self, person: Person) -> HashMap<String, Option<bool>> {
        let read = self.read.entry(person).or_default();
        let never = read.iter().filter(|(_, read)| read.is_none()).map(|(id, read)| (id.clone(), *read)).collect();
        read.extend(self.sent.iter().map(|sent| (sent.id.clone(), None)));
        never
    }

    /// Nobody knows whether somebody has read these until a mark is acknowledged; gives those of which it will be known then. Of
    /// others a mark that was given up may still come.
    pub fn doubt_reads(&mut self, person: Person, ids: &[&str]) -> Vec<String> {
        let read = self.read.entry(person).or_default();
        let known = ids.iter().filter(|id| read.get(**id) != Some(&None)).map(|id| (*id).to_owned()).collect();
        read.extend(ids.iter().map(|id| ((*id).to_owned(), None)));
        known
    }

    /// How often somebody must have what was sent. `people` of them do things, and the others only listen.
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
