//! The tables of Tidings, one file per table: the columns, but no logic.
//!
//! Ordinary statements (read, list, insert, change, delete, count, lock) are entity calls where they are used;
//! `statement` adds what SeaORM lacks. Times are milliseconds since 1970 in an `i64`, the only representation that all
//! three databases store alike.

pub mod ids;
pub mod prelude;
pub mod statement;

pub mod action;
pub mod activity_key;
pub mod amendment;
pub mod audit_entry;
pub mod channel;
pub mod chore;
pub mod contact;
pub mod default_preference;
pub mod delivery;
pub mod delivery_rule;
pub mod departure;
pub mod destination;
pub mod digest;
pub mod dispatch;
pub mod ended_session;
pub mod gap;
pub mod group_subscription;
pub mod inbox_item;
pub mod job;
pub mod message_type;
pub mod notification;
pub mod preference;
pub mod publication;
pub mod read_mark;
pub mod reason;
pub mod recipient;
pub mod rule;
pub mod rule_row;
pub mod rule_run;
pub mod schedule;
pub mod server;
pub mod subscription;
pub mod tally;
pub mod tally_hour;
pub mod tally_span;
pub mod target_type;
pub mod tenant;
pub mod user;
pub mod view;
pub mod view_code;
pub mod view_visit;
pub mod webhook_batch;
