//! Alarms: announcements that tell a group of the tenant about a problem.

use super::send_for_rule::{PreparedSend, prepare_send};
use super::{Addressees, NotificationContent, NotificationInput};
use crate::catalogue::Catalogue;
use crate::channel;
use crate::tenant::Tenant;
use base::error::{Error, Result};
use model::alarm::AlarmTarget;
use model::catalogue::unknown_type;
use store::Store;

/// Refuses an alarm with an unknown type or group. The error names `alarm.type` or `alarm.group`.
pub async fn check_alarm(store: &Store, tenant: &Tenant, catalogue: &Catalogue, alarm: &AlarmTarget) -> Result<()> {
    if catalogue.message_type(&alarm.message_type).is_none() {
        return Err(unknown_type("alarm.type", &alarm.message_type));
    }
    channel::find_group(store, tenant, &alarm.group).await.map(drop).map_err(|error| match error {
        Error::NotFound { what, id, .. } => Error::not_found_at("alarm.group", what, id),
        other => other,
    })
}

/// Prepares the announcement of an alarm.
pub async fn prepare_alarm(
    store: &Store,
    tenant: &Tenant,
    alarm: &AlarmTarget,
    content: NotificationContent,
) -> Result<PreparedSend> {
    let addressees = Addressees::Groups(vec![alarm.group.clone()]);
    prepare_send(store, tenant, &[NotificationInput::new(alarm.message_type.clone(), addressees, content)]).await
}
