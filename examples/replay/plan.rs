//! Splits a window of activities into lanes and stages, so that few round trips keep the required order.
//!
//! Within a topic, a subscription must come after every earlier reminder and before every later one. Different topics
//! may overtake each other, but only within a window.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::num::NonZeroUsize;

use crate::activity::{Activity, Topic};

/// Maximum subscriptions per document; servers limit the fields of a document.
const MAX_SUBSCRIPTIONS: usize = 50;

/// The work of one request: first all subscriptions, then all reminders.
///
/// A topic with a subscription in a stage has no earlier reminder in the same stage.
#[derive(Default)]
pub struct Stage<'a> {
    pub subscriptions: Vec<&'a Activity>,
    pub reminders: Vec<&'a Activity>,
}

/// Stages that one connection runs in sequence.
pub type Lane<'a> = Vec<Stage<'a>>;

/// Plans one window after the other and remembers the subscriptions.
pub struct Planner<'a> {
    lane_count: NonZeroUsize,
    batch: NonZeroUsize,
    subscribed: HashSet<(&'a str, &'a Topic)>,
}

impl<'a> Planner<'a> {
    /// A planner for `lane_count` lanes, with at most `batch` reminders per stage.
    pub fn new(lane_count: NonZeroUsize, batch: NonZeroUsize) -> Self {
        Self { lane_count, batch, subscribed: HashSet::new() }
    }

    /// The lanes of the next window. They are independent: no topic is in two of them.
    pub fn lanes(&mut self, window: &'a [Activity]) -> Vec<Lane<'a>> {
        let mut drafts = Vec::new();
        drafts.resize_with(self.lane_count.get(), || Draft::new(self.batch));
        for activity in window {
            let draft = &mut drafts[self.lane_of(&activity.topic)];
            if self.subscribed.insert((&activity.actor, &activity.topic)) {
                draft.subscribe_and_remind(activity);
            } else {
                draft.remind(activity);
            }
        }
        drafts.into_iter().map(|draft| draft.stages).collect()
    }

    fn lane_of(&self, topic: &Topic) -> usize {
        // Unlike a map's own hasher it has no random seed, so that two runs make the same requests.
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let lane = hasher.hash_one(topic) % self.lane_count.get() as u64;
        usize::try_from(lane).expect("it is less than a usize")
    }
}

/// A lane while it is filled.
///
/// Each line goes into the earliest stage that its topic and the limits allow, even if later lines already had to go
/// further back. For a busy file this takes half as many stages as filling one stage after the other.
struct Draft<'a> {
    batch: NonZeroUsize,
    stages: Lane<'a>,
    /// The stage of each topic's last reminder.
    last: HashMap<&'a Topic, usize>,
}

impl<'a> Draft<'a> {
    fn new(batch: NonZeroUsize) -> Self {
        Self { batch, stages: Vec::new(), last: HashMap::new() }
    }

    fn remind(&mut self, activity: &'a Activity) {
        let earliest = self.last.get(&activity.topic).copied().unwrap_or(0);
        self.place(activity, earliest);
    }

    fn subscribe_and_remind(&mut self, activity: &'a Activity) {
        // A stage begins with its subscriptions, so this one must be in the stage after the last reminder's.
        let earliest = self.last.get(&activity.topic).map_or(0, |last| last + 1);
        let stage = self.place(activity, earliest);
        stage.subscriptions.push(activity);
    }

    fn place(&mut self, activity: &'a Activity, earliest: usize) -> &mut Stage<'a> {
        let later = self.stages.iter().skip(earliest);
        let index = earliest + later.take_while(|stage| self.is_full(stage)).count();
        if index == self.stages.len() {
            self.stages.push(Stage::default());
        }
        self.last.insert(&activity.topic, index);
        let stage = &mut self.stages[index];
        stage.reminders.push(activity);
        stage
    }

    fn is_full(&self, stage: &Stage<'_>) -> bool {
        stage.reminders.len() >= self.batch.get() || stage.subscriptions.len() >= MAX_SUBSCRIPTIONS
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chrono::DateTime;

    use super::*;
    use crate::expected::Expected;

    /// Activities of few actors on few topics, so that every kind of sequence occurs.
    fn busy_activities(count: usize) -> Vec<Activity> {
        let mut random: u32 = 7;
        let mut below = |bound: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % bound
        };
        let mut activity = |line| Activity {
            line,
            at: DateTime::UNIX_EPOCH,
            actor: format!("a{}", below(30)),
            topic: Topic {
                action: "change".to_owned(),
                target_type: "folder".to_owned(),
                target_id: below(9).to_string(),
            },
        };
        (1..=count).map(&mut activity).collect()
    }

    /// The items that each user receives if a server runs the lanes in sequence.
    fn deliver<'a>(activities: &'a [Activity], window: usize, mut planner: Planner<'a>) -> BTreeMap<&'a str, usize> {
        let mut subscribers: HashMap<&Topic, HashSet<&str>> = HashMap::new();
        let mut item_counts = BTreeMap::new();
        for stage in activities.chunks(window).flat_map(|window| planner.lanes(window)).flatten() {
            for activity in stage.subscriptions {
                subscribers.entry(&activity.topic).or_default().insert(&activity.actor);
            }
            for activity in stage.reminders {
                for user in &subscribers[&activity.topic] {
                    *item_counts.entry(*user).or_default() += usize::from(*user != activity.actor);
                }
            }
        }
        item_counts
    }

    fn planner<'a>(lane_count: usize, batch: usize) -> Planner<'a> {
        let positive = |number| NonZeroUsize::new(number).expect("the tests use positive numbers");
        Planner::new(positive(lane_count), positive(batch))
    }

    #[test]
    fn windows_lanes_and_batches_change_nothing_about_who_gets_what() {
        let activities = busy_activities(2_000);
        let expected = Expected::of(&activities);
        let expected: BTreeMap<_, _> =
            expected.users().into_iter().map(|user| (user, expected.of_user(user))).collect();

        for (window, lane_count, batch) in [(1, 1, 1), (100, 3, 1), (150, 8, 7), (2_000, 2, 500)] {
            let delivered = deliver(&activities, window, planner(lane_count, batch));
            assert_eq!(delivered, expected, "window {window}, {lane_count} lanes, batches of {batch}");
        }
    }

    #[test]
    fn every_line_is_sent_once_in_stages_within_the_limits() {
        let activities = busy_activities(1_000);
        let stages: Vec<Stage<'_>> = planner(4, 20).lanes(&activities).into_iter().flatten().collect();

        let mut lines: Vec<usize> = stages.iter().flat_map(|stage| &stage.reminders).map(|it| it.line).collect();
        lines.sort_unstable();
        assert_eq!(lines, (1..=1_000).collect::<Vec<_>>());
        assert!(stages.iter().all(|stage| stage.reminders.len() <= 20));
        assert!(stages.iter().all(|stage| stage.subscriptions.len() <= MAX_SUBSCRIPTIONS));
    }
}
