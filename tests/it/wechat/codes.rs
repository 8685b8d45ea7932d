//! WeChat's error codes, and how the server reacts to each.

use chrono::{DateTime, TimeDelta, Utc};
use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use super::server::Answer;
use super::{deliveries, follow, furnished, look_at, save};
use crate::support::{TestApp, everyone, on_every_database};
use crate::webhook::settle;

async fn one(app: &TestApp) -> Value {
    deliveries(app, json!({})).await.remove(0)
}

fn instant(of: &Value) -> DateTime<Utc> {
    of.as_str().unwrap().parse().unwrap()
}

on_every_database! {
    async fn what_may_pass_is_sent_again_under_the_same_id(app) {
        let (server, node) = furnished(app, &["ada"]).await;
        let workers = DeliveryWorkers::default();
        for (round, (answer, error)) in [
            (Answer::Code(-1, "system error"), "WeChat answered -1: system error"),
            (Answer::Code(45011, "api minute-quota reach limit"), "WeChat answered 45011: api minute-quota reach limit"),
            (Answer::Code(43108, "concurrent sending"), "WeChat answered 43108: concurrent sending"),
            (Answer::Code(40164, "invalid ip"), "WeChat answered 40164: invalid ip"),
            (Answer::Status(502), "WeChat answered with status 502"),
            (Answer::Text("<html>"), "WeChat's answer is not JSON"),
        ].into_iter().enumerate() {
            server.answers_next([answer]);
            node.admin().announce("news", everyone(), "again").await;
            settle(&node, &workers).await;
            let failed = one(&node).await;
            assert_eq!((&failed["state"], &failed["attemptCount"], &failed["lastError"]), (&json!("PENDING"), &json!(1), &json!(error)));
            node.advance(TimeDelta::seconds(60));
            settle(&node, &workers).await;
            let done = one(&node).await;
            assert_eq!((&done["state"], &done["attemptCount"], &done["id"]), (&json!("DELIVERED"), &json!(2), &failed["id"]));
            let got = server.take();
            assert_eq!((got.len(), &got[0]["client_msg_id"], server.messages()), (1, &failed["id"], 2 * (round + 1)));
        }
    }

    async fn a_token_that_is_refused_twice_is_the_accounts_fault(app) {
        let (server, node) = furnished(app, &["ada"]).await;
        server.answers_next([Answer::Code(40001, "invalid credential token-0"), Answer::Code(40014, "invalid access_token token-1")]);
        node.admin().announce("news", everyone(), "1").await;
        settle(&node, &DeliveryWorkers::default()).await;
        let failed = one(&node).await;
        assert_eq!((&failed["state"], &failed["lastError"]), (&json!("PENDING"), &json!("WeChat answered 40014: invalid access_token …")));
        assert_eq!((server.messages(), server.asked()), (2, vec![false, false, true]));
        assert!(look_at(&node, "failingSince").await["failingSince"].is_string());
    }

    async fn who_does_not_follow_is_left_alone_and_nobody_else_suffers(app) {
        for code in [40003, 43004, 43101] {
            let (server, node) = furnished(app, &["ada", "gone"]).await;
            server.answers_to("o-gone", Answer::Code(code, "not for o-gone rid: 1"));
            let workers = DeliveryWorkers::default();
            for title in ["1", "2", "3", "4"] {
                node.admin().announce("news", everyone(), title).await;
                settle(&node, &workers).await;
            }
            assert_eq!(server.titles(), ["o-ada: 1", "o-ada: 2", "o-ada: 3", "o-ada: 4"]);
            let dead = deliveries(&node, json!({ "states": ["DEAD"] })).await;
            assert_eq!(dead.len(), 3, "the fourth was not tried: {dead:?}");
            let error = format!("WeChat answered {code}: not for … rid: 1");
            assert!(dead.iter().all(|of| of["lastError"] == error && of["user"]["id"] == "gone"), "{dead:?}");
            let of = node.service().ask("{ inboxUser(id: \"gone\") { contacts { address refusedSince } } }", json!({})).await;
            assert!(of["inboxUser"]["contacts"][0]["refusedSince"].is_string(), "{of}");
            assert!(look_at(&node, "failingSince").await["failingSince"].is_null());
            follow(&node, &["gone"]).await;
            node.admin().ask("mutation { deleteWeChatAccount { deletedId } }", json!({})).await;
        }
    }

    async fn what_it_never_takes_is_given_up_until_somebody_wants_it_again(app) {
        let (server, node) = furnished(app, &["ada"]).await;
        let workers = DeliveryWorkers::default();
        for (code, message) in [(40037, "invalid template_id"), (47003, "argument invalid! data.thing1.value invalid"), (40249, "blocked")] {
            server.answers_next([Answer::Code(code, message)]);
            node.admin().announce("news", everyone(), "1").await;
            settle(&node, &workers).await;
            let dead = one(&node).await;
            assert_eq!((&dead["state"], &dead["lastError"]), (&json!("DEAD"), &json!(format!("WeChat answered {code}: {message}"))));
        }
        assert_eq!(look_at(&node, "failingSince deadCount").await, json!({ "failingSince": null, "deadCount": 3 }));
        let again = "mutation { replayOutboundDeliveries(select: { deadTo: { channel: WECHAT } }) { replayedCount } }";
        assert_eq!(node.service().ask(again, json!({})).await["replayOutboundDeliveries"]["replayedCount"], 3);
        settle(&node, &workers).await;
        assert_eq!(server.take().len(), 3);
    }

    async fn after_the_days_quota_it_rests_until_midnight_in_shanghai(app) {
        let (server, node) = furnished(app, &["ada", "ben", "eve"]).await;
        server.answers_to("o-ben", Answer::Code(45009, "reach max api daily quota limit"));
        let workers = DeliveryWorkers::default();
        let midnight: DateTime<Utc> = "2026-11-21T16:00:00Z".parse().unwrap();
        for day in 0..12 {
            node.admin().announce("news", everyone(), "today").await;
            settle(&node, &workers).await;
            let resting = look_at(&node, "state restingUntil failingSince lastError").await;
            assert_eq!(instant(&resting["restingUntil"]), midnight + TimeDelta::days(day));
            assert_eq!(resting["lastError"], "WeChat answered 45009: reach max api daily quota limit");
            assert_eq!((&resting["state"], resting["failingSince"].is_null()), (&json!("ACTIVE"), true), "however many days");
            let waiting = deliveries(&node, json!({ "user": "ben", "states": ["PENDING"] })).await;
            assert_eq!((waiting.len(), &waiting[0]["attemptCount"]), (usize::try_from(day).unwrap() + 1, &json!(0)));
            let before = server.messages();
            node.app.clock.advance(midnight + TimeDelta::days(day) - node.now() - TimeDelta::seconds(1));
            settle(&node, &workers).await;
            assert_eq!(server.messages(), before, "not before midnight");
            node.advance(TimeDelta::seconds(1));
        }
        server.answers_to("o-ben", Answer::Code(0, "ok"));
        settle(&node, &workers).await;
        let waiting = deliveries(&node, json!({ "states": ["PENDING"] })).await;
        assert_eq!(waiting.len(), 0, "{waiting:?}");
        assert!(look_at(&node, "restingUntil").await["restingUntil"].is_null());
    }

    async fn an_account_that_may_not_send_is_disabled_and_somebody_is_told(app) {
        let (server, node) = furnished(app, &["ada"]).await;
        node.admin().define_type("alarm").await;
        let group = "mutation { saveUserGroup(code: \"operators\") { code } addUserGroupMembers(code: \"operators\", users: [\"olga\"]) { code } }";
        node.admin().ask(group, json!({})).await;
        let workers = DeliveryWorkers::default();
        for code in [48001, 40013, 40125] {
            save(&node, json!({ "alarm": { "type": "alarm" } })).await;
            let answer = Answer::Code(code, "api unauthorized 0123456789hunter2hunter2");
            if code == 48001 { server.answers_next([answer]) } else { server.answers_token(Some(answer)) }
            node.admin().announce("news", json!({ "users": ["ada"] }), "1").await;
            settle(&node, &workers).await;
            let off = look_at(&node, "state lastError").await;
            assert_eq!(off["state"], "DISABLED", "{off}");
            assert!(off["lastError"].as_str().unwrap().starts_with(&format!("WeChat answered {code}: api unauthorized")), "{off}");
            let hides = code == 48001 || off["lastError"].as_str().unwrap().ends_with('…');
            assert!(hides, "{off}");
            let alarms = node.user("olga").ask("{ viewer { inbox(filter: { types: [\"alarm\"] }) { nodes { title body } } } }", json!({})).await;
            let body = "wx0123: WeChat answered that the account may not send, or that its secret is wrong";
            assert_eq!(alarms["viewer"]["inbox"]["nodes"][0], json!({ "title": "A WeChat account is disabled", "body": body }));
            server.answers_token(None);
            let on = "mutation { switchWeChatAccount(to: ON) { state } }";
            assert_eq!(node.admin().ask(on, json!({})).await["switchWeChatAccount"]["state"], "ACTIVE");
            node.advance(TimeDelta::minutes(1));
            settle(&node, &workers).await;
            assert_eq!(server.take().len(), 1, "what it has missed");
        }
    }
}
