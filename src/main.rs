//! The command line.

mod command;

use std::error::Error as _;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use command::Command;
use tidings::config::{self, FilesConfig, LogConfig, NotFound};
use tidings::error::Error;
use tidings::telemetry;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A notification inbox server: a bell, an inbox and unread counts that are never wrong.
#[derive(Parser)]
#[command(version, about)]
struct Tidings {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    log: LogConfig,
    #[command(flatten)]
    _files: FilesConfig,
}

#[tokio::main]
async fn main() -> ExitCode {
    let given = std::env::args_os().collect();
    let arguments = match config::with_files(&Tidings::command(), given, &|name| std::env::var_os(name)) {
        Ok(all) => match Tidings::try_parse_from(all) {
            Ok(arguments) => arguments,
            Err(error) if error.source().is_some_and(<dyn std::error::Error>::is::<NotFound>) => {
                let _ = error.print();
                return ExitCode::FAILURE;
            }
            Err(error) => error.exit(),
        },
        Err(error) => {
            tell(&error);
            return code_of(&error);
        }
    };
    let telemetry = match telemetry::start(&arguments.log) {
        Ok(telemetry) => Some(telemetry),
        // Whoever looks for what is wrong tells this, too.
        Err(_) if arguments.command.is_doctor() => None,
        Err(error) => {
            tell(&error);
            return code_of(&error);
        }
    };
    let looks = arguments.command.is_doctor();
    let ended = arguments.command.run(&arguments.log).await;
    if let Err(error) = &ended {
        // Who wants no log wants to know all the same why nothing was done.
        if tracing::enabled!(tracing::Level::ERROR) {
            tracing::error!("{}", error.told());
        } else {
            tell(error);
        }
    }
    // Off the threads of the server, for it waits for a collector that may not answer.
    let _ = tokio::task::spawn_blocking(move || drop(telemetry)).await;
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if looks => ExitCode::FAILURE,
        Err(error) => code_of(&error),
    }
}

/// Says why on standard error, which may be closed.
fn tell(error: &Error) {
    let _ = writeln!(std::io::stderr(), "{}", error.told());
}

/// Tells supervisors whether starting again may help: where somebody has to change something first it is `EX_CONFIG` of
/// sysexits.h, 78.
fn code_of(error: &Error) -> ExitCode {
    if matches!(error, Error::Config(_)) { ExitCode::from(78) } else { ExitCode::FAILURE }
}
