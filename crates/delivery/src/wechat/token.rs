//! The access token of a WeChat account. It is stored sealed in the destination's row, so that all nodes share it.
//!
//! The lease holder asks WeChat for a new token some minutes before the old one expires, and once if WeChat refuses it.
//! After a refusal it first asks for the current token, which another system may have changed, and forces a new one
//! only if that is the refused one.

use std::fmt::{self, Debug, Formatter};

use entity::destination::{Column, Entity as Destinations};
use entity::prelude::*;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::DeliveryContext;
use crate::destination::{Destination, vault_owner};
use base::clock::Millis;
use base::error::{Error, Result};
use domain::tenant::Tenant;
use outside::wechat::{FailureVerdict, GrantedToken, TokenRequest, WeChatCredentials, WeChatFailure};
use store::transaction;

/// The token of an account, shared by all attempts of one run of the delivery loop.
pub struct AccountTokens {
    destination: i64,
    /// The owner under which the vault seals the secrets.
    owner: String,
    known: Mutex<TokenState>,
}

/// The cached state of the token.
#[derive(Default)]
struct TokenState {
    token: Option<AccessToken>,
    /// When fetching it last failed, and why.
    failed: Option<(Instant, WeChatFailure)>,
}

struct AccessToken {
    text: String,
    until: Millis,
}

impl Debug for AccountTokens {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountTokens").field("lane", &self.destination).finish_non_exhaustive()
    }
}

impl AccountTokens {
    /// The token of a destination. It is read when it is first needed.
    pub(super) fn for_destination(tenant: &Tenant, destination: &Destination) -> Self {
        Self { destination: destination.id, owner: vault_owner(tenant, destination.id), known: Mutex::default() }
    }

    /// A token that is valid as far as known, and is not `refused`. Concurrent callers wait for one of them and share
    /// its result, also if it fails.
    pub(super) async fn valid_token(
        &self,
        context: &DeliveryContext,
        refused: Option<&str>,
    ) -> Result<String, WeChatFailure> {
        let asked_at = Instant::now();
        let mut known = self.known.lock().await;
        if let Some(text) = known.token.as_ref().and_then(|of| of.usable_text(context.now(), refused)) {
            return Ok(text.to_owned());
        }
        if let Some((_, failure)) = known.failed.as_ref().filter(|(at, _)| *at >= asked_at) {
            return Err(failure.clone());
        }
        let found = self.load_or_fetch(context, refused).await;
        let found = found.unwrap_or_else(|error| {
            tracing::error!(
                destination = self.destination,
                cause = error.log_message(),
                "the access token of a WeChat account cannot be read or stored"
            );
            let told = "the server cannot read or store the access token of the account: its log says why";
            Err(WeChatFailure { verdict: FailureVerdict::Later, status: None, told: told.into(), retry_after: None })
        });
        match found {
            Ok(token) => {
                let text = token.text.clone();
                *known = TokenState { token: Some(token), failed: None };
                Ok(text)
            }
            Err(failure) => {
                known.failed = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    /// The token in the row if it is usable. Otherwise fetches one and stores it there.
    async fn load_or_fetch(
        &self,
        context: &DeliveryContext,
        refused: Option<&str>,
    ) -> Result<Result<AccessToken, WeChatFailure>> {
        let destination = Destinations::find_by_id(self.destination).one(&context.db.read).await?;
        let destination = destination.ok_or_else(|| Error::not_found("WeChat account", "with this id"))?;
        let kept = destination.token.as_ref().zip(destination.token_until).map(|(sealed, until)| {
            let text = self.open_secret(context, sealed)?;
            Ok::<_, Error>(AccessToken { text, until })
        });
        // A token that cannot be opened is replaced by a new one.
        let kept = kept.transpose().unwrap_or_default();
        if let Some(token) = kept.filter(|of| of.usable_text(context.now(), refused).is_some()) {
            return Ok(Ok(token));
        }
        let secret = self.open_secret(context, &destination.secret)?;
        let account = WeChatCredentials { app_id: destination.sender.as_deref().unwrap_or_default(), secret: &secret };
        let mut granted = context.wechat.request_token(&account, TokenRequest::Usual).await;
        if granted.as_ref().is_ok_and(|of| Some(of.token.as_str()) == refused) {
            granted = context.wechat.request_token(&account, TokenRequest::Another).await;
        }
        match granted {
            // WeChat allows 20 forced tokens a day, so waiting callers share this failure instead of asking each.
            Ok(of) if Some(of.token.as_str()) == refused => {
                let told = "WeChat refuses the access token that it has just issued";
                Ok(Err(WeChatFailure {
                    verdict: FailureVerdict::Token,
                    status: Some(200),
                    told: told.into(),
                    retry_after: None,
                }))
            }
            Ok(granted) => Ok(Ok(self.store_token(context, &destination, granted).await?)),
            Err(failure) => Ok(Err(failure)),
        }
    }

    /// Stores the token, unless the account was changed meanwhile.
    async fn store_token(
        &self,
        context: &DeliveryContext,
        destination: &Destination,
        granted: GrantedToken,
    ) -> Result<AccessToken> {
        let token = AccessToken { until: context.now() + granted.lasts, text: granted.token };
        let sealed = context.vault.seal(&self.owner, token.text.as_bytes())?;
        transaction!(context.db, |txn| {
            let to = Destinations::update_many().col_expr(Column::Token, Expr::val(sealed.as_str()));
            let to = to.col_expr(Column::TokenUntil, Expr::val(token.until)).filter(Column::Id.eq(self.destination));
            to.filter(Column::UpdatedAt.eq(destination.updated_at)).exec(txn).await?;
            Ok(())
        })?;
        Ok(token)
    }

    fn open_secret(&self, context: &DeliveryContext, sealed: &str) -> Result<String> {
        let secret = context.vault.open(&self.owner, sealed)?;
        std::str::from_utf8(secret.as_bytes()).map(ToOwned::to_owned).map_err(Error::internal)
    }
}

impl AccessToken {
    /// The text of the token, if it may be used.
    fn usable_text(&self, now: Millis, refused: Option<&str>) -> Option<&str> {
        (self.until > now && refused != Some(self.text.as_str())).then_some(self.text.as_str())
    }
}
