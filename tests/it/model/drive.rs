//! Plays a history to the server through its API, and to the model, and compares what both say.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use proptest::sample::Index;
use serde_json::{Value, json};
use tidings::auth::Role;

use super::expected::{Answer, Tenant, Which, noise};
use super::op::{AUTO, GROUPS, MANDATORY, Op, Select, TYPES, USERS};
use crate::support::{Actor, TestApp};

/// A tenant of its own on the server, and the model of it.
pub struct Driver<'a> {
    pub(super) app: &'a TestApp,
    tenant: String,
    pub(super) model: Tenant,
    /// Items that a user has been shown, by place in the log: id and cursor.
    pub(super) shown: [BTreeMap<usize, (String, String)>; USERS.len()],
}

impl<'a> Driver<'a> {
    pub async fn new(app: &'a TestApp, tenant: &str) -> Result<Self, String> {
        let (tenant, shown) = (tenant.to_owned(), Default::default());
        let mut driver = Self { app, tenant, model: Tenant::default(), shown };
        for (place, code) in TYPES.iter().enumerate() {
            let policy = if place == AUTO { "AUTO" } else { "MANUAL" };
            let input = json!({ "code": code, "title": code, "mandatory": place == MANDATORY, "readPolicy": policy });
            driver.actor(Role::Admin, "operator").define(input).await;
        }
        for group in 0..GROUPS.len() {
            driver.apply(&Op::SaveGroup(group)).await?;
        }
        Ok(driver)
    }

    pub(super) fn actor(&self, role: Role, sub: &str) -> Actor<'a> {
        Actor::new(self.app, &self.tenant, sub, role)
    }

    pub(super) fn user(&self, user: usize) -> Actor<'a> {
        self.actor(Role::User, USERS[user])
    }

    pub(super) fn service(&self) -> Actor<'a> {
        self.actor(Role::Service, "shop")
    }

    /// Does it on both sides, which must give the same answer.
    pub async fn apply(&mut self, op: &Op) -> Result<(), String> {
        if let Op::Advance(hours) = op {
            self.model.hour += hours;
            self.app.advance(TimeDelta::hours(*hours));
            return Ok(());
        }
        let call = self.call(op);
        let expected = self.expect(op);
        let observed = call.ask().await;
        let observed = observed.as_ref().map_err(String::as_str);
        if observed == expected.as_ref().map_err(|code| *code) {
            return Ok(());
        }
        Err(format!("{observed:?} instead of {expected:?}\n{} {}", call.query, call.variables))
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
            Op::View(deed) => model.views.apply(deed),
            Op::Advance(_) => Ok(Value::Null),
        }
    }
}

/// One of the items that a user has been shown, if there is any.
pub(super) fn pick(shown: &BTreeMap<usize, (String, String)>, of: Index) -> Option<usize> {
    let places: Vec<&usize> = shown.keys().collect();
    (!places.is_empty()).then(|| *places[of.index(places.len())])
}
