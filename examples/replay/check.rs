//! Opens every inbox and compares it with the model.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::activity::Topic;
use crate::client::Client;
use crate::expected::Expected;
use crate::inbox::{self, Listed, Seen};
use crate::{Result, per_second};

/// Users per request for overviews.
const OVERVIEW_BATCH: usize = 50;

/// Inboxes between two progress messages.
const PROGRESS_STEP: usize = 100;

/// Checks all overviews, and the lists of all users or of `sample` of them; returns the differences.
pub async fn run(
    client: &Client,
    expected: &Expected<'_>,
    connections: usize,
    sample: Option<usize>,
) -> Result<Vec<String>> {
    let users = expected.users();
    let seen = overviews(client, &users, connections).await?;
    let unread_total: usize = seen.values().map(|seen| seen.unread).sum();
    println!("{} items expected, {unread_total} unread on the server", expected.total());
    let mut disagreements: Vec<String> =
        users.iter().flat_map(|user| compare_overview(user, &seen[*user], expected)).collect();

    // Evenly from the largest inbox to the smallest, because both kinds have bugs of their own.
    let sample = sample.unwrap_or(users.len());
    let sampled: Vec<&str> = match users.len().checked_div(sample) {
        Some(step) => users.iter().copied().step_by(step.max(1)).take(sample).collect(),
        None => Vec::new(),
    };
    let started = Instant::now();
    let (mut inbox_count, mut item_count) = (0, 0);
    let mut lists = stream::iter(&sampled)
        .map(async |user| inbox::list(client, user).await.map(|listed| (*user, listed)))
        .buffer_unordered(connections);
    while let Some((user, listed)) = lists.try_next().await? {
        disagreements.extend(compare_list(user, &listed, &seen[user], expected));
        inbox_count += 1;
        item_count += listed.item_count;
        if inbox_count % PROGRESS_STEP == 0 || inbox_count == sampled.len() {
            let rate = per_second(item_count, started.elapsed());
            println!("listed {inbox_count} of {} inboxes, {item_count} items, {rate} items/s", sampled.len());
        }
    }
    let expected_count: usize = sampled.iter().map(|user| expected.of_user(user)).sum();
    println!("{expected_count} items expected in the listed inboxes, {item_count} listed");
    Ok(disagreements)
}

async fn overviews(client: &Client, users: &[&str], connections: usize) -> Result<HashMap<String, Seen>> {
    let started = Instant::now();
    let seen: HashMap<String, Seen> = stream::iter(users.chunks(OVERVIEW_BATCH))
        .map(|ids| inbox::overviews(client, ids))
        .buffer_unordered(connections)
        .try_fold(HashMap::new(), async |mut seen, of_batch| {
            seen.extend(of_batch);
            Ok(seen)
        })
        .await?;
    let elapsed = started.elapsed();
    println!("opened {} inboxes in {elapsed:.1?}, {}/s", seen.len(), per_second(seen.len(), elapsed));
    Ok(seen)
}

fn compare_overview(user: &str, seen: &Seen, expected: &Expected<'_>) -> Vec<String> {
    let expected_count = expected.of_user(user);
    let unread = seen.unread;
    let mut disagreements = Vec::new();
    if unread != expected_count {
        disagreements.push(format!("{user}: {unread} unread, {expected_count} expected"));
    }
    if seen.unread_of_type != unread {
        disagreements.push(format!("{user}: {unread} unread, {} of the only type", seen.unread_of_type));
    }
    if !seen.is_exact {
        disagreements.push(format!("{user}: the unread count was cut"));
    }
    disagreements
}

fn compare_list(user: &str, listed: &Listed, seen: &Seen, expected: &Expected<'_>) -> Vec<String> {
    let Listed { item_count, own_count, newest, .. } = listed;
    let unique_count = listed.ids.len();
    let mut disagreements = compare_topics(user, listed, expected);
    if *item_count != seen.unread {
        disagreements.push(format!("{user}: {item_count} items listed, {} unread", seen.unread));
    }
    if unique_count != *item_count {
        disagreements.push(format!("{user}: {item_count} items listed, {unique_count} different ones"));
    }
    if *newest != seen.latest {
        disagreements.push(format!("{user}: {newest:?} listed first, {:?} is latest", seen.latest));
    }
    if *own_count > 0 {
        disagreements.push(format!("{user}: {own_count} items sent by themselves"));
    }
    disagreements
}

fn compare_topics(user: &str, listed: &Listed, expected: &Expected<'_>) -> Vec<String> {
    let expected: HashMap<&Topic, usize> = expected.topics(user).collect();
    let topics: HashSet<&Topic> = expected.keys().copied().chain(listed.by_topic.keys()).collect();
    let counts = topics.into_iter().map(|topic| {
        let listed_count = listed.by_topic.get(topic).copied().unwrap_or(0);
        (topic, listed_count, expected.get(topic).copied().unwrap_or(0))
    });
    counts
        .filter(|(_, listed_count, expected_count)| listed_count != expected_count)
        .map(|(topic, listed_count, expected_count)| {
            let Topic { action, target_type, target_id } = topic;
            format!("{user}: {listed_count} of {action} {target_type} {target_id} listed, {expected_count} expected")
        })
        .collect()
}
