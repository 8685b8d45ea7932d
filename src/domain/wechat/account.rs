//! A tenant's official account, by which its messages go out.

use entity::lane::Column;
use entity::prelude::*;

use crate::app::App;
use crate::clock::Millis;
use crate::database::transaction;
use crate::domain::lane::{self, Kind, Lane, anew, changed, check_base, only, owner};
use crate::domain::tenant::Tenant;
use crate::domain::{catalogue, dispatch, notification};
use crate::error::Result;
use crate::model::alarm::Alarm;
use crate::model::wechat::name;

/// All of an account.
#[derive(Clone)]
pub struct Change {
    pub app_id: String,
    pub secret: String,
    /// What links of notifications that are paths belong to: an absolute http(s) URL.
    pub link_base: Option<String>,
    pub alarm: Option<Alarm>,
}

/// The tenant's account; nothing where it has none.
pub async fn find(app: &App, tenant: &Tenant) -> Result<Option<Lane>> {
    Ok(lane::all(app, tenant, Kind::WeChat).await?.pop())
}

/// Makes the tenant's account, or gives it other settings, and tries at once what is due. A new one hears of what happens from now on.
/// `CONFLICT` where the server cannot keep secrets.
pub async fn save(app: &App, tenant: &Tenant, change: &Change) -> Result<Lane> {
    app.vault.check()?;
    name("appId", &change.app_id)?;
    name("secret", &change.secret)?;
    if let Some(base) = &change.link_base {
        check_base(base)?;
    }
    if let Some(alarm) = &change.alarm {
        let catalogue = catalogue::current(app, tenant).await?;
        notification::check_alarm(app, tenant, &catalogue, alarm).await?;
    }
    let id = transaction!(app.db, |txn| {
        let now = app.now();
        let id = only(txn, tenant, Kind::WeChat, now).await?;
        let (alarm_type, alarm_group) = change.alarm.clone().map(|of| (of.message_type, of.group)).unzip();
        let (_, to) = changed(txn, app, tenant, Kind::WeChat, id).await?;
        let to = anew(to, now).col_expr(Column::Sender, Expr::val(change.app_id.as_str()));
        let to = to.col_expr(Column::LinkBase, Expr::val(change.link_base.clone()));
        let to = to.col_expr(Column::AlarmType, Expr::val(alarm_type));
        let to = to.col_expr(Column::AlarmGroup, Expr::val(alarm_group));
        // The token was of the account of before.
        let to = to.col_expr(Column::Token, Expr::val(None::<String>));
        let to = to.col_expr(Column::TokenUntil, Expr::val(None::<Millis>));
        let sealed = app.vault.seal(&owner(tenant, id), change.secret.as_bytes())?;
        to.col_expr(Column::Secret, Expr::val(sealed)).exec(txn).await?;
        Ok(id)
    })?;
    lane::known(app, tenant, Kind::WeChat, id).await
}

/// Deletes an account with all that was to be sent, or was sent, by it. Returns whether there was one.
pub async fn delete(app: &App, tenant: &Tenant, id: i64) -> Result<bool> {
    let is_gone = lane::delete(app, tenant, Kind::WeChat, id).await?;
    dispatch::forget(app, tenant, id).await?;
    Ok(is_gone)
}
