//! Unsubscribe links in letters (RFC 8058).
//!
//! The id in a link names a user and a message type, or all types that go into digests. It cannot be forged, and is
//! valid as long as the user exists.

use std::sync::Arc;

use entity::ids::{TypeId, UserId};

use crate::app::App;
use crate::domain::catalogue;
use crate::domain::lane;
use crate::domain::preference::{self, PreferenceChange, PreferenceChanges};
use crate::domain::tenant::{self, Tenant};
use crate::domain::user::{self, UserProfile};
use crate::error::{Error, Result};
use crate::mail::URL_BYTES;
use crate::model::catalogue::MessageType;
use crate::model::check;
use crate::model::seal::IdKind;

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
pub(super) fn unsubscribe_link(app: &App, tenant: &Tenant, user: UserId, of: TypeId) -> Option<String> {
    let base = app.config.public.url.as_ref()?;
    let id = tenant.seal.encode(IdKind::Unsubscribe, user.0, of.0);
    let link = base.page_url(&["unsubscribe", &tenant.code, &id]);
    (link.len() <= URL_BYTES).then_some(link)
}

/// The target of a link, by the tenant's code and the id. `None` if the link is invalid or the user no longer exists.
pub async fn find_request(app: &App, tenant: &str, id: &str) -> Result<Option<UnsubscribeRequest>> {
    if check::identifier("tenant", tenant).is_err() {
        return Ok(None);
    }
    let tenant = match tenant::get_existing(app, tenant).await {
        Err(Error::NotFound { .. }) => return Ok(None),
        found => found?,
    };
    let Some((user, of)) = tenant.seal.decode(IdKind::Unsubscribe, id) else { return Ok(None) };
    let user = user::load_profiles(app, &tenant, &[UserId(user)]).await?.remove(&UserId(user));
    let (of, catalogue) = (TypeId(of), catalogue::load_current(app, &tenant).await?);
    let types = if of == OF_DIGESTS {
        Some(catalogue.types.iter().filter(|of| of.is_in_digests()).cloned().collect())
    } else {
        catalogue.type_by_id(of).map(|of| vec![of.clone()])
    };
    Ok(user.zip(types).map(|(user, types)| UnsubscribeRequest { tenant, user, types }))
}

/// Switches email off for the user and these types, except mandatory ones. The inbox does not change.
pub async fn apply_request(app: &App, of: &UnsubscribeRequest) -> Result<()> {
    let off = |of: &Arc<MessageType>| {
        (lane::DestinationKind::Email, PreferenceChange { code: of.code.clone(), enabled: Some(false) })
    };
    let channels = of.types.iter().filter(|of| !of.mandatory).map(off).collect();
    let changes = PreferenceChanges { channels, ..PreferenceChanges::default() };
    preference::update(app, &of.tenant, of.user.id, &changes).await
}
