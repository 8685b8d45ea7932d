//! Decides which addresses requests may reach: the public internet, and exceptions listed in `TIDINGS_EGRESS_ALLOW`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use reqwest::Url;

use base::config::{AllowedDestinations, EgressConfig};
use base::error::{Error, Result};

/// Maximum bytes of a URL.
pub(super) const URL_BYTES: usize = 2048;

/// IPv4 ranges that are not public (IANA, IPv4 Special-Purpose Address Registry).
const SPECIAL_V4: [Ipv4Net; 15] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
];

/// The only public IPv6 range. It excludes `::`, `::1`, addresses that embed IPv4, `fc00::/7`, `fe80::/10` and
/// `ff00::/8`.
const GLOBAL_V6: Ipv6Net = v6([0x2000, 0, 0, 0], 3);
/// Ranges in it that are not public (IANA, IPv6 Special-Purpose Address Registry): protocols with Teredo, two for
/// documentation, and 6to4.
const SPECIAL_V6: [Ipv6Net; 4] =
    [v6([0x2001, 0, 0, 0], 23), v6([0x2001, 0xdb8, 0, 0], 32), v6([0x2002, 0, 0, 0], 16), v6([0x3fff, 0, 0, 0], 20)];

/// Ranges that no setting allows: link-local addresses and metadata services of clouds, which give out credentials.
const NEVER: [IpNet; 8] = [
    IpNet::V4(v4([169, 254, 0, 0], 16)),
    IpNet::V6(v6([0xfe80, 0, 0, 0], 10)),
    // Alibaba, Azure, Oracle.
    IpNet::V4(v4([100, 100, 100, 200], 32)),
    IpNet::V4(v4([168, 63, 129, 16], 32)),
    IpNet::V4(v4([192, 0, 0, 192], 32)),
    // Amazon, Oracle, Google.
    IpNet::V6(v6([0xfd00, 0xec2, 0, 0], 32)),
    IpNet::V6(v6([0xfd00, 0xc1, 0, 0], 32)),
    IpNet::V6(v6([0xfd20, 0xce, 0, 0], 64)),
];

/// NAT64 (RFC 6052): the last 32 bits are an IPv4 address.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0, 0], 96);
/// 6to4 (RFC 3056): the 32 bits after the prefix are an IPv4 address.
const SIX_TO_FOUR: Ipv6Net = v6([0x2002, 0, 0, 0], 16);

const fn v4([a, b, c, d]: [u8; 4], bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6([a, b, c, d]: [u16; 4], bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), bits)
}

/// Whether the address is on the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_V6.contains(&address) && !SPECIAL_V6.iter().any(|network| network.contains(&address))
        }
    }
}

/// The IPv4 address that a NAT64 or 6to4 address leads to.
fn embedded_ipv4(address: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(address) = address else { return None };
    let at = match address {
        _ if NAT64.contains(&address) => 12,
        _ if SIX_TO_FOUR.contains(&address) => 2,
        _ => return None,
    };
    let octets: [u8; 4] = address.octets()[at..at + 4].try_into().ok()?;
    Some(Ipv4Addr::from(octets).into())
}

/// Checks addresses and URLs against the settings.
#[derive(Debug)]
pub(super) struct EgressPolicy {
    allow: AllowedDestinations,
}

impl EgressPolicy {
    /// Fails with `Config` if the settings allow a network that is never allowed.
    pub fn new(config: &EgressConfig) -> Result<Self> {
        let is_lost = |network: &IpNet| NEVER.iter().any(|never| never.contains(network));
        match config.allow.networks().find(is_lost) {
            Some(lost) => Err(Error::Config(format!(
                "TIDINGS_EGRESS_ALLOW has {lost}, which is never allowed: it is link-local, or serves a cloud's credentials"
            ))),
            None => Ok(Self { allow: config.allow.clone() }),
        }
    }

    /// Whether requests may reach an address at a port. `name` is the host name that it was looked up by, if any.
    pub fn is_permitted(&self, name: Option<&str>, address: IpAddr, port: u16) -> bool {
        // The system treats an IPv4-mapped IPv6 address as the IPv4 address.
        let address = address.to_canonical();
        if NEVER.iter().any(|network| network.contains(&address)) {
            return false;
        }
        match embedded_ipv4(address) {
            // Allowing the translator's range does not allow every address behind it.
            Some(further) => self.is_allowed(name, address, port) && self.is_permitted(name, further, port),
            None => is_public(address) || self.is_allowed(name, address, port),
        }
    }

    /// Whether the settings list a host at a port; an IPv6 address may have brackets, as in URLs.
    pub fn is_listed(&self, host: &str, port: u16) -> bool {
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => self.allow.has_address(address.to_canonical(), port),
            Err(_) => self.allow.has_name(host, port),
        }
    }

    /// The port if an entry is limited to it, otherwise 0: all other ports have the same rules.
    pub fn port_class(&self, port: u16) -> u16 {
        if self.allow.has_port(port) { port } else { 0 }
    }

    fn is_allowed(&self, name: Option<&str>, address: IpAddr, port: u16) -> bool {
        self.allow.has_address(address, port) || name.is_some_and(|name| self.allow.has_name(name, port))
    }

    /// Parses a URL that a request may be sent to. The error is worded to follow a name: `must …`.
    ///
    /// Names are not looked up here, because the address can change before the request is sent.
    pub fn parse_url(&self, text: &str) -> Result<Url, String> {
        if text.len() > URL_BYTES {
            return Err(format!("must have at most {URL_BYTES} bytes, not {}", text.len()));
        }
        // URL parsers skip these characters, so other programs would read another URL than the one checked here.
        if text.chars().any(|character| character.is_control() || character.is_whitespace()) {
            return Err("must not contain white space or control characters".into());
        }
        let url = Url::parse(text).map_err(|_| "must be an absolute https URL".to_owned())?;
        if url.as_str().len() > URL_BYTES {
            return Err(format!("must have at most {URL_BYTES} bytes once it is percent-encoded"));
        }
        if !matches!(url.scheme(), "https" | "http") {
            return Err("must be an absolute https URL".into());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not have a user name or password".into());
        }
        if url.fragment().is_some() {
            return Err("must not have a fragment".into());
        }
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or_default();
        let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        if address.is_some_and(|address| !self.is_permitted(None, address, port)) {
            return Err("must not lead to a private or reserved address".into());
        }
        if url.scheme() == "http" && !self.is_listed(host, port) {
            return Err("must begin with https: (http: only for hosts that TIDINGS_EGRESS_ALLOW lists)".into());
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::EgressPolicy;
    use base::config::EgressConfig;

    fn gate(allow: &str) -> EgressPolicy {
        EgressPolicy::new(&EgressConfig { allow: allow.parse().unwrap(), ..EgressConfig::default() }).unwrap()
    }

    /// The first and last address of each refused range, and addresses that lead into one.
    const REFUSED: &str = "0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.0.0.1 \
        127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 \
        192.0.0.255 192.0.2.0 192.0.2.255 192.88.99.0 192.88.99.255 192.168.0.0 192.168.255.255 198.18.0.0 \
        198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0 239.255.255.255 \
        240.0.0.0 255.255.255.255 100.100.100.200 168.63.129.16 :: ::1 ::2 ::7f00:1 ::ffff:127.0.0.1 \
        ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 64:ff9b::1 64:ff9b::7f00:1 \
        64:ff9b::808:808 64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:1ff:ffff::1 2001:db8::1 2002::1 \
        2002:7f00:1::1 3fff::1 3fff:fff:ffff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fdff:ffff::1 fe80::1 \
        febf::1 fec0::1 ff00::1 ff02::1 ffff::1";

    /// The addresses next to those ranges.
    const REACHED: &str = "1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 \
        169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 \
        198.20.0.0 223.255.255.255 8.8.8.8 ::ffff:8.8.8.8 2000::1 2001:200::1 2001:4860:4860::8888 \
        2001:db7::1 2001:db9::1 2003::1 2a00:1450::1 3ffe::1 3fff:1000::1";

    #[test]
    fn nothing_but_the_public_internet_is_reached() {
        let gate = gate("none");
        for refused in REFUSED.split_whitespace() {
            assert!(!gate.is_permitted(None, refused.parse().unwrap(), 443), "{refused}");
            assert!(!gate.is_permitted(Some("hooks.example"), refused.parse().unwrap(), 443), "{refused}");
        }
        for reached in REACHED.split_whitespace() {
            assert!(gate.is_permitted(None, reached.parse().unwrap(), 443), "{reached}");
        }
    }

    #[test]
    fn what_is_listed_is_let_through_and_this_link_never() {
        let listed = gate("0.0.0.0/0,::/0,relay");
        for (address, is_let) in [
            ("127.0.0.1", true),
            ("10.0.0.1", true),
            ("::1", true),
            ("fc00::1", true),
            ("64:ff9b::10.0.0.1", true),
            ("169.254.169.254", false),
            ("::ffff:169.254.169.254", false),
            ("64:ff9b::169.254.169.254", false),
            ("2002:a9fe:a9fe::1", false),
            ("2002:a00:1::1", true),
            ("fe80::1", false),
            ("fd00:ec2::254", false),
            ("100.100.100.200", false),
            ("168.63.129.16", false),
        ] {
            assert_eq!(listed.is_permitted(None, address.parse().unwrap(), 443), is_let, "{address}");
            assert_eq!(gate("relay").is_permitted(Some("relay"), address.parse().unwrap(), 443), is_let, "{address}");
            assert!(!gate("relay").is_permitted(Some("other"), address.parse().unwrap(), 443), "{address}");
        }
        let translating = gate("64:ff9b::/96");
        assert!(translating.is_permitted(None, "64:ff9b::8.8.8.8".parse().unwrap(), 443));
        assert!(!translating.is_permitted(None, "64:ff9b::10.0.0.1".parse().unwrap(), 443));
        for lost in ["169.254.0.0/16", "169.254.169.254", "fe80::/10", "fd00:ec2::254"] {
            let told = EgressPolicy::new(&EgressConfig { allow: lost.parse().unwrap(), ..EgressConfig::default() })
                .unwrap_err()
                .to_string();
            assert!(told.starts_with("TIDINGS_EGRESS_ALLOW has ") && told.contains("is never allowed"), "{told}");
        }
    }

    #[test]
    fn what_is_listed_at_one_port_is_closed_at_all_others() {
        let gate = gate("10.0.0.0/8:8443,relay:8080");
        for (url, is_let) in [
            ("https://10.1.2.3:8443/", true),
            ("http://10.1.2.3:8443/", true),
            ("https://10.1.2.3/", false),
            ("https://10.1.2.3:6379/", false),
            ("http://relay:8080/", true),
            ("http://relay:8081/", false),
            ("http://relay/", false),
            ("https://8.8.8.8:1234/", true),
        ] {
            assert_eq!(gate.parse_url(url).is_ok(), is_let, "{url}");
        }
        assert!(gate.is_permitted(Some("relay"), "10.9.9.9".parse().unwrap(), 8080));
        assert!(!gate.is_permitted(Some("relay"), "10.9.9.9".parse().unwrap(), 6379));
        assert_eq!((gate.port_class(8443), gate.port_class(8080), gate.port_class(443)), (8443, 8080, 0));
    }

    #[test]
    fn a_url_is_of_https_and_of_a_public_host() {
        let gate = gate("10.1.0.0/16,127.0.0.1,relay");
        for (url, as_kept) in [
            ("https://hooks.example/a?b=c", "https://hooks.example/a?b=c"),
            ("HTTPS://Hooks.Example:8443", "https://hooks.example:8443/"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://8.8.8.8/", "https://8.8.8.8/"),
            ("https://[2a00:1450::1]/", "https://[2a00:1450::1]/"),
            ("http://relay:8080/", "http://relay:8080/"),
            ("http://relay./", "http://relay./"),
            ("http://10.1.2.3/", "http://10.1.2.3/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
        ] {
            assert_eq!(gate.parse_url(url).unwrap().as_str(), as_kept);
        }
        let private = "must not lead to a private or reserved address";
        let long = format!("https://hooks.example/{}", "a".repeat(2048));
        let grows = format!("https://hooks.example/{}", "ü".repeat(500));
        for (url, words) in [
            ("", "must be an absolute https URL"),
            ("/hooks", "must be an absolute https URL"),
            ("https://", "must be an absolute https URL"),
            ("https://256.1.1.1/", "must be an absolute https URL"),
            ("ftp://hooks.example/", "must be an absolute https URL"),
            ("file:///etc/passwd", "must be an absolute https URL"),
            ("data:text/plain,a", "must be an absolute https URL"),
            ("http://hooks.example/", "must begin with https:"),
            ("http://8.8.8.8/", "must begin with https:"),
            ("http://a.relay/", "must begin with https:"),
            ("https://ada@hooks.example/", "must not have a user name or password"),
            ("https://:b@hooks.example/", "must not have a user name or password"),
            ("https://hooks.example/#a", "must not have a fragment"),
            ("https://hooks.example/#", "must not have a fragment"),
            ("https://hooks.example/a\tb", "must not contain white space"),
            (" https://hooks.example/", "must not contain white space"),
            (&long, "must have at most 2048 bytes, not 2070"),
            (&grows, "must have at most 2048 bytes once"),
            ("https://127.0.0.2/", private),
            ("https://2130706434/", private),
            ("https://0177.0.0.2/", private),
            ("https://0x7f000002/", private),
            ("https://127.2/", private),
            ("https://127.0.0.2./", private),
            ("https://[::1]/", private),
            ("https://[::ffff:127.0.0.2]/", private),
            ("https://[::ffff:a9fe:a9fe]/", private),
            ("https://[64:ff9b::7f00:1]/", private),
            ("https://169.254.169.254/latest/meta-data", private),
            ("http://169.254.169.254/latest/meta-data", private),
            ("https://2852039166/", private),
            ("https://０ｘ７ｆ。０。０。２/", private),
        ] {
            let told = gate.parse_url(url).unwrap_err();
            assert!(told.contains(words), "{url}: {told}");
        }
    }
}
