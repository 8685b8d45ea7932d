//! Rows that a backend reports.

use chrono::TimeDelta;
use serde_json::json;

use super::{catalogue, complete, field, input, report, report_as, reporting, rows, save, titles};
use crate::support::{OVERVIEWS, Socket, on_every_database};

on_every_database! {
    async fn a_row_is_raised_once_amended_when_it_changes_and_taken_back_when_it_goes(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        assert_eq!(report(app, &[(1, "low", "ada"), (2, "low", "ben")]).await, complete(2, 0, 0));
        assert_eq!(report(app, &[(1, "low", "ada"), (2, "low", "ben")]).await, complete(0, 0, 0));
        assert_eq!(titles(app.user("ada")).await, ["1: low"]);
        assert_eq!(report(app, &[(3, "new", "ada"), (1, "out", "ada"), (2, "low", "ben")]).await, complete(1, 1, 0));
        assert_eq!(titles(app.user("ada")).await, ["3: new", "1: out"]);
        assert_eq!(report(app, &[(3, "new", "ada")]).await, complete(0, 0, 2));
        assert_eq!(titles(app.user("ada")).await, ["3: new"]);
        assert!(titles(app.user("ben")).await.is_empty());
        // The row is back: a new stay.
        assert_eq!(report(app, &[(3, "new", "ada"), (1, "low", "ada")]).await, complete(1, 0, 0));
        assert_eq!(titles(app.user("ada")).await, ["1: low", "3: new"]);
        assert_eq!(app.user("ada").overview().await.last().unwrap(), "= 2");
        let open = field(app, "rowCount openNotifications { nodes { rule rowKey } }").await;
        let raised = |id: i64| json!({ "rule": "low", "rowKey": { "id": id } });
        assert_eq!(open, json!({ "rowCount": 2, "openNotifications": { "nodes": [raised(1), raised(3)] } }));
    }

    async fn who_is_connected_hears_of_it_at_once(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        let server = app.listen().await;
        let token = app.user("ada").token.clone();
        let mut socket = Socket::subscribed(&server.address, &token, OVERVIEWS, json!({})).await;
        let unread = |event: serde_json::Value| event["overviewChanged"]["overview"]["unread"]["count"].clone();
        assert_eq!(unread(socket.data().await), json!(0));
        report(app, &[(1, "low", "ada")]).await;
        assert_eq!(unread(socket.data().await), json!(1));
        report(app, &[]).await;
        assert_eq!(unread(socket.data().await), json!(0));
        server.stop().await;
    }

    async fn some_rows_resolve_nothing_and_only_a_complete_result_does(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        let partial = |raised| (raised, 0, 0, "PARTIAL".to_owned());
        report(app, &[(1, "low", "ada")]).await;
        assert_eq!(report_as(app, rows(&[(2, "low", "ada")]), json!({ "complete": false })).await, partial(1));
        assert_eq!(report_as(app, rows(&[]), json!({ "complete": false })).await, partial(0));
        assert_eq!(titles(app.user("ada")).await, ["2: low", "1: low"]);
        assert_eq!(report(app, &[]).await, complete(0, 0, 2));
        assert!(titles(app.user("ada")).await.is_empty());
    }

    async fn what_was_there_at_first_is_remembered_until_it_goes(app) {
        catalogue(app).await;
        save(app, json!({ "firstRun": "BASELINE", "maxNew": 1 })).await;
        assert_eq!(report(app, &[(1, "low", "ada"), (2, "low", "ada")]).await, complete(0, 0, 0));
        assert_eq!(report(app, &[(1, "out", "ada"), (3, "low", "ada")]).await, complete(1, 0, 0));
        assert_eq!(titles(app.user("ada")).await, ["3: low"]);
        // Gone, and back again.
        assert_eq!(report(app, &[(1, "out", "ada"), (2, "low", "ada"), (3, "low", "ada")]).await, complete(1, 0, 0));
        assert_eq!(titles(app.user("ada")).await, ["2: low", "3: low"]);
    }

    async fn a_row_has_gone_after_as_many_complete_results_as_was_said(app) {
        catalogue(app).await;
        save(app, json!({ "resolveAfter": 3 })).await;
        report(app, &[(1, "low", "ada"), (2, "low", "ada")]).await;
        assert_eq!(report(app, &[(2, "low", "ada")]).await, complete(0, 0, 0));
        report_as(app, rows(&[]), json!({ "complete": false })).await;
        assert_eq!(report(app, &[(2, "low", "ada")]).await, complete(0, 0, 0));
        assert_eq!(report(app, &[(1, "low", "ada"), (2, "low", "ada")]).await, complete(0, 0, 0));
        for _ in 0..2 {
            assert_eq!(report(app, &[(2, "low", "ada")]).await, complete(0, 0, 0));
        }
        assert_eq!(report(app, &[(2, "low", "ada")]).await, complete(0, 0, 1));
        assert_eq!(titles(app.user("ada")).await, ["2: low"]);
    }

    async fn what_stays_is_raised_anew_in_the_place_of_what_was(app) {
        catalogue(app).await;
        save(app, json!({ "repeatAfterSeconds": 3600 })).await;
        report(app, &[(1, "low", "ada")]).await;
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        app.advance(TimeDelta::minutes(59));
        assert_eq!(report(app, &[(1, "low", "ada")]).await, complete(0, 0, 0));
        app.advance(TimeDelta::minutes(1));
        assert_eq!(report(app, &[(1, "out", "ada")]).await, complete(1, 0, 0));
        assert_eq!(titles(app.user("ada")).await, ["1: out"]);
        assert_eq!(app.user("ada").overview().await.last().unwrap(), "= 1");
        assert_eq!(report(app, &[(1, "out", "ada")]).await, complete(0, 0, 0));
        assert_eq!(report(app, &[]).await, complete(0, 0, 1));
        assert!(titles(app.user("ada")).await.is_empty());
    }

    async fn what_is_kept_or_not_amended_stays_as_it_was(app) {
        catalogue(app).await;
        save(app, json!({ "resolve": "KEEP", "amend": false })).await;
        report(app, &[(1, "low", "ada")]).await;
        assert_eq!(report(app, &[(1, "out", "ada")]).await, complete(0, 0, 0));
        assert_eq!(report(app, &[]).await, complete(0, 0, 1));
        assert_eq!(titles(app.user("ada")).await, ["1: low"]);
    }

    async fn a_flood_raises_nothing_pauses_the_rule_and_tells_the_operators_once(app) {
        catalogue(app).await;
        save(app, json!({ "maxNew": 2, "alarm": { "type": "alarm" } })).await;
        report(app, &[(1, "low", "ada")]).await;
        let flood = [(2, "low", "ada"), (3, "low", "ada"), (4, "low", "ada")];
        assert_eq!(report(app, &flood).await, (0, 0, 0, "FLOODED".to_owned()));
        // The flood raised nothing, and did not resolve the row that it lacks.
        assert_eq!(titles(app.user("ada")).await, ["1: low"]);
        assert_eq!(titles(app.user("olga")).await, ["The rule low is paused"]);
        assert_eq!(field(app, "state").await["state"], "FLOODED");
        let refused = app.service().refused(&reporting(), json!({ "input": { "rule": "low", "rows": [] } })).await;
        assert!(refused.starts_with("CONFLICT"), "{refused}");
        let resume = "mutation($baseline: Boolean!) { resumeNotificationRule(code: \"low\", baseline: $baseline) { state } }";
        app.admin().ask(resume, json!({ "baseline": false })).await;
        assert_eq!(report(app, &flood).await.3, "FLOODED");
        app.admin().ask(resume, json!({ "baseline": true })).await;
        assert_eq!(report(app, &flood).await, complete(0, 0, 1));
        assert_eq!(report(app, &[(2, "low", "ada"), (5, "low", "ada")]).await, complete(1, 0, 0));
        assert_eq!(titles(app.user("ada")).await, ["5: low"]);
        assert_eq!(titles(app.user("olga")).await.len(), 2);
    }

    async fn a_report_counts_once_under_its_name(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        let first = report_as(app, rows(&[(1, "low", "ada")]), json!({ "run": "monday" })).await;
        report(app, &[]).await;
        assert_eq!(report_as(app, rows(&[(1, "low", "ada")]), json!({ "run": "monday" })).await, first);
        assert!(titles(app.user("ada")).await.is_empty(), "it was resolved since");
    }

    async fn a_report_of_several_chunks_resolves_what_is_in_none_of_them(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        report(app, &[(1, "low", "ada"), (2, "low", "ada"), (3, "low", "ada")]).await;
        let chunk = async |all: &[(i64, &str, &str)], chunk: i64, more: bool| {
            report_as(app, rows(all), json!({ "run": "r", "chunk": chunk, "more": more })).await
        };
        let partial = |raised, amended| (raised, amended, 0, "PARTIAL".to_owned());
        assert_eq!(chunk(&[(4, "low", "ada")], 0, true).await, partial(1, 0));
        let refused = json!({ "input": { "rule": "low", "rows": [], "run": "r", "chunk": 2 } });
        assert!(app.service().refused(&reporting(), refused).await.starts_with("CONFLICT"));
        // The response was lost, so the backend repeats the chunk.
        assert_eq!(chunk(&[(4, "low", "ada")], 0, true).await, partial(0, 0));
        assert_eq!(chunk(&[(1, "out", "ada")], 1, true).await, partial(0, 1));
        assert_eq!(chunk(&[(2, "low", "ada")], 2, false).await, complete(0, 0, 1));
        assert_eq!(chunk(&[(2, "low", "ada")], 2, false).await, complete(0, 0, 1));
        assert_eq!(titles(app.user("ada")).await, ["4: low", "2: low", "1: out"]);
        // The report is complete, and a repeated chunk changes nothing.
        assert_eq!(chunk(&[(9, "old", "ada")], 0, true).await, complete(0, 0, 1));
        assert_eq!(titles(app.user("ada")).await, ["4: low", "2: low", "1: out"]);
        // The next report starts anew, and an abandoned one has no effect.
        assert_eq!(report_as(app, rows(&[(1, "out", "ada")]), json!({ "run": "s", "more": true })).await, partial(0, 0));
        assert_eq!(report_as(app, rows(&[(2, "low", "ada")]), json!({ "run": "t", "more": true })).await, partial(0, 0));
        let last = report_as(app, rows(&[(4, "low", "ada")]), json!({ "run": "t", "chunk": 1 })).await;
        assert_eq!(last, complete(0, 0, 1));
        assert_eq!(titles(app.user("ada")).await, ["4: low", "2: low"]);
    }

    async fn who_hears_is_said_by_columns(app) {
        catalogue(app).await;
        app.user("ada").subscribe("b-7", &["low"]).await;
        let target = json!({ "targetType": "doc", "targetId": "b-{{ id }}", "action": "{{ state }}" });
        save(app, json!({ "audience": { "reminder": target } })).await;
        save(app, json!({ "code": "group", "audience": { "groupColumn": "who" } })).await;
        save(app, json!({ "code": "all", "audience": { "everyone": true } })).await;
        report(app, &[(7, "low", "x"), (8, "low", "x"), (9, "out", "x")]).await;
        let to = async |rule: &str, who: &str| {
            report_as(app, rows(&[(1, rule, who)]), json!({ "rule": rule })).await;
        };
        to("group", "operators").await;
        to("all", "nobody").await;
        assert_eq!(titles(app.user("ada")).await, ["1: all", "7: low"]);
        assert_eq!(titles(app.user("olga")).await, ["1: all", "1: group"]);
        assert_eq!(titles(app.user("newcomer")).await, ["1: all"]);
    }

    async fn a_row_that_cannot_be_raised_refuses_all_and_is_named(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        save(app, json!({ "code": "group", "audience": { "groupColumn": "who" } })).await;
        let long = "x".repeat(200);
        for (rule, all, field) in [
            ("low", json!([{ "id": 1, "who": "ada" }, { "id": 2 }]), "input.rows[1].who"),
            ("low", json!([{ "id": 1, "who": "ada" }, { "id": 2, "who": long }]), "input.rows[1].receiver"),
            ("low", json!([{ "who": "ada" }]), "input.rows[0].id"),
            ("low", json!([{ "id": 1, "who": "ada" }, { "id": "1", "who": "ben" }]), "input.rows[1]"),
            ("low", json!([[1]]), "input.rows[0]"),
            ("group", json!([{ "id": 1, "who": "nobody" }]), "input.rows[0].audience.groups[0]"),
        ] {
            let (_, answer) = app.service().send(&reporting(), json!({ "input": { "rule": rule, "rows": all } })).await;
            let error = &answer["errors"][0]["extensions"];
            assert_eq!((&error["code"], &error["field"]), (&json!("BAD_USER_INPUT"), &json!(field)), "{answer}");
        }
        assert!(titles(app.user("ada")).await.is_empty());
        assert_eq!(field(app, "runs { outcome }").await["runs"], json!([]));
        assert_eq!(report(app, &[(1, "low", "ada")]).await, complete(1, 0, 0));
    }

    async fn what_somebody_took_back_or_what_expired_stays_so(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        report(app, &[(1, "low", "ada"), (2, "low", "ada")]).await;
        let first = field(app, "openNotifications { nodes { id } }").await["openNotifications"]["nodes"][0]["id"].clone();
        app.admin().ask("mutation($id: ID!) { retractSentNotification(id: $id) { id } }", json!({ "id": first })).await;
        assert_eq!(report(app, &[(1, "out", "ada"), (2, "out", "ada")]).await, complete(0, 2, 0));
        assert_eq!(titles(app.user("ada")).await, ["1: out"]);
        assert_eq!(report(app, &[]).await, complete(0, 0, 2));
    }

    async fn a_deleted_rule_leaves_what_it_has_raised_or_takes_it_back(app) {
        catalogue(app).await;
        let delete = "mutation($retract: Boolean!) { deleteNotificationRule(code: \"low\", retract: $retract) { deletedId } }";
        let many: Vec<_> = (0..450).map(|id| (id, "low", "ada")).collect();
        for (retract, left) in [(false, 450), (true, 450)] {
            save(app, json!({ "maxNew": 1000 })).await;
            report(app, &many).await;
            let id = field(app, "id").await["id"].clone();
            let data = app.admin().ask(delete, json!({ "retract": retract })).await;
            assert_eq!(data["deleteNotificationRule"]["deletedId"], id);
            assert_eq!(app.user("ada").overview().await.last().unwrap(), &format!("= {left}"));
            for table in ["rule", "rule_row", "rule_run"] {
                let rows = super::many(app, table).await;
                assert_eq!(rows, 0, "{table}");
            }
        }
        let data = app.admin().ask(delete, json!({ "retract": true })).await;
        assert_eq!(data["deleteNotificationRule"]["deletedId"], json!(null));
    }

    async fn only_the_last_runs_are_kept(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        for _ in 0..53 {
            report(app, &[]).await;
        }
        assert_eq!(super::many(app, "rule_run").await, 50);
        assert_eq!(field(app, "runs(first: 50) { outcome }").await["runs"].as_array().unwrap().len(), 50);
    }

    async fn two_reports_at_once_take_turns(app) {
        catalogue(app).await;
        save(app, json!({ "maxNew": 1000 })).await;
        let many: Vec<_> = (0..300).map(|id| (id, "low", "ada")).collect();
        let one = async |_: u32| {
            let (status, answer) = app.service().send(&reporting(), json!({ "input": { "rule": "low", "rows": rows(&many) } })).await;
            (status, answer["errors"][0]["extensions"]["code"].clone())
        };
        let all = futures_util::future::join_all((0..6).map(one)).await;
        assert!(all.iter().any(|(status, _)| status.is_success()), "{all:?}");
        for (_, code) in &all {
            assert!(code.is_null() || code == "UNAVAILABLE", "{all:?}");
        }
        assert_eq!(app.user("ada").overview().await.last().unwrap(), "= 300");
    }

    async fn another_tenant_has_rules_of_its_own(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        let stranger = app.stranger("operator", auth::CallerRole::Admin);
        let all = stranger.ask("{ notificationRules { code } notificationRule(code: \"low\") { code } }", json!({})).await;
        assert_eq!(all, json!({ "notificationRules": [], "notificationRule": null }));
        assert!(stranger.refused(&reporting(), json!({ "input": { "rule": "low", "rows": [] } })).await.starts_with("NOT_FOUND"));
        assert!(stranger.refused(super::SAVE, json!({ "input": input(&json!({})) })).await.starts_with("BAD_USER_INPUT"), "it has no such type");
    }

    async fn a_complete_report_ends_one_that_was_begun_in_chunks(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        let chunk = |chunk: i64| json!({ "run": "chunks", "chunk": chunk, "more": chunk < 1 });
        report_as(app, rows(&[(1, "low", "ada")]), chunk(0)).await;
        assert_eq!(report(app, &[(1, "low", "ada"), (2, "low", "ada")]).await, complete(1, 0, 0));
        let mut late = chunk(1);
        late["rule"] = json!("low");
        late["rows"] = rows(&[(3, "low", "ada")]);
        assert!(app.service().refused(&reporting(), json!({ "input": late })).await.starts_with("CONFLICT"));
        assert_eq!(titles(app.user("ada")).await, ["2: low", "1: low"]);
    }

    /// From a clock that is slightly ahead, or a run that started while this one waited.
    async fn a_run_that_began_a_moment_later_is_under_way(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        let until = app.now().timestamp_millis() + 10_005;
        app.by_hand(&format!("UPDATE rule SET lease_until = {until}")).await;
        let input = json!({ "rule": "low", "rows": rows(&[(1, "low", "ada")]) });
        assert!(app.service().refused(&reporting(), json!({ "input": input })).await.starts_with("UNAVAILABLE"));
    }

    async fn a_rule_knows_a_hundred_thousand_rows_at_the_most(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        report(app, &[(0, "low", "ada")]).await;
        let digits = "(SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 \
            UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)";
        let number = "100000 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n";
        let text = if app.app.db.backend() == sea_orm::DbBackend::MySql { "CHAR" } else { "VARCHAR(22)" };
        app.by_hand(&format!(
            "INSERT INTO rule_row (rule_id, key_hash, content_hash, raised_at) SELECT r.id, CAST({number} AS {text}), 0, 0 FROM rule r, \
                {digits} a, {digits} b, {digits} c, {digits} d, {digits} e WHERE {number} > 100000"
        ))
        .await;
        let input = json!({ "rule": "low", "rows": rows(&[(1, "low", "ada")]), "complete": false });
        let refused = app.service().refused(&reporting(), json!({ "input": input })).await;
        assert!(refused.contains("at most 100000"), "{refused}");
        let known = report_as(app, rows(&[(0, "out", "ada")]), json!({ "complete": false })).await;
        assert_eq!(known, (0, 1, 0, "PARTIAL".to_owned()));
    }
}
