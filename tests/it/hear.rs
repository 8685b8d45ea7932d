//! Subscriptions, follows, groups and preferences: the channels that reach a user.

use auth::CallerRole;
use serde_json::{Value, json};

use crate::support::{Actor, everyone, on_every_database};

async fn prefer(actor: &Actor<'_>, switches: Value) -> Value {
    let query = "mutation($actions: [NotificationPreferenceInput!], $types: [NotificationPreferenceInput!], $resetActions: [String!]) { \
        updatePreferences(actions: $actions, types: $types, resetActions: $resetActions) { \
        preferences { actions { code enabled source } types { code enabled source } } } }";
    actor.ask(query, switches).await["updatePreferences"]["preferences"].clone()
}

on_every_database! {
    async fn subscribing_twice_is_subscribing_once(app) {
        app.admin().define_type("comment").await;
        let ada = app.user("ada");
        assert_eq!(ada.subscribe("7", &["comment", "like"]).await, 2);
        assert_eq!(ada.subscribe("7", &["like", "comment", "update"]).await, 1);
        app.service().remind("comment", "7", "like", None, "liked").await;
        assert_eq!(ada.titles(json!({})).await, ["liked"]);
    }

    async fn a_reason_subscribes_to_its_actions(app) {
        app.admin().ask("mutation { saveSubscriptionReason(code: \"create\", actions: [\"comment\", \"like\"]) { code } }", json!({})).await;
        let subscribe = "mutation { subscribeTopic(input: { target: { type: \"doc\", externalId: \"7\" }, what: { reason: \"create\" } }) { \
            createdCount subscriptions { action target { type externalId } createdAt } } }";
        let data = app.user("ada").ask(subscribe, json!({})).await;
        let target = json!({ "type": "doc", "externalId": "7" });
        assert_eq!(data["subscribeTopic"], json!({ "createdCount": 2, "subscriptions": [
            { "action": "comment", "target": target, "createdAt": "2026-11-21T08:00:00.000Z" },
            { "action": "like", "target": target, "createdAt": "2026-11-21T08:00:00.000Z" },
        ] }));
        let unknown = subscribe.replace("create\"", "destroy\"");
        assert_eq!(app.user("ada").refused(&unknown, json!({})).await, "BAD_USER_INPUT input.what.reason: names no reason: \"destroy\"; create it with saveSubscriptionReason");
    }

    async fn nobody_hears_what_was_sent_before_they_subscribed_or_after_they_stopped(app) {
        app.admin().define_type("comment").await;
        let (ada, service) = (app.user("ada"), app.service());
        app.user("ben").subscribe("7", &["comment"]).await;
        service.remind("comment", "7", "comment", None, "before").await;
        ada.subscribe("7", &["comment"]).await;
        service.remind("comment", "7", "comment", None, "during").await;
        let stop = "mutation($what: UnsubscribeChoice!) { unsubscribeTopic(input: { target: { type: \"doc\", externalId: \"7\" }, what: $what }) { removedCount } }";
        let everything = json!({ "what": { "everything": true } });
        assert_eq!(ada.ask(stop, json!({ "what": { "actions": ["like"] } })).await["unsubscribeTopic"]["removedCount"], 0);
        assert_eq!(ada.ask(stop, everything.clone()).await["unsubscribeTopic"]["removedCount"], 1);
        assert_eq!(ada.ask(stop, everything).await["unsubscribeTopic"]["removedCount"], 0);
        service.remind("comment", "7", "comment", None, "after").await;
        assert_eq!(ada.titles(json!({})).await, ["during"]);
    }

    async fn targets_that_look_alike_are_not_the_same(app) {
        app.admin().define_type("comment").await;
        let ada = app.user("ada");
        ada.subscribe("7/comment", &["x"]).await;
        ada.subscribe("A%", &["comment"]).await;
        for (target, action) in [("7", "comment/x"), ("7", "x"), ("a%", "comment"), ("AB", "comment")] {
            app.service().remind("comment", target, action, None, "no").await;
        }
        app.service().remind("comment", "A%", "comment", None, "yes").await;
        assert_eq!(ada.titles(json!({})).await, ["yes"]);
    }

    async fn a_service_subscribes_anybody_and_users_only_themselves(app) {
        app.admin().define_type("comment").await;
        let for_ada = "mutation { subscribeTopic(input: { target: { type: \"doc\", externalId: \"7\" }, what: { actions: [\"comment\"] }, who: { user: \"ada\" } }) { createdCount } }";
        assert_eq!(app.user("ben").refused(for_ada, json!({})).await, "NOT_FOUND input.who.user: no user \"ada\"");
        assert_eq!(app.service().ask(for_ada, json!({})).await["subscribeTopic"]["createdCount"], 1);
        assert_eq!(app.user("ada").ask(for_ada, json!({})).await["subscribeTopic"]["createdCount"], 0);
        let nobody = for_ada.replace(", who: { user: \"ada\" }", "");
        let why = app.service().refused(&nobody, json!({})).await;
        assert_eq!(why, "BAD_USER_INPUT input.who: is required, because the token is not a user's");
    }

    async fn following_is_idempotent_and_ends(app) {
        app.admin().define_type("comment").await;
        let ada = app.user("ada");
        let following = "{ viewer { following { nodes { id } edges { cursor } pageInfo { hasNextPage } } } }";
        for _ in 0..2 {
            ada.ask("mutation { followUser(user: \"ben\") { user { id } } }", json!({})).await;
        }
        assert_eq!(ada.ask(following, json!({})).await["viewer"]["following"]["nodes"], json!([{ "id": "ben" }]));
        app.service().remind("comment", "7", "comment", Some("ben"), "heard").await;
        for _ in 0..2 {
            ada.ask("mutation { unfollowUser(user: \"ben\") { user { id } } }", json!({})).await;
        }
        app.service().remind("comment", "7", "comment", Some("ben"), "unheard").await;
        assert_eq!(ada.titles(json!({})).await, ["heard"]);
        assert_eq!(ada.ask(following, json!({})).await["viewer"]["following"]["nodes"], json!([]));
        let why = ada.refused("mutation { followUser(user: \"ada\") { user { id } } }", json!({})).await;
        assert_eq!(why, "BAD_USER_INPUT user: must be another user: users cannot follow themselves");
    }

    async fn subscriptions_are_listed_page_by_page(app) {
        let ada = app.user("ada");
        for target in ["1", "2", "3"] {
            ada.subscribe(target, &["comment"]).await;
        }
        let query = "query($after: String) { viewer { subscriptions(first: 2, after: $after) { \
            nodes { target { externalId } action } pageInfo { hasNextPage endCursor } } } }";
        let first = ada.ask(query, json!({})).await["viewer"]["subscriptions"].clone();
        assert_eq!(first["nodes"].as_array().map(Vec::len), Some(2));
        assert_eq!(first["pageInfo"]["hasNextPage"], true);
        let second = ada.ask(query, json!({ "after": first["pageInfo"]["endCursor"] })).await;
        assert_eq!(second["viewer"]["subscriptions"]["nodes"], json!([{ "target": { "externalId": "3" }, "action": "comment" }]));
        let why = ada.refused(query, json!({ "after": "made up" })).await;
        assert_eq!(why, "BAD_USER_INPUT after: is not a cursor of this list");
    }

    async fn what_is_switched_off_does_not_arrive_and_what_arrived_stays(app) {
        for kind in ["comment", "release"] {
            app.admin().define_type(kind).await;
        }
        let (ada, service) = (app.user("ada"), app.service());
        ada.subscribe("7", &["comment", "like"]).await;
        let send = async |label: &str| {
            service.announce("release", everyone(), &format!("release {label}")).await;
            service.remind("comment", "7", "comment", None, &format!("comment {label}")).await;
            service.remind("comment", "7", "like", None, &format!("like {label}")).await;
            service.message("release", "ada", &format!("message {label}")).await;
        };
        send("1").await;
        let off = |code: &str| json!([{ "code": code, "enabled": false }]);
        prefer(&ada, json!({ "actions": off("like"), "types": off("release") })).await;
        send("2").await;
        prefer(&ada, json!({ "resetActions": ["like"], "types": [{ "code": "release", "enabled": true }] })).await;
        send("3").await;
        assert_eq!(ada.titles(json!({})).await, [
            "message 3", "like 3", "comment 3", "release 3", "comment 2", "message 1", "like 1", "comment 1", "release 1",
        ]);
    }

    async fn defaults_count_where_the_user_has_said_nothing(app) {
        let admin = app.admin();
        admin.define_type("comment").await;
        let off = "mutation { saveDefaultPreferences(actions: [{ code: \"like\", enabled: false }]) { actions { code enabled source } } }";
        let saved = admin.ask(off, json!({})).await["saveDefaultPreferences"]["actions"].take();
        assert_eq!(saved, json!([{ "code": "like", "enabled": false, "source": "DEFAULT" }]));
        for user in ["ada", "ben"] {
            app.user(user).subscribe("7", &["like"]).await;
        }
        let own = prefer(&app.user("ben"), json!({ "actions": [{ "code": "like", "enabled": true }] })).await;
        assert_eq!(own["actions"], json!([{ "code": "like", "enabled": true, "source": "USER" }]));
        app.service().remind("comment", "7", "like", None, "liked").await;
        assert!(app.user("ada").titles(json!({})).await.is_empty());
        assert_eq!(app.user("ben").titles(json!({})).await, ["liked"]);
        let preferences = "{ viewer { preferences { actions { code enabled source } types { code enabled source } } } }";
        assert_eq!(app.user("ada").ask(preferences, json!({})).await["viewer"]["preferences"], json!({
            "actions": [{ "code": "like", "enabled": false, "source": "DEFAULT" }],
            "types": [{ "code": "comment", "enabled": true, "source": "DEFAULT" }],
        }));
        admin.ask("mutation { saveDefaultPreferences(resetActions: [\"like\"]) { actions { code } } }", json!({})).await;
        app.service().remind("comment", "7", "like", None, "liked again").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["liked again"]);
    }

    async fn a_mandatory_type_cannot_be_switched_off(app) {
        app.admin().define(json!({ "code": "security", "title": "Security", "mandatory": true })).await;
        let ada = app.user("ada");
        ada.subscribe("7", &["login"]).await;
        prefer(&ada, json!({ "actions": [{ "code": "login", "enabled": false }] })).await;
        app.service().remind("security", "7", "login", None, "a login").await;
        assert_eq!(ada.titles(json!({})).await, ["a login"]);
        let off = "mutation { updatePreferences(types: [{ code: \"security\", enabled: false }]) { preferences { types { code } } } }";
        let why = ada.refused(off, json!({})).await;
        assert_eq!(why, "BAD_USER_INPUT types[0].enabled: must be true, because the message type \"security\" is mandatory");
        let unknown = off.replace("security", "nope");
        assert_eq!(ada.refused(&unknown, json!({})).await, "BAD_USER_INPUT types[0].code: names no message type: \"nope\"; create it with saveMessageType");
    }

    async fn members_of_a_group_are_paged_both_ways_and_for_staff(app) {
        let admin = app.admin();
        let names: Vec<String> = (0..7).map(|number| format!("u{number}")).collect();
        for code in ["all", "none"] {
            admin.ask("mutation($c: String!) { saveUserGroup(code: $c) { code } }", json!({ "c": code })).await;
        }
        let add = "mutation($users: [ID!]!) { addUserGroupMembers(code: \"all\", users: $users) { memberCount } }";
        admin.ask(add, json!({ "users": names })).await;
        admin.ask("mutation { removeUserGroupMembers(code: \"all\", users: [\"u3\"]) { code } }", json!({})).await;
        app.user("u1").subscribe("item/1", &["like"]).await;
        let query = "query($first: Int, $after: String, $last: Int, $before: String) { userGroups { code \
            members(first: $first, after: $after, last: $last, before: $before) { nodes { id name } edges { cursor } \
            pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";
        let page = async |paging: Value| {
            let mut groups = app.service().ask(query, paging).await["userGroups"].take();
            assert_eq!((&groups[0]["code"], &groups[1]["members"]["nodes"]), (&json!("all"), &json!([])));
            let members = groups[0]["members"].take();
            let ids = members["nodes"].as_array().unwrap().iter().map(|of| of["id"].as_str().unwrap().to_owned());
            (ids.collect::<Vec<_>>(), members["pageInfo"].clone())
        };
        let (mut all, first) = page(json!({ "first": 4 })).await;
        assert_eq!((&first["hasNextPage"], &first["hasPreviousPage"]), (&json!(true), &json!(false)));
        let (rest, second) = page(json!({ "first": 4, "after": first["endCursor"] })).await;
        assert_eq!((rest.len(), &second["hasNextPage"]), (2, &json!(false)));
        assert_eq!(page(json!({ "last": 9, "before": second["startCursor"] })).await.0, all);
        all.extend(rest);
        assert_eq!(page(json!({})).await.0, all);
        all.sort();
        assert_eq!(all, ["u0", "u1", "u2", "u4", "u5", "u6"]);
        let by_user = app.user("u1").refused("{ userGroups { members { nodes { id } } } }", json!({})).await;
        assert!(by_user.starts_with("FORBIDDEN"), "{by_user}");
        let stranger = app.stranger("shop", CallerRole::Service).ask("{ userGroups { code } }", json!({})).await;
        assert_eq!(stranger["userGroups"], json!([]));
        let wrong = app.service().refused(query, json!({ "after": "x" })).await;
        assert!(wrong.starts_with("BAD_USER_INPUT after"), "{wrong}");
    }

    async fn users_know_their_groups(app) {
        let admin = app.admin();
        for (code, title) in [("b", "Bees"), ("a", "Ants")] {
            admin.ask("mutation($c: String!, $t: String) { saveUserGroup(code: $c, title: $t) { code } }", json!({ "c": code, "t": title })).await;
            admin.ask("mutation($c: String!) { addUserGroupMembers(code: $c, users: [\"ada\", \"ben\", \"ada\"]) { memberCount } }", json!({ "c": code })).await;
        }
        let data = app.user("ada").ask("{ viewer { groups { code title memberCount } } }", json!({})).await;
        assert_eq!(data["viewer"]["groups"], json!([
            { "code": "a", "title": "Ants", "memberCount": 2 },
            { "code": "b", "title": "Bees", "memberCount": 2 },
        ]));
        let missing = admin.refused("mutation { addUserGroupMembers(code: \"c\", users: [\"ada\"]) { code } }", json!({})).await;
        assert_eq!(missing, "NOT_FOUND : no group \"c\"");
    }

    async fn users_subscribe_by_themselves_only_to_targets_of_open_types(app) {
        app.admin().define_type("salary").await;
        let (ada, admin, service) = (app.user("ada"), app.admin(), app.service());
        let subscribe = "mutation { subscribeTopic(input: { target: { type: \"payroll\", externalId: \"ben\" }, what: { actions: [\"raise\"] } }) { createdCount } }";
        let refused = "FORBIDDEN: users cannot subscribe to targets of the type \"payroll\": have your backend subscribe them, or an operator \
            open the type with saveTargetType";
        assert_eq!(ada.refused_as_is(subscribe, json!({})).await, refused);
        let save = "mutation($policy: SubscriptionPolicy!) { saveTargetType(code: \"payroll\", subscriptionPolicy: $policy) { code subscriptionPolicy } }";
        let saved = admin.ask(save, json!({ "policy": "BACKEND_ONLY" })).await;
        assert_eq!(saved["saveTargetType"], json!({ "code": "payroll", "subscriptionPolicy": "BACKEND_ONLY" }));
        assert_eq!(ada.refused_as_is(subscribe, json!({})).await, refused);
        // A backend may subscribe any user.
        let for_ben = subscribe.replace("what:", "who: { user: \"ben\" }, what:");
        assert_eq!(service.ask(&for_ben, json!({})).await["subscribeTopic"]["createdCount"], 1);

        admin.ask(save, json!({ "policy": "OPEN" })).await;
        assert_eq!(ada.send_as_is(subscribe, json!({})).await.1["data"]["subscribeTopic"]["createdCount"], 1);
        let remind = "mutation($key: String!) { sendReminder(input: { type: \"salary\", target: { type: \"payroll\", externalId: \"ben\" }, \
            action: \"raise\", content: { title: $key } }) { replayed } }";
        service.ask(remind, json!({ "key": "one" })).await;

        // Existing subscribers keep their subscription and can unsubscribe. New ones are refused.
        let delete = "mutation { deleteTargetType(code: \"payroll\") { deletedCode } }";
        assert_eq!(admin.ask(delete, json!({})).await["deleteTargetType"]["deletedCode"], "payroll");
        service.ask(remind, json!({ "key": "two" })).await;
        assert_eq!(app.user("eve").refused_as_is(subscribe, json!({})).await, refused);
        let leave = "mutation { unsubscribeTopic(input: { target: { type: \"payroll\", externalId: \"ben\" }, what: { everything: true } }) { removedCount } }";
        assert_eq!(ada.ask(leave, json!({})).await["unsubscribeTopic"]["removedCount"], 1);
        service.ask(remind, json!({ "key": "three" })).await;
        assert_eq!(ada.titles(json!({})).await, ["two", "one"]);
        assert_eq!(app.user("ben").titles(json!({})).await, ["three", "two", "one"]);
        assert!(app.user("eve").titles(json!({})).await.is_empty());
    }

    async fn users_follow_others_by_themselves_only_where_the_tenant_lets_them(app) {
        app.admin().define_type("comment").await;
        let (ada, admin) = (app.user("ada"), app.admin());
        let follow = "mutation { followUser(user: \"ben\") { user { id } } }";
        let refused = "FORBIDDEN: users cannot follow others: have your backend do it for them, or an operator open follows with saveFollowPolicy";
        assert_eq!(ada.refused_as_is(follow, json!({})).await, refused);
        let known = app.service().ask("{ searchUsers(text: \"ben\") { id } }", json!({})).await;
        assert_eq!(known["searchUsers"], json!([]), "who may not follow makes no users");
        assert_eq!(ada.ask("{ followPolicy targetTypes { code } }", json!({})).await, json!({ "followPolicy": "BACKEND_ONLY", "targetTypes": [] }));
        let by_backend = follow.replace(')', ", follower: \"chen\")");
        app.service().ask(&by_backend, json!({})).await;

        let save = "mutation($policy: SubscriptionPolicy!) { saveFollowPolicy(followPolicy: $policy) { followPolicy } }";
        assert_eq!(admin.ask(save, json!({ "policy": "OPEN" })).await["saveFollowPolicy"]["followPolicy"], "OPEN");
        let (_, followed) = ada.send_as_is(follow, json!({})).await;
        assert_eq!(followed["data"]["followUser"]["user"]["id"], "ben", "{followed}");
        admin.ask(save, json!({ "policy": "BACKEND_ONLY" })).await;
        assert_eq!(app.user("eve").refused_as_is(follow, json!({})).await, refused);
        app.service().remind("comment", "7", "comment", Some("ben"), "seen").await;
        for (user, titles) in [("ada", &["seen"][..]), ("chen", &["seen"]), ("eve", &[])] {
            assert_eq!(app.user(user).titles(json!({})).await, titles, "{user}");
        }
        ada.ask("mutation { unfollowUser(user: \"ben\") { user { id } } }", json!({})).await;
    }

    async fn a_node_that_remembers_an_older_catalogue_lets_nobody_subscribe_by_it(app) {
        let other = app.beside().await;
        let save = "mutation($policy: SubscriptionPolicy!) { saveTargetType(code: \"payroll\", subscriptionPolicy: $policy) { code } }";
        let subscribe = "mutation($id: ID!) { subscribeTopic(input: { target: { type: \"payroll\", externalId: $id }, what: { actions: [\"raise\"] } }) { createdCount } }";
        let admin = app.admin();
        for round in 0..3 {
            admin.ask(save, json!({ "policy": "OPEN" })).await;
            let (_, answer) = other.user("ada").send_as_is(subscribe, json!({ "id": format!("open {round}") })).await;
            assert_eq!(answer["data"]["subscribeTopic"]["createdCount"], 1, "{answer}");
            admin.ask(save, json!({ "policy": "BACKEND_ONLY" })).await;
            let refused = other.user("ada").refused_as_is(subscribe, json!({ "id": format!("closed {round}") })).await;
            assert!(refused.starts_with("FORBIDDEN"), "{refused}");
        }
        let all = "{ viewer { subscriptions { nodes { target { externalId } } } } }";
        let all = other.user("ada").ask(all, json!({})).await;
        assert_eq!(all["viewer"]["subscriptions"]["nodes"].as_array().unwrap().len(), 3, "{all}");
    }
}
