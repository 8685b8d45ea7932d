//! Which private hosts the server may send requests to when users of the API name them.

use std::net::IpAddr;
use std::str::FromStr;

use clap::Args;
use ipnet::IpNet;

/// Settings of outgoing requests.
#[derive(Args, Clone, Debug, Default)]
pub struct EgressConfig {
    /// Comma-separated networks, addresses and host names that requests to user-supplied URLs may reach even though
    /// they are private or use plain http. An entry allows every port, or one port as in `10.0.0.0/8:443` and
    /// `[fd00::/8]:443`. `none` for an empty list.
    #[arg(id = "egress_allow", long = "egress-allow", env = "TIDINGS_EGRESS_ALLOW", default_value = "none")]
    pub allow: AllowedDestinations,
    /// The same list for Web Push endpoints of browsers, which any user can name.
    #[arg(id = "push_allow", long = "push-allow", env = "TIDINGS_PUSH_ALLOW", default_value = "none")]
    pub push_allow: AllowedDestinations,
}

impl EgressConfig {
    /// The settings of requests to Web Push endpoints.
    #[must_use]
    pub fn for_push(&self) -> Self {
        Self { allow: self.push_allow.clone(), push_allow: self.push_allow.clone() }
    }
}

/// Networks and hosts, each with one port or every port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedDestinations {
    networks: Vec<(IpNet, Option<u16>)>,
    names: Vec<(String, Option<u16>)>,
}

/// Maximum bytes of a host name (RFC 1035, section 2.3.4).
const NAME_BYTES: usize = 253;

impl AllowedDestinations {
    /// The listed networks.
    pub fn networks(&self) -> impl Iterator<Item = IpNet> {
        self.networks.iter().map(|(network, _)| *network)
    }

    /// Whether a listed network contains the address and allows this port.
    pub fn has_address(&self, address: IpAddr, port: u16) -> bool {
        self.networks.iter().any(|(network, at)| network.contains(&address) && at.is_none_or(|at| at == port))
    }

    /// Whether the list has this exact host name and allows this port. Subdomains of a listed name do not match.
    pub fn has_name(&self, name: &str, port: u16) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        let is_at = |at: &Option<u16>| at.is_none_or(|at| at == port);
        self.names.iter().any(|(listed, at)| listed.eq_ignore_ascii_case(name) && is_at(at))
    }

    /// Whether an entry is limited to this port.
    pub fn has_port(&self, port: u16) -> bool {
        let ports = self.networks.iter().map(|(_, at)| at).chain(self.names.iter().map(|(_, at)| at));
        ports.flatten().any(|at| *at == port)
    }

    /// Each entry as written in the setting, networks first, and whether it allows every port.
    pub fn entries(&self) -> Vec<(String, bool)> {
        let with = |host: String, port: &Option<u16>| match port {
            Some(port) if host.contains("::") => (format!("[{host}]:{port}"), false),
            Some(port) => (format!("{host}:{port}"), false),
            None => (host, true),
        };
        let networks = self.networks.iter().map(|(network, port)| with(network.to_string(), port));
        networks.chain(self.names.iter().map(|(name, port)| with(name.clone(), port))).collect()
    }
}

impl FromStr for AllowedDestinations {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::default();
        if text.is_empty() || text == "none" {
            return Ok(all);
        }
        for entry in text.split(',').map(str::trim) {
            let wrong = || {
                format!(
                    "{entry:?} must be an address, a network such as 10.0.0.0/8, or a host name, and may end in a port such as `:443`"
                )
            };
            // IPv6 addresses contain colons, so with a port they need brackets.
            let (host, port) = match (parse_network(entry), entry.rsplit_once(':')) {
                (None, Some((host, port))) => {
                    let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?;
                    let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
                    (inside.unwrap_or(host), Some(port))
                }
                _ => (entry, None),
            };
            match parse_network(host) {
                Some(IpNet::V6(_)) if port.is_some() && !entry.starts_with('[') => return Err(wrong()),
                Some(network) => all.networks.push((network, port)),
                None if is_host_name(host) => all.names.push((host.to_ascii_lowercase(), port)),
                None => return Err(wrong()),
            }
        }
        Ok(all)
    }
}

/// Parses a network; a single address becomes a network of one address.
fn parse_network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse().map(|of: IpAddr| of.into()).ok())
}

/// Whether the text is a host name. A last label that starts with a digit is a mistyped address; no URL has such a host
/// name.
fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let is_number = |label: &str| label.starts_with(|first: char| first.is_ascii_digit());
    text.len() <= NAME_BYTES && text.split('.').all(is_label) && !text.rsplit('.').next().is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::AllowedDestinations;

    #[test]
    fn networks_addresses_and_names_stand_in_one_list() {
        let listed: AllowedDestinations = "10.1.0.0/16, 192.168.7.7,fd00:1::/32,Hooks.internal,relay".parse().unwrap();
        for (address, is_listed) in [
            ("10.1.255.1", true),
            ("10.2.0.1", false),
            ("192.168.7.7", true),
            ("192.168.7.8", false),
            ("fd00:1::9", true),
        ] {
            assert_eq!(listed.has_address(address.parse().unwrap(), 80), is_listed, "{address}");
        }
        for (name, is_listed) in
            [("hooks.internal", true), ("HOOKS.internal.", true), ("a.hooks.internal", false), ("internal", false)]
        {
            assert_eq!(listed.has_name(name, 80), is_listed, "{name}");
        }
        for nothing in ["", "none"] {
            assert_eq!(nothing.parse::<AllowedDestinations>().unwrap(), AllowedDestinations::default());
        }
    }

    #[test]
    fn an_entry_may_be_of_one_port() {
        let listed: AllowedDestinations =
            "10.0.0.0/8:443,10.0.0.7:8080,[fd00::/8]:443,[::1]:25,relay:587,hooks".parse().unwrap();
        for (address, port, is_listed) in [
            ("10.1.2.3", 443, true),
            ("10.1.2.3", 6379, false),
            ("10.0.0.7", 8080, true),
            ("10.0.0.8", 8080, false),
            ("fd00::9", 443, true),
            ("fd00::9", 80, false),
            ("::1", 25, true),
        ] {
            assert_eq!(listed.has_address(address.parse().unwrap(), port), is_listed, "{address} {port}");
        }
        for (name, port, is_listed) in [("relay", 587, true), ("relay", 25, false), ("hooks", 1, true)] {
            assert_eq!(listed.has_name(name, port), is_listed, "{name} {port}");
        }
        let entries = [("10.0.0.0/8:443", false), ("10.0.0.7/32:8080", false), ("[fd00::/8]:443", false)];
        assert_eq!(listed.entries()[..3], entries.map(|(entry, opens)| (entry.to_owned(), opens)));
        assert_eq!(listed.entries()[5], ("hooks".to_owned(), true));
    }

    #[test]
    fn what_is_none_of_them_is_named() {
        for wrong in [
            "10.0.0.0/40",
            "10.0.0.256",
            "10.0.0",
            "*.internal",
            "http://a",
            "a:",
            "a:0",
            "a:65536",
            "[a:80",
            "fd00::/8:443",
            "a,",
            "ü.example",
            "0x7f.0x1",
        ] {
            let told = wrong.parse::<AllowedDestinations>().unwrap_err();
            assert!(told.contains("must be an address, a network such as 10.0.0.0/8, or a host name"), "{told}");
        }
    }
}
