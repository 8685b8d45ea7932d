//! Sources of templates.

use crate::validate;
use base::text::{character_count, is_visible, shorten_text};

/// The templates of an item's three texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemTemplate {
    pub title: String,
    pub body: Option<String>,
    pub link: Option<String>,
}

/// Templates for emails; each replaces one of the item's texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmailTemplate {
    /// Replaces the title.
    pub subject: Option<String>,
    /// Replaces the body.
    pub text: Option<String>,
    /// Replaces the body in the HTML part; values are escaped.
    pub html: Option<String>,
}

/// One of the texts of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    Title,
    Body,
    Link,
    LetterSubject,
    LetterText,
    LetterHtml,
}

/// The format of a rendered text; it decides how values are isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    Line,
    Lines,
    Html,
    Link,
}

/// The source of a text.
#[derive(Clone, Copy, Debug)]
pub struct TemplateSource<'a> {
    pub text: TextKind,
    pub source: &'a str,
}

impl ItemTemplate {
    /// The texts that it has.
    pub fn sources(&self) -> impl Iterator<Item = TemplateSource<'_>> {
        let texts = [
            (TextKind::Title, Some(&self.title)),
            (TextKind::Body, self.body.as_ref()),
            (TextKind::Link, self.link.as_ref()),
        ];
        present_sources(texts)
    }

    /// The source of a text; `None` if the template has none.
    pub fn source(&self, text: TextKind) -> Option<TemplateSource<'_>> {
        self.sources().find(|source| source.text == text)
    }
}

impl EmailTemplate {
    /// The texts that it has.
    pub fn sources(&self) -> impl Iterator<Item = TemplateSource<'_>> {
        let texts = [
            (TextKind::LetterSubject, self.subject.as_ref()),
            (TextKind::LetterText, self.text.as_ref()),
            (TextKind::LetterHtml, self.html.as_ref()),
        ];
        present_sources(texts)
    }

    /// The source of a text; `None` if the template has none.
    pub fn source(&self, text: TextKind) -> Option<TemplateSource<'_>> {
        self.sources().find(|source| source.text == text)
    }
}

fn present_sources(texts: [(TextKind, Option<&String>); 3]) -> impl Iterator<Item = TemplateSource<'_>> {
    texts.into_iter().filter_map(|(text, source)| Some(TemplateSource { text, source: source? }))
}

impl TextKind {
    /// The name of the field in the API.
    pub(super) fn field_name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Body => "body",
            Self::Link => "link",
            Self::LetterSubject => "letter.subject",
            Self::LetterText => "letter.text",
            Self::LetterHtml => "letter.html",
        }
    }

    /// The format of the rendered text.
    pub(super) fn text_format(self) -> TextFormat {
        match self {
            Self::Title | Self::LetterSubject => TextFormat::Line,
            Self::Body | Self::LetterText => TextFormat::Lines,
            Self::LetterHtml => TextFormat::Html,
            Self::Link => TextFormat::Link,
        }
    }

    /// Trims a rendered text, and cuts a title to the maximum length of a title. `None` for an invisible title or an
    /// invalid link.
    pub(super) fn clean_rendered(self, rendered: &str) -> Option<String> {
        let rendered = rendered.trim();
        match self {
            Self::Title | Self::LetterSubject => {
                is_visible(rendered).then(|| shorten_text(rendered, validate::TITLE_CHARACTERS, "…", character_count))
            }
            Self::Body | Self::LetterText if !is_visible(rendered) => Some(String::new()),
            Self::Body | Self::LetterText | Self::LetterHtml => Some(rendered.to_owned()),
            Self::Link => validate::is_link(rendered).then(|| rendered.to_owned()),
        }
    }
}

impl TextFormat {
    /// The template's name in the engine, which escapes values in names that end with `.html`.
    pub(super) fn engine_name(self) -> &'static str {
        if self == Self::Html { "text.html" } else { "text" }
    }
}
