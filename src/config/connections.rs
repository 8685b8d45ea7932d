//! How many may be connected, and from where.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use clap::Args;
use ipnet::IpNet;

use crate::error::Error;

/// Where the server is found.
#[derive(Args, Clone, Debug)]
pub struct ListenConfig {
    /// Address and port to listen on.
    #[arg(id = "listen", long = "listen", env = "TIDINGS_LISTEN", default_value = "127.0.0.1:8080", value_parser = address)]
    pub address: SocketAddr,
    /// Another address and port, on which only `/healthz`, `/readyz` and `/metrics` are served; `/metrics` then is nowhere else.
    #[arg(id = "admin_listen", long = "admin-listen", env = "TIDINGS_ADMIN_LISTEN", value_parser = address)]
    pub admin: Option<SocketAddr>,
}

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
    /// Addresses and networks, separated by commas, of your proxies, whose `X-Forwarded-For` is believed; `none` for none.
    #[arg(long, env = "TIDINGS_TRUSTED_PROXIES", default_value = Networks::LOOPBACK)]
    pub trusted_proxies: Networks,
    /// Seconds after SIGTERM for which `/readyz` says no while everything goes on, so that balancers look elsewhere first.
    #[arg(long, env = "TIDINGS_DRAIN_SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=600))]
    pub drain_seconds: u16,
    /// The length of a second of the time-outs of connections, in milliseconds. Only tests set it.
    #[arg(long, env = "TIDINGS_CONNECTION_SECOND_MILLIS", hide = true, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub connection_second_millis: u64,
}

impl ConnectionsConfig {
    /// A second of the time-outs of connections, which tests shorten.
    pub fn second(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.connection_second_millis)
    }
}

impl ListenConfig {
    /// Finds two that are the same.
    pub fn check(&self) -> Result<(), Error> {
        if self.admin == Some(self.address) && self.address.port() != 0 {
            return Err(Error::Config("TIDINGS_LISTEN and TIDINGS_ADMIN_LISTEN are the same address".into()));
        }
        Ok(())
    }
}

/// A name that has no address, which it may have in a moment.
#[derive(Debug, thiserror::Error)]
#[error("no address of this name is found: {0}")]
pub struct NotFound(String);

/// Where to listen. A name (`localhost:8080`) is looked up once: of its addresses the first of IPv4 counts, if there is one.
///
/// Fails with [`NotFound`] where another try may help.
pub fn address(text: &str) -> Result<SocketAddr, Box<dyn std::error::Error + Send + Sync>> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let known: Vec<SocketAddr> = match text.to_socket_addrs() {
        Ok(known) => known.collect(),
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            let form = "must be an address and port such as 127.0.0.1:8080 or localhost:8080";
            return Err(format!("{form}: {error}").into());
        }
        Err(error) => return Err(NotFound(error.to_string()).into()),
    };
    let best = known.iter().find(|address| address.is_ipv4()).or(known.first());
    best.copied().ok_or_else(|| NotFound("it has none".into()).into())
}

/// A list of networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// This machine, and private networks (RFC 1918, RFC 4193).
    const OWN: &str = "127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7";

    /// This machine.
    const LOOPBACK: &str = "127.0.0.0/8,::1/128";

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
    use super::{Networks, address};

    #[test]
    fn one_listens_at_addresses_and_at_names() {
        assert_eq!(address("[::1]:80").unwrap(), "[::1]:80".parse().unwrap());
        assert_eq!(address("localhost:8080").unwrap(), "127.0.0.1:8080".parse().unwrap());
        for wrong in ["", "8080", "localhost", "localhost:http", "localhost:99999"] {
            assert!(address(wrong).unwrap_err().to_string().starts_with("must be an address and port"), "{wrong}");
        }
        assert!(address("no such name:1").unwrap_err().is::<super::NotFound>());
    }

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
