//! Logs on standard error, and traces if a collector is configured.
//!
//! Spans of the target `tidings::trace` go to the collector, and to the log only on request. Without a collector
//! nothing listens to them, and such a span costs one check of a flag.

pub mod activity;
pub mod metrics;

use std::io::IsTerminal;

use axum::http::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Level, Metadata, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::{FilterExt, LevelFilter, ParseError, Targets, filter_fn};
use tracing_subscriber::layer::{Filter, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::config::{LogConfig, LogFormat};
use crate::error::{Error, Result};

/// Sends the remaining traces when it is dropped.
#[derive(Debug)]
pub struct Telemetry(Option<SdkTracerProvider>);

/// Starts logging, and tracing if an endpoint is set. Call it once per process.
pub fn start(config: &LogConfig) -> Result<Telemetry> {
    let filter = level_filter(config)?;
    let provider = config.otlp.as_deref().map(trace_provider).transpose()?;
    let traces = provider.as_ref().map(|provider| {
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("tidings"));
        let layer = layer.with_location(false).with_threads(false).with_tracked_inactivity(false).with_target(false);
        layer.with_filter(Targets::new().with_target("tidings::trace", Level::DEBUG))
    });
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match config.log_format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
    };
    // At levels below WARN the exporter logs the whole URL, which may contain a password.
    let shows_url = |of: &Metadata<'_>| of.target() == "opentelemetry-otlp" && *of.level() > Level::INFO;
    let shown = filter_fn(move |of| !shows_url(of)).with_max_level_hint(LevelFilter::TRACE);
    let lines = lines.with_filter(filter.and(shown));
    tracing_subscriber::registry().with(traces).with(lines).try_init().map_err(Error::internal)?;
    Ok(Telemetry(provider))
}

/// Checks the settings of the log.
pub fn check_config(config: &LogConfig) -> Result<()> {
    match Filter::<Registry>::max_level_hint(&level_filter(config)?) {
        _ if config.log.trim().is_empty() => Err(Error::Config("TIDINGS_LOG is empty: nothing would be logged".into())),
        Some(LevelFilter::OFF) => Err(Error::Config(format!("TIDINGS_LOG={}: nothing would be logged", config.log))),
        _ => Ok(()),
    }
}

/// Levels, and levels by module. A word that is no level would name a module and silence all others, as a misspelt
/// level would. So such a word is an error.
fn level_filter(config: &LogConfig) -> Result<Targets> {
    let wrong = |why: String| Error::Config(format!("TIDINGS_LOG={}: {why}", config.log));
    let words: Vec<&str> = config.log.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let is_level = |word: &str| word.parse::<LevelFilter>().is_ok();
    if let Some(word) = words.iter().find(|word| word.contains('[') || !word.contains('=') && !is_level(word)) {
        let all = "error, warn, info, debug, trace, off";
        let module = word.split('[').next().unwrap_or_default();
        return Err(wrong(format!(
            "{word:?} must be one of {all}, or a module with one of these, as in {module}=info"
        )));
    }
    words.join(",").parse().map_err(|error: ParseError| wrong(error.to_string()))
}

/// Sends batches from a thread of its own, by HTTP as protobuf. The standard's own variables set samplers, headers and
/// the attributes of the service (`OTEL_TRACES_SAMPLER`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, …).
fn trace_provider(endpoint: &str) -> Result<SdkTracerProvider> {
    // The message shows neither the URL nor the library's error, because the URL may contain a password.
    let unusable = || Error::Config("OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://localhost:4318".into());
    if !reqwest::Url::parse(endpoint).is_ok_and(|url| ["http", "https"].contains(&url.scheme()) && url.has_host()) {
        return Err(unusable());
    }
    let exporter = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
    let exporter = exporter.with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')));
    let exporter = exporter.build().map_err(|_| unusable())?;
    let named = Resource::builder();
    // Without a name from the operator the library says `unknown_service`.
    let is_named = Resource::builder()
        .build()
        .get(&"service.name".into())
        .is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let named = if is_named { named } else { named.with_service_name("tidings") };
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(named.build()).build())
}

/// Makes a span part of the request's trace, as given by `traceparent` (W3C Trace Context).
pub fn continue_trace(span: &Span, headers: &HeaderMap) {
    if span.is_disabled() || !headers.contains_key("traceparent") {
        return;
    }
    // A malformed `traceparent` is ignored.
    let _ = span.set_parent(TraceContextPropagator::new().extract(&HeaderExtractor(headers)));
}

struct HeaderExtractor<'a>(&'a HeaderMap);

impl Extractor for HeaderExtractor<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(axum::http::HeaderName::as_str).collect()
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(provider) = &self.0 {
            // If the collector is down, the last traces are lost.
            let _ = provider.shutdown();
        }
    }
}
