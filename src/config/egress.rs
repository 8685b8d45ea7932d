//! Where requests may lead to addresses that users of the API have named.

use std::net::IpAddr;
use std::str::FromStr;

use clap::Args;
use ipnet::IpNet;

/// Settings of requests that go out.
#[derive(Args, Clone, Debug, Default)]
pub struct EgressConfig {
    /// Networks, addresses and host names, separated by commas, that requests to addresses of users may reach although they are
    /// private, and by http; `none` for none.
    #[arg(id = "egress_allow", long = "egress-allow", env = "TIDINGS_EGRESS_ALLOW", default_value = "none")]
    pub allow: Destinations,
    /// The same for what browsers have subscribed, which are addresses that any user may name.
    #[arg(id = "push_allow", long = "push-allow", env = "TIDINGS_PUSH_ALLOW", default_value = "none")]
    pub push_allow: Destinations,
}

impl EgressConfig {
    /// The settings of requests to browsers.
    #[must_use]
    pub fn of_push(&self) -> Self {
        Self { allow: self.push_allow.clone(), push_allow: self.push_allow.clone() }
    }
}

/// Networks and hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destinations {
    networks: Vec<IpNet>,
    names: Vec<String>,
}

/// The most bytes of a host name (RFC 1035, section 2.3.4).
const NAME_BYTES: usize = 253;

impl Destinations {
    /// The networks that are listed.
    pub fn networks(&self) -> &[IpNet] {
        &self.networks
    }

    /// The names that are listed, in lower case.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether an address is in a network that is listed.
    pub fn have(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(&address))
    }

    /// Whether a name is listed, by itself: one that ends in it is not.
    pub fn name(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        self.names.iter().any(|listed| listed.eq_ignore_ascii_case(name))
    }
}

impl FromStr for Destinations {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::default();
        if text.is_empty() || text == "none" {
            return Ok(all);
        }
        for entry in text.split(',').map(str::trim) {
            if let Some(network) = entry.parse().ok().or_else(|| entry.parse().map(|of: IpAddr| of.into()).ok()) {
                all.networks.push(network);
            } else if is_name(entry) {
                all.names.push(entry.to_ascii_lowercase());
            } else {
                return Err(format!("{entry:?} must be an address, a network such as 10.0.0.0/8, or a host name"));
            }
        }
        Ok(all)
    }
}

/// Whether it can be looked up as it stands. What ends in a number is an address that was mistyped, which no URL has for a name.
fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let is_number = |label: &str| label.starts_with(|first: char| first.is_ascii_digit());
    text.len() <= NAME_BYTES && text.split('.').all(is_label) && !text.rsplit('.').next().is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::Destinations;

    #[test]
    fn networks_addresses_and_names_stand_in_one_list() {
        let listed: Destinations = "10.1.0.0/16, 192.168.7.7,fd00:1::/32,Hooks.internal,relay".parse().unwrap();
        for (address, is_listed) in [
            ("10.1.255.1", true),
            ("10.2.0.1", false),
            ("192.168.7.7", true),
            ("192.168.7.8", false),
            ("fd00:1::9", true),
        ] {
            assert_eq!(listed.have(address.parse().unwrap()), is_listed, "{address}");
        }
        for (name, is_listed) in
            [("hooks.internal", true), ("HOOKS.internal.", true), ("a.hooks.internal", false), ("internal", false)]
        {
            assert_eq!(listed.name(name), is_listed, "{name}");
        }
        for nothing in ["", "none"] {
            assert_eq!(nothing.parse::<Destinations>().unwrap(), Destinations::default());
        }
    }

    #[test]
    fn what_is_none_of_them_is_named() {
        for wrong in
            ["10.0.0.0/40", "10.0.0.256", "10.0.0", "*.internal", "http://a", "a:80", "a,", "ü.example", "0x7f.0x1"]
        {
            let told = wrong.parse::<Destinations>().unwrap_err();
            assert!(told.ends_with("must be an address, a network such as 10.0.0.0/8, or a host name"), "{told}");
        }
    }
}
