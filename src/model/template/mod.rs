//! Templates of message types and of their letters: MiniJinja, rendered when a reader asks or a letter is written.
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
use compiled::Compiled;
use flaw::Flaw;
use known::Known;
pub use scene::{Scene, TargetScene};

/// The most bytes of the source of a text.
const SOURCE_BYTES: usize = 16 * 1024;

/// The sources of a type's three texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub title: String,
    pub body: Option<String>,
    pub link: Option<String>,
}

/// The sources of what letters say instead of what items do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterTemplate {
    /// Instead of the title.
    pub subject: Option<String>,
    /// Instead of the body.
    pub text: Option<String>,
    /// Instead of the body, where HTML is shown: what it speaks of is escaped in it.
    pub html: Option<String>,
}

/// One of the texts of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    Title,
    Body,
    Link,
    LetterSubject,
    LetterText,
    LetterHtml,
}

/// The source of a text.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub text: Text,
    pub source: &'a str,
}

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

impl Template {
    /// Those of its texts that it has.
    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        let texts =
            [(Text::Title, Some(&self.title)), (Text::Body, self.body.as_ref()), (Text::Link, self.link.as_ref())];
        given(texts)
    }

    /// The source of a text; nothing where the template does not say it.
    pub fn source(&self, text: Text) -> Option<Source<'_>> {
        self.sources().find(|source| source.text == text)
    }
}

impl LetterTemplate {
    /// Those of its texts that it has.
    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        let texts = [
            (Text::LetterSubject, self.subject.as_ref()),
            (Text::LetterText, self.text.as_ref()),
            (Text::LetterHtml, self.html.as_ref()),
        ];
        given(texts)
    }

    /// The source of a text; nothing where the template does not say it.
    pub fn source(&self, text: Text) -> Option<Source<'_>> {
        self.sources().find(|source| source.text == text)
    }
}

fn given<'a>(texts: [(Text, Option<&'a String>); 3]) -> impl Iterator<Item = Source<'a>> {
    texts.into_iter().filter_map(|(text, source)| Some(Source { text, source: source? }))
}

impl Text {
    /// As a field of the API.
    fn field(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Body => "body",
            Self::Link => "link",
            Self::LetterSubject => "letter.subject",
            Self::LetterText => "letter.text",
            Self::LetterHtml => "letter.html",
        }
    }

    /// As the engine knows it: values are escaped in what ends with `.html`.
    fn name(self) -> &'static str {
        if self == Self::LetterHtml { "text.html" } else { "text" }
    }

    /// What is shown of a text that was rendered. A title is cut to the length of those that are sent.
    fn shown(self, rendered: &str) -> Option<String> {
        let rendered = rendered.trim();
        match self {
            Self::Title | Self::LetterSubject if rendered.is_empty() => None,
            Self::Title | Self::LetterSubject => Some(cut(rendered)),
            Self::Body | Self::LetterText | Self::LetterHtml => Some(rendered.to_owned()),
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
pub fn check<'a>(sources: impl Iterator<Item = Source<'a>>) -> Result<()> {
    for source in sources {
        let field = source.text.field();
        texts::body(field, source.source, SOURCE_BYTES)?;
        Compiled::of(source).map_err(|flaw| Error::bad_input(field, format!("does not compile: {flaw}")))?;
    }
    Ok(())
}
