//! The model: how many items each user must have about each topic after the replay.

use std::collections::{BTreeMap, HashMap};

use crate::activity::{Activity, Topic};

/// Items each user must have, by topic.
pub struct Expected<'a> {
    by_user: BTreeMap<&'a str, HashMap<&'a Topic, usize>>,
}

impl<'a> Expected<'a> {
    /// Applies the rule to the activities, in order of time, without batches and lanes.
    pub fn of(activities: &'a [Activity]) -> Self {
        let mut by_topic: HashMap<&Topic, BTreeMap<&str, usize>> = HashMap::new();
        for activity in activities {
            let subscribers = by_topic.entry(&activity.topic).or_default();
            subscribers.entry(&activity.actor).or_default();
            for (subscriber, item_count) in subscribers {
                if *subscriber != activity.actor {
                    *item_count += 1;
                }
            }
        }

        let mut by_user: BTreeMap<&str, HashMap<&Topic, usize>> = BTreeMap::new();
        for (topic, subscribers) in by_topic {
            for (user, item_count) in subscribers {
                by_user.entry(user).or_default().insert(topic, item_count);
            }
        }
        Self { by_user }
    }

    /// All actors, those with the most items first: starting the longest lists early makes all end at about the same
    /// time.
    pub fn users(&self) -> Vec<&'a str> {
        let mut users: Vec<&str> = self.by_user.keys().copied().collect();
        users.sort_by_cached_key(|user| std::cmp::Reverse(self.of_user(user)));
        users
    }

    pub fn of_user(&self, user: &str) -> usize {
        self.topics(user).map(|(_, item_count)| item_count).sum()
    }

    /// The topics that the user has subscribed to, with the expected number of items, which may be 0.
    pub fn topics(&self, user: &str) -> impl Iterator<Item = (&'a Topic, usize)> {
        let topics = self.by_user.get(user).into_iter().flatten();
        topics.map(|(topic, item_count)| (*topic, *item_count))
    }

    pub fn total(&self) -> usize {
        self.by_user.keys().map(|user| self.of_user(user)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::parse;

    #[test]
    fn a_reminder_reaches_those_who_acted_before_or_with_it_save_the_actor() {
        let lines = r#"{"at":"2017-12-21T10:00:00Z","actor":"ada","action":"change","targetType":"folder","target":"src"}
{"at":"2017-12-21T10:00:01Z","actor":"bob","action":"change","targetType":"folder","target":"src"}
{"at":"2017-12-21T10:00:02Z","actor":"eve","action":"comment","targetType":"folder","target":"src"}
{"at":"2017-12-21T10:00:04Z","actor":"eve","action":"change","targetType":"folder","target":"src"}
{"at":"2017-12-21T10:00:03Z","actor":"ada","action":"change","targetType":"folder","target":"src"}
"#;
        let activities = parse(lines.as_bytes()).expect("the lines are well-formed");
        let expected = Expected::of(&activities);

        assert_eq!(expected.users(), ["ada", "bob", "eve"]);
        assert_eq!(expected.of_user("ada"), 2, "bob's and eve's change");
        assert_eq!(expected.of_user("bob"), 2, "ada's second and eve's change");
        assert_eq!(expected.of_user("eve"), 0, "she came last on both topics");
        assert_eq!(expected.total(), 4);
    }
}
