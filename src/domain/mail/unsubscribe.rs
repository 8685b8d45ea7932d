//! How the reader of a letter says that they want no more of its kind (RFC 8058).
//!
//! The id in the link is of a user and a message type. Nobody can make one, and it works as long as the user is there.

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
    pub message_type: Arc<MessageType>,
}

/// The link in a letter; nothing where its type is mandatory, where the settings do not say under which URL users reach this server, and
/// where it were too long for a header.
pub(super) fn link(app: &App, tenant: &Tenant, user: UserId, of: &MessageType) -> Option<String> {
    let base = app.config.public.url.as_ref().filter(|_| !of.mandatory)?;
    let id = tenant.seal.close(Kind::Unsubscribe, user.0, of.id.0);
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
    let message_type = catalogue::current(app, &tenant).await?.type_by_id(TypeId(of)).cloned();
    Ok(user.zip(message_type).map(|(user, message_type)| Wish { tenant, user, message_type }))
}

/// Switches letters of the type off for the user; what is in the inbox stays there. `BAD_USER_INPUT` where the type is mandatory.
pub async fn grant(app: &App, of: &Wish) -> Result<()> {
    let off = Change { code: of.message_type.code.clone(), enabled: Some(false) };
    let changes = Changes { channels: vec![(lane::Kind::Email, off)], ..Changes::default() };
    preference::update(app, &of.tenant, of.user.id, &changes).await
}
