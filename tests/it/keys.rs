//! The scope of an idempotency key is its sender.

use chrono::TimeDelta;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::concurrency::second_node;
use crate::support::{Actor, on_every_database};

const MESSAGE: &str =
    "mutation($input: SendMessageInput!) { sendMessage(input: $input) { replayed notification { id sender { id } } } }";

/// The backend, and two users.
const SENDERS: [Option<&str>; 3] = [None, Some("ada"), Some("ben")];

/// Sends a title to Zoe under a key. Returns the error code if the send is refused.
async fn send(actor: &Actor<'_>, key: &str, title: &str) -> Result<Value, String> {
    let input = json!({ "type": "direct", "receiver": "zoe", "content": { "title": title }, "idempotencyKey": key });
    let (_, answer) = actor.send(MESSAGE, json!({ "input": input })).await;
    match answer["errors"][0]["extensions"]["code"].as_str() {
        Some(code) => Err(code.to_owned()),
        None => Ok(answer["data"]["sendMessage"].clone()),
    }
}

async fn is_new(actor: &Actor<'_>, key: &str, title: &str) -> bool {
    send(actor, key, title).await.expect("it is accepted")["replayed"] == json!(false)
}

on_every_database! {
    async fn a_key_of_a_user_is_in_nobody_elses_way(app) {
        app.admin().define_type("direct").await;
        let (ada, ben) = (app.user("ada"), app.user("ben"));
        assert!(is_new(&ada, "order-7", "from Ada").await);
        assert!(is_new(&app.service(), "order-7", "from the shop").await);
        assert!(is_new(&ben, "order-7", "from Ben").await);
        for (actor, title) in [(&ada, "from Ada"), (&ben, "from Ben"), (&app.service(), "from the shop"), (&app.admin(), "from the shop")] {
            assert!(!is_new(actor, "order-7", title).await, "{title}");
            assert_eq!(send(actor, "order-7", "else").await, Err("CONFLICT".into()), "{title}");
        }
        assert_eq!(app.user("zoe").titles(json!({})).await, ["from Ben", "from the shop", "from Ada"]);
    }

    async fn whoever_contradicts_a_key_makes_nobody(app) {
        app.admin().define_type("direct").await;
        let message = |kind: &str, to: &str, content: Value| json!({ "type": kind, "receiver": to, "content": content, "idempotencyKey": "k" });
        let one = message("direct", "zoe", json!({ "title": "one" }));
        app.service().ask(MESSAGE, json!({ "input": one })).await;
        let other = message("direct", "nobody", json!({ "title": "one" }));
        let refusal = "CONFLICT : the idempotency key \"k\" was used for something else";
        assert!(app.service().refused(MESSAGE, json!({ "input": other })).await.starts_with(refusal));
        let many = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
        let inputs: Vec<Value> = ["a", "b"].into_iter().map(|title| {
            let mut of = message("direct", "nobody", json!({ "title": title }));
            of["idempotencyKey"] = json!("new");
            json!({ "message": of })
        }).collect();
        assert!(app.service().refused(many, json!({ "inputs": inputs })).await.starts_with("CONFLICT"));
        // A retry in one batch with a message to a new user is still a replay.
        let inputs = json!([{ "message": one }, { "message": { "type": "direct", "receiver": "eve", "content": { "title": "one" } } }]);
        let sent = app.service().ask(many, json!({ "inputs": inputs })).await;
        assert_eq!(sent["sendNotifications"], json!([{ "replayed": true }, { "replayed": false }]));
        let found = app.admin().ask("{ searchUsers(text: \"nobody\") { id } }", json!({})).await;
        assert_eq!(found["searchUsers"], json!([]));
    }

    async fn no_key_can_be_made_to_look_like_that_of_another(app) {
        app.admin().define_type("direct").await;
        let users = [("ada", "x"), ("ada:x", "y"), ("ada", "x:y"), ("a", "da:x:y"), ("ada", &"k".repeat(128)), ("ad", &"k".repeat(128))];
        for (user, key) in users {
            assert!(is_new(&app.user(user), key, "mine").await, "{user} {key}");
        }
        let long = "ä".repeat(128);
        assert!(is_new(&app.user(&long), &long, "mine").await);
        assert!(!is_new(&app.user(&long), &long, "mine").await);
        // The first key has the form of a user's key in the database. No caller can send it.
        for key in ["\u{1f}ada", " x", ""] {
            assert_eq!(send(&app.service(), key, "mine").await, Err("BAD_USER_INPUT".into()));
            assert_eq!(send(&app.user("ada"), key, "mine").await, Err("BAD_USER_INPUT".into()));
        }
    }

    async fn a_users_retry_is_a_replay_where_it_could_not_be_sent_any_more(app) {
        app.admin().define_type("direct").await;
        let expires_at = (app.now() + TimeDelta::hours(1)).to_rfc3339();
        let input = json!({ "type": "direct", "receiver": "zoe", "content": { "title": "soon" }, "idempotencyKey": "1", "expiresAt": expires_at });
        let first = app.user("ada").ask(MESSAGE, json!({ "input": input })).await;
        app.advance(TimeDelta::hours(2));
        let again = app.user("ada").ask(MESSAGE, json!({ "input": input })).await;
        assert_eq!(again["sendMessage"]["replayed"], true);
        assert_eq!(again["sendMessage"]["notification"], first["sendMessage"]["notification"]);
        for other in [app.user("ben"), app.service()] {
            let why = other.refused(MESSAGE, json!({ "input": input })).await;
            assert_eq!(why, "BAD_USER_INPUT input.expiresAt: must be in the future");
        }
    }

    async fn of_many_sends_with_one_key_at_once_one_of_each_sender_is_new(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        app.admin().define_type("direct").await;
        let of = |place: usize| {
            let node = nodes[place % 2];
            match SENDERS[place % 3] {
                Some(user) => node.user(user),
                None => node.service(),
            }
        };
        let actors: Vec<Actor<'_>> = (0..18).map(of).collect();
        let sent = join_all(actors.iter().map(|actor| send(actor, "once", "hello"))).await;
        for (place, sender) in SENDERS.into_iter().enumerate() {
            let of = sent.iter().skip(place).step_by(3).map(|of| of.as_ref().expect("all are accepted"));
            let of: Vec<&Value> = of.collect();
            assert_eq!(of.iter().filter(|of| of["replayed"] == json!(false)).count(), 1, "{of:#?}");
            assert!(of.iter().all(|other| other["notification"] == of[0]["notification"]), "{of:#?}");
            assert_eq!(of[0]["notification"]["sender"]["id"].as_str(), sender);
        }
        assert_eq!(app.user("zoe").titles(json!({})).await, ["hello", "hello", "hello"]);
    }

    async fn who_was_erased_leaves_no_key_behind_and_the_backend_keeps_its_own(app) {
        app.admin().define_type("direct").await;
        assert!(is_new(&app.user("ada"), "1", "from Ada").await);
        let by_service = json!({ "type": "direct", "receiver": "zoe", "sender": "ada", "content": { "title": "for Ada" }, "idempotencyKey": "1" });
        app.service().ask(MESSAGE, json!({ "input": by_service })).await;
        app.service().ask("mutation { eraseUser(id: \"ada\") { erasedId } }", json!({})).await;
        let again = app.service().ask(MESSAGE, json!({ "input": by_service })).await;
        assert_eq!(again["sendMessage"]["replayed"], true);
        assert!(is_new(&app.user("ada"), "1", "from another Ada").await);
        assert_eq!(app.user("zoe").titles(json!({})).await, ["from another Ada", "for Ada", "from Ada"]);
    }
}
