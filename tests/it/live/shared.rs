//! Data shared between sessions and cached data are invisible: each user gets the same as from a query of their own.

use auth::CallerRole;
use chrono::TimeDelta;
use domain::tenant;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use crate::after::{retract, update};
use crate::support::{Kind, OVERVIEWS, Socket, TestApp, everyone, on_every_database, with};

const FIELDS: &str = "unread { count exact } unseen { count exact } total { count exact } cursor types { type { code title } \
    unread { count exact } latest { id notificationId title body createdAt updatedAt expiresAt isRead readAt isArchived \
    sender { id name } type { title } } }";

/// A session that follows its user's overview.
struct Watcher {
    user: &'static str,
    arguments: &'static str,
    socket: Socket,
    seen: Value,
}

impl Watcher {
    async fn new(app: &TestApp, address: &str, user: &'static str, arguments: &'static str) -> Self {
        let query = format!("subscription {{ overviewChanged {{ overview{arguments} {{ {FIELDS} }} }} }}");
        let socket = Socket::subscribed(address, &app.user(user).token, &query, json!({})).await;
        Self { user, arguments, socket, seen: Value::Null }
    }

    /// Waits up to a minute until the session shows the same as a query. Its cursor may be older if nothing between
    /// that position and the end of the log concerns the user.
    async fn agrees(&mut self, app: &TestApp) {
        let query = format!("{{ viewer {{ overview{} {{ {FIELDS} }} }} }}", self.arguments);
        let expected = app.user(self.user).ask(&query, json!({})).await["viewer"]["overview"].take();
        let without_cursor = |of: &Value| {
            let mut of = of.clone();
            of["cursor"].take();
            of
        };
        if without_cursor(&self.seen) == without_cursor(&expected) {
            // A socket that is not read for a minute answers no ping, and the server closes it.
            self.socket.is_silent(1).await;
            return;
        }
        while without_cursor(&self.seen) != without_cursor(&expected) {
            self.seen = self.socket.data().await["overviewChanged"]["overview"].take();
        }
    }
}

/// Makes the server read each overview again, without a change to it.
async fn looked_at(app: &TestApp) {
    for user in ["ada", "bob", "cyd"] {
        app.user(user).ask("mutation { markSeen { affectedTypes { code } } }", json!({})).await;
    }
}

async fn name(app: &TestApp, user: &str, name: &str) {
    let query = "mutation($i: [UserProfileInput!]!) { saveUserProfiles(inputs: $i) { id } }";
    app.service().ask(query, json!({ "i": [{ "id": user, "name": name }] })).await;
}

on_every_database! {
    async fn a_retraction_is_told_to_those_from_whom_a_sync_takes_it_first(app) {
        app.admin().define_type("doc").await;
        let node = app.listen().await;
        let ada = app.user("ada");
        let mut socket = Socket::subscribed(&node.address, &ada.token, OVERVIEWS, json!({})).await;
        socket.until_unread(0).await;
        for round in 0..20 {
            let audience = if round % 2 == 0 { everyone() } else { json!({ "users": ["ada"] }) };
            let wrong = app.service().announce("doc", audience, "wrong").await;
            socket.until_unread(round + 1).await;
            let asking = join_all((0..3).map(|_| ada.titles(json!({}))));
            join(retract(&app.service(), &json!(wrong)), asking).await;
            ada.titles(json!({})).await;
            app.service().message("doc", "ada", &format!("right {round}")).await;
            loop {
                let overview = socket.data().await["overviewChanged"]["overview"].take();
                assert_ne!(overview["unread"]["count"], round + 2, "{overview:#}");
                if overview["types"][0]["latest"]["title"] == format!("right {round}") {
                    break;
                }
            }
        }
        node.stop().await;
    }

    async fn who_takes_an_amendment_into_an_inbox_tells_it(app) {
        app.admin().define_type("doc").await;
        let (acme, ada) = (tenant::get_or_create(&app.app, "acme").await.unwrap(), app.user("ada"));
        let expiring = Some(json!({ "expiresAt": "2100-01-01T00:00:00Z" }));
        for (audience, patch) in [(everyone(), None), (json!({ "users": ["ada"] }), None), (everyone(), expiring)] {
            let id = json!(app.service().announce("doc", audience, "wrong").await);
            ada.titles(json!({})).await;
            match &patch {
                Some(patch) => update(&app.service(), &id, patch.clone()).await,
                None => retract(&app.service(), &id).await,
            };
            let mut notices = app.app.hub.listen(acme.id);
            ada.titles(json!({})).await;
            let told = std::iter::from_fn(|| notices.try_recv().ok());
            assert_eq!(told.map(|notice| notice.changed.len()).sum::<usize>(), 1, "{patch:?}");
            app.app.hub.remove_listener(acme.id);
        }
    }

    async fn an_overview_that_is_told_is_what_a_query_answers(app) {
        app.admin().define_type("doc").await;
        app.admin().define_type("news").await;
        app.admin().define(json!({ "code": "brief", "title": "brief", "ttlSeconds": 60 })).await;
        app.service().announce("news", everyone(), "before").await;
        let node = app.listen().await;
        let mut all = Vec::new();
        for (user, arguments) in [("ada", ""), ("bob", "(cap: 2)"), ("cyd", "(types: [\"doc\", \"brief\"])"), ("ada", "(cap: 3)")] {
            all.push(Watcher::new(app, &node.address, user, arguments).await);
        }
        macro_rules! agree {
            () => {
                for watcher in &mut all {
                    watcher.agrees(app).await;
                }
            };
        }
        agree!();
        for number in 0..5 {
            app.service().announce("doc", everyone(), &format!("to all {number}")).await;
            agree!();
        }
        app.service().message("news", "bob", "to bob").await;
        agree!();
        let first = app.user("ada").items(json!({})).await[0]["id"].clone();
        app.user("ada").mark("markRead", json!({ "ids": [first] })).await;
        app.service().announce("news", everyone(), "after a mark").await;
        agree!();
        app.user("bob").mark("archiveItems", json!({ "matching": {} })).await;
        app.user("cyd").ask("mutation { markSeen { viewer { overview { unread { count } } } } }", json!({})).await;
        app.service().announce("doc", everyone(), "after an archive").await;
        agree!();
        app.service().announce("brief", everyone(), "for a minute").await;
        agree!();
        app.advance(TimeDelta::seconds(61));
        app.service().announce("doc", everyone(), "a minute later").await;
        agree!();
        name(app, "ben", "Ben").await;
        app.user("ada").subscribe("plan", &["comment"]).await;
        app.service().remind("doc", "plan", "comment", Some("ben"), "from Ben").await;
        agree!();
        name(app, "ben", "Benjamin").await;
        looked_at(app).await;
        agree!();
        app.service().announce("news", everyone(), "after another name").await;
        agree!();
        let wrong = app.service().announce("news", everyone(), "wrong").await;
        agree!();
        retract(&app.service(), &json!(wrong)).await;
        app.service().message("doc", "ada", "after a retraction").await;
        agree!();
        app.admin().define(json!({ "code": "doc", "title": "Documents" })).await;
        app.service().message("doc", "ada", "after another title").await;
        agree!();
        app.service().ask(r#"mutation { eraseUser(id: "ben") { erasedId } }"#, json!({})).await;
        looked_at(app).await;
        agree!();
        app.service().announce("news", everyone(), "after an erasure").await;
        agree!();
        app.service().ask(r#"mutation { joinView(key: { code: "chat", externalId: "1" }, users: ["ada", "bob"]) { view { externalId } } }"#, json!({})).await;
        let activity = r#"mutation { recordActivity(inputs: [{ view: { code: "chat", externalId: "1" }, actor: "bob" }]) { views { externalId } } }"#;
        for number in 0..3 {
            app.service().ask(activity, json!({})).await;
            app.service().announce("news", everyone(), &format!("beside a chat {number}")).await;
        }
        agree!();
        app.service().ask(activity, json!({})).await;
        agree!();
        drop(all);
        node.stop().await;
    }
}

#[tokio::test]
async fn everybody_has_their_own_ids_of_what_all_get() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("doc").await;
        let node = app.listen().await;
        let query = "subscription { itemReceived { cursor node { id notificationId title } } }";
        let mut sockets = Vec::new();
        for user in ["ada", "bob", "cyd"] {
            let mut socket = Socket::subscribed(&node.address, &app.user(user).token, query, json!({})).await;
            while app.app.metrics.subscriptions.get() <= i64::try_from(sockets.len()).unwrap() {
                assert!(socket.is_silent(10).await);
            }
            sockets.push((user, socket));
        }
        app.service().announce("doc", everyone(), "to all").await;
        for (user, socket) in &mut sockets {
            let edge = socket.data().await["itemReceived"].take();
            let listed = app.user(user).items(json!({})).await.remove(0);
            assert_eq!(
                (&edge["node"]["id"], &edge["node"]["notificationId"]),
                (&listed["id"], &listed["notificationId"])
            );
            let query = "query($after: String) { viewer { inbox(before: $after, last: 1) { nodes { id } } } }";
            let data = app.user(user).ask(query, json!({ "after": edge["cursor"] })).await;
            assert_eq!(data["viewer"]["inbox"]["nodes"], json!([]), "the cursor is theirs, and of this item");
        }
        drop(sockets);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn everybody_has_their_own_etag_of_what_all_see() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("doc").await;
        let node = app.listen().await;
        let query = "subscription { overviewChanged { overview { etag unread { count } } } }";
        let mut sockets = Vec::new();
        for user in ["ada", "bob"] {
            sockets.push((user, Socket::subscribed(&node.address, &app.user(user).token, query, json!({})).await));
        }
        for unread in 0..3 {
            for (user, socket) in &mut sockets {
                let mut told = socket.data().await["overviewChanged"]["overview"].take();
                while told["unread"]["count"] != unread {
                    told = socket.data().await["overviewChanged"]["overview"].take();
                }
                let unless = "query($etag: String!) { viewer { overviewUnless(etag: $etag) { cursor } } }";
                let data = app.user(user).ask(unless, json!({ "etag": told["etag"] })).await;
                assert_eq!(data["viewer"]["overviewUnless"], Value::Null, "{user}, {unread}");
            }
            app.service().announce("doc", everyone(), "to all").await;
        }
        drop(sockets);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn what_depends_on_variables_is_answered_to_each_and_what_is_anothers_to_nobody() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("doc").await;
        name(app, "ben", "Ben").await;
        let node = app.listen().await;
        let private = "subscription { itemReceived { node { title sender { overview { unread { count } } } } } }";
        let varied =
            "subscription($with: Boolean!) { itemReceived { node { title sender @include(if: $with) { name } } } }";
        let mut ada = Socket::subscribed(&node.address, &app.user("ada").token, private, json!({})).await;
        assert_eq!(ada.hear().await["payload"][0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED");
        ada.subscribe("1", varied, json!({ "with": true })).await;
        let mut bob = Socket::subscribed(&node.address, &app.user("bob").token, varied, json!({ "with": false })).await;
        for user in ["ada", "bob"] {
            app.user(user).subscribe("plan", &["comment"]).await;
        }
        while app.app.metrics.subscriptions.get() < 2 {
            assert!(ada.is_silent(10).await);
        }
        app.service().remind("doc", "plan", "comment", Some("ben"), "from Ben").await;
        let named = json!({ "title": "from Ben", "sender": { "name": "Ben" } });
        assert_eq!(ada.data().await["itemReceived"]["node"], named);
        assert_eq!(bob.data().await["itemReceived"]["node"], json!({ "title": "from Ben" }));
        assert_eq!(app.stranger("ada", CallerRole::User).titles(json!({})).await, Vec::<String>::new());
        drop((ada, bob));
        node.stop().await;
    })
    .await;
}
