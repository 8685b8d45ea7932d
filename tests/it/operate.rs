//! What an operator sees of the server, and what it does when its database is slow or away.

mod bad_days;
mod clocks;
mod logs;
mod metrics;
mod overload;
mod ready;
mod restart;
mod traces;
