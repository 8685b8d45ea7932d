//! The operator's view of the server, and the server's behaviour when its database is slow or down.

mod backup;
mod bad_days;
mod clocks;
mod command;
mod doctor;
mod fence;
mod import;
mod logs;
mod metrics;
mod overload;
mod ready;
mod restart;
mod traces;
pub mod upgrade;
