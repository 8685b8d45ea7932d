//! What is known of a connection, and when it has to go.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use axum::http::Version;
use futures_util::future::AbortHandle;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// For how many seconds a connection may do without something.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// From the connection to the end of its first request's header, and from the first byte of a later one to its end.
    pub headers: u32,
    /// Between requests. Proxies that keep connections for a minute close theirs first, so that none sends into one that is
    /// being closed.
    pub idle: u32,
    /// With something to be taken that is not.
    pub taking: u32,
}

impl Patience {
    pub const DEFAULT: Self = Self { headers: 10, idle: 75, taking: 30 };
}

/// A stream of HTTP/2 may be stuck for so many times longer while others of its connection go on.
const STREAM: u32 = 4;

/// Seconds that a client of HTTP/2 has to close a connection, once it was asked to.
const LEAVING: u32 = 5;

/// What a socket may send without a whole message in it: four of the longest.
const UNHEARD_BYTES: u64 = 4 * 64 * 1024;

/// Time as connections have it: seconds that were counted while they were looked at. So nothing asks for the time for each
/// request, and a process that was stopped for a while blames nobody for that.
#[derive(Debug)]
pub struct Hand {
    pub patience: Patience,
    seconds: AtomicU32,
    rests: AtomicU64,
}

impl Hand {
    pub fn new(patience: Patience) -> Self {
        // From 1, for 0 is never.
        Self { patience, seconds: AtomicU32::new(1), rests: AtomicU64::new(0) }
    }

    pub fn now(&self) -> u32 {
        self.seconds.load(Relaxed)
    }

    pub fn tick(&self) {
        self.seconds.fetch_add(1, Relaxed);
    }
}

/// What a connection is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Word {
    Nothing,
    /// To end once its requests are answered.
    Leave,
    /// To end at once.
    End,
}

/// A connection. Instants are seconds of the hand, 0 where there is none.
#[derive(Debug)]
pub struct Line {
    hand: Arc<Hand>,
    /// Who has opened it.
    pub address: IpAddr,
    /// Requests whose answer is not wholly made.
    under_way: AtomicU32,
    /// Of the requests so far: 0 none, 1 HTTP/1, 2 HTTP/2.
    protocol: AtomicU8,
    /// When the last request ended, and how many have ended anywhere before: the order in which connections came to rest.
    rests_since: AtomicU32,
    rest: AtomicU64,
    /// When the first byte of the next request came.
    speaks_since: AtomicU32,
    /// Since when nothing could be written.
    stuck_since: AtomicU32,
    read: AtomicU64,
    /// What `read` was at the end of the last message of a socket.
    heard: AtomicU64,
    is_upgraded: AtomicBool,
    handed: Mutex<Handed>,
    word: AtomicU8,
    told: Notify,
}

/// Slices of bodies that HTTP/2 holds because of its windows, in the order in which it was handed them.
#[derive(Debug, Default)]
struct Handed {
    held: BTreeMap<u64, (u32, AbortHandle)>,
    next: u64,
    taken_at: u32,
}

/// A request, until its answer is wholly made.
#[derive(Debug)]
pub struct UnderWay(pub Arc<Line>);

impl Line {
    pub fn new(hand: Arc<Hand>, address: IpAddr) -> Self {
        Self {
            address,
            under_way: AtomicU32::new(0),
            protocol: AtomicU8::new(0),
            rests_since: AtomicU32::new(hand.now()),
            rest: AtomicU64::new(hand.rests.fetch_add(1, Relaxed)),
            speaks_since: AtomicU32::new(0),
            stuck_since: AtomicU32::new(0),
            read: AtomicU64::new(0),
            heard: AtomicU64::new(0),
            is_upgraded: AtomicBool::new(false),
            handed: Mutex::default(),
            word: AtomicU8::new(Word::Nothing as u8),
            told: Notify::new(),
            hand,
        }
    }

    /// Whether no request has come in the first second.
    pub fn is_new(&self) -> bool {
        self.protocol.load(Relaxed) == 0 && self.hand.now().saturating_sub(self.rests_since.load(Relaxed)) <= 1
    }

    /// A request has come.
    pub fn begin(self: &Arc<Self>, version: Version) -> UnderWay {
        self.under_way.fetch_add(1, Relaxed);
        self.protocol.store(if version == Version::HTTP_2 { 2 } else { 1 }, Relaxed);
        self.speaks_since.store(0, Relaxed);
        UnderWay(self.clone())
    }

    /// So many bytes were read, of which some may begin a request; `false` where a socket has sent too many without a message.
    pub fn has_read(&self, count: usize, says: bool) -> bool {
        let read = self.read.fetch_add(count as u64, Relaxed) + count as u64;
        if self.is_upgraded() {
            return read - self.heard.load(Relaxed) <= UNHEARD_BYTES;
        }
        if says && self.under_way.load(Relaxed) == 0 && self.speaks_since.load(Relaxed) == 0 {
            self.speaks_since.store(self.hand.now(), Relaxed);
        }
        true
    }

    /// Something was written, or could not be. Over HTTP/1 nobody rests to whom something is written; HTTP/2 writes by itself, too.
    pub fn has_written(&self, is_stuck: bool) {
        if !is_stuck && self.protocol.load(Relaxed) < 2 {
            self.rests_since.store(self.hand.now(), Relaxed);
        }
        let was_stuck = self.stuck_since.load(Relaxed) > 0;
        if is_stuck != was_stuck {
            self.stuck_since.store(if is_stuck { self.hand.now() } else { 0 }, Relaxed);
        }
    }

    /// It is a socket from now on, which looks after itself.
    pub fn upgraded(&self) {
        self.heard();
        self.is_upgraded.store(true, Relaxed);
    }

    /// Whether it is.
    pub fn is_upgraded(&self) -> bool {
        self.is_upgraded.load(Relaxed)
    }

    /// How many bytes came since a message was heard the last time.
    pub fn heard(&self) -> u64 {
        let read = self.read.load(Relaxed);
        read - self.heard.swap(read, Relaxed)
    }

    /// A slice was handed out, in a stream that `cut` ends.
    pub fn hand_out(&self, cut: AbortHandle) -> u64 {
        let now = self.hand.now();
        let mut handed = self.handed.lock();
        let number = handed.next;
        handed.next += 1;
        handed.held.insert(number, (now, cut));
        number
    }

    /// It was taken, or its stream has ended.
    pub fn taken(&self, number: u64) {
        let now = self.hand.now();
        let mut handed = self.handed.lock();
        handed.held.remove(&number);
        handed.taken_at = now;
    }

    /// Whether an answer is not wholly made, or not taken.
    fn is_asked(&self) -> bool {
        self.under_way.load(Relaxed) > 0 || !self.handed.lock().held.is_empty()
    }

    /// Where in the order of those at rest it is; nothing where it is not at rest.
    pub fn rest(&self) -> Option<u64> {
        let is_busy = self.is_asked() || self.stuck_since.load(Relaxed) > 0;
        let has_left = self.is_upgraded() || self.word() == Word::End;
        (!is_busy && !has_left).then(|| self.rest.load(Relaxed))
    }

    /// Looks whether it has to go, and says why when it has just been told so.
    pub fn look(&self) -> Option<&'static str> {
        if self.is_upgraded() {
            return None;
        }
        let (now, patience) = (self.hand.now(), self.hand.patience);
        let is_past = |since: &AtomicU32, seconds: u32| {
            let since = since.load(Relaxed);
            since > 0 && now.saturating_sub(since) > seconds
        };
        if is_past(&self.stuck_since, patience.taking) || self.handed.lock().are_stuck(now, patience.taking) {
            return self.tell(Word::End).then_some("taking");
        }
        if self.is_asked() {
            return None;
        }
        let protocol = self.protocol.load(Relaxed);
        if protocol == 0 && is_past(&self.rests_since, patience.headers)
            || protocol == 1 && is_past(&self.speaks_since, patience.headers)
        {
            return self.tell(Word::End).then_some("headers");
        }
        if is_past(&self.rests_since, patience.idle) {
            let has_time = protocol == 2 && !is_past(&self.rests_since, patience.idle + LEAVING);
            let is_news = self.word() == Word::Nothing;
            self.tell(if has_time { Word::Leave } else { Word::End });
            return is_news.then_some("idle");
        }
        None
    }

    /// Whether that is more than it was told before.
    pub fn tell(&self, word: Word) -> bool {
        let is_news = self.word.fetch_max(word as u8, Relaxed) < word as u8;
        if is_news {
            self.told.notify_one();
        }
        is_news
    }

    /// What it is told next.
    pub async fn told(&self) -> Word {
        self.told.notified().await;
        self.word()
    }

    fn word(&self) -> Word {
        match self.word.load(Relaxed) {
            0 => Word::Nothing,
            1 => Word::Leave,
            _ => Word::End,
        }
    }
}

impl Handed {
    /// Whether nothing is taken at all. A stream of which nothing is taken while others go on, as a proxy may have them of
    /// several people, ends alone; one that has nothing left to end takes the connection with it.
    fn are_stuck(&self, now: u32, taking: u32) -> bool {
        let is_past = |since: u32, seconds: u32| now.saturating_sub(since) > seconds;
        let Some((since, _)) = self.held.values().next() else { return false };
        let old = self.held.values().take_while(|(since, _)| is_past(*since, STREAM * taking));
        let is_kept = old.fold(false, |is_kept, (since, cut)| {
            cut.abort();
            is_kept || is_past(*since, STREAM * taking + LEAVING)
        });
        is_kept || is_past(self.taken_at.max(*since), taking)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let line = &self.0;
        line.rests_since.store(line.hand.now(), Relaxed);
        line.rest.store(line.hand.rests.fetch_add(1, Relaxed), Relaxed);
        line.under_way.fetch_sub(1, Relaxed);
    }
}
