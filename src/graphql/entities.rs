//! Users of a supergraph (Apollo Federation 2). Users that a gateway requests together are read in one batch; one that
//! fails is null, with its own error.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{Any, Context, ID, InputType, PathSegment, Result, ServerError, Value};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::context::Call;
use super::user::{User, profiles};
use crate::domain::user::Profile;
use crate::error::Error;
use crate::model::check;

type Profiles = HashMap<String, Profile>;

/// The users that the `_entities` fields of a request have found, by response key.
///
/// The library resolves each user separately. The first resolver of a field reads all users of the field.
#[derive(Default)]
pub struct Entities(Mutex<HashMap<String, Arc<OnceCell<Profiles>>>>);

impl Entities {
    /// One of the users that the current field names.
    pub async fn user(&self, ctx: &Context<'_>, id: &ID) -> Result<User> {
        let field = ctx.field();
        let name = field.alias().unwrap_or(field.name()).to_owned();
        let ids = named(ctx)?;
        let place = || ids.iter().position(|of| of.as_ref() == Some(id)).unwrap_or_default();
        check::code("id", id).map_err(|error| error.within(&format!("representations[{}]", place())))?;
        let shared = self.0.lock().entry(name).or_default().clone();
        let known = shared.get_or_try_init(|| Box::pin(together(Call::of(ctx), &ids))).await?;
        Ok(known.get(id.as_str()).cloned().map_or_else(|| User::unheard(id), User::known))
    }
}

/// Adds the index of the representation to the path of an error of `_entities`, because the library does not.
pub fn place(error: &mut ServerError) {
    let Some(Error::BadInput { field, .. }) = error.source::<Error>() else { return };
    let place = field.strip_prefix("representations[").and_then(|rest| rest.split(']').next()?.parse().ok());
    if let (1, Some(place)) = (error.path.len(), place) {
        error.path.push(PathSegment::Index(place));
    }
}

/// The ids in the representations of users. The library refuses other representations.
fn named(ctx: &Context<'_>) -> Result<Vec<Option<ID>>> {
    let representations = ctx.field().arguments()?.into_iter().next().map(|(_, value)| value);
    let representations =
        Vec::<Any>::parse(representations).map_err(|_| Error::bad_input("representations", "must be a list"))?;
    let id = |Any(of): Any| match of {
        Value::Object(mut fields) => ID::parse(fields.swap_remove("id")).ok(),
        _ => None,
    };
    Ok(representations.into_iter().map(id).collect())
}

async fn together(call: Call<'_>, ids: &[Option<ID>]) -> crate::error::Result<Profiles> {
    let possible = ids.iter().flatten().filter(|id| check::code("id", id).is_ok());
    let mut names: Vec<String> = possible.map(|id| id.0.clone()).collect();
    names.sort_unstable();
    names.dedup();
    profiles(call, &names).await
}
