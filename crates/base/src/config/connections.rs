//! Listen addresses, connection limits and trusted networks.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use clap::Args;
use ipnet::IpNet;

use crate::error::Error;

/// Addresses the server listens on.
#[derive(Args, Clone, Debug)]
pub struct ListenConfig {
    /// Address and port to listen on.
    #[arg(id = "listen", long = "listen", env = "TIDINGS_LISTEN", default_value = "127.0.0.1:8080", value_parser = parse_address)]
    pub address: SocketAddr,
    /// Second address and port that serves only `/healthz`, `/readyz` and `/metrics`. If set, the main address does not
    /// serve `/metrics`.
    #[arg(id = "admin_listen", long = "admin-listen", env = "TIDINGS_ADMIN_LISTEN", value_parser = parse_address)]
    pub admin: Option<SocketAddr>,
}

/// Connection settings; docs/limits.md says what each protects.
#[derive(Args, Clone, Debug)]
pub struct ConnectionsConfig {
    /// Maximum connections of this process; lowered at start-up if the system's limit of open files is too small.
    #[arg(long = "max-connections", env = "TIDINGS_MAX_CONNECTIONS", default_value_t = 25_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: u32,
    /// Maximum connections from one address; for IPv6, from one /64.
    #[arg(long, env = "TIDINGS_CONNECTIONS_PER_ADDRESS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub connections_per_address: u32,
    /// Comma-separated addresses and networks of proxies that carry connections of many clients: the server does not
    /// count their connections per address. `none` for an empty list.
    #[arg(long, env = "TIDINGS_PROXIES", default_value = NetworkList::OWN)]
    pub proxies: NetworkList,
    /// Comma-separated addresses and networks of your proxies: the server uses `X-Forwarded-For` from these only.
    /// `none` for an empty list.
    #[arg(long, env = "TIDINGS_TRUSTED_PROXIES", default_value = NetworkList::LOOPBACK)]
    pub trusted_proxies: NetworkList,
    /// Seconds after SIGTERM during which the server still serves but `/readyz` fails, so that load balancers stop
    /// sending requests; at most 600.
    #[arg(long, env = "TIDINGS_DRAIN_SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=600))]
    pub drain_seconds: u16,
    /// Length of one second of the connection time-outs, in milliseconds. Only tests set it.
    #[arg(long, env = "TIDINGS_CONNECTION_SECOND_MILLIS", hide = true, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub connection_second_millis: u64,
}

impl ConnectionsConfig {
    /// One second of the connection time-outs; tests shorten it.
    pub fn second(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.connection_second_millis)
    }
}

impl ListenConfig {
    /// Fails with `Config` if the two addresses are the same.
    pub fn check(&self) -> Result<(), Error> {
        if self.admin == Some(self.address) && self.address.port() != 0 {
            return Err(Error::Config("TIDINGS_LISTEN and TIDINGS_ADMIN_LISTEN are the same address".into()));
        }
        Ok(())
    }
}

/// The host name has no address at the moment; a retry may succeed.
#[derive(Debug, thiserror::Error)]
#[error("the host name cannot be resolved: {0}")]
pub struct HostNotFound(String);

/// Parses a listen address. A name (`localhost:8080`) is looked up once; the first IPv4 address wins, or else the first
/// address.
///
/// Fails with [`HostNotFound`] if a retry may succeed.
pub fn parse_address(text: &str) -> Result<SocketAddr, Box<dyn std::error::Error + Send + Sync>> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let known: Vec<SocketAddr> = match text.to_socket_addrs() {
        Ok(known) => known.collect(),
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            let form = "must be an address and port such as 127.0.0.1:8080 or localhost:8080";
            return Err(format!("{form}: {error}").into());
        }
        Err(error) => return Err(HostNotFound(error.to_string()).into()),
    };
    let best = known.iter().find(|address| address.is_ipv4()).or(known.first());
    best.copied().ok_or_else(|| HostNotFound("it has no address".into()).into())
}

/// A list of networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkList(Vec<IpNet>);

impl NetworkList {
    /// This machine and private networks (RFC 1918, RFC 4193).
    const OWN: &str = "127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7";

    /// This machine.
    const LOOPBACK: &str = "127.0.0.0/8,::1/128";

    /// Whether one of the networks contains the address.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

impl FromStr for NetworkList {
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
    use super::{NetworkList, parse_address};

    #[test]
    fn one_listens_at_addresses_and_at_names() {
        assert_eq!(parse_address("[::1]:80").unwrap(), "[::1]:80".parse().unwrap());
        assert_eq!(parse_address("localhost:8080").unwrap(), "127.0.0.1:8080".parse().unwrap());
        for wrong in ["", "8080", "localhost", "localhost:http", "localhost:99999"] {
            assert!(
                parse_address(wrong).unwrap_err().to_string().starts_with("must be an address and port"),
                "{wrong}"
            );
        }
        assert!(parse_address("no such name:1").unwrap_err().is::<super::HostNotFound>());
    }

    #[test]
    fn networks_are_lists_of_addresses_and_prefixes() {
        let own: NetworkList = NetworkList::OWN.parse().unwrap();
        for (address, is_own) in [("127.0.0.1", true), ("172.31.9.9", true), ("::1", true), ("8.8.8.8", false)] {
            assert_eq!(own.contains(address.parse().unwrap()), is_own, "{address}");
        }
        let listed: NetworkList = "192.0.2.7, 2001:db8::/32".parse().unwrap();
        assert!(listed.contains("192.0.2.7".parse().unwrap()) && listed.contains("2001:db8::1".parse().unwrap()));
        assert!(!listed.contains("192.0.2.8".parse().unwrap()) && !listed.contains("127.0.0.1".parse().unwrap()));
        assert!(!"none".parse::<NetworkList>().unwrap().contains("127.0.0.1".parse().unwrap()));
        assert!("10.0.0.0/40".parse::<NetworkList>().is_err() && "".parse::<NetworkList>().is_err());
    }
}
