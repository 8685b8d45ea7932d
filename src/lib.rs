//! Tidings, a notification inbox server.
//!
//! The crates below hold the operations; ARCHITECTURE.md lists them. This one has the API, the routes and the command
//! line, and re-exports what tests and applications that embed the server use.

pub mod app;
pub mod demo;
pub mod graphql;
pub mod http;
pub mod worker;

pub use base::{clock, config, error, json, telemetry, text};
