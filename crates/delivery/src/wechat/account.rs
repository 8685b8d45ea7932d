//! A tenant's WeChat official account.

use entity::destination::Column;
use entity::prelude::*;

use crate::DeliveryContext;
use crate::destination::{self, Destination, DestinationKind, DestinationSettings, vault_owner};
use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
use model::wechat::check_name;
use store::transaction;

/// The settings of an account.
#[derive(Clone)]
pub struct AccountChange {
    pub app_id: String,
    pub secret: String,
    pub settings: DestinationSettings,
}

/// Creates or changes the tenant's account and makes it due now. A new account starts at the end of the log. `CONFLICT`
/// if the server has no key to seal secrets with.
pub async fn save_account(context: &DeliveryContext, tenant: &Tenant, change: &AccountChange) -> Result<Destination> {
    change.settings.check(context, tenant).await?;
    check_name("appId", &change.app_id)?;
    check_name("secret", &change.secret)?;
    let id = transaction!(context.db, |txn| {
        let (of, to) = change.settings.save(txn, context, tenant, DestinationKind::WeChat).await?;
        let to = to.col_expr(Column::Sender, Expr::val(change.app_id.as_str()));
        // The token may belong to another account.
        let to = to.col_expr(Column::Token, Expr::val(None::<String>));
        let to = to.col_expr(Column::TokenUntil, Expr::val(None::<Millis>));
        let sealed = context.vault.seal(&vault_owner(tenant, of.id), change.secret.as_bytes())?;
        to.col_expr(Column::Secret, Expr::val(sealed)).exec(txn).await?;
        Ok(of.id)
    })?;
    destination::get_by_id(context, tenant, DestinationKind::WeChat, id).await
}
