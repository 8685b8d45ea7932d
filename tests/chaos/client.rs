//! An HTTP client that records the outcome of its requests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use auth::{CallerRole, TokenClaims, sign_claims};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::support::SECRET;

/// The client's response timeout: longer than the server may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// The delay between retries.
const BREATH: Duration = Duration::from_millis(50);

/// The longest time a rough client stays connected while no response times are known yet.
const ROUGH_STAY: Duration = Duration::from_millis(12);

/// The number of latest responses from which the usual response time is computed.
const NEWEST: usize = 15;

/// The kinds of action. Each must work again after the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Send,
    Read,
    Write,
    /// An open session receives something.
    Hear,
}

impl Deed {
    pub const ALL: [Self; 4] = [Self::Send, Self::Read, Self::Write, Self::Hear];
}

/// The health of the servers as clients see it.
#[derive(Debug, Default)]
pub struct Pulse {
    healed: OnceLock<Instant>,
    first: [OnceLock<Duration>; Deed::ALL.len()],
    failures: Mutex<BTreeMap<String, usize>>,
    taken: Mutex<Vec<(Deed, Duration)>>,
    /// The percentage of requests that the client abandons within milliseconds.
    pub rough_percent: AtomicU32,
}

impl Pulse {
    /// Records that the fault is over: from now on everything should work.
    pub fn heal(&self) {
        self.healed.set(Instant::now()).expect("it heals once");
    }

    /// Records the success of an action that began at this instant.
    pub fn succeeded(&self, deed: Deed, begun: Instant) {
        if let Some(healed) = self.healed.get()
            && begun >= *healed
        {
            let _ = self.first[deed as usize].set(healed.elapsed());
        }
    }

    pub fn failed(&self, why: String) {
        *self.failures.lock().expect("nobody panics").entry(why).or_default() += 1;
    }

    /// Counts failed requests and ended sessions by reason.
    pub fn failures(&self) -> BTreeMap<String, usize> {
        self.failures.lock().expect("nobody panics").clone()
    }

    /// The time from the end of the fault to the first success of each kind, or `None` without any.
    pub fn recovered(&self) -> [Option<Duration>; Deed::ALL.len()] {
        Deed::ALL.map(|deed| self.first[deed as usize].get().copied())
    }

    /// The median of the latest response times.
    fn usual(&self, of: Deed) -> Option<Duration> {
        let taken = self.taken.lock().expect("nobody panics");
        let newest = taken.iter().rev().filter(|(deed, _)| *deed == of).map(|(_, taken)| *taken);
        let mut newest: Vec<_> = newest.take(NEWEST).collect();
        newest.sort();
        newest.get(newest.len() / 2).copied()
    }

    /// All response times, including those of refusals, in ascending order.
    pub fn taken(&self, of: Deed) -> Vec<Duration> {
        let taken = self.taken.lock().expect("nobody panics");
        let mut taken: Vec<_> = taken.iter().filter(|(deed, _)| *deed == of).map(|(_, taken)| *taken).collect();
        taken.sort();
        taken
    }
}

/// Returns a random number less than `below`.
pub fn roll(below: u64) -> u64 {
    getrandom::u64().expect("there is randomness") % below
}

/// Returns a random element.
pub fn draw<T>(of: &[T]) -> &T {
    let place = roll(of.len() as u64);
    &of[usize::try_from(place).expect("it is a place")]
}

/// A token of the tenant `acme` that stays valid through every clock step.
pub fn token(sub: &str, role: CallerRole) -> String {
    let claims = TokenClaims { tenant: "acme".into(), sub: sub.into(), role, exp: 8_000_000_000, scope: None };
    sign_claims(SECRET, &claims).expect("a token can be signed")
}

/// A caller with a token that switches to another node when one fails.
pub struct Client {
    pub token: String,
    http: reqwest::Client,
    nodes: Arc<[String]>,
    at: AtomicUsize,
    pulse: Arc<Pulse>,
}

impl Client {
    pub fn new(token: String, http: &reqwest::Client, nodes: &Arc<[String]>, pulse: &Arc<Pulse>) -> Self {
        let at = usize::try_from(roll(nodes.len() as u64)).expect("it is a place").into();
        Self { token, http: http.clone(), nodes: nodes.clone(), at, pulse: pulse.clone() }
    }

    /// The HTTP client that all clients of a scenario share.
    pub fn http() -> reqwest::Client {
        reqwest::Client::builder().timeout(ANSWER_WITHIN).build().expect("it can be made")
    }

    /// Sends a request once and returns its data. After `None`, it is unknown whether the server executed the request.
    pub async fn ask(&self, deed: Deed, query: &str, variables: &Value) -> Option<Value> {
        let body = json!({ "query": query, "variables": variables });
        let begun = Instant::now();
        if roll(100) < u64::from(self.pulse.rough_percent.load(Ordering::Relaxed)) {
            let _ = self.give_up(deed, &body).await;
            return None;
        }
        let answer = self.answer(&body).await;
        self.pulse.taken.lock().expect("nobody panics").push((deed, begun.elapsed()));
        match answer {
            Ok(data) => {
                self.pulse.succeeded(deed, begun);
                Some(data)
            }
            Err(why) => {
                self.pulse.failed(why);
                self.at.fetch_add(1, Ordering::Relaxed);
                sleep(BREATH).await;
                None
            }
        }
    }

    /// Like [`Self::ask`], but retries until success or until `until`.
    pub async fn insist(&self, deed: Deed, query: &str, variables: &Value, until: Instant) -> Option<Value> {
        while Instant::now() < until {
            if let Some(data) = self.ask(deed, query, variables).await {
                return Some(data);
            }
        }
        None
    }

    fn node(&self) -> &str {
        &self.nodes[self.at.load(Ordering::Relaxed) % self.nodes.len()]
    }

    async fn answer(&self, body: &Value) -> Result<Value, String> {
        let request = self.http.post(format!("http://{}/graphql", self.node())).bearer_auth(&self.token).json(body);
        let answer = request.send().await.map_err(|error| short(&error))?;
        let mut answer: Value = answer.json().await.map_err(|error| short(&error))?;
        match answer["errors"].get(0) {
            None => Ok(answer["data"].take()),
            Some(error) => Err(told(error)),
        }
    }

    /// Sends a request and drops the connection shortly before or after the response.
    async fn give_up(&self, deed: Deed, body: &Value) -> std::io::Result<()> {
        let body = body.to_string();
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: tidings\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             authorization: Bearer {}\r\n\r\n",
            body.len(),
            self.token
        );
        let mut socket = TcpStream::connect(self.node()).await?;
        socket.write_all(head.as_bytes()).await?;
        socket.write_all(body.as_bytes()).await?;
        let usual = self.pulse.usual(deed).unwrap_or(ROUGH_STAY / 2);
        let longest = u64::try_from(2 * usual.as_micros()).expect("it is a few seconds");
        sleep(Duration::from_micros(roll(longest + 1))).await;
        Ok(())
    }
}

/// Formats an error without the fields that differ between occurrences.
pub fn told(error: &Value) -> String {
    let code = error["extensions"]["code"].as_str().unwrap_or("no code");
    format!("{code}: {}", error["message"].as_str().unwrap_or_default())
}

fn short(error: &reqwest::Error) -> String {
    let what = if error.is_timeout() {
        "no answer in time"
    } else if error.is_connect() {
        "no connection"
    } else {
        "cut off"
    };
    what.into()
}
