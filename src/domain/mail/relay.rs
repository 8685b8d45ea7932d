//! A tenant's relay, by which its mail goes out.

use entity::lane::{ActiveModel, Column, Entity as Lanes};
use entity::prelude::*;

use crate::app::App;
use crate::clock::Millis;
use crate::database::{Database, Transaction, transaction};
use crate::domain::lane::{self, Kind, Lane, State, anew, changed, end_of_log, lock_all, owner};
use crate::domain::tenant::Tenant;
use crate::domain::{catalogue, dispatch, notification};
use crate::error::{Error, Result};
use crate::mail::Relay;
use crate::model::alarm::Alarm;
use crate::model::check;

/// All of a relay.
#[derive(Clone, Debug)]
pub struct Change {
    /// With name and password, where it wants them.
    pub url: String,
    /// The address that mail comes from, and its name.
    pub from: String,
    /// Where answers go, where that is another one.
    pub reply_to: Option<String>,
    /// What links of notifications that are paths belong to: an absolute http(s) URL.
    pub link_base: Option<String>,
    pub alarm: Option<Alarm>,
}

/// The tenant's relay; nothing where it has none.
pub async fn find(app: &App, tenant: &Tenant) -> Result<Option<Lane>> {
    Ok(lane::all(app, tenant, Kind::Email).await?.pop())
}

/// Whether any tenant has one.
pub async fn has_relays(db: &Database) -> Result<bool> {
    let relays = Lanes::find().filter(Column::Kind.eq(Kind::Email)).select_only().column(Column::Id).limit(1);
    Ok(relays.into_tuple::<i64>().one(&db.read).await?.is_some())
}

/// Makes the tenant's relay, or gives it other settings, and tries at once what is due. A new one hears of what happens from now on.
/// `CONFLICT` where the server cannot keep secrets.
pub async fn save(app: &App, tenant: &Tenant, change: &Change) -> Result<Lane> {
    app.vault.check()?;
    let relay = Relay::read(&change.url, &change.from, change.reply_to.as_deref())?;
    app.mail.check(&relay).map_err(|error| error.within("url"))?;
    if let Some(base) = &change.link_base {
        check_base(base)?;
    }
    if let Some(alarm) = &change.alarm {
        let catalogue = catalogue::current(app, tenant).await?;
        notification::check_alarm(app, tenant, &catalogue, alarm).await?;
    }
    let id = transaction!(app.db, |txn| {
        let now = app.now();
        let id = row(txn, tenant, now).await?;
        let (alarm_type, alarm_group) = change.alarm.clone().map(|of| (of.message_type, of.group)).unzip();
        let (_, to) = changed(txn, app, tenant, Kind::Email, id).await?;
        let to = anew(to, now).col_expr(Column::Url, Expr::val(shown(&change.url)?));
        let to = to.col_expr(Column::Sender, Expr::val(change.from.as_str()));
        let to = to.col_expr(Column::ReplyTo, Expr::val(change.reply_to.clone()));
        let to = to.col_expr(Column::LinkBase, Expr::val(change.link_base.clone()));
        let to = to.col_expr(Column::AlarmType, Expr::val(alarm_type));
        let to = to.col_expr(Column::AlarmGroup, Expr::val(alarm_group));
        let sealed = app.vault.seal(&owner(tenant, id), change.url.as_bytes())?;
        to.col_expr(Column::Secret, Expr::val(sealed)).exec(txn).await?;
        Ok(id)
    })?;
    lane::known(app, tenant, Kind::Email, id).await
}

/// Deletes a relay with all that was to be sent, or was sent, by it. Returns whether there was one.
pub async fn delete(app: &App, tenant: &Tenant, id: i64) -> Result<bool> {
    let is_gone = lane::delete(app, tenant, Kind::Email, id).await?;
    dispatch::forget(app, tenant, id).await?;
    Ok(is_gone)
}

/// A relay's URL without name and password.
fn shown(url: &str) -> Result<String> {
    let wrong = || Error::bad_input("url", "must be a URL");
    let mut url = reqwest::Url::parse(url).map_err(|_| wrong())?;
    url.set_username("").map_err(|()| wrong())?;
    url.set_password(None).map_err(|()| wrong())?;
    Ok(url.into())
}

/// The row of the tenant's relay, which is made where there is none.
async fn row(txn: &Transaction, tenant: &Tenant, now: Millis) -> Result<i64> {
    // Who makes one at the same time waits here, and then finds it.
    let end = end_of_log(txn, tenant).await?;
    if let Some(of) = lock_all(txn, tenant.id, Kind::Email).await?.first() {
        return Ok(of.id);
    }
    let made = ActiveModel {
        tenant_id: Set(tenant.id),
        kind: Set(Kind::Email),
        url: Set(String::new()),
        events: Set(0),
        is_full: Set(true),
        secret: Set(String::new()),
        state: Set(State::Active),
        cursor_seq: Set(end),
        created_at: Set(now),
        updated_at: Set(now),
        ..Default::default()
    };
    Ok(Lanes::insert(made).exec(txn).await?.last_insert_id)
}

fn check_base(base: &str) -> Result<()> {
    check::link("linkBase", base)?;
    if !base.starts_with("https://") && !base.starts_with("http://") {
        return Err(Error::bad_input("linkBase", "must be an absolute URL of http or https"));
    }
    Ok(())
}

/// As letters are handed to it; or why they cannot be.
pub(super) fn opened(app: &App, tenant: &Tenant, lane: &Lane) -> Result<Relay, String> {
    let read = || {
        let url = app.vault.open(&owner(tenant, lane.id), &lane.secret)?;
        let url = std::str::from_utf8(url.bytes()).map_err(Error::internal)?;
        Relay::read(url, lane.sender.as_deref().unwrap_or_default(), lane.reply_to.as_deref())
    };
    read().map_err(|error| {
        tracing::error!(tenant = tenant.code, cause = error.told(), "the settings of a mail relay cannot be opened");
        "the server cannot open the settings of the relay: whoever runs it finds out why in its log".to_owned()
    })
}
