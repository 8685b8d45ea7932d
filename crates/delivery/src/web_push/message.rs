//! Writes push messages from items in their current state.

use serde::Serialize;

use crate::destination::{Destination, absolute_link};
use crate::dispatch::DueItem;
use base::clock::Millis;
use base::error::{Error, Result as Done};
use base::text::shorten_trimmed;
use domain::tenant::Tenant;
use model::id_cipher::IdKind;
use outside::web_push::{PushMessage, PushSubscription};

/// The most bytes of a message. All push services accept this, including the overhead of encryption.
const BYTES: usize = 3000;
/// The most bytes of a title and of a link in JSON. A longer link is left out.
const TITLE: usize = 500;
const LINK: usize = 1500;

/// A message and its browser, or the reason why it can never be sent.
pub type PushPayload = Result<AddressedMessage, String>;

#[derive(Debug)]
pub struct AddressedMessage {
    pub to: PushSubscription,
    pub message: PushMessage,
}

/// The JSON that the service worker reads.
#[derive(Serialize)]
struct MessageJson<'a> {
    id: &'a str,
    r#type: &'a str,
    title: &'a str,
    body: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lang: Option<&'a str>,
}

/// Writes the message for an item.
pub(super) fn write_payload(
    tenant: &Tenant,
    destination: &Destination,
    due: &DueItem<'_>,
    now: Millis,
) -> Done<PushPayload> {
    let (item, of) = (due.item, due.content);
    let to = item.endpoint.as_deref().zip(item.push_keys.as_deref());
    let to = to.and_then(|(endpoint, keys)| PushSubscription::from_stored(endpoint, keys));
    let Some(to) = to else { return Ok(Err("the keys of the browser are invalid".to_owned())) };
    let id = tenant.id_cipher.encode(IdKind::Item, item.user_id.0, item.seq.0);
    // Without a base URL, a path stays a path: the service worker resolves it against its own page.
    let link =
        of.link().map(|link| absolute_link(destination, &link).unwrap_or(link)).filter(|link| json_width(link) <= LINK);
    let title = of.title();
    let title = shorten_trimmed(&title, TITLE, "…", json_width);
    let told = MessageJson {
        id: &id,
        r#type: &of.message_type.code,
        title: &title,
        body: "",
        link: link.as_deref(),
        lang: item.locale.as_deref(),
    };
    let body = of.body().unwrap_or_default();
    let body = shorten_trimmed(&body, BYTES - to_json(&told)?.len(), "…", json_width);
    let text = to_json(&MessageJson { body: &body, ..told })?;
    let lasts = item.expires_at.map(|at| at - now);
    Ok(Ok(AddressedMessage { to, message: PushMessage { text, topic: id, lasts } }))
}

fn to_json(told: &MessageJson<'_>) -> Done<String> {
    serde_json::to_string(told).map_err(Error::internal)
}

/// The bytes that a character takes in JSON.
fn json_char_width(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..'\u{20}' => 6,
        other => other.len_utf8(),
    }
}

fn json_width(text: &str) -> usize {
    text.chars().map(json_char_width).sum()
}

#[cfg(test)]
mod tests {
    use super::{json_width, shorten_trimmed};

    fn cut(text: &str, bytes: usize) -> String {
        shorten_trimmed(text, bytes, "…", json_width)
    }

    #[test]
    fn a_text_is_cut_to_what_it_takes_in_json() {
        assert_eq!(cut("all of it", 9), "all of it");
        assert_eq!(cut("all of it", 8), "all o…");
        assert_eq!(cut("all of it", 7), "all…", "no white space before it");
        assert_eq!(cut("通知通知", 11), "通知…");
        assert_eq!(cut("a👨\u{200D}👩\u{200D}👧!!!!", 22), "a👨\u{200D}👩\u{200D}👧…");
        assert_eq!(cut("a👨\u{200D}👩\u{200D}👧!!!!", 21), "a…");
        for text in ["\"".repeat(100), "\n\u{1}".repeat(100), "é\\🎉".repeat(100), "\u{7f}\u{2028}".repeat(100)] {
            assert_eq!(json_width(&text), serde_json::to_string(&text).unwrap().len() - 2, "{text:?}");
            for bytes in 3..60 {
                assert!(serde_json::to_string(&cut(&text, bytes)).unwrap().len() - 2 <= bytes, "{text:?} {bytes}");
            }
        }
    }
}
