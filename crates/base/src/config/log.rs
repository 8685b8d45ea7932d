//! Logs and traces.

use clap::{Args, ValueEnum};

/// Settings of logs and traces; every command has them.
#[derive(Args, Clone, Debug)]
pub struct LogConfig {
    /// What to log: `error`, `warn`, `info`, `debug`, `trace`, or filters by module. `tidings::request=debug` logs one
    /// line per request.
    #[arg(long, env = "TIDINGS_LOG", default_value = "info,h2=error,opentelemetry=warn", global = true)]
    pub log: String,
    /// Format of log lines.
    #[arg(long, env = "TIDINGS_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,
    /// URL that receives traces by OTLP over HTTP, such as `http://localhost:4318`. Without it the server sends no
    /// traces.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true, global = true)]
    pub otlp: Option<String>,
}

/// Format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line, for programs.
    Json,
}
