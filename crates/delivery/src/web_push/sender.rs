//! A tenant's Web Push sender: its keys and its contact.

use std::net::IpAddr;

use entity::destination::{Column, Entity as Destinations};
use entity::prelude::*;
use sea_orm::UpdateMany;

use super::browser::{delete_browsers_upto, newest_browser_id};
use crate::destination::{
    self, Destination, DestinationKind, DestinationSettings, DestinationState, lock_for_update, reset_failures,
    vault_owner,
};
use crate::{DeliveryContext, dispatch};
use base::error::{Error, Result};
use domain::tenant::Tenant;
use model::validate;
use outside::mail;
use outside::web_push::{VapidKeyPair, VapidSender};
use store::{Store, transaction};

/// The most bytes of a contact.
const CONTACT: usize = 256;

/// The settings of a sender, without its keys.
#[derive(Clone, Debug)]
pub struct SenderChange {
    /// How push services can reach a person who knows about the messages: a `mailto:` or `https:` URL.
    pub contact: String,
    pub settings: DestinationSettings,
}

/// The public key for browsers. `None` if the tenant has no active sender.
pub async fn public_key(store: &Store, tenant: &Tenant) -> Result<Option<String>> {
    let active = destination::find_single(store, tenant, DestinationKind::WebPush)
        .await?
        .filter(|of| of.state == DestinationState::Active);
    Ok(active.and_then(|of| of.public_key))
}

/// Creates the tenant's sender with a key pair, or changes its settings, and makes it due now. A new sender starts at
/// the end of the log. `CONFLICT` if the server has no key to seal secrets with.
pub async fn save_sender(context: &DeliveryContext, tenant: &Tenant, change: &SenderChange) -> Result<Destination> {
    change.settings.check(context, tenant).await?;
    check_contact(&change.contact)?;
    let pair = VapidKeyPair::generate()?;
    let id = transaction!(context.db, |txn| {
        let (of, to) = change.settings.save(txn, context, tenant, DestinationKind::WebPush).await?;
        let to = to.col_expr(Column::Sender, Expr::val(change.contact.as_str()));
        let to = if of.public_key.is_none() { set_keys(context, tenant, to, of.id, &pair)? } else { to };
        to.exec(txn).await?;
        Ok(of.id)
    })?;
    destination::get_by_id(context, tenant, DestinationKind::WebPush, id).await
}

/// Replaces the key pair. Deletes all browsers, since their subscriptions belong to the old key.
pub async fn renew_keys(context: &DeliveryContext, tenant: &Tenant) -> Result<Destination> {
    let of = destination::get_single(context, tenant, DestinationKind::WebPush).await?;
    let pair = VapidKeyPair::generate()?;
    let before = transaction!(context.db, |txn| {
        let (_, to) = lock_for_update(txn, context, tenant, DestinationKind::WebPush, of.id).await?;
        let to = reset_failures(to, context.now());
        set_keys(context, tenant, to, of.id, &pair)?.exec(txn).await?;
        newest_browser_id(txn, tenant).await
    })?;
    delete_browsers_upto(context, tenant, before).await?;
    destination::get_by_id(context, tenant, DestinationKind::WebPush, of.id).await
}

/// Deletes the sender, its keys, its deliveries and the tenant's browsers. Returns whether it existed.
pub async fn delete_sender(store: &Store, tenant: &Tenant, id: i64) -> Result<bool> {
    let is_gone = dispatch::delete_destination(store, tenant, DestinationKind::WebPush, id).await?;
    let before = newest_browser_id(&store.db.read, tenant).await?;
    delete_browsers_upto(store, tenant, before).await?;
    Ok(is_gone)
}

/// The sender, opened for signing, or the reason why that fails.
pub(super) fn open_sender(
    context: &DeliveryContext,
    tenant: &Tenant,
    destination: &Destination,
) -> Result<VapidSender, String> {
    let read = || {
        let private = context.vault.open(&vault_owner(tenant, destination.id), &destination.secret)?;
        let public = destination.public_key.as_deref().unwrap_or_default();
        VapidSender::new(private.as_bytes(), public, destination.sender.as_deref().unwrap_or_default())
    };
    read().map_err(|error: Error| {
        tracing::error!(tenant = tenant.code, cause = error.log_message(), "the key of Web Push cannot be decrypted");
        "the server cannot decrypt the key of Web Push: its log says why".to_owned()
    })
}

fn set_keys(
    context: &DeliveryContext,
    tenant: &Tenant,
    to: UpdateMany<Destinations>,
    id: i64,
    pair: &VapidKeyPair,
) -> Result<UpdateMany<Destinations>> {
    let sealed = context.vault.seal(&vault_owner(tenant, id), &pair.private)?;
    let to = to.col_expr(Column::Secret, Expr::val(sealed));
    Ok(to.col_expr(Column::PublicKey, Expr::val(pair.public.as_str())))
}

/// Why push services may refuse a well-formed contact. `None` if they should take it.
pub fn contact_warning(contact: &str) -> Option<String> {
    let host = match contact.strip_prefix("mailto:") {
        Some(address) => address.rsplit_once('@')?.1.trim_matches(['[', ']']).to_owned(),
        None => reqwest::Url::parse(contact).ok()?.host_str()?.trim_matches(['[', ']']).to_owned(),
    };
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let is_public = name.rsplit_once('.').is_some_and(|(_, top)| top != "localhost" && top != "local");
    let is_address = host.parse::<IpAddr>().is_ok();
    (is_address || !is_public).then(|| {
        format!("Apple's push service refuses messages with a contact at {host}: use an address of a public domain")
    })
}

/// RFC 8292, section 2.1.
fn check_contact(contact: &str) -> Result<()> {
    let is_mail = contact.strip_prefix("mailto:").is_some_and(|address| mail::normalize_address(address).is_ok());
    let is_page = contact.starts_with("https://") && validate::is_link(contact) && reqwest::Url::parse(contact).is_ok();
    if (is_mail || is_page) && contact.len() <= CONTACT {
        return Ok(());
    }
    let message = format!("must be mailto: with an address, or an https URL, of at most {CONTACT} bytes");
    Err(Error::bad_input("contact", message))
}
