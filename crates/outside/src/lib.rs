//! Requests to addresses that API users name, the one place that checks their addresses (`egress`), and tenants' sealed
//! secrets (`vault`).

pub mod egress;
pub mod mail;
pub mod vault;
pub mod web_push;
pub mod wechat;
