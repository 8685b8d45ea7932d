//! Services and operators, as the audit log names them.

use std::net::{IpAddr, Ipv6Addr};

/// The kind of a staff caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Staff {
    /// A tenant's backend.
    Service,
    /// An operator.
    Admin,
}

/// The kind of network a caller's address belongs to. The address itself is not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Not over the network (an application that embeds Tidings), or written by an older version.
    #[default]
    Unknown,
    /// The server's own machine.
    Loopback,
    /// A private network.
    Private,
    /// The internet.
    Public,
}

/// A service or operator that did something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Actor {
    pub staff: Staff,
    pub origin: Origin,
    /// The `sub` of their token.
    pub name: String,
}

const STAFF: [(char, Staff); 2] = [('1', Staff::Service), ('2', Staff::Admin)];

const ORIGINS: [(char, Origin); 4] =
    [('0', Origin::Unknown), ('1', Origin::Loopback), ('2', Origin::Private), ('3', Origin::Public)];

impl Origin {
    /// The kind of network of an address.
    pub fn of(address: IpAddr) -> Self {
        let is_private = match address.to_canonical() {
            address if address.is_loopback() => return Self::Loopback,
            IpAddr::V4(address) => address.is_private() || address.is_link_local() || is_shared(address.octets()),
            IpAddr::V6(address) => address.is_unique_local() || is_link_local(address),
        };
        if is_private { Self::Private } else { Self::Public }
    }
}

/// Carrier-grade NAT (RFC 6598).
fn is_shared([first, second, ..]: [u8; 4]) -> bool {
    first == 100 && (64..128).contains(&second)
}

fn is_link_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xffc0 == 0xfe80
}

impl Actor {
    /// The stored form: two digits and the name.
    pub fn kept(&self) -> String {
        let staff = STAFF.iter().find(|(_, of)| *of == self.staff).map_or('1', |(digit, _)| *digit);
        let origin = ORIGINS.iter().find(|(_, of)| *of == self.origin).map_or('0', |(digit, _)| *digit);
        format!("{staff}{origin}{}", self.name)
    }

    /// Parses the stored form.
    pub fn read(kept: &str) -> Option<Self> {
        let mut rest = kept.chars();
        let (staff, origin) = (rest.next()?, rest.next()?);
        let staff = STAFF.iter().find(|(digit, _)| *digit == staff)?.1;
        let origin = ORIGINS.iter().find(|(digit, _)| *digit == origin)?.1;
        Some(Self { staff, origin, name: rest.as_str().to_owned() })
    }

    /// All stored forms of an actor with this name.
    pub fn all_kept(name: &str) -> Vec<String> {
        let all = STAFF.iter().flat_map(|(_, staff)| ORIGINS.iter().map(|(_, origin)| (*staff, *origin)));
        all.map(|(staff, origin)| Self { staff, origin, name: name.to_owned() }.kept()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_read_as_they_were_kept() {
        let all = Actor::all_kept("7 ops");
        assert_eq!(all.len(), 8);
        for kept in all {
            assert_eq!(Actor::read(&kept).map(|of| of.kept()), Some(kept));
        }
        assert_eq!(Actor::read("9xops"), None);
    }

    #[test]
    fn an_address_is_of_the_machine_of_a_network_or_of_the_internet() {
        let of = |text: &str| Origin::of(text.parse().expect("an address"));
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(of(address), Origin::Loopback, "{address}");
        }
        for address in ["10.1.2.3", "192.168.0.1", "172.31.0.1", "169.254.1.1", "100.64.0.1", "fd00::1", "fe80::1"] {
            assert_eq!(of(address), Origin::Private, "{address}");
        }
        for address in ["9.9.9.9", "172.32.0.1", "100.128.0.1", "2001:db8::1"] {
            assert_eq!(of(address), Origin::Public, "{address}");
        }
    }
}
