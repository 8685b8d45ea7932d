//! What can happen to a notification after it was sent, the requests for that, and the operators' view of all sent
//! notifications.

use domain::counters;
use maintenance::scheduled::sweep;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::drive::Driver;
use super::expected::{Answer, Tenant};
use super::log::{Sent, number};
use super::op::{Mix, hours};
use super::request::Call;

/// The fields of a notification that operators see.
const SENT: &str = "kind title status publishAt expiresAt stats { deliveredCount readCount } statsByHour { readCount }";

/// The number of newest notifications to choose from.
const RECENT: usize = 8;

/// What happens to a sent notification, which is chosen among the newest.
#[derive(Clone, Debug)]
pub enum Fate {
    Amend(Index, Patch),
    Retract(Index),
    /// Deletes everything past the retention window.
    Sweep,
    /// Counts recipients and readers, and compares the operators' view.
    Count,
}

/// A change of a notification. Hours are from now on.
#[derive(Clone, Copy, Debug)]
pub struct Patch {
    pub is_edited: bool,
    pub publish: Option<i64>,
    /// `Some(None)` restores the type's TTL.
    #[expect(clippy::option_option, reason = "left out, cleared or a value")]
    pub expiry: Option<Option<i64>>,
}

pub fn fate() -> impl Strategy<Value = Fate> {
    // Published at once, or at another time.
    let publish = option::weighted(0.25, prop_oneof![1 => -1..=0_i64, 2 => hours()]);
    let expiry = option::of(option::weighted(0.7, hours()));
    let patch =
        (any::<bool>(), publish, expiry).prop_map(|(is_edited, publish, expiry)| Patch { is_edited, publish, expiry });
    prop_oneof![
        6 => (any::<Index>(), patch).prop_map(|(of, patch)| Fate::Amend(of, patch)),
        3 => any::<Index>().prop_map(Fate::Retract),
        2 => Just(Fate::Sweep),
        2 => Just(Fate::Count),
    ]
}

impl Tenant {
    pub fn befall(&mut self, fate: &Fate) -> Answer {
        match fate {
            Fate::Amend(of, patch) => self.amend(self.chosen(*of), patch),
            Fate::Retract(of) => self.retract(self.chosen(*of)),
            Fate::Sweep | Fate::Count => Ok(Value::Null),
        }
    }

    fn chosen(&self, of: Index) -> usize {
        self.recent(of).expect("nothing is asked where there is nothing to choose from")
    }

    /// The number of one of the newest notifications that have an audience.
    fn recent(&self, of: Index) -> Option<usize> {
        let heard = self.sent.iter().enumerate().rev().filter(|(_, sent): &(usize, &Sent)| !sent.is_noise());
        let recent: Vec<usize> = heard.map(|(number, _)| number).take(RECENT).collect();
        (!recent.is_empty()).then(|| recent[of.index(recent.len())])
    }
}

impl<'a> Driver<'a> {
    /// Does what needs no request. Returns whether nothing is left to do.
    pub(super) async fn chore(&mut self, fate: &Fate) -> Result<bool, String> {
        match fate {
            Fate::Sweep => {
                sweep::sweep_all(&self.app.app.delivery).await.map_err(|error| error.to_string())?;
                self.model.sweep();
            }
            Fate::Count => self.compare_sent().await?,
            Fate::Amend(of, _) | Fate::Retract(of) => return Ok(self.model.recent(*of).is_none()),
        }
        Ok(true)
    }

    pub(super) fn fate_call(&self, fate: &Fate) -> Call<'a> {
        let id = |of: &Index| &self.ids[self.model.chosen(*of)];
        let actor = self.service();
        match fate {
            Fate::Amend(of, patch) => {
                let instant = |hours: i64| self.instant(self.model.hour + hours);
                let mut input = json!({ "publishAt": patch.publish.map(instant) });
                if patch.is_edited {
                    let number = self.model.chosen(*of);
                    input["title"] = json!(self.model.sent[number].title(number) + "'");
                }
                match patch.expiry {
                    Some(Some(hours)) => input["expiresAt"] = json!(instant(hours)),
                    Some(None) => input["clear"] = json!(["EXPIRES_AT"]),
                    None => {}
                }
                let query = "mutation($id: ID!, $of: NotificationPatch!) { \
                    done: updateSentNotification(id: $id, input: $of) { title status } }";
                Call { actor, query: query.into(), variables: json!({ "id": id(of), "of": input }), path: "/done" }
            }
            Fate::Retract(of) => {
                let query = "mutation($id: ID!) { done: retractSentNotification(id: $id) { title status } }";
                Call { actor, query: query.into(), variables: json!({ "id": id(of) }), path: "/done" }
            }
            Fate::Sweep | Fate::Count => unreachable!("these are no requests"),
        }
    }

    /// Counts, and compares all sent notifications with the model, newest first.
    pub async fn compare_sent(&self) -> Result<(), String> {
        counters::update_counters(&self.app.app).await.map_err(|error| error.to_string())?;
        let observed = self.sent(&Value::Null).await;
        let kept = self.model.sent.iter().enumerate().rev().filter(|(_, sent)| !sent.is_swept);
        let lines: Vec<String> = observed.iter().map(|of| self.observed_line(of)).collect();
        let expected: Vec<String> = kept.clone().map(|(number, sent)| self.expected_line(number, sent)).collect();
        if lines != expected {
            return Err(format!("what was sent is {lines:#?} instead of {expected:#?}"));
        }
        for status in ["SCHEDULED", "PUBLISHED", "EXPIRED", "RETRACTED"] {
            let observed = self.sent(&json!({ "statuses": [status] })).await;
            let observed: Vec<usize> = observed.iter().map(number_of).collect();
            let expected = kept.clone().filter(|(_, sent)| sent.status(self.model.hour) == status);
            let expected: Vec<usize> = expected.map(|(number, _)| number).collect();
            if observed != expected {
                return Err(format!("{status} is {observed:?} instead of {expected:?}"));
            }
        }
        Ok(())
    }

    async fn sent(&self, filter: &Value) -> Vec<Value> {
        let query = format!(
            "query($filter: NotificationFilter, $after: String) {{ sentNotifications(filter: $filter, first: 200, after: $after) {{ \
            nodes {{ {SENT} }} pageInfo {{ hasNextPage endCursor }} }} }}"
        );
        let (mut sent, mut after) = (Vec::new(), Value::Null);
        loop {
            let data = self.service().ask(&query, json!({ "filter": filter, "after": after })).await;
            let page = &data["sentNotifications"];
            sent.extend(page["nodes"].as_array().expect("it is a list").iter().cloned());
            if page["pageInfo"]["hasNextPage"] != json!(true) {
                return sent;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
    }

    /// If not all users look after each step, the delivered count may be anything from the users who have seen it to
    /// the users it is for. It then counts as correct.
    fn observed_line(&self, of: &Value) -> String {
        let (delivered, read) = (&of["stats"]["deliveredCount"], &of["stats"]["readCount"]);
        let hours = of["statsByHour"].as_array().expect("it is a list").iter();
        let by_hour: i64 = hours.filter_map(|hour| hour["readCount"].as_i64()).sum();
        assert!(of["kind"] == "MESSAGE" || read.as_i64() == Some(by_hour), "the hours have another sum: {of}");
        let sent = &self.model.sent[number_of(of)];
        let between = sent.arrived.len()..=sent.reached.len();
        let many = delivered.as_u64().and_then(|many| usize::try_from(many).ok());
        let is_right = self.mix == Mix::Unwatched && many.is_some_and(|many| between.contains(&many));
        let delivered = if is_right { json!(sent.arrived.len()) } else { delivered.clone() };
        let text = |name: &str| of[name].as_str().unwrap_or("-").to_owned();
        format!("{} {} until {}: {delivered}, {read}", text("title"), text("status"), text("expiresAt"))
    }

    fn expected_line(&self, number: usize, sent: &Sent) -> String {
        let (title, status) = (sent.title(number), sent.status(self.model.hour));
        let expires = sent.expires.map_or("-".to_owned(), |hour| self.instant(hour));
        format!("{title} {status} until {expires}: {}, {}", sent.arrived.len(), sent.readers.len())
    }
}

fn number_of(sent: &Value) -> usize {
    number(sent["title"].as_str().unwrap_or("n0"))
}
