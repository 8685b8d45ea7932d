//! What everything uses: the one error type, the time, settings, metrics, logs, and how locales write.
//!
//! Knows only `entity`, for the types of settings and metrics. Nothing else reads the system's clock or the environment.
//!
//! To add a setting: a field with its limits in the `config` file of its subject, a check in that file's `check`, and a
//! line in docs/configuration.md. To add a metric: a field in `telemetry::metrics::Metrics`, and a line in
//! docs/operate/monitor.md.

pub mod clock;
pub mod config;
pub mod error;
pub mod fair_semaphore;
pub mod json;
pub mod locale;
pub mod telemetry;
pub mod text;
