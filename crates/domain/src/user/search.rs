//! Searches users by id and name.

use super::queries::{self, PrefixField};
use super::{Tenant, UserProfile};
use base::error::Result;
use model::user::folded_name;
use model::validate;
use store::Store;

/// Up to `many` users: first those with ids that begin with the text, an exact match before all, then those with such
/// names. Case does not matter in names.
pub async fn search(store: &Store, tenant: &Tenant, text: &str, many: usize) -> Result<Vec<UserProfile>> {
    let text = text.trim();
    validate::identifier("text", text)?;
    let name = folded_name(text);
    let mut found: Vec<UserProfile> = Vec::new();
    for of in [(PrefixField::Id, text), (PrefixField::Name, name.as_str())] {
        if found.len() < many {
            let some = queries::select_by_prefix(&store.db.read, tenant, of, many as u64)
                .fetch_by_name::<UserProfile>(&store.db.read)
                .await?;
            let new: Vec<UserProfile> =
                some.into_iter().filter(|of| found.iter().all(|known| known.id != of.id)).collect();
            found.extend(new);
        }
    }
    found.truncate(many);
    Ok(found)
}
