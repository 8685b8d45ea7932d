//! Errors of templates.

use std::fmt::{Display, Formatter};

use minijinja::{Error, ErrorKind};

/// Why a template fails: a part that may be logged, and a detail that only the tenant may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFlaw {
    /// A description without any content of the template.
    pub kind: String,
    /// The line from 1 on, if known.
    pub line: Option<usize>,
    detail: Option<String>,
}

impl TemplateFlaw {
    /// A construct that templates may not use.
    pub fn not_allowed(kind: &'static str, line: impl Into<usize>, detail: impl Into<String>) -> Self {
        Self { kind: kind.into(), line: Some(line.into()), detail: Some(detail.into()) }
    }

    /// An error of the engine in a source.
    pub fn from_source_error(error: &Error) -> Self {
        Self { kind: error.kind().to_string(), line: error.line(), detail: error.detail().map(Into::into) }
    }

    /// An error of the engine in a rendering. Its details are left out because they may contain values of the
    /// notification.
    pub fn from_render_error(error: &Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::OutOfFuel => "takes too much work".into(),
            ErrorKind::WriteFailure => "becomes too long".into(),
            kind => kind.to_string(),
        };
        Self { kind, line: error.line(), detail: None }
    }
}

impl Display for TemplateFlaw {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.kind)?;
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, ": {detail}"))
    }
}
