//! What an operator sees of the server, and what it does when its database is slow or away.

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
