//! How many users a notification addressed, reached, and was read by.

use chrono::TimeDelta;
use domain::counters::update_counters;
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use super::{announce, look_at, retract};
use crate::support::{TestApp, everyone, on_every_database};

/// Returns `audience/delivered/read` after counting.
async fn stats(app: &TestApp, id: &Value) -> String {
    update_counters(&app.app).await.unwrap();
    let stats = look_at(&app.admin(), id).await["stats"].take();
    format!("{}/{}/{}", stats["audienceSize"], stats["deliveredCount"], stats["readCount"])
}

async fn notification(app: &TestApp, title: &str) -> Value {
    let data = app.admin().ask("{ sentNotifications(first: 50) { nodes { id title } } }", json!({})).await;
    let nodes = data["sentNotifications"]["nodes"].as_array().unwrap().clone();
    nodes.into_iter().find(|node| node["title"] == title).unwrap()["id"].take()
}

on_every_database! {
    async fn audiences_are_those_of_the_moment_of_publication(app) {
        let operator = app.admin();
        for kind in ["news", "muted"] {
            operator.define_type(kind).await;
        }
        operator.ask("mutation { saveUserGroup(code: \"team\") { code } }", json!({})).await;
        operator.ask("mutation { addUserGroupMembers(code: \"team\", users: [\"ada\", \"ben\"]) { code } }", json!({})).await;
        app.user("cleo").ask("mutation { updatePreferences(types: [{ code: \"muted\", enabled: false }]) { preferences { types { code } } } }", json!({})).await;
        app.user("ada").subscribe("7", &["comment"]).await;
        app.user("ben").subscribe("7", &["comment"]).await;
        let fresh = announce(&operator, json!({})).await;
        assert_eq!(fresh["stats"]["audienceSize"], Value::Null);
        announce(&operator, json!({ "type": "muted", "content": { "title": "unless muted" } })).await;
        app.advance(TimeDelta::seconds(1));
        announce(&operator, json!({ "audience": { "groups": ["team"] }, "content": { "title": "team" } })).await;
        announce(&operator, json!({ "audience": { "users": ["ada", "dan"] }, "content": { "title": "named" } })).await;
        operator.remind("news", "7", "comment", Some("ben"), "reminder").await;
        operator.remind("news", "8", "comment", None, "heard by nobody").await;
        operator.message("muted", "cleo", "unwanted").await;
        operator.message("news", "cleo", "wanted").await;
        // Later users do not count towards the audience, but are reached.
        app.user("eve").subscribe("7", &["comment"]).await;
        app.user("eve").overview().await;
        let expected =
            [("hello", "3/1/0"), ("unless muted", "3/1/0"), ("team", "2/0/0"), ("named", "2/2/0"), ("reminder", "1/0/0"),
             ("heard by nobody", "0/0/0"), ("unwanted", "1/0/0"), ("wanted", "1/1/0")];
        for (title, expected) in expected {
            let delivered = stats(app, &notification(app, title).await).await;
            assert_eq!(delivered, expected, "{title}");
        }
    }

    async fn audiences_of_any_number_of_announcements_are_counted_at_once(app) {
        let operator = app.admin();
        for kind in ["news", "muted"] {
            operator.define_type(kind).await;
        }
        let mute = "mutation { updatePreferences(types: [{ code: \"muted\", enabled: false }]) { preferences { types { code } } } }";
        let mut sent = Vec::new();
        for user in ["ada", "ben", "cleo", "dan"] {
            app.advance(TimeDelta::seconds(1));
            app.user(user).overview().await;
            if user != "ben" {
                app.user(user).ask(mute, json!({})).await;
            }
            for kind in ["news", "muted"] {
                let of = announce(&operator, json!({ "type": kind })).await;
                sent.push((kind, user, of["id"].clone()));
            }
        }
        let (few, ()) = app.statements_of(async { update_counters(&app.app).await.unwrap() }).await;
        let mut counted = Vec::new();
        for (kind, user, id) in &sent {
            counted.push((*kind, *user, stats(app, id).await.split('/').next().unwrap().to_owned()));
        }
        // Preferences do not change the audience. It is the number of users at the send, or the number of users reached
        // if that is larger.
        let expected = [("ada", "3", "3"), ("ben", "2", "2"), ("cleo", "3", "3"), ("dan", "4", "4")];
        let expected = expected.into_iter().flat_map(|(user, news, muted)| [("news", user, news), ("muted", user, muted)]);
        assert_eq!(counted, expected.map(|(kind, user, size)| (kind, user, size.to_owned())).collect::<Vec<_>>());
        for n in 0..50 {
            operator.announce(["news", "muted"][n % 2], everyone(), "more").await;
        }
        let (many, ()) = app.statements_of(async { update_counters(&app.app).await.unwrap() }).await;
        assert!(many <= few, "{few} statements for 8 announcements, {many} for 50");
        assert_eq!(stats(app, &notification(app, "more").await).await.split('/').next(), Some("4"));
    }

    async fn an_audience_is_who_listened_when_it_was_published_whatever_they_do_before_it_is_counted(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let act = async |mutation: &str| drop(operator.ask(&format!("mutation {{ {mutation} }}"), json!({})).await);
        let subscribe = async |user: &str, target: &str| {
            app.user(user).subscribe(target, &["comment"]).await;
        };
        let unsubscribe = async |user: &str, target: &str| {
            act(&format!("unsubscribeTopic(input: {{ target: {{ type: \"doc\", externalId: \"{target}\" }}, what: {{ everything: true }}, \
                who: {{ user: \"{user}\" }} }}) {{ removedCount }}")).await;
        };
        let mute = async |user: &str| {
            act(&format!("updatePreferences(types: [{{ code: \"news\", enabled: false }}], user: \"{user}\") {{ preferences {{ types {{ code }} }} }}")).await;
        };
        let group = async |code: &str, users: &str| {
            act(&format!("saveUserGroup(code: \"{code}\") {{ code }} addUserGroupMembers(code: \"{code}\", users: [{users}]) {{ code }}")).await;
        };
        let out = async |code: &str, users: &str| {
            act(&format!("removeUserGroupMembers(code: \"{code}\", users: [{users}]) {{ code }}")).await;
        };
        let erase = async |user: &str| act(&format!("eraseUser(id: \"{user}\") {{ erasedId }}")).await;
        let to = async |title: &str, audience: Value| drop(operator.announce("news", audience, title).await);
        let remind = async |title: &str, target: &str, sender: Option<&str>| operator.remind("news", target, "comment", sender, title).await;

        subscribe("a1", "only").await;
        remind("the only subscriber left", "only", None).await;
        unsubscribe("a1", "only").await;

        subscribe("b1", "two").await;
        subscribe("b2", "two").await;
        mute("b2").await;
        remind("one of two has it off", "two", None).await;
        app.user("b1").overview().await;
        app.user("b2").overview().await;

        subscribe("c1", "off").await;
        mute("c1").await;
        remind("had it off and left", "off", None).await;
        unsubscribe("c1", "off").await;

        subscribe("d1", "again").await;
        remind("left and came again", "again", None).await;
        unsubscribe("d1", "again").await;
        subscribe("d1", "again").await;
        unsubscribe("d1", "again").await;
        remind("after they left", "again", None).await;
        subscribe("d1", "again").await;

        subscribe("e1", "own").await;
        subscribe("e2", "own").await;
        remind("their own doing", "own", Some("e1")).await;
        unsubscribe("e1", "own").await;
        unsubscribe("e2", "own").await;

        group("g1", "\"f1\", \"f2\", \"f3\"").await;
        group("g2", "\"f1\", \"f2\"").await;
        let before = operator.ask("{ audienceSize(audience: { groups: [\"g1\", \"g2\"] }) { count } }", json!({})).await;
        assert_eq!(before["audienceSize"]["count"], 3);
        to("members of two groups", json!({ "groups": ["g1", "g2"] })).await;
        out("g1", "\"f1\"").await;
        out("g1", "\"f2\"").await;
        out("g2", "\"f2\"").await;
        group("g1", "\"late\"").await;
        to("without those who left", json!({ "groups": ["g1", "g2"] })).await;

        group("g3", "\"h1\", \"h2\"").await;
        to("a group that is deleted", json!({ "groups": ["g3"] })).await;
        act("deleteUserGroup(code: \"g3\") { deletedId }").await;

        group("g4", "\"i1\", \"i2\"").await;
        subscribe("i1", "erased").await;
        to("a member who is erased", json!({ "groups": ["g4"] })).await;
        remind("a subscriber who is erased", "erased", None).await;
        to("named, and erased", json!({ "users": ["i1", "i2"] })).await;
        erase("i1").await;

        act("followUser(user: \"star\", follower: \"j1\") { user { id } }").await;
        subscribe("j1", "followed").await;
        remind("a subscriber who follows as well", "followed", Some("star")).await;
        act("unfollowUser(user: \"star\", follower: \"j1\") { user { id } }").await;

        let expected = [("the only subscriber left", "1/1/0"), ("one of two has it off", "2/1/0"), ("had it off and left", "1/0/0"),
            ("left and came again", "1/1/0"), ("after they left", "0/0/0"), ("their own doing", "1/1/0"), ("members of two groups", "3/2/0"),
            ("without those who left", "3/0/0"), ("a group that is deleted", "2/0/0"), ("a member who is erased", "2/0/0"),
            ("a subscriber who is erased", "1/0/0"), ("named, and erased", "2/2/0"), ("a subscriber who follows as well", "1/1/0")];
        let mut counted = Vec::new();
        for (title, _) in expected {
            counted.push((title, stats(app, &notification(app, title).await).await));
        }
        assert_eq!(counted, expected.map(|(title, stats)| (title, stats.to_owned())));
        let left = entity::departure::Entity::find().all(&app.app.db.read).await.unwrap();
        assert!(left.is_empty(), "what is counted is not kept: {left:?}");
    }

    async fn an_announcement_to_everyone_is_for_who_was_there_and_for_as_many_as_it_reached(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        for user in ["ada", "ben"] {
            app.user(user).ask("{ viewer { id } }", json!({})).await;
        }
        app.advance(TimeDelta::seconds(1));
        let id = announce(&operator, json!({})).await["id"].take();
        operator.ask("mutation { eraseUser(id: \"ben\") { erasedId } }", json!({})).await;
        app.advance(TimeDelta::seconds(1));
        let mut seen = Vec::new();
        for user in ["cleo", "dan", "eve"] {
            app.user(user).overview().await;
            seen.push(stats(app, &id).await);
        }
        // An erased user counts towards the audience. Later users are reached all the same.
        assert_eq!(seen, ["2/1/0", "2/2/0", "3/3/0"]);
        operator.announce("news", everyone(), "to those who are there now").await;
        assert_eq!(stats(app, &notification(app, "to those who are there now").await).await, "4/0/0");
    }

    async fn a_send_answers_with_what_was_delivered(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        app.user("cleo").ask("mutation { updatePreferences(types: [{ code: \"news\", enabled: false }]) { preferences { types { code } } } }", json!({})).await;
        let message = |to: &str| json!({ "message": { "type": "news", "receiver": to, "content": { "title": to } } });
        let named = |to: &[&str]| {
            json!({ "announcement": { "type": "news", "audience": { "users": to }, "content": { "title": "named" } } })
        };
        let inputs = json!([message("ada"), message("cleo"), named(&["ada", "cleo", "dan"]), named(&["cleo"]), message("dan")]);
        let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { notification { id stats { audienceSize deliveredCount } } } }";
        let sent = app.service().ask(query, json!({ "inputs": inputs })).await["sendNotifications"].take();
        let counts: Vec<String> = sent.as_array().unwrap().iter().map(|of| {
            let stats = &of["notification"]["stats"];
            format!("{}/{}", stats["audienceSize"], stats["deliveredCount"])
        }).collect();
        assert_eq!(counts, ["1/1", "1/0", "3/2", "1/0", "1/1"]);
        for (of, count) in sent.as_array().unwrap().iter().zip(&counts) {
            assert_eq!(stats(app, &of["notification"]["id"]).await, format!("{count}/0"), "as it is counted later");
        }
    }

    async fn reading_in_every_way_is_counted_once(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let sent = announce(&operator, json!({})).await;
        let id = &sent["id"];
        for user in ["ada", "ben", "cleo"] {
            app.user(user).overview().await;
        }
        assert_eq!(stats(app, id).await, "3/3/0");
        let item = app.user("ada").items(json!({})).await[0]["id"].clone();
        app.user("ada").mark("markRead", json!({ "ids": [item] })).await;
        app.user("ada").mark("markRead", json!({ "ids": [item] })).await;
        assert_eq!(stats(app, id).await, "3/3/1");
        app.user("ben").mark("markRead", json!({ "matching": {} })).await;
        app.user("ben").mark("markRead", json!({ "matching": {} })).await;
        assert_eq!(stats(app, id).await, "3/3/2");
        app.user("ada").mark("markUnread", json!({ "ids": [item] })).await;
        assert_eq!(stats(app, id).await, "3/3/1");
        // One item stays unread by choice, and is then read with all others.
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        assert_eq!(stats(app, id).await, "3/3/2");
        // Before the first count: all marked as read, one of them unread again, archived, deleted.
        let cleo = app.user("cleo");
        let item = cleo.items(json!({})).await[0]["id"].clone();
        operator.announce("news", everyone(), "more").await;
        cleo.mark("markRead", json!({ "matching": {} })).await;
        cleo.mark("markUnread", json!({ "ids": [item] })).await;
        cleo.mark("markRead", json!({ "matching": {} })).await;
        cleo.mark("archiveItems", json!({ "matching": {} })).await;
        cleo.mark("deleteItems", json!({ "ids": [item] })).await;
        assert_eq!(stats(app, id).await, "3/3/3");
        assert_eq!(stats(app, &notification(app, "more").await).await, "3/1/1");
    }

    async fn hours_say_when_it_was_delivered_and_read(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let id = announce(&operator, json!({})).await["id"].take();
        operator.announce("news", everyone(), "not looked at").await;
        operator.message("news", "ada", "to one").await;
        let query = "query($id: ID!) { sentNotification(id: $id) { stats { deliveredCount readCount } \
            statsByHour { at deliveredCount readCount } } }";
        let look = async || {
            update_counters(&app.app).await.unwrap();
            operator.ask(query, json!({ "id": id })).await["sentNotification"].take()
        };
        assert_eq!(look().await["statsByHour"], json!([]));
        for user in ["ada", "ben"] {
            app.user(user).overview().await;
        }
        let item = app.user("ada").items(json!({})).await.pop().unwrap()["id"].take();
        app.user("ada").mark("markRead", json!({ "ids": [item] })).await;
        look().await;
        app.advance(TimeDelta::minutes(59));
        app.user("cleo").overview().await;
        look().await;
        app.advance(TimeDelta::hours(3));
        app.user("ben").mark("markRead", json!({ "matching": {} })).await;
        app.user("cleo").mark("markRead", json!({ "matching": {} })).await;
        look().await;
        app.advance(TimeDelta::hours(1));
        app.user("ada").mark("markUnread", json!({ "ids": [item] })).await;
        let hour = |at: &str, delivered: i64, read: i64| json!({ "at": format!("2026-11-21T{at}:00:00.000Z"), "deliveredCount": delivered, "readCount": read });
        let shown = look().await;
        assert_eq!(shown["statsByHour"], json!([hour("08", 3, 1), hour("11", 0, 2), hour("12", 0, -1)]));
        assert_eq!(shown["stats"], json!({ "deliveredCount": 3, "readCount": 2 }));

        let list = "{ sentNotifications { nodes { title statsByHour { deliveredCount readCount } } } }";
        let (statements, all) = app.statements_of(operator.ask(list, json!({}))).await;
        assert!(statements <= 3, "{statements}");
        let of = |title: &str| all["sentNotifications"]["nodes"].as_array().unwrap().iter().find(|of| of["title"] == title).unwrap()["statsByHour"].clone();
        assert_eq!(of("to one"), json!([]));
        assert_eq!(of("not looked at"), json!([{ "deliveredCount": 3, "readCount": 0 }, { "deliveredCount": 0, "readCount": 2 }]));
        let stranger = app.stranger("ops", auth::CallerRole::Admin).ask(list, json!({})).await;
        assert_eq!(stranger["sentNotifications"]["nodes"], json!([]));
    }

    async fn what_is_deleted_or_retracted_had_arrived_all_the_same(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let sent = announce(&operator, json!({})).await;
        for user in ["ada", "ben"] {
            app.user(user).overview().await;
            app.user(user).mark("markRead", json!({ "matching": {} })).await;
        }
        app.user("ada").mark("deleteItems", json!({ "matching": {} })).await;
        retract(&operator, &sent["id"]).await;
        app.user("ben").overview().await;
        assert_eq!(stats(app, &sent["id"]).await, "2/2/2");
    }

    async fn counting_on_two_nodes_at_once_adds_nothing_twice(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let sent = announce(&operator, json!({})).await;
        for user in 0..20 {
            let user = format!("u{user}");
            app.user(&user).overview().await;
            app.user(&user).mark("markRead", json!({ "matching": {} })).await;
        }
        let other = TestApp::configured(app.app.config.clone()).await;
        for _ in 0..3 {
            // The loser of the race returns an error and retries later.
            let _ = tokio::join!(update_counters(&app.app), update_counters(&other.app), update_counters(&app.app));
        }
        assert_eq!(stats(app, &sent["id"]).await, "20/20/20");
        other.app.db.close().await;
    }
}
