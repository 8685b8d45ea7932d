//! Who may come in: how many in all, how many from one address, and who goes to make room.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use super::files;
use super::line::{Hand, Line, Patience, Word};
use crate::app::App;
use crate::http::counts::Counts;

/// How many connections that may go are looked for at once.
const RESTING: usize = 256;

/// How many connections are ended for the lack of something.
const LACKING: usize = 16;

/// The most connections to the listener for health and metrics.
const ADMIN: usize = 64;

/// Seconds between lines of the log about connections that cannot be accepted.
const LINES: u32 = 60;

/// What counts the connections of a listener.
#[derive(Debug)]
pub struct Door {
    app: Arc<App>,
    hand: Arc<Hand>,
    most: usize,
    is_admin: bool,
    is_draining: AtomicBool,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    many: usize,
    /// Those that are looked after, which sockets do by themselves.
    lines: HashMap<u64, Arc<Line>>,
    next: u64,
    by_address: Counts<IpAddr>,
    /// Those that may go first, the last of them before the others, as they were when somebody looked.
    resting: Vec<(u64, Arc<Line>)>,
    /// When nobody was found who may go.
    none_at: u32,
    logged_at: u32,
}

/// Room for a connection, until it is dropped.
#[derive(Debug)]
pub struct Place {
    door: Arc<Door>,
    number: u64,
    address: Option<IpAddr>,
}

impl Door {
    /// For everybody.
    pub fn public(app: &Arc<App>) -> Arc<Self> {
        let asked = app.config.connections.max_connections;
        let most = files::room(asked, app.config.database.connections);
        if most < asked {
            tracing::warn!(most, asked, "the limit of open files leaves room for fewer connections");
        }
        Self::new(app, most as usize, false)
    }

    /// For those who ask how we are.
    pub fn admin(app: &Arc<App>) -> Arc<Self> {
        Self::new(app, ADMIN, true)
    }

    fn new(app: &Arc<App>, most: usize, is_admin: bool) -> Arc<Self> {
        let hand = Arc::new(Hand::new(Patience::DEFAULT));
        Arc::new(Self {
            app: app.clone(),
            hand,
            most,
            is_admin,
            is_draining: AtomicBool::new(false),
            inside: Mutex::default(),
        })
    }

    /// How long a second of the hand takes.
    pub fn second(&self) -> Duration {
        Duration::from_millis(self.app.config.connections.connection_second_millis)
    }

    /// Room for a connection of an address; nothing where it is to be closed at once.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<(Arc<Line>, Place)> {
        let counted = self.counted(address);
        let most = self.app.config.connections.connections_per_address as usize;
        let mut inside = self.inside.lock();
        let has_most = counted.is_some_and(|address| inside.by_address.of(&address) >= most);
        if has_most || inside.many >= self.most && !self.make_room(&mut inside) {
            self.app.metrics.refused(if has_most { "address" } else { "full" });
            return None;
        }
        let line = Arc::new(Line::new(self.hand.clone(), address));
        let number = inside.next;
        inside.next += 1;
        inside.many += 1;
        inside.lines.insert(number, line.clone());
        if let Some(address) = counted {
            inside.by_address.add(address, 1);
        }
        drop(inside);
        self.app.metrics.http_connections.inc();
        Some((line, Place { door: self.clone(), number, address: counted }))
    }

    /// What an address is counted by; nothing where it brings the connections of others.
    fn counted(&self, address: IpAddr) -> Option<IpAddr> {
        let address = address.to_canonical();
        if self.is_admin || self.app.config.connections.proxies.have(address) {
            return None;
        }
        Some(match address {
            // Whoever has one IPv6 address has all of its /64.
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (!0 << 64)).into(),
            address @ IpAddr::V4(_) => address,
        })
    }

    /// Ends the connection that has rested the longest, if there is one.
    fn make_room(&self, inside: &mut Inside) -> bool {
        if self.end_one(inside) {
            return true;
        }
        if inside.none_at == self.hand.now() {
            return false;
        }
        // All are gone through for many newcomers together.
        let mut resting: Vec<_> = inside.lines.values().filter_map(|line| Some((line.rest()?, line.clone()))).collect();
        if resting.len() > RESTING {
            resting.select_nth_unstable_by_key(RESTING, |(rest, _)| *rest);
            resting.truncate(RESTING);
        }
        resting.sort_unstable_by_key(|(rest, _)| std::cmp::Reverse(*rest));
        inside.resting = resting;
        let has_room = self.end_one(inside);
        if !has_room {
            inside.none_at = self.hand.now();
        }
        has_room
    }

    fn end_one(&self, inside: &mut Inside) -> bool {
        while let Some((rest, line)) = inside.resting.pop() {
            if line.rest() == Some(rest) && line.tell(Word::End) {
                self.app.metrics.dropped("room");
                return true;
            }
        }
        false
    }

    /// A second has passed: whoever has to go is told so.
    pub fn look(&self) {
        self.hand.tick();
        // Whoever is ended wants to leave this door meanwhile.
        let lines: Vec<_> = {
            let lines = &mut self.inside.lock().lines;
            lines.retain(|_, line| !line.is_upgraded());
            lines.values().cloned().collect()
        };
        for why in lines.iter().filter_map(|line| line.look()) {
            self.app.metrics.dropped(why);
        }
    }

    /// From now on each connection of HTTP/1 ends with its next answer, which says so: whoever is behind it opens the next one
    /// elsewhere, and none is closed in the moment in which something is sent over it.
    pub fn drain(&self) {
        self.is_draining.store(true, Relaxed);
    }

    /// Whether they do.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Relaxed)
    }

    /// Asks all of them to leave but for the newest, which are to be asked a second later: they may have sent a request that is not
    /// read yet.
    pub fn close(&self) {
        for line in self.inside.lock().lines.values().filter(|line| !line.is_new()) {
            line.tell(Word::Leave);
        }
    }

    /// A connection could not be accepted for a lack of something, which those that rest may give back.
    pub fn lacks(&self, error: &std::io::Error) {
        self.app.metrics.refused("accept");
        let mut inside = self.inside.lock();
        // Several, for whoever waits next would lack it again.
        for _ in 0..LACKING {
            self.make_room(&mut inside);
        }
        let now = self.hand.now();
        if inside.logged_at == 0 || now - inside.logged_at > LINES {
            inside.logged_at = now;
            tracing::error!(%error, "connections cannot be accepted");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inside = self.door.inside.lock();
        inside.many -= 1;
        inside.lines.remove(&self.number);
        if let Some(address) = &self.address {
            inside.by_address.remove(address, 1);
        }
        drop(inside);
        self.door.app.metrics.http_connections.dec();
    }
}
