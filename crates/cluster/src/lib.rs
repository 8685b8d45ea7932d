//! What nodes tell each other: change notices for live sessions (`hub`), and which cached overviews are still valid
//! (`invalidation`).
//!
//! Knows `base` and `entity`. It has no statements: `hub::bus` uses PostgreSQL's LISTEN and NOTIFY on connections of its
//! own, or Redis.
//!
//! To tell nodes something new, add a field to `hub::Notice`. Nodes of the previous release ignore fields that they do
//! not know, and notices may be lost, so a field may only save work and never carry data.

pub mod hub;
pub mod invalidation;
