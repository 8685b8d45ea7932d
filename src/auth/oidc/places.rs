//! Who may have a code shown to the provider now: a provider that answers slowly is not to be filled up by one network.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::refusal::Refusal;
use crate::model::network::Network;

/// Sign-ins that the provider is asked about at the same time.
const ALL: usize = 64;

/// Of those, the sign-ins from one network. Others from there wait, and hold up no other network.
const NETWORK: usize = 4;

/// How long a sign-in waits for a place.
const PATIENCE: Duration = Duration::from_secs(5);

/// The networks above which those that have no sign-in under way are forgotten.
const NETWORKS: usize = 256;

/// The places of all sign-ins.
#[derive(Debug)]
pub struct Places {
    all: Arc<Semaphore>,
    by_network: Mutex<HashMap<Network, Weak<Semaphore>>>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub struct Place {
    _all: OwnedSemaphorePermit,
    _network: OwnedSemaphorePermit,
    /// Keeps the network's places known.
    _of: Arc<Semaphore>,
}

impl Places {
    pub fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(ALL)), by_network: Mutex::default() }
    }

    /// A place for a sign-in from this network, as soon as there is one.
    pub async fn take(&self, network: Network) -> Result<Place, Refusal> {
        let of = self.of(network);
        let taking = async {
            // First of the network's own: a sign-in that waits for these is in no other network's way.
            let network = of.clone().acquire_owned().await.ok()?;
            let all = self.all.clone().acquire_owned().await.ok()?;
            Some(Place { _all: all, _network: network, _of: of })
        };
        let taken = timeout(PATIENCE, taking).await.ok().flatten();
        taken.ok_or_else(|| Refusal::Away("too many sign in at once".into()))
    }

    fn of(&self, network: Network) -> Arc<Semaphore> {
        let mut known = self.by_network.lock();
        if let Some(of) = known.get(&network).and_then(Weak::upgrade) {
            return of;
        }
        if known.len() >= NETWORKS {
            known.retain(|_, of| of.strong_count() > 0);
        }
        let of = Arc::new(Semaphore::new(NETWORK));
        known.insert(network, Arc::downgrade(&of));
        of
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::poll_immediate;

    use super::*;

    fn network(number: u8) -> Network {
        Network::of([203, 0, 113, number].into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_network_has_a_few_places_and_leaves_the_others_to_others() {
        let places = Places::new();
        let mut taken = Vec::new();
        for _ in 0..NETWORK {
            taken.push(places.take(network(1)).await.unwrap());
        }
        assert!(places.take(network(1)).await.is_err());
        let mut waits = Box::pin(places.take(network(1)));
        assert!(poll_immediate(&mut waits).await.is_none());
        assert!(poll_immediate(places.take(network(2))).await.is_some());
        taken.pop();
        assert!(waits.await.is_ok());
    }

    #[tokio::test]
    async fn networks_without_a_sign_in_are_forgotten() {
        let places = Places::new();
        for number in 0..2 * NETWORKS {
            let address = std::net::Ipv4Addr::from_bits(u32::try_from(number).unwrap());
            assert!(places.take(Network::of(address.into())).await.is_ok());
        }
        assert!(places.by_network.lock().len() <= NETWORKS);
    }
}
