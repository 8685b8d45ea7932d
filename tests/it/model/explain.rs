//! Why users have a notification or not: explanations agree with the lists, and give a reason that the model permits.

use auth::CallerRole;
use serde_json::{Map, Value, json};

use super::drive::Driver;
use super::expected::Tenant;
use super::log::Sent;
use super::op::{To, USERS};

/// The number of notifications in one request.
const NOTIFICATIONS: usize = 4;

impl Driver<'_> {
    /// Compares the newest notifications that have an audience and are kept, each with every user known to the tenant.
    pub async fn compare_explanations(&self, many: usize) -> Result<(), String> {
        let heard = self.model.sent.iter().enumerate().rev().filter(|(_, sent)| !sent.is_noise() && !sent.is_swept);
        let numbers: Vec<usize> = heard.map(|(number, _)| number).take(many).collect();
        for numbers in numbers.chunks(NOTIFICATIONS) {
            let pairs = numbers.iter().flat_map(|number| (0..USERS.len()).map(|user| (*number, user)));
            let pairs: Vec<(usize, usize)> = pairs.filter(|(_, user)| self.model.users[*user].is_known).collect();
            let (answers, errors) = self.explained(&pairs).await;
            for (number, user) in pairs {
                let sent = &self.model.sent[number];
                let answer = &answers[name(number, user)];
                let expected = self.model.decisions(sent, user);
                let decision = answer["decision"].as_str().unwrap_or_default();
                let is_present = decision.starts_with("IN_");
                if !expected.contains(&decision) || answer["present"] != json!(is_present) {
                    return Err(format!(
                        "n{number} and {}: {answer:#} instead of one of {expected:?}; errors: {errors}",
                        USERS[user]
                    ));
                }
            }
        }
        Ok(())
    }

    async fn explained(&self, pairs: &[(usize, usize)]) -> (Value, Value) {
        let (mut fields, mut variables, mut declared) = (String::new(), Map::new(), Vec::new());
        for (number, user) in pairs {
            if variables.insert(format!("n{number}"), json!(self.ids[*number])).is_none() {
                declared.push(format!("$n{number}: ID!"));
            }
            let field = format!("explainDelivery(notification: $n{number}, user: \"{}\")", USERS[*user]);
            let shown = "{ present decision at steps { rule passed at detail } }";
            fields.extend([name(*number, *user), format!(": {field} {shown} ")]);
        }
        let query = format!("query({}) {{ {fields} }}", declared.join(", "));
        let (_, mut answer) = self.looking(CallerRole::Service, "shop").send(&query, Value::Object(variables)).await;
        (answer["data"].take(), answer["errors"].take())
    }
}

fn name(number: usize, user: usize) -> String {
    format!("n{number}_{}", USERS[user])
}

impl Tenant {
    /// The decisions that are permitted for a notification and a user. The reason for a missing item reflects the
    /// current state.
    fn decisions(&self, sent: &Sent, user: usize) -> Vec<&'static str> {
        match (sent.status(self.hour), sent.published) {
            ("RETRACTED", _) => return vec!["RETRACTED"],
            ("EXPIRED", _) => return vec!["EXPIRED"],
            ("PUBLISHED", Some((place, _))) => {
                if let Some(item) = self.users[user].inbox.get(&place) {
                    return vec![if item.is_archived { "IN_ARCHIVE" } else { "IN_INBOX" }];
                }
            }
            _ => return vec!["NOT_PUBLISHED"],
        }
        let off = ["TYPE_OFF", "ACTION_OFF"];
        let no_listener: &[&str] = match &sent.draft.to {
            To::Everyone => &["BEFORE_RETENTION"],
            To::Receiver(receiver) if *receiver == user => &[],
            To::Receiver(_) => return vec!["NOT_ADDRESSED"],
            To::Users(_) => &["NOT_NAMED_OR_GONE"],
            To::Groups(_) => &["NOT_MEMBER", "JOINED_LATER", "BEFORE_RETENTION"],
            To::Subscribers(..) => {
                &["NOT_SUBSCRIBED", "JOINED_LATER", "SUBSCRIBED_LATER", "BEFORE_RETENTION", "OWN_ACTION"]
            }
        };
        let mut may = no_listener.to_vec();
        let was_for_them = sent.reached.contains(&user) || sent.unwanted.contains(&user);
        let is_named = matches!(sent.draft.to, To::Users(_));
        if is_named || was_for_them {
            if !self.wants(&sent.draft, user) {
                may.extend(off);
            } else if !is_named {
                // It was deleted, or the user wants it only now.
                may.push("GONE");
            }
        }
        may
    }
}
