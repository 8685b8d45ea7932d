//! Finding users by what is known of them.

use super::statement::{self, Beginning};
use super::{Profile, Tenant};
use crate::app::App;
use crate::error::Result;
use crate::model::check;
use crate::model::user::folded;

/// So many users at the most: those whose id begins with a text, the one whose id it is first, and then those whose name does, without
/// regard to case.
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
