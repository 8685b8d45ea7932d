//! Tidings, a notification inbox server.
//!
//! The floors, lowest first; a module imports only from those above it in this list (`tests/it/architecture.rs`).

// Ground: what everything may use.
pub mod clock;
pub mod config;
pub mod error;
pub mod json;
pub mod telemetry;

// Databases that belong to somebody else, which rules read.
pub mod source;

// Requests to addresses that users have named, and secrets of tenants.
pub mod egress;
pub mod vault;

// Letters, which go out over relays of tenants.
pub mod mail;
pub mod push;

// Messages of official accounts of WeChat.
pub mod wechat;

// Tells open sessions, here and on other nodes, that there is news.
pub mod hub;

// What hangs in Redis while nothing has changed.
pub mod board;

// Values and their own rules.
pub mod model;

// The database, by way of the crates `entity` and `migration`.
pub mod database;

// Who is calling.
pub mod auth;

// All that an operation may use. It holds the domain's caches, so these two know each other.
pub mod app;
pub mod domain;

// The API, and what goes on in the background.
pub mod graphql;
pub mod worker;

// The wire.
pub mod http;

// What `tidings serve --demo` shows.
pub mod demo;
