//! Sessions that stay open. A client that is cut off reconnects with the cursor of its last item.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::client::{Deed, Pulse, roll, told};
use crate::ledger::Person;
use crate::support::{PATIENCE, Socket};

const ITEMS: &str =
    "subscription($after: String) { itemReceived(after: $after) { cursor node { notificationId body } } }";
const OVERVIEWS: &str = "subscription { overviewChanged { overview { unread { count } unseen { count } \
    types { type { code } unread { count } latest { notificationId title isRead } } } } }";

/// The list that a client shows first. It continues from the newest item in it.
const NEWEST: &str =
    "{ viewer { inbox(first: 50) { edges { cursor node { notificationId } } pageInfo { hasNextPage } } } }";

/// The time limit for opening a session.
const OPEN_WITHIN: Duration = Duration::from_secs(15);

/// How long a client waits for a message before it checks its orders.
const LISTEN: Duration = Duration::from_secs(5);

/// The first and the longest delay before a client reconnects. The delay doubles with each failure and has random
/// jitter, as in other clients of this protocol.
const BREATH: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// The orders to all sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// When this changes, all sessions close and reconnect.
    pub rush: u64,
    /// Whether sessions that only listen stop reading from their sockets.
    pub is_stuck: bool,
}

/// A user's session, which continues until this value is dropped.
pub struct Listener {
    pub person: Person,
    heard: Arc<Mutex<Heard>>,
    listening: JoinHandle<()>,
}

/// Everything a session has received so far.
#[derive(Debug, Default)]
pub struct Heard {
    /// The notification ids, in the order of arrival.
    pub items: Vec<String>,
    /// The cursor to continue from; `None` for a session of overviews.
    after: Option<String>,
    /// The latest overview.
    pub shown: Option<Value>,
    /// How many times the session was opened.
    opened: usize,
}

impl Listener {
    /// Opens a session of items after a cursor, or of overviews if there is no cursor.
    pub fn open(line: Line, after: Option<String>) -> Self {
        line.heard().after = after;
        let (person, heard) = (line.person, line.heard.clone());
        Self { person, heard, listening: tokio::spawn(line.listen()) }
    }

    pub fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().expect("nobody panics over it")
    }

    /// Whether this is a session of overviews.
    pub fn is_bell(&self) -> bool {
        self.heard().after.is_none()
    }

    /// Waits until the session has been opened and, if it is one of overviews, has received one.
    pub async fn opened(&self) {
        let until = Instant::now() + PATIENCE;
        while !self.heard().has_begun() {
            assert!(Instant::now() < until, "a session cannot be opened");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Heard {
    fn has_begun(&self) -> bool {
        self.opened > 0 && (self.after.is_some() || self.shown.is_some())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("it is text").to_owned()
}

/// The client of a session.
pub struct Line {
    pub person: Person,
    pub token: String,
    /// The nodes, which the client tries in turn.
    pub nodes: Arc<[String]>,
    pub pulse: Arc<Pulse>,
    pub orders: watch::Receiver<Orders>,
    /// Whether the user only listens.
    pub only_listens: bool,
    pub heard: Arc<Mutex<Heard>>,
}

impl Line {
    async fn listen(mut self) {
        let (mut at, mut breath) = (self.person, BREATH[0]);
        loop {
            let node = self.nodes[at % self.nodes.len()].clone();
            let why = match timeout(OPEN_WITHIN, self.open(&node)).await {
                Ok(Ok(socket)) => {
                    let before = self.heard().items.len();
                    let ended = self.take(socket).await;
                    if self.heard().items.len() > before || ended.is_ok() {
                        breath = BREATH[0];
                    }
                    let Err(why) = ended else { continue };
                    why
                }
                Ok(Err(why)) => format!("no session: {why}"),
                Err(_) => "no session in time".into(),
            };
            self.pulse.failed(why);
            let millis = u64::try_from(breath.as_millis()).expect("it is a few seconds");
            sleep(breath / 2 + Duration::from_millis(roll(millis))).await;
            breath = BREATH[1].min(2 * breath);
            at += 1;
        }
    }

    async fn open(&self, node: &str) -> Result<Socket, String> {
        let mut socket = Socket::try_open(node, &self.token).await?;
        if self.only_listens && self.person % 2 == 1 {
            self.list(&mut socket).await?;
        }
        let after = self.heard().after.clone();
        match after {
            Some(after) => socket.subscribe("1", ITEMS, json!({ "after": after })).await,
            None => socket.subscribe("1", OVERVIEWS, json!({})).await,
        }
        self.heard().opened += 1;
        Ok(socket)
    }

    /// Reads the list before the session continues. An older item that arrives after listed ones would be a hole.
    async fn list(&self, socket: &mut Socket) -> Result<(), String> {
        socket.subscribe("list", NEWEST, json!({})).await;
        let answer = socket.try_hear().await.ok_or("cut off")?;
        socket.try_hear().await.ok_or("cut off")?;
        let inbox = &answer["payload"]["data"]["viewer"]["inbox"];
        let edges = inbox["edges"].as_array().ok_or_else(|| told(&answer["payload"]["errors"][0]))?;
        let mut heard = self.heard();
        let known = edges.iter().position(|edge| heard.items.last() == Some(&text(&edge["node"]["notificationId"])));
        let is_all = inbox["pageInfo"]["hasNextPage"] == false && heard.items.is_empty();
        // If the list does not reach back to the last known item, continue from the cursor.
        let newer = known.or(is_all.then_some(edges.len())).unwrap_or_default();
        for edge in edges[..newer].iter().rev() {
            heard.items.push(text(&edge["node"]["notificationId"]));
            heard.after = Some(text(&edge["cursor"]));
        }
        Ok(())
    }

    /// Receives messages until the session ends or an order ends it.
    async fn take(&mut self, mut socket: Socket) -> Result<(), String> {
        let rush = self.orders.borrow_and_update().rush;
        loop {
            if self.only_listens && self.orders.borrow().is_stuck {
                self.orders.changed().await.expect("the load goes on");
            }
            if self.orders.borrow().rush != rush {
                return Ok(());
            }
            tokio::select! {
                heard = timeout(LISTEN, socket.try_hear()) => match heard {
                    // No message within the time limit.
                    Err(_) => {}
                    Ok(None) => return Err("session: cut off".into()),
                    Ok(Some(message)) => self.note(message)?,
                },
                changed = self.orders.changed() => changed.expect("the load goes on"),
            }
        }
    }

    fn note(&self, mut message: Value) -> Result<(), String> {
        if let Some(code) = message["close"].as_u64() {
            return Err(format!("session: closed with {code}"));
        }
        let error = if message["type"] == "error" { &message["payload"][0] } else { &message["payload"]["errors"][0] };
        if error.is_object() {
            return Err(format!("session: {}", told(error)));
        }
        if message["type"] != "next" {
            return Err(format!("session: {}", message["type"]));
        }
        let mut data = message["payload"]["data"].take();
        let mut heard = self.heard();
        if heard.after.is_none() {
            heard.shown = Some(data["overviewChanged"]["overview"].take());
        } else {
            let item = &data["itemReceived"];
            heard.items.push(text(&item["node"]["notificationId"]));
            heard.after = Some(text(&item["cursor"]));
        }
        drop(heard);
        self.pulse.succeeded(Deed::Hear, Instant::now());
        Ok(())
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().expect("nobody panics over it")
    }
}
