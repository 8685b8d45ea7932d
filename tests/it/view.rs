//! Views, which a visit marks as read: their activity, members and unread counts.

mod race;

use auth::CallerRole;
use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::{Actor, TestApp, everyone, on_every_database};

const SEEN: &str = "code externalId unread { count exact } lastActivityAt lastVisitedAt latest";

pub fn key(id: &str) -> Value {
    json!({ "code": "chat", "externalId": id })
}

pub fn activity(id: &str, actor: Option<&str>, preview: &str) -> Value {
    json!({ "view": key(id), "actor": actor, "preview": { "text": preview } })
}

pub fn keyed(mut activity: Value, under: &str) -> Value {
    activity["idempotencyKey"] = json!(under);
    activity
}

pub const RECORD: &str = "mutation($inputs: [ViewActivityInput!]!) { recordActivity(inputs: $inputs) { views { externalId unread { count } latest lastVisitedAt } } }";
pub const VISIT: &str = "mutation($key: ViewKeyInput!) { visitView(key: $key) { view { externalId unread { count exact } lastVisitedAt } } }";
pub const JOIN: &str = "mutation($key: ViewKeyInput!, $users: [ID!]) { joinView(key: $key, users: $users) { view { externalId unread { count } lastVisitedAt } } }";
pub const LEAVE: &str = "mutation($key: ViewKeyInput!, $users: [ID!]) { leaveView(key: $key, users: $users) { view { externalId unread { count } } } }";
const SAVE_CODE: &str =
    "mutation($code: String!, $open: Boolean!) { saveViewCode(code: $code, open: $open) { code open } }";

pub async fn record(app: &TestApp, inputs: &[Value]) -> Value {
    app.service().ask(RECORD, json!({ "inputs": inputs })).await["recordActivity"]["views"].clone()
}

pub async fn join(app: &TestApp, id: &str, users: &[&str]) {
    app.service().ask(JOIN, json!({ "key": key(id), "users": users })).await;
}

pub async fn visit(actor: &Actor<'_>, id: &str) {
    let visited = actor.ask(VISIT, json!({ "key": key(id) })).await["visitView"]["view"].clone();
    assert_eq!(visited["unread"], json!({ "count": 0, "exact": true }));
}

pub async fn open(app: &TestApp) {
    app.admin().ask(SAVE_CODE, json!({ "code": "chat", "open": true })).await;
}

/// A user's views as `id: unread`, most recently active first, and their overview's total last.
async fn unread(actor: &Actor<'_>) -> Vec<String> {
    let data =
        actor.ask("{ viewer { views { externalId unread { count } } overview { total { count } } } }", json!({})).await;
    let line = |view: &Value| format!("{}: {}", view["externalId"].as_str().unwrap(), view["unread"]["count"]);
    let views = data["viewer"]["views"].as_array().unwrap().iter().map(line);
    views.chain([format!("= {}", data["viewer"]["overview"]["total"]["count"])]).collect()
}

on_every_database! {
    async fn what_happens_is_unread_for_all_members_but_who_did_it(app) {
        join(app, "team", &["ada", "ben", "chen"]).await;
        let answer = record(app, &[activity("team", Some("ben"), "hi"), activity("team", Some("chen"), "hello")]).await;
        let latest = json!({ "text": "hello" });
        let at = "2026-11-21T08:00:00.000Z";
        assert_eq!(answer, json!([
            { "externalId": "team", "unread": { "count": 1 }, "latest": latest, "lastVisitedAt": at },
            { "externalId": "team", "unread": { "count": 0 }, "latest": latest, "lastVisitedAt": at },
        ]));
        assert_eq!(unread(&app.user("ada")).await, ["team: 2", "= 2"]);
        assert_eq!(unread(&app.user("ben")).await, ["team: 1", "= 1"]);
        assert_eq!(unread(&app.user("chen")).await, ["team: 0", "= 0"]);
        let query = format!("{{ viewer {{ views {{ {SEEN} }} }} }}");
        assert_eq!(app.user("ada").ask(&query, json!({})).await["viewer"]["views"], json!([{
            "code": "chat", "externalId": "team", "unread": { "count": 2, "exact": true }, "lastActivityAt": at,
            "lastVisitedAt": null, "latest": latest,
        }]));
    }

    async fn looking_at_a_view_reads_it_and_what_happens_then_is_unread_again(app) {
        join(app, "team", &["ada"]).await;
        let ada = app.user("ada");
        record(app, &[activity("team", None, "1"), activity("team", None, "2")]).await;
        app.advance(TimeDelta::minutes(1));
        let visited = ada.ask(VISIT, json!({ "key": key("team") })).await["visitView"]["view"].clone();
        assert_eq!(visited, json!({
            "externalId": "team", "unread": { "count": 0, "exact": true }, "lastVisitedAt": "2026-11-21T08:01:00.000Z",
        }));
        assert_eq!(unread(&ada).await, ["team: 0", "= 0"]);
        record(app, &[activity("team", None, "3")]).await;
        assert_eq!(unread(&ada).await, ["team: 1", "= 1"]);
        // Her own activity in the view marks the earlier activity as seen.
        record(app, &[activity("team", Some("ada"), "4"), activity("team", None, "5")]).await;
        assert_eq!(unread(&ada).await, ["team: 1", "= 1"]);
    }

    async fn who_joins_late_counts_from_then_on(app) {
        record(app, &[activity("team", None, "1"), activity("team", None, "2")]).await;
        join(app, "team", &["ada"]).await;
        assert_eq!(unread(&app.user("ada")).await, ["team: 0", "= 0"]);
        record(app, &[activity("team", None, "3")]).await;
        // Joining again is no visit, and changes nothing.
        let again = app.service().ask(JOIN, json!({ "key": key("team"), "users": ["ada", "ada"] })).await;
        assert_eq!(again["joinView"]["view"], json!({ "externalId": "team", "unread": { "count": 1 }, "lastVisitedAt": null }));
        assert_eq!(unread(&app.user("ada")).await, ["team: 1", "= 1"]);
        let both = app.service().ask(JOIN, json!({ "key": key("team"), "users": ["ada", "ben"] })).await;
        assert_eq!(both["joinView"]["view"]["unread"]["count"], 0);
    }

    async fn who_leaves_has_nothing_there_any_more(app) {
        join(app, "team", &["ada", "ben"]).await;
        record(app, &[activity("team", None, "1")]).await;
        for _ in 0..2 {
            app.service().ask(LEAVE, json!({ "key": key("team"), "users": ["ada", "nobody"] })).await;
        }
        assert_eq!(unread(&app.user("ada")).await, ["= 0"]);
        assert_eq!(unread(&app.user("ben")).await, ["team: 1", "= 1"]);
        assert_eq!(app.user("ada").refused(VISIT, json!({ "key": key("team") })).await, "NOT_FOUND : no view \"chat/team\"");
        let why = app.service().refused(LEAVE, json!({ "key": key("void"), "users": ["ada"] })).await;
        assert_eq!(why, "NOT_FOUND : no view \"chat/void\"");
        assert!(app.service().ask("{ inboxUser(id: \"nobody\") { user { id } } }", json!({})).await["inboxUser"].is_null());
    }

    async fn users_join_and_leave_by_themselves_only_where_the_code_is_open(app) {
        let ada = app.user("ada");
        record(app, &[activity("team", None, "1")]).await;
        let of = json!({ "key": key("team") });
        let closed = "FORBIDDEN : users cannot join or leave views of the code \"chat\"";
        for query in [JOIN, LEAVE] {
            assert_eq!(ada.refused(query, of.clone()).await, closed);
        }
        assert_eq!(ada.refused(VISIT, of.clone()).await, "NOT_FOUND : no view \"chat/team\"");
        open(app).await;
        for users in [json!(null), json!(["ada"])] {
            ada.ask(JOIN, json!({ "key": key("team"), "users": users })).await;
        }
        record(app, &[activity("team", None, "2")]).await;
        assert_eq!(unread(&ada).await, ["team: 1", "= 1"]);
        ada.ask(LEAVE, of.clone()).await;
        assert_eq!(unread(&ada).await, ["= 0"]);
        // A visit joins the view, even one that does not exist yet.
        visit(&ada, "team").await;
        visit(&ada, "news").await;
        record(app, &[activity("news", None, "3")]).await;
        assert_eq!(unread(&ada).await, ["news: 1", "team: 0", "= 1"]);
        app.admin().ask(SAVE_CODE, json!({ "code": "chat", "open": false })).await;
        visit(&ada, "news").await;
        assert_eq!(ada.refused(LEAVE, of.clone()).await, closed);
        let why = ada.refused(JOIN, json!({ "key": key("team"), "users": ["ada", "ben"] })).await;
        assert_eq!(why, "NOT_FOUND users[1]: no user \"ben\"");
        let why = app.service().refused(JOIN, of).await;
        assert_eq!(why, "BAD_USER_INPUT users: is required, because the token is not a user's");
    }

    async fn the_catalogue_says_which_codes_are_open(app) {
        let codes = "{ viewCodes { code open } }";
        for (code, open) in [("feed", false), ("chat", true), ("feed", true), ("chat", false)] {
            let saved = app.admin().ask(SAVE_CODE, json!({ "code": code, "open": open })).await;
            assert_eq!(saved["saveViewCode"], json!({ "code": code, "open": open }));
        }
        let all = app.user("ada").ask(codes, json!({})).await;
        assert_eq!(all["viewCodes"], json!([{ "code": "chat", "open": false }, { "code": "feed", "open": true }]));
        let delete = "mutation { deleteViewCode(code: \"feed\") { deletedCode } }";
        assert_eq!(app.admin().ask(delete, json!({})).await["deleteViewCode"]["deletedCode"], "feed");
        assert!(app.admin().ask(delete, json!({})).await["deleteViewCode"]["deletedCode"].is_null());
        assert_eq!(app.service().ask(codes, json!({})).await["viewCodes"], json!([{ "code": "chat", "open": false }]));
        let why = app.admin().refused(SAVE_CODE, json!({ "code": " ", "open": true })).await;
        assert_eq!(why, "BAD_USER_INPUT code: must not begin or end with white space");
    }

    async fn a_key_records_once_and_for_one_thing(app) {
        join(app, "team", &["ada"]).await;
        let ben = |text: &str| keyed(activity("team", Some("ben"), text), "k");
        for _ in 0..2 {
            let answer = record(app, &[ben("1"), ben("1")]).await;
            assert_eq!(answer[0]["unread"]["count"], 0);
            assert!(answer[0]["lastVisitedAt"].is_string());
        }
        assert_eq!(unread(&app.user("ada")).await, ["team: 1", "= 1"]);
        let conflict = "CONFLICT : the idempotency key \"k\" was used for another activity of the view";
        for other in [ben("2"), keyed(activity("team", None, "1"), "k"), keyed(activity("team", Some("ada"), "1"), "k")] {
            // All or none: the other activities of the call are not recorded either.
            let inputs = json!({ "inputs": [activity("team", None, "with it"), other] });
            assert_eq!(app.service().refused(RECORD, inputs).await, conflict);
        }
        record(app, &[keyed(activity("other", Some("ben"), "2"), "k"), activity("team", None, "3"), ben("1")]).await;
        assert_eq!(unread(&app.user("ada")).await, ["team: 2", "= 2"]);
        // A replay shows its actor the current state.
        assert_eq!(record(app, &[ben("1")]).await[0]["unread"]["count"], 1);
        assert_eq!(record(app, &[ben("1")]).await[0]["latest"], json!({ "text": "3" }));
    }

    async fn a_thousand_activities_in_many_views_are_one_call_of_few_statements(app) {
        let ids: Vec<String> = (0..250).map(|place| format!("room {place}")).collect();
        for id in &ids[..3] {
            join(app, id, &["ada"]).await;
        }
        let input = |place: usize| {
            let actor = ["ben", "chen", "dara"][place % 3];
            keyed(activity(&ids[place % 250], Some(actor), &place.to_string()), &format!("key {place}"))
        };
        let inputs: Vec<Value> = (0..1000).map(input).collect();
        record(app, &inputs[..1]).await;
        let (statements, answer) = app.statements_of(record(app, &inputs)).await;
        assert_eq!(answer.as_array().map(Vec::len), Some(1000));
        // Idempotency keys are looked up 128 at a time, and rows are inserted in powers of two.
        assert!(statements < 60, "{statements}");
        assert_eq!(unread(&app.user("ada")).await, ["room 2: 4", "room 1: 4", "room 0: 4", "= 12"]);
        let (_, again) = app.statements_of(record(app, &inputs)).await;
        assert_eq!(again.as_array().map(Vec::len), Some(1000));
        assert_eq!(unread(&app.user("ada")).await.last().unwrap(), "= 12");
        let many: Vec<Value> = (0..1001).map(input).collect();
        let why = app.service().refused(RECORD, json!({ "inputs": many })).await;
        assert_eq!(why, "BAD_USER_INPUT inputs: must have at most 1000 entries in one call, not 1001");
        assert_eq!(record(app, &[]).await, json!([]));
    }

    async fn a_chat_of_five_hundred_costs_what_a_chat_of_two_does(app) {
        let crowd: Vec<String> = (0..500).map(|place| format!("user {place}")).collect();
        let crowd: Vec<&str> = crowd.iter().map(String::as_str).collect();
        join(app, "large", &crowd).await;
        join(app, "small", &crowd[..2]).await;
        // The first request reads the catalogue.
        unread(&app.user("user 1")).await;
        let mut costs = Vec::new();
        for id in ["large", "small"] {
            let (recording, _) = app.statements_of(record(app, &[activity(id, Some("user 0"), "1")])).await;
            let user = app.user("user 1");
            let (reading, _) = app.statements_of(unread(&user)).await;
            let (visiting, ()) = app.statements_of(visit(&user, id)).await;
            costs.push((recording, reading, visiting));
        }
        assert_eq!(costs[0], costs[1]);
        assert_eq!(costs[0], (4, 3, 2));
    }

    async fn the_overview_holds_inbox_and_views_together_for_one_statement_more(app) {
        app.admin().define_type("release").await;
        let service = app.service();
        service.ask("mutation { saveUserProfiles(inputs: [{ id: \"ada\" }, { id: \"ben\" }, { id: \"chen\" }]) { id } }", json!({})).await;
        for title in ["v1", "v2"] {
            service.announce("release", everyone(), title).await;
        }
        for (place, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
            join(app, id, &["ada", "ben"]).await;
            app.advance(TimeDelta::minutes(1));
            record(app, &vec![activity(id, None, id); place]).await;
        }
        visit(&app.user("ada"), "c").await;
        let plain = "query($cap: Int) { inboxUsers(ids: [\"ada\", \"ben\", \"chen\"]) { overview(cap: $cap) { unread { count exact } } } }";
        let full = plain.replace("$cap: Int", "$cap: Int, $first: Int").replace("exact }", "exact } total { count exact } views(first: $first) { externalId unread { count exact } }");
        app.service().ask(plain, json!({})).await;
        let (before, _) = app.statements_of(service.ask(plain, json!({}))).await;
        let (after, data) = app.statements_of(service.ask(&full, json!({}))).await;
        assert_eq!(after, before + 1);
        let view = |id: &str, count: i64, exact: bool| json!({ "externalId": id, "unread": { "count": count, "exact": exact } });
        let count = |count: i64, exact: bool| json!({ "count": count, "exact": exact });
        let overviews: Vec<Value> = data["inboxUsers"].as_array().unwrap().iter().map(|user| user["overview"].clone()).collect();
        assert_eq!(overviews, [
            json!({ "unread": count(2, true), "total": count(6, true), "views": [view("d", 3, true), view("b", 1, true)] }),
            json!({ "unread": count(2, true), "total": count(8, true), "views": [view("d", 3, true), view("c", 2, true), view("b", 1, true)] }),
            json!({ "unread": count(2, true), "total": count(2, true), "views": [] }),
        ]);
        let data = service.ask(&full, json!({ "cap": 2, "first": 1 })).await;
        assert_eq!(data["inboxUsers"][0]["overview"], json!({ "unread": count(2, true), "total": count(2, false), "views": [view("d", 3, true)] }));
        assert_eq!(data["inboxUsers"][2]["overview"]["total"], count(2, true));
        let data = service.ask(&full, json!({ "cap": 1 })).await;
        assert_eq!(data["inboxUsers"][2]["overview"]["total"], count(1, false));
        let two = "{ viewer { overview { total { count } a: views(first: 1) { externalId } ...Two } } } fragment Two on InboxOverview { b: views(first: 2) { externalId } }";
        let data = app.user("ada").ask(two, json!({})).await;
        assert_eq!(data["viewer"]["overview"], json!({ "total": { "count": 6 }, "a": [{ "externalId": "d" }], "b": [{ "externalId": "d" }, { "externalId": "b" }] }));
        let total = app.user("ada").ask("mutation { markSeen { viewer { overview { total { count } } } } }", json!({})).await;
        assert_eq!(total["markSeen"]["viewer"]["overview"]["total"]["count"], 6);
        let why = app.user("ada").refused("{ viewer { overview { views(first: 201) { externalId } } } }", json!({})).await;
        assert_eq!(why, "BAD_USER_INPUT first: must be 0 to 200");
    }

    async fn views_are_listed_by_activity_or_by_key(app) {
        for id in ["a", "b", "c"] {
            join(app, id, &["ada", "ben"]).await;
            record(app, &[activity(id, None, id), activity(id, None, id)]).await;
            app.advance(TimeDelta::minutes(1));
        }
        join(app, "quiet", &["ada"]).await;
        let ids = |data: &Value| -> Vec<String> {
            data.as_array().unwrap().iter().map(|view| view["externalId"].as_str().unwrap().to_owned()).collect()
        };
        let query = "query($keys: [ViewKeyInput!], $first: Int) { viewer { views(keys: $keys, first: $first) { externalId unread(cap: 1) { count exact } latest } } }";
        let ada = app.user("ada");
        let data = ada.ask(query, json!({})).await["viewer"]["views"].clone();
        assert_eq!(ids(&data), ["c", "b", "a", "quiet"]);
        assert_eq!(data[0]["unread"], json!({ "count": 1, "exact": false }));
        assert!(data[3]["latest"].is_null());
        assert_eq!(ids(&ada.ask(query, json!({ "first": 2 })).await["viewer"]["views"]), ["c", "b"]);
        let keys = json!([key("a"), key("void"), key("c"), { "code": "feed", "externalId": "c" }, key("quiet")]);
        assert_eq!(ids(&ada.ask(query, json!({ "keys": keys })).await["viewer"]["views"]), ["a", "c", "quiet"]);
        assert_eq!(ids(&ada.ask(query, json!({ "keys": keys, "first": 1 })).await["viewer"]["views"]), ["a"]);
        assert_eq!(ids(&ada.ask(query, json!({ "keys": [] })).await["viewer"]["views"]), [""; 0]);
        let why = ada.refused(query, json!({ "keys": [key("a"), key("")] })).await;
        assert_eq!(why, "BAD_USER_INPUT keys[1].externalId: must have 1 to 128 characters, not 0");
        let both = "{ inboxUsers(ids: [\"ben\", \"ada\"]) { views(first: 1) { externalId } } }";
        let (statements, data) = app.statements_of(app.service().ask(both, json!({}))).await;
        assert_eq!((statements, ids(&data["inboxUsers"][0]["views"])), (1, vec!["c".to_owned()]));
        let why = ada.refused("{ viewer { views { unread(cap: 0) { count } } } }", json!({})).await;
        assert_eq!(why, "BAD_USER_INPUT cap: must be at least 1");
    }

    async fn bad_activities_are_named_and_change_nothing(app) {
        join(app, "team", &["ada"]).await;
        let good = activity("team", None, "1");
        let with = |field: &str, value: Value| {
            let mut bad = good.clone();
            bad[field] = value;
            json!({ "inputs": [good, bad] })
        };
        for (bad, why) in [
            (with("view", key("\u{7}")), "inputs[1].view.externalId: must not contain control characters"),
            (with("view", json!({ "code": "", "externalId": "7" })), "inputs[1].view.code: must have 1 to 128 characters, not 0"),
            (with("actor", json!("ada ")), "inputs[1].actor: must not begin or end with white space"),
            (with("preview", json!("x".repeat(4095))), "inputs[1].preview: must have at most 4096 bytes, not 4097"),
            (with("idempotencyKey", json!("")), "inputs[1].idempotencyKey: must have 1 to 128 characters, not 0"),
        ] {
            assert_eq!(app.service().refused(RECORD, bad).await, format!("BAD_USER_INPUT {why}"));
        }
        assert_eq!(unread(&app.user("ada")).await, ["team: 0", "= 0"]);
        record(app, &[activity("team", None, "1"), json!({ "view": key("team"), "preview": "x".repeat(4094) })]).await;
        record(app, &[json!({ "view": key("team") })]).await;
        let data = app.user("ada").ask("{ viewer { views { latest unread { count } } } }", json!({})).await;
        assert_eq!(data["viewer"]["views"], json!([{ "latest": null, "unread": { "count": 3 } }]));
        let why = app.user("ada").refused(VISIT, json!({ "key": key("") })).await;
        assert_eq!(why, "BAD_USER_INPUT key.externalId: must have 1 to 128 characters, not 0");
    }

    async fn views_of_another_tenant_do_not_exist(app) {
        join(app, "team", &["ada"]).await;
        record(app, &[activity("team", None, "ours")]).await;
        let theirs = app.stranger("ada", CallerRole::User);
        assert_eq!(unread(&theirs).await, ["= 0"]);
        assert_eq!(theirs.refused(VISIT, json!({ "key": key("team") })).await, "NOT_FOUND : no view \"chat/team\"");
        let service = app.stranger("shop", CallerRole::Service);
        service.ask(JOIN, json!({ "key": key("team"), "users": ["ada"] })).await;
        service.ask(RECORD, json!({ "inputs": [activity("team", None, "1"), activity("team", None, "2")] })).await;
        assert_eq!(unread(&theirs).await, ["team: 2", "= 2"]);
        assert_eq!(unread(&app.user("ada")).await, ["team: 1", "= 1"]);
        let why = app.user("ben").refused("{ inboxUser(id: \"ada\") { views { externalId } } }", json!({})).await;
        assert!(why.starts_with("FORBIDDEN"), "{why}");
    }

    async fn a_view_that_nobody_touched_for_a_year_is_swept(app) {
        open(app).await;
        for id in ["visited", "active", "joined", "left alone"] {
            join(app, id, &["ada"]).await;
            record(app, &[keyed(activity(id, Some("ben"), id), "k")]).await;
        }
        app.advance(TimeDelta::days(29));
        assert_eq!(domain::view::sweep(&app.app).await.unwrap(), 0);
        app.advance(TimeDelta::days(2));
        // Four keys are past the retention window and are deleted.
        assert_eq!(domain::view::sweep(&app.app).await.unwrap(), 4);
        app.advance(TimeDelta::days(200));
        visit(&app.user("ada"), "visited").await;
        record(app, &[activity("active", None, "again")]).await;
        join(app, "joined", &["chen"]).await;
        app.advance(TimeDelta::days(200));
        assert_eq!(domain::view::sweep(&app.app).await.unwrap(), 1);
        assert_eq!(domain::view::sweep(&app.app).await.unwrap(), 0);
        assert_eq!(unread(&app.user("ada")).await, ["active: 2", "joined: 1", "visited: 0", "= 3"]);
        assert_eq!(unread(&app.user("ben")).await, ["active: 1", "joined: 0", "visited: 0", "= 1"]);
        // The view starts anew, with the same key.
        record(app, &[keyed(activity("left alone", None, "new"), "k")]).await;
        visit(&app.user("chen"), "left alone").await;
        assert_eq!(unread(&app.user("ada")).await.last().unwrap(), "= 3");
        app.advance(TimeDelta::days(400));
        while domain::view::sweep(&app.app).await.unwrap() > 0 {}
        for user in ["ada", "ben", "chen"] {
            assert_eq!(unread(&app.user(user)).await, ["= 0"]);
        }
    }
}
