//! The state of a connection, which determines its time-outs.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use axum::http::Version;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// Bytes that a WebSocket client may send without completing a message: four of the longest messages.
const MAX_UNHEARD_BYTES: u64 = 4 * 64 * 1024;

/// The time-outs of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionTimeouts {
    /// From the accept to the end of the first request's header, and from the first byte of a later header to its end.
    pub header: Duration,
    /// Between requests. Longer than proxies keep idle connections (a minute): so the proxy closes first, and sends no
    /// request over a connection that is being closed.
    pub idle: Duration,
    /// While the client reads nothing of a response.
    pub write: Duration,
}

impl ConnectionTimeouts {
    /// 10, 75 and 30 seconds. Tests shorten the second.
    pub fn with_second(second: Duration) -> Self {
        Self { header: 10 * second, idle: 75 * second, write: 30 * second }
    }
}

/// A connection, shared by its stream, its requests and its WebSocket.
#[derive(Debug)]
pub struct ConnectionState {
    /// The peer: a client or a proxy.
    pub address: IpAddr,
    timeouts: ConnectionTimeouts,
    /// Requests with an incomplete response.
    in_flight: AtomicU32,
    waiting: Mutex<IdleState>,
    is_upgraded: AtomicBool,
    read_bytes: AtomicU64,
    /// `read_bytes` at the end of the last WebSocket message.
    heard_bytes: AtomicU64,
}

/// The state of a connection without a request in flight.
#[derive(Clone, Copy, Debug)]
struct IdleState {
    /// When the connection was accepted, or the last response ended.
    since: Instant,
    /// When the first byte of the next header arrived. `None` for HTTP/2: received frames may carry no header.
    header_since: Option<Instant>,
    protocol: Option<Version>,
}

/// A request, until its response is complete.
#[derive(Debug)]
pub struct InFlightRequest(Arc<ConnectionState>);

impl ConnectionState {
    pub fn new(address: IpAddr, timeouts: ConnectionTimeouts) -> Self {
        Self {
            address,
            timeouts,
            in_flight: AtomicU32::new(0),
            waiting: Mutex::new(IdleState { since: Instant::now(), header_since: None, protocol: None }),
            is_upgraded: AtomicBool::new(false),
            read_bytes: AtomicU64::new(0),
            heard_bytes: AtomicU64::new(0),
        }
    }

    /// A request's header is complete.
    pub fn begin_request(self: &Arc<Self>, version: Version) -> InFlightRequest {
        self.in_flight.fetch_add(1, Relaxed);
        let mut waiting = self.waiting.lock();
        waiting.header_since = None;
        waiting.protocol = Some(version);
        InFlightRequest(self.clone())
    }

    pub fn has_had_request(&self) -> bool {
        self.waiting.lock().protocol.is_some()
    }

    /// Counts received bytes. Returns `false` if a WebSocket client has sent too many without completing a message.
    pub fn record_read(&self, bytes: &[u8]) -> bool {
        let read = self.read_bytes.fetch_add(bytes.len() as u64, Relaxed) + bytes.len() as u64;
        if self.is_upgraded() {
            return read - self.heard_bytes.load(Relaxed) <= MAX_UNHEARD_BYTES;
        }
        if self.in_flight.load(Relaxed) == 0 {
            let mut waiting = self.waiting.lock();
            // Empty lines may stand before a request (RFC 9112, section 2.2).
            let begins = waiting.protocol != Some(Version::HTTP_2) && bytes.iter().any(|byte| !b"\r\n".contains(byte));
            if begins && waiting.header_since.is_none() {
                waiting.header_since = Some(Instant::now());
            }
        }
        true
    }

    /// The client read bytes of a response. The connection is idle from now on, not from when the body's last chunk was
    /// made: hyper buffers a whole chunk, and a slow client may need minutes to read it.
    pub fn record_write(&self) {
        self.waiting.lock().since = Instant::now();
    }

    /// The deadline for more data from the client, and the time-out's name in metrics. `None` while a response is due,
    /// and for WebSockets, which have time-outs of their own.
    pub fn read_deadline(&self) -> Option<(Instant, &'static str)> {
        if self.is_upgraded() || self.in_flight.load(Relaxed) > 0 {
            return None;
        }
        let IdleState { since, header_since, protocol } = *self.waiting.lock();
        Some(match header_since {
            _ if protocol.is_none() => (since + self.timeouts.header, "headers"),
            Some(since) => (since + self.timeouts.header, "headers"),
            None => (since + self.timeouts.idle, "idle"),
        })
    }

    pub fn write_timeout(&self) -> Duration {
        self.timeouts.write
    }

    /// The connection is a WebSocket from now on.
    pub fn set_upgraded(&self) {
        self.take_received_bytes();
        self.is_upgraded.store(true, Relaxed);
    }

    pub fn is_upgraded(&self) -> bool {
        self.is_upgraded.load(Relaxed)
    }

    /// The bytes received since the last WebSocket message.
    pub fn take_received_bytes(&self) -> u64 {
        let read = self.read_bytes.load(Relaxed);
        read - self.heard_bytes.swap(read, Relaxed)
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.0.waiting.lock().since = Instant::now();
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}
