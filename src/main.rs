//! The command line.

mod command;

use std::error::Error as _;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use base::config::{self, FilesConfig, HostNotFound, LogConfig};
use base::error::Error;
use base::telemetry;
use command::CliCommand;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A notification inbox server: a bell, an inbox and unread counts that are never wrong.
#[derive(Parser)]
#[command(version, about)]
struct Tidings {
    #[command(subcommand)]
    command: CliCommand,
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
            Err(error) if error.source().is_some_and(<dyn std::error::Error>::is::<HostNotFound>) => {
                print_clap_error(&error);
                return ExitCode::FAILURE;
            }
            Err(error) => {
                print_clap_error(&error);
                return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
            }
        },
        Err(error) => {
            print_error(&error);
            return exit_code(&error);
        }
    };
    let telemetry = match telemetry::start(&arguments.log) {
        Ok(telemetry) => Some(telemetry),
        // `doctor` reports this error itself.
        Err(_) if arguments.command.is_doctor() => None,
        Err(error) => {
            print_error(&error);
            return exit_code(&error);
        }
    };
    let looks = arguments.command.is_doctor();
    let ended = arguments.command.run(&arguments.log).await;
    if let Err(error) = &ended {
        // With logging turned off, the error must still be shown.
        if tracing::enabled!(tracing::Level::ERROR) {
            tracing::error!("{}", config::without_credentials(&error.log_message()));
        } else {
            print_error(error);
        }
    }
    // In a blocking thread, because it waits for a collector that may not answer.
    let _ = tokio::task::spawn_blocking(move || drop(telemetry)).await;
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if looks => ExitCode::FAILURE,
        Err(error) => exit_code(&error),
    }
}

/// Prints help or argument errors. They may repeat the value of a setting, so passwords in URLs are removed.
fn print_clap_error(said: &clap::Error) {
    let text = said.render();
    let is_terminal = if said.use_stderr() { std::io::stderr().is_terminal() } else { std::io::stdout().is_terminal() };
    let text = config::without_credentials(&if is_terminal { text.ansi().to_string() } else { text.to_string() });
    let _ = if said.use_stderr() {
        std::io::stderr().write_all(text.as_bytes())
    } else {
        std::io::stdout().write_all(text.as_bytes())
    };
}

/// Prints an error on standard error, without passwords in URLs. Standard error may be closed.
fn print_error(error: &Error) {
    let _ = writeln!(std::io::stderr(), "{}", config::without_credentials(&error.log_message()));
}

/// The exit code tells supervisors whether a restart may help. 78 (`EX_CONFIG` of sysexits.h) says that the
/// configuration must be changed first.
fn exit_code(error: &Error) -> ExitCode {
    if matches!(error, Error::Config(_)) { ExitCode::from(78) } else { ExitCode::FAILURE }
}
