//! URLs with several hosts. One of the hosts takes writes.

use base::error::{Error, Result};

/// The parameter of a PostgreSQL URL that selects the kind of server.
const ATTRIBUTE: &str = "target_session_attrs";

/// The URL for each host in `url`, in order of preference. `setting` is the setting's name, for errors.
///
/// Fails with `Config` if a host is empty, or if the URL asks for a server that takes no writes.
pub fn urls_by_host(setting: &str, url: &str) -> Result<Vec<String>> {
    let url = without_session_attribute(setting, url)?;
    let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| *scheme != "sqlite") else {
        return Ok(vec![url]);
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // A password may hold an `@` that is not percent-encoded.
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
    let user = if user.is_empty() { String::new() } else { format!("{user}@") };
    if hosts.contains(',') && hosts.split(',').any(str::is_empty) {
        return Err(Error::Config(format!("{setting} has an empty host between commas")));
    }
    Ok(hosts.split(',').map(|host| format!("{scheme}://{user}{host}{path}")).collect())
}

/// The URL without `target_session_attrs`: Tidings always uses the host that takes writes.
fn without_session_attribute(setting: &str, url: &str) -> Result<String> {
    let Some((before, query)) = url.split_once('?') else { return Ok(url.to_owned()) };
    let mut kept = Vec::new();
    for part in query.split('&') {
        match part.split_once('=') {
            Some((ATTRIBUTE, "read-write" | "primary")) => {}
            Some((ATTRIBUTE, other)) => {
                return Err(Error::Config(format!(
                    "{setting} asks for {ATTRIBUTE}={other}: it must be read-write or primary, because Tidings writes"
                )));
            }
            _ => kept.push(part),
        }
    }
    Ok(if kept.is_empty() { before.to_owned() } else { format!("{before}?{}", kept.join("&")) })
}

#[cfg(test)]
mod tests {
    use super::urls_by_host;

    #[test]
    fn each_host_has_a_url() {
        let of = |url: &str| urls_by_host("DATABASE_URL", url).unwrap();
        assert_eq!(of("sqlite://a,b.db?mode=rwc"), ["sqlite://a,b.db?mode=rwc"]);
        assert_eq!(of("postgres://u:p@a/db?sslmode=require"), ["postgres://u:p@a/db?sslmode=require"]);
        assert_eq!(
            of("postgres://u:p,q@a:5433,b/db?target_session_attrs=read-write&sslmode=require"),
            ["postgres://u:p,q@a:5433/db?sslmode=require", "postgres://u:p,q@b/db?sslmode=require"]
        );
        assert_eq!(of("mysql://a,[::1]:3307/db"), ["mysql://a/db", "mysql://[::1]:3307/db"]);
        assert_eq!(of("postgres://a/db?target_session_attrs=primary"), ["postgres://a/db"]);
    }

    #[test]
    fn a_host_without_a_name_and_a_server_that_takes_no_writes_are_refused() {
        let why = |url: &str| urls_by_host("DATABASE_URL", url).unwrap_err().to_string();
        assert!(why("postgres://a,,b/db").contains("DATABASE_URL has an empty host"));
        for other in ["any", "standby", "read-only", "prefer-standby", ""] {
            assert!(why(&format!("postgres://a/db?target_session_attrs={other}")).contains("read-write or primary"));
        }
    }
}
