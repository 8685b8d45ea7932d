//! Unsubscribe links in letters (RFC 8058).
//!
//! The id in a link names a user and a message type, or all types that go into digests. It cannot be forged, and is
//! valid as long as the user exists.

use std::sync::Arc;

use entity::ids::{TypeId, UserId};

use crate::destination;
use base::error::{Error, Result};
use domain::catalogue;
use domain::preference::{self, PreferenceChange, PreferenceChanges};
use domain::tenant::{self, Tenant};
use domain::user::{self, UserProfile};
use model::catalogue::MessageType;
use model::id_cipher::IdKind;
use model::validate;
use outside::mail::URL_BYTES;
use store::Store;

/// The target of a link.
#[derive(Clone, Debug)]
pub struct UnsubscribeRequest {
    pub tenant: Arc<Tenant>,
    pub user: UserProfile,
    /// One type, or all that go into digests now. There may be none.
    pub types: Vec<Arc<MessageType>>,
}

/// Stands for all types that go into digests.
pub(super) const OF_DIGESTS: TypeId = TypeId(0);

impl UnsubscribeRequest {
    /// Whether all of these types are mandatory, so that nothing can be switched off.
    pub fn is_all_mandatory(&self) -> bool {
        !self.types.is_empty() && self.types.iter().all(|of| of.mandatory)
    }
}

/// The link for a letter. `None` if the settings have no public URL, or the link is too long for a header.
pub(super) fn unsubscribe_link(store: &Store, tenant: &Tenant, user: UserId, of: TypeId) -> Option<String> {
    let base = store.config.public.url.as_ref()?;
    let id = tenant.id_cipher.encode(IdKind::Unsubscribe, user.0, of.0);
    let link = base.page_url(&["unsubscribe", &tenant.code, &id]);
    (link.len() <= URL_BYTES).then_some(link)
}

/// The target of a link, by the tenant's code and the id. `None` if the link is invalid or the user no longer exists.
pub async fn find_request(store: &Store, tenant: &str, id: &str) -> Result<Option<UnsubscribeRequest>> {
    if validate::identifier("tenant", tenant).is_err() {
        return Ok(None);
    }
    let tenant = match tenant::get_existing(store, tenant).await {
        Err(Error::NotFound { .. }) => return Ok(None),
        found => found?,
    };
    let Some((user, of)) = tenant.id_cipher.decode(IdKind::Unsubscribe, id) else { return Ok(None) };
    let user = user::load_profiles(store, &tenant, &[UserId(user)]).await?.remove(&UserId(user));
    let (of, catalogue) = (TypeId(of), catalogue::load_current(store, &tenant).await?);
    let types = if of == OF_DIGESTS {
        Some(catalogue.types.iter().filter(|of| of.is_in_digests()).cloned().collect())
    } else {
        catalogue.type_by_id(of).map(|of| vec![of.clone()])
    };
    Ok(user.zip(types).map(|(user, types)| UnsubscribeRequest { tenant, user, types }))
}

/// Switches email off for the user and these types, except mandatory ones. The inbox does not change.
pub async fn apply_request(store: &Store, of: &UnsubscribeRequest) -> Result<()> {
    let off = |of: &Arc<MessageType>| {
        (destination::DestinationKind::Email, PreferenceChange { code: of.code.clone(), enabled: Some(false) })
    };
    let channels = of.types.iter().filter(|of| !of.mandatory).map(off).collect();
    let changes = PreferenceChanges { channels, ..PreferenceChanges::default() };
    preference::update(store, &of.tenant, of.user.id, &changes).await
}
