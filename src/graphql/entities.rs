//! Users of a supergraph (Apollo Federation 2). Users that a gateway requests together are read in one batch; one that
//! fails is null, with its own error.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{Any, Context, ID, InputType, PathSegment, Result, ServerError, Value};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::context::CallContext;
use super::user::{User, find_profiles};
use base::error::Error;
use domain::user::UserProfile;
use model::validate;

type ProfilesById = HashMap<String, UserProfile>;

/// The users that the `_entities` fields of a request have found, by response key.
///
/// The library resolves each user separately. The first resolver of a field reads all users of the field.
#[derive(Default)]
pub struct EntityLoader(Mutex<HashMap<String, Arc<OnceCell<ProfilesById>>>>);

impl EntityLoader {
    /// One of the users that the current field names.
    pub async fn load_user(&self, ctx: &Context<'_>, id: &ID) -> Result<User> {
        let field = ctx.field();
        let name = field.alias().unwrap_or(field.name()).to_owned();
        let ids = representation_ids(ctx)?;
        let place = || ids.iter().position(|of| of.as_ref() == Some(id)).unwrap_or_default();
        validate::identifier("id", id)
            .map_err(|error| error.with_field_prefix(&format!("representations[{}]", place())))?;
        let shared = self.0.lock().entry(name).or_default().clone();
        let known = shared.get_or_try_init(|| Box::pin(load_profiles(CallContext::from_context(ctx), &ids))).await?;
        Ok(known.get(id.as_str()).cloned().map_or_else(|| User::with_id_only(id), User::from_profile))
    }
}

/// Adds the index of the representation to the path of an error of `_entities`, because the library does not.
pub fn add_entity_index(error: &mut ServerError) {
    let Some(Error::BadInput { field, .. }) = error.source::<Error>() else { return };
    let place = field.strip_prefix("representations[").and_then(|rest| rest.split(']').next()?.parse().ok());
    if let (1, Some(place)) = (error.path.len(), place) {
        error.path.push(PathSegment::Index(place));
    }
}

/// The ids in the representations of users. The library refuses other representations.
fn representation_ids(ctx: &Context<'_>) -> Result<Vec<Option<ID>>> {
    let representations = ctx.field().arguments()?.into_iter().next().map(|(_, value)| value);
    let representations =
        Vec::<Any>::parse(representations).map_err(|_| Error::bad_input("representations", "must be a list"))?;
    let id = |Any(of): Any| match of {
        Value::Object(mut fields) => ID::parse(fields.swap_remove("id")).ok(),
        _ => None,
    };
    Ok(representations.into_iter().map(id).collect())
}

async fn load_profiles(call: CallContext<'_>, ids: &[Option<ID>]) -> base::error::Result<ProfilesById> {
    let possible = ids.iter().flatten().filter(|id| validate::identifier("id", id).is_ok());
    let mut names: Vec<String> = possible.map(|id| id.0.clone()).collect();
    names.sort_unstable();
    names.dedup();
    find_profiles(call, &names).await
}
