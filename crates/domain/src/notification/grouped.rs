//! Checks that the groups named by inputs exist.

use std::collections::BTreeSet;

use super::input::{Addressees, NotificationInput};
use crate::channel;
use crate::tenant::Tenant;
use base::error::{Error, Result};
use store::Store;

/// The errors of inputs that name an unknown group and are not in `refused`, each with the input's position: one
/// statement if any input names a group.
pub(super) async fn check_groups(
    store: &Store,
    tenant: &Tenant,
    inputs: &[NotificationInput],
    refused: &[(usize, Error)],
    path: impl Fn(usize) -> String,
) -> Result<Vec<(usize, Error)>> {
    let groups = |(place, input): (usize, &NotificationInput)| match &input.addressees {
        Addressees::Groups(codes) => Some((place, codes.clone())),
        _ => None,
    };
    let mut named: Vec<(usize, Vec<String>)> = inputs.iter().enumerate().filter_map(groups).collect();
    named.retain(|(place, _)| !refused.iter().any(|(of, _)| of == place));
    let codes: BTreeSet<String> = named.iter().flat_map(|(_, codes)| codes.clone()).collect();
    let known = channel::find_groups(&store.db.read, tenant, &Vec::from_iter(codes)).await?;
    let missing = |(place, codes): &(usize, Vec<String>)| {
        let (at, code) = codes.iter().enumerate().find(|(_, code)| !known.contains_key(*code))?;
        let error = Error::bad_input(
            format!("audience.groups[{at}]"),
            format!("names no group: {code:?}; create it with saveUserGroup"),
        );
        Some((*place, error.with_field_prefix(&path(*place))))
    };
    Ok(named.iter().filter_map(missing).collect())
}
