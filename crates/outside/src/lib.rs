//! Requests to addresses that API users name, the one place that checks their addresses (`egress`), and tenants' sealed
//! secrets (`vault`).
//!
//! Knows `base`, and neither database nor domain: a client takes an address and a payload, and returns what the other
//! server answered.
//!
//! To add a provider: a client over `egress::EgressClient` here, with the provider's errors as an enum that says whether
//! a retry may help; then a transport in the crate `delivery`.

pub mod egress;
pub mod mail;
pub mod vault;
pub mod web_push;
pub mod wechat;
