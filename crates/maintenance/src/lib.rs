//! Work that no request waits for: erasure and export of users (`privacy`), and scheduled tasks (`scheduled`), each of
//! which one node runs at a time.
//!
//! Knows everything below the API. To add a task: a variant of `scheduled::ScheduledTask` with its period, and a loop in
//! `src/worker.rs`.

pub mod privacy;
pub mod scheduled;
