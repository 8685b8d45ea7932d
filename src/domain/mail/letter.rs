//! What is due is written as a letter, as it is in this moment.

use crate::domain::dispatch::Due;
use crate::domain::lane::{Lane, absolute};
use crate::error::Result;
use crate::mail;

/// A letter that can be sent.
#[derive(Debug)]
pub struct Message {
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
    pub at: i64,
    pub language: Option<String>,
}

/// What is due, as a letter.
pub(super) fn message(lane: &Lane, due: &Due<'_>) -> Result<Message> {
    let (item, of) = (due.item, due.content);
    let (title, body) = (of.title(), of.body().unwrap_or_default());
    let link = of.link().and_then(|link| absolute(lane, &link));
    let html = mail::page(&mail::Page {
        title: &title,
        body: &body,
        link: link.as_deref().map(|link| (link, title.as_str())),
        unsubscribe: None,
        language: item.locale.as_deref(),
    })?;
    let parts = [Some(body.as_str()), link.as_deref()].into_iter().flatten().filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("\n\n");
    let text = if text.is_empty() { title.clone() } else { text };
    let (to, language) = (item.address.clone(), item.locale.clone());
    Ok(Message { to, subject: title, text, html, at: of.published_at, language })
}
