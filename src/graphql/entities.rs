//! The users of a supergraph (Apollo Federation 2): those whom a gateway names together are found together.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{Any, Context, ID, InputType, Result, Value};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::context::Call;
use super::user::{Siblings, USERS, User};
use crate::domain::user;
use crate::error::Error;

type Users = HashMap<String, User>;

/// What the `_entities` of a request have found, by the names of their answers.
///
/// The library asks for each user alone. Whoever comes first finds all whom their field names.
#[derive(Default)]
pub struct Entities(Mutex<HashMap<String, Arc<OnceCell<Users>>>>);

impl Entities {
    /// One of the users whom the field under way names.
    pub async fn user(&self, ctx: &Context<'_>, id: &ID) -> Result<User> {
        let field = ctx.field();
        let name = field.alias().unwrap_or(field.name()).to_owned();
        let shared = self.0.lock().entry(name).or_default().clone();
        let users = shared.get_or_try_init(async || together(Call::of(ctx), &named(ctx)?).await).await?;
        Ok(users.get(id.as_str()).cloned().ok_or_else(|| Error::not_found("user", id.as_str()))?)
    }
}

/// The ids in the representations of users; whatever else there is, the library refuses.
fn named(ctx: &Context<'_>) -> Result<Vec<ID>> {
    let representations = ctx.field().arguments()?.into_iter().next().map(|(_, value)| value);
    let representations =
        Vec::<Any>::parse(representations).map_err(|_| Error::bad_input("representations", "must be a list"))?;
    let id = |Any(of): Any| match of {
        Value::Object(mut fields) => ID::parse(fields.swap_remove("id")).ok(),
        _ => None,
    };
    Ok(representations.into_iter().filter_map(id).collect())
}

/// Finds users, or makes them; what is asked of them is read for 200 at once, as with `users`.
async fn together(call: Call<'_>, ids: &[ID]) -> Result<Users> {
    let mut names =
        ids.iter().map(|id| call.named("id", Some(id)).map(str::to_owned)).collect::<Result<Vec<_>, _>>()?;
    names.sort_unstable();
    names.dedup();
    let rows = user::mention(call.app, call.tenant, "id", &names).await?;
    let mut users = Users::with_capacity(names.len());
    for (names, rows) in names.chunks(USERS).zip(rows.chunks(USERS)) {
        let siblings = Siblings::of(rows.to_vec());
        users.extend(names.iter().cloned().zip(rows.iter().map(|row| User::among(&siblings, *row))));
    }
    Ok(users)
}
