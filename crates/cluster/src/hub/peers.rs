//! The nodes that share a database. Each describes itself on the bus once a second.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use entity::ids::TenantId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use base::clock::Millis;
use base::telemetry::activity::{ActivityTracker, TenantActivity};

/// After this long without a heartbeat, a node counts as ended.
pub(super) const FORGET: Duration = Duration::from_mins(1);

/// A node reports a tenant's activity for this long after a request for it. A report is valid for as long.
const INTEREST: Duration = Duration::from_secs(15);

/// The most tenants that one message requests or reports.
const TENANTS: usize = 50;

/// The most characters of a node's name.
const NAME: usize = 64;

/// A node's description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// The host name, if the system has one.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(rename = "v")]
    pub version: String,
    #[serde(rename = "s")]
    pub started_at: Millis,
}

impl NodeInfo {
    /// This node, which starts at `now`.
    pub fn this_node(version: &str, now: Millis) -> Self {
        let name = fs::read_to_string("/proc/sys/kernel/hostname")
            .ok()
            .map(|name| name.trim().chars().filter(|c| !c.is_control()).take(NAME).collect::<String>());
        Self { name: name.filter(|name| !name.is_empty()), version: version.into(), started_at: now }
    }
}

/// The heartbeat that each node sends once a second.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct NodeHeartbeat {
    #[serde(flatten)]
    pub about: NodeInfo,
    /// Tenants for which the sender requests the activity on other nodes.
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    asks: Vec<TenantId>,
    /// The activity on the sender of tenants that other nodes have requested.
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    doings: Vec<(TenantId, TenantActivity)>,
}

/// Another node, as of its last heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerNode {
    pub about: NodeInfo,
    /// Time since the last heartbeat.
    pub silent_for: Duration,
    /// The tenant's activity there. `None` until the node has reported it.
    pub doing: Option<TenantActivity>,
}

#[derive(Debug, Default)]
pub(super) struct PeerRegistry(Mutex<PeerState>);

#[derive(Debug, Default)]
struct PeerState {
    nodes: HashMap<u64, NodeState>,
    /// Tenants requested on this node, and when last.
    asked_here: HashMap<TenantId, Instant>,
    /// Tenants requested by other nodes, and when last.
    asked_elsewhere: HashMap<TenantId, Instant>,
}

#[derive(Debug)]
struct NodeState {
    about: NodeInfo,
    heard_at: Instant,
    doings: HashMap<TenantId, (TenantActivity, Instant)>,
}

impl PeerRegistry {
    /// The other nodes, the longest running first, each with the tenant's activity. Nodes report that activity from
    /// about a second later on, for as long as it is requested.
    pub fn list_for_tenant(&self, tenant: TenantId, now: Instant) -> Vec<PeerNode> {
        let mut known = self.0.lock();
        known.remove_old(now);
        if known.asked_here.len() < TENANTS || known.asked_here.contains_key(&tenant) {
            known.asked_here.insert(tenant, now);
        }
        let peer = |of: &NodeState| PeerNode {
            about: of.about.clone(),
            silent_for: now - of.heard_at,
            doing: of.doings.get(&tenant).map(|(doing, _)| *doing),
        };
        let mut peers: Vec<PeerNode> = known.nodes.values().map(peer).collect();
        peers.sort_by(|one, other| {
            let key = |of: &PeerNode| (of.about.started_at, of.about.name.clone());
            key(one).cmp(&key(other))
        });
        peers
    }

    /// The heartbeat of this node.
    pub fn make_heartbeat(&self, about: &NodeInfo, pulse: &ActivityTracker, now: Instant) -> NodeHeartbeat {
        let mut known = self.0.lock();
        known.remove_old(now);
        let doings = known.asked_elsewhere.keys().map(|tenant| (*tenant, pulse.for_tenant(*tenant))).collect();
        NodeHeartbeat { about: about.clone(), asks: known.asked_here.keys().copied().collect(), doings }
    }

    /// Receives the heartbeat of another node.
    pub fn receive_heartbeat(&self, node: u64, beat: NodeHeartbeat, now: Instant) {
        let mut known = self.0.lock();
        known.remove_old(now);
        for tenant in beat.asks {
            if known.asked_elsewhere.len() < TENANTS || known.asked_elsewhere.contains_key(&tenant) {
                known.asked_elsewhere.insert(tenant, now);
            }
        }
        let of = known.nodes.entry(node);
        let of = of.or_insert_with(|| NodeState { about: NodeInfo::default(), heard_at: now, doings: HashMap::new() });
        (of.about, of.heard_at) = (beat.about, now);
        of.doings.extend(beat.doings.into_iter().map(|(tenant, doing)| (tenant, (doing, now))));
    }
}

impl PeerState {
    fn remove_old(&mut self, now: Instant) {
        let is_recent = |at: &Instant, long| now.saturating_duration_since(*at) < long;
        self.nodes.retain(|_, of| is_recent(&of.heard_at, FORGET));
        for of in self.nodes.values_mut() {
            of.doings.retain(|_, (_, at)| is_recent(at, INTEREST));
        }
        self.asked_here.retain(|_, at| is_recent(at, INTEREST));
        self.asked_elsewhere.retain(|_, at| is_recent(at, INTEREST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: TenantId = TenantId(7);

    fn about(name: &str, started_at: Millis) -> NodeInfo {
        NodeInfo { name: Some(name.into()), version: "1.2.3".into(), started_at }
    }

    #[test]
    fn what_a_tenant_does_elsewhere_is_told_while_somebody_asks() {
        let (here, there, pulse) = (PeerRegistry::default(), PeerRegistry::default(), ActivityTracker::default());
        pulse.session_opened(TENANT);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let tell = |seconds| {
            // Serialized, as on the bus.
            let travel = |beat: NodeHeartbeat| serde_json::from_str(&serde_json::to_string(&beat).unwrap()).unwrap();
            there.receive_heartbeat(
                1,
                travel(here.make_heartbeat(&about("here", 5), &ActivityTracker::default(), at(seconds))),
                at(seconds),
            );
            here.receive_heartbeat(
                2,
                travel(there.make_heartbeat(&about("there", 6), &pulse, at(seconds))),
                at(seconds),
            );
        };
        tell(0);
        let peer = |silent_for, doing| PeerNode {
            about: about("there", 6),
            silent_for: Duration::from_secs(silent_for),
            doing,
        };
        assert_eq!(here.list_for_tenant(TENANT, at(0)), [peer(0, None)]);
        tell(1);
        let doing = TenantActivity { sessions: 1, ..TenantActivity::default() };
        assert_eq!(here.list_for_tenant(TENANT, at(2)), [peer(1, Some(doing))]);
        assert_eq!(here.list_for_tenant(TenantId(8), at(2)), [peer(1, None)], "nobody hears of other tenants");
        assert_eq!(here.list_for_tenant(TENANT, at(20)), [peer(19, None)], "that was too long ago");
        assert_eq!(there.make_heartbeat(&about("there", 6), &pulse, at(20)).doings, []);
        assert_eq!(here.list_for_tenant(TENANT, at(61)), []);
    }

    #[test]
    fn a_message_tells_of_so_many_tenants_alone() {
        let (here, there) = (PeerRegistry::default(), PeerRegistry::default());
        let now = Instant::now();
        for tenant in 0..1000 {
            here.list_for_tenant(TenantId(i64::MAX - tenant), now);
        }
        let name = "n".repeat(NAME);
        there.receive_heartbeat(1, here.make_heartbeat(&about(&name, i64::MAX), &ActivityTracker::default(), now), now);
        for tenant in 0..1000 {
            there.list_for_tenant(TenantId(i64::MAX - tenant), now);
        }
        let pulse = ActivityTracker::default();
        let beat = there.make_heartbeat(&about(&name, i64::MAX), &pulse, now);
        assert_eq!((beat.asks.len(), beat.doings.len()), (TENANTS, TENANTS));
        assert!(serde_json::to_string(&beat).unwrap().len() < 5000);
    }
}
