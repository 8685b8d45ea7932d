//! Committed changes reach all sessions, even if the client disconnects during the request or the node stops between a
//! commit and its notice.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{Actor, OVERVIEWS, PATIENCE, Socket, TestApp, everyone, on_every_database};

const SUBSCRIBE: &str = "mutation($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount } }";
const MARK: &str = "mutation($select: InboxItemSelector!) { markRead(select: $select) { changedCount } }";
const AMEND: &str =
    "mutation($id: ID!, $title: String) { updateSentNotification(id: $id, input: { title: $title }) { id } }";

fn topic(target: &str) -> Value {
    json!({ "input": { "target": { "type": "doc", "externalId": target }, "what": { "actions": ["comment"] } } })
}

/// Sends a request and disconnects after this many milliseconds.
async fn cut_off(address: &str, actor: &Actor<'_>, (query, variables): (&str, Value), millis: u64) {
    let body = json!({ "query": query, "variables": variables }).to_string();
    let head = format!(
        "POST /graphql HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nauthorization: Bearer {}\r\n\
         content-length: {}\r\n\r\n",
        actor.token,
        body.len()
    );
    let mut connection = TcpStream::connect(address).await.expect("the server listens");
    connection.write_all((head + &body).as_bytes()).await.expect("the request goes out");
    sleep(Duration::from_millis(millis)).await;
}

/// Queries the overview with the fields of the subscription.
async fn fresh(user: &Actor<'_>) -> Value {
    let query = OVERVIEWS.replace("subscription { overviewChanged {", "{ viewer {");
    let mut overview = user.ask(&query, json!({})).await["viewer"]["overview"].take();
    overview["cursor"].take();
    overview
}

/// Reads a stream until it shows the same as a query.
async fn comes_to_show(stream: &mut Socket, user: &Actor<'_>, app: &TestApp) {
    let until = Instant::now() + PATIENCE;
    let mut shown = Value::Null;
    while shown != fresh(user).await {
        assert!(Instant::now() < until, "{shown:#} instead of {:#}", fresh(user).await);
        // As the server does every second.
        live::poll_changes(&app.app, &app.live).await.expect("the log can be looked at");
        if let Ok(mut data) = timeout(Duration::from_millis(100), stream.data()).await {
            shown = data["overviewChanged"]["overview"].take();
            shown["cursor"].take();
        }
    }
}

/// Reads titles until one equals `last`.
async fn titles_until(feed: &mut Socket, last: &str) -> Vec<String> {
    let mut titles = Vec::new();
    while titles.last().is_none_or(|title| title != last) {
        titles.push(feed.title().await);
    }
    titles
}

/// The targets that a user is subscribed to.
async fn targets(user: &Actor<'_>) -> Vec<String> {
    let query = "{ viewer { subscriptions(first: 200) { nodes { target { externalId } } } } }";
    let data = user.ask(query, json!({})).await;
    let nodes = data["viewer"]["subscriptions"]["nodes"].as_array().expect("it is a list");
    nodes.iter().map(|node| node["target"]["externalId"].as_str().expect("it has an id").to_owned()).collect()
}

/// Defines the types and sends an announcement; returns its id.
async fn prepare(app: &TestApp) -> String {
    app.admin().define_type("release").await;
    app.admin().define_type("comment").await;
    app.service().announce("release", everyone(), "text 0").await
}

on_every_database! {
    async fn what_clients_commit_who_go_away_is_told(app) {
        let announced = prepare(app).await;
        let node = app.listen().await;
        let ada = app.user("ada");
        // Opens the target type to users, which the requests below do not.
        ada.subscribe("first", &["comment"]).await;
        let mut feed = Socket::feed(&node.address, &ada.token, json!({})).await;
        let mut stream = Socket::subscribed(&node.address, &ada.token, OVERVIEWS, json!({})).await;
        stream.until_unread(1).await;
        for round in 0..30_u64 {
            let (address, service) = (node.address.as_str(), app.service());
            let target = format!("t{round}");
            let titled = json!({ "id": announced, "title": format!("text {round}") });
            app.service().message("release", "ada", &format!("m{round}")).await;
            join_all([
                cut_off(address, &ada, (SUBSCRIBE, topic(&target)), round * 7 % 13),
                cut_off(address, &ada, (MARK, json!({ "select": { "matching": {} } })), round * 5 % 13),
                cut_off(address, &service, (AMEND, titled), round * 11 % 13),
            ])
            .await;
        }
        // Requests that have started run to their end, even without a client.
        let until = Instant::now() + PATIENCE;
        while app.app.metrics.in_flight.get() > 0 {
            assert!(Instant::now() < until, "all of it ends");
            sleep(Duration::from_millis(10)).await;
        }
        let heard = targets(&ada).await;
        assert!(heard.len() > 10, "clients went away too soon: {heard:?}");
        for target in &heard {
            app.service().remind("comment", target, "comment", None, &format!("about {target}")).await;
        }
        app.service().message("release", "ada", "last").await;
        let titles = titles_until(&mut feed, "last").await;
        for target in &heard {
            assert!(titles.contains(&format!("about {target}")), "{target} is heard of, but was not told: {titles:?}");
        }
        comes_to_show(&mut stream, &ada, app).await;
        drop((feed, stream));
        node.stop().await;
    }

    async fn what_a_node_commits_that_ends_before_it_tells_is_found_within_a_minute(app) {
        let announced = prepare(app).await;
        let node = app.listen().await;
        let mut feed = Socket::feed(&node.address, &app.user("ada").token, json!({})).await;
        let mut stream = Socket::subscribed(&node.address, &app.user("ada").token, OVERVIEWS, json!({})).await;
        stream.until_unread(1).await;

        // The background loops of this node do not run, so it sends no notices to others.
        let mute = app.beside().await;
        mute.user("ada").subscribe("plan", &["comment"]).await;
        mute.user("ada").mark("markRead", json!({ "matching": {} })).await;
        mute.service().ask(AMEND, json!({ "id": announced, "title": "another text" })).await;
        comes_to_show(&mut stream, &app.user("ada"), app).await;
        for _ in 0..60 {
            live::poll_changes(&app.app, &app.live).await.expect("the log can be looked at");
        }
        app.service().remind("comment", "plan", "comment", None, "about the plan").await;
        assert_eq!(feed.title().await, "about the plan");
        drop((feed, stream));
        node.stop().await;
        mute.app.db.close().await;
    }
}
