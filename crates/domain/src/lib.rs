//! The operations on tenants, users, notifications and inboxes, one folder per noun.
//!
//! Knows `model` and `store`, and neither GraphQL nor HTTP. An operation takes the [`Store`](store::Store) first, then
//! the tenant, then its subject. It checks everything, then runs one `transaction!`, and calls `txn.notify` if sessions
//! must hear of it. SQL that depends on a plan stands in `queries.rs` beside its operation; other statements are entity
//! calls.
//!
//! From the ground up, each module imports only those before it: `ended_session`, `tenant`, `catalogue`, `probe`,
//! `preference_filter`, `counters`, `user`, `audit`, `inbox`, `job`, `channel`, `preference`, `view`, `overview`,
//! `notification`.

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
