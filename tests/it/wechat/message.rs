//! The content of a WeChat message, and its recipients.

use chrono::TimeDelta;
use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use super::{deliveries, follow, furnished};
use crate::support::{everyone, on_every_database};
use crate::webhook::{number, settle};

const SEND: &str = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { notification { id } } }";

/// A type with a template that fills fields of all kinds.
fn order(link: Option<&str>) -> Value {
    let field = |name: &str, value: &str| json!({ "name": name, "value": value });
    let fields = [
        field("thing1", "{{ title }}"),
        field("character_string2", "{{ params.number }}"),
        field("thing3", "{{ params.note | default('') }}"),
        field("amount4", "{{ params.sum }}元"),
        field("phrase5", "{{ body }}"),
    ];
    let wechat = json!({ "templateId": "T_ORDER", "fields": fields, "link": link });
    let delivery = [json!({ "channel": "WECHAT", "condition": "IF_UNREAD", "delaySeconds": 300, "wechat": wechat })];
    let template = json!({ "title": "Order {{ params.number }} is on its way to you", "body": "已经发货了吗" });
    json!({ "code": "order", "title": "Orders", "template": template, "delivery": delivery })
}

on_every_database! {
    async fn whoever_has_not_looked_gets_a_message_with_its_fields_filled(app) {
        let (server, node) = furnished(app, &["ada", "ben"]).await;
        node.admin().define(order(None)).await;
        let save = "mutation { saveUserProfiles(inputs: [{ id: \"eve\", contacts: [{ email: \"eve@users.example\" }] }]) { id } }";
        node.service().ask(save, json!({})).await;
        for user in ["ada", "ben", "eve", "dan"] {
            let content = json!({ "params": { "number": "A-17", "sum": 12.5 }, "link": "/orders/17" });
            node.service().ask(SEND, json!({ "input": { "type": "order", "receiver": user, "content": content } })).await;
        }
        let workers = DeliveryWorkers::default();
        node.user("ben").mark("markRead", json!({ "matching": {} })).await;
        settle(&node, &workers).await;
        assert_eq!(server.messages(), 0, "not before it is due");
        node.advance(TimeDelta::minutes(5));
        settle(&node, &workers).await;
        let got = server.take();
        let done = deliveries(&node, json!({ "channel": "WECHAT" })).await;
        assert_eq!((got.len(), done.len()), (1, 1), "ben has read it, eve and dan do not follow: {got:?}");
        let data = json!({
            "thing1": { "value": "Order A-17 is on it…" },
            "character_string2": { "value": "A-17" },
            "thing3": { "value": "-" },
            "amount4": { "value": "12.5元" },
            "phrase5": { "value": "已经发货了" },
        });
        let expected = json!({ "touser": "o-ada", "template_id": "T_ORDER", "url": "https://shop.example/orders/17", "data": data, "client_msg_id": done[0]["id"] });
        assert_eq!(got[0], expected);
        let of = &done[0];
        assert_eq!((&of["channel"], &of["state"], &of["user"]["id"], &of["lastStatus"]), (&json!("WECHAT"), &json!("DELIVERED"), &json!("ada"), &json!(200)));
        assert!(of["endpointId"].is_null() && of["lastError"].is_null());
        for other in ["EMAIL", "WEBHOOK"] {
            assert_eq!(deliveries(&node, json!({ "channel": other })).await.len(), 0);
        }
        let by_id = "query($id: ID!) { node(id: $id) { ... on OutboundDelivery { channel } } }";
        assert_eq!(node.service().ask(by_id, json!({ "id": of["id"] })).await["node"]["channel"], "WECHAT");
    }

    async fn a_rule_says_where_a_click_leads_and_what_a_type_says_is_read_back(app) {
        let (server, node) = furnished(app, &["ada"]).await;
        node.admin().define(order(Some("https://shop.example/o/{{ params.number | urlencode }}"))).await;
        let read = "{ messageTypes { code delivery { channel condition delaySeconds wechat { templateId fields { name value } link } } } }";
        let types = node.service().ask(read, json!({})).await["messageTypes"].take();
        let of = types.as_array().unwrap().iter().find(|of| of["code"] == "order").unwrap();
        assert_eq!(of["delivery"], order(Some("https://shop.example/o/{{ params.number | urlencode }}"))["delivery"]);
        let content = json!({ "params": { "number": "A 17", "sum": 1 }, "link": "/elsewhere" });
        node.service().ask(SEND, json!({ "input": { "type": "order", "receiver": "ada", "content": content } })).await;
        node.advance(TimeDelta::minutes(5));
        settle(&node, &DeliveryWorkers::default()).await;
        assert_eq!(server.take()[0]["url"], "https://shop.example/o/A%2017");
    }

    async fn a_message_whose_template_fails_is_given_up_and_names_the_field(app) {
        let (server, node) = furnished(app, &["ada"]).await;
        node.admin().define(order(None)).await;
        let content = json!({ "params": { "number": "A-17" } });
        node.service().ask(SEND, json!({ "input": { "type": "order", "receiver": "ada", "content": content } })).await;
        node.advance(TimeDelta::minutes(5));
        settle(&node, &DeliveryWorkers::default()).await;
        let dead = deliveries(&node, json!({ "states": ["DEAD"] })).await;
        assert_eq!(dead[0]["lastError"], "the WeChat template fails: amount4: undefined value (line 1)");
        assert_eq!((server.messages(), server.asked().len()), (0, 0));
    }

    async fn open_ids_are_their_owners_and_go_with_them(app) {
        let (server, node) = furnished(app, &["ada", "ben"]).await;
        node.admin().announce("news", everyone(), "1").await;
        let export = node.service().ask("{ exportUser(id: \"ada\") }", json!({})).await;
        assert_eq!(export["exportUser"]["contacts"], json!([{ "wechatOpenId": "o-ada" }]), "{export}");
        let own = node.user("ben").ask("{ viewer { contacts { channel address refusedSince } } }", json!({})).await;
        assert_eq!(own["viewer"]["contacts"], json!([{ "channel": "WECHAT", "address": "o-ben", "refusedSince": null }]));
        node.service().ask("mutation { eraseUser(id: \"ada\") { __typename } }", json!({})).await;
        assert_eq!(number(&node, "SELECT COUNT(*) AS many FROM contact").await, 1);
        settle(&node, &DeliveryWorkers::default()).await;
        assert_eq!(server.titles(), ["o-ben: 1"]);
        node.admin().ask("mutation { deleteWeChatAccount { deletedId } }", json!({})).await;
        assert_eq!(number(&node, "SELECT COUNT(*) AS many FROM delivery").await, 0);
    }

    async fn what_cannot_be_is_refused_and_changes_nothing(app) {
        let (_server, node) = furnished(app, &["ada"]).await;
        let save = "mutation($input: MessageTypeInput!) { saveMessageType(input: $input) { code } }";
        let wrong = async |wechat: Value, expected: &str| {
            let delivery = json!([{ "channel": "WECHAT", "wechat": wechat }]);
            let refused = node.admin().refused(save, json!({ "input": { "code": "x", "title": "X", "delivery": delivery } })).await;
            assert!(refused.starts_with(&format!("BAD_USER_INPUT input.delivery[0].wechat{expected}")), "{refused}");
        };
        let field = |name: &str, value: &str| json!({ "name": name, "value": value });
        wrong(json!(null), ": is required").await;
        wrong(json!({ "templateId": "", "fields": [field("a", "b")] }), ".templateId: must be").await;
        wrong(json!({ "templateId": "a b", "fields": [field("a", "b")] }), ".templateId: must be").await;
        wrong(json!({ "templateId": "T", "fields": [] }), ".fields: must have").await;
        wrong(json!({ "templateId": "T", "fields": [field("a.DATA", "b")] }), ".fields[0].name: must be").await;
        wrong(json!({ "templateId": "T", "fields": [field("a", "b"), field("a", "c")] }), ".fields[1].name: is given twice").await;
        wrong(json!({ "templateId": "T", "fields": [field("a", "{{ b")] }), ".fields[0].value: does not compile").await;
        wrong(json!({ "templateId": "T", "fields": [field("a", &"b".repeat(2001))] }), ".fields[0].value: must have").await;
        wrong(json!({ "templateId": "T", "fields": [field("a", "b")], "link": "{% if %}" }), ".link: does not compile").await;
        let many: Vec<Value> = (0..21).map(|number| field(&format!("thing{number}"), "b")).collect();
        wrong(json!({ "templateId": "T", "fields": many }), ".fields: must have at most 20").await;
        let mailed = json!([{ "channel": "EMAIL", "wechat": { "templateId": "T", "fields": [field("a", "b")] } }]);
        let refused = node.admin().refused(save, json!({ "input": { "code": "x", "title": "X", "delivery": mailed } })).await;
        assert!(refused.starts_with("BAD_USER_INPUT input.delivery[0].wechat: is only for the channel WECHAT"), "{refused}");
        let profiles = "mutation($id: String!) { saveUserProfiles(inputs: [{ id: \"ada\", contacts: [{ wechatOpenId: $id }] }]) { id } }";
        for id in ["", "o ada", "o/ada", &"o".repeat(129)] {
            let refused = node.service().refused(profiles, json!({ "id": id })).await;
            assert!(refused.starts_with("BAD_USER_INPUT inputs[0].contacts[0].wechatOpenId: must be"), "{refused}");
        }
        follow(&node, &["ada"]).await;
        assert_eq!(number(&node, "SELECT COUNT(*) AS many FROM delivery_rule").await, 1);
        assert_eq!(number(&node, "SELECT COUNT(*) AS many FROM contact").await, 1);
    }
}
