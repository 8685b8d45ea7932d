//! How the reader of a letter says that they want no more of its kind (RFC 8058).
//!
//! The id in the link is of a user and a message type, or of all types that go into digests. Nobody can make one, and it works as long as the
//! user is there.

use std::sync::Arc;

use entity::ids::{TypeId, UserId};

use crate::app::App;
use crate::domain::catalogue;
use crate::domain::lane;
use crate::domain::preference::{self, Change, Changes};
use crate::domain::tenant::{self, Tenant};
use crate::domain::user::{self, Profile};
use crate::error::{Error, Result};
use crate::mail::URL_BYTES;
use crate::model::catalogue::MessageType;
use crate::model::check;
use crate::model::seal::Kind;

/// What a link is about.
#[derive(Clone, Debug)]
pub struct Wish {
    pub tenant: Arc<Tenant>,
    pub user: Profile,
    /// One, or all that go into digests by now: there may be none of those.
    pub types: Vec<Arc<MessageType>>,
}

/// In place of a type: all that go into digests.
pub(super) const OF_DIGESTS: TypeId = TypeId(0);

impl Wish {
    /// Whether nothing that it is about can be switched off.
    pub fn is_vain(&self) -> bool {
        !self.types.is_empty() && self.types.iter().all(|of| of.mandatory)
    }
}

/// The link in a letter; nothing where the settings do not say under which URL users reach this server, and where it were too long for a
/// header.
pub(super) fn link(app: &App, tenant: &Tenant, user: UserId, of: TypeId) -> Option<String> {
    let base = app.config.public.url.as_ref()?;
    let id = tenant.seal.close(Kind::Unsubscribe, user.0, of.0);
    let link = base.page(&["unsubscribe", &tenant.code, &id]);
    (link.len() <= URL_BYTES).then_some(link)
}

/// What a link is about, by the tenant's code and the id in it; nothing where it is none, or its user is not there any more.
pub async fn find(app: &App, tenant: &str, id: &str) -> Result<Option<Wish>> {
    if check::code("tenant", tenant).is_err() {
        return Ok(None);
    }
    let tenant = match tenant::existing(app, tenant).await {
        Err(Error::NotFound { .. }) => return Ok(None),
        found => found?,
    };
    let Some((user, of)) = tenant.seal.open(Kind::Unsubscribe, id) else { return Ok(None) };
    let user = user::profiles(app, &tenant, &[UserId(user)]).await?.remove(&UserId(user));
    let (of, catalogue) = (TypeId(of), catalogue::current(app, &tenant).await?);
    let types = if of == OF_DIGESTS {
        Some(catalogue.types.iter().filter(|of| of.is_in_digests()).cloned().collect())
    } else {
        catalogue.type_by_id(of).map(|of| vec![of.clone()])
    };
    Ok(user.zip(types).map(|(user, types)| Wish { tenant, user, types }))
}

/// Switches letters of the types off for the user, but for the mandatory ones; what is in the inbox stays there.
pub async fn grant(app: &App, of: &Wish) -> Result<()> {
    let off = |of: &Arc<MessageType>| (lane::Kind::Email, Change { code: of.code.clone(), enabled: Some(false) });
    let channels = of.types.iter().filter(|of| !of.mandatory).map(off).collect();
    let changes = Changes { channels, ..Changes::default() };
    preference::update(app, &of.tenant, of.user.id, &changes).await
}
