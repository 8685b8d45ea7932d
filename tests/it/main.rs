//! Tests of Tidings through its API, on every reachable kind of database.
//!
//! SQLite is always available. PostgreSQL and MariaDB are used if they are reachable (`TIDINGS_TEST_POSTGRES`,
//! `TIDINGS_TEST_MYSQL`). Otherwise their tests print that they are skipped and pass, or fail if `TIDINGS_TEST_ALL=1`.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing where something must be has failed")]

mod support;

mod access;
mod after;
mod api;
mod architecture;
mod audit;
mod board;
mod bounds;
mod catalogue;
mod concurrency;
mod explain;
mod hear;
mod inbox;
mod keys;
mod live;
mod mail;
mod marks;
mod matrix;
mod mentions;
mod metrics;
mod migrate;
mod model;
mod numbers;
mod operate;
mod overview;
mod preview;
mod push;
mod readers;
mod retry;
mod rule;
mod schema;
mod search;
mod send;
mod sent;
mod sign_in;
mod source;
mod status;
mod tables;
mod text;
mod view;
mod webhook;
mod wechat;
mod wire;
