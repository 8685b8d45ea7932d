//! The WeChat account, and which of its fields each role can see.

use auth::CallerRole;
use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::{SECRET, follow, furnished, look_at, rule, save};
use crate::support::{KEY, Kind, PATIENCE, Process, TestApp, everyone, on_every_database};
use crate::webhook::{number, settle};

const SAVE: &str = "mutation($input: WeChatAccountInput!) { saveWeChatAccount(input: $input) { id } }";

on_every_database! {
    async fn an_account_is_saved_switched_and_deleted_and_its_secret_never_told(app) {
        let (server, node) = furnished(app, &["ada"]).await;
        let all = "id appId linkBase state failingSince restingUntil lastError pendingCount deadCount alarm { type group }";
        let first = look_at(&node, all).await;
        assert_eq!((&first["appId"], &first["linkBase"], &first["state"]), (&json!("wx0123"), &json!("https://shop.example/app/"), &json!("ACTIVE")));
        let second = save(&node, json!({})).await;
        assert_eq!((&second["id"], second["linkBase"].is_null()), (&first["id"], true), "there is one, and all of it is said each time");
        assert!(!format!("{first}{second}").contains("hunter2"));
        assert_eq!(number(&node, "SELECT COUNT(*) AS many FROM lane WHERE secret LIKE '%hunter2%'").await, 0);
        node.admin().ask("mutation { switchWeChatAccount(to: OFF) { state } }", json!({})).await;
        node.admin().announce("news", everyone(), "held back").await;
        let workers = DeliveryWorkers::default();
        settle(&node, &workers).await;
        assert_eq!(server.messages(), 0);
        node.admin().ask("mutation { switchWeChatAccount(to: ON) { state } }", json!({})).await;
        settle(&node, &workers).await;
        assert_eq!(server.titles(), ["o-ada: held back"]);
        let deleted = node.admin().ask("mutation { deleteWeChatAccount { deletedId } }", json!({})).await;
        assert_eq!(deleted["deleteWeChatAccount"]["deletedId"], first["id"]);
        assert!(look_at(&node, "id").await.is_null());
        let again = node.admin().ask("mutation { deleteWeChatAccount { deletedId } }", json!({})).await;
        assert!(again["deleteWeChatAccount"]["deletedId"].is_null());
        let refused = node.admin().refused("mutation { switchWeChatAccount(to: ON) { state } }", json!({})).await;
        assert!(refused.starts_with("NOT_FOUND"), "{refused}");
        node.admin().announce("news", everyone(), "to nobody").await;
        settle(&node, &workers).await;
        assert_eq!(server.messages(), 1);
    }

    async fn only_operators_of_the_tenant_see_it_and_what_is_wrong_is_named(app) {
        let (_server, node) = furnished(app, &["ada"]).await;
        for actor in [node.user("ada"), node.service()] {
            for query in ["{ weChatAccount { id } }", "mutation { deleteWeChatAccount { deletedId } }", "mutation { switchWeChatAccount(to: OFF) { id } }"] {
                assert!(actor.refused(query, json!({})).await.starts_with("FORBIDDEN"), "{query}");
            }
        }
        let stranger = node.stranger("operator", CallerRole::Admin);
        assert!(stranger.ask("{ weChatAccount { id } }", json!({})).await["weChatAccount"].is_null());
        assert!(stranger.ask("mutation { deleteWeChatAccount { deletedId } }", json!({})).await["deleteWeChatAccount"]["deletedId"].is_null());
        let before = look_at(&node, "id appId linkBase state").await;
        for (input, field) in [
            (json!({ "appId": "wx 1", "secret": "a" }), "appId"),
            (json!({ "appId": "wx1", "secret": "" }), "secret"),
            (json!({ "appId": "wx1", "secret": "a&b" }), "secret"),
            (json!({ "appId": "wx1", "secret": "a", "linkBase": "/app" }), "linkBase"),
            (json!({ "appId": "wx1", "secret": "a", "alarm": { "type": "none" } }), "alarm.type"),
        ] {
            let refused = node.admin().refused(SAVE, json!({ "input": input })).await;
            assert!(refused.starts_with(&format!("BAD_USER_INPUT input.{field}: ")), "{refused}");
        }
        assert_eq!(look_at(&node, "id appId linkBase state").await, before);
    }
}

async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..PATIENCE.as_millis() / 10 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it does not come to that");
}

#[tokio::test]
async fn no_line_of_the_log_holds_a_secret_a_token_or_an_open_id() {
    let database = Kind::Sqlite.make().await.unwrap();
    let app = TestApp::start(&database.url).await;
    let server = Server::start().await;
    save(&app, json!({})).await;
    app.admin().define(json!({ "code": "news", "title": "News", "delivery": [rule()] })).await;
    follow(&app, &["ada", "gone"]).await;
    server.answers_to("o-gone", Answer::Code(40003, "invalid openid o-gone"));
    let file = tempfile::NamedTempFile::new().unwrap();
    let further = [
        ("TIDINGS_LOG", "trace"),
        ("TIDINGS_KEY", KEY),
        ("TIDINGS_EGRESS_ALLOW", "127.0.0.1"),
        ("TIDINGS_WECHAT_API", server.url.as_str()),
        ("TIDINGS_RATE", "0"),
    ];
    let mut node = Process::start_with(&database.url, &further, Some(file.path())).await;
    let send = "mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { notification { id } } }";
    let input = |title: &str| json!({ "input": { "type": "news", "audience": { "everyone": true }, "content": { "title": title } } });
    node.ask(&app.admin().token, send, input("1")).await.unwrap();
    until(async || server.messages() == 2).await;
    server.expire();
    node.ask(&app.admin().token, send, input("2")).await.unwrap();
    until(async || server.messages() >= 5).await;
    server.answers_token(Some(Answer::Code(40125, "invalid appsecret 0123456789hunter2hunter2")));
    let input_of = json!({ "input": { "appId": "wx0123", "secret": SECRET } });
    node.ask(&app.admin().token, SAVE, input_of).await.unwrap();
    node.ask(&app.admin().token, send, input("3")).await.unwrap();
    until(async || look_at(&app, "state").await["state"] == "DISABLED").await;
    let told: Value = look_at(&app, "lastError").await;
    assert_eq!(told["lastError"], "WeChat answered 40125: invalid appsecret …");
    node.stop();
    let log = std::fs::read_to_string(file.path()).unwrap();
    assert!(log.contains("is disabled"), "{log}");
    for secret in ["hunter2", "token-0", "token-1", "access_token", "o-ada", "o-gone"] {
        let line = log.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{secret}: {line:?}");
    }
    app.app.db.close().await;
    database.remove().await;
}
