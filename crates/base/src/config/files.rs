//! Settings from files: `--config`, and one file per secret.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, Args, Command};

use crate::error::{Error, Result};

/// The option for the settings file; every command has it.
#[derive(Args, Clone, Debug)]
pub struct FilesConfig {
    /// File of settings, one `NAME=value` per line, with the names of the environment variables. The environment wins
    /// over the file. Lines that begin with `#` are comments.
    #[arg(long, env = "TIDINGS_CONFIG", global = true)]
    pub config: Option<PathBuf>,
}

/// Suffix of the variable that names a secret's file, as in `TIDINGS_SECRET_FILE`.
const FILE: &str = "_FILE";

/// Looks up an environment variable.
pub type EnvironmentLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Returns the arguments, followed by the settings from files that neither the arguments nor the environment set: from
/// the file that `--config` names, and from the files that variables such as `TIDINGS_SECRET_FILE` name.
///
/// Fails with `Config` if a file cannot be read, names an unknown setting, or sets something that is also set
/// elsewhere.
pub fn with_files(
    program: &Command,
    mut arguments: Vec<OsString>,
    environment: EnvironmentLookup<'_>,
) -> Result<Vec<OsString>> {
    let mut program = program.clone().ignore_errors(true);
    program.build();
    // The caller parses the arguments again and reports errors in them.
    let Ok(given) = program.try_get_matches_from_mut(&arguments) else { return Ok(arguments) };
    let Some((command, _)) = given.subcommand() else { return Ok(arguments) };
    let file = match given.try_get_one::<PathBuf>("config") {
        Ok(Some(path)) => read_settings(path, &program)?,
        _ => BTreeMap::new(),
    };
    let of_command = program.find_subcommand(command).into_iter().flat_map(Command::get_arguments);
    for argument in of_command {
        let (Some(name), Some(long)) = (argument.get_env().and_then(|name| name.to_str()), argument.get_long()) else {
            continue;
        };
        let option = format!("--{long}");
        let is_said = |text: &OsString| {
            text.to_str().is_some_and(|text| {
                text == option || text.strip_prefix(&option).is_some_and(|rest| rest.starts_with('='))
            })
        };
        if arguments.iter().any(is_said) {
            continue;
        }
        if let Some(value) = value_from_file(name, argument, &file, environment)? {
            arguments.push(format!("{option}={value}").into());
        }
    }
    Ok(arguments)
}

/// The value of a setting from a file; `None` if the environment sets it.
fn value_from_file(
    name: &str,
    argument: &Arg,
    file: &BTreeMap<String, String>,
    environment: EnvironmentLookup<'_>,
) -> Result<Option<String>> {
    let kept = format!("{name}{FILE}");
    let (here, path) = match (environment(name).is_some(), is_secret(argument).then(|| environment(&kept)).flatten()) {
        (true, Some(_)) => return Err(set_twice(name)),
        (true, None) => return Ok(None),
        (false, Some(path)) => (None, Some(PathBuf::from(path))),
        (false, None) => (file.get(name), file.get(&kept).map(PathBuf::from)),
    };
    match (here, path) {
        (Some(_), Some(_)) => Err(set_twice(name)),
        (here, None) => Ok(here.cloned()),
        (None, Some(path)) => read_secret(&kept, &path).map(Some),
    }
}

fn set_twice(name: &str) -> Error {
    Error::Config(format!("both {name} and {name}{FILE} are set: leave one of them out"))
}

/// Settings that `--help` hides may be kept in a file of their own.
fn is_secret(argument: &Arg) -> bool {
    argument.is_hide_env_values_set()
}

fn read_secret(name: &str, path: &Path) -> Result<String> {
    let unusable = |why: &dyn std::fmt::Display| Error::Config(format!("{name}={} {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| unusable(&format_args!("cannot be read: {error}")))?;
    match text.trim_start_matches(BYTE_ORDER_MARK).trim() {
        "" => Err(unusable(&"is empty")),
        text => Ok(text.to_owned()),
    }
}

/// Reads a settings file.
fn read_settings(path: &Path, program: &Command) -> Result<BTreeMap<String, String>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::Config(format!("TIDINGS_CONFIG={shown} cannot be read: {error}")))?;
    let known: Vec<&Arg> = program.get_subcommands().flat_map(Command::get_arguments).collect();
    let argument = |name: &str| known.iter().find(|argument| argument.get_env().is_some_and(|env| env == name));
    let is_known = |name: &str| {
        let of_secret = name.strip_suffix(FILE).and_then(argument);
        name != "TIDINGS_CONFIG" && (argument(name).is_some() || of_secret.is_some_and(|of| is_secret(of)))
    };
    let mut settings = BTreeMap::new();
    for (number, line) in (1..).zip(text.trim_start_matches(BYTE_ORDER_MARK).lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: String| Error::Config(format!("{shown}:{number}: {why}"));
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("must be KEY=value".into()))?;
        let (name, value) = (name.trim(), strip_quotes(value.trim()));
        if !is_known(name) {
            return Err(wrong(if is_like_a_name(name) {
                format!("there is no setting {name:?}")
            } else {
                "the text before the = is not a setting".into()
            }));
        }
        if settings.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(wrong(format!("{name} is set twice")));
        }
    }
    Ok(settings)
}

/// Whether an error message may show the name. In a file that is not a settings file, the text before `=` may be part
/// of a secret.
fn is_like_a_name(name: &str) -> bool {
    let is_ours = ["TIDINGS_", "DATABASE_", "REDIS_", "OTEL_"].into_iter().any(|prefix| name.starts_with(prefix));
    is_ours
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Some editors put this at the start of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Removes the quotes that shell and systemd files put around values.
fn strip_quotes(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{CommandFactory, Parser};

    use super::{FilesConfig, with_files};
    use crate::config::ServerConfig;
    use crate::error::Result;

    #[derive(Parser)]
    struct Program {
        #[command(subcommand)]
        command: Serve,
        #[command(flatten)]
        files: FilesConfig,
    }

    #[derive(clap::Subcommand)]
    enum Serve {
        Serve {
            #[command(flatten)]
            config: Box<ServerConfig>,
        },
    }

    /// The arguments a server starts with, given a settings file, an environment and arguments.
    fn started(file: &str, environment: &[(&str, &str)], arguments: &[&str]) -> Result<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("settings"), file).unwrap();
        std::fs::write(folder.path().join("secret"), "  from its own file\n").unwrap();
        std::fs::write(folder.path().join("marked"), "\u{feff}from its own file\r\n").unwrap();
        std::fs::write(folder.path().join("empty"), "\n").unwrap();
        let within = |value: &str| value.replace('@', &format!("{}/", folder.path().display()));
        let path = within("@settings");
        std::fs::write(&path, within(file)).unwrap();
        let arguments: Vec<OsString> =
            ["tidings", "serve", "--config", &path].iter().chain(arguments).map(Into::into).collect();
        let said = |name: &str| environment.iter().find(|(of, _)| *of == name).map(|(_, value)| within(value).into());
        let all = with_files(&Program::command(), arguments, &said)?;
        Ok(all.iter().skip(4).map(|text| text.to_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn a_file_says_what_neither_the_environment_nor_the_command_line_does() {
        let file = "# nodes\nTIDINGS_LISTEN = localhost:80\n\nTIDINGS_SESSIONS='7'\nREDIS_URL=\"redis://x/?a=b\"\n";
        let all = ["--listen=localhost:80", "--redis=redis://x/?a=b", "--sessions=7"];
        assert_eq!(started(file, &[], &[]).unwrap(), all);
        let rest = ["--listen=localhost:80", "--redis=redis://x/?a=b"];
        assert_eq!(started(file, &[("TIDINGS_SESSIONS", "8")], &[]).unwrap(), rest);
        assert_eq!(started(file, &[], &["--sessions=9"]).unwrap(), [&["--sessions=9"], &rest[..]].concat());
        let apart = started(file, &[], &["--sessions", "9"]).unwrap();
        assert_eq!(apart, [&["--sessions", "9"], &rest[..]].concat());
        assert_eq!(started(file, &[], &["--sessions-per-user", "9"]).unwrap().len(), 5, "another option");
    }

    #[test]
    fn a_secret_may_stand_in_a_file_of_its_own() {
        let own = ["--secret=from its own file"];
        assert_eq!(started("", &[("TIDINGS_SECRET_FILE", "@secret")], &[]).unwrap(), own);
        assert_eq!(started("TIDINGS_SECRET_FILE=@secret", &[], &[]).unwrap(), own);
        assert_eq!(started("\u{feff}TIDINGS_SECRET_FILE=@marked", &[], &[]).unwrap(), own, "a byte order mark");
        assert_eq!(started("TIDINGS_JWKS_FILE=@secret", &[], &[]).unwrap(), ["--jwks=from its own file"]);
        let over = started("TIDINGS_SECRET=other", &[("TIDINGS_SECRET_FILE", "@secret")], &[]);
        assert_eq!(over.unwrap(), own, "the environment wins");
        assert!(started("TIDINGS_SECRET_FILE=@secret", &[("TIDINGS_SECRET", "other")], &[]).unwrap().is_empty());
    }

    #[test]
    fn what_a_file_says_wrongly_is_named() {
        for (file, environment, words) in [
            ("TIDINGS_LISTEN=a\nnonsense", &[][..], "settings:2: must be KEY=value"),
            ("TIDINGS_LISTN=a", &[], "settings:1: there is no setting \"TIDINGS_LISTN\""),
            ("TIDINGS_LISTEN_FILE=a", &[], "settings:1: there is no setting \"TIDINGS_LISTEN_FILE\""),
            ("TIDINGS_CONFIG=a", &[], "settings:1: there is no setting"),
            ("c2VjcmV0IQ==", &[], "settings:1: the text before the = is not a setting"),
            ("JBSWY3DPEHPK3PXP=", &[], "settings:1: the text before the = is not a setting"),
            ("TIDINGS_LISTEN=a\nTIDINGS_LISTEN=b", &[], "settings:2: TIDINGS_LISTEN is set twice"),
            (
                "TIDINGS_SECRET=a\nTIDINGS_SECRET_FILE=@secret",
                &[],
                "both TIDINGS_SECRET and TIDINGS_SECRET_FILE are set",
            ),
            ("", &[("TIDINGS_SECRET", "a"), ("TIDINGS_SECRET_FILE", "@secret")], "both TIDINGS_SECRET and"),
            ("", &[("DATABASE_URL_FILE", "@nowhere")], "nowhere cannot be read: No such file"),
            ("", &[("REDIS_URL_FILE", "@empty")], "empty is empty"),
        ] {
            let told = started(file, environment, &[]).unwrap_err().to_string();
            assert!(told.contains(words), "{told:?} rather than {words:?}");
        }
    }
}
