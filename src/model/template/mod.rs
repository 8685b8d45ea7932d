//! Templates of message types and of their emails, written for MiniJinja. They are rendered when an item is read or an
//! email is written.
//!
//! Operators of any tenant write them, and any sender supplies their values, so neither may cost other tenants
//! anything. A source is checked before it is compiled (`guard`), and a rendering has limits on steps (`filters`), work
//! (`work`) and size (`compiled`). All together take about a millisecond, so rendering runs inline.

mod compiled;
mod filters;
mod flaw;
mod guard;
mod inserted;
mod known;
mod marks;
mod scene;
mod sink;
mod source;
#[cfg(test)]
mod tests;
mod work;

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;

use super::check as texts;
use crate::error::{Error, Result};
pub use compiled::Compiled;
pub use flaw::Flaw;
use known::Known;
pub use scene::{Scene, ShownScene, TargetScene};
pub use source::{Form, LetterTemplate, Source, Template, Text};

/// Maximum bytes of a source.
const SOURCE_BYTES: usize = 16 * 1024;

/// The templates of a catalogue.
#[derive(Default)]
pub struct Templates {
    /// The texts of each type with templates, by its code.
    types: HashMap<String, [Known; 6]>,
    /// Approximate bytes of the compiled ones.
    kept: AtomicUsize,
}

impl std::fmt::Debug for Templates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Templates")
    }
}

impl Templates {
    /// The templates of the types with these codes. Each text is compiled on first use.
    pub(super) fn of(codes: impl Iterator<Item = String>) -> Self {
        let types = codes.map(|code| (code, <[Known; 6]>::default())).collect();
        Self { types, kept: AtomicUsize::new(0) }
    }

    /// Renders a text of a type. `None` if it fails (logged once per catalogue), is empty, or is an invalid link.
    pub fn render(&self, message_type: &str, source: Source<'_>, scene: &Scene<'_>) -> Option<String> {
        let known = self.known(message_type, source.text)?;
        match known.render(source, scene, &self.kept) {
            Ok(rendered) => source.text.shown(&rendered),
            Err(flaw) => {
                if let Some(Flaw { kind, line, .. }) = known.fail(flaw) {
                    let what = "a template failed: the notification's own text is shown instead";
                    tracing::warn!(message_type, text = ?source.text, kind, line, "{what}");
                }
                None
            }
        }
    }

    /// What is wrong with a text of a type; `None` if nothing is known. A stored text may no longer be allowed, or may
    /// have failed on a notification since this catalogue was read.
    pub fn flaw(&self, message_type: &str, source: Source<'_>) -> Option<String> {
        let flaw = self.known(message_type, source.text)?.flaw(source, &self.kept)?;
        Some(format!("{}: {flaw}", source.text.field()))
    }

    fn known(&self, message_type: &str, text: Text) -> Option<&Known> {
        Some(&self.types.get(message_type)?[text as usize])
    }
}

/// Renders a text of a template; the error says what is wrong with it.
pub fn rendered(template: &Template, text: Text, scene: &Scene<'_>) -> Result<Option<String>, String> {
    tried(template, text, scene).map_err(|flaw| format!("{}: {flaw}", text.field()))
}

/// The same with a typed error. Rejects a source that is too long to be saved.
pub fn tried(template: &Template, text: Text, scene: &Scene<'_>) -> Result<Option<String>, Flaw> {
    let Some(source) = template.source(text) else { return Ok(None) };
    if source.source.len() > SOURCE_BYTES {
        return Err(Flaw::refused("longer than 16 KiB", 1_usize, "it cannot be saved"));
    }
    let rendered = Known::default().render(source, scene, &AtomicUsize::new(0))?;
    Ok(text.shown(&rendered))
}

/// Fails if a source does not compile or is too long.
pub fn check<'a>(sources: impl Iterator<Item = Source<'a>>) -> Result<()> {
    for source in sources {
        let field = source.text.field();
        texts::body(field, source.source, SOURCE_BYTES)?;
        Compiled::of(source).map_err(|flaw| Error::bad_input(field, format!("does not compile: {flaw}")))?;
    }
    Ok(())
}
