//! Reports the condition of all destinations, for the operator. Sends nothing.

use std::collections::{BTreeMap, HashMap};

use entity::destination::{Column, Entity as Destinations};
use entity::ids::TenantId;
use entity::prelude::*;
use entity::tenant::{self, Entity as Tenants};

use super::{Destination, DestinationKind, DestinationState, kind_noun, vault_owner_by_id};
use base::clock::Millis;
use base::error::{Error, Result};
use outside::vault::Vault;
use store::Database;

/// The destinations of one tenant.
#[derive(Debug, Default)]
pub struct DestinationReport {
    kinds: BTreeMap<DestinationKind, KindReport>,
    secrets: usize,
    /// How many secrets the vault cannot open, and the error for the first.
    closed: Option<(usize, String)>,
}

/// How many destinations of one kind exist, and how many of them are disabled or backing off.
#[derive(Debug, Default)]
struct KindReport {
    many: usize,
    disabled: usize,
    resting: usize,
}

/// Examines all destinations and tries to open their secrets. By tenant code; only tenants with a destination.
pub async fn examine_destinations(
    db: &Database,
    vault: &Vault,
    now: Millis,
) -> Result<BTreeMap<String, DestinationReport>> {
    let mut found: BTreeMap<String, DestinationReport> = BTreeMap::new();
    let mut after = 0;
    loop {
        let some = Destinations::find().filter(Column::Id.gt(after)).order_by_asc(Column::Id).limit(LIST as u64);
        let some = some.all(&db.read).await?;
        let Some(last) = some.last() else { return Ok(found) };
        after = last.id;
        let codes = load_tenant_codes(db, &some).await?;
        for destination in &some {
            let Some(code) = codes.get(&destination.tenant_id) else { continue };
            found.entry(code.clone()).or_default().add_destination(destination, vault, now);
        }
    }
}

async fn load_tenant_codes(db: &Database, destinations: &[Destination]) -> Result<HashMap<TenantId, String>> {
    let mut ids: Vec<TenantId> = destinations.iter().map(|of| of.tenant_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let of = Tenants::find().filter(tenant::Column::Id.is_in_list(&db.read, &ids)).select_only();
    let of = of.columns([tenant::Column::Id, tenant::Column::Code]).into_tuple::<(TenantId, String)>();
    Ok(of.all(&db.read).await?.into_iter().collect())
}

impl DestinationReport {
    fn add_destination(&mut self, destination: &Destination, vault: &Vault, now: Millis) {
        let standing = self.kinds.entry(destination.kind).or_default();
        standing.many += 1;
        match destination.state {
            DestinationState::Disabled => standing.disabled += 1,
            DestinationState::Active if destination.open_until > now => standing.resting += 1,
            DestinationState::Active | DestinationState::Paused => {}
        }
        let previous = destination
            .previous_secret
            .as_ref()
            .filter(|_| destination.previous_until.is_some_and(|until| until > now));
        for sealed in [&destination.secret].into_iter().chain(previous) {
            self.secrets += 1;
            if let Err(error) = vault.open(&vault_owner_by_id(destination.tenant_id, destination.id), sealed) {
                self.closed.get_or_insert_with(|| (0, error.log_message())).0 += 1;
            }
        }
    }

    /// The report as text, or an error if a secret cannot be opened.
    pub fn to_report_text(&self) -> Result<String> {
        let destinations: Vec<String> =
            self.kinds.iter().map(|(kind, standing)| standing.summary_text(*kind)).collect();
        let destinations = destinations.join(", ");
        match &self.closed {
            None => Ok(format!("{destinations}; their secrets can be decrypted")),
            Some((many, why)) => Err(Error::Config(format!(
                "{destinations}; of {} secrets {many} cannot be decrypted: {why}",
                self.secrets
            ))),
        }
    }
}

impl KindReport {
    fn summary_text(&self, kind: DestinationKind) -> String {
        let Self { many, disabled, resting } = self;
        format!(
            "{many} {}{} ({disabled} disabled, {resting} resting)",
            kind_noun(kind),
            if *many == 1 { "" } else { "s" }
        )
    }
}
