//! What is due is written as a letter, as it is in this moment.

use super::unsubscribe;
use crate::app::App;
use crate::domain::dispatch::Due;
use crate::domain::lane::{Lane, absolute};
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::mail::{self, Words};
use crate::model::template::Text;

/// A letter that can be sent.
#[derive(Debug)]
pub struct Message {
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
    pub at: i64,
    /// Where its reader asks for no more of its kind.
    pub unsubscribe: Option<String>,
    pub language: Option<String>,
}

/// What is due, as a letter.
pub(super) fn message(app: &App, tenant: &Tenant, lane: &Lane, due: &Due<'_>) -> Result<Message> {
    let (item, of) = (due.item, due.content);
    let title = of.in_letters(Text::LetterSubject).unwrap_or_else(|| of.title());
    let body = of.in_letters(Text::LetterText).or_else(|| of.body()).unwrap_or_default();
    let own_html = of.in_letters(Text::LetterHtml);
    let link = of.link().and_then(|link| absolute(lane, &link));
    let unsubscribe = unsubscribe::link(app, tenant, item.user_id, &due.notification.message_type);
    let words = Words::of(item.locale.as_deref());
    let html = mail::page(&mail::Page {
        title: &title,
        body: &body,
        html: own_html.as_deref(),
        link: link.as_deref().map(|link| (link, title.as_str())),
        unsubscribe: unsubscribe.as_deref().map(|link| (link, words.link)),
        language: item.locale.as_deref(),
    })?;
    let parts = [Some(body.as_str()), link.as_deref()].into_iter().flatten().filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("\n\n");
    let text = if text.is_empty() { title.clone() } else { text };
    let text = unsubscribe.iter().fold(text, |text, link| format!("{text}\n\n{}: {link}", words.link));
    let (to, language) = (item.address.clone(), item.locale.clone());
    Ok(Message { to, subject: title, text, html, at: of.published_at, unsubscribe, language })
}
