//! Absolute links for messages that leave the server.

use super::Destination;
use base::error::{Error, Result};
use model::validate;

/// Checks the base URL for links that are paths: an absolute http(s) URL without credentials.
pub fn check_base_url(base: &str) -> Result<()> {
    validate::link("linkBase", base)?;
    if !base.starts_with("https://") && !base.starts_with("http://") {
        return Err(Error::bad_input("linkBase", "must be an absolute http(s) URL"));
    }
    let url = reqwest::Url::parse(base).map_err(|_| Error::bad_input("linkBase", "must be a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::bad_input(
            "linkBase",
            "must not have a user name or password: recipients of links would see them",
        ));
    }
    Ok(())
}

/// The absolute form of a link. `None` if it is a path and the destination has no base URL.
pub fn absolute_link(destination: &Destination, link: &str) -> Option<String> {
    if !link.starts_with('/') {
        return Some(link.to_owned());
    }
    let base = reqwest::Url::parse(destination.link_base.as_deref()?).ok()?;
    Some(base.join(link).ok()?.into())
}
