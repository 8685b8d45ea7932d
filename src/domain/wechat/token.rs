//! By what we are let in at WeChat.
//!
//! There is one token for an account, which stands sealed in the lane's row, so that whoever has the lane next uses it, too. Whoever has
//! the lane asks for another one some minutes before it ends, and once where WeChat refuses it: at first for the one that counts,
//! which somebody else may have changed, and only where that is the refused one for another.

use std::fmt::{self, Debug, Formatter};

use entity::lane::{Column, Entity as Lanes};
use entity::prelude::*;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::app::App;
use crate::clock::Millis;
use crate::database::transaction;
use crate::domain::lane::{Lane, owner};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::wechat::{Account, Ask, Failure, Granted, Verdict};

/// The token of an account, for all attempts of a turn.
pub struct Tokens {
    lane: i64,
    /// As what its secrets are sealed.
    owner: String,
    known: Mutex<Known>,
}

/// What is known of it.
#[derive(Default)]
struct Known {
    token: Option<Token>,
    /// When it could not be had the last time, and why.
    failed: Option<(Instant, Failure)>,
}

struct Token {
    text: String,
    until: Millis,
}

impl Debug for Tokens {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("lane", &self.lane).finish_non_exhaustive()
    }
}

impl Tokens {
    /// That of a lane; it is read when somebody needs it.
    pub(super) fn of(tenant: &Tenant, lane: &Lane) -> Self {
        Self { lane: lane.id, owner: owner(tenant, lane.id), known: Mutex::default() }
    }

    /// One that counts, as far as is known, and is not the `refused` one. Those who ask at the same time wait for one of them, and hear
    /// what they hear.
    pub(super) async fn one(&self, app: &App, refused: Option<&str>) -> Result<String, Failure> {
        let asked_at = Instant::now();
        let mut known = self.known.lock().await;
        if let Some(text) = known.token.as_ref().and_then(|of| of.usable(app.now(), refused)) {
            return Ok(text.to_owned());
        }
        if let Some((_, failure)) = known.failed.as_ref().filter(|(at, _)| *at >= asked_at) {
            return Err(failure.clone());
        }
        let found = self.find(app, refused).await;
        let found = found.unwrap_or_else(|error| {
            tracing::error!(lane = self.lane, cause = error.told(), "the token of an account of WeChat cannot be kept");
            let told = "the server cannot open the secret of the account: whoever runs it finds out why in its log";
            Err(Failure { verdict: Verdict::Later, status: None, told: told.into(), retry_after: None })
        });
        match found {
            Ok(token) => {
                let text = token.text.clone();
                *known = Known { token: Some(token), failed: None };
                Ok(text)
            }
            Err(failure) => {
                known.failed = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    /// That of the row, where it counts; else one that is asked for, and then is in the row.
    async fn find(&self, app: &App, refused: Option<&str>) -> Result<Result<Token, Failure>> {
        let lane = Lanes::find_by_id(self.lane).one(&app.db.read).await?;
        let lane = lane.ok_or_else(|| Error::not_found("WeChat account", "of this lane"))?;
        let kept = lane.token.as_ref().zip(lane.token_until).map(|(sealed, until)| {
            let text = self.open(app, sealed)?;
            Ok::<_, Error>(Token { text, until })
        });
        // One that cannot be opened can be asked for again.
        let kept = kept.transpose().unwrap_or_default();
        if let Some(token) = kept.filter(|of| of.usable(app.now(), refused).is_some()) {
            return Ok(Ok(token));
        }
        let secret = self.open(app, &lane.secret)?;
        let account = Account { app_id: lane.sender.as_deref().unwrap_or_default(), secret: &secret };
        let mut granted = app.wechat.token(&account, Ask::Usual).await;
        if granted.as_ref().is_ok_and(|of| Some(of.token.as_str()) == refused) {
            granted = app.wechat.token(&account, Ask::Another).await;
        }
        match granted {
            // Another one may be had 20 times a day: those who wait for it here are not to ask each by themselves.
            Ok(of) if Some(of.token.as_str()) == refused => {
                let told = "WeChat refuses the token that it gives out";
                Ok(Err(Failure { verdict: Verdict::Token, status: Some(200), told: told.into(), retry_after: None }))
            }
            Ok(granted) => Ok(Ok(self.keep(app, &lane, granted).await?)),
            Err(failure) => Ok(Err(failure)),
        }
    }

    /// Writes a token down, unless the account is another by now.
    async fn keep(&self, app: &App, lane: &Lane, granted: Granted) -> Result<Token> {
        let token = Token { until: app.now() + granted.lasts, text: granted.token };
        let sealed = app.vault.seal(&self.owner, token.text.as_bytes())?;
        transaction!(app.db, |txn| {
            let to = Lanes::update_many().col_expr(Column::Token, Expr::val(sealed.as_str()));
            let to = to.col_expr(Column::TokenUntil, Expr::val(token.until)).filter(Column::Id.eq(self.lane));
            to.filter(Column::UpdatedAt.eq(lane.updated_at)).exec(txn).await?;
            Ok(())
        })?;
        Ok(token)
    }

    fn open(&self, app: &App, sealed: &str) -> Result<String> {
        let secret = app.vault.open(&self.owner, sealed)?;
        std::str::from_utf8(secret.bytes()).map(ToOwned::to_owned).map_err(Error::internal)
    }
}

impl Token {
    /// What it is, where it is to be used.
    fn usable(&self, now: Millis, refused: Option<&str>) -> Option<&str> {
        (self.until > now && refused != Some(self.text.as_str())).then_some(self.text.as_str())
    }
}
