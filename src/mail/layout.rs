//! How a letter looks in HTML.

use minijinja::{Environment, Value, context};
use reqwest::Url;

use super::language::{is_right_to_left, is_tag};
use crate::error::{Error, Result};
use crate::text::{characters, cut};

/// The most characters of what is shown beside the subject in a list of letters.
const PREHEADER_CHARS: usize = 120;

/// What is on a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    pub title: &'a str,
    /// Plain text. What stands between blank lines is a paragraph.
    pub body: &'a str,
    /// What stands there instead, as HTML that is taken as it is; the body is shown beside the subject all the same.
    pub html: Option<&'a str>,
    /// What stands before the body, each with a link of its own.
    pub entries: &'a [Entry],
    /// Where the button leads, and what stands on it. Without one of http or https there is no button.
    pub link: Option<(&'a str, &'a str)>,
    /// Where the footer leads, and what stands there. Without one of http or https there is no footer.
    pub unsubscribe: Option<(&'a str, &'a str)>,
    /// As BCP 47 has it, which also says where lines begin.
    pub language: Option<&'a str>,
}

/// One of several messages on a page.
#[derive(Clone, Debug)]
pub struct Entry {
    pub title: String,
    /// Plain text, one paragraph; may be empty.
    pub body: String,
    /// Where its title leads, where that is of http or https.
    pub link: Option<String>,
}

/// The page as HTML that a letter may have: all but `html` is escaped, and the layout fetches nothing from anywhere.
///
/// Fails with `Internal` where the layout is broken.
pub fn page(page: &Page<'_>) -> Result<String> {
    let mut environment = Environment::new();
    environment.add_template("layout.html", include_str!("layout.html")).map_err(Error::internal)?;
    let layout = environment.get_template("layout.html").map_err(Error::internal)?;
    let language = page.language.filter(|tag| is_tag(tag)).unwrap_or("en");
    let paragraphs = paragraphs(page.body);
    let titles = page.entries.iter().map(|of| of.title.clone());
    let preheader = titles.chain(paragraphs.concat()).collect::<Vec<_>>().join(" ");
    let preheader = cut(&preheader, PREHEADER_CHARS, "", characters);
    let (direction, side) = if is_right_to_left(language) { ("rtl", "right") } else { ("ltr", "left") };
    let scene = context! {
        title => page.title.to_owned(),
        preheader,
        entries => page.entries.iter().map(entry).collect::<Vec<_>>(),
        paragraphs,
        html => page.html.map(|html| Value::from_safe_string(html.to_owned())),
        link => page.link.and_then(of_web),
        unsubscribe => page.unsubscribe.and_then(of_web),
        language => language.to_owned(),
        direction,
        side,
    };
    layout.render(scene).map_err(Error::internal)
}

/// Lines by paragraph.
fn paragraphs(body: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = body.lines().map(str::trim_end).collect();
    let paragraphs = lines.split(|line| line.is_empty()).filter(|lines| !lines.is_empty());
    paragraphs.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect()).collect()
}

fn entry(of: &Entry) -> Value {
    let link = of.link.as_deref().and_then(|link| of_web((link, &of.title)));
    context! { title => of.title.clone(), body => of.body.clone(), link => link.map(|(url, _)| url) }
}

/// What leads to the web, and to nothing else.
fn of_web((url, label): (&str, &str)) -> Option<(String, String)> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "https" | "http"))?;
    Some((url.into(), label.to_owned()))
}
