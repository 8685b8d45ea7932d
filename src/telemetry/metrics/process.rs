//! What the system says of this process, under the names that Prometheus has for it
//! (<https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>). Only Linux is asked.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::clock::Clock;

/// Asks the system whenever somebody wants the figures.
#[derive(Debug)]
pub struct Process {
    /// In seconds since 1970.
    started_at: f64,
}

impl Process {
    /// Of a process that has just started.
    pub fn new() -> Self {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of this century are kept exactly")]
        Self { started_at: Clock::System.now() as f64 / 1000.0 }
    }
}

impl Collector for Process {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        let mut gauge = |name, help, value: Option<f64>| match value {
            Some(value) => {
                let gauge = ConstGauge::new(value);
                gauge.encode(to.encode_descriptor(name, help, None, prometheus_client::metrics::MetricType::Gauge)?)
            }
            None => Ok(()),
        };
        gauge("process_start_time_seconds", "When the process began, since 1970", Some(self.started_at))?;
        gauge("process_resident_memory_bytes", "Memory that the process has", resident())?;
        gauge("process_open_fds", "Files and connections that are open", open_files())?;
        gauge("process_max_fds", "How many may be", most_files())?;
        if let Some(seconds) = cpu_seconds() {
            let (name, help) = ("process_cpu_seconds", "Time that processors spent on the process");
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
    // The name before may have any characters; proc(5) has user and system time as 14th and 15th field.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: f64 = fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    #[expect(clippy::cast_precision_loss, reason = "it is a hundred")]
    Some(ticks / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(not(target_os = "linux"))]
fn cpu_seconds() -> Option<f64> {
    None
}

fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kibibytes| kibibytes * 1024.0)
}

fn open_files() -> Option<f64> {
    let count = u32::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()?;
    // One of them is the folder that was read.
    Some(f64::from(count - 1))
}

fn most_files() -> Option<f64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}
