//! Templates of message types: MiniJinja, rendered when a reader asks.
//!
//! They are an operator's of any tenant, and what they speak of is any sender's, so neither may cost others anything. A source
//! is looked at before it is compiled (`guard`), and a rendering has a bound of steps (`filters`), of work (`work`) and of
//! room (`compiled`). All of it together takes about a millisecond, so that it runs where it is asked for.

mod compiled;
mod filters;
mod flaw;
mod guard;
mod known;
mod marks;
mod scene;
mod sink;
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

/// The most bytes of a template's source, each of its three.
const SOURCE_BYTES: usize = 16 * 1024;

/// The sources of a type's three texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub title: String,
    pub body: Option<String>,
    pub link: Option<String>,
}

/// One of the three texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    Title,
    Body,
    Link,
}

/// The templates of a catalogue.
#[derive(Default)]
pub struct Templates {
    /// What is known of those of each type that has some, by its code.
    types: HashMap<String, [Known; 3]>,
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
        let types = codes.map(|code| (code, <[Known; 3]>::default())).collect();
        Self { types, kept: AtomicUsize::new(0) }
    }

    /// A text of the template of a type in this scene; nothing where the template does not say it, or where it fails (which is
    /// logged, once for each catalogue), says nothing, or is a link that leads nowhere.
    pub fn render(&self, (message_type, template): (&str, &Template), text: Text, scene: &Scene<'_>) -> Option<String> {
        let (source, known) = (template.source(text)?, self.known(message_type, text)?);
        match known.render(source, scene, &self.kept) {
            Ok(rendered) => text.shown(&rendered),
            Err(flaw) => {
                if let Some(Flaw { kind, line, .. }) = known.fail(flaw) {
                    let what = "a template failed, its notification's own text is shown";
                    tracing::warn!(message_type, ?text, kind, line, "{what}");
                }
                None
            }
        }
    }

    /// What is wrong with the template of a type, if anything is: it may not be any more what it is, or has failed on a
    /// notification since this catalogue was read.
    pub fn flaw(&self, (message_type, template): (&str, &Template)) -> Option<String> {
        Text::ALL.into_iter().find_map(|text| {
            let (source, known) = (template.source(text)?, self.known(message_type, text)?);
            Some(format!("{}: {}", text.field(), known.flaw(source, &self.kept)?))
        })
    }

    fn known(&self, message_type: &str, text: Text) -> Option<&Known> {
        Some(&self.types.get(message_type)?[text as usize])
    }
}

impl Template {
    fn source(&self, text: Text) -> Option<&str> {
        match text {
            Text::Title => Some(&self.title),
            Text::Body => self.body.as_deref(),
            Text::Link => self.link.as_deref(),
        }
    }
}

impl Text {
    const ALL: [Self; 3] = [Self::Title, Self::Body, Self::Link];

    /// As a field of the API.
    fn field(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Body => "body",
            Self::Link => "link",
        }
    }

    /// What is shown of a text that was rendered. A title is cut to the length of those that are sent.
    fn shown(self, rendered: &str) -> Option<String> {
        let rendered = rendered.trim();
        match self {
            Self::Title if rendered.is_empty() => None,
            Self::Title => Some(cut(rendered)),
            Self::Body => Some(rendered.to_owned()),
            Self::Link => texts::is_link(rendered).then(|| rendered.to_owned()),
        }
    }
}

fn cut(title: &str) -> String {
    let most = texts::TITLE_CHARACTERS;
    if title.chars().nth(most).is_none() {
        return title.to_owned();
    }
    title.chars().take(most - 1).chain(['…']).collect()
}

/// A text of a template in this scene, or what is wrong with it.
pub fn rendered(template: &Template, text: Text, scene: &Scene<'_>) -> Result<Option<String>, String> {
    let Some(source) = template.source(text) else { return Ok(None) };
    let rendered = Known::default().render(source, scene, &AtomicUsize::new(0));
    rendered.map(|rendered| text.shown(&rendered)).map_err(|flaw| format!("{}: {flaw}", text.field()))
}

/// Refuses what cannot be compiled or is too long.
pub fn check(template: &Template) -> Result<()> {
    for text in Text::ALL {
        let Some(source) = template.source(text) else { continue };
        texts::body(text.field(), source, SOURCE_BYTES)?;
        let refused = |flaw| Error::bad_input(text.field(), format!("does not compile: {flaw}"));
        Compiled::of(source).map_err(refused)?;
    }
    Ok(())
}
