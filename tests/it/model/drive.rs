//! Runs a history against the server's API and the model, and compares the results.

use std::collections::BTreeMap;

use auth::CallerRole;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::notification::publish_due;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::expected::{Answer, Tenant, Which};
use super::log::noise;
use super::op::{AUTO, GROUPS, MANDATORY, Mix, Op, Select, TTLS, TYPES, USERS};
use super::request::Call;
use crate::support::{Actor, TestApp};

/// The longest history in hours: after a year without a visit, the server deletes views, which the model does not do.
const LONGEST: i64 = 360 * 24;

/// A tenant of its own on the server, and its model.
pub struct Driver<'a> {
    pub(super) app: &'a TestApp,
    /// The node for reads.
    reader: &'a TestApp,
    tenant: String,
    pub(super) mix: Mix,
    /// The time of the model's hour 0.
    start: DateTime<Utc>,
    pub(super) model: Tenant,
    /// The id of every sent notification, by number.
    pub(super) ids: Vec<String>,
    /// Items that a user has seen, by log position: id and cursor.
    pub(super) shown: [BTreeMap<usize, (String, String)>; USERS.len()],
    /// The overview that each user's client knows, with its etag.
    pub(super) known: Vec<Value>,
    /// For each user, the content of all overviews by etag, and the etags by content.
    pub(super) tags: [[BTreeMap<String, String>; 2]; USERS.len()],
}

impl<'a> Driver<'a> {
    pub async fn new((app, reader): (&'a TestApp, &'a TestApp), tenant: &str, mix: Mix) -> Result<Self, String> {
        let (tenant, start, model) = (tenant.to_owned(), app.now(), Tenant::default());
        let (ids, shown, known, tags) =
            (Vec::new(), Default::default(), vec![Value::Null; USERS.len()], Default::default());
        let mut driver = Self { app, reader, tenant, mix, start, model, ids, shown, known, tags };
        for (place, code) in TYPES.iter().enumerate() {
            let policy = if place == AUTO { "AUTO" } else { "MANUAL" };
            let ttl = TTLS[place].map(|hours| hours * 60 * 60);
            let input = json!({ "code": code, "title": code, "mandatory": place == MANDATORY, "readPolicy": policy,
                                "ttlSeconds": ttl });
            driver.actor(CallerRole::Admin, "operator").define(input).await;
        }
        for group in 0..GROUPS.len() {
            driver.apply(&Op::SaveGroup(group)).await?;
        }
        if mix == Mix::Watched {
            driver.introduce(&(0..USERS.len()).collect::<Vec<_>>()).await;
        }
        Ok(driver)
    }

    pub(super) fn actor(&self, role: CallerRole, sub: &str) -> Actor<'a> {
        Actor::new(self.app, &self.tenant, sub, role)
    }

    /// A caller who reads, through the other node.
    pub(super) fn looking(&self, role: CallerRole, sub: &str) -> Actor<'a> {
        Actor::new(self.reader, &self.tenant, sub, role)
    }

    pub(super) fn user(&self, user: usize) -> Actor<'a> {
        self.actor(CallerRole::User, USERS[user])
    }

    pub(super) fn service(&self) -> Actor<'a> {
        self.actor(CallerRole::Service, "shop")
    }

    /// An hour of the model, as the API writes it.
    pub(super) fn instant(&self, hour: i64) -> String {
        (self.start + TimeDelta::hours(hour)).to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// Applies an operation to both sides, which must give the same answer.
    pub async fn apply(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::Advance(hours) => return self.advance(*hours).await,
            Op::After(fate) if self.chore(fate).await? => return Ok(()),
            _ => {}
        }
        let call = self.call(op);
        self.introduce(&self.concerned(&call)).await;
        let expected = self.expect(op);
        let mut observed = call.ask().await;
        if let Ok(answer) = &mut observed {
            self.ids.extend(take_ids(answer));
            if matches!(op, Op::DeleteGroup(_)) {
                // The model has no ids of groups.
                *answer = json!(!answer.is_null());
            }
        }
        let observed = observed.as_ref().map_err(String::as_str);
        if observed == expected.as_ref().map_err(|code| *code) {
            return Ok(());
        }
        Err(format!("{observed:?} instead of {expected:?}\n{} {}", call.query, call.variables))
    }

    async fn advance(&mut self, hours: i64) -> Result<(), String> {
        if self.model.hour + hours > LONGEST {
            return Ok(());
        }
        self.model.advance(hours);
        self.app.advance(TimeDelta::hours(hours));
        publish_due(&self.app.app).await.map(drop).map_err(|error| error.to_string())
    }

    /// The users who make a request, or are named in it.
    fn concerned(&self, call: &Call<'_>) -> Vec<usize> {
        let text = call.variables.to_string();
        let is_concerned =
            |user: &usize| call.actor.token == self.user(*user).token || text.contains(&format!("{:?}", USERS[*user]));
        (0..USERS.len()).filter(is_concerned).collect()
    }

    /// Introduces users to the tenant, unless it knows them already.
    async fn introduce(&mut self, users: &[usize]) {
        let new: Vec<usize> = users.iter().copied().filter(|user| !self.model.users[*user].is_known).collect();
        if new.is_empty() {
            return;
        }
        let inputs: Vec<Value> = new.iter().map(|user| json!({ "id": USERS[*user] })).collect();
        let query = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }";
        self.service().ask(query, json!({ "inputs": inputs })).await;
        for user in new {
            self.model.introduce(user);
        }
    }

    fn expect(&mut self, op: &Op) -> Answer {
        let model = &mut self.model;
        match op {
            Op::Send(drafts) => model.send(drafts).map(|all| if drafts.len() == 1 { all[0].clone() } else { all }),
            Op::Noise(many) => model.send(&vec![noise(); *many]),
            Op::Subscribe(who, target, actions) => model.subscribe(*who, *target, actions),
            Op::Unsubscribe(who, target, actions) => model.unsubscribe(*who, *target, actions.as_deref()),
            Op::Follow(user, other) => Ok(model.follow(*user, *other)),
            Op::Unfollow(user, other) => Ok(model.unfollow(*user, *other)),
            Op::Join(group, users) => model.join(*group, users),
            Op::Leave(group, users) => model.leave(*group, users),
            Op::SaveGroup(group) => Ok(model.save_group(*group)),
            Op::DeleteGroup(group) => Ok(model.delete_group(*group)),
            Op::Prefer(user, switch, on) => model.prefer(*user, *switch, *on),
            Op::PreferByDefault(switch, on) => Ok(model.prefer_by_default(*switch, *on)),
            Op::Mark(user, change, select) => {
                let shown = &self.shown[*user];
                let which = match select {
                    Select::Ids(picks) => Which::These(picks.iter().filter_map(|of| pick(shown, *of)).collect()),
                    Select::Matching { types, target, up_to } => Which::Matching {
                        types: types.clone(),
                        target: *target,
                        up_to: up_to.as_ref().and_then(|of| pick(shown, *of)),
                    },
                };
                Ok(model.mark(*user, *change, &which))
            }
            Op::See(user, only) => Ok(model.see(*user, *only)),
            Op::View(deed) => model.views.apply(deed, model.hour),
            Op::After(fate) => model.befall(fate),
            Op::Advance(_) => Ok(Value::Null),
        }
    }
}

/// Removes the ids of sent notifications from an answer and returns them.
fn take_ids(answer: &mut Value) -> Vec<String> {
    match answer {
        Value::Array(all) => all.iter_mut().flat_map(take_ids).collect(),
        Value::Object(fields) => {
            let sent = fields.remove("notification");
            sent.iter().filter_map(|sent| sent["id"].as_str()).map(Into::into).collect()
        }
        _ => Vec::new(),
    }
}

/// One of the items that a user has seen, if any.
pub(super) fn pick(shown: &BTreeMap<usize, (String, String)>, of: Index) -> Option<usize> {
    let places: Vec<&usize> = shown.keys().collect();
    (!places.is_empty()).then(|| *places[of.index(places.len())])
}
