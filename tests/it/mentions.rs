//! Which calls create the users they name, and which limit those users count towards.

use std::collections::BTreeSet;

use base::config::ServerConfig;
use serde_json::{Value, json};

use crate::support::{Actor, Kind, TestApp, on_every_database, with_settings};
use crate::webhook::number;

/// Calls that name users unknown to the tenant: the caller, the call, and the number of users it creates.
const CALLS: &[(&str, &str, i64)] = &[
    ("user", "mutation { unfollowUser(user: \"$0\") { user { id name } viewer { id } } }", 0),
    (
        "user",
        "mutation { unsubscribeTopic(input: { target: { type: \"doc\", externalId: \"1\" }, what: { everything: true } }) { removedCount } }",
        0,
    ),
    ("user", "mutation { followUser(user: \"$0\") { user { id } } }", 1),
    (
        "user",
        "mutation { sendMessage(input: { type: \"news\", receiver: \"$0\", content: { title: \"t\" } }) { replayed } }",
        1,
    ),
    (
        "user",
        "mutation { sendMessage(input: { type: \"nothing\", receiver: \"$0\", content: { title: \"t\" } }) { replayed } }",
        0,
    ),
    ("user", "mutation { followUser(user: \"$0\", follower: \"$1\") { user { id } } }", 0),
    ("user", "mutation { unfollowUser(user: \"$0\", follower: \"$1\") { user { id } } }", 0),
    ("user", "mutation { markRead(select: { matching: {} }, user: \"$0\") { changedCount } }", 0),
    (
        "user",
        "mutation { updatePreferences(types: [{ code: \"news\", enabled: false }], user: \"$0\") { preferences { types { code } } } }",
        0,
    ),
    (
        "user",
        "mutation { updateDeliveryHours(input: { timeZone: \"Europe/Berlin\" }, user: \"$0\") { viewer { id } } }",
        0,
    ),
    (
        "user",
        "mutation { deletePushSubscription(endpoint: \"https://push.example/1\", user: \"$0\") { pushSubscriptionCount } }",
        0,
    ),
    ("user", "{ _entities(representations: [{ __typename: \"User\", id: \"$0\" }]) { __typename } }", 0),
    ("service", "mutation { unfollowUser(user: \"$0\", follower: \"$1\") { user { id } inboxUser { id } } }", 0),
    (
        "service",
        "mutation { unsubscribeTopic(input: { target: { type: \"doc\", externalId: \"1\" }, what: { everything: true }, who: { user: \"$0\" } }) { removedCount deletedIds inboxUser { id } } }",
        0,
    ),
    (
        "service",
        "mutation { deletePushSubscription(endpoint: \"https://push.example/1\", user: \"$0\") { pushSubscriptionCount inboxUser { id } } }",
        0,
    ),
    ("service", "mutation { removeUserGroupMembers(code: \"team\", users: [\"$0\", \"$1\"]) { memberCount } }", 0),
    (
        "service",
        "mutation { leaveView(key: { code: \"chat\", externalId: \"1\" }, users: [\"$0\"]) { __typename } }",
        0,
    ),
    ("service", "mutation { markRead(select: { matching: {} }, user: \"$0\") { changedCount } }", 0),
    ("service", "mutation { markUnread(select: { matching: {} }, user: \"$0\") { changedCount } }", 0),
    ("service", "mutation { archiveItems(select: { matching: {} }, user: \"$0\") { changedCount } }", 0),
    ("service", "mutation { unarchiveItems(select: { matching: {} }, user: \"$0\") { changedCount } }", 0),
    ("service", "mutation { deleteItems(select: { matching: {} }, user: \"$0\") { changedCount } }", 0),
    ("service", "mutation { markSeen(user: \"$0\") { changedCount } }", 0),
    ("service", "{ inboxUser(id: \"$0\") { id } }", 0),
    ("service", "{ inboxUsers(ids: [\"$0\", \"$1\"]) { id } }", 0),
    ("service", "{ searchUsers(text: \"$0\") { id } }", 0),
    ("service", "{ audienceSize(audience: { users: [\"$0\", \"$1\"] }) { count } }", 0),
    ("service", "{ explainDelivery(notification: \"$sent\", user: \"$0\") { present } }", 0),
    ("service", "{ outboundDeliveries(filter: { user: \"$0\" }) { nodes { id } } }", 0),
    (
        "service",
        "mutation { updateDeliveryHours(input: { timeZone: \"Nowhere/None\" }, user: \"$0\") { inboxUser { id } } }",
        0,
    ),
    (
        "service",
        "mutation { updatePreferences(types: [{ code: \"news\", enabled: true }], resetTypes: [\"news\"], user: \"$0\") { preferences { types { code } } } }",
        0,
    ),
    (
        "service",
        "mutation { sendMessage(input: { type: \"nothing\", receiver: \"$0\", content: { title: \"t\" } }) { replayed } }",
        0,
    ),
    ("service", "mutation { saveUserProfiles(inputs: [{ id: \"$0\", name: \"N\" }, { id: \"$1\" }]) { id } }", 2),
    ("service", "mutation { addUserGroupMembers(code: \"team\", users: [\"$0\", \"$1\"]) { memberCount } }", 2),
    ("admin", "mutation { eraseUser(id: \"$0\") { __typename } }", 0),
    ("admin", "{ exportUser(id: \"$0\") }", 0),
];

async fn users(app: &TestApp) -> i64 {
    number(app, "SELECT COUNT(*) AS many FROM users").await
}

on_every_database! {
    async fn only_what_gives_a_user_something_makes_them(app) {
        app.admin().define_type("news").await;
        app.service().ask("mutation { saveUserGroup(code: \"team\") { code } }", json!({})).await;
        let join = "mutation { joinView(key: { code: \"chat\", externalId: \"1\" }, users: [\"ada\"]) { __typename } }";
        app.service().ask(join, json!({})).await;
        app.user("ada").overview().await;
        let sent = app.service().announce("news", json!({ "users": ["ada"] }), "sent").await;
        for (place, (who, call, made)) in CALLS.iter().enumerate() {
            let actor = match *who {
                "user" => app.user("ada"),
                "service" => app.service(),
                _ => app.admin(),
            };
            let call = call.replace("$0", &format!("new-{place}-a")).replace("$1", &format!("new-{place}-b"));
            let before = users(app).await;
            let (_, answer) = actor.send(&call.replace("$sent", &sent), json!({})).await;
            assert_eq!(users(app).await - before, *made, "{call}\n{answer:#}");
            let code = answer["errors"][0]["extensions"]["code"].as_str().unwrap_or_default();
            assert!(!code.starts_with("GRAPHQL"), "{call}\n{answer:#}");
        }
    }
}

#[tokio::test]
async fn ending_something_for_an_unknown_user_ends_nothing() {
    with_settings(Kind::Sqlite, |_| {}, async |app| {
        let unfollow = "mutation { unfollowUser(user: \"zoe\") { user { id name } viewer { id } } }";
        let done = app.user("ada").ask(unfollow, json!({})).await;
        assert_eq!(done["unfollowUser"]["user"], json!({ "id": "zoe", "name": null }));
        let end = "mutation { unsubscribeTopic(input: { target: { type: \"doc\", externalId: \"1\" }, what: { everything: true }, \
            who: { user: \"zoe\" } }) { removedCount deletedIds inboxUser { id } } }";
        let nothing = json!({ "removedCount": 0, "deletedIds": [], "inboxUser": null });
        assert_eq!(app.service().ask(end, json!({})).await["unsubscribeTopic"], nothing);
    })
    .await;
}

/// First-level arguments that name users.
const NAMING: [&str; 5] = ["user", "users", "follower", "ids", "id"];

#[tokio::test]
async fn every_call_with_an_argument_for_a_user_is_looked_at() {
    with_settings(
        Kind::Sqlite,
        |_| {},
        async |app| {
            let query = "{ __schema { types { name fields { name args { name description } } } } }";
            let types = app.admin().ask(query, json!({})).await["__schema"]["types"].take();
            let roots = types.as_array().unwrap().iter().filter(|of| of["name"] == "Query" || of["name"] == "Mutation");
            let fields = roots.flat_map(|of| of["fields"].as_array().unwrap());
            let names_user = |field: &&Value| {
                field["args"].as_array().unwrap().iter().any(|argument| {
                    let (name, says) = (argument["name"].as_str().unwrap(), argument["description"].as_str());
                    NAMING.contains(&name) && says.is_some_and(|says| says.contains("Your id"))
                })
            };
            let known: String = CALLS.iter().map(|(_, call, _)| *call).collect();
            let missing: BTreeSet<&str> = fields
                .filter(names_user)
                .map(|field| field["name"].as_str().unwrap())
                .filter(|name| !known.contains(&format!("{name}(")))
                .collect();
            let making = BTreeSet::from(["savePushSubscription", "joinView"]);
            assert_eq!(missing, making, "does it make the users that it names?");
        },
    )
    .await;
}

async fn is_limited(actor: &Actor<'_>, call: &str) -> bool {
    let (_, answer) = actor.send(call, json!({})).await;
    match answer["errors"][0]["extensions"]["code"].as_str() {
        Some("RATE_LIMITED") => true,
        code => panic!("{code:?} {call}\n{answer:#}"),
    }
}

/// No combination of calls lets a user create more users than the limit.
#[tokio::test]
async fn users_that_a_user_makes_count_even_where_the_call_fails() {
    let ten = |settings: &mut ServerConfig| settings.limits.user_makes = 10;
    with_settings(Kind::Sqlite, ten, async |app| {
        app.admin().define_type("news").await;
        for (name, call) in [
            ("ada", "mutation { followUser(user: \"$0\") { user { id } } }"),
            ("ben", "mutation { sendMessage(input: { type: \"news\", receiver: \"$0\", content: { title: \"t\" } }) { replayed } }"),
        ] {
            let actor = app.user(name);
            actor.overview().await;
            let before = users(app).await;
            for round in 0..10 {
                actor.ask(&call.replace("$0", &format!("{name}-{round}")), json!({})).await;
            }
            assert!(is_limited(&actor, &call.replace("$0", &format!("{name}-more"))).await);
            for round in 0..30 {
                actor.send(&format!("mutation {{ unfollowUser(user: \"{name}-other-{round}\") {{ user {{ id }} }} }}"), json!({})).await;
            }
            assert_eq!(users(app).await - before, 10, "{name}");
        }
        // A message to a known user creates none, and does not count.
        app.user("ben").message("news", "ben-1", "again").await;
    })
    .await;
}
