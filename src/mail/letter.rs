//! What is sent, as SMTP has it.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::Address;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart, SinglePart};
use reqwest::Url;

use super::address::address;
use super::failure::{Failure, FailureKind};
use super::language::is_tag;
use super::relay::Relay;
use crate::clock::Millis;
use crate::text::{closed, cut, one_line};

/// The most bytes of a letter, as it is sent.
const LETTER_BYTES: usize = 256 * 1024;
/// The most bytes of a subject; what is longer is cut. A line of mail has at most 998, and nobody is shown more than these.
const SUBJECT_BYTES: usize = 500;
/// The most bytes of a word that is encoded: with what says how, it has at most 75, and the first stands behind `Subject: `.
const WORD_BYTES: usize = 39;
/// The most bytes of a URL in a header, which has to stand in one line.
pub const URL_BYTES: usize = 900;
/// The most bytes of an id.
const ID_BYTES: usize = 200;
/// The end of the year 9999, after which nobody can write a date down.
const LAST: Millis = 253_402_300_799_999;

/// What is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Letter<'a> {
    /// To one address, as `address` has it.
    pub to: &'a str,
    /// One line; control characters and line breaks become spaces, and after 500 bytes it is cut.
    pub subject: &'a str,
    pub text: &'a str,
    /// The same for whoever is shown HTML.
    pub html: Option<&'a str>,
    /// What a repeat has in common with what it repeats: `Message-ID` before the `@`. Letters and digits of ASCII, `.`, `_` and `-`.
    pub id: &'a str,
    /// When it was tried first: gateways refuse what says that it is a week old.
    pub at: Millis,
    /// Where a reader, or their program with one `POST`, says that they want no more of these (RFC 8058, which asks for https).
    pub unsubscribe: Option<&'a str>,
    /// In which it is written, as BCP 47 has it; what is no such tag is left out.
    pub language: Option<&'a str>,
}

/// A letter as it is sent.
#[derive(Debug)]
pub(super) struct Written {
    pub from: Address,
    pub to: Address,
    /// Lines of ASCII, with what ends the text.
    pub data: String,
}

impl Letter<'_> {
    /// Fails with `Recipient` where the address is none, and with `Letter` where it is too large, or what stands in a header may not.
    pub(super) fn write(&self, relay: &Relay) -> Result<Written, Failure> {
        let wrong = |told: &str| Failure::new(FailureKind::Letter, told);
        let to = address(self.to).ok().and_then(|to| to.parse::<Address>().ok());
        let to = to.ok_or_else(|| Failure::new(FailureKind::Recipient, "the address is none of mail"))?;
        let from = relay.from();
        if !is_id(self.id) {
            return Err(wrong("the letter's id is none"));
        }
        let size = self.text.len() + self.html.map_or(0, str::len);
        if size > LETTER_BYTES {
            return Err(wrong("the letter has more than 256 KiB"));
        }
        let mut builder = Message::builder()
            .from(from.clone())
            .to(Mailbox::new(None, to.clone()))
            .date(date(self.at))
            .message_id(Some(format!("<{}@{}>", self.id, from.email.domain())))
            .raw_header(subject(self.subject))
            .raw_header(header("Auto-Submitted", "auto-generated"));
        if let Some(reply_to) = relay.reply_to() {
            builder = builder.reply_to(reply_to.clone());
        }
        if let Some(language) = self.language.filter(|tag| is_tag(tag)) {
            builder = builder.raw_header(header("Content-Language", language));
        }
        if let Some(url) = self.unsubscribe {
            let url = unsubscribe(url).ok_or_else(|| wrong("the URL to unsubscribe is none"))?;
            builder = builder.raw_header(header("List-Unsubscribe", &format!("<{url}>")));
            if url.scheme() == "https" {
                builder = builder.raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
            }
        }
        let text = SinglePart::plain(lines(self.text));
        let message = match self.html {
            Some(html) => {
                let html = SinglePart::html(lines(html));
                builder.multipart(MultiPart::alternative().singlepart(text).singlepart(html))
            }
            None => builder.singlepart(text),
        };
        let message = message.map_err(|error| wrong(&format!("the letter cannot be written: {error}")))?;
        let data = String::from_utf8(message.formatted()).ok().filter(|data| data.is_ascii());
        let data = data.ok_or_else(|| wrong("the letter cannot be written as ASCII"))?;
        if data.len() > LETTER_BYTES {
            return Err(wrong("the letter has more than 256 KiB"));
        }
        Ok(Written { from: from.email.clone(), to, data: stuffed(&data) })
    }
}

/// Lines as mail ends them, whichever way they end. Relays disagree about the others, and lettre takes quadratic time over them.
fn lines(text: &str) -> String {
    text.replace('\0', "").replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n")
}

/// Text with its end, in which no other line is a dot alone (RFC 5321, section 4.5.2).
fn stuffed(data: &str) -> String {
    let dot = if data.starts_with('.') { "." } else { "" };
    let end = if data.ends_with("\r\n") { ".\r\n" } else { "\r\n.\r\n" };
    format!("{dot}{}{end}", data.replace("\r\n.", "\r\n.."))
}

/// One line. All of it is encoded (RFC 2047) where a reader could take a part of it for encoded; else lettre encodes what has to be.
fn subject(text: &str) -> HeaderValue {
    let line = subject_line(text);
    if !line.contains("=?") {
        return header("Subject", &line);
    }
    let encoded = encoded(&line);
    HeaderValue::dangerous_new_pre_encoded(HeaderName::new_from_ascii_str("Subject"), line, encoded)
}

pub(super) fn subject_line(text: &str) -> String {
    cut(closed(&one_line(text)).trim(), SUBJECT_BYTES, "…", str::len)
}

/// Encoded words, one a line.
fn encoded(text: &str) -> String {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.floor_char_boundary(WORD_BYTES));
        words.push(format!("=?utf-8?b?{}?=", STANDARD.encode(word)));
        rest = after;
    }
    words.join("\r\n ")
}

fn date(at: Millis) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(at.clamp(0, LAST).unsigned_abs())
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

fn is_id(id: &str) -> bool {
    let is_atom =
        |atom: &str| !atom.is_empty() && atom.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    id.len() <= ID_BYTES && id.split('.').all(is_atom)
}

/// A URL that may stand between angle brackets in a line.
fn unsubscribe(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "https" | "http"))?;
    let is_line = |url: &str| url.len() <= URL_BYTES && url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'>');
    is_line(url.as_str()).then_some(url)
}
