//! A Redis that loses its data, hangs, stops, restarts with old data, is full or becomes a replica of another.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{KINDS, TRUST, believed, hits, with_nodes};
use crate::support::{Redis, TestApp, everyone};

/// The users. Their overviews are compared after each change.
const USERS: [&str; 3] = ["ada", "ben", "cleo"];

/// The longest time that a single write may take.
const LATE: Duration = Duration::from_millis(TRUST + 3000);

/// The acknowledged changes.
struct Ledger<'a> {
    nodes: &'a [TestApp; 3],
    unread: [usize; USERS.len()],
    step: usize,
    late: usize,
}

impl Ledger<'_> {
    /// Makes a change on one node, and compares all overviews on all nodes as soon as it is acknowledged.
    async fn step(&mut self) {
        self.step += 1;
        let (node, user) = (&self.nodes[self.step % 3], self.step % USERS.len());
        let began = Instant::now();
        match self.step % 4 {
            0 => {
                node.service().announce("news", everyone(), "to all").await;
                self.unread.iter_mut().for_each(|unread| *unread += 1);
            }
            1 | 2 => {
                node.service().message("news", USERS[user], "to one").await;
                self.unread[user] += 1;
            }
            _ => {
                node.user(USERS[user]).mark("markRead", json!({ "matching": {} })).await;
                self.unread[user] = 0;
            }
        }
        let took = began.elapsed();
        self.late += usize::from(took > Duration::from_millis(TRUST));
        assert!(took < LATE, "step {} took {took:?}", self.step);
        self.look().await;
    }

    async fn look(&self) {
        let looks = self.nodes.iter().flat_map(|node| {
            USERS
                .iter()
                .enumerate()
                .map(move |(place, user)| async move { (place, node.user(user).overview().await.pop().unwrap()) })
        });
        for (place, shown) in join_all(looks).await {
            assert_eq!(shown, format!("= {}", self.unread[place]), "{} after step {}", USERS[place], self.step);
        }
    }

    /// Runs this many steps.
    async fn go_on(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step().await;
        }
    }

    /// Waits until all nodes trust the epoch again and serve overviews without the database.
    async fn is_well_again(&mut self) {
        believed(self.nodes).await;
        for _ in 0..100 {
            let before = hits(self.nodes);
            self.look().await;
            if hits(self.nodes) - before == 9 {
                self.late = 0;
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
        panic!("the database is asked again and again");
    }
}

async fn with_ledger(test: impl AsyncFn(&mut Ledger<'_>, &mut Redis)) {
    for kind in KINDS {
        with_nodes(kind, async |nodes: &[TestApp; 3], redis| {
            nodes[0].admin().define_type("news").await;
            let mut ledger = Ledger { nodes, unread: [0; USERS.len()], step: 0, late: 0 };
            ledger.look().await;
            ledger.go_on(8).await;
            ledger.is_well_again().await;
            test(&mut ledger, redis).await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_redis_that_forgets_everything_costs_nothing_but_questions() {
    with_ledger(async |ledger, redis| {
        for _ in 0..5 {
            redis.ask(&["FLUSHALL"]).await.unwrap();
            ledger.go_on(4).await;
        }
        assert_eq!(ledger.late, 0);
        ledger.is_well_again().await;
    })
    .await;
}

#[tokio::test]
async fn a_redis_that_stands_still_makes_writes_late_once() {
    with_ledger(async |ledger, redis| {
        redis.stand_still();
        ledger.go_on(12).await;
        assert!(ledger.late <= 3, "{} writes were late, on three nodes", ledger.late);
        redis.go_on();
        ledger.go_on(12).await;
        ledger.is_well_again().await;
        redis.ask(&["CLIENT", "PAUSE", "3000", "ALL"]).await.unwrap();
        ledger.go_on(12).await;
        sleep(Duration::from_secs(3)).await;
        ledger.is_well_again().await;
    })
    .await;
}

#[tokio::test]
async fn a_redis_that_comes_back_with_what_it_knew_is_not_believed() {
    with_ledger(async |ledger, redis| {
        for _ in 0..2 {
            // Like a replica that lags behind and takes over.
            redis.ask(&["SAVE"]).await.unwrap();
            ledger.go_on(5).await;
            redis.stop();
            redis.start_again().await;
            ledger.go_on(12).await;
            ledger.is_well_again().await;
        }
        redis.stop();
        ledger.go_on(12).await;
        redis.start_again().await;
        ledger.go_on(4).await;
        ledger.is_well_again().await;
    })
    .await;
}

#[tokio::test]
async fn a_redis_that_becomes_a_copy_of_another_is_not_believed() {
    with_ledger(async |ledger, redis| {
        let Some(copy) = Redis::start().await else { return };
        let port = |of: &Redis| of.url().rsplit(':').next().unwrap().to_owned();
        copy.ask(&["REPLICAOF", "127.0.0.1", &port(redis)]).await.unwrap();
        let keys = async |of: &Redis| match of.ask(&["DBSIZE"]).await {
            Some(redis::Value::Int(keys)) => keys,
            _ => 0,
        };
        let until = Instant::now() + Duration::from_secs(10);
        while keys(&copy).await == 0 {
            assert!(Instant::now() < until, "nothing is copied");
            sleep(Duration::from_millis(20)).await;
        }
        copy.ask(&["REPLICAOF", "NO", "ONE"]).await.unwrap();
        ledger.go_on(4).await;
        // All nodes are connected to this Redis. It gets back the tokens that existed at the time of the copy.
        redis.ask(&["REPLICAOF", "127.0.0.1", &port(&copy)]).await.unwrap();
        ledger.go_on(12).await;
        redis.ask(&["REPLICAOF", "NO", "ONE"]).await.unwrap();
        ledger.go_on(4).await;
        ledger.is_well_again().await;
    })
    .await;
}

#[tokio::test]
async fn a_redis_that_is_full_lets_things_be_taken_down() {
    with_ledger(async |ledger, redis| {
        redis.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await.unwrap();
        redis.ask(&["CONFIG", "SET", "maxmemory", "1"]).await.unwrap();
        ledger.go_on(12).await;
        redis.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-random"]).await.unwrap();
        ledger.go_on(12).await;
        redis.ask(&["CONFIG", "SET", "maxmemory", "0"]).await.unwrap();
        ledger.is_well_again().await;
    })
    .await;
}
