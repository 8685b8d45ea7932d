//! The operations, one file or folder per noun. They depend on neither GraphQL nor HTTP. `tests/it/architecture.rs` has
//! the order of the nouns.

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
pub mod probe;
pub mod push;
pub mod rule;
pub mod tally;
pub mod tenant;
pub mod user;
pub mod view;
pub mod wants;
pub mod webhook;
pub mod wechat;
