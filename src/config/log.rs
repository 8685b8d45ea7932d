//! What is told of the server while it runs, and to whom.

use clap::{Args, ValueEnum};

/// Settings of logs and traces, which every command takes.
#[derive(Args, Clone, Debug)]
pub struct LogConfig {
    /// What to log: `error`, `warn`, `info`, `debug`, `trace`, or filters by module. `tidings::request=debug` adds a line
    /// a request.
    #[arg(long, env = "TIDINGS_LOG", default_value = "info,h2=error,opentelemetry=warn", global = true)]
    pub log: String,
    /// How lines of the log are written.
    #[arg(long, env = "TIDINGS_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,
    /// Where traces are sent by OTLP over HTTP, such as `http://localhost:4318`; without it there are none.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true, global = true)]
    pub otlp: Option<String>,
}

/// The form of a line of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object a line, for programs.
    Json,
}
