//! The audit log records each change exactly once, with its actor, its subject and its arguments.

use std::collections::BTreeSet;

use auth::CallerRole;
use chrono::TimeDelta;
use entity::audit_entry::{self, Entity as Entries};
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use crate::support::{TestApp, everyone, on_every_database};

const LOG: &str = "query($filter: AuditFilter, $first: Int = 200, $after: String) { auditLog(filter: $filter, first: $first, after: $after) { \
    nodes { at action subjectKind subject count actor { role name origin } } pageInfo { hasNextPage endCursor } } }";

async fn log(app: &TestApp, filter: Value) -> Vec<Value> {
    let data = app.admin().ask(LOG, json!({ "filter": filter })).await;
    data["auditLog"]["nodes"].as_array().unwrap().clone()
}

/// Returns the entries, newest first, as `role action KIND subject`.
async fn lines(app: &TestApp, filter: Value) -> Vec<String> {
    let line = |of: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let role = text(&of["actor"]["role"]);
        format!("{role} {} {} {}", text(&of["action"]), text(&of["subjectKind"]), text(&of["subject"]))
    };
    log(app, filter).await.iter().map(line).collect()
}

async fn entries(app: &TestApp) -> Vec<audit_entry::Model> {
    Entries::find().all(&app.app.db.read).await.unwrap()
}

/// The roles that may run a mutation, the mutation, and its audit entry without the role. `$sent` is a sent
/// notification, `$hook` a webhook endpoint, `$item` an item of ada's and `$who` the role, so that each role gets a
/// subject of its own.
const ACTS: [(&str, &str, &str); 62] = [
    (
        "service admin",
        "sendAnnouncement(input: { type: \"news\", audience: { everyone: true }, content: { title: \"MARKER\" } }) { replayed }",
        "NOTIFICATION *",
    ),
    (
        "service admin",
        "sendMessage(input: { type: \"news\", receiver: \"ada\", content: { title: \"MARKER\", body: \"MARKER\" } }) { replayed }",
        "NOTIFICATION *",
    ),
    (
        "service admin",
        "sendReminder(input: { type: \"news\", target: { type: \"item\", externalId: \"7\" }, action: \"like\", content: { title: \"MARKER\" } }) { replayed }",
        "NOTIFICATION *",
    ),
    ("service admin", "updateSentNotification(id: $sent, input: { title: \"MARKER\" }) { id }", "NOTIFICATION $sent"),
    ("admin", "saveMessageType(input: { code: \"news\", title: \"MARKER\" }) { code }", "MESSAGE_TYPE news"),
    ("admin", "saveMessageType(input: { code: \"gone\", title: \"MARKER\" }) { code }", "MESSAGE_TYPE gone"),
    ("admin", "deleteMessageType(code: \"gone\") { deletedId }", "MESSAGE_TYPE gone"),
    ("admin", "saveSubscriptionReason(code: \"r\", actions: [\"like\"]) { code }", "REASON r"),
    ("admin", "deleteSubscriptionReason(code: \"r\") { deletedCode }", "REASON r"),
    ("admin", "saveViewCode(code: \"chat\", open: true) { code }", "VIEW_CODE chat"),
    ("admin", "deleteViewCode(code: \"chat\") { deletedCode }", "VIEW_CODE chat"),
    ("admin", "saveTargetType(code: \"item\", subscriptionPolicy: OPEN) { code }", "TARGET_TYPE item"),
    ("admin", "deleteTargetType(code: \"item\") { deletedCode }", "TARGET_TYPE item"),
    ("admin", "saveFollowPolicy(followPolicy: OPEN) { followPolicy }", "TENANT -"),
    ("admin", "saveDefaultPreferences(types: [{ code: \"news\", enabled: true }]) { types { code } }", "TENANT -"),
    ("service admin", "saveUserGroup(code: \"staff-$who\", title: \"MARKER\") { code }", "GROUP staff-$who"),
    (
        "service admin",
        "addUserGroupMembers(code: \"staff-$who\", users: [\"ada\", \"ben\"]) { code }",
        "GROUP staff-$who",
    ),
    ("service admin", "removeUserGroupMembers(code: \"staff-$who\", users: [\"ben\"]) { code }", "GROUP staff-$who"),
    (
        "service admin",
        "subscribeTopic(input: { target: { type: \"item\", externalId: \"7-$who\" }, what: { actions: [\"like\"] }, who: { group: \"staff-$who\" } }) { createdCount }",
        "GROUP staff-$who",
    ),
    (
        "service admin",
        "unsubscribeTopic(input: { target: { type: \"item\", externalId: \"7-$who\" }, what: { everything: true }, who: { group: \"staff-$who\" } }) { removedCount }",
        "GROUP staff-$who",
    ),
    ("service admin", "deleteUserGroup(code: \"staff-$who\") { deletedId }", "GROUP staff-$who"),
    ("service admin", "saveUserProfiles(inputs: [{ id: \"ada\", name: \"MARKER\" }]) { id }", "USER ada"),
    (
        "service admin",
        "subscribeTopic(input: { target: { type: \"item\", externalId: \"8-$who\" }, what: { actions: [\"like\"] }, who: { user: \"ada\" } }) { createdCount }",
        "USER ada",
    ),
    (
        "service admin",
        "unsubscribeTopic(input: { target: { type: \"item\", externalId: \"8-$who\" }, what: { actions: [\"like\"] }, who: { user: \"ada\" } }) { removedCount }",
        "USER ada",
    ),
    ("service admin", "followUser(user: \"ben-$who\", follower: \"ada\") { user { id } }", "USER ada"),
    ("service admin", "unfollowUser(user: \"ben-$who\", follower: \"ada\") { user { id } }", "USER ada"),
    (
        "service admin",
        "updatePreferences(types: [{ code: \"news\", enabled: true }], user: \"ada\") { preferences { types { code } } }",
        "USER ada",
    ),
    (
        "service admin",
        "updateDeliveryHours(input: { timeZone: \"Asia/Tokyo\" }, user: \"ada-$who\") { inboxUser { user { id } } }",
        "USER ada-$who",
    ),
    ("service", "markRead(select: { ids: [$item] }, user: \"ada\") { changedCount }", "USER ada"),
    ("service", "markUnread(select: { ids: [$item] }, user: \"ada\") { changedCount }", "USER ada"),
    ("service", "archiveItems(select: { ids: [$item] }, user: \"ada\") { changedCount }", "USER ada"),
    ("service", "unarchiveItems(select: { ids: [$item] }, user: \"ada\") { changedCount }", "USER ada"),
    ("service", "markRead(select: { matching: {} }, user: \"ada\") { changedCount }", "USER ada"),
    ("service", "deleteItems(select: { ids: [$item] }, user: \"ada\") { changedCount }", "USER ada"),
    (
        "service",
        "joinView(key: { code: \"chat\", externalId: \"7\" }, users: [\"ada\", \"ben\"]) { view { externalId } }",
        "VIEW chat/7",
    ),
    (
        "service",
        "leaveView(key: { code: \"chat\", externalId: \"7\" }, users: [\"ben\"]) { view { externalId } }",
        "VIEW chat/7",
    ),
    (
        "admin",
        "saveNotificationRule(input: { code: \"late\", type: \"late\", key: [\"order\"], firstRun: RAISE, audience: { everyone: true } }) { code }",
        "RULE late",
    ),
    ("admin", "pauseNotificationRule(code: \"late\") { code }", "RULE late"),
    ("admin", "resumeNotificationRule(code: \"late\") { code }", "RULE late"),
    ("admin", "deleteNotificationRule(code: \"late\") { deletedId }", "RULE late"),
    ("admin", "updateWebhookEndpoint(id: $hook, input: { full: true }) { id }", "ENDPOINT $hook"),
    ("admin", "pauseWebhookEndpoint(id: $hook) { id }", "ENDPOINT $hook"),
    ("admin", "resumeWebhookEndpoint(id: $hook) { id }", "ENDPOINT $hook"),
    ("admin", "rotateWebhookSecret(id: $hook) { secret }", "ENDPOINT $hook"),
    ("admin", "deleteWebhookEndpoint(id: $hook) { deletedId }", "ENDPOINT $hook"),
    (
        "admin",
        "saveMailRelay(input: { url: \"smtp://127.0.0.1:1?tls=none\", from: \"marker@b.example\" }) { id }",
        "TENANT -",
    ),
    ("admin", "switchMailRelay(to: OFF) { id }", "TENANT -"),
    ("admin", "deleteMailRelay { deletedId }", "TENANT -"),
    (
        "admin",
        "saveWeChatAccount(input: { appId: \"wx0123456789abcdef\", secret: \"0123456789abcdef0123456789abcdef\" }) { id }",
        "TENANT -",
    ),
    ("admin", "switchWeChatAccount(to: OFF) { id }", "TENANT -"),
    ("admin", "deleteWeChatAccount { deletedId }", "TENANT -"),
    ("admin", "saveWebPush(input: { contact: \"mailto:marker@b.example\" }) { id }", "TENANT -"),
    ("admin", "renewWebPushKey { id }", "TENANT -"),
    ("admin", "switchWebPush(to: OFF) { id }", "TENANT -"),
    (
        "service admin",
        "savePushSubscription(user: \"ada\", subscription: { endpoint: \"https://push.example/MARKER-$who\", keys: { p256dh: \"BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM\", auth: \"tBHItJI5svbpez7KI4CCXg\" } }) { inboxUser { id } }",
        "USER ada",
    ),
    (
        "service admin",
        "deletePushSubscription(user: \"ada\", endpoint: \"https://push.example/MARKER-$who\") { inboxUser { id } }",
        "USER ada",
    ),
    ("admin", "deleteWebPush { deletedId }", "TENANT -"),
    (
        "admin",
        "createWebhookEndpoint(input: { url: \"https://127.0.0.1:1/MARKER\" }) { endpoint { id } }",
        "ENDPOINT *",
    ),
    ("admin", "testWebhookEndpoint(id: $hook) { id }", "ENDPOINT $hook"),
    ("service", "markSeen(user: \"ada\") { inboxUser { id } }", "USER ada"),
    ("service admin", "retractSentNotification(id: $sent) { id }", "NOTIFICATION $sent"),
    ("service admin", "eraseUser(id: \"ada-$who\") { erasedId }", "USER *"),
];

/// Mutations without an entry, or tested elsewhere because they need more setup; each with the reason or the test.
const OTHERS: [(&str, &str); 7] = [
    ("sendNotifications", "each of them is as if it were sent by itself: a_send_costs_no_statement_for_it"),
    ("recordActivity", "happens a thousand times a second: what_users_do_and_what_is_refused_or_only_read_leaves_none"),
    ("visitView", "users do it for themselves alone"),
    ("tryNotificationRule", "needs a source: rule::scan::a_trial_is_in_the_audit_log_with_its_source_and_query"),
    ("runNotificationRule", "needs a source"),
    ("reportRuleRows", "needs a rule that does not scan"),
    ("replayOutboundDeliveries", "needs something that was given up"),
];

/// A new mutation must be added to one of the two lists.
#[test]
fn each_mutation_is_tried_or_it_is_said_why_not() {
    let schema = tidings::graphql::Schema::export_sdl();
    let mutations = schema.split("type Mutation {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap();
    // Every other part is a description.
    let lines = mutations.split("\"\"\"").step_by(2).flat_map(str::lines);
    let name = |line: &str| {
        let line = line.strip_prefix('\t').filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))?;
        line.split_once(['(', ':']).map(|(name, _)| name.to_owned())
    };
    let tried: BTreeSet<&str> = ACTS.iter().map(|(_, call, _)| call.split(['(', ' ']).next().unwrap()).collect();
    let said: BTreeSet<&str> = OTHERS.iter().map(|(name, _)| *name).collect();
    let all: BTreeSet<String> = lines.filter_map(name).collect();
    assert!(tried.is_disjoint(&said));
    assert_eq!(all, tried.union(&said).map(ToString::to_string).collect());
}

async fn sent(app: &TestApp, title: &str) -> Value {
    let send = "mutation($title: String!) { sendAnnouncement(input: { type: \"news\", audience: { users: [\"ada\"] }, content: { title: $title } }) \
        { notification { id } } }";
    app.user("ada").overview().await;
    app.admin().ask(send, json!({ "title": title })).await["sendAnnouncement"]["notification"]["id"].take()
}

async fn endpoint(app: &TestApp) -> Value {
    let make = "mutation { createWebhookEndpoint(input: { url: \"https://127.0.0.1:1/MARKER\" }) { endpoint { id } } }";
    app.admin().ask(make, json!({})).await["createWebhookEndpoint"]["endpoint"]["id"].take()
}

on_every_database! {
    async fn each_act_of_each_role_leaves_one_entry_and_no_content(app) {
        app.admin().define_type("news").await;
        let late = json!({ "code": "late", "title": "Late", "template": { "title": "{{ params.order }}" } });
        app.admin().define(late).await;
        let mut others: Vec<String> = Vec::new();
        for (roles, call, expected) in ACTS {
            for role in roles.split(' ') {
                let (notification, hook) = (sent(app, "first").await, if call.contains("$hook") { endpoint(app).await } else { json!("") });
                let item = app.user("ada").items(json!({})).await.first().map_or(json!(""), |of| of["id"].clone());
                if call.contains("archiveItems") || call.contains("markUnread") {
                    let before = if call.contains("unarchive") { "archiveItems" } else { "markRead" };
                    app.user("ada").mark(before, json!({ "ids": [item] })).await;
                }
                if call.contains("deleteUserGroup") || call.contains("UserGroupMembers") || call.contains("group:") {
                    let make = "mutation($code: String!) { saveUserGroup(code: $code) { code } }";
                    app.service().ask(make, json!({ "code": format!("staff-{role}") })).await;
                }
                if call.contains("removeUserGroupMembers") {
                    let add = "mutation($code: String!) { addUserGroupMembers(code: $code, users: [\"ben\"]) { code } }";
                    app.service().ask(add, json!({ "code": format!("staff-{role}") })).await;
                }
                let fill = |text: &str| {
                    let texts = [("$sent", &notification), ("$hook", &hook), ("$item", &item)];
                    texts.iter().fold(text.replace("$who", role), |text, (name, value)| text.replace(name, &value.to_string()))
                };
                app.advance(TimeDelta::seconds(1));
                let since = json!({ "since": app.now().to_rfc3339() });
                let actor = if role == "service" { app.service() } else { app.admin() };
                actor.ask(&format!("mutation {{ {} }}", fill(call)), json!({})).await;
                let done = lines(app, since).await;
                let action = call.split(['(', ' ']).next().unwrap();
                let expected = format!("{} {action} {}", role.to_uppercase(), fill(expected).replace('"', ""));
                let is_it = |line: &String| expected.strip_suffix('*').map_or(*line == expected, |start| line.starts_with(start));
                if done.len() != 1 || !done.iter().all(is_it) {
                    others.push(format!("{expected}: {done:?}"));
                }
            }
        }
        assert_eq!(others, [""; 0]);
        let kept = format!("{:?}", entries(app).await);
        assert!(kept.contains("staff") && !kept.contains("MARKER"), "{kept}");
        assert!(!format!("{:?}", log(app, json!({})).await).contains("MARKER"));
    }

    async fn what_users_do_and_what_is_refused_or_only_read_leaves_none(app) {
        app.admin().define_type("news").await;
        let id = sent(app, "hello").await;
        let before = lines(app, json!({})).await;
        let ada = app.user("ada");
        let item = ada.items(json!({})).await[0]["id"].clone();
        ada.mark("markRead", json!({ "ids": [item] })).await;
        ada.subscribe("item/7", &["like"]).await;
        ada.ask("mutation { followUser(user: \"ben\") { user { id } } updatePreferences(types: [{ code: \"news\", enabled: false }]) { preferences { types { code } } } }", json!({})).await;
        for (actor, call) in [
            (app.user("ada"), "saveUserGroup(code: \"x\") { code }"),
            (app.service(), "saveMessageType(input: { code: \"x\", title: \"x\" }) { code }"),
            (app.admin(), "saveMessageType(input: { code: \"x\", title: \"\" }) { code }"),
            (app.admin(), "deleteMessageType(code: \"news\") { deletedId }"),
            (app.admin(), "retractSentNotification(id: \"nothing\") { id }"),
            (app.service(), "markRead(select: { matching: {} }, user: \"nobody\") { changedCount }"),
            (app.service(), "addUserGroupMembers(code: \"none\", users: [\"cleo\"]) { code }"),
        ] {
            actor.refused(&format!("mutation {{ {call} }}"), json!({})).await;
        }
        for nothing in ["deleteUserGroup(code: \"none\") { deletedId }", "eraseUser(id: \"none\") { erasedId }"] {
            app.admin().ask(&format!("mutation {{ {nothing} }}"), json!({})).await;
        }
        let look = "query($id: ID!) { inboxUser(id: \"ada\") { overview { cursor } } searchUsers(text: \"a\") { id } explainDelivery(notification: $id, user: \"ada\") { present } }";
        app.service().ask(look, json!({ "id": id })).await;
        app.service().ask("mutation { recordActivity(inputs: [{ view: { code: \"chat\", externalId: \"1\" } }]) { views { externalId } } }", json!({})).await;
        assert_eq!(lines(app, json!({})).await, before);
    }

    async fn an_act_and_its_entry_are_there_together_or_not_at_all(app) {
        app.by_hand("ALTER TABLE audit_entry RENAME TO away").await;
        let (_, answer) = app.service().send("mutation { saveUserGroup(code: \"staff\") { code } }", json!({})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "INTERNAL", "{answer}");
        app.by_hand("ALTER TABLE away RENAME TO audit_entry").await;
        assert_eq!(app.service().ask("{ userGroups { code } }", json!({})).await["userGroups"], json!([]));
        assert_eq!(entries(app).await, []);
    }

    async fn a_send_costs_no_statement_for_it(app) {
        app.admin().define_type("news").await;
        app.service().announce("news", everyone(), "warm").await;
        let (statements, _) = app.statements_of(app.service().announce("news", everyone(), "counted")).await;
        assert!(statements <= 6, "{statements}");
        assert!(entries(app).await.iter().all(|of| !of.action.starts_with("send")));
        assert_eq!(lines(app, json!({ "actions": ["sendAnnouncement"] })).await.len(), 2);
        let one = |receiver| format!("{{ message: {{ type: \"news\", receiver: \"{receiver}\", content: {{ title: \"x\" }} }} }}");
        let many = format!("mutation {{ sendNotifications(inputs: [{}, {}]) {{ replayed }} }}", one("ada"), one("ben"));
        app.service().ask(&many, json!({})).await;
        assert_eq!(lines(app, json!({ "actions": ["sendMessage"] })).await.len(), 2);
    }

    async fn who_is_erased_is_named_no_more(app) {
        app.service().ask("mutation { saveUserProfiles(inputs: [{ id: \"ada\", name: \"Ada\" }, { id: \"ben\" }]) { id } }", json!({})).await;
        app.service().ask("{ exportUser(id: \"ada\") }", json!({})).await;
        let of_ada = json!({ "subject": { "kind": "USER", "id": "ada" } });
        assert_eq!(lines(app, of_ada.clone()).await, ["SERVICE exportUser USER ada", "SERVICE saveUserProfiles USER ada"]);
        app.admin().ask("mutation { eraseUser(id: \"ada\") { erasedId } }", json!({})).await;
        assert_eq!(lines(app, of_ada.clone()).await, [""; 0]);
        let all = lines(app, json!({})).await;
        assert_eq!(all[..2], ["ADMIN eraseUser USER -", "SERVICE exportUser USER -"]);
        assert_eq!(all.iter().filter(|line| line.ends_with("USER ben")).count(), 1);
        assert!(!format!("{:?}", entries(app).await).contains("ada"));
        app.service().ask("mutation { saveUserProfiles(inputs: [{ id: \"ada\" }]) { id } }", json!({})).await;
        assert_eq!(lines(app, of_ada).await, ["SERVICE saveUserProfiles USER ada"], "somebody else has the id now");
    }

    async fn the_log_is_filtered_and_paged_and_of_one_tenant(app) {
        app.admin().define_type("news").await;
        for number in 0..5 {
            app.advance(TimeDelta::minutes(1));
            app.service().announce("news", everyone(), &number.to_string()).await;
            app.advance(TimeDelta::minutes(1));
            app.admin().ask("mutation($code: String!) { saveUserGroup(code: $code) { code } }", json!({ "code": format!("g{number}") })).await;
        }
        let all = lines(app, json!({})).await;
        assert_eq!(all.len(), 11);
        assert_eq!(all[10], "ADMIN saveMessageType MESSAGE_TYPE news");
        assert_eq!(all[0], "ADMIN saveUserGroup GROUP g4");
        assert!(all[1].starts_with("SERVICE sendAnnouncement NOTIFICATION "), "{all:?}");
        let (mut after, mut walked) = (Value::Null, Vec::new());
        loop {
            let data = app.admin().ask(LOG, json!({ "first": 3, "after": after })).await;
            walked.extend(data["auditLog"]["nodes"].as_array().unwrap().iter().map(|of| of["at"].clone()));
            if data["auditLog"]["pageInfo"]["hasNextPage"] == false {
                break;
            }
            after = data["auditLog"]["pageInfo"]["endCursor"].clone();
        }
        let ats: Vec<Value> = log(app, json!({})).await.iter().map(|of| of["at"].clone()).collect();
        assert_eq!(walked, ats);
        assert_eq!(lines(app, json!({ "actor": "shop" })).await.len() + lines(app, json!({ "actor": "operator" })).await.len(), 11);
        assert_eq!(lines(app, json!({ "subject": { "kind": "GROUP", "id": "g3" } })).await, ["ADMIN saveUserGroup GROUP g3"]);
        assert_eq!(lines(app, json!({ "since": ats[3], "until": ats[0] })).await, all[1..4]);
        assert_eq!(app.admin().refused(LOG, json!({ "after": "x" })).await, "BAD_USER_INPUT after: is not a cursor of this list");
        let stranger = app.stranger("ops", CallerRole::Admin).ask(LOG, json!({})).await;
        assert_eq!(stranger["auditLog"]["nodes"], json!([]));
        assert!(app.service().refused(LOG, json!({})).await.starts_with("FORBIDDEN"));
    }

    async fn what_was_sent_says_who_has_sent_and_changed_it(app) {
        app.admin().define_type("news").await;
        let id = sent(app, "hello").await;
        app.advance(TimeDelta::minutes(1));
        app.service().ask("mutation($id: ID!) { updateSentNotification(id: $id, input: { title: \"better\" }) { id } }", json!({ "id": id })).await;
        app.advance(TimeDelta::minutes(1));
        app.admin().ask("mutation($id: ID!) { retractSentNotification(id: $id) { id } }", json!({ "id": id })).await;
        let look = "{ sentNotifications { nodes { sentBy { role origin } history { action actor { role } } } } }";
        assert_eq!(app.service().ask(look, json!({})).await["sentNotifications"]["nodes"], json!([{
            "sentBy": { "role": "ADMIN", "origin": "UNKNOWN" },
            "history": [
                { "action": "retractSentNotification", "actor": { "role": "ADMIN" } },
                { "action": "updateSentNotification", "actor": { "role": "SERVICE" } },
            ],
        }]));
    }

    async fn what_is_older_than_the_log_is_kept_goes(app) {
        app.service().ask("mutation { saveUserGroup(code: \"old\") { code } }", json!({})).await;
        app.advance(TimeDelta::days(20));
        app.service().ask("mutation { saveUserGroup(code: \"new\") { code } }", json!({})).await;
        app.advance(TimeDelta::days(11));
        maintenance::scheduled::sweep::sweep_all(&app.app.delivery).await.unwrap();
        assert_eq!(lines(app, json!({})).await, ["SERVICE saveUserGroup GROUP new"]);
    }
}

/// Only listed proxies may state the caller's address.
#[tokio::test]
async fn who_is_believed_about_a_callers_address_is_listed() {
    for (listed, from, origin) in [
        ("none", "9.9.9.9", "LOOPBACK"),
        ("192.0.2.1", "9.9.9.9", "LOOPBACK"),
        ("127.0.0.1", "9.9.9.9", "PUBLIC"),
        ("127.0.0.1", "9.9.9.9, 10.0.0.7", "PRIVATE"),
        ("127.0.0.1,10.0.0.7", "9.9.9.9, 10.0.0.7", "PUBLIC"),
        ("127.0.0.1,10.0.0.7", "9.9.9.9, 10.0.0.8, 10.0.0.7", "PRIVATE"),
    ] {
        let change = |config: &mut base::config::ServerConfig| {
            config.connections.trusted_proxies = listed.parse().unwrap();
        };
        crate::support::with_settings(crate::support::Kind::Sqlite, change, async |app: &TestApp| {
            let listening = app.listen().await;
            let body = json!({ "query": "mutation { saveUserGroup(code: \"g\") { code } }" }).to_string();
            let request = reqwest::Client::new()
                .post(format!("http://{}/graphql", listening.address))
                .bearer_auth(&app.admin().token)
                .header("content-type", "application/json")
                .header("x-forwarded-for", from)
                .body(body);
            assert_eq!(request.send().await.unwrap().status(), 200);
            assert_eq!(log(app, json!({})).await[0]["actor"]["origin"], origin, "{from} by {listed}");
        })
        .await;
    }
}

/// Without a proxy, the peer address of the connection determines the caller's network class.
#[tokio::test]
async fn an_entry_says_from_what_kind_of_address_the_caller_came() {
    crate::support::with(crate::support::Kind::Sqlite, async |app: &TestApp| {
        let listening = app.listen().await;
        let token = app.admin().token.clone();
        let ask = async |from: Option<&str>, code: &str| {
            let body = json!({ "query": format!("mutation {{ saveUserGroup(code: \"{code}\") {{ code }} }}") });
            let mut request = reqwest::Client::new()
                .post(format!("http://{}/graphql", listening.address))
                .bearer_auth(&token)
                .header("content-type", "application/json")
                .body(body.to_string());
            if let Some(from) = from {
                request = request.header("x-forwarded-for", from);
            }
            assert_eq!(request.send().await.unwrap().status(), 200);
        };
        for (place, (from, origin)) in [
            (None, "LOOPBACK"),
            (Some("10.0.0.7"), "PRIVATE"),
            // A private network is no proxy, unless it is listed.
            (Some("9.9.9.9, 10.0.0.7"), "PRIVATE"),
            // A caller can forge the entries to the left of the proxy's own.
            (Some("anything, 8.8.8.8"), "PUBLIC"),
            (Some(", 8.8.8.8"), "PUBLIC"),
            (Some("127.0.0.1, 8.8.8.8:443"), "PUBLIC"),
            (Some("[2001:4860::1]"), "PUBLIC"),
            (Some("\"8.8.8.8\""), "PUBLIC"),
            (Some("8.8.8.8, anything"), "UNKNOWN"),
        ]
        .into_iter()
        .enumerate()
        {
            ask(from, &format!("g{place}")).await;
            let entry = log(app, json!({ "subject": { "kind": "GROUP", "id": format!("g{place}") } })).await;
            assert_eq!(entry[0]["actor"]["origin"], origin, "{from:?}");
        }
        app.user("ada").overview().await;
        let export = format!("http://{}/graphql?query={{exportUser(id:\"ada\")}}", listening.address);
        let request = reqwest::Client::new().get(export).bearer_auth(&token).header("x-forwarded-for", "8.8.8.8");
        assert_eq!(request.send().await.unwrap().status(), 200);
        assert_eq!(log(app, json!({ "actions": ["exportUser"] })).await[0]["actor"]["origin"], "PUBLIC");
    })
    .await;
}
