//! Input larger than one statement can take, and the limits of stored data.

use domain::inbox::freshness::ReadBound;
use domain::inbox::list::{ItemFilter, PageEnd, PageStrategy, PageWindow, page_query};
use domain::overview::{self, OverviewRequest};
use domain::{catalogue, tenant, user};
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::{Value, json};

use crate::support::{Actor, TestApp, everyone, on_every_database};

/// More than two statements can take as a list.
const MANY: usize = 2_100;

/// Retracts the log positions `from` to `to` directly in the database, by amendments from the position `at` on.
async fn retract_by_hand(app: &TestApp, (from, to): (usize, usize), at: usize) {
    let digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL \
        SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    let number = "(a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d)";
    app.by_hand(&format!("UPDATE notification SET retracted_at = 1 WHERE seq >= {from} AND seq <= {to}")).await;
    app.by_hand(&format!("INSERT INTO amendment (tenant_id, seq, subject_seq) SELECT t.id, {at} + {number}, {from} + {number} \
        FROM tenant t, {digits} a, {digits} b, {digits} c, {digits} e, {digits} f, {digits} g WHERE {number} <= {to} - {from}")).await;
    app.by_hand(&format!("UPDATE tenant SET last_seq = {0}, amended_seq = {0}", at + to - from)).await;
}

/// Inserts this many items above the newest item of a user's inbox, with a state and an expiry, as if they had arrived
/// long ago.
async fn insert_by_hand(app: &TestApp, user: &str, (state, expires): (&str, &str), many: usize) {
    let digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL \
        SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    let number = "(1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d)";
    app.by_hand(&format!("INSERT INTO inbox_item (user_id, seq, type_id, state, expires_at) \
        SELECT u.id, t.last_seq + {number}, (SELECT m.id FROM message_type m WHERE m.tenant_id = t.id), {state}, {expires} \
        FROM users u JOIN tenant t ON t.id = u.tenant_id, {digits} a, {digits} b, {digits} c, {digits} e \
        WHERE u.external_id = '{user}' AND {number} <= {many}")).await;
    app.by_hand(&format!("UPDATE tenant SET last_seq = last_seq + {many}")).await;
    app.by_hand("UPDATE users SET cursor_seq = (SELECT t.last_seq FROM tenant t WHERE t.id = users.tenant_id)").await;
}

/// Sends the inputs, a thousand at a time.
async fn send(app: &TestApp, inputs: Vec<Value>) {
    let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
    for inputs in inputs.chunks(1000) {
        app.service().ask(query, json!({ "inputs": inputs })).await;
    }
}

fn message(receiver: &str, of: &str, sender: Option<&str>) -> Value {
    json!({ "message": { "type": of, "receiver": receiver, "sender": sender, "content": { "title": "hello" } } })
}

async fn prefer(actor: &Actor<'_>, codes: impl Iterator<Item = usize>, enabled: Option<bool>) -> Result<(), String> {
    let query = "mutation($actions: [NotificationPreferenceInput!], $resetActions: [String!]) { \
        updatePreferences(actions: $actions, resetActions: $resetActions) { preferences { actions { code } } } }";
    let codes = codes.map(|code| format!("a{code}"));
    let variables = match enabled {
        Some(enabled) => {
            let actions: Vec<Value> = codes.map(|code| json!({ "code": code, "enabled": enabled })).collect();
            json!({ "actions": actions })
        }
        None => json!({ "resetActions": codes.collect::<Vec<_>>() }),
    };
    let (_, answer) = actor.send(query, variables).await;
    match answer["errors"][0]["extensions"]["code"].as_str() {
        Some(code) => Err(format!("{code}: {}", answer["errors"][0]["message"])),
        None => Ok(()),
    }
}

/// Everything that a user and their backend do with 600 notifications, including the user's erasure.
async fn days_of(app: &TestApp, user: &str) {
    let actor = app.user(user);
    actor.overview().await;
    for place in 0..20 {
        actor.subscribe(&format!("{user}-{place}"), &["commented"]).await;
    }
    send(app, (0..300).map(|_| message(user, "chat", None)).collect()).await;
    let everyone =
        || json!({ "announcement": { "type": "chat", "audience": everyone(), "content": { "title": "all" } } });
    send(app, (0..300).map(|_| everyone()).collect()).await;
    assert_eq!(actor.overview().await.last().unwrap(), "= 600");
    let items = actor.items(json!({ "read": false })).await;
    actor.mark("markRead", json!({ "ids": [items[0]["id"]] })).await;
    actor.mark("markRead", json!({ "matching": {} })).await;
    actor.mark("deleteItems", json!({ "matching": {} })).await;
    domain::counters::update_counters(&app.app).await.unwrap();
    app.service().ask("mutation($id: ID!) { eraseUser(id: $id) { erasedId } }", json!({ "id": user })).await;
}

/// The most rows that PostgreSQL reads in a step of Ada's list that names `what`.
async fn rows_of(app: &TestApp, filter: &ItemFilter, way: PageStrategy, what: &str) -> Option<usize> {
    let tenant = tenant::get_or_create(&app.app, "acme").await.unwrap();
    let user = user::find_or_create_one(&app.app, &tenant, "user", "ada").await.unwrap();
    let catalogue = catalogue::load_current(&app.app, &tenant).await.unwrap();
    let window = PageWindow { many: 20, end: PageEnd::Newest, older_than: None, newer_than: None };
    let list =
        page_query(&app.app, &tenant, user, (filter, way), window, (&catalogue, ReadBound::End)).into_statement();
    most_rows(app, list, what).await
}

/// The most rows returned by a step of the statement's plan that names `what`.
async fn most_rows(app: &TestApp, mut statement: Statement, what: &str) -> Option<usize> {
    statement.sql = format!("EXPLAIN (ANALYZE, TIMING OFF) {}", statement.sql);
    let plan = app.app.db.read.query_all_raw(statement).await.unwrap();
    // Steps that were never executed have no row count.
    let many = |line: String| {
        let rows = line.split_once("(actual rows=")?.1.split(' ').next()?.parse::<usize>();
        line.contains(what).then_some(rows.expect("it is a number"))
    };
    plan.iter().filter_map(|row| many(row.try_get_by_index(0).unwrap())).max()
}

/// Returns the reason if the cost of a statement on PostgreSQL grows with the tables: a step of its plan reads many
/// rows, or all rows of a tenant. Statements that change data are only planned, since a second execution would fail.
async fn grows(app: &TestApp, mut statement: Statement) -> Option<String> {
    let text = statement.sql.clone();
    let is_read = text.starts_with("SELECT") && !text.contains(" FOR ");
    statement.sql =
        format!("EXPLAIN ({}COSTS OFF) {text}", if is_read { "ANALYZE, TIMING OFF, SUMMARY OFF, " } else { "" });
    let txn = app.app.db.begin().await.unwrap();
    let plan = txn.query_all_raw(statement).await.unwrap();
    txn.rollback().await.unwrap();
    let plan: Vec<String> = plan.iter().map(|row| row.try_get_by_index(0).unwrap()).collect();
    let number = |line: &str, before: &str| {
        let rest = line.split_once(before)?.1;
        rest.split(|of: char| !of.is_ascii_digit()).next()?.parse::<usize>().ok()
    };
    let (mut loops, mut is_large, mut wrong) = (0, false, None);
    for line in &plan {
        let is_scan = line.contains(" Scan ")
            && line.contains(" on ")
            && !line.contains("Subquery")
            && !line.contains("Function");
        if line.contains("->") || is_scan {
            is_large = LARGE.iter().any(|table| line.contains(&format!(" on {table}")));
            loops = if is_scan { number(line, "loops=").unwrap_or_default() } else { 0 };
        }
        let rows = if is_scan { number(line, "actual rows=") } else { number(line, "Rows Removed by Filter: ") };
        let is_much = rows.is_some_and(|rows| rows * loops > MOST_ROWS);
        let condition = line.trim().strip_prefix("Index Cond: (");
        let is_all_of_tenant = condition.is_some_and(|of| of.starts_with("tenant_id = ") && !of.contains(" AND "));
        if is_large && (is_much || is_all_of_tenant || line.contains("Seq Scan")) {
            wrong.get_or_insert_with(|| line.trim().to_owned());
        }
    }
    wrong.map(|line| format!("{line}\nof {text}\n{}", plan.join("\n")))
}

/// The tables that grow with the sent notifications and the known users.
const LARGE: [&str; 5] = ["notification", "publication", "inbox_item", "users", "subscription"];

/// The most rows that a step may read.
const MOST_ROWS: usize = 700;

on_every_database! {
    /// A literal value in the text of a statement makes another statement, which each connection has to prepare.
    async fn what_was_asked_for_one_user_is_prepared_for_the_next(app) {
        app.admin().define_type("chat").await;
        days_of(app, "ada").await;
        let before = app.texts();
        // More than a new inbox reaches back to.
        app.advance(chrono::TimeDelta::days(100));
        days_of(app, "ben").await;
        let new: Vec<String> = app.texts().difference(&before).cloned().collect();
        assert!(new.is_empty(), "{new:#?}");
    }

    async fn any_number_of_items_may_be_retracted_between_two_looks(app) {
        app.admin().define_type("chat").await;
        send(app, (0..MANY).map(|_| message("ada", "chat", None)).collect()).await;
        let ada = app.user("ada");
        assert_eq!(ada.overview().await.last().unwrap(), &format!("= {MANY}"));
        // As `retract` does, for all but the last.
        retract_by_hand(app, (1, MANY - 1), MANY + 1).await;
        assert_eq!(ada.overview().await.last().unwrap(), "= 1");
        assert_eq!(ada.titles(json!({})).await, ["hello"]);
    }

    async fn a_user_who_was_away_gets_what_came_on_any_number_of_channels(app) {
        app.admin().define_type("comment").await;
        let ada = app.user("ada");
        let actions: Vec<String> = (0..100).map(|place| format!("a{place}")).collect();
        let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
        let targets = MANY / actions.len();
        for target in 0..targets {
            assert_eq!(ada.subscribe(&target.to_string(), &actions).await, 100);
        }
        let reminder = |place: usize| json!({ "reminder": { "type": "comment", "content": { "title": place.to_string() },
            "target": { "type": "doc", "externalId": (place / 100 % targets).to_string() }, "action": actions[place % 100] } });
        // Three per channel, more than one transaction takes.
        let sent = 3 * MANY;
        send(app, (0..sent).map(reminder).collect()).await;
        assert_eq!(ada.overview().await.last().unwrap(), &format!("= {sent}"));
        let stop = "mutation($target: ID!) { unsubscribeTopic(input: { target: { type: \"doc\", externalId: $target }, what: { everything: true } }) { removedCount } }";
        assert_eq!(ada.ask(stop, json!({ "target": "3" })).await["unsubscribeTopic"]["removedCount"], 100);
    }

    async fn overviews_of_any_number_of_senders_are_remembered(app) {
        let types: Vec<String> = (0..50).map(|place| format!("t{place}")).collect();
        for of in &types {
            app.admin().define_type(of).await;
        }
        let users: Vec<String> = (0..25).map(|place| format!("u{place}")).collect();
        let all = users.iter().flat_map(|user| types.iter().map(move |of| (user, of)));
        send(app, all.map(|(user, of)| message(user, of, Some(&format!("from {user} {of}")))).collect()).await;
        let query = "query($ids: [ID!]!) { inboxUsers(ids: $ids) { overview { unread { count } types { latest { sender { name } } } } } }";
        let first = app.service().ask(query, json!({ "ids": users })).await;
        assert_eq!(first["inboxUsers"][24]["overview"]["unread"]["count"], 50);
        let (statements, again) = app.statements_of(app.service().ask(query, json!({ "ids": users }))).await;
        assert_eq!((statements, again), (2, first), "one for a thousand senders, and one for the others");
        for (user, of) in [("u24", "t49"), ("u0", "t0")] {
            let sender = json!({ "inputs": [{ "id": format!("from {user} {of}"), "name": "Zoe" }] });
            app.service().ask("mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }", sender).await;
            let shown = app.service().ask(query, json!({ "ids": [user] })).await;
            assert!(shown.to_string().contains("Zoe"), "{user} {shown}");
        }
    }

    async fn a_user_has_a_thousand_preferences_of_actions(app) {
        let (ada, ben) = (app.user("ada"), app.user("ben"));
        prefer(&ada, 0..1000, Some(false)).await.unwrap();
        prefer(&ada, 0..500, Some(true)).await.unwrap();
        let refused = prefer(&ada, 999..1001, Some(true)).await.unwrap_err();
        assert_eq!(refused, "CONFLICT: \"a user has at most 1000 preferences of actions: reset some to the default\"");
        prefer(&ada, 0..1, None).await.unwrap();
        prefer(&ada, 1000..1001, Some(true)).await.unwrap();
        prefer(&ben, 0..1000, Some(false)).await.unwrap();
        // A user who exceeds the limit from earlier can still read preferences and reset them.
        app.by_hand(&format!("INSERT INTO action (tenant_id, code) SELECT a.tenant_id, {} FROM action a",
            if app.app.db.backend() == sea_orm::DbBackend::MySql { "CONCAT('old', a.id)" } else { "'old' || a.id" })).await;
        app.by_hand("INSERT INTO preference (user_id, scope, subject_id, enabled) SELECT u.id, 0, a.id, FALSE \
            FROM action a, users u WHERE u.external_id = 'ben' AND a.code LIKE 'old%'").await;
        let query = "query($id: ID!) { inboxUser(id: $id) { preferences { actions { code } } } exportUser(id: $id) }";
        let kept = app.service().ask(query, json!({ "id": "ben" })).await;
        let kept = kept["inboxUser"]["preferences"]["actions"].as_array().unwrap().len();
        assert!(kept > 1900, "{kept}");
        prefer(&ben, 0..700, None).await.unwrap();
        assert!(prefer(&ben, 0..1, Some(true)).await.unwrap_err().starts_with("CONFLICT"));
    }

    async fn a_user_has_twenty_thousand_subscriptions_and_a_tenant_a_hundred_thousand_actions(app) {
        app.admin().define_type("comment").await;
        let ada = app.user("ada");
        ada.subscribe("1", &["comment"]).await;
        app.by_hand("UPDATE users SET subscription_count = 19999").await;
        assert_eq!(ada.subscribe("2", &["comment"]).await, 1);
        let more = "mutation { subscribeTopic(input: { target: { type: \"doc\", externalId: \"3\" }, what: { actions: [\"comment\"] } }) { createdCount } }";
        let refused = "CONFLICT : a user has at most 20000 subscriptions, follows and groups together";
        assert_eq!(ada.refused(more, json!({})).await, refused);
        assert_eq!(ada.refused("mutation { followUser(user: \"ben\") { user { id } } }", json!({})).await, refused);
        assert_eq!(ada.subscribe("2", &["comment"]).await, 0, "what is there already is no more");

        // Beyond 10,000 actions, a preference creates no new action, but a send still does.
        let digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL \
            SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
        let code = if app.app.db.backend() == sea_orm::DbBackend::MySql {
            "CONCAT('x', a.d, b.d, c.d, e.d)"
        } else {
            "'x' || a.d || b.d || c.d || e.d"
        };
        app.by_hand(&format!("INSERT INTO action (tenant_id, code) SELECT t.id, {code} FROM tenant t, {digits} a, {digits} b, \
            {digits} c, {digits} e")).await;
        let refused = prefer(&ada, 0..1, Some(false)).await.unwrap_err();
        assert_eq!(refused, "CONFLICT: \"the tenant has too many actions: at most 10000 can be created this way\"");
        prefer(&ada, 0..1, None).await.unwrap();
        app.service().remind("comment", "2", "a0", None, "hello").await;
        prefer(&ada, 0..1, Some(false)).await.unwrap();
    }

    async fn a_list_goes_on_below_ten_thousand_that_are_archived_or_have_expired(app) {
        app.admin().define_type("chat").await;
        send(app, (0..25).map(|_| message("ada", "chat", None)).collect()).await;
        let ada = app.user("ada");
        let page = "{ viewer { inbox(first: 20) { nodes { id } pageInfo { hasNextPage } } } }";
        let (walked, first) = app.statements_of(ada.ask(page, json!({}))).await;
        assert_eq!((walked, &first["viewer"]["inbox"]["pageInfo"]["hasNextPage"]), (1, &json!(true)));
        // Archived items, and expired items that are not swept yet.
        for (state, expires) in [("2", "NULL"), ("0", "1")] {
            insert_by_hand(app, "ada", (state, expires), 10_000).await;
            // Change the query text, so that no cached response is used.
            let again = format!("query In{state} {page}");
            let (ranges, below) = app.statements_of(ada.ask(&again, json!({}))).await;
            assert_eq!((ranges, &below), (2, &first));
        }
        if app.app.db.backend() != DbBackend::Postgres {
            return;
        }
        // Create the statistics that autovacuum would create for this many rows. Without them, PostgreSQL may sort all
        // items of a user.
        app.by_hand("ANALYZE inbox_item").await;
        let rows = rows_of(app, &ItemFilter::default(), PageStrategy::Walk, " on inbox_item").await;
        assert_eq!(rows, Some(63), "three pages, and no further");
    }

    async fn an_overview_counts_no_further_than_its_cap(app) {
        app.admin().define_type("chat").await;
        send(app, vec![message("ada", "chat", None)]).await;
        insert_by_hand(app, "ada", ("0", "NULL"), 5_000).await;
        insert_by_hand(app, "ada", ("1", "NULL"), 5_000).await;
        let query = "{ viewer { overview(cap: 99) { unread { count exact } } } }";
        let counted = app.user("ada").ask(query, json!({})).await;
        assert_eq!(counted["viewer"]["overview"]["unread"], json!({ "count": 99, "exact": false }));
        if app.app.db.backend() != DbBackend::Postgres {
            return;
        }
        let tenant = tenant::get_or_create(&app.app, "acme").await.unwrap();
        let user = user::find_or_create_one(&app.app, &tenant, "user", "ada").await.unwrap();
        let types = &catalogue::load_current(&app.app, &tenant).await.unwrap().types;
        let wish = OverviewRequest { cap: Some(99), ..OverviewRequest::default() };
        for statistics in ["none", "those that autovacuum makes"] {
            let now = app.app.now();
            let read = overview::overview_query(&app.app, &tenant, &[user], types, &wish, (ReadBound::End, now)).into_statement();
            assert_eq!(most_rows(app, read, " on inbox_item").await, Some(100), "by {statistics}");
            app.by_hand("ANALYZE inbox_item").await;
        }
    }

    async fn what_is_read_does_not_depend_on_statistics(app) {
        if app.app.db.backend() != DbBackend::Postgres {
            return;
        }
        // Autovacuum must not create statistics either.
        app.by_hand("DO $$ DECLARE name text; BEGIN FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP \
            EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', name); END LOOP; END $$").await;
        app.admin().define_type("chat").await;
        app.admin().ask("mutation { saveUserGroup(code: \"staff\") { code } addUserGroupMembers(code: \"staff\", users: [\"ada\", \"ben\"]) { code } }", json!({})).await;
        app.user("ada").subscribe("7", &["like"]).await;
        let mut wrong = Vec::new();
        for many in [0, 3_000] {
            send(app, (0..many).map(|n| message(&format!("u{n}"), "chat", Some(&format!("s{n}")))).collect()).await;
            send(app, (0..many / 10).map(|_| message("ada", "chat", Some("ben"))).collect()).await;
            let ada = app.user("ada");
            ada.overview().await;
            let items = ada.items(json!({})).await;
            let ids = json!({ "ids": items.iter().take(3).map(|of| of["id"].clone()).collect::<Vec<_>>() });
            let target = json!({ "matching": { "target": { "type": "doc", "externalId": "7" } } });
            // Use nodes with empty caches.
            let statements = [
                ("list", app.beside().await),
                ("filtered list", app.beside().await),
                ("overview", app.beside().await),
                ("sync", app.beside().await),
                ("marks", app.beside().await),
                ("sends", app.beside().await),
            ];
            for (what, node) in statements {
                let ada = node.user("ada");
                let recorded = node.recorded(async {
                    match what {
                        "list" => {
                            ada.ask("{ viewer { inbox(first: 20) { nodes { title sender { name } } } } }", json!({})).await;
                            ada.ask("{ viewer { inbox(first: 20, filter: { state: ARCHIVED }) { nodes { title } } } }", json!({})).await;
                        }
                        "filtered list" => {
                            ada.ask("{ viewer { inbox(first: 20, filter: { sender: \"cleo\" }) { nodes { title } } } }", json!({})).await;
                            ada.ask("{ viewer { inbox(first: 20, filter: { types: [\"chat\"], read: false }) { nodes { title } } } }", json!({})).await;
                        }
                        "overview" => {
                            let overview = "overview(cap: 99) { unread { count } unseen { count } types { latest { title sender { name } } } }";
                            ada.ask(&format!("{{ viewer {{ {overview} }} }}"), json!({})).await;
                            node.service().ask(&format!("{{ inboxUsers(ids: [\"ada\", \"ben\", \"u1\"]) {{ {overview} }} }}"), json!({})).await;
                        }
                        "sync" => {
                            node.service().announce("chat", everyone(), "all").await;
                            node.service().announce("chat", json!({ "groups": ["staff"] }), "staff").await;
                            node.service().remind("chat", "7", "like", Some("ben"), "like").await;
                            ada.overview().await;
                            node.user("ben").overview().await;
                        }
                        "marks" => {
                            for mark in ["markRead", "markUnread", "archiveItems", "unarchiveItems"] {
                                ada.mark(mark, ids.clone()).await;
                                ada.mark(mark, target.clone()).await;
                            }
                        }
                        _ => {
                            let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
                            let content = json!({ "title": "x" });
                            let inputs = json!([
                                { "message": { "type": "chat", "receiver": "u1", "sender": "ben", "content": content, "idempotencyKey": format!("m{many}") } },
                                { "announcement": { "type": "chat", "audience": { "users": ["u2", "u3", "ada"] }, "content": content, "idempotencyKey": format!("a{many}") } },
                            ]);
                            node.service().ask(query, json!({ "inputs": inputs })).await;
                        }
                    }
                }).await;
                assert!(!recorded.is_empty(), "{what}");
                for statement in recorded {
                    if let Some(why) = grows(app, statement).await {
                        wrong.push(format!("{what}: {why}"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }

    async fn what_a_list_looks_up_is_looked_up_by_its_key_also_before_there_are_statistics(app) {
        app.admin().define_type("chat").await;
        send(app, (0..300).map(|_| message("ada", "chat", Some("ben"))).collect()).await;
        send(app, (0..3_000).map(|n| message(&format!("u{}", n % 20), "chat", Some("cleo"))).collect()).await;
        let filter = ItemFilter { sender: Some("cleo".into()), ..ItemFilter::default() };
        assert_eq!(app.user("ada").titles(json!({ "sender": "cleo" })).await, [""; 0]);
        if app.app.db.backend() == DbBackend::Postgres {
            let rows = rows_of(app, &filter, PageStrategy::Ranges, " on notification").await;
            assert!(rows <= Some(1), "{rows:?} for each item");
        }
    }

    async fn amendments_are_looked_at_in_steps_and_not_at_all_where_they_concern_nobody(app) {
        app.admin().define_type("chat").await;
        app.admin().announce("chat", everyone(), "to all").await;
        send(app, (0..5).map(|_| message("ada", "chat", None)).collect()).await;
        assert_eq!(app.user("ada").overview().await.last().unwrap(), "= 6");
        // Thousands of notifications to others, all of them retracted, then the retraction of one of Ada's.
        let many = 12_000;
        retract_by_hand(app, (7, 6 + many), 7 + many).await;
        retract_by_hand(app, (3, 3), 7 + 2 * many).await;
        let (first, overview) = app.statements_of(app.user("newcomer").overview()).await;
        assert_eq!(overview.last().unwrap(), "= 1");
        let (late, overview) = app.statements_of(app.user("ada").overview()).await;
        assert_eq!(overview.last().unwrap(), "= 5");
        assert!(late < first + 10, "{late} {first}");
        // Ada now has a newer item, so the retractions could concern her items.
        app.service().message("chat", "ada", "hello again").await;
        assert_eq!(app.user("ada").overview().await.last().unwrap(), "= 6");
        let end = 8 + 2 * many;
        retract_by_hand(app, (7, 6 + many), end + 1).await;
        retract_by_hand(app, (end, end), end + many + 1).await;
        let (steps, overview) = app.statements_of(app.user("ada").overview()).await;
        assert_eq!(overview.last().unwrap(), "= 5");
        assert!(steps > late, "{steps} {late}");
    }
}
