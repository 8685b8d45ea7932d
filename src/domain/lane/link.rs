//! Where links lead from outside.

use super::Lane;
use crate::error::{Error, Result};
use crate::model::check;

/// What links that are paths may belong to: an absolute URL of http or https.
pub fn check_base(base: &str) -> Result<()> {
    check::link("linkBase", base)?;
    if !base.starts_with("https://") && !base.starts_with("http://") {
        return Err(Error::bad_input("linkBase", "must be an absolute URL of http or https"));
    }
    let url = reqwest::Url::parse(base).map_err(|_| Error::bad_input("linkBase", "must be a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::bad_input(
            "linkBase",
            "must not have a name or password: whoever gets a link would read it",
        ));
    }
    Ok(())
}

/// Where a link leads from what a lane sends; nothing where it is a path and the lane does not say of what.
pub fn absolute(lane: &Lane, link: &str) -> Option<String> {
    if !link.starts_with('/') {
        return Some(link.to_owned());
    }
    let base = reqwest::Url::parse(lane.link_base.as_deref()?).ok()?;
    Some(base.join(link).ok()?.into())
}
