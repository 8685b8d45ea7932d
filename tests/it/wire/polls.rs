//! Polls of the overview over GET, with `If-None-Match`.

use reqwest::StatusCode;
use reqwest::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use crate::support::{Kind, Listening, TestApp, everyone, on_every_database, with_settings};

const BELL: &str = "{ viewer { id overview(cap: 99) { unread { count exact } types { type { code title } unread { count } \
    latest { id title isRead sender { name } } } } } }";

/// An overview and lists of the inbox.
const SHOWN: &str = "overview(cap: 3) { cursor unread { count } } \
            inbox(first: 2) { edges { cursor node { id title isRead sender { name } } } pageInfo { hasNextPage endCursor hasPreviousPage } } \
            unread: inbox(last: 5, filter: { read: false }) { nodes { title } pageInfo { hasNextPage startCursor } } \
            of: inbox(filter: { types: [\"direct\"], sender: \"eve\", state: ALL }) { nodes { title isArchived } }";

/// A page that polls and keeps the last response.
struct Page {
    url: String,
    token: String,
    tag: Option<String>,
    body: String,
}

impl Page {
    fn new(node: &Listening, app: &TestApp, user: &str, query: &str) -> Self {
        let url = reqwest::Url::parse_with_params(&format!("http://{}/graphql", node.address), [("query", query)]);
        Self { url: url.unwrap().into(), token: app.user(user).token, tag: None, body: String::new() }
    }

    /// Polls, and returns whether the response was 304. Checks that the page then has the same content as an
    /// unconditional request.
    async fn polls(&mut self) -> bool {
        let client = reqwest::Client::new();
        let asked = client.get(&self.url).bearer_auth(&self.token);
        let plain = asked.try_clone().unwrap();
        let asked = self.tag.iter().fold(asked, |asked, tag| asked.header(IF_NONE_MATCH, tag));
        let answer = asked.send().await.unwrap();
        let same = answer.status() == StatusCode::NOT_MODIFIED;
        assert!(same || answer.status() == StatusCode::OK);
        assert_eq!(answer.headers()[CACHE_CONTROL], "private, no-cache");
        let (before, tag) = (self.body.clone(), answer.headers()[ETAG].to_str().unwrap().to_owned());
        let body = answer.text().await.unwrap();
        if same {
            assert!(body.is_empty() && self.tag.as_ref() == Some(&tag));
        } else {
            (self.body, self.tag) = (body, Some(tag));
        }
        assert_eq!(plain.send().await.unwrap().text().await.unwrap(), self.body);
        assert_eq!(same, before == self.body, "{}", self.body);
        same
    }
}

on_every_database! {
    async fn a_poll_is_told_that_nothing_has_changed_exactly_when_it_has_not(app) {
        app.admin().define_type("direct").await;
        app.admin().define_type("news").await;
        app.service().announce("news", everyone(), "first").await;
        let (node, other) = (app.listen().await, app.beside().await);
        let far = other.listen().await;
        let mut pages = [Page::new(&node, app, "ada", BELL), Page::new(&far, app, "ada", BELL), Page::new(&node, app, "ben", BELL)];
        for page in &mut pages {
            assert!(!page.polls().await);
            assert!(page.polls().await && page.polls().await);
        }
        // A 304 costs one statement, and executes nothing.
        let client = reqwest::Client::new();
        let again = client.get(&pages[0].url).bearer_auth(&pages[0].token).header(IF_NONE_MATCH, pages[0].tag.clone().unwrap());
        let (statements, answer) = app.statements_of(again.send()).await;
        assert_eq!((statements, answer.unwrap().status()), (1, StatusCode::NOT_MODIFIED));

        let ada = app.user("ada");
        let profile = "mutation($i: UserProfileInput!) { saveUserProfiles(inputs: [$i]) { id } }";
        // Each with whether ada sees it, and whether ben does.
        for (what, ada_sees, ben_sees) in [
            ("a message", true, false), ("the message is read", true, false), ("it is read again", false, false),
            ("an announcement", true, true), ("a type has another title", true, true),
            ("the sender has another name", true, false), ("all is read", true, false), ("the announcement is retracted", true, true),
        ] {
            match what {
                "a message" => {
                    app.service().ask(profile, json!({ "i": { "id": "eve", "name": "Eve" } })).await;
                    let send = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { notification { id } } }";
                    app.service().ask(send, json!({ "i": { "type": "direct", "receiver": "ada", "sender": "eve", "content": { "title": "hello" } } })).await;
                }
                "the message is read" | "it is read again" => {
                    let items = ada.items(json!({ "types": ["direct"] })).await;
                    ada.mark("markRead", json!({ "ids": [items[0]["id"]] })).await;
                }
                "an announcement" => drop(app.service().announce("news", everyone(), "second").await),
                "a type has another title" => {
                    let save = "mutation { saveMessageType(input: { code: \"news\", title: \"Other news\" }) { code } }";
                    app.admin().ask(save, json!({})).await;
                }
                "the sender has another name" => {
                    app.service().ask(profile, json!({ "i": { "id": "eve", "name": "Eva" } })).await;
                }
                "all is read" => drop(ada.mark("markRead", json!({ "matching": {} })).await),
                _ => {
                    let sent = "{ sentNotifications(first: 1, filter: { kinds: [ANNOUNCEMENT] }) { nodes { id } } }";
                    let id = app.service().ask(sent, json!({})).await["sentNotifications"]["nodes"][0]["id"].take();
                    app.service().ask("mutation($id: ID!) { retractSentNotification(id: $id) { id } }", json!({ "id": id })).await;
                }
            }
            let mut same = Vec::new();
            for page in &mut pages {
                same.push(page.polls().await);
            }
            assert_eq!(same, [!ada_sees, !ada_sees, !ben_sees], "{what}");
        }
        node.stop().await;
        far.stop().await;
        other.app.db.close().await;
    }

    async fn what_time_takes_away_is_not_the_same(app) {
        app.admin().define_type("direct").await;
        let node = app.listen().await;
        let expires = app.now() + chrono::TimeDelta::minutes(5);
        let send = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { notification { id } } }";
        let input = json!({ "type": "direct", "receiver": "ada", "content": { "title": "soon gone" }, "expiresAt": expires.to_rfc3339() });
        app.service().ask(send, json!({ "i": input })).await;
        let mut page = Page::new(&node, app, "ada", BELL);
        assert!(!page.polls().await && page.polls().await);
        app.advance(chrono::TimeDelta::minutes(6));
        assert!(!page.polls().await && page.polls().await);
        node.stop().await;
    }

    async fn the_cursor_is_part_of_what_may_change(app) {
        app.admin().define_type("direct").await;
        let node = app.listen().await;
        let mut with = Page::new(&node, app, "ada", "{ viewer { overview { cursor unread { count } } } }");
        let mut without = Page::new(&node, app, "ada", "{ viewer { overview { unread { count } } } }");
        assert!(!with.polls().await && with.polls().await && !without.polls().await && without.polls().await);
        app.service().message("direct", "ben", "to another").await;
        assert!(!with.polls().await && without.polls().await);
        node.stop().await;
    }

    async fn what_was_answered_is_answered_again_without_being_executed(app) {
        app.admin().define_type("direct").await;
        app.service().message("direct", "ada", "hello").await;
        let ada = app.user("ada");
        let asks = async |query: &str| {
            let (statements, data) = app.statements_of(ada.ask(query, json!({}))).await;
            (statements, data["viewer"].clone())
        };
        // The cursor also changes with sends to other users.
        let query = "{ viewer { a: overview(cap: 3) { place: cursor ... on InboxOverview { cursor unread { count } types { latest { title } } } } } }";
        // Groups may change independently of the inbox, so this query is always executed.
        let executed = "{ viewer { a: overview(cap: 3) { place: cursor cursor unread { count } types { latest { title } } } groups { code } } }";
        for moment in ["at first", "another's", "their own", "read"] {
            match moment {
                "another's" => app.service().message("direct", "ben", "to another").await,
                // The title contains the text of the cursor.
                "their own" => {
                    let (_, before) = asks(query).await;
                    app.service().message("direct", "ada", &format!("at \"{}\"", before["a"]["cursor"].as_str().unwrap())).await;
                }
                "read" => drop(ada.mark("markRead", json!({ "matching": {} })).await),
                _ => {}
            }
            let (_, first) = asks(query).await;
            let (statements, again) = asks(query).await;
            let (_, anew) = asks(executed).await;
            assert_eq!((statements, &again), (1, &first), "{moment}");
            assert_eq!(again["a"], anew["a"], "{moment}");
        }
        // A request that differs in any input of the response is another request.
        let capped = "query($cap: Int) { viewer { overview(cap: $cap) { unread { count exact } } } }";
        app.service().message("direct", "ada", "one").await;
        app.service().message("direct", "ada", "two").await;
        for _ in 0..2 {
            for (cap, count) in [(1, 1), (2, 2)] {
                assert_eq!(ada.ask(capped, json!({ "cap": cap })).await["viewer"]["overview"]["unread"]["count"], count);
            }
        }
        let (status, refused) = ada.send(capped, json!({ "cap": 0 })).await;
        assert!(refused["errors"].is_array(), "{status} {refused}");
        // A response that is too long for the cache is made each time.
        let long = json!({ "type": "direct", "receiver": "ada", "content": { "title": "long", "body": "x".repeat(8_000) } });
        app.admin().define_type("other").await;
        for kind in ["direct", "other"] {
            let mut input = long.clone();
            input["type"] = json!(kind);
            app.service().ask("mutation($i: SendMessageInput!) { sendMessage(input: $i) { replayed } }", json!({ "i": input })).await;
        }
        let bodies = "{ viewer { overview { types { latest { body again: body } } } } }";
        assert_eq!(asks(bodies).await.1, asks(bodies).await.1);
    }

    async fn a_list_is_answered_again_exactly_as_long_as_it_is_the_same(app) {
        app.admin().define_type("direct").await;
        app.admin().define_type("news").await;
        let profile = "mutation($i: UserProfileInput!) { saveUserProfiles(inputs: [$i]) { id } }";
        app.service().ask(profile, json!({ "i": { "id": "eve", "name": "Eve" } })).await;
        let send = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { notification { id } } }";
        app.service().ask(send, json!({ "i": { "type": "direct", "receiver": "ada", "sender": "eve", "content": { "title": "hello" } } })).await;
        app.service().announce("news", everyone(), "old").await;
        let (ada, far) = (app.user("ada"), app.beside().await);
        let there = far.user("ada");
        let (poll, executed) = (format!("{{ viewer {{ {SHOWN} }} }}"), format!("{{ viewer {{ {SHOWN} groups {{ code }} }} }}"));
        let of_executed = async |actor: &crate::support::Actor<'_>| {
            let mut data = actor.ask(&executed, json!({})).await;
            data["viewer"].as_object_mut().unwrap().remove("groups");
            data
        };
        for what in ["at first", "another's message", "a message", "read", "archived", "a profile", "an announcement", "a retraction", "a title", "a marked list", "seen"] {
            match what {
                "another's message" => app.service().message("direct", "ben", "to another").await,
                "a message" => app.service().message("direct", "ada", "new").await,
                "read" => drop(ada.mark("markRead", json!({ "ids": [ada.items(json!({})).await[0]["id"]] })).await),
                "archived" => drop(ada.mark("archiveItems", json!({ "ids": [ada.items(json!({})).await[1]["id"]] })).await),
                "a profile" => drop(app.service().ask(profile, json!({ "i": { "id": "eve", "name": "Eva" } })).await),
                "an announcement" => drop(app.service().announce("news", everyone(), "fresh").await),
                "a retraction" => {
                    let newest = "{ sentNotifications(first: 1) { nodes { id } } }";
                    let id = app.service().ask(newest, json!({})).await["sentNotifications"]["nodes"][0]["id"].take();
                    app.service().ask("mutation($id: ID!) { retractSentNotification(id: $id) { id } }", json!({ "id": id })).await;
                }
                "a title" => drop(app.admin().ask("mutation { saveMessageType(input: { code: \"direct\", title: \"Mine\" }) { code } }", json!({})).await),
                "a marked list" => drop(ada.mark("markRead", json!({ "matching": {} })).await),
                "seen" => drop(ada.ask("mutation { markSeen { changedCount } }", json!({})).await),
                _ => {}
            }
            for actor in [&ada, &there] {
                let first = actor.ask(&poll, json!({})).await;
                let (statements, again) = actor.app.statements_of(actor.ask(&poll, json!({}))).await;
                assert_eq!((statements, &again, &of_executed(actor).await), (1, &first, &first), "{what}");
            }
        }
        // An item expires without any request.
        let expires = app.now() + chrono::TimeDelta::minutes(5);
        let input = json!({ "type": "direct", "receiver": "ada", "content": { "title": "soon gone" }, "expiresAt": expires.to_rfc3339() });
        app.service().ask(send, json!({ "i": input })).await;
        let titles = async || ada.ask(&poll, json!({})).await["viewer"]["inbox"]["edges"][0]["node"]["title"].clone();
        assert_eq!((titles().await, titles().await), (json!("soon gone"), json!("soon gone")));
        app.advance(chrono::TimeDelta::minutes(6));
        assert_ne!(titles().await, "soon gone");
        assert_eq!(ada.ask(&poll, json!({})).await, of_executed(&ada).await);
        far.app.db.close().await;
    }

    async fn what_is_no_poll_has_no_tag(app) {
        app.admin().define_type("direct").await;
        let node = app.listen().await;
        let tagged = async |token: &str, query: &str| {
            let url = reqwest::Url::parse_with_params(&format!("http://{}/graphql", node.address), [("query", query)]).unwrap();
            let answer = reqwest::Client::new().get(url).bearer_auth(token).header(IF_NONE_MATCH, "*").send().await.unwrap();
            let (status, has_tag) = (answer.status(), answer.headers().contains_key(ETAG));
            let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default();
            (status == StatusCode::OK && !body.is_null(), has_tag)
        };
        let ada = app.user("ada").token;
        for query in [
            "{ viewer { overview { total { count } } } }",
            "{ viewer { overview { views { id } } } }",
            "{ viewer { overview { ... on InboxOverview { total { count } } } } }",
            "{ viewer { overview { unread { count } } groups { code } } }",
            "{ viewer { overview { unread { count } } } messageTypes { code } }",
            "{ viewer { id } }",
            "{ viewer { overview(types: [\"nope\"]) { unread { count } } } }",
        ] {
            assert_eq!(tagged(&ada, query).await, (true, false), "{query}");
        }
        for query in [
            "{ viewer { a: overview { unread { count } } b: overview(cap: 1) { unread { count } } } }",
            "{ viewer { overview { unread { count } } inbox { nodes { id } } } }",
            "{ viewer { id inbox(first: 0) { edges { cursor } } } }",
        ] {
            assert_eq!(tagged(&ada, query).await, (false, true), "{query}");
        }
        assert_eq!(tagged(&ada, "query { viewer { overview { ...U } } } fragment U on InboxOverview { unread { count } }").await, (false, true));
        node.stop().await;
    }

    async fn an_erased_user_is_not_told_that_nothing_has_changed(app) {
        app.admin().define_type("direct").await;
        app.service().message("direct", "ada", "hello").await;
        let node = app.listen().await;
        let mut page = Page::new(&node, app, "ada", BELL);
        assert!(!page.polls().await && page.polls().await);
        app.service().ask("mutation { eraseUser(id: \"ada\") { erasedId } }", json!({})).await;
        assert!(!page.polls().await);
        node.stop().await;
    }

    async fn somebody_who_was_erased_and_has_come_back_is_not_shown_an_empty_list(app) {
        app.admin().define_type("direct").await;
        let far = app.beside().await;
        for (lists, id) in [("inbox { nodes { title } }", "ada"), ("inbox { nodes { title } } groups { code }", "ben")] {
            app.service().message("direct", id, "first life").await;
            let (there, query) = (far.user(id), format!("{{ viewer {{ id {lists} }} }}"));
            let before = there.ask(&query, json!({})).await["viewer"]["id"].clone();
            app.service().ask("mutation($id: ID!) { eraseUser(id: $id) { erasedId } }", json!({ "id": id })).await;
            app.service().message("direct", id, "second life").await;
            // A node that is asked at that moment may not know the new user of the id yet; it then fails with
            // `UNAVAILABLE`.
            let (_, first) = there.send(&query, json!({})).await;
            assert!(first["errors"][0]["extensions"]["code"] == "UNAVAILABLE", "{first}");
            let viewer = there.ask(&query, json!({})).await["viewer"].take();
            assert_ne!(viewer["id"], before);
            assert_eq!(viewer["inbox"]["nodes"], json!([{ "title": "second life" }]));
        }
        far.app.db.close().await;
    }

    async fn tags_may_stand_in_several_lines(app) {
        let node = app.listen().await;
        let url = reqwest::Url::parse_with_params(&format!("http://{}/graphql", node.address), [("query", BELL)]).unwrap();
        let asked = || reqwest::Client::new().get(url.clone()).bearer_auth(app.user("ada").token);
        let tag = asked().send().await.unwrap().headers()[ETAG].to_str().unwrap().to_owned();
        for (one, other, status) in [("\"nope\"", &*tag, 304), (&*tag, "\"nope\"", 304), ("\"nope\"", "\"neither\"", 200)] {
            let answer = asked().header(IF_NONE_MATCH, one).header(IF_NONE_MATCH, other).send().await.unwrap();
            assert_eq!(answer.status(), status, "{one}, {other}");
        }
        node.stop().await;
    }
}

/// A poll that waits for the database ends after the time limit of every query, and is not executed afterwards.
#[tokio::test]
async fn a_poll_waits_no_longer_than_it_is_executed() {
    let hasty = |settings: &mut base::config::ServerConfig| settings.limits.execution_millis = 400;
    with_settings(Kind::Postgres, hasty, async |app| {
        app.admin().define_type("direct").await;
        app.service().message("direct", "ada", "hello").await;
        let ada = app.user("ada");
        ada.ask(BELL, json!({})).await;
        let (once, _) = app.statements_of(ada.ask(BELL, json!({}))).await;
        let other = TestApp::at(app.app.config.clone(), app.app.clock.clone()).await;
        let holder = other.app.db.begin().await.unwrap();
        holder.execute_unprepared("LOCK TABLE users IN ACCESS EXCLUSIVE MODE").await.unwrap();
        let (statements, (_, answer)) = app.statements_of(ada.send(BELL, json!({}))).await;
        holder.rollback().await.unwrap();
        assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{answer}");
        assert!(statements <= once, "{statements}");
        ada.ask(BELL, json!({})).await;
        other.app.db.close().await;
    })
    .await;
}
