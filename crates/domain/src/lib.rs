//! The operations on tenants, users, notifications and inboxes, one file or folder per noun. They depend on neither
//! GraphQL nor HTTP. `tests/it/architecture.rs` has the order of the nouns.

pub mod audit;
pub mod catalogue;
pub mod channel;
pub mod counters;
pub mod ended_session;
pub mod inbox;
pub mod job;
pub mod notification;
pub mod overview;
pub mod preference;
pub mod preference_filter;
pub mod probe;
pub mod tenant;
pub mod user;
pub mod view;
