//! Delivery to webhooks, mail, WeChat and Web Push.
//!
//! A *destination* reads the tenant's log with a cursor of its own. Its worker (`destination::worker`, started by
//! `workers`) turns log entries into deliveries, sends what is due, and records the results. `dispatch` serves the three
//! kinds that reach users at their own addresses: it waits until a notification has stayed unread, and gathers digests.
//!
//! Knows `domain` and `outside`. To add a provider: a client in `outside`; a variant of
//! `entity::destination::DestinationKind`; a folder here with settings and `impl destination::Transport`; its worker in
//! `workers`; its settings in `src/graphql/outbound`; tests against a recorded server as in `tests/it/wechat`.

pub mod destination;
pub mod dispatch;
pub mod mail;
pub mod web_push;
pub mod webhook;
pub mod wechat;
pub mod workers;

use std::ops::Deref;
use std::sync::Arc;

use base::error::Result;
use outside::egress::EgressClient;
use outside::mail::MailSender;
use outside::vault::Vault;
use outside::web_push::PushClient;
use outside::wechat::WeChatClient;
use store::Store;

/// The store, the clients that deliver what it holds, and the key to tenants' secrets.
#[derive(Debug)]
pub struct DeliveryContext {
    pub store: Arc<Store>,
    /// Requests to addresses that users have entered.
    pub egress: EgressClient,
    /// Email over the tenants' relays.
    pub mail: MailSender,
    /// Messages of WeChat official accounts.
    pub wechat: WeChatClient,
    /// Messages to browsers, over the push services that the browsers name.
    pub push: PushClient,
    /// Encrypts tenants' secrets for the database.
    pub vault: Vault,
}

impl DeliveryContext {
    /// Delivery from a store, with clients as its settings say.
    ///
    /// # Errors
    /// `Config` if a setting of a client is invalid.
    pub fn new(store: Arc<Store>) -> Result<Self> {
        let config = &store.config;
        let egress = EgressClient::new(&config.egress)?;
        Ok(Self {
            mail: MailSender::new(egress.clone()),
            wechat: WeChatClient::new(egress.clone(), &config.wechat)?,
            push: PushClient::new(EgressClient::with_short_timeout(&config.egress.for_push())?),
            vault: Vault::new(&config.keys)?,
            egress,
            store,
        })
    }
}

impl Deref for DeliveryContext {
    type Target = Arc<Store>;

    fn deref(&self) -> &Arc<Store> {
        &self.store
    }
}
