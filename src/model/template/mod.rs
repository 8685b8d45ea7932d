//! Templates of message types and of their letters: MiniJinja, rendered when a reader asks or a letter is written.
//!
//! They are an operator's of any tenant, and what they speak of is any sender's, so neither may cost others anything. A source
//! is looked at before it is compiled (`guard`), and a rendering has a bound of steps (`filters`), of work (`work`) and of
//! room (`compiled`). All of it together takes about a millisecond, so that it runs where it is asked for.

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

/// The most bytes of the source of a text.
const SOURCE_BYTES: usize = 16 * 1024;

/// The templates of a catalogue.
#[derive(Default)]
pub struct Templates {
    /// What is known of those of each type that has some, by its code.
    types: HashMap<String, [Known; 6]>,
    /// About how many bytes those take that are compiled.
    kept: AtomicUsize,
}

impl std::fmt::Debug for Templates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Templates")
    }
}

impl Templates {
    /// Those of the types with these codes. Each text is compiled when it is asked for first.
    pub(super) fn of(codes: impl Iterator<Item = String>) -> Self {
        let types = codes.map(|code| (code, <[Known; 6]>::default())).collect();
        Self { types, kept: AtomicUsize::new(0) }
    }

    /// A text of a type in this scene; nothing where it fails (which is logged, once for each catalogue), says nothing, or is a link
    /// that leads nowhere.
    pub fn render(&self, message_type: &str, source: Source<'_>, scene: &Scene<'_>) -> Option<String> {
        let known = self.known(message_type, source.text)?;
        match known.render(source, scene, &self.kept) {
            Ok(rendered) => source.text.shown(&rendered),
            Err(flaw) => {
                if let Some(Flaw { kind, line, .. }) = known.fail(flaw) {
                    let what = "a template failed, its notification's own text is shown";
                    tracing::warn!(message_type, text = ?source.text, kind, line, "{what}");
                }
                None
            }
        }
    }

    /// What is wrong with a text of a type, if anything is: it may not be any more what it is, or has failed on a notification since
    /// this catalogue was read.
    pub fn flaw(&self, message_type: &str, source: Source<'_>) -> Option<String> {
        let flaw = self.known(message_type, source.text)?.flaw(source, &self.kept)?;
        Some(format!("{}: {flaw}", source.text.field()))
    }

    fn known(&self, message_type: &str, text: Text) -> Option<&Known> {
        Some(&self.types.get(message_type)?[text as usize])
    }
}

/// A text of a template in this scene, or what is wrong with it.
pub fn rendered(template: &Template, text: Text, scene: &Scene<'_>) -> Result<Option<String>, String> {
    tried(template, text, scene).map_err(|flaw| format!("{}: {flaw}", text.field()))
}

/// The same, with what is wrong by itself. A source that is too long to be saved is not looked at.
pub fn tried(template: &Template, text: Text, scene: &Scene<'_>) -> Result<Option<String>, Flaw> {
    let Some(source) = template.source(text) else { return Ok(None) };
    if source.source.len() > SOURCE_BYTES {
        return Err(Flaw::refused("longer than 16 KiB", 1_usize, "it cannot be saved"));
    }
    let rendered = Known::default().render(source, scene, &AtomicUsize::new(0))?;
    Ok(text.shown(&rendered))
}

/// Refuses what cannot be compiled or is too long.
pub fn check<'a>(sources: impl Iterator<Item = Source<'a>>) -> Result<()> {
    for source in sources {
        let field = source.text.field();
        texts::body(field, source.source, SOURCE_BYTES)?;
        Compiled::of(source).map_err(|flaw| Error::bad_input(field, format!("does not compile: {flaw}")))?;
    }
    Ok(())
}
