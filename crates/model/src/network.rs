//! The network by which callers without a token are rate-limited.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv6Addr};

/// An IPv4 address, or the /64 of an IPv6 address, which providers assign to one customer as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallerNetwork(Option<IpAddr>);

impl CallerNetwork {
    /// The network of an address.
    pub fn from_address(address: IpAddr) -> Self {
        Self(Some(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (!0 << 64)).into(),
            address @ IpAddr::V4(_) => address,
        }))
    }

    /// Shared by all callers with an unknown address: an application that embeds Tidings passes none on.
    pub fn unknown() -> Self {
        Self(None)
    }
}

impl Display for CallerNetwork {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CallerNetwork;

    #[test]
    fn an_ipv6_address_is_counted_with_all_of_its_64() {
        let of = |text: &str| CallerNetwork::from_address(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.7"), of("192.0.2.7"));
        assert_ne!(of("192.0.2.7"), of("192.0.2.8"));
        assert_ne!(of("192.0.2.7"), CallerNetwork::unknown());
    }
}
