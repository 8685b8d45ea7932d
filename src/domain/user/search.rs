//! Searches users by id and name.

use super::statement::{self, Beginning};
use super::{Profile, Tenant};
use crate::app::App;
use crate::error::Result;
use crate::model::check;
use crate::model::user::folded;

/// Up to `many` users: first those with ids that begin with the text, an exact match before all, then those with such
/// names. Case does not matter in names.
pub async fn search(app: &App, tenant: &Tenant, text: &str, many: usize) -> Result<Vec<Profile>> {
    let text = text.trim();
    check::code("text", text)?;
    let name = folded(text);
    let mut found: Vec<Profile> = Vec::new();
    for of in [(Beginning::Id, text), (Beginning::Name, name.as_str())] {
        if found.len() < many {
            let some =
                statement::beginning(&app.db.read, tenant, of, many as u64).rows::<Profile>(&app.db.read).await?;
            let new: Vec<Profile> = some.into_iter().filter(|of| found.iter().all(|known| known.id != of.id)).collect();
            found.extend(new);
        }
    }
    found.truncate(many);
    Ok(found)
}
