//! What is wrong with a template.

use std::fmt::{Display, Formatter};

use minijinja::{Error, ErrorKind};

/// Why a text cannot be rendered: what the log may hold of it, and the rest, which is the tenant's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// What it is, in words that are the same for all templates.
    pub kind: String,
    /// Where, from 1 on, as far as that is known.
    pub line: Option<usize>,
    detail: Option<String>,
}

impl Flaw {
    /// Something that templates may not do or be.
    pub fn refused(kind: &'static str, line: impl Into<usize>, detail: impl Into<String>) -> Self {
        Self { kind: kind.into(), line: Some(line.into()), detail: Some(detail.into()) }
    }

    /// What the engine says of a source.
    pub fn of_source(error: &Error) -> Self {
        Self { kind: error.kind().to_string(), line: error.line(), detail: error.detail().map(Into::into) }
    }

    /// What the engine says of a rendering. Its details may hold values of the notification, and are left out.
    pub fn of_rendering(error: &Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::OutOfFuel => "takes too much work".into(),
            ErrorKind::WriteFailure => "becomes too long".into(),
            kind => kind.to_string(),
        };
        Self { kind, line: error.line(), detail: None }
    }
}

impl Display for Flaw {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.kind)?;
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, ": {detail}"))
    }
}
