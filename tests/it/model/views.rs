//! Views that a visit marks as read: the operations, the model, and the requests.

use std::collections::BTreeMap;

use auth::CallerRole;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::drive::Driver;
use super::expected::Answer;
use super::op::{USERS, user, users};
use super::request::Call;

const VIEWS: [&str; 3] = ["feed", "plan", "team"];
const KEYS: [&str; 2] = ["k1", "k2"];

/// An operation on views. A user joins or leaves alone; the backend names several users.
#[derive(Clone, Debug)]
pub enum Deed {
    Record(Vec<Activity>),
    Visit(usize, usize),
    Join(usize, Who),
    Leave(usize, Who),
    /// Whether users may join and leave by themselves.
    Open(bool),
}

#[derive(Clone, Debug)]
pub enum Who {
    Themselves(usize),
    These(Vec<usize>),
}

#[derive(Clone, Debug)]
pub struct Activity {
    view: usize,
    actor: Option<usize>,
    key: Option<usize>,
    preview: usize,
}

pub fn deed() -> impl Strategy<Value = Deed> {
    let view = || 0..VIEWS.len();
    let who = || prop_oneof![user().prop_map(Who::Themselves), users().prop_map(Who::These)];
    let activity = (view(), option::of(user()), option::weighted(0.2, 0..KEYS.len()), 0..2_usize)
        .prop_map(|(view, actor, key, preview)| Activity { view, actor, key, preview });
    prop_oneof![
        6 => vec(activity, 1..=4).prop_map(Deed::Record),
        4 => (user(), view()).prop_map(|(user, view)| Deed::Visit(user, view)),
        3 => (view(), who()).prop_map(|(view, who)| Deed::Join(view, who)),
        2 => (view(), who()).prop_map(|(view, who)| Deed::Leave(view, who)),
        1 => any::<bool>().prop_map(Deed::Open),
    ]
}

/// All views of a tenant.
#[derive(Clone, Debug, Default)]
pub struct Views {
    is_open: bool,
    views: [View; VIEWS.len()],
}

#[derive(Clone, Debug, Default)]
struct View {
    exists: bool,
    position: usize,
    latest: Option<usize>,
    /// By user: the last position that they have seen.
    members: BTreeMap<usize, usize>,
    /// By key: actor and preview, and the hour of the first use.
    used: BTreeMap<usize, ((Option<usize>, usize), i64)>,
}

impl View {
    fn unread(&self, user: usize) -> usize {
        self.members.get(&user).map_or(0, |seen| self.position - seen)
    }
}

impl Views {
    pub fn apply(&mut self, deed: &Deed, hour: i64) -> Answer {
        match deed {
            Deed::Record(activities) => self.record(activities, hour),
            Deed::Visit(user, view) => {
                let view = &mut self.views[*view];
                if !self.is_open && !view.members.contains_key(user) {
                    return Err("NOT_FOUND");
                }
                view.exists = true;
                view.members.insert(*user, view.position);
                Ok(json!(0))
            }
            Deed::Join(view, who) => {
                let users = self.may(who)?;
                let view = &mut self.views[*view];
                view.exists = true;
                for user in &users {
                    view.members.entry(*user).or_insert(view.position);
                }
                Ok(json!(if let [user] = users.as_slice() { view.unread(*user) } else { 0 }))
            }
            Deed::Leave(view, who) => {
                let users = self.may(who)?;
                let view = &mut self.views[*view];
                view.members.retain(|user, _| !users.contains(user));
                if view.exists { Ok(json!(0)) } else { Err("NOT_FOUND") }
            }
            Deed::Open(is_open) => {
                self.is_open = *is_open;
                Ok(json!(is_open))
            }
        }
    }

    fn may(&self, who: &Who) -> Result<Vec<usize>, &'static str> {
        match who {
            Who::Themselves(_) if !self.is_open => Err("FORBIDDEN"),
            Who::Themselves(user) => Ok(vec![*user]),
            Who::These(users) => Ok(users.clone()),
        }
    }

    /// Records all activities or none. Returns the unread count of each actor in the view of each.
    fn record(&mut self, activities: &[Activity], hour: i64) -> Answer {
        let mut after = self.views.clone();
        for Activity { view, actor, key, preview } in activities {
            let view = &mut after[*view];
            if let Some(key) = key {
                match view.used.get(key) {
                    Some((before, _)) if *before == (*actor, *preview) => continue,
                    Some(_) => return Err("CONFLICT"),
                    None => view.used.insert(*key, ((*actor, *preview), hour)),
                };
            }
            (view.exists, view.latest) = (true, Some(*preview));
            view.position += 1;
            if let Some(actor) = actor {
                view.members.insert(*actor, view.position);
            }
        }
        self.views = after;
        let unread = |of: &Activity| json!({ "unread": { "count": of.actor.map_or(0, |actor| self.views[of.view].unread(actor)) } });
        Ok(json!(activities.iter().map(unread).collect::<Vec<_>>()))
    }

    /// Deletes the keys first used before an hour, as a sweep does.
    pub fn forget_keys(&mut self, before: i64) {
        for view in &mut self.views {
            view.used.retain(|_, (_, hour)| *hour >= before);
        }
    }

    /// The unread count of a user.
    pub fn unread(&self, user: usize) -> usize {
        self.views.iter().map(|view| view.unread(user)).sum()
    }

    /// The views of a user, by name; or only those with something unread.
    pub fn lines(&self, user: usize, only_unread: bool, cap: usize) -> Vec<String> {
        let of = VIEWS.iter().zip(&self.views).filter(|(_, view)| view.members.contains_key(&user));
        let shown = of.filter(|(_, view)| !only_unread || view.unread(user) > 0);
        let line = |(id, view): (&&str, &View)| {
            let unread = view.unread(user);
            format!("{id}: {} {} ({:?})", unread.min(cap), unread <= cap, view.latest)
        };
        shown.map(line).collect()
    }
}

/// The same by the server.
pub fn lines(views: &Value) -> Vec<String> {
    let line = |view: &Value| {
        let (unread, latest) = (&view["unread"], view["latest"].as_u64());
        format!(
            "{}: {} {} ({latest:?})",
            view["externalId"].as_str().unwrap_or_default(),
            unread["count"],
            unread["exact"]
        )
    };
    let mut lines: Vec<String> = views.as_array().into_iter().flatten().map(line).collect();
    lines.sort_unstable();
    lines
}

impl<'a> Driver<'a> {
    pub(super) fn view_call(&self, deed: &Deed) -> Call<'a> {
        let key = |view: usize| json!({ "code": "chat", "externalId": VIEWS[view] });
        match deed {
            Deed::Record(activities) => {
                let input = |of: &Activity| {
                    json!({ "view": key(of.view), "actor": of.actor.map(|actor| USERS[actor]), "preview": of.preview,
                            "idempotencyKey": of.key.map(|key| KEYS[key]) })
                };
                let inputs: Vec<Value> = activities.iter().map(input).collect();
                let query = "mutation($of: [ViewActivityInput!]!) { done: recordActivity(inputs: $of) { views { unread { count } } } }";
                Call {
                    actor: self.service(),
                    query: query.into(),
                    variables: json!({ "of": inputs }),
                    path: "/done/views",
                }
            }
            Deed::Visit(user, view) => {
                let query =
                    "mutation($key: ViewKeyInput!) { done: visitView(key: $key) { view { unread { count } } } }";
                let variables = json!({ "key": key(*view) });
                Call { actor: self.user(*user), query: query.into(), variables, path: "/done/view/unread/count" }
            }
            Deed::Join(view, who) | Deed::Leave(view, who) => {
                let how = if matches!(deed, Deed::Join(..)) { "joinView" } else { "leaveView" };
                let (actor, users) = match who {
                    Who::Themselves(user) => (self.user(*user), Value::Null),
                    Who::These(users) => (self.service(), json!(users.iter().map(|of| USERS[*of]).collect::<Vec<_>>())),
                };
                let query = format!(
                    "mutation($key: ViewKeyInput!, $users: [ID!]) {{ done: {how}(key: $key, users: $users) {{ view {{ unread {{ count }} }} }} }}"
                );
                Call {
                    actor,
                    query,
                    variables: json!({ "key": key(*view), "users": users }),
                    path: "/done/view/unread/count",
                }
            }
            Deed::Open(is_open) => {
                let query = "mutation($open: Boolean!) { done: saveViewCode(code: \"chat\", open: $open) { open } }";
                let actor = self.actor(CallerRole::Admin, "operator");
                Call { actor, query: query.into(), variables: json!({ "open": is_open }), path: "/done/open" }
            }
        }
    }
}
