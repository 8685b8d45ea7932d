//! What texts are made of, and what is shown of them.

use crate::model::check;
use crate::text::{characters, cut, is_visible};

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

/// What a rendered text is, by which it is decided how values stand in it.
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

fn given(texts: [(Text, Option<&String>); 3]) -> impl Iterator<Item = Source<'_>> {
    texts.into_iter().filter_map(|(text, source)| Some(Source { text, source: source? }))
}

impl Text {
    /// As a field of the API.
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

    /// What becomes of it.
    pub(super) fn form(self) -> Form {
        match self {
            Self::Title | Self::LetterSubject => Form::Line,
            Self::Body | Self::LetterText => Form::Lines,
            Self::LetterHtml => Form::Html,
            Self::Link => Form::Link,
        }
    }

    /// What is shown of a text that was rendered; nothing of a title without anything that can be seen. A title is cut to the length of
    /// those that are sent.
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
    /// As the engine knows it: values are escaped in what ends with `.html`.
    pub(super) fn name(self) -> &'static str {
        if self == Self::Html { "text.html" } else { "text" }
    }
}
