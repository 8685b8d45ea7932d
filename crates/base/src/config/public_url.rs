//! The URL at which users reach this server.

use std::net::IpAddr;
use std::str::FromStr;

use clap::Args;
use reqwest::Url;

/// Settings of links to this server.
#[derive(Args, Clone, Debug, Default)]
pub struct PublicConfig {
    /// http(s) URL at which users reach this server (`https://inbox.example.com`); with it, emails contain a link to
    /// unsubscribe.
    #[arg(id = "public_url", long = "public-url", env = "TIDINGS_PUBLIC_URL")]
    pub url: Option<PublicUrl>,
}

/// An absolute http or https URL: a host, an optional port, an optional path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(Url);

impl PublicUrl {
    /// The URL of one of the server's pages, given the segments of its path.
    pub fn page_url(&self, parts: &[&str]) -> String {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        url.into()
    }

    /// The origin of all pages, as browsers send it.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// The path that all pages are below, without a slash at its end.
    pub fn path(&self) -> &str {
        self.0.path().trim_end_matches('/')
    }

    /// Whether the scheme is `https`.
    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether traffic to this URL cannot be read on the way.
    pub fn is_confidential(&self) -> bool {
        is_confidential(&self.0)
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        let why = "must be an absolute http(s) URL such as https://inbox.example.com, without query and fragment";
        let url = url.filter(|url| url.query().is_none() && url.fragment().is_none()).ok_or(why)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not have a user or password: recipients of emails see this URL".into());
        }
        Ok(Self(url))
    }
}

/// Whether traffic to the URL cannot be read on the way: it is encrypted or stays on this machine.
pub fn is_confidential(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let is_here = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    };
    url.scheme() == "https" || url.scheme() == "http" && is_here
}

#[cfg(test)]
mod tests {
    use super::PublicUrl;

    #[test]
    fn pages_are_below_it_with_or_without_a_path() {
        for (base, page) in [
            ("https://inbox.example.com", "https://inbox.example.com/a/b%2Fc"),
            ("https://inbox.example.com/", "https://inbox.example.com/a/b%2Fc"),
            ("http://127.0.0.1:8080/tidings", "http://127.0.0.1:8080/tidings/a/b%2Fc"),
            ("https://example.com/tidings/", "https://example.com/tidings/a/b%2Fc"),
        ] {
            assert_eq!(base.parse::<PublicUrl>().unwrap().page_url(&["a", "b/c"]), page);
        }
    }

    #[test]
    fn what_leads_nowhere_or_has_more_is_none() {
        for wrong in [
            "",
            "inbox.example.com",
            "/inbox",
            "ftp://example.com",
            "https://",
            "https://example.com/?a=b",
            "https://example.com/#a",
        ] {
            assert!(wrong.parse::<PublicUrl>().unwrap_err().starts_with("must be an absolute http(s) URL"), "{wrong}");
        }
        for wrong in ["https://user:password@example.com", "https://user@example.com", "https://:password@example.com"]
        {
            assert!(wrong.parse::<PublicUrl>().unwrap_err().starts_with("must not have a user or password"), "{wrong}");
        }
    }
}
