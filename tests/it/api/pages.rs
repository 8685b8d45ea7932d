//! Every connection pages both ways, and yields the same list either way.

use serde_json::{Value, json};

use crate::support::{Actor, everyone, on_every_database};

/// Returns the nodes of a list, page by page from one end.
async fn walk(caller: &Actor<'_>, query: &str, path: &str, forwards: bool) -> Vec<String> {
    let (mut nodes, mut cursor) = (Vec::new(), Value::Null);
    loop {
        // Unused arguments are null, as some clients send them.
        let variables = if forwards {
            json!({ "first": 2, "after": cursor, "last": null, "before": null })
        } else {
            json!({ "first": null, "after": null, "last": 2, "before": cursor })
        };
        let answer = caller.ask(query, variables).await;
        let page = answer.pointer(path).unwrap();
        let some: Vec<String> = page["nodes"].as_array().unwrap().iter().map(Value::to_string).collect();
        assert_eq!(some.len(), page["edges"].as_array().unwrap().len());
        let info = &page["pageInfo"];
        let goes_on = if forwards { &info["hasNextPage"] } else { &info["hasPreviousPage"] };
        nodes = if forwards { [nodes, some].concat() } else { [some, nodes].concat() };
        if *goes_on != json!(true) {
            return nodes;
        }
        cursor = info[if forwards { "endCursor" } else { "startCursor" }].clone();
    }
}

/// A query of one connection with all arguments.
fn query(before: &str, field: &str, node: &str, after: &str) -> String {
    format!(
        "query($first: Int = 20, $after: String, $last: Int, $before: String) {{ {before} \
        {field}(first: $first, after: $after, last: $last, before: $before) {{ \
        nodes {{ {node} }} edges {{ cursor }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} {after} }}"
    )
}

async fn forwards_cursor(caller: &Actor<'_>, query: &str, path: &str) -> Value {
    caller.ask(query, json!({ "first": 1 })).await.pointer(path).unwrap()["pageInfo"]["endCursor"].clone()
}

on_every_database! {
    async fn lists_are_the_same_from_either_end(app) {
        app.admin().define_type("news").await;
        let ada = app.user("ada");
        for number in 0..5 {
            app.admin().announce("news", everyone(), &format!("{number}")).await;
            ada.subscribe(&number.to_string(), &["comment"]).await;
            ada.ask("mutation($user: ID!) { followUser(user: $user) { user { id } } }", json!({ "user": format!("u{number}") })).await;
        }
        let lists = [
            (&ada, query("viewer {", "inbox", "title", "}"), "/viewer/inbox"),
            (&ada, query("viewer {", "subscriptions", "target { externalId }", "}"), "/viewer/subscriptions"),
            (&ada, query("viewer {", "following", "id", "}"), "/viewer/following"),
        ];
        let service = app.service();
        let sent = (&service, query("", "sentNotifications", "title", ""), "/sentNotifications");
        for (caller, query, path) in lists.into_iter().chain([sent]) {
            let (forwards, backwards) = (walk(caller, &query, path, true).await, walk(caller, &query, path, false).await);
            assert_eq!(forwards.len(), 5, "{path}");
            assert_eq!(forwards, backwards, "{path}");
            let both = caller.refused(&query, json!({ "first": 2, "last": 2 })).await;
            assert_eq!(both, "BAD_USER_INPUT first: cannot be combined with `last`", "{path}");
            // Relay also sends the default of `first` when it pages backwards.
            let last = caller.ask(&query, json!({ "last": 2 })).await.pointer(path).unwrap().clone();
            let going_back = json!({ "first": 4, "last": 2, "before": last["pageInfo"]["startCursor"] });
            let alone = json!({ "first": null, "last": 2, "before": last["pageInfo"]["startCursor"] });
            assert_eq!(caller.ask(&query, going_back).await, caller.ask(&query, alone).await, "{path}");
            let going_on = json!({ "first": 1, "last": 2, "after": forwards_cursor(caller, &query, path).await });
            assert_eq!(caller.ask(&query, going_on).await.pointer(path).unwrap()["nodes"].as_array().unwrap().len(), 1);
            let nothing = caller.ask(&query, json!({ "first": 0 })).await.pointer(path).unwrap()["pageInfo"].clone();
            assert_eq!(nothing["hasNextPage"], json!(true), "{path}");
            let wrong = caller.refused(&query, json!({ "first": null, "last": 2, "before": "x" })).await;
            assert_eq!(wrong, "BAD_USER_INPUT before: is not a cursor of this list", "{path}");
        }
    }

    async fn every_list_of_the_schema_is_the_same_from_either_end(app) {
        app.admin().define_type("news").await;
        let (ada, admin) = (app.user("ada"), app.admin());
        admin.define(json!({ "code": "late", "title": "Late", "template": { "title": "{{ params.order }}" } })).await;
        let setup = "mutation { saveUserGroup(code: \"staff\") { id } \
            saveNotificationRule(input: { code: \"late\", type: \"late\", key: [\"order\"], firstRun: RAISE, audience: { everyone: true } }) { id } \
            createWebhookEndpoint(input: { url: \"http://127.0.0.1:1/hook\" }) { endpoint { id } } }";
        let hook = admin.ask(setup, json!({})).await["createWebhookEndpoint"]["endpoint"]["id"].take();
        let rows: Vec<Value> = (0..5).map(|order| json!({ "order": order })).collect();
        let report = "mutation($rows: [JSON!]!) { reportRuleRows(input: { rule: \"late\", rows: $rows }) { raised } }";
        app.service().ask(report, json!({ "rows": rows })).await;
        for number in 0..5 {
            app.advance(chrono::TimeDelta::seconds(i64::from(number % 2)));
            admin.announce("news", everyone(), &format!("{number}")).await;
            ada.subscribe(&number.to_string(), &["comment"]).await;
            ada.ask("mutation($user: ID!) { followUser(user: $user) { user { id } } }", json!({ "user": format!("u{number}") })).await;
            admin.ask("mutation($id: ID!, $user: ID!) { testWebhookEndpoint(id: $id) { id } addUserGroupMembers(code: \"staff\", users: [$user]) { id } }",
                json!({ "id": hook, "user": format!("u{number}") })).await;
        }
        let own = |field: &str, node: &str| (query("viewer {", field, node, "}"), format!("/viewer/{field}"));
        let of_staff = |field: &str, node: &str| (query("inboxUser(id: \"ada\") {", field, node, "}"), format!("/inboxUser/{field}"));
        let all = |field: &str, node: &str| (query("", field, node, ""), format!("/{field}"));
        let lists = [
            ("Viewer.inbox", &ada, own("inbox", "title")),
            ("Viewer.subscriptions", &ada, own("subscriptions", "target { externalId }")),
            ("Viewer.following", &ada, own("following", "id")),
            ("InboxUser.inbox", &admin, of_staff("inbox", "title")),
            ("InboxUser.subscriptions", &admin, of_staff("subscriptions", "target { externalId }")),
            ("InboxUser.following", &admin, of_staff("following", "id")),
            ("Query.sentNotifications", &admin, all("sentNotifications", "id")),
            ("Query.outboundDeliveries", &admin, all("outboundDeliveries", "id")),
            ("Query.auditLog", &admin, all("auditLog", "at action subject subjectKind")),
            ("UserGroup.members", &admin, (query("userGroups {", "members", "id", "}"), "/userGroups/0/members".into())),
            ("NotificationRule.openNotifications", &admin,
             (query("notificationRule(code: \"late\") {", "openNotifications", "id", "}"), "/notificationRule/openNotifications".into())),
        ];
        for (name, caller, (query, path)) in &lists {
            let (forwards, backwards) = (walk(caller, query, path, true).await, walk(caller, query, path, false).await);
            assert!(forwards.len() >= 5, "{name} has {forwards:?}");
            assert_eq!(forwards, backwards, "{name}");
            // From each cursor, the rest of the list is on either side, for cursors of both directions.
            let whole = caller.ask(query, json!({ "first": 200 })).await.pointer(path).unwrap().clone();
            let whole_back = caller.ask(query, json!({ "first": null, "last": 200 })).await.pointer(path).unwrap().clone();
            let nodes = whole["nodes"].as_array().unwrap();
            for cursors in [&whole["edges"], &whole_back["edges"]] {
                assert_eq!(cursors.as_array().unwrap().len(), nodes.len(), "{name}");
                for (place, edge) in cursors.as_array().unwrap().iter().enumerate() {
                    let after = caller.ask(query, json!({ "first": 200, "after": edge["cursor"] })).await.pointer(path).unwrap().clone();
                    assert_eq!(after["nodes"].as_array().unwrap()[..], nodes[place + 1..], "{name} after {place}");
                    let before = json!({ "first": null, "last": 200, "before": edge["cursor"] });
                    let before = caller.ask(query, before).await.pointer(path).unwrap().clone();
                    assert_eq!(before["nodes"].as_array().unwrap()[..], nodes[..place], "{name} before {place}");
                }
            }
        }

        let schema = "{ __schema { types { name fields { name args { name } type { name ofType { name } } } } } }";
        let schema = admin.ask(schema, json!({})).await["__schema"].take();
        let mut found = Vec::new();
        for of in schema["types"].as_array().unwrap() {
            for field in of["fields"].as_array().into_iter().flatten() {
                let kinds = [&field["type"]["name"], &field["type"]["ofType"]["name"]];
                if kinds.iter().any(|kind| kind.as_str().is_some_and(|kind| kind.ends_with("Connection"))) {
                    let name = format!("{}.{}", of["name"].as_str().unwrap(), field["name"].as_str().unwrap());
                    let has = |arg: &str| field["args"].as_array().unwrap().iter().any(|of| of["name"] == arg);
                    assert!(["first", "after", "last", "before"].into_iter().all(has), "{name}");
                    found.push(name);
                }
            }
        }
        let mut tested = lists.iter().map(|(name, ..)| (*name).to_owned()).collect::<Vec<_>>();
        found.sort_unstable();
        tested.sort_unstable();
        assert_eq!(found, tested);
    }

    async fn what_was_sent_and_is_passed_over_is_walked_both_ways(app) {
        app.admin().define_type("news").await;
        app.admin().define_type("other").await;
        for number in 0..6 {
            app.admin().announce(if number % 2 == 0 { "news" } else { "other" }, everyone(), &number.to_string()).await;
        }
        let query = "query($first: Int, $last: Int, $after: String, $before: String) { sentNotifications(filter: { types: [\"news\"] }, \
            first: $first, last: $last, after: $after, before: $before) { nodes { title } edges { cursor } \
            pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";
        let service = app.service();
        let forwards = walk(&service, query, "/sentNotifications", true).await;
        assert_eq!(forwards.len(), 3);
        assert_eq!(forwards, walk(&service, query, "/sentNotifications", false).await);
    }

    async fn both_parts_of_an_inbox_are_listed_together(app) {
        app.admin().define_type("news").await;
        for number in 0..6 {
            app.admin().announce("news", everyone(), &number.to_string()).await;
        }
        let ada = app.user("ada");
        let items = ada.items(json!({})).await;
        let ids = |of: &[usize]| json!({ "ids": of.iter().map(|place| items[*place]["id"].clone()).collect::<Vec<_>>() });
        ada.mark("markRead", ids(&[0, 1])).await;
        ada.mark("archiveItems", ids(&[1, 2])).await;
        let titles = async |filter: Value| ada.titles(filter).await.join(" ");
        assert_eq!(titles(json!({ "state": "ALL" })).await, "5 4 3 2 1 0");
        assert_eq!(titles(json!({ "state": "ALL", "read": true })).await, "5 4");
        assert_eq!(titles(json!({ "state": "ALL", "read": false })).await, "3 2 1 0");
        assert_eq!(titles(json!({ "state": "ARCHIVED" })).await, "4 3");
        assert_eq!(titles(json!({ "state": null })).await, "5 2 1 0");
        let query = query("viewer {", "inbox(filter: { state: ALL }, first: 2) { nodes { id } } all: inbox", "title", "}");
        let query = query.replace("all: inbox(", "all: inbox(filter: { state: ALL }, ");
        assert_eq!(walk(&ada, &query, "/viewer/all", true).await, walk(&ada, &query, "/viewer/all", false).await);
    }
}
