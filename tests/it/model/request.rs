//! The requests for each operation.

use auth::CallerRole;
use serde_json::{Value, json};

use super::drive::{Driver, pick};
use super::log::noise;
use super::op::{ACTIONS, Change, Draft, GROUPS, Listener, Op, Select, Switch, TARGETS, TYPES, To, USERS};
use crate::support::Actor;

/// A request: its caller, its query, and the path of the answer in its data.
pub struct Call<'a> {
    pub actor: Actor<'a>,
    pub query: String,
    pub variables: Value,
    pub path: &'static str,
}

impl Call<'_> {
    /// Returns the answer, or the error code.
    pub async fn ask(&self) -> Result<Value, String> {
        let (_, answer) = self.actor.send(&self.query, self.variables.clone()).await;
        match answer["errors"][0]["extensions"]["code"].as_str() {
            None if answer["errors"].is_null() => Ok(answer["data"].pointer(self.path).cloned().unwrap_or_default()),
            None => Err(answer["errors"].to_string()),
            Some(code) => Err(code.to_owned()),
        }
    }
}

/// The names at some indexes of a list.
fn named(places: &[usize], names: &[&'static str]) -> Vec<&'static str> {
    places.iter().map(|place| names[*place]).collect()
}

/// A target. The index behind the last one is a target without subscribers.
fn on(target: usize) -> Value {
    json!({ "type": "doc", "externalId": TARGETS.get(target).unwrap_or(&"void") })
}

/// The actions to subscribe to.
fn actions_of(places: &[usize]) -> Value {
    json!({ "actions": named(places, &ACTIONS) })
}

impl<'a> Driver<'a> {
    pub(super) fn call(&self, op: &Op) -> Call<'a> {
        match op {
            Op::Send(drafts) => self.sending(drafts),
            Op::Noise(many) => self.sending(&vec![noise(); *many]),
            Op::Prefer(..) | Op::PreferByDefault(..) => self.switching(op),
            Op::Mark(user, change, select) => self.marking(*user, *change, select),
            Op::See(user, only) => {
                let query =
                    "mutation($of: String) { markSeen(type: $of) { viewer { overview { unread { count } } } } }";
                let variables = json!({ "of": only.map(|only| TYPES[only]) });
                Call {
                    actor: self.user(*user),
                    query: query.into(),
                    variables,
                    path: "/markSeen/viewer/overview/unread/count",
                }
            }
            Op::View(deed) => self.view_call(deed),
            Op::After(fate) => self.fate_call(fate),
            _ => self.listening(op),
        }
    }

    /// Changes of subscriptions, follows and groups.
    fn listening(&self, op: &Op) -> Call<'a> {
        let (actor, head, variables, path) = match op {
            Op::Subscribe(who, target, actions) => {
                let (actor, input) = self.topic(*who, *target, &actions_of(actions));
                (
                    actor,
                    "($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount } }",
                    input,
                    "/subscribeTopic/createdCount",
                )
            }
            Op::Unsubscribe(who, target, actions) => {
                let what = actions.as_deref().map_or_else(|| json!({ "everything": true }), actions_of);
                let (actor, input) = self.topic(*who, *target, &what);
                (
                    actor,
                    "($input: UnsubscribeTopicInput!) { unsubscribeTopic(input: $input) { removedCount } }",
                    input,
                    "/unsubscribeTopic/removedCount",
                )
            }
            Op::Follow(user, other) => (
                self.user(*user),
                "($user: ID!) { followUser(user: $user) { user { id } } }",
                json!({ "user": USERS[*other] }),
                "/followUser/user/id",
            ),
            Op::Unfollow(user, other) => (
                self.user(*user),
                "($user: ID!) { unfollowUser(user: $user) { user { id } } }",
                json!({ "user": USERS[*other] }),
                "/unfollowUser/user/id",
            ),
            Op::Join(group, users) => {
                let head = "($code: String!, $users: [ID!]!) { addUserGroupMembers(code: $code, users: $users) { memberCount } }";
                let variables = json!({ "code": GROUPS[*group], "users": named(users, &USERS) });
                (self.service(), head, variables, "/addUserGroupMembers/memberCount")
            }
            Op::Leave(group, users) => {
                let head = "($code: String!, $users: [ID!]!) { removeUserGroupMembers(code: $code, users: $users) { memberCount } }";
                let variables = json!({ "code": GROUPS[*group], "users": named(users, &USERS) });
                (self.service(), head, variables, "/removeUserGroupMembers/memberCount")
            }
            Op::SaveGroup(group) => {
                let head = "($code: String!) { saveUserGroup(code: $code) { memberCount } }";
                (self.service(), head, json!({ "code": GROUPS[*group] }), "/saveUserGroup/memberCount")
            }
            Op::DeleteGroup(group) => {
                let head = "($code: String!) { deleteUserGroup(code: $code) { deletedId } }";
                (self.service(), head, json!({ "code": GROUPS[*group] }), "/deleteUserGroup/deletedId")
            }
            _ => unreachable!("nothing else changes who hears what"),
        };
        Call { actor, query: format!("mutation{head}"), variables, path }
    }

    fn topic(&self, who: Listener, target: usize, what: &Value) -> (Actor<'a>, Value) {
        let (actor, who) = match who {
            Listener::User(user) => (self.user(user), Value::Null),
            Listener::Group(group) => (self.service(), json!({ "group": GROUPS[group] })),
        };
        (actor, json!({ "input": { "target": on(target), "what": what, "who": who } }))
    }

    fn switching(&self, op: &Op) -> Call<'a> {
        let input = |switch: &Switch, on: &Option<bool>| match (*switch, on) {
            (Switch::Action(action), Some(on)) => json!({ "actions": [{ "code": ACTIONS[action], "enabled": on }] }),
            (Switch::Type(of_type), Some(on)) => json!({ "types": [{ "code": TYPES[of_type], "enabled": on }] }),
            (Switch::Action(action), None) => json!({ "resetActions": [ACTIONS[action]] }),
            (Switch::Type(of_type), None) => json!({ "resetTypes": [TYPES[of_type]] }),
        };
        let head = "mutation($actions: [NotificationPreferenceInput!], $types: [NotificationPreferenceInput!], \
            $resetActions: [String!], $resetTypes: [String!])";
        let shown = "{ actions { code enabled } types { code enabled } }";
        let (actor, field, selection, variables, path) = match op {
            Op::Prefer(user, switch, on) => {
                let (selection, path) = (format!("{{ preferences {shown} }}"), "/updatePreferences/preferences");
                (self.user(*user), "updatePreferences", selection, input(switch, on), path)
            }
            Op::PreferByDefault(switch, on) => {
                let (admin, selection) = (self.actor(CallerRole::Admin, "operator"), shown.to_owned());
                (admin, "saveDefaultPreferences", selection, input(switch, on), "/saveDefaultPreferences")
            }
            _ => unreachable!("nothing else is a switch"),
        };
        let given = "actions: $actions, types: $types, resetActions: $resetActions, resetTypes: $resetTypes";
        let query = format!("{head} {{ {field}({given}) {selection} }}");
        Call { actor, query, variables, path }
    }

    fn marking(&self, user: usize, change: Change, select: &Select) -> Call<'a> {
        let how = match change {
            Change::Read => "markRead",
            Change::Unread => "markUnread",
            Change::Archive => "archiveItems",
            Change::Unarchive => "unarchiveItems",
            Change::Delete => "deleteItems",
        };
        let shown = &self.shown[user];
        let select = match select {
            Select::Ids(picks) => {
                let picked = picks.iter().filter_map(|of| pick(shown, *of));
                json!({ "ids": picked.map(|place| &shown[&place].0).collect::<Vec<_>>() })
            }
            Select::Matching { types, target, up_to } => json!({ "matching": {
                "types": types.as_ref().map(|types| named(types, &TYPES)),
                "target": target.map(on),
                "upTo": up_to.as_ref().and_then(|of| pick(shown, *of)).map(|place| &shown[&place].1),
            }}),
        };
        let query = format!("mutation($of: InboxItemSelector!) {{ mark: {how}(select: $of) {{ changedCount }} }}");
        Call { actor: self.user(user), query, variables: json!({ "of": select }), path: "/mark/changedCount" }
    }

    fn sending(&self, drafts: &[Draft]) -> Call<'a> {
        let numbers = self.model.sent.len()..;
        let inputs: Vec<(&str, Value)> = numbers.zip(drafts).map(|(number, of)| self.input(number, of)).collect();
        let selection = "{ replayed notification { id } }";
        if let [(variant, input)] = inputs.as_slice() {
            let name = format!("{}{}", variant[..1].to_uppercase(), &variant[1..]);
            let query = format!("mutation($of: Send{name}Input!) {{ sent: send{name}(input: $of) {selection} }}");
            return Call { actor: self.service(), query, variables: json!({ "of": input }), path: "/sent" };
        }
        let inputs: Vec<Value> = inputs.into_iter().map(|(variant, input)| json!({ variant: input })).collect();
        let query =
            format!("mutation($of: [SendNotificationInput!]!) {{ sent: sendNotifications(inputs: $of) {selection} }}");
        Call { actor: self.service(), query, variables: json!({ "of": inputs }), path: "/sent" }
    }

    /// The input for the notification with this number, which is in its title.
    fn input(&self, number: usize, draft: &Draft) -> (&'static str, Value) {
        let (variant, mut input) = match &draft.to {
            To::Everyone => ("announcement", json!({ "audience": { "everyone": true } })),
            To::Groups(groups) => ("announcement", json!({ "audience": { "groups": named(groups, &GROUPS) } })),
            To::Users(users) => ("announcement", json!({ "audience": { "users": named(users, &USERS) } })),
            To::Receiver(user) => ("message", json!({ "receiver": USERS[*user] })),
            To::Subscribers(target, action) => {
                ("reminder", json!({ "target": on(*target), "action": ACTIONS[*action] }))
            }
        };
        input["type"] = json!(TYPES[draft.of_type]);
        input["content"] = json!({ "title": format!("n{number}") });
        input["sender"] = json!(draft.sender.map(|sender| USERS[sender]));
        input["publishAt"] = json!(draft.later.map(|later| self.instant(self.model.hour + later)));
        let expires = draft.lasts.map(|lasts| self.model.hour + draft.later.unwrap_or(0) + lasts);
        input["expiresAt"] = json!(expires.map(|hour| self.instant(hour)));
        (variant, input)
    }
}
