//! Writes letters from items in their current state.

use super::unsubscribe;
use crate::destination::{Destination, absolute_link};
use crate::dispatch::DueItem;
use crate::dispatch::digest::DigestContent;
use base::error::Result;
use base::text::{character_count, close_directions, shorten_trimmed};
use domain::tenant::Tenant;
use model::item::ItemContent;
use model::template::TextKind;
use outside::mail::{self, EmailEntry, MailTexts};
use store::Store;

/// The most characters of an item's body in a digest.
const BEGINNING: usize = 200;

/// A letter that is ready to send.
#[derive(Debug)]
pub struct MailMessage {
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
    /// The link to unsubscribe.
    pub unsubscribe: Option<String>,
    pub language: Option<String>,
}

/// Writes the letter for an item.
pub(super) fn write_item_letter(
    store: &Store,
    tenant: &Tenant,
    destination: &Destination,
    due: &DueItem<'_>,
) -> Result<MailMessage> {
    let (item, of) = (due.item, due.content);
    let title = of.email_text(TextKind::LetterSubject).unwrap_or_else(|| of.title());
    let body = of.email_text(TextKind::LetterText).or_else(|| of.body()).unwrap_or_default();
    let own_html = of.email_text(TextKind::LetterHtml);
    let link = of.link().and_then(|link| absolute_link(destination, &link));
    let of_type = Some(&due.notification.message_type).filter(|of| !of.mandatory);
    let unsubscribe = of_type.and_then(|of| unsubscribe::unsubscribe_link(store, tenant, item.user_id, of.id));
    let words = MailTexts::for_language(item.locale.as_deref());
    let html = mail::render_page(&mail::EmailPage {
        title: &title,
        body: &body,
        html: own_html.as_deref(),
        entries: &[],
        link: link.as_deref().map(|link| (link, title.as_str())),
        unsubscribe: unsubscribe.as_deref().map(|link| (link, words.link())),
        language: item.locale.as_deref(),
    })?;
    let parts = [Some(body.as_str()), link.as_deref()].into_iter().flatten().filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("\n\n");
    let text = if text.is_empty() { title.clone() } else { text };
    let text = unsubscribe.iter().fold(text, |text, link| format!("{text}\n\n{}: {link}", words.link()));
    let (to, language) = (item.address.clone(), item.locale.clone());
    Ok(MailMessage { to, subject: title, text, html, unsubscribe, language })
}

/// Writes a digest. Its link unsubscribes from all types that go into digests; there is none if it lists items of
/// mandatory types only.
pub(super) fn write_digest_letter(
    store: &Store,
    tenant: &Tenant,
    destination: &Destination,
    of: &DigestContent<'_>,
) -> Result<MailMessage> {
    let words = MailTexts::for_language(of.locale);
    let entries: Vec<EmailEntry> = of.items.iter().map(|item| digest_entry(destination, item)).collect();
    let subject = words.digest_subject(of.many);
    let more = Some(of.many.saturating_sub(entries.len())).filter(|many| *many > 0);
    let more = more.map(|many| words.omitted_line(many)).unwrap_or_default();
    let is_mandatory = of.items.iter().all(|item| item.message_type.mandatory);
    let unsubscribe = if is_mandatory {
        None
    } else {
        unsubscribe::unsubscribe_link(store, tenant, of.user, unsubscribe::OF_DIGESTS)
    };
    let html = mail::render_page(&mail::EmailPage {
        title: &subject,
        body: &more,
        html: None,
        entries: &entries,
        link: None,
        unsubscribe: unsubscribe.as_deref().map(|link| (link, words.link())),
        language: of.locale,
    })?;
    let lines = |entry: &EmailEntry| {
        let lines = [Some(&entry.title), Some(&entry.body), entry.link.as_ref()].into_iter().flatten();
        lines.filter(|line| !line.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n")
    };
    let footer = unsubscribe.iter().map(|link| format!("{}: {link}", words.link()));
    let parts = entries.iter().map(lines).chain([more]).chain(footer).filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("\n\n");
    let (to, language) = (of.address.to_owned(), of.locale.map(ToOwned::to_owned));
    Ok(MailMessage { to, subject, text, html, unsubscribe, language })
}

/// An item with the beginning of its body.
fn digest_entry(destination: &Destination, of: &ItemContent) -> EmailEntry {
    let body = of.body().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let body = close_directions(&body);
    let body = if character_count(&body) > BEGINNING {
        shorten_trimmed(&body, BEGINNING + 1, "…", character_count)
    } else {
        body.into_owned()
    };
    EmailEntry { title: of.title(), body, link: of.link().and_then(|link| absolute_link(destination, &link)) }
}
