//! What Tidings does, one file or folder a noun; it knows neither GraphQL nor HTTP. Each noun knows only those that stand before
//! it in the order that ARCHITECTURE.md gives and `tests/it/architecture.rs` holds.

pub mod audit;
pub mod catalogue;
pub mod channel;
pub mod chore;
pub mod dispatch;
pub mod ended_session;
pub mod inbox;
pub mod job;
pub mod lane;
pub mod live;
pub mod mail;
pub mod notification;
pub mod outbound;
pub mod overview;
pub mod preference;
pub mod privacy;
pub mod push;
pub mod rule;
pub mod tally;
pub mod tenant;
pub mod user;
pub mod view;
pub mod wants;
pub mod webhook;
pub mod wechat;
