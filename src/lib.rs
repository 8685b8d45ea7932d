//! Tidings, a notification inbox server.
//!
//! `FLOORS` in `tests/it/architecture.rs` is the order of these modules, and ARCHITECTURE.md explains it.

// The foundation, used by everything.
pub mod clock;
pub mod config;
pub mod error;
pub mod fair_semaphore;
pub mod json;
pub mod telemetry;
pub mod text;

// Customers' databases that rules read.
pub mod source;

// Requests to addresses that API users name, and tenants' sealed secrets.
pub mod egress;
pub mod vault;

// Mail over tenants' relays, and Web Push.
pub mod mail;
pub mod push;

// Template messages of WeChat accounts.
pub mod wechat;

// Change notices for sessions on this node and on others.
pub mod hub;

// Validation of cached overviews in Redis.
pub mod board;

// Domain values and their rules.
pub mod model;

// The database; see also the crates `entity` and `migration`.
pub mod database;

// Authentication.
pub mod auth;

// The application state, and the operations.
pub mod app;
pub mod domain;

// The API, and the background loops.
pub mod graphql;
pub mod worker;

// HTTP.
pub mod http;

// The tenant of `tidings serve --demo`.
pub mod demo;
