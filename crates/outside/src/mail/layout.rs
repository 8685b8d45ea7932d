//! The HTML layout of emails.

use minijinja::{Environment, Value, context};
use reqwest::Url;

use super::language::is_tag;
use base::error::{Error, Result};
use base::locale::is_right_to_left;
use base::text::{character_count, shorten_text};

/// Maximum characters of the preheader, which mail programs show beside the subject.
const PREHEADER_CHARS: usize = 120;

/// The contents of an email.
#[derive(Clone, Copy, Debug)]
pub struct EmailPage<'a> {
    pub title: &'a str,
    /// Plain text; blank lines separate paragraphs.
    pub body: &'a str,
    /// HTML that replaces the body and is not escaped. The preheader still comes from `body`.
    pub html: Option<&'a str>,
    /// Entries before the body, each with its own link.
    pub entries: &'a [EmailEntry],
    /// URL and label of the button. Without an http or https URL there is no button.
    pub link: Option<(&'a str, &'a str)>,
    /// URL and label of the footer. Without an http or https URL there is no footer.
    pub unsubscribe: Option<(&'a str, &'a str)>,
    /// A BCP 47 tag; it also decides the text direction.
    pub language: Option<&'a str>,
}

/// One of several messages in an email.
#[derive(Clone, Debug)]
pub struct EmailEntry {
    pub title: String,
    /// Plain text, one paragraph; may be empty.
    pub body: String,
    /// The link of the title; used only if it is http or https.
    pub link: Option<String>,
}

/// Renders the email as HTML. Everything but `html` is escaped, and the layout loads no external resources.
///
/// Fails with `Internal` if the layout is broken.
pub fn render_page(page: &EmailPage<'_>) -> Result<String> {
    let mut environment = Environment::new();
    environment.add_template("layout.html", include_str!("layout.html")).map_err(Error::internal)?;
    let layout = environment.get_template("layout.html").map_err(Error::internal)?;
    let language = page.language.filter(|tag| is_tag(tag)).unwrap_or("en");
    let paragraphs = split_paragraphs(page.body);
    let titles = page.entries.iter().map(|of| of.title.clone());
    let preheader = titles.chain(paragraphs.concat()).collect::<Vec<_>>().join(" ");
    let preheader = shorten_text(&preheader, PREHEADER_CHARS, "", character_count);
    let (direction, side) = if is_right_to_left(language) { ("rtl", "right") } else { ("ltr", "left") };
    let scene = context! {
        title => page.title.to_owned(),
        preheader,
        entries => page.entries.iter().map(entry_values).collect::<Vec<_>>(),
        paragraphs,
        html => page.html.map(|html| Value::from_safe_string(html.to_owned())),
        link => page.link.and_then(web_link),
        unsubscribe => page.unsubscribe.and_then(web_link),
        language => language.to_owned(),
        direction,
        side,
    };
    layout.render(scene).map_err(Error::internal)
}

/// Splits a text into paragraphs and their lines.
fn split_paragraphs(body: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = body.lines().map(str::trim_end).collect();
    let paragraphs = lines.split(|line| line.is_empty()).filter(|lines| !lines.is_empty());
    paragraphs.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect()).collect()
}

fn entry_values(of: &EmailEntry) -> Value {
    let link = of.link.as_deref().and_then(|link| web_link((link, &of.title)));
    context! { title => of.title.clone(), body => of.body.clone(), link => link.map(|(url, _)| url) }
}

/// The link if it is http or https.
fn web_link((url, label): (&str, &str)) -> Option<(String, String)> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "https" | "http"))?;
    Some((url.into(), label.to_owned()))
}
