//! Finding users by what is known of them.

use super::statement::{self, Beginning};
use super::{Profile, Tenant};
use crate::app::App;
use crate::error::{Error, Result};
use crate::model::check;
use crate::model::user::folded;

/// The most users of one search.
pub const MOST: usize = 200;

/// Users whose id begins with a text, the one whose id it is first, and then those whose name does, without regard to case.
pub async fn search(app: &App, tenant: &Tenant, text: &str, many: usize) -> Result<Vec<Profile>> {
    let text = text.trim();
    check::code("text", text)?;
    if !(1..=MOST).contains(&many) {
        return Err(Error::bad_input("first", format!("must be 1 to {MOST}, not {many}")));
    }
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
