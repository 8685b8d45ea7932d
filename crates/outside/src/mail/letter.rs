//! Writes emails in the format of SMTP.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::Address;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart, SinglePart};
use reqwest::Url;

use super::address::normalize_address;
use super::failure::{SmtpFailure, SmtpFailureKind};
use super::language::is_tag;
use super::relay::SmtpRelay;
use base::clock::Millis;
use base::text::{close_directions, one_line, shorten_text};

/// Maximum bytes of an email as sent.
const LETTER_BYTES: usize = 256 * 1024;
/// Maximum bytes of a subject; a longer one is cut. A line of an email may have 998 bytes, and mail programs show fewer
/// than these.
const SUBJECT_BYTES: usize = 500;
/// Maximum bytes per encoded word before encoding: encoded it has at most 75 bytes, and the first one comes
/// after `Subject: `.
const WORD_BYTES: usize = 39;
/// Maximum bytes of a URL in a header, which must fit on one line.
pub const URL_BYTES: usize = 900;
/// Maximum bytes of an id.
const ID_BYTES: usize = 200;
/// The end of the year 9999, the last date that can be formatted.
const LAST: Millis = 253_402_300_799_999;

/// An email to send.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingEmail<'a> {
    /// A single address, as returned by `normalize_address`.
    pub to: &'a str,
    /// One line: control characters and line breaks become spaces, and it is cut after 500 bytes.
    pub subject: &'a str,
    pub text: &'a str,
    /// The same text as HTML.
    pub html: Option<&'a str>,
    /// The part of `Message-ID` before the `@`; retries use the same. ASCII letters and digits, `.`, `_` and `-`.
    pub id: &'a str,
    /// Time of the first attempt: gateways reject an email with a date a week old.
    pub at: Millis,
    /// URL to unsubscribe, by link or one-click `POST` (RFC 8058, which requires https).
    pub unsubscribe: Option<&'a str>,
    /// Language of the text as a BCP 47 tag; an invalid tag is omitted.
    pub language: Option<&'a str>,
}

/// An email as it is sent.
#[derive(Debug)]
pub(super) struct EncodedEmail {
    pub from: Address,
    pub to: Address,
    /// ASCII lines, including the end marker.
    pub data: String,
}

impl OutgoingEmail<'_> {
    /// Fails with `Recipient` if the address is invalid, and with `Letter` if the email is too large or a header
    /// value is invalid.
    pub(super) fn encode(&self, relay: &SmtpRelay) -> Result<EncodedEmail, SmtpFailure> {
        let wrong = |told: &str| SmtpFailure::new(SmtpFailureKind::Letter, told);
        let to = normalize_address(self.to).ok().and_then(|to| to.parse::<Address>().ok());
        let to =
            to.ok_or_else(|| SmtpFailure::new(SmtpFailureKind::Recipient, "the address is not an email address"))?;
        let from = relay.from();
        if !is_message_id(self.id) {
            return Err(wrong("the id of the email is invalid"));
        }
        let size = self.text.len() + self.html.map_or(0, str::len);
        if size > LETTER_BYTES {
            return Err(wrong("the email has more than 256 KiB"));
        }
        let mut builder = Message::builder()
            .from(from.clone())
            .to(Mailbox::new(None, to.clone()))
            .date(system_time(self.at))
            .message_id(Some(format!("<{}@{}>", self.id, from.email.domain())))
            .raw_header(subject_header(self.subject))
            .raw_header(raw_header("Auto-Submitted", "auto-generated"));
        if let Some(reply_to) = relay.reply_to() {
            builder = builder.reply_to(reply_to.clone());
        }
        if let Some(language) = self.language.filter(|tag| is_tag(tag)) {
            builder = builder.raw_header(raw_header("Content-Language", language));
        }
        if let Some(url) = self.unsubscribe {
            let url = unsubscribe_url(url).ok_or_else(|| wrong("the URL to unsubscribe is invalid"))?;
            builder = builder.raw_header(raw_header("List-Unsubscribe", &format!("<{url}>")));
            if url.scheme() == "https" {
                builder = builder.raw_header(raw_header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
            }
        }
        let text = SinglePart::plain(normalize_lines(self.text));
        let message = match self.html {
            Some(html) => {
                let html = SinglePart::html(normalize_lines(html));
                builder.multipart(MultiPart::alternative().singlepart(text).singlepart(html))
            }
            None => builder.singlepart(text),
        };
        let message = message.map_err(|error| wrong(&format!("the email cannot be written: {error}")))?;
        let data = String::from_utf8(message.formatted()).ok().filter(|data| data.is_ascii());
        let data = data.ok_or_else(|| wrong("the email cannot be written as ASCII"))?;
        if data.len() > LETTER_BYTES {
            return Err(wrong("the email has more than 256 KiB"));
        }
        Ok(EncodedEmail { from: from.email.clone(), to, data: dot_stuff(&data) })
    }
}

/// Normalizes line ends to CRLF. Relays differ on other line ends, and lettre takes quadratic time over them.
fn normalize_lines(text: &str) -> String {
    text.replace('\0', "").replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n")
}

/// Escapes lines that begin with a dot and adds the end marker (RFC 5321, section 4.5.2).
fn dot_stuff(data: &str) -> String {
    let dot = if data.starts_with('.') { "." } else { "" };
    let end = if data.ends_with("\r\n") { ".\r\n" } else { "\r\n.\r\n" };
    format!("{dot}{}{end}", data.replace("\r\n.", "\r\n.."))
}

/// The subject on one line. Encoded as a whole (RFC 2047) if a part of it looks encoded; otherwise lettre encodes what
/// is necessary.
fn subject_header(text: &str) -> HeaderValue {
    let line = subject_line(text);
    if !line.contains("=?") {
        return raw_header("Subject", &line);
    }
    let encoded = encoded_words(&line);
    HeaderValue::dangerous_new_pre_encoded(HeaderName::new_from_ascii_str("Subject"), line, encoded)
}

pub(super) fn subject_line(text: &str) -> String {
    shorten_text(close_directions(&one_line(text)).trim(), SUBJECT_BYTES, "…", str::len)
}

/// Encoded words, one per line.
fn encoded_words(text: &str) -> String {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.floor_char_boundary(WORD_BYTES));
        words.push(format!("=?utf-8?b?{}?=", STANDARD.encode(word)));
        rest = after;
    }
    words.join("\r\n ")
}

fn system_time(at: Millis) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(at.clamp(0, LAST).unsigned_abs())
}

fn raw_header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

fn is_message_id(id: &str) -> bool {
    let is_atom =
        |atom: &str| !atom.is_empty() && atom.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    id.len() <= ID_BYTES && id.split('.').all(is_atom)
}

/// Parses a URL that fits on a header line between angle brackets.
fn unsubscribe_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "https" | "http"))?;
    let is_line = |url: &str| url.len() <= URL_BYTES && url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'>');
    is_line(url.as_str()).then_some(url)
}
