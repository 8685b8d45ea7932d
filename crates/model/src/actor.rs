//! Services and operators, as the audit log names them.

use std::net::{IpAddr, Ipv6Addr};

/// The kind of a staff caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StaffKind {
    /// A tenant's backend.
    Service,
    /// An operator.
    Admin,
}

/// The kind of network a caller's address belongs to. The address itself is not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NetworkClass {
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
pub struct StaffActor {
    pub staff: StaffKind,
    pub origin: NetworkClass,
    /// The `sub` of their token.
    pub name: String,
}

const STAFF: [(char, StaffKind); 2] = [('1', StaffKind::Service), ('2', StaffKind::Admin)];

const ORIGINS: [(char, NetworkClass); 4] = [
    ('0', NetworkClass::Unknown),
    ('1', NetworkClass::Loopback),
    ('2', NetworkClass::Private),
    ('3', NetworkClass::Public),
];

impl NetworkClass {
    /// The kind of network of an address.
    pub fn from_address(address: IpAddr) -> Self {
        let is_private = match address.to_canonical() {
            address if address.is_loopback() => return Self::Loopback,
            IpAddr::V4(address) => address.is_private() || address.is_link_local() || is_carrier_nat(address.octets()),
            IpAddr::V6(address) => address.is_unique_local() || is_link_local(address),
        };
        if is_private { Self::Private } else { Self::Public }
    }
}

/// Carrier-grade NAT (RFC 6598).
fn is_carrier_nat([first, second, ..]: [u8; 4]) -> bool {
    first == 100 && (64..128).contains(&second)
}

fn is_link_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xffc0 == 0xfe80
}

impl StaffActor {
    /// The stored form: two digits and the name.
    pub fn stored_form(&self) -> String {
        let staff = STAFF.iter().find(|(_, of)| *of == self.staff).map_or('1', |(digit, _)| *digit);
        let origin = ORIGINS.iter().find(|(_, of)| *of == self.origin).map_or('0', |(digit, _)| *digit);
        format!("{staff}{origin}{}", self.name)
    }

    /// Parses the stored form.
    pub fn parse_stored(kept: &str) -> Option<Self> {
        let mut rest = kept.chars();
        let (staff, origin) = (rest.next()?, rest.next()?);
        let staff = STAFF.iter().find(|(digit, _)| *digit == staff)?.1;
        let origin = ORIGINS.iter().find(|(digit, _)| *digit == origin)?.1;
        Some(Self { staff, origin, name: rest.as_str().to_owned() })
    }

    /// All stored forms of an actor with this name.
    pub fn all_stored_forms(name: &str) -> Vec<String> {
        let all = STAFF.iter().flat_map(|(_, staff)| ORIGINS.iter().map(|(_, origin)| (*staff, *origin)));
        all.map(|(staff, origin)| Self { staff, origin, name: name.to_owned() }.stored_form()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_read_as_they_were_kept() {
        let all = StaffActor::all_stored_forms("7 ops");
        assert_eq!(all.len(), 8);
        for kept in all {
            assert_eq!(StaffActor::parse_stored(&kept).map(|of| of.stored_form()), Some(kept));
        }
        assert_eq!(StaffActor::parse_stored("9xops"), None);
    }

    #[test]
    fn an_address_is_of_the_machine_of_a_network_or_of_the_internet() {
        let of = |text: &str| NetworkClass::from_address(text.parse().expect("an address"));
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(of(address), NetworkClass::Loopback, "{address}");
        }
        for address in ["10.1.2.3", "192.168.0.1", "172.31.0.1", "169.254.1.1", "100.64.0.1", "fd00::1", "fe80::1"] {
            assert_eq!(of(address), NetworkClass::Private, "{address}");
        }
        for address in ["9.9.9.9", "172.32.0.1", "100.128.0.1", "2001:db8::1"] {
            assert_eq!(of(address), NetworkClass::Public, "{address}");
        }
    }
}
