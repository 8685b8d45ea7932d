//! Work on tables that no request waits for: erasure, sweeps, repairs after a failover.

pub mod privacy;
pub mod scheduled;
