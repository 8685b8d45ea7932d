//! What everything uses: the one error type, the time, settings, metrics and logs.

pub mod clock;
pub mod config;
pub mod error;
pub mod fair_semaphore;
pub mod json;
pub mod locale;
pub mod telemetry;
pub mod text;
