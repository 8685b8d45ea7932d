//! Outbound destinations (webhook endpoints, mail relay, WeChat account, Web Push sender) and their deliveries.

mod delivery;
mod delivery_input;
mod figures;
mod mail;
mod push;
mod webhook;
mod webhook_input;
mod wechat;

use async_graphql::ID;

use super::context::Call;
use crate::error::{Error, Result};
use crate::model::seal::Kind;

pub use delivery::{DeliveryMutation, DeliveryQuery, OutboundDelivery};
pub use figures::{NotificationDeliveries, SharedFigures};
pub use mail::{MailMutation, MailQuery, MailRelay};
pub use push::{PushMutation, PushQuery, WebPush};
pub use webhook::{WebhookEndpoint, WebhookMutation, WebhookQuery};
pub use wechat::{WeChatAccount, WeChatMutation, WeChatQuery};

/// The id of a destination's row.
fn lane_id(call: Call<'_>, row: i64) -> ID {
    ID(call.tenant.seal.close(Kind::Lane, 0, row))
}

/// The row that an id names.
fn opened(call: Call<'_>, kind: Kind, field: &str, id: &ID) -> Result<i64> {
    let what = match kind {
        Kind::Lane => "webhook endpoint",
        Kind::Delivery => "delivery",
        _ => "notification",
    };
    let row = call.tenant.seal.open(kind, id).map(|(_, row)| row);
    row.ok_or_else(|| Error::not_found_at(field, what, id.as_str()))
}
