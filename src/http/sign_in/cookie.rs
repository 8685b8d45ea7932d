//! The cookies of the sign-in.
//!
//! Browsers accept a cookie with the prefix `__Host-` only over HTTPS and from this host, so that no host under the
//! same domain can replace it (RFC 6265bis, section 4.1.3). On localhost, without HTTPS, the cookies have no prefix.

use axum::http::{HeaderMap, HeaderValue, header};

use base::config::PublicUrl;
use base::error::{Error, Result};

/// A cookie of the sign-in.
#[derive(Clone, Copy, Debug)]
pub enum SignInCookie {
    /// The signed-in session. Never sent with requests from other sites, not even with a link.
    Session,
    /// A sign-in in progress. Sent with links from other sites, because the provider returns the user with a link.
    Attempt,
    /// The provider's ID token, which ends the provider's session. Because of its length it has a narrow path.
    Hint,
}

impl SignInCookie {
    /// The cookie's value in a request.
    pub fn read(self, headers: &HeaderMap, public: &PublicUrl) -> Option<String> {
        let name = self.name(public);
        let all = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(of, _)| *of == name).map(|(_, value)| value.to_owned())
    }

    /// Sets the cookie for this many seconds.
    pub fn set_header(self, public: &PublicUrl, value: &str, seconds: i64) -> Result<HeaderValue> {
        let (name, path) = (self.name(public), self.path(public));
        let secure = if public.is_encrypted() { "; Secure" } else { "" };
        let site = if matches!(self, Self::Attempt) { "Lax" } else { "Strict" };
        let cookie = format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite={site}{secure}");
        HeaderValue::from_str(&cookie).map_err(Error::internal)
    }

    /// Deletes the cookie.
    pub fn clear_header(self, public: &PublicUrl) -> Result<HeaderValue> {
        self.set_header(public, "", 0)
    }

    fn name(self, public: &PublicUrl) -> String {
        let (prefix, name) = match self {
            Self::Session => ("__Host-", "tidings_session"),
            Self::Attempt => ("__Host-", "tidings_sign_in"),
            // `__Host-` requires the path `/`.
            Self::Hint => ("__Secure-", "tidings_sign_out"),
        };
        if public.is_encrypted() { format!("{prefix}{name}") } else { name.to_owned() }
    }

    fn path(self, public: &PublicUrl) -> String {
        match self {
            Self::Session | Self::Attempt => "/".to_owned(),
            Self::Hint => format!("{}/desk/session", public.path()),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::SignInCookie;
    use base::config::PublicUrl;

    #[test]
    fn cookies_are_for_this_host_and_no_script() {
        let public: PublicUrl = "https://example.com/tidings".parse().unwrap();
        let here: PublicUrl = "http://127.0.0.1:8080".parse().unwrap();
        for (cookie, of, written) in [
            (
                SignInCookie::Session,
                &public,
                "__Host-tidings_session=a; Path=/; Max-Age=9; HttpOnly; SameSite=Strict; Secure",
            ),
            (
                SignInCookie::Attempt,
                &public,
                "__Host-tidings_sign_in=a; Path=/; Max-Age=9; HttpOnly; SameSite=Lax; Secure",
            ),
            (
                SignInCookie::Hint,
                &public,
                "__Secure-tidings_sign_out=a; Path=/tidings/desk/session; Max-Age=9; HttpOnly; SameSite=Strict; Secure",
            ),
            (SignInCookie::Session, &here, "tidings_session=a; Path=/; Max-Age=9; HttpOnly; SameSite=Strict"),
            (SignInCookie::Hint, &here, "tidings_sign_out=a; Path=/desk/session; Max-Age=9; HttpOnly; SameSite=Strict"),
        ] {
            assert_eq!(cookie.set_header(of, "a", 9).unwrap(), written);
        }
        assert!(SignInCookie::Session.set_header(&public, "a\nb", 9).is_err());
    }

    #[test]
    fn a_cookie_is_found_among_others_by_its_whole_name() {
        let public: PublicUrl = "https://example.com".parse().unwrap();
        for (lines, found) in [
            (&["__Host-tidings_session=a"][..], Some("a")),
            (&["x=1; __Host-tidings_session=a=b; y=2"], Some("a=b")),
            (&["x=1", "__Host-tidings_session=a"], Some("a")),
            (&["tidings_session=a"], None),
            (&["x__Host-tidings_session=a"], None),
            (&["__host-tidings_session=a"], None),
            (&["__Host-tidings_session"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, HeaderValue::from_static(line));
            }
            assert_eq!(SignInCookie::Session.read(&headers, &public).as_deref(), found, "{lines:?}");
        }
    }
}
