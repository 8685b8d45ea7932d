//! A tenant's mail relay.

use entity::destination::{Column, Entity as Destinations};
use entity::prelude::*;

use crate::DeliveryContext;
use crate::destination::{self, Destination, DestinationKind, DestinationSettings, vault_owner};
use base::error::{Error, Result};
use domain::tenant::Tenant;
use outside::mail::SmtpRelay;
use store::{Database, transaction};

/// The settings of a relay.
#[derive(Clone, Debug)]
pub struct RelayChange {
    /// With user name and password, if the relay requires them.
    pub url: String,
    /// The sender's address and name.
    pub from: String,
    /// The address for replies, if it is another one.
    pub reply_to: Option<String>,
    pub settings: DestinationSettings,
}

/// Whether any tenant has a relay.
pub async fn has_relays(db: &Database) -> Result<bool> {
    let relays =
        Destinations::find().filter(Column::Kind.eq(DestinationKind::Email)).select_only().column(Column::Id).limit(1);
    Ok(relays.into_tuple::<i64>().one(&db.read).await?.is_some())
}

/// Creates or changes the tenant's relay and makes it due now. A new relay starts at the end of the log. `CONFLICT` if
/// the server has no key to seal secrets with.
pub async fn save_relay(context: &DeliveryContext, tenant: &Tenant, change: &RelayChange) -> Result<Destination> {
    change.settings.check(context, tenant).await?;
    let relay = SmtpRelay::parse(&change.url, &change.from, change.reply_to.as_deref())?;
    context.mail.check_relay(&relay).map_err(|error| error.with_field_prefix("url"))?;
    let id = transaction!(context.db, |txn| {
        let (of, to) = change.settings.save(txn, context, tenant, DestinationKind::Email).await?;
        let to = to.col_expr(Column::Url, Expr::val(without_credentials(&change.url)?));
        let to = to.col_expr(Column::Sender, Expr::val(change.from.as_str()));
        let to = to.col_expr(Column::ReplyTo, Expr::val(change.reply_to.clone()));
        let sealed = context.vault.seal(&vault_owner(tenant, of.id), change.url.as_bytes())?;
        to.col_expr(Column::Secret, Expr::val(sealed)).exec(txn).await?;
        Ok(of.id)
    })?;
    destination::get_by_id(context, tenant, DestinationKind::Email, id).await
}

/// A relay's URL without user name and password.
fn without_credentials(url: &str) -> Result<String> {
    let wrong = || Error::bad_input("url", "must be a URL");
    let mut url = reqwest::Url::parse(url).map_err(|_| wrong())?;
    url.set_username("").map_err(|()| wrong())?;
    url.set_password(None).map_err(|()| wrong())?;
    Ok(url.into())
}

/// The relay, opened for sending, or the reason why that fails.
pub(super) fn open_relay(
    context: &DeliveryContext,
    tenant: &Tenant,
    destination: &Destination,
) -> Result<SmtpRelay, String> {
    let read = || {
        let url = context.vault.open(&vault_owner(tenant, destination.id), &destination.secret)?;
        let url = std::str::from_utf8(url.as_bytes()).map_err(Error::internal)?;
        SmtpRelay::parse(url, destination.sender.as_deref().unwrap_or_default(), destination.reply_to.as_deref())
    };
    read().map_err(|error| {
        tracing::error!(
            tenant = tenant.code,
            cause = error.log_message(),
            "the settings of a mail relay cannot be decrypted"
        );
        "the server cannot decrypt the settings of the relay: its log says why".to_owned()
    })
}
