//! Users who subscribe and unsubscribe while others send.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{join, join_all};
use serde_json::json;

use super::{Span, Ticks, reminder, rounds, second_node};
use crate::support::{Actor, TestApp, on_every_database};

const SENDERS: usize = 8;
const USERS: [&str; 6] = ["ada", "bob", "cyd", "dan", "eli", "fay"];

/// The three ways to receive eve's actions on the plan.
#[derive(Clone, Copy, Debug)]
enum Way {
    Subscription,
    Follow,
    /// The group `crew` is subscribed to the plan.
    Group,
}

/// The period from a user's subscription to the end of it.
#[derive(Debug)]
struct Period {
    begins: Span,
    ceases: Span,
}

on_every_database! {
    async fn who_begins_and_ceases_to_hear_meanwhile_gets_what_was_sent_in_between(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        prepare(app).await;
        let (ticks, is_over) = (Ticks::default(), AtomicBool::new(false));
        let sending = async {
            let sent = join_all((0..SENDERS).map(|sender| send(nodes[sender % 2], sender, rounds(app), &ticks))).await;
            is_over.store(true, Ordering::SeqCst);
            sent.into_iter().flatten().collect::<Vec<(String, Span)>>()
        };
        let ways = [Way::Subscription, Way::Follow, Way::Group];
        let hearing = USERS.iter().enumerate().map(|(place, user)| {
            hear(nodes[place % 2], user, ways[place % 3], &ticks, &is_over)
        });
        let (sent, periods) = join(sending, join_all(hearing)).await;
        for (user, periods) in USERS.iter().zip(periods) {
            check(app, user, &sent, &periods).await;
        }
    }

    async fn a_group_that_is_deleted_while_it_subscribes_hears_of_nothing(app) {
        let other = second_node(app).await;
        let (service, deleter) = (app.service(), other.as_ref().unwrap_or(app).service());
        app.admin().define_type("release").await;
        for round in 0..10 * rounds(app) {
            let group = json!({ "code": format!("crew{round}") });
            service.ask("mutation($code: String!) { saveUserGroup(code: $code) { code } }", group.clone()).await;
            let add = r#"mutation($code: String!) { addUserGroupMembers(code: $code, users: ["ada"]) { code } }"#;
            service.ask(add, group.clone()).await;
            let target = json!({ "type": "doc", "externalId": group["code"] });
            let input = json!({ "target": target, "what": { "actions": ["comment"] }, "who": { "group": group["code"] } });
            let subscribe = "mutation($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount } }";
            let deletion = async {
                // Start a little later each time, so that the two meet at different points.
                for _ in 0..round % 12 {
                    deleter.ask("{ userGroups { code } }", json!({})).await;
                }
                deleter.ask("mutation($code: String!) { deleteUserGroup(code: $code) { deletedId } }", group.clone()).await;
            };
            join(service.send(subscribe, json!({ "input": input })), deletion).await;
            let title = format!("of {round}");
            service.remind("release", &format!("crew{round}"), "comment", None, &title).await;
        }
        assert_eq!(app.user("ada").titles(json!({})).await, [""; 0]);
    }
}

async fn prepare(app: &TestApp) {
    app.admin().define_type("release").await;
    let service = app.service();
    service.ask(r#"mutation { saveUserGroup(code: "crew") { code } }"#, json!({})).await;
    let input = json!({ "target": { "type": "doc", "externalId": "plan" }, "what": { "actions": ["comment"] }, "who": { "group": "crew" } });
    let query = "mutation($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount } }";
    service.ask(query, json!({ "input": input })).await;
}

async fn send(node: &TestApp, sender: usize, rounds: usize, ticks: &Ticks) -> Vec<(String, Span)> {
    let mut sent = Vec::new();
    for round in 0..2 * rounds {
        let title = format!("{sender}/{round}");
        let began = ticks.now();
        let query = "mutation($input: SendReminderInput!) { sendReminder(input: $input) { replayed } }";
        node.service().ask(query, json!({ "input": reminder(&title, Some("eve")) })).await;
        sent.push((title, Span { began, ended: ticks.now() }));
    }
    sent
}

/// Subscribes and unsubscribes until the senders are done. The reads in between give them time.
async fn hear(node: &TestApp, user: &str, way: Way, ticks: &Ticks, is_over: &AtomicBool) -> Vec<Period> {
    let mut periods = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        let start = ticks.now();
        begin(&node.user(user), &node.service(), user, way).await;
        let begins = Span { began: start, ended: ticks.now() };
        if periods.len() % 2 == 0 {
            node.user(user).overview().await;
        } else {
            // Do not sync the user's inbox before the subscription ends.
            node.service().ask("{ userGroups { memberCount } }", json!({})).await;
        }
        let start = ticks.now();
        cease(&node.user(user), &node.service(), user, way).await;
        periods.push(Period { begins, ceases: Span { began: start, ended: ticks.now() } });
    }
    periods
}

async fn begin(user: &Actor<'_>, service: &Actor<'_>, id: &str, way: Way) {
    match way {
        Way::Subscription => assert_eq!(user.subscribe("plan", &["comment"]).await, 1),
        Way::Follow => drop(user.ask(r#"mutation { followUser(user: "eve") { user { id } } }"#, json!({})).await),
        Way::Group => {
            let query = r#"mutation($users: [ID!]!) { addUserGroupMembers(code: "crew", users: $users) { code } }"#;
            service.ask(query, json!({ "users": [id] })).await;
        }
    }
}

async fn cease(user: &Actor<'_>, service: &Actor<'_>, id: &str, way: Way) {
    match way {
        Way::Subscription => {
            let query = "mutation($input: UnsubscribeTopicInput!) { unsubscribeTopic(input: $input) { removedCount } }";
            let input = json!({ "target": { "type": "doc", "externalId": "plan" }, "what": { "everything": true } });
            user.ask(query, json!({ "input": input })).await;
        }
        Way::Follow => drop(user.ask(r#"mutation { unfollowUser(user: "eve") { user { id } } }"#, json!({})).await),
        Way::Group => {
            let query = r#"mutation($users: [ID!]!) { removeUserGroupMembers(code: "crew", users: $users) { code } }"#;
            service.ask(query, json!({ "users": [id] })).await;
        }
    }
}

/// Reminders sent within a period must be there once. Those sent outside of all periods must not be there. Those sent
/// while a period began or ended may be.
async fn check(app: &TestApp, user: &str, sent: &[(String, Span)], periods: &[Period]) {
    let titles = app.user(user).titles(json!({})).await;
    for (title, span) in sent {
        let is_within = |of: &Period| of.begins.ended < span.began && span.ended < of.ceases.began;
        let is_outside = |of: &Period| span.ended < of.begins.began || of.ceases.ended < span.began;
        let copies = titles.iter().filter(|of| *of == title).count();
        assert!(copies <= 1, "{user} got {title} {copies} times");
        assert!(copies == 1 || !periods.iter().any(is_within), "{user} lost {title} {span:?}: {periods:?}");
        assert!(copies == 0 || !periods.iter().all(is_outside), "{user} overheard {title} {span:?}: {periods:?}");
    }
}
