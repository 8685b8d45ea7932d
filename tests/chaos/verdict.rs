//! Compares the final state with the ledger.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use auth::CallerRole;
use base::clock::{Clock, to_date_time};
use futures_util::StreamExt;
use futures_util::stream::iter;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::client::{Client, Deed};
use crate::ledger::{Expected, Person};
use crate::load::{ABREAST, Load, OVERVIEW, name};
use crate::support::PATIENCE;

/// The time limit for sessions to catch up.
const SHOWN_WITHIN: Duration = Duration::from_mins(2);

/// The time limit for scheduled notifications to be published.
const DUE_WITHIN: Duration = Duration::from_secs(30);

/// The interval between two comparisons.
const LOOK: Duration = Duration::from_secs(1);

/// The problems found. All counts but `acknowledged` should be 0.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub acknowledged: usize,
    /// Acknowledged changes that are missing: notifications in inboxes, marks and texts.
    pub lost: usize,
    /// Notifications that an inbox has more than once.
    pub twice: usize,
    /// Notifications in the inboxes of users they are not for.
    pub stray: usize,
    /// Items that a session lacks, has more than once, or has out of order.
    pub holes: usize,
    /// Sessions that show a different overview than a query.
    pub late: usize,
    /// Overviews that disagree with the length of the unread list, or that were cached but outdated.
    pub miscounted: usize,
    /// Notifications that were not accepted within minutes.
    pub unsent: usize,
    /// Descriptions of the problems.
    pub words: Vec<String>,
}

impl Verdict {
    /// Whether there is no problem.
    pub fn is_clean(&self) -> bool {
        self.lost + self.twice + self.stray + self.unsent == 0 && self.is_settled()
    }

    /// Whether sessions and counts are up to date. They may take a while.
    fn is_settled(&self) -> bool {
        self.holes + self.late + self.miscounted == 0
    }
}

/// A user's inbox, as queries show it.
struct Truth {
    person: Person,
    /// The inbox proper and the archive, each newest first.
    sides: [Vec<Listed>; 2],
    overview: Value,
    unread: usize,
}

struct Listed {
    id: String,
    title: String,
    is_read: bool,
}

/// Compares after the load has stopped. Inboxes must match at once; sessions must match within two minutes.
pub async fn verdict(load: &Load) -> Verdict {
    wait_for_schedule(load).await;
    let until = Instant::now() + SHOWN_WITHIN;
    let mut first = None;
    loop {
        let truths: Vec<Truth> =
            iter(load.everybody()).map(|person| truth(load, person)).buffer_unordered(ABREAST).collect().await;
        let inboxes = first.get_or_insert_with(|| of_inboxes(load, &truths));
        let verdict = of_sessions(load, &truths, inboxes.clone());
        if verdict.is_settled() || Instant::now() > until {
            return verdict;
        }
        sleep(LOOK).await;
    }
}

/// Waits until everything that is due has been published.
async fn wait_for_schedule(load: &Load) {
    let service = load.client("shop", CallerRole::Service);
    let until = Instant::now() + DUE_WITHIN;
    let query = "{ sentNotifications(first: 200, filter: { statuses: [SCHEDULED] }) { nodes { publishAt } } }";
    loop {
        let data = insist(&service, query, json!({})).await;
        let soon = json!(to_date_time(Clock::System.now() + 10_000).to_rfc3339());
        let scheduled = data["sentNotifications"]["nodes"].as_array().expect("it is a list");
        let is_due = scheduled.iter().any(|one| one["publishAt"].as_str() < soon.as_str());
        if !is_due || Instant::now() > until {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

async fn insist(client: &Client, query: &str, variables: Value) -> Value {
    let data = client.insist(Deed::Read, query, &variables, Instant::now() + 2 * PATIENCE).await;
    data.expect("the server answers once all is calm")
}

async fn truth(load: &Load, person: Person) -> Truth {
    let client = load.client(&name(person), CallerRole::User);
    let sides = [list(&client, &json!({})).await, list(&client, &json!({ "state": "ARCHIVED" })).await];
    let overview = insist(&client, OVERVIEW, json!({})).await["viewer"]["overview"].take();
    let unread = list(&client, &json!({ "read": false })).await.len();
    Truth { person, sides, overview, unread }
}

async fn list(client: &Client, filter: &Value) -> Vec<Listed> {
    let query = "query($filter: InboxFilter, $after: String) { viewer { inbox(filter: $filter, first: 200, after: $after) { \
        nodes { notificationId title isRead } pageInfo { hasNextPage endCursor } } } }";
    let (mut items, mut after) = (Vec::new(), Value::Null);
    loop {
        let data = insist(client, query, json!({ "filter": filter, "after": after })).await;
        let page = &data["viewer"]["inbox"];
        let text = |value: &Value| value.as_str().expect("it is text").to_owned();
        let nodes = page["nodes"].as_array().expect("it is a list");
        items.extend(nodes.iter().map(|node| Listed {
            id: text(&node["notificationId"]),
            title: text(&node["title"]),
            is_read: node["isRead"] == true,
        }));
        if page["pageInfo"]["hasNextPage"] != true {
            return items;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

fn of_inboxes(load: &Load, truths: &[Truth]) -> Verdict {
    let book = load.ledger.book();
    let mut found = Verdict { acknowledged: book.sent.len(), unsent: book.unsent, ..Verdict::default() };
    for truth in truths {
        let who = name(truth.person);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for item in truth.sides.iter().flatten() {
            *counts.entry(&item.id).or_default() += 1;
            if let Some(Some(title)) = book.titles.get(&item.id)
                && *title != item.title
            {
                found.lost += 1;
                found.words.push(format!("{who}: {:?} ought to be called {title:?}", item.title));
            }
            let read = book.read.get(&truth.person).and_then(|read| read.get(&item.id)).copied().flatten();
            if let Some(read) = read.filter(|read| *read != item.is_read) {
                found.lost += 1;
                found.words.push(format!("{who}: {:?} is {}read", item.title, if read { "un" } else { "" }));
            }
        }
        for sent in &book.sent {
            let count = counts.get(sent.id.as_str()).copied().unwrap_or_default();
            let expected = book.expects(sent, truth.person, load.plan.people);
            let (is_lost, is_stray) =
                (count == 0 && expected == Expected::Once, count > 0 && expected == Expected::Never);
            found.twice += count.saturating_sub(1);
            found.lost += usize::from(is_lost);
            found.stray += usize::from(is_stray);
            if count > 1 || is_lost || is_stray {
                let title = book.titles.get(&sent.id);
                found.words.push(format!("{who}: {title:?} for {:?}: {count} times, {expected:?}", sent.to));
            }
        }
    }
    found
}

fn of_sessions(load: &Load, truths: &[Truth], mut found: Verdict) -> Verdict {
    let by_person: HashMap<Person, &Truth> = truths.iter().map(|truth| (truth.person, truth)).collect();
    for truth in truths {
        if truth.overview["unread"]["count"] != truth.unread {
            found.miscounted += 1;
            found.words.push(format!(
                "{}: {} unread are listed, of {}",
                name(truth.person),
                truth.unread,
                truth.overview
            ));
        }
    }
    for listener in &load.listeners {
        let (truth, who, is_bell) = (by_person[&listener.person], name(listener.person), listener.is_bell());
        let heard = listener.heard();
        if is_bell {
            if heard.shown.as_ref() != Some(&truth.overview) {
                found.late += 1;
                found.words.push(format!("{who}: {:?} is shown for {}", heard.shown, truth.overview));
            }
        } else {
            let holes = holes(&heard.items, &truth.sides);
            found.holes += holes;
            if holes > 0 {
                let (came, are) = (heard.items.len(), truth.sides.iter().flatten().count());
                found.words.push(format!("{who}: {holes} holes; {came} items came, {are} are listed"));
            }
        }
    }
    found
}

/// Counts the items of an inbox that a session lacks, has again or has out of order.
fn holes(heard: &[String], sides: &[Vec<Listed>; 2]) -> usize {
    let distinct: HashSet<&str> = heard.iter().map(String::as_str).collect();
    let mut holes = heard.len() - distinct.len();
    for side in sides {
        let places: HashMap<&str, usize> =
            side.iter().rev().enumerate().map(|(place, item)| (item.id.as_str(), place)).collect();
        let heard: Vec<usize> = heard.iter().filter_map(|id| places.get(id.as_str()).copied()).collect();
        let missing = places.keys().filter(|id| !distinct.contains(*id)).count();
        holes += missing + heard.windows(2).filter(|pair| pair[0] > pair[1]).count();
    }
    holes
}
