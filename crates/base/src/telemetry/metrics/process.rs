//! Metrics of this process, under Prometheus's standard names
//! (<https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>). Linux only.

use std::{fmt, fs};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::clock::Clock;

/// Reads the metrics from the system at each scrape.
#[derive(Debug)]
pub struct ProcessCollector {
    /// In seconds since 1970.
    started_at: f64,
}

impl ProcessCollector {
    /// For a process that has just started.
    pub fn new() -> Self {
        #[expect(clippy::cast_precision_loss, reason = "f64 holds these milliseconds exactly")]
        Self { started_at: Clock::System.now() as f64 / 1000.0 }
    }
}

impl Collector for ProcessCollector {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        let mut gauge = |name, help, value: Option<f64>| match value {
            Some(value) => {
                let gauge = ConstGauge::new(value);
                gauge.encode(to.encode_descriptor(name, help, None, prometheus_client::metrics::MetricType::Gauge)?)
            }
            None => Ok(()),
        };
        gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970", Some(self.started_at))?;
        gauge("process_resident_memory_bytes", "Resident memory of the process, in bytes", resident_bytes())?;
        gauge("process_open_fds", "Open files and connections", open_files())?;
        gauge("process_max_fds", "Maximum number of open files and connections", max_files())?;
        if let Some(seconds) = cpu_seconds() {
            let (name, help) = ("process_cpu_seconds", "User and system CPU time of the process, in seconds");
            let counter = ConstCounter::new(seconds);
            counter.encode(to.encode_descriptor(
                name,
                help,
                None,
                prometheus_client::metrics::MetricType::Counter,
            )?)?;
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The process name before may contain any character. In proc(5) user and system time are fields 14 and 15.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: f64 = fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    #[expect(clippy::cast_precision_loss, reason = "it is usually 100")]
    Some(ticks / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(not(target_os = "linux"))]
fn cpu_seconds() -> Option<f64> {
    None
}

fn resident_bytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kibibytes| kibibytes * 1024.0)
}

fn open_files() -> Option<f64> {
    let count = u32::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()?;
    // One of them is the directory that is being read.
    Some(f64::from(count - 1))
}

fn max_files() -> Option<f64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}
