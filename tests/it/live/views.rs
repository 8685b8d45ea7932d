//! Views over real sockets: connected members, and only they, receive changes of their views.

use std::cell::Cell;
use std::time::Duration;

use auth::CallerRole;
use chrono::TimeDelta;
use cluster::hub::Notice;
use futures_util::future::join_all;
use maintenance::scheduled::ScheduledTask;
use sea_orm::EntityTrait;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::support::{Kind, Listening, OVERVIEWS, PATIENCE, Socket, TestApp, VIEWS, on_every_database, with};
use crate::view::{JOIN, LEAVE, RECORD, activity, join, key, open, record, visit};

const TOTALS: &str = "subscription { overviewChanged { overview(cap: 99) { total { count } views { externalId unread { count } latest } } } }";

/// Opens a session of a user and waits until the server has set it up.
pub async fn watch(app: &TestApp, node: &Listening, user: &str, query: &str, variables: Value) -> Socket {
    let before = app.app.metrics.subscriptions.get();
    let socket = Socket::subscribed(&node.address, &app.user(user).token, query, variables).await;
    until_more_than(app, before).await;
    socket
}

async fn until_more_than(app: &TestApp, subscriptions: i64) {
    let until = Instant::now() + PATIENCE;
    while app.app.metrics.subscriptions.get() == subscriptions {
        assert!(Instant::now() < until, "the subscription does not begin");
        sleep(Duration::from_millis(2)).await;
    }
}

/// Subscribes to views on a socket that has one subscription, and waits until the server has set it up.
async fn also_views(app: &TestApp, socket: &mut Socket) {
    let before = app.app.metrics.subscriptions.get();
    socket.subscribe("2", VIEWS, json!({})).await;
    until_more_than(app, before).await;
}

async fn leave(app: &TestApp, id: &str, users: &[&str]) {
    app.service().ask(LEAVE, json!({ "key": key(id), "users": users })).await;
}

fn seen(id: &str, unread: i64, latest: &str) -> (String, i64, String) {
    (id.to_owned(), unread, latest.to_owned())
}

/// Makes Ada a member of a view, and opens a session for it and one for totals.
async fn two_of_ada(app: &TestApp) -> (Listening, Socket, Socket) {
    app.admin().define_type("release").await;
    join(app, "team", &["ada"]).await;
    let node = app.listen().await;
    let views = watch(app, &node, "ada", VIEWS, json!({})).await;
    let totals = watch(app, &node, "ada", TOTALS, json!({})).await;
    (node, views, totals)
}

/// Reads overviews until one has this total.
async fn until_total(socket: &mut Socket, total: i64) -> Value {
    loop {
        let overview = socket.data().await["overviewChanged"]["overview"].take();
        if overview["total"]["count"] == total {
            return overview;
        }
    }
}

/// Returns the total of the next overview, and the part of it in views.
async fn next_totals(socket: &mut Socket) -> (i64, i64) {
    let overview = socket.data().await["overviewChanged"]["overview"].take();
    (overview["total"]["count"].as_i64().unwrap(), in_views(&overview))
}

/// The unread count in the views of an overview.
fn in_views(overview: &Value) -> i64 {
    overview["views"].as_array().into_iter().flatten().filter_map(|view| view["unread"]["count"].as_i64()).sum()
}

on_every_database! {
    async fn members_are_told_of_what_others_do(app) {
        join(app, "team", &["ada", "ben"]).await;
        record(app, &[activity("team", None, "before")]).await;
        let node = app.listen().await;
        let mut ada = watch(app, &node, "ada", VIEWS, json!({})).await;
        let mut ben = watch(app, &node, "ben", VIEWS, json!({})).await;
        let mut other = watch(app, &node, "chen", VIEWS, json!({})).await;
        assert!(ada.is_silent(100).await, "nothing comes at once");

        record(app, &[activity("team", Some("ben"), "hi")]).await;
        assert_eq!(ada.view().await, seen("team", 2, "hi"));
        // Ben's activity shows that he has read the rest.
        assert_eq!(ben.view().await, seen("team", 0, "hi"));
        record(app, &[activity("team", Some("ben"), "still here")]).await;
        assert_eq!(ada.view().await, seen("team", 3, "still here"));
        assert_eq!(ben.view().await, seen("team", 0, "still here"));
        record(app, &[activity("team", Some("dara"), "hello")]).await;
        assert_eq!(ada.view().await, seen("team", 4, "hello"));
        assert_eq!(ben.view().await, seen("team", 1, "hello"));
        assert!(other.is_silent(100).await && ada.is_silent(1).await && ben.is_silent(1).await);
        drop((ada, ben, other));
        node.stop().await;
    }

    async fn a_visit_is_told_to_all_the_sessions_of_its_user(app) {
        join(app, "team", &["ada", "ben"]).await;
        let node = app.listen().await;
        let mut phone = watch(app, &node, "ada", VIEWS, json!({})).await;
        let mut ben = watch(app, &node, "ben", VIEWS, json!({})).await;
        visit(&app.user("ada"), "team").await;
        assert!(phone.is_silent(100).await, "nothing was unread");
        record(app, &[activity("team", None, "1"), activity("team", None, "2")]).await;
        assert_eq!(phone.view().await, seen("team", 2, "2"));
        let mut laptop = watch(app, &node, "ada", VIEWS, json!({})).await;
        visit(&app.user("ada"), "team").await;
        for session in [&mut phone, &mut laptop] {
            let view = session.data().await["viewChanged"].take();
            assert_eq!(view, json!({
                "externalId": "team", "unread": { "count": 0 }, "latest": { "text": "2" },
                "lastActivityAt": "2026-11-21T08:00:00.000Z", "lastVisitedAt": "2026-11-21T08:00:00.000Z",
            }));
        }
        assert_eq!(ben.view().await, seen("team", 2, "2"));
        assert!(ben.is_silent(100).await && phone.is_silent(1).await && laptop.is_silent(1).await);
        drop((phone, laptop, ben));
        node.stop().await;
    }

    async fn whoever_looked_in_between_is_told_what_is_as_before(app) {
        let (node, mut views, mut totals) = two_of_ada(app).await;
        let ada = app.user("ada");
        // A view rests for 100 ms after it was sent. Within that time, an overview shows the changed view, and then the
        // view changes back. On a slow machine the same happens in more steps.
        for round in 0..3_i64 {
            let (first, second) = (format!("first {round}"), format!("second {round}"));
            record(app, &[activity("team", None, &first)]).await;
            until_total(&mut totals, 1).await;
            app.service().message("release", "ada", "to be read").await;
            until_total(&mut totals, 2).await;
            sleep(Duration::from_millis(60)).await;
            visit(&ada, "team").await;
            record(app, &[activity("team", None, &second)]).await;
            ada.ask("mutation { markRead(select: { matching: {} }) { changedCount } }", json!({})).await;
            until_total(&mut totals, 1).await;
            visit(&ada, "team").await;
            until_total(&mut totals, 0).await;
            while views.view().await != seen("team", 0, &second) {}
        }
        drop((views, totals));
        node.stop().await;
    }

    async fn no_overview_shows_views_older_than_was_told(app) {
        let (node, mut views, mut totals) = two_of_ada(app).await;
        let ada = app.user("ada");
        for round in 0..4_i64 {
            let text = format!("{round}");
            record(app, &[activity("team", None, &text)]).await;
            until_total(&mut totals, 2 * round + 1).await;
            assert_eq!(views.view().await, seen("team", 1, &text));
            // Sent a moment later: the overview rests after it, but the view does not.
            app.service().message("release", "ada", "first").await;
            until_total(&mut totals, 2 * round + 2).await;
            visit(&ada, "team").await;
            assert_eq!(views.view().await, seen("team", 0, &text));
            app.service().message("release", "ada", "second").await;
            while {
                let overview = totals.data().await["overviewChanged"]["overview"].take();
                assert_eq!(overview["views"], json!([]), "the visit was told before: {overview}");
                overview["total"]["count"] != 2 * round + 2
            } {}
        }
        drop((views, totals));
        node.stop().await;
    }

    async fn what_a_socket_is_told_of_views_its_next_overview_shows(app) {
        app.admin().define_type("release").await;
        join(app, "team", &["ada"]).await;
        let node = app.listen().await;
        let (ada, service) = (app.user("ada"), app.service());
        let mut socket = watch(app, &node, "ada", TOTALS, json!({})).await;
        also_views(app, &mut socket).await;
        // The unread count of the view, as last sent to the socket.
        let (mut of_view, mut of_overview) = (0, 0);
        for round in 0..40 {
            record(app, &[activity("team", None, "hi")]).await;
            let told = Notify::new();
            let overlapping = async {
                // A visit before the event was sent would suppress the event.
                tokio::join!(sleep(Duration::from_millis(120)), told.notified());
                let message = service.message("release", "ada", "at the same time");
                let visit = async {
                    sleep(Duration::from_millis(round % 14)).await;
                    visit(&ada, "team").await;
                };
                tokio::join!(message, visit);
            };
            let listening = async {
                let mut is_told = false;
                while !is_told || (of_view, of_overview) != (0, 0) {
                    let event = socket.data().await;
                    if let Some(unread) = event["viewChanged"]["unread"]["count"].as_i64() {
                        of_view = unread;
                        if unread == 1 {
                            is_told = true;
                            told.notify_one();
                        }
                        continue;
                    }
                    of_overview = in_views(&event["overviewChanged"]["overview"]);
                    assert!(!is_told || of_overview <= of_view, "{of_view} were told before: {event}");
                }
            };
            tokio::join!(overlapping, listening);
        }
        drop(socket);
        node.stop().await;
    }

    async fn what_changes_in_views_all_the_time_keeps_nothing_else_from_being_shown(app) {
        app.admin().define_type("release").await;
        let chats = ["team", "other", "third"];
        for id in chats {
            join(app, id, &["ada"]).await;
        }
        let node = app.listen().await;
        let mut totals = watch(app, &node, "ada", &TOTALS.replace("(cap: 99)", ""), json!({})).await;
        app.service().message("release", "ada", "to be read").await;
        until_total(&mut totals, 1).await;
        let mut without = watch(app, &node, "ada", OVERVIEWS, json!({})).await;
        let recorded = Cell::new(0);
        let chat = async {
            for id in chats.iter().cycle() {
                record(app, &[activity(id, None, "and another")]).await;
                recorded.set(recorded.get() + 1);
            }
        };
        let reading = async {
            totals.data().await;
            app.user("ada").ask("mutation { markRead(select: { matching: {} }) { changedCount } }", json!({})).await;
            let (before, mut later) = (recorded.get(), 0);
            while later < 10 {
                let (total, of_views) = next_totals(&mut totals).await;
                if total == of_views {
                    break;
                }
                later += i64::from(of_views > before);
            }
            assert!(later < 10, "ten overviews of later count what was read");
            while without.data().await["overviewChanged"]["overview"]["unread"]["count"] != 0 {}
            // An overview without views also shows new items.
            app.service().message("release", "ada", "and another").await;
            let before = recorded.get();
            let ten_later = async {
                let mut later = 0;
                while later < 10 {
                    later += i64::from(next_totals(&mut totals).await.1 > before);
                }
            };
            let told = async { while without.data().await["overviewChanged"]["overview"]["unread"]["count"] != 1 {} };
            tokio::select! {
                () = told => {}
                () = ten_later => panic!("an overview without views is behind ten others"),
            }
        };
        tokio::select! {
            () = chat => {}
            () = reading => {}
        }
        drop((totals, without));
        node.stop().await;
    }

    async fn who_left_and_is_back_is_told_so_however_fast(app) {
        join(app, "team", &["ada"]).await;
        let node = app.listen().await;
        let mut ada = watch(app, &node, "ada", VIEWS, json!({})).await;
        record(app, &[activity("team", None, "1")]).await;
        assert_eq!(ada.view().await, seen("team", 1, "1"));
        visit(&app.user("ada"), "team").await;
        assert_eq!(ada.view().await, seen("team", 0, "1"));
        leave(app, "team", &["ada"]).await;
        app.advance(TimeDelta::milliseconds(1));
        join(app, "team", &["ada"]).await;
        // Either one event, or one for leaving and one for joining.
        while ada.data().await["viewChanged"]["latest"]["text"] != "1" {}
        assert!(ada.is_silent(150).await);
        drop(ada);
        node.stop().await;
    }

    async fn who_was_not_in_a_view_is_not_told_that_they_left(app) {
        join(app, "team", &["ben"]).await;
        let node = app.listen().await;
        let mut ada = watch(app, &node, "ada", VIEWS, json!({})).await;
        let mut ben = watch(app, &node, "ben", VIEWS, json!({})).await;
        leave(app, "team", &["ada", "ben"]).await;
        assert_eq!(ben.view().await, seen("team", 0, ""));
        assert!(ada.is_silent(150).await, "ada was not in it");
        drop((ada, ben));
        node.stop().await;
    }

    async fn who_was_told_that_they_left_is_not_told_again(app) {
        join(app, "team", &["ada"]).await;
        let node = app.listen().await;
        let mut ada = watch(app, &node, "ada", VIEWS, json!({})).await;
        record(app, &[activity("team", None, "1")]).await;
        assert_eq!(ada.view().await, seen("team", 1, "1"));
        let view = entity::view::Entity::find().one(&app.app.db.read).await.unwrap().unwrap();
        let visit = entity::view_visit::Entity::find().one(&app.app.db.read).await.unwrap().unwrap();
        leave(app, "team", &["ada"]).await;
        assert_eq!(ada.view().await, seen("team", 0, ""));
        // A notice that arrives late or twice.
        app.app.hub.publish(Notice::view_visits(view.tenant_id, view.id, &[visit.user_id]));
        assert!(ada.is_silent(150).await, "it was told before");
        drop(ada);
        node.stop().await;
    }

    async fn only_the_views_that_were_named_are_told_also_before_one_is_in_them(app) {
        join(app, "team", &["ada"]).await;
        join(app, "other", &["ada"]).await;
        let node = app.listen().await;
        let keys = json!({ "keys": [key("team"), key("later")] });
        let mut some = watch(app, &node, "ada", VIEWS, keys).await;
        let mut all = watch(app, &node, "ada", VIEWS, json!({})).await;
        record(app, &[activity("later", None, "unheard"), activity("other", None, "1")]).await;
        assert_eq!(all.view().await, seen("other", 1, "1"));
        record(app, &[activity("team", None, "2")]).await;
        assert_eq!(all.view().await, seen("team", 1, "2"));
        assert_eq!(some.view().await, seen("team", 1, "2"));
        join(app, "later", &["ada"]).await;
        assert_eq!(some.view().await, seen("later", 0, "unheard"));
        assert_eq!(all.view().await, seen("later", 0, "unheard"));
        record(app, &[activity("later", None, "3")]).await;
        assert_eq!(some.view().await, seen("later", 1, "3"));
        assert!(some.is_silent(50).await);
        drop((some, all));
        node.stop().await;
    }

    async fn joining_and_leaving_are_followed_at_once(app) {
        let node = app.listen().await;
        let mut ada = watch(app, &node, "ada", VIEWS, json!({})).await;
        // Added by the backend, by a visit, and by an activity.
        join(app, "team", &["ada", "ben"]).await;
        assert_eq!(ada.view().await, seen("team", 0, ""));
        open(app).await;
        visit(&app.user("ada"), "news").await;
        assert_eq!(ada.view().await, seen("news", 0, ""));
        record(app, &[activity("feed", Some("ada"), "first")]).await;
        assert_eq!(ada.view().await, seen("feed", 0, "first"));
        for id in ["team", "news", "feed"] {
            record(app, &[activity(id, Some("ben"), "hi")]).await;
            assert_eq!(ada.view().await, seen(id, 1, "hi"));
        }
        leave(app, "team", &["ada"]).await;
        let gone = json!({ "externalId": "team", "unread": { "count": 0 }, "latest": null, "lastActivityAt": null, "lastVisitedAt": null });
        assert_eq!(ada.data().await["viewChanged"], gone);
        app.user("ada").ask(LEAVE, json!({ "key": key("news") })).await;
        assert_eq!(ada.view().await, seen("news", 0, ""));
        record(app, &[activity("team", None, "secret"), activity("news", None, "secret")]).await;
        record(app, &[activity("feed", None, "open")]).await;
        assert_eq!(ada.view().await, seen("feed", 2, "open"));
        app.user("ada").ask(JOIN, json!({ "key": key("news") })).await;
        assert_eq!(ada.view().await, seen("news", 0, "secret"));
        assert!(ada.is_silent(50).await);
        drop(ada);
        node.stop().await;
    }

    async fn what_changes_in_views_changes_the_overviews_that_hold_them(app) {
        app.admin().define_type("release").await;
        join(app, "team", &["ada", "ben"]).await;
        let node = app.listen().await;
        let mut ada = watch(app, &node, "ada", TOTALS, json!({})).await;
        let mut sum = watch(app, &node, "ada", "subscription { overviewChanged { overview { total { count } } } }", json!({})).await;
        let mut plain = watch(app, &node, "ada", OVERVIEWS, json!({})).await;
        for socket in [&mut ada, &mut sum] {
            until_total(socket, 0).await;
        }
        plain.until_unread(0).await;
        app.service().message("release", "ada", "to ada").await;
        record(app, &[activity("team", None, "1"), activity("team", Some("ben"), "2")]).await;
        for socket in [&mut ada, &mut sum] {
            let overview = until_total(socket, 3).await;
            let views = json!([{ "externalId": "team", "unread": { "count": 2 }, "latest": { "text": "2" } }]);
            assert!(overview["views"].is_null() || overview["views"] == views, "{overview:#}");
        }
        plain.until_unread(1).await;
        visit(&app.user("ada"), "team").await;
        for socket in [&mut ada, &mut sum] {
            until_total(socket, 1).await;
        }
        record(app, &[activity("team", Some("ada"), "her own")]).await;
        record(app, &[activity("team", Some("ben"), "3")]).await;
        for socket in [&mut ada, &mut sum] {
            until_total(socket, 2).await;
        }
        leave(app, "team", &["ada"]).await;
        for socket in [&mut ada, &mut sum] {
            until_total(socket, 1).await;
        }
        assert!(plain.is_silent(200).await && ada.is_silent(1).await, "what changes nothing is not told");
        drop((ada, sum, plain));
        node.stop().await;
    }

    async fn sessions_that_are_not_about_views_cost_an_activity_nothing(app) {
        app.admin().define_type("release").await;
        let users: Vec<String> = (0..20).map(|number| format!("user-{number}")).collect();
        let users: Vec<&str> = users.iter().map(String::as_str).collect();
        join(app, "team", &users).await;
        let one = [activity("team", Some("ben"), "x")];
        record(app, &one).await;
        let (alone, _) = app.statements_of(record(app, &one)).await;
        let node = app.listen().await;
        let mut sockets = Vec::new();
        for user in &users {
            let mut socket = watch(app, &node, user, OVERVIEWS, json!({})).await;
            socket.until_unread(0).await;
            sockets.push(socket);
        }
        let (statements, ()) = app.statements_of(async {
            for _ in 0..10 {
                record(app, &one).await;
            }
            assert!(sockets[0].is_silent(100).await);
        }).await;
        // The background loops run statements, too. One per session and activity would be two hundred.
        assert!(statements <= 10 * alone + 50, "{statements} statements for ten times {alone}");
        drop(sockets);
        node.stop().await;
    }

    async fn a_burst_is_one_look_and_one_message_for_each_member(app) {
        let users: Vec<String> = (0..150).map(|number| format!("user-{number}")).collect();
        join(app, "team", &users.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let burst: Vec<Value> = (0..50).map(|number| activity("team", None, &number.to_string())).collect();
        record(app, &burst).await;
        let (alone, _) = app.statements_of(record(app, &burst)).await;
        let node = app.listen().await;
        let mut sockets = Vec::new();
        for user in &users {
            sockets.push(watch(app, &node, user, VIEWS, json!({})).await);
        }
        let delivered = || app.app.metrics.views_delivered.get();
        let before = delivered();
        let (statements, ()) = app.statements_of(async {
            record(app, &burst).await;
            for socket in &mut sockets {
                assert_eq!(socket.view().await, seen("team", 150, "49"));
            }
        }).await;
        assert_eq!(delivered() - before, 150);
        // One read for all members, plus new sessions and the periodic check of this second.
        assert!(statements <= alone + 10, "{statements} statements, of which {alone} record");

        // Fifty calls: one read per 100 ms, and every session gets the last state.
        let (before, start) = (delivered(), Instant::now());
        let last = activity("team", None, "last");
        let call = || app.service();
        let services: Vec<_> = (0..50).map(|_| call()).collect();
        let (statements, ()) = app.statements_of(async {
            join_all(services.iter().map(|service| service.ask_in_time(RECORD, json!({ "inputs": [last] })))).await;
            for socket in &mut sockets {
                while socket.view().await != seen("team", 200, "last") {}
            }
        }).await;
        let tenths = u64::try_from(start.elapsed().as_millis()).unwrap() / 100 + 1;
        assert!(delivered() - before <= 150 * (tenths + 1), "{} messages in {tenths} tenths", delivered() - before);
        let recording = 50 * alone;
        assert!(statements <= recording + 10 + 3 * usize::try_from(tenths).unwrap(), "{statements}, {recording} record");
        assert!(sockets[0].is_silent(50).await);
        drop(sockets);
        node.stop().await;
    }

    async fn other_tenants_never_hear(app) {
        let strangers = app.stranger("shop", CallerRole::Service);
        join(app, "team", &["ada"]).await;
        strangers.ask(JOIN, json!({ "key": key("team"), "users": ["ada"] })).await;
        let node = app.listen().await;
        let mut ours = watch(app, &node, "ada", VIEWS, json!({ "keys": [key("team")] })).await;
        let token = app.stranger("ada", CallerRole::User).token;
        let mut theirs = Socket::subscribed(&node.address, &token, VIEWS, json!({})).await;
        let mut totals = Socket::subscribed(&node.address, &token, TOTALS, json!({})).await;
        until_total(&mut totals, 0).await;
        record(app, &[activity("team", None, "ours")]).await;
        assert_eq!(ours.view().await, seen("team", 1, "ours"));
        visit(&app.user("ada"), "team").await;
        assert_eq!(ours.view().await, seen("team", 0, "ours"));
        assert!(theirs.is_silent(150).await && totals.is_silent(1).await);
        strangers.ask(RECORD, json!({ "inputs": [activity("team", None, "theirs")] })).await;
        assert_eq!(theirs.view().await, seen("team", 1, "theirs"));
        until_total(&mut totals, 1).await;
        assert!(ours.is_silent(100).await);
        drop((ours, theirs, totals));
        node.stop().await;
    }

    async fn a_view_that_is_swept_leaves_the_overview(app) {
        join(app, "team", &["ada"]).await;
        record(app, &[activity("team", None, "1")]).await;
        app.advance(TimeDelta::days(400));
        assert!(ScheduledTask::Sweep.try_claim(&app.app).await.unwrap(), "the server leaves the sweep to the test");
        let node = app.listen().await;
        let mut totals = watch(app, &node, "ada", TOTALS, json!({})).await;
        until_total(&mut totals, 1).await;
        while domain::view::sweep(&app.app).await.unwrap() > 0 {}
        until_total(&mut totals, 0).await;
        drop(totals);
        node.stop().await;
    }
}

#[tokio::test]
async fn what_cannot_be_subscribed_to_is_refused() {
    with(Kind::Sqlite, async |app| {
        let node = app.listen().await;
        let many: Vec<Value> = (0..201).map(|number| key(&number.to_string())).collect();
        for (keys, field) in [(json!([key("team"), key("")]), "keys[1].externalId"), (json!(many), "keys")] {
            let mut ada =
                Socket::subscribed(&node.address, &app.user("ada").token, VIEWS, json!({ "keys": keys })).await;
            let extensions = ada.hear().await["payload"][0]["extensions"].take();
            assert_eq!(extensions, json!({ "code": "BAD_USER_INPUT", "field": field }));
        }
        let mut service = Socket::subscribed(&node.address, &app.service().token, VIEWS, json!({})).await;
        assert_eq!(service.hear().await["payload"][0]["extensions"]["code"], "FORBIDDEN");
        drop(service);
        node.stop().await;
    })
    .await;
}
