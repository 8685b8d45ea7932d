//! Sources of templates.

use crate::model::check;
use crate::text::{characters, cut, is_visible};

/// The templates of an item's three texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub title: String,
    pub body: Option<String>,
    pub link: Option<String>,
}

/// Templates for emails; each replaces one of the item's texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterTemplate {
    /// Replaces the title.
    pub subject: Option<String>,
    /// Replaces the body.
    pub text: Option<String>,
    /// Replaces the body in the HTML part; values are escaped.
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

/// The format of a rendered text; it decides how values are isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Line,
    Lines,
    Html,
    Link,
}

/// The source of a text.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub text: Text,
    pub source: &'a str,
}

impl Template {
    /// The texts that it has.
    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        let texts =
            [(Text::Title, Some(&self.title)), (Text::Body, self.body.as_ref()), (Text::Link, self.link.as_ref())];
        given(texts)
    }

    /// The source of a text; `None` if the template has none.
    pub fn source(&self, text: Text) -> Option<Source<'_>> {
        self.sources().find(|source| source.text == text)
    }
}

impl LetterTemplate {
    /// The texts that it has.
    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        let texts = [
            (Text::LetterSubject, self.subject.as_ref()),
            (Text::LetterText, self.text.as_ref()),
            (Text::LetterHtml, self.html.as_ref()),
        ];
        given(texts)
    }

    /// The source of a text; `None` if the template has none.
    pub fn source(&self, text: Text) -> Option<Source<'_>> {
        self.sources().find(|source| source.text == text)
    }
}

fn given(texts: [(Text, Option<&String>); 3]) -> impl Iterator<Item = Source<'_>> {
    texts.into_iter().filter_map(|(text, source)| Some(Source { text, source: source? }))
}

impl Text {
    /// The name of the field in the API.
    pub(super) fn field(self) -> &'static str {
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
    pub(super) fn form(self) -> Form {
        match self {
            Self::Title | Self::LetterSubject => Form::Line,
            Self::Body | Self::LetterText => Form::Lines,
            Self::LetterHtml => Form::Html,
            Self::Link => Form::Link,
        }
    }

    /// Trims a rendered text, and cuts a title to the maximum length of a title. `None` for an invisible title or an
    /// invalid link.
    pub(super) fn shown(self, rendered: &str) -> Option<String> {
        let rendered = rendered.trim();
        match self {
            Self::Title | Self::LetterSubject => {
                is_visible(rendered).then(|| cut(rendered, check::TITLE_CHARACTERS, "…", characters))
            }
            Self::Body | Self::LetterText if !is_visible(rendered) => Some(String::new()),
            Self::Body | Self::LetterText | Self::LetterHtml => Some(rendered.to_owned()),
            Self::Link => check::is_link(rendered).then(|| rendered.to_owned()),
        }
    }
}

impl Form {
    /// The template's name in the engine, which escapes values in names that end with `.html`.
    pub(super) fn name(self) -> &'static str {
        if self == Self::Html { "text.html" } else { "text" }
    }
}
