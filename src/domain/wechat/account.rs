//! A tenant's WeChat official account.

use entity::lane::Column;
use entity::prelude::*;

use crate::app::App;
use crate::clock::Millis;
use crate::database::transaction;
use crate::domain::lane::{self, DestinationKind, DestinationSettings, Lane, vault_owner};
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::wechat::check_name;

/// The settings of an account.
#[derive(Clone)]
pub struct AccountChange {
    pub app_id: String,
    pub secret: String,
    pub settings: DestinationSettings,
}

/// Creates or changes the tenant's account and makes it due now. A new account starts at the end of the log. `CONFLICT`
/// if the server has no key to seal secrets with.
pub async fn save_account(app: &App, tenant: &Tenant, change: &AccountChange) -> Result<Lane> {
    change.settings.check(app, tenant).await?;
    check_name("appId", &change.app_id)?;
    check_name("secret", &change.secret)?;
    let id = transaction!(app.db, |txn| {
        let (of, to) = change.settings.save(txn, app, tenant, DestinationKind::WeChat).await?;
        let to = to.col_expr(Column::Sender, Expr::val(change.app_id.as_str()));
        // The token may belong to another account.
        let to = to.col_expr(Column::Token, Expr::val(None::<String>));
        let to = to.col_expr(Column::TokenUntil, Expr::val(None::<Millis>));
        let sealed = app.vault.seal(&vault_owner(tenant, of.id), change.secret.as_bytes())?;
        to.col_expr(Column::Secret, Expr::val(sealed)).exec(txn).await?;
        Ok(of.id)
    })?;
    lane::get_by_id(app, tenant, DestinationKind::WeChat, id).await
}
