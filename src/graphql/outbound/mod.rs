//! Outbound destinations (webhook endpoints, mail relay, WeChat account, Web Push sender) and their deliveries.

mod delivery;
mod delivery_counts;
mod delivery_input;
mod mail;
mod web_push;
mod webhook;
mod webhook_input;
mod wechat;

use async_graphql::ID;

use super::context::CallContext;
use base::error::{Error, Result};
pub use delivery::{DeliveryMutation, DeliveryQuery, OutboundDelivery};
pub use delivery_counts::{DeliveryCountLoader, NotificationDeliveries};
pub use mail::{MailMutation, MailQuery, MailRelay};
use model::id_cipher::IdKind;
pub use web_push::{PushMutation, PushQuery, WebPush};
pub use webhook::{WebhookEndpoint, WebhookMutation, WebhookQuery};
pub use wechat::{WeChatAccount, WeChatMutation, WeChatQuery};

/// The id of a destination's row.
fn destination_id(call: CallContext<'_>, row: i64) -> ID {
    ID(call.tenant.id_cipher.encode(IdKind::Destination, 0, row))
}

/// The row that an id names.
fn open_row_id(call: CallContext<'_>, kind: IdKind, field: &str, id: &ID) -> Result<i64> {
    let what = match kind {
        IdKind::Destination => "webhook endpoint",
        IdKind::Delivery => "delivery",
        _ => "notification",
    };
    let row = call.tenant.id_cipher.decode(kind, id).map(|(_, row)| row);
    row.ok_or_else(|| Error::not_found_at(field, what, id.as_str()))
}
