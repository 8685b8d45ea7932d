//! Whether the groups exist that inputs name.

use std::collections::BTreeSet;

use super::input::{Addressees, Input};
use crate::app::App;
use crate::domain::channel;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};

/// What is to be refused besides, with the place of each, because it names a group that there is not: one statement where
/// any names one.
pub(super) async fn refuse(
    app: &App,
    tenant: &Tenant,
    inputs: &[Input],
    refused: &[(usize, Error)],
    path: impl Fn(usize) -> String,
) -> Result<Vec<(usize, Error)>> {
    let groups = |(place, input): (usize, &Input)| match &input.addressees {
        Addressees::Groups(codes) => Some((place, codes.clone())),
        _ => None,
    };
    let mut named: Vec<(usize, Vec<String>)> = inputs.iter().enumerate().filter_map(groups).collect();
    named.retain(|(place, _)| !refused.iter().any(|(of, _)| of == place));
    let codes: BTreeSet<String> = named.iter().flat_map(|(_, codes)| codes.clone()).collect();
    let known = channel::named_groups(&app.db.read, tenant, &Vec::from_iter(codes)).await?;
    let missing = |(place, codes): &(usize, Vec<String>)| {
        let (at, code) = codes.iter().enumerate().find(|(_, code)| !known.contains_key(*code))?;
        let error = Error::bad_input(format!("audience.groups[{at}]"), format!("names no group: {code:?}"));
        Some((*place, error.within(&path(*place))))
    };
    Ok(named.iter().filter_map(missing).collect())
}
