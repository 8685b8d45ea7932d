//! Open sessions that lose their items, their room or their database.

use serde_json::{Value, json};

use crate::support::{Actor, ITEMS, OVERVIEWS, Socket, TestApp, VIEWS, everyone, on_every_database};

async fn messages(app: &TestApp, many: usize) {
    let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
    let input = |place: usize| json!({ "message": { "type": "chat", "receiver": "ada", "content": { "title": place.to_string() } } });
    app.service().ask(query, json!({ "inputs": (0..many).map(input).collect::<Vec<_>>() })).await;
}

async fn cursor(actor: &Actor<'_>) -> Value {
    actor.ask("{ viewer { overview { cursor } } }", json!({})).await["viewer"]["overview"]["cursor"].take()
}

/// Returns the error code that ends a session. Other messages may come before.
async fn told(socket: &mut Socket) -> Value {
    loop {
        let mut message = socket.hear().await;
        if message["type"] == "error" {
            return message["payload"][0]["extensions"]["code"].take();
        }
    }
}

on_every_database! {
    async fn a_replay_goes_on_over_what_has_gone(app) {
        app.admin().define_type("chat").await;
        let after = cursor(&app.user("ada")).await;
        messages(app, 450).await;
        app.user("ada").overview().await;
        // More than one batch of a replay.
        app.by_hand("DELETE FROM notification WHERE seq > 10 AND seq <= 260").await;
        let node = app.listen().await;
        let mut ada = Socket::subscribed(&node.address, &app.user("ada").token, ITEMS, json!({ "after": after })).await;
        for place in (0..10).chain(260..450) {
            assert_eq!(ada.title().await, place.to_string());
        }
        messages(app, 1).await;
        assert_eq!(ada.title().await, "0");
        drop(ada);
        node.stop().await;
    }

    async fn a_room_that_panics_ends_its_sessions_and_is_made_anew(app) {
        app.admin().define_type("chat").await;
        let node = app.listen().await;
        let mut ada = Socket::feed(&node.address, &app.user("ada").token, json!({})).await;
        messages(app, 1).await;
        let edge = ada.data().await["itemReceived"].take();
        let mut chen = Socket::subscribed(&node.address, &app.user("chen").token, OVERVIEWS, json!({})).await;
        chen.data().await;
        let mut views = Socket::subscribed(&node.address, &app.user("dara").token, VIEWS, json!({})).await;
        // Only the room runs this statement, when a session joins.
        app.panic_at("SELECT subscription.user_id, subscription.channel_id FROM subscription");
        let mut ben = Socket::subscribed(&node.address, &app.user("ben").token, ITEMS, json!({})).await;
        for socket in [&mut ada, &mut chen, &mut ben] {
            assert_eq!(told(socket).await, "UNAVAILABLE");
        }
        app.service().announce("chat", everyone(), "meanwhile").await;
        ada.subscribe("2", ITEMS, json!({ "after": edge["cursor"] })).await;
        assert_eq!(ada.title().await, "meanwhile");
        app.service().announce("chat", everyone(), "afterwards").await;
        assert_eq!(ada.title().await, "afterwards");
        drop(views.try_hear());
        drop((ada, ben, chen, views));
        node.stop().await;
    }

    async fn a_database_that_was_restored_under_a_node_is_served_as_it_is(app) {
        app.admin().define_type("chat").await;
        messages(app, 5).await;
        let ada = app.user("ada");
        assert_eq!(ada.overview().await, ["chat: 5 (4)", "= 5"]);
        let node = app.listen().await;
        for code in ["later", "latest"] {
            app.admin().define_type(code).await;
        }
        messages(app, 7).await;
        assert_eq!(ada.overview().await.len(), 4);
        assert_eq!(ada.titles(json!({})).await.len(), 12);
        let mut feed = Socket::feed(&node.address, &ada.token, json!({})).await;
        messages(app, 1).await;
        assert_eq!(feed.title().await, "0");

        // As the server does once a second.
        live::poll_changes(&app.app, &app.live).await.unwrap();

        // The state of a backup from a moment ago.
        for table in ["notification", "publication", "inbox_item"] {
            app.by_hand(&format!("DELETE FROM {table} WHERE seq > 5")).await;
        }
        app.by_hand("DELETE FROM message_type WHERE code <> 'chat'").await;
        app.by_hand("UPDATE users SET cursor_seq = 5 WHERE cursor_seq > 5").await;
        app.by_hand("UPDATE tenant SET last_seq = 5, catalogue_version = 1").await;
        assert_eq!(ada.overview().await, ["chat: 5 (4)", "= 5"]);
        assert_eq!(ada.titles(json!({})).await.len(), 5);
        assert_eq!(told(&mut feed).await, "UNAVAILABLE");
        messages(app, 2).await;
        assert_eq!(ada.overview().await, ["chat: 7 (1)", "= 7"]);
        assert_eq!(ada.overview().await, ["chat: 7 (1)", "= 7"]);
        assert_eq!(ada.titles(json!({})).await.len(), 7);
        let mut feed = Socket::feed(&node.address, &ada.token, json!({})).await;
        messages(app, 1).await;
        assert_eq!(feed.title().await, "0");
        assert_eq!(ada.overview().await, ["chat: 8 (0)", "= 8"]);
        drop(feed);
        node.stop().await;
    }
}
