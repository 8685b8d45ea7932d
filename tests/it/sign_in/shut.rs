//! Whether callers without a token can lock out others.

use std::time::Duration;

use base::config::ServerConfig;
use chrono::TimeDelta;
use futures_util::future::join_all;
use reqwest::header::{HeaderMap, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use tokio::time::{Instant, sleep};

use super::{NOW, Provider, settings};
use crate::support::{Kind, PATIENCE, TestApp, with_settings};

/// A caller with an address, behind a proxy.
#[derive(Clone)]
struct Caller {
    client: Client,
    node: String,
    address: String,
}

impl Caller {
    fn new(node: &str, address: &str) -> Self {
        let client = Client::builder().redirect(Policy::none()).no_proxy().build().unwrap();
        Self { client, node: node.to_owned(), address: address.to_owned() }
    }

    async fn get(&self, path: &str, cookie: Option<&str>) -> (StatusCode, HeaderMap) {
        let request = self.client.get(format!("http://{}{path}", self.node)).header("x-forwarded-for", &self.address);
        let request = cookie.into_iter().fold(request, |request, cookie| request.header("cookie", cookie));
        let answer = request.send().await.unwrap();
        (answer.status(), answer.headers().clone())
    }

    async fn status(&self, path: &str) -> StatusCode {
        self.get(path, None).await.0
    }

    /// Starts a sign-in. Returns the provider's URL and the cookie for the way back.
    async fn begun(&self) -> (String, String) {
        let (status, headers) = self.get("/desk/session/begin", None).await;
        assert_eq!(status, StatusCode::SEE_OTHER);
        let cookie = headers[SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
        (headers["location"].to_str().unwrap().to_owned(), cookie)
    }

    /// Returns from the provider with a code.
    async fn back(&self, code: &str, state: &str, cookie: Option<&str>) -> StatusCode {
        let mut url = reqwest::Url::parse("http://any/desk/session/callback").unwrap();
        url.query_pairs_mut().extend_pairs([("code", code), ("state", state)]);
        self.get(&format!("{}?{}", url.path(), url.query().unwrap()), cookie).await.0
    }

    async fn signs_in(&self, provider: &Provider) -> StatusCode {
        let (to, cookie) = self.begun().await;
        let (code, state) = provider.grant(&to);
        self.back(&code, &state, Some(&cookie)).await
    }
}

/// Runs a test with a node behind a proxy and low rate limits for callers without a token.
async fn with_node(change: impl FnOnce(&mut ServerConfig), test: impl AsyncFnOnce(&TestApp, &Provider, &str)) {
    let provider = Provider::start(NOW).await;
    let all = |config: &mut ServerConfig| {
        settings(config, &provider);
        config.connections.proxies = "127.0.0.1".parse().unwrap();
        config.wire.public_schema = true;
        change(config);
    };
    with_settings(Kind::Sqlite, all, async |app| {
        let node = app.listen().await;
        test(app, &provider, &node.address).await;
        node.stop().await;
    })
    .await;
}

const INTROSPECTION: &str = "/graphql?query=%7B__schema%7BqueryType%7Bname%7D%7D%7D";

#[tokio::test]
async fn requests_to_one_route_or_from_one_address_shut_no_other() {
    let few = |config: &mut ServerConfig| (config.limits.network_rate, config.limits.route_rate) = (6, 12);
    with_node(few, async |app, provider, node| {
        let [mallory, neighbour, ada] =
            ["2001:db8:1:2::1", "2001:db8:1:2::2", "203.0.113.7"].map(|address| Caller::new(node, address));
        // Each link is different, so that the rate limit of a single link is not reached.
        for number in 0..6 {
            assert_eq!(mallory.status(&format!("/unsubscribe/acme/{number}")).await, StatusCode::NOT_FOUND);
            assert_eq!(mallory.status(INTROSPECTION).await, StatusCode::OK);
            assert_eq!(mallory.status("/desk/session/callback?code=a&state=b").await, StatusCode::BAD_REQUEST);
        }
        let too_many = StatusCode::TOO_MANY_REQUESTS;
        let shut = ["/unsubscribe/acme/other", INTROSPECTION, "/desk/session/callback?code=a&state=b"];
        for path in shut {
            let (statements, status) = app.statements_of(mallory.status(path)).await;
            assert_eq!((status, statements), (too_many, 0), "{path}");
            assert_eq!(neighbour.status(path).await, too_many, "{path}: they are one network");
        }
        let (_, headers) = mallory.get(INTROSPECTION, None).await;
        assert_eq!(headers["retry-after"], "10");
        // The start of a sign-in is another route, and other addresses can use all routes.
        assert_eq!(mallory.status("/desk/session/begin").await, StatusCode::SEE_OTHER);
        assert_eq!(ada.status("/unsubscribe/acme/other").await, StatusCode::NOT_FOUND);
        assert_eq!(ada.status(INTROSPECTION).await, StatusCode::OK);
        assert_eq!(ada.signs_in(provider).await, StatusCode::SEE_OTHER);
        app.advance(TimeDelta::seconds(10));
        assert_eq!(mallory.status(INTROSPECTION).await, StatusCode::OK);
    })
    .await;
}

#[tokio::test]
async fn many_addresses_together_have_a_share_of_a_route_that_is_theirs_alone() {
    let few = |config: &mut ServerConfig| (config.limits.network_rate, config.limits.route_rate) = (4, 12);
    with_node(few, async |app, provider, node| {
        for number in 0..10 {
            let one = Caller::new(node, &format!("198.51.100.{number}"));
            for round in 0..4 {
                // An attempt that did not start here uses nothing of the shared limit.
                let back = one.back("junk", "junk", Some("__Host-tidings_sign_in=junk")).await;
                assert_eq!(back, StatusCode::BAD_REQUEST);
                one.status(&format!("/unsubscribe/acme/{number}-{round}")).await;
            }
        }
        assert_eq!(provider.asked()[2], 0, "nothing leaves for an attempt that was not begun");
        let ada = Caller::new(node, "203.0.113.7");
        let (statements, status) = app.statements_of(ada.status("/unsubscribe/acme/x")).await;
        assert_eq!((status, statements), (StatusCode::TOO_MANY_REQUESTS, 0), "the database has room for others");
        assert_eq!(ada.signs_in(provider).await, StatusCode::SEE_OTHER);
        assert_eq!(ada.status(INTROSPECTION).await, StatusCode::OK);
    })
    .await;
}

#[tokio::test]
async fn codes_that_the_provider_ponders_leave_room_for_others() {
    with_node(
        |_| {},
        async |_, provider, node| {
            let ada = Caller::new(node, "203.0.113.7");
            assert_eq!(ada.signs_in(provider).await, StatusCode::SEE_OTHER);
            let before = provider.asked()[2];
            provider.says(|said| said.ponders = true);
            let mallory = Caller::new(node, "198.51.100.1");
            let attempts = join_all((0..30).map(|_| mallory.begun())).await;
            let junk: Vec<_> = attempts
                .into_iter()
                .map(|(to, cookie)| {
                    let (mallory, (_, state)) = (mallory.clone(), provider.grant(&to));
                    tokio::spawn(async move { mallory.back("junk", &state, Some(&cookie)).await })
                })
                .collect();
            let until = Instant::now() + PATIENCE;
            while provider.asked()[2] < before + 4 {
                assert!(Instant::now() < until, "the first are asked about");
                sleep(Duration::from_millis(10)).await;
            }
            let began = Instant::now();
            for number in 0..3 {
                let other = Caller::new(node, &format!("203.0.113.{number}"));
                assert_eq!(other.signs_in(provider).await, StatusCode::SEE_OTHER);
            }
            assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
            assert_eq!(provider.asked()[2], before + 4 + 3, "four of one network at a time");
            for junk in junk {
                junk.abort();
            }
        },
    )
    .await;
}
