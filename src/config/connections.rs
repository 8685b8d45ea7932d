//! How many may be connected, and from where.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use clap::Args;
use ipnet::IpNet;

/// Settings of connections; docs/limits.md says what each protects.
#[derive(Args, Clone, Debug)]
pub struct ConnectionsConfig {
    /// The most connections of this process; fewer where the system allows it fewer open files.
    #[arg(long = "max-connections", env = "TIDINGS_MAX_CONNECTIONS", default_value_t = 25_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: u32,
    /// The most connections from one address; of IPv6, from one /64.
    #[arg(long, env = "TIDINGS_CONNECTIONS_PER_ADDRESS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub connections_per_address: u32,
    /// Addresses and networks, separated by commas, whose connections are not counted by address, since a proxy there brings
    /// everybody's; `none` for none.
    #[arg(long, env = "TIDINGS_PROXIES", default_value = Networks::OWN)]
    pub proxies: Networks,
    /// Another address and port, on which only `/healthz`, `/readyz` and `/metrics` are served; `/metrics` then is nowhere else.
    #[arg(long, env = "TIDINGS_ADMIN_LISTEN")]
    pub admin_listen: Option<SocketAddr>,
    /// Milliseconds of what connections take for a second. For tests of their time-outs, and for nothing else.
    #[arg(long, env = "TIDINGS_CONNECTION_SECOND_MILLIS", hide = true, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub connection_second_millis: u64,
}

/// A list of networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// This machine, and private networks (RFC 1918, RFC 4193).
    const OWN: &str = "127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7";

    /// Whether an address is in one of them.
    pub fn have(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

impl FromStr for Networks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" {
            return Ok(Self(Vec::new()));
        }
        let network = |text: &str| {
            let text = text.trim();
            let found = text.parse().or_else(|_| text.parse().map(|address: IpAddr| address.into()));
            found.map_err(|_| format!("{text:?} must be an address, a network such as 10.0.0.0/8, or none"))
        };
        text.split(',').map(network).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::Networks;

    #[test]
    fn networks_are_lists_of_addresses_and_prefixes() {
        let own: Networks = Networks::OWN.parse().unwrap();
        for (address, is_own) in [("127.0.0.1", true), ("172.31.9.9", true), ("::1", true), ("8.8.8.8", false)] {
            assert_eq!(own.have(address.parse().unwrap()), is_own, "{address}");
        }
        let listed: Networks = "192.0.2.7, 2001:db8::/32".parse().unwrap();
        assert!(listed.have("192.0.2.7".parse().unwrap()) && listed.have("2001:db8::1".parse().unwrap()));
        assert!(!listed.have("192.0.2.8".parse().unwrap()) && !listed.have("127.0.0.1".parse().unwrap()));
        assert!(!"none".parse::<Networks>().unwrap().have("127.0.0.1".parse().unwrap()));
        assert!("10.0.0.0/40".parse::<Networks>().is_err() && "".parse::<Networks>().is_err());
    }
}
