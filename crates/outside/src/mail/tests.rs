//! Tests with a relay on this machine, which stands for relays on the internet.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::transport::smtp::client::Certificate;

use super::smtp::{Asks, Encryption, Manner, Relay as Server, Reply};
use super::{
    EmailEntry, EmailPage, IDLE, MailSender, OutgoingEmail, SmtpFailureKind, SmtpRelay, normalize_address, render_page,
};
use crate::egress::EgressClient;
use base::config::EgressConfig;

const ROOT: &[u8] = include_bytes!("../../../../tests/it/support/relay/root.pem");
const ALL: Duration = Duration::from_secs(20);

fn egress(allow: &str) -> EgressClient {
    EgressClient::new(&EgressConfig { allow: allow.parse().unwrap(), ..EgressConfig::default() }).unwrap()
}

fn mail() -> MailSender {
    MailSender::new(egress("127.0.0.1"))
}

/// A client that trusts the tests' relay.
fn trusting() -> MailSender {
    MailSender::with_roots(egress("127.0.0.1,localhost"), vec![Certificate::from_pem(ROOT).unwrap()], ALL)
}

fn relay(url: &str) -> SmtpRelay {
    SmtpRelay::parse(url, "Shop <noreply@shop.example>", None).unwrap()
}

const LETTER: OutgoingEmail<'_> = OutgoingEmail {
    to: "ada@users.example",
    subject: "Your order",
    text: "It is on its way.",
    html: None,
    id: "7.42.email",
    at: 1_795_456_800_000,
    unsubscribe: None,
    language: None,
};

async fn failure(server: &Server) -> (SmtpFailureKind, Option<u16>) {
    let failure = mail().send(&relay(&server.url()), &LETTER).await.unwrap_err();
    (failure.kind, failure.code)
}

#[tokio::test]
async fn a_letter_arrives_as_it_was_written() {
    let server = Server::start().await;
    let relay =
        SmtpRelay::parse(&server.url(), "Größe & Söhne <noreply@shop.example>", Some("help@shop.example")).unwrap();
    let letter = OutgoingEmail {
        subject: "Grüße 你好 👋",
        html: Some("<p>It is on its way.</p>"),
        unsubscribe: Some("https://tidings.example/u/abc?d=1"),
        language: Some("zh-Hans"),
        ..LETTER
    };
    mail().send(&relay, &letter).await.unwrap();
    let got = &server.got()[0];
    assert_eq!((&*got.from, &*got.to), ("noreply@shop.example", "ada@users.example"));
    for (name, value) in [
        ("To", "ada@users.example"),
        ("Reply-To", "help@shop.example"),
        ("Message-ID", "<7.42.email@shop.example>"),
        ("Date", "Mon, 23 Nov 2026 18:00:00 +0000"),
        ("Auto-Submitted", "auto-generated"),
        ("Content-Language", "zh-Hans"),
        ("List-Unsubscribe", "<https://tidings.example/u/abc?d=1>"),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
        ("MIME-Version", "1.0"),
    ] {
        assert_eq!(got.header(name).as_deref(), Some(value), "{name}");
    }
    assert!(got.header("Content-Type").unwrap().starts_with("multipart/alternative"));
    for name in ["Subject", "From"] {
        assert!(got.header(name).unwrap().contains("=?utf-8?b?"), "{name}: {:?}", got.header(name));
    }
    assert!(got.raw.is_ascii() && got.raw.contains("\r\nIt is on its way.\r\n") && got.raw.contains("<p>"));
    assert!(!got.raw.lines().any(|line| line.starts_with("X-") || line.starts_with("Precedence")));
}

#[tokio::test]
async fn dots_and_long_lines_arrive_as_they_are() {
    let server = Server::start().await;
    let text = format!(".\n..two\n.hidden\n{}\nÜ{}\n.", "a".repeat(3000), "ü".repeat(3000));
    for text in [".\n.one\n..\nlast.\n.", &text] {
        mail().send(&relay(&server.url()), &OutgoingEmail { text, ..LETTER }).await.unwrap();
    }
    let got = server.got();
    mail().send(&relay(&server.url()), &OutgoingEmail { text: "a\r.\rb\n.\r\nc\0\n\rd", ..LETTER }).await.unwrap();
    let mixed = server.got()[2].raw.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(mixed, "a\r\n.\r\nb\r\n.\r\nc\r\n\r\nd\r\n");
    let (_, first) = got[0].raw.split_once("\r\n\r\n").unwrap();
    assert_eq!(first, ".\r\n.one\r\n..\r\nlast.\r\n.\r\n");
    assert!(got[1].raw.lines().all(|line| line.len() <= 998), "no line is longer than SMTP has them");
    assert!(got[1].header("Content-Transfer-Encoding").is_some_and(|of| of == "base64" || of == "quoted-printable"));
}

#[tokio::test]
async fn each_answer_says_what_can_be_done() {
    use Asks::{Auth, Data, Ehlo, Greeting, Mail, Rcpt, Text};
    use SmtpFailureKind::{Deferred, Later, Letter, Recipient, Relay};
    for (asks, says, kind) in [
        (Greeting, "421 too busy", Later),
        (Greeting, "554 no service", Relay),
        (Ehlo, "451 not now", Later),
        (Ehlo, "504 no", Relay),
        (Mail, "421 closing", Later),
        (Mail, "451 not now", Later),
        (Mail, "530 5.7.0 log in first", Relay),
        (Mail, "553 5.7.1 not your address", Relay),
        (Mail, "552 too large", Letter),
        (Rcpt, "421 closing", Later),
        (Rcpt, "450 4.2.1 greylisted", Deferred),
        (Rcpt, "452 4.2.2 full", Deferred),
        (Rcpt, "451 4.3.0 not now", Deferred),
        (Rcpt, "550 no such user", Recipient),
        (Rcpt, "550 5.1.1 no such user", Recipient),
        (Rcpt, "550 5.4.1 access denied", Recipient),
        (Rcpt, "550 5.7.1 your server is blocked", Letter),
        (Rcpt, "551 not here", Recipient),
        (Rcpt, "553 no mailbox", Recipient),
        (Rcpt, "554 5.1.1 no mailbox", Recipient),
        (Rcpt, "554 no", Letter),
        (Rcpt, "556 5.1.10 takes no mail", Recipient),
        (Rcpt, "552 mailbox full", Letter),
        (Rcpt, "534 weak", Relay),
        (Rcpt, "538 encrypt", Relay),
        (Data, "421 closing", Later),
        (Data, "451 not now", Deferred),
        (Data, "451 4.3.1 the disk is full", Later),
        (Data, "554 no", Letter),
        (Text, "421 closing", Later),
        (Text, "451 4.7.1 greylisted", Deferred),
        (Text, "452 4.2.2 full", Deferred),
        (Text, "451 4.3.0 not now", Later),
        (Text, "550 it is spam", Letter),
        (Text, "550 5.1.1 no such user", Recipient),
        (Text, "552 too large", Letter),
        (Text, "554 5.7.1 spam", Letter),
        (Text, "535 log in again", Relay),
    ] {
        let server = Server::start().await;
        server.on(asks, Reply::says(says));
        let code = says[..3].parse().ok();
        assert_eq!(failure(&server).await, (kind, code), "{asks:?}: {says}");
        assert!(server.got().is_empty());
    }
    let server = Server::with(Manner { login: Some(("ada", "hunter2")), ..Manner::default() }).await;
    server.on(Auth, Reply::says("454 4.7.0 not now"));
    let with_login =
        super::SmtpRelay::parse(&server.url().replace("//", "//ada:hunter2@"), "a@b.example", None).unwrap();
    assert_eq!(mail().send(&with_login, &LETTER).await.unwrap_err().kind, Later);
}

#[tokio::test]
async fn whoever_is_refused_does_not_disturb_the_next() {
    let server = Server::start().await;
    let (mail, relay) = (mail(), relay(&server.url()));
    server.on_letters_to("nobody@users.example", Asks::Rcpt, Reply::says("550 5.1.1 nobody"));
    for (to, is_taken) in
        [("nobody@users.example", false), ("ada@users.example", true), ("nobody@users.example", false)]
    {
        assert_eq!(mail.send(&relay, &OutgoingEmail { to, ..LETTER }).await.is_ok(), is_taken, "{to}");
    }
    assert_eq!((server.got().len(), server.connections()), (1, 1));
}

#[tokio::test]
async fn a_connection_that_the_relay_closed_costs_no_letter() {
    let server = Server::start().await;
    let (mail, relay) = (mail(), relay(&server.url()));
    for _ in 0..3 {
        mail.send(&relay, &LETTER).await.unwrap();
    }
    assert_eq!(server.connections(), 1, "it is kept");
    server.close_connections();
    mail.send(&relay, &LETTER).await.unwrap();
    assert_eq!(server.connections(), 2);
    for (asks, reply) in [
        (Asks::Mail, Reply::says("421 idle for too long")),
        (Asks::Mail, Reply::Closes),
        (Asks::Rcpt, Reply::Closes),
        (Asks::Data, Reply::says("421 closing")),
    ] {
        server.once(asks, reply);
        mail.send(&relay, &LETTER).await.unwrap();
    }
    assert_eq!((server.connections(), server.got().len()), (6, 8));
    server.once(Asks::Text, Reply::Closes);
    let failure = mail.send(&relay, &LETTER).await.unwrap_err();
    assert_eq!((failure.kind, server.connections()), (SmtpFailureKind::Later, 6), "it may have the letter");
}

#[tokio::test]
async fn a_connection_that_nobody_uses_is_ended() {
    let server = Server::start().await;
    let idle = Duration::from_millis(40);
    assert!(IDLE <= Duration::from_secs(20));
    let mail = MailSender { pool: super::SessionPool::new(idle), ..mail() };
    mail.send(&relay(&server.url()), &LETTER).await.unwrap();
    while mail.pool.has_any() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    mail.send(&relay(&server.url()), &LETTER).await.unwrap();
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_cut() {
    let endless = "250-m\r\n".repeat(20_000) + "250 m";
    for asks in [Asks::Ehlo, Asks::Mail, Asks::Text] {
        for (encryption, scheme, tls) in [
            (None, "smtp", "?tls=none"),
            (Some(Encryption::Offered), "smtp", ""),
            (Some(Encryption::FromTheBeginning), "smtps", ""),
        ] {
            let server = Server::with(Manner { encryption, ..Manner::default() }).await;
            server.on(asks, Reply::says(&endless));
            let url = format!("{scheme}://127.0.0.1:{}{tls}", server.port);
            let failure = trusting().send(&relay(&url), &LETTER).await.unwrap_err();
            assert_eq!(failure.kind, SmtpFailureKind::Later);
            assert!(failure.told.ends_with("its answer is too long"), "{asks:?}, {encryption:?}: {}", failure.told);
        }
    }
}

#[tokio::test]
async fn what_asks_for_more_after_a_letter_has_not_taken_it() {
    let server = Server::start().await;
    server.on(Asks::Text, Reply::says("354 go on"));
    assert_eq!(failure(&server).await, (SmtpFailureKind::Later, None));
}

#[tokio::test]
async fn whoever_does_not_answer_is_given_up() {
    for asks in [Asks::Greeting, Asks::Ehlo, Asks::Rcpt, Asks::Text] {
        let server = Server::start().await;
        server.on(asks, Reply::Hangs);
        let mail = MailSender::with_roots(egress("127.0.0.1"), Vec::new(), Duration::from_millis(300));
        let failure = mail.send(&relay(&server.url()), &LETTER).await.unwrap_err();
        assert_eq!(
            (failure.kind, &*failure.told),
            (SmtpFailureKind::Later, "the relay did not accept the email in time")
        );
    }
}

#[tokio::test]
async fn a_relay_that_closes_at_once_or_is_away_is_tried_later() {
    let server = Server::start().await;
    server.on(Asks::Greeting, Reply::Closes);
    assert_eq!(failure(&server).await, (SmtpFailureKind::Later, None));
    server.on(Asks::Greeting, Reply::says("HTTP/1.1 400 Bad Request"));
    assert_eq!(failure(&server).await, (SmtpFailureKind::Later, None));
    server.be_kind();
    let (url, mail) = (server.url(), mail());
    mail.send(&relay(&url), &LETTER).await.unwrap();
    drop(server);
    while mail.send(&relay(&url), &LETTER).await.is_ok() {}
    let failure = mail.send(&relay(&url), &LETTER).await.unwrap_err();
    assert_eq!(failure.kind, SmtpFailureKind::Later, "{failure}");
}

#[tokio::test]
async fn a_login_is_used_and_never_shown() {
    let login = Some(("ada", "hunter2 ü"));
    let server = Server::with(Manner { login, ..Manner::default() }).await;
    let url = |login: &str| server.url().replace("//", &format!("//{login}@"));
    let right = relay(&url("ada:hunter2%20%C3%BC"));
    mail().send(&right, &LETTER).await.unwrap();
    assert!(!format!("{right:?} {:?}", mail()).contains("hunter2"), "{right:?}");
    let wrong = mail().send(&relay(&url("ada:hunter3")), &LETTER).await.unwrap_err();
    assert_eq!((wrong.kind, wrong.code), (SmtpFailureKind::Relay, Some(535)));
    let none = mail().send(&relay(&server.url()), &LETTER).await.unwrap_err();
    assert_eq!((none.kind, none.code), (SmtpFailureKind::Relay, Some(530)));
    // A relay that echoes the credentials in its error.
    server.on(
        Asks::Auth,
        Reply::says("535 no AUTH PLAIN AGFkYQBodW50ZXIyIMO8 as ada with hunter2 ü for ada@users.example"),
    );
    let told = mail().send(&right, &LETTER).await.unwrap_err().told;
    assert_eq!(told, "the relay says 535: no AUTH PLAIN … as … with … for …@users.example");
    server.on(Asks::Auth, Reply::says(&format!("535 {}", "ü".repeat(400))));
    assert!(mail().send(&right, &LETTER).await.unwrap_err().told.len() <= 500);
    let not_offered = Server::start().await;
    let url = not_offered.url().replace("//", "//ada:hunter2@");
    assert_eq!(mail().send(&relay(&url), &LETTER).await.unwrap_err().kind, SmtpFailureKind::Relay);
}

#[tokio::test]
async fn a_failure_does_not_show_the_address() {
    let server = Server::start().await;
    server.on(Asks::Rcpt, Reply::says("550 5.1.1 <ada@users.example>: nobody"));
    let failure = mail().send(&relay(&server.url()), &LETTER).await.unwrap_err();
    assert_eq!(failure.told, "the relay says 550: 5.1.1 <…>: nobody");
}

#[tokio::test]
async fn encryption_is_as_it_was_asked_for() {
    let offering = Server::with(Manner { encryption: Some(Encryption::Offered), login: Some(("a", "b")) }).await;
    let from_the_beginning =
        Server::with(Manner { encryption: Some(Encryption::FromTheBeginning), login: Some(("a", "b")) }).await;
    let bare = Server::start().await;
    let url = |scheme: &str, host: &str, server: &Server| format!("{scheme}://a:b@{host}:{}", server.port);
    for url in [
        url("smtp", "localhost", &offering),
        url("smtp", "127.0.0.1", &offering) + "?tls=required",
        url("smtps", "localhost", &from_the_beginning),
        url("smtps", "127.0.0.1", &from_the_beginning),
        format!("smtp://127.0.0.1:{}?tls=opportunistic", bare.port),
    ] {
        trusting().send(&relay(&url), &LETTER).await.unwrap_or_else(|failure| panic!("{url}: {failure}"));
    }
    let nobody_trusted = MailSender::new(egress("127.0.0.1,localhost"));
    for (mail, url) in [
        (&nobody_trusted, url("smtp", "localhost", &offering)),
        (&nobody_trusted, url("smtps", "localhost", &from_the_beginning)),
        (&nobody_trusted, format!("smtp://localhost:{}?tls=opportunistic", offering.port)),
        // This relay does not offer encryption.
        (&trusting(), format!("smtp://127.0.0.1:{}", bare.port)),
        (&trusting(), format!("smtps://127.0.0.1:{}", bare.port)),
    ] {
        let failure = mail.send(&relay(&url), &LETTER).await.unwrap_err();
        assert_eq!(failure.kind, SmtpFailureKind::Relay, "{url}: {failure}");
    }
    assert_eq!((offering.got().len(), from_the_beginning.got().len(), bare.got().len()), (2, 2, 1));
}

#[tokio::test]
async fn only_relays_that_may_be_reached_are_connected_to() {
    let server = Server::start().await;
    let none = MailSender::new(egress("none"));
    for host in ["10.0.0.1", "127.0.0.1", "0x7f.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"] {
        let relay = relay(&format!("smtp://{host}:{}", server.port));
        assert!(none.check_relay(&relay).unwrap_err().to_string().contains("private or reserved"), "{host}");
        assert_eq!(none.send(&relay, &LETTER).await.unwrap_err().kind, SmtpFailureKind::Refused, "{host}");
    }
    let by_name = relay(&format!("smtp://LOCALHOST:{}", server.port));
    none.check_relay(&by_name).unwrap();
    assert_eq!(none.send(&by_name, &LETTER).await.unwrap_err().kind, SmtpFailureKind::Refused);
    assert_eq!(server.connections(), 0);
    let bare = relay(&format!("smtp://localhost:{}?tls=none", server.port));
    assert!(none.check_relay(&bare).unwrap_err().to_string().contains("must be encrypted"));
    MailSender::new(egress("localhost")).send(&bare, &LETTER).await.unwrap();
    let unknown = relay("smtp://relay.invalid");
    assert_eq!(none.send(&unknown, &LETTER).await.unwrap_err().kind, SmtpFailureKind::Later);
}

#[tokio::test]
async fn no_text_becomes_a_header() {
    let server = Server::start().await;
    let (mail, relay) = (mail(), relay(&server.url()));
    let evil = "a\r\nBcc: eve@evil.example\r\n\r\nhello\n.\r\nQUIT\rx\u{0}\u{85}\u{2028}";
    let letter = OutgoingEmail { subject: evil, language: Some(evil), ..LETTER };
    mail.send(&relay, &letter).await.unwrap();
    mail.send(&relay, &OutgoingEmail { subject: "=?utf-8?q?a=0D=0ABcc:_eve?=", ..LETTER }).await.unwrap();
    mail.send(&relay, &OutgoingEmail { subject: &"s".repeat(5000), text: evil, html: Some(evil), ..LETTER })
        .await
        .unwrap();
    mail.send(&relay, &OutgoingEmail { subject: &"ü".repeat(5000), ..LETTER }).await.unwrap();
    for got in server.got() {
        let (head, _) = got.raw.split_once("\r\n\r\n").unwrap();
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
        assert!(got.header("Content-Language").is_none() && got.header("Subject").is_some());
        assert!(!head.contains("=?utf-8?q?a=0D"), "{head}");
        assert!(got.raw.lines().all(|line| line.len() <= 998));
    }
    assert_eq!(server.got().len(), 4);
    for letter in [
        OutgoingEmail { to: "ada@users.example\r\nRCPT TO:<eve@evil.example>", ..LETTER },
        OutgoingEmail { to: "ada@users.example>", ..LETTER },
        OutgoingEmail { to: "", ..LETTER },
    ] {
        assert_eq!(mail.send(&relay, &letter).await.unwrap_err().kind, SmtpFailureKind::Recipient);
    }
    for letter in [
        OutgoingEmail { id: evil, ..LETTER },
        OutgoingEmail { id: "", ..LETTER },
        OutgoingEmail { id: "a>b", ..LETTER },
        OutgoingEmail { unsubscribe: Some("javascript:alert(1)"), ..LETTER },
        OutgoingEmail { unsubscribe: Some("mailto:a@b.example"), ..LETTER },
    ] {
        assert_eq!(mail.send(&relay, &letter).await.unwrap_err().kind, SmtpFailureKind::Letter, "{letter:?}");
    }
    let unsubscribe = Some("https://a.example/\r\nBcc: eve@evil.example>?x=ü");
    mail.send(&relay, &OutgoingEmail { unsubscribe, ..LETTER }).await.unwrap();
    let header = server.got()[4].header("List-Unsubscribe").unwrap();
    assert_eq!(header, "<https://a.example/Bcc:%20eve@evil.example%3E?x=%C3%BC>");
}

#[tokio::test]
async fn a_letter_has_at_most_256_kib() {
    let server = Server::start().await;
    let (mail, relay) = (mail(), relay(&server.url()));
    mail.send(&relay, &OutgoingEmail { text: &"a b ".repeat(60_000), ..LETTER }).await.unwrap();
    for text in ["a b ".repeat(70_000), "ü ".repeat(70_000)] {
        let failure = mail.send(&relay, &OutgoingEmail { text: &text, ..LETTER }).await.unwrap_err();
        assert_eq!((failure.kind, &*failure.told), (SmtpFailureKind::Letter, "the email has more than 256 KiB"));
    }
    mail.send(&relay, &OutgoingEmail { text: &"\n".repeat(120_000), ..LETTER }).await.unwrap();
    assert_eq!(server.got().len(), 2);
}

#[test]
fn an_address_is_kept_in_one_way() {
    let long = format!("{}@{}.example", "a".repeat(64), "b".repeat(60));
    for (text, kept) in [
        ("ada@example.com", "ada@example.com"),
        ("Ada.L+x_y-z@EXAMPLE.com", "Ada.L+x_y-z@example.com"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("root@localhost", "root@localhost"),
        (&long, &long),
    ] {
        assert_eq!(normalize_address(text).unwrap(), kept);
    }
    for wrong in [
        "",
        "ada",
        "@example.com",
        "ada@",
        "ada@@example.com",
        "ada@example.com@",
        "a b@example.com",
        "ada @example.com",
        "ada@ example.com",
        " ada@example.com",
        "ada@exam\tple.com",
        "ada@example.com\r\nBcc: eve@evil.example",
        "ada\r\n@example.com",
        "\"ada\"@example.com",
        "ada(comment)@example.com",
        "ada@example.com(comment)",
        "Ada <ada@example.com>",
        "<ada@example.com>",
        "ada@example.com,eve@example.com",
        ".ada@example.com",
        "ada.@example.com",
        "a..b@example.com",
        "ädä@example.com",
        "ada@[127.0.0.1]",
        "ada@127.0.0.1",
        "ada@2130706433",
        "ada@example.com.",
        "ada@example..com",
        "ada@example.com/x",
        "ada@exam%70le.com",
        "ada@example.com:25",
        &format!("{}@example.com", "a".repeat(65)),
        &format!("ada@{}.example", "b".repeat(64)),
        &format!("ada@{}example", "b.".repeat(130)),
    ] {
        assert!(normalize_address(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_relay_is_read_from_its_url() {
    let read = |url: &str| SmtpRelay::parse(url, "noreply@shop.example", None);
    for (url, door) in [
        ("smtps://a:b@mail.example", "mail.example:465 (Always)"),
        ("smtps://mail.example:2465/", "mail.example:2465 (Always)"),
        ("smtp://Mail.Example", "mail.example:587 (Required)"),
        ("smtp://a:b@bücher.example?tls=required", "xn--bcher-kva.example:587 (Required)"),
        ("smtp://mail.example:25?tls=opportunistic", "mail.example:25 (Opportunistic)"),
        ("smtp://a:b@0x7f.1:25?tls=none", "127.0.0.1:25 (None)"),
        ("smtp://[2a00:1450::1]", "[2a00:1450::1]:587 (Required)"),
    ] {
        assert_eq!(format!("{:?}", read(url).unwrap().pool_key()), door, "{url}");
    }
    for (url, words) in [
        ("", "must be a URL such as"),
        ("mail.example", "must be a URL such as"),
        ("smtps://", "must be a URL such as"),
        ("smtps://mail.example/x", "must be a URL such as"),
        ("smtps://mail.example/#x", "must be a URL such as"),
        ("smtps://mail.example:0", "must be a URL such as"),
        ("smtps://256.1.1.1", "must be a URL such as"),
        ("https://mail.example", "must begin with smtps: or smtp:"),
        ("smtps://mail.example?tls=none", "is always encrypted"),
        ("smtp://mail.example?tls=maybe", "nothing after the ?"),
        ("smtp://mail.example?tls=none&x=1", "nothing after the ?"),
        ("smtps://mail .example", "white space"),
        ("smtps://hunter2@mail.example", "both a user name and a password"),
        ("smtps://:hunter2@mail.example", "both a user name and a password"),
        ("smtps://a:hunter2%00@mail.example", "both a user name and a password"),
        ("smtps://a:hunter2%ff@mail.example", "both a user name and a password"),
        ("smtp://a:hunter2@mail.example?tls=opportunistic", "tls=required is needed"),
    ] {
        let told = read(url).unwrap_err().to_string();
        assert!(told.starts_with("`url`") && told.contains(words) && !told.contains("hunter2"), "{url}: {told}");
    }
    for (from, reply_to, field) in [
        ("shop", None, "`from`"),
        ("Shop\r\nBcc: x <a@b.example>", None, "`from`"),
        ("a@b.example", Some("x"), "`replyTo`"),
    ] {
        let told = SmtpRelay::parse("smtps://mail.example", from, reply_to).unwrap_err().to_string();
        assert!(told.starts_with(field), "{told}");
    }
}

#[test]
fn a_page_escapes_what_it_is_given() {
    let all = EmailPage {
        title: "<b>Sale</b> & \"more\"",
        body: "One <script>alert(1)</script>\nsecond line\n\n \n\nTwo {{ 7 * 7 }}",
        html: None,
        entries: &[],
        link: Some(("https://shop.example/?a=\"><script>&b=2", "Open \"it\"")),
        unsubscribe: Some(("https://tidings.example/u/x", "No more of these")),
        language: Some("en"),
    };
    let html = render_page(&all).unwrap();
    assert!(html.contains("&lt;b&gt;Sale") && html.contains("{{ 7 * 7 }}") && !html.contains("<script"), "{html}");
    assert_eq!((html.matches("<p ").count(), html.matches("<br>").count(), html.matches("<a ").count()), (2, 1, 2));
    assert!(html.contains("dir=\"ltr\"") && html.contains("lang=\"en\"") && html.contains("max-width: 600px"));
    assert!(html.len() < 10_000, "{} bytes", html.len());
    for evil in ["javascript:alert(1)", "data:text/html,x", "vbscript:x", " JavaScript:alert(1)", "/relative", ""] {
        let html = render_page(&EmailPage { link: Some((evil, "x")), unsubscribe: Some((evil, "x")), ..all }).unwrap();
        assert!(!html.contains("<a "), "{evil}");
    }
    let html = render_page(&EmailPage { language: Some("ar\" onload=\"x"), body: "", ..all }).unwrap();
    assert!(html.contains("lang=\"en\"") && !html.contains("<p "), "{html}");
    let html = render_page(&EmailPage { html: Some("<b>Two</b>"), ..all }).unwrap();
    assert!(html.contains("<b>Two</b>") && !html.contains("<p ") && html.contains("second line"), "{html}");
    let entry =
        |link: &str| EmailEntry { title: "<i>One</i>".into(), body: "<b>two</b>".into(), link: Some(link.into()) };
    let entries = ["https://shop.example/1", "javascript:alert(1)"].map(entry);
    let html = render_page(&EmailPage { entries: &entries, link: None, unsubscribe: None, ..all }).unwrap();
    assert!(html.matches("<a ").count() == 1 && html.matches("&lt;i&gt;One").count() == 4, "{html}");
    assert!(!html.contains("<i>") && !html.contains("<b>") && !html.contains("javascript"), "{html}");
    for (language, direction) in
        [("ar-EG", "rtl"), ("he", "rtl"), ("FA", "rtl"), ("uz-Arab", "rtl"), ("ur-Latn", "ltr"), ("zh-Hans-CN", "ltr")]
    {
        let html = render_page(&EmailPage { language: Some(language), ..all }).unwrap();
        assert!(html.contains(&format!("<html lang=\"{language}\" dir=\"{direction}\">")), "{language}");
    }
}

#[tokio::test]
async fn a_subject_that_looks_encoded_arrives_as_it_was_written() {
    let server = Server::start().await;
    let long = format!("=?{}é=?", "é👨\u{200D}👩 x ".repeat(20));
    for subject in ["q=?page", "=?utf-8?q?a?=", "a =?", &long] {
        mail().send(&relay(&server.url()), &OutgoingEmail { subject, ..LETTER }).await.unwrap();
        let got = server.got().pop().unwrap();
        let header = got.header("Subject").unwrap();
        let words = header.split(' ').map(|word| {
            let word = word.strip_prefix("=?utf-8?b?").and_then(|word| word.strip_suffix("?=")).expect(&header);
            String::from_utf8(STANDARD.decode(word).unwrap()).unwrap()
        });
        assert_eq!(words.collect::<String>(), subject);
        assert!(got.raw.lines().all(|line| line.len() <= 78), "{}", got.raw);
    }
    for (subject, arrives) in [("a\u{2028}b\0c", "a b c"), (&*"x".repeat(600), &*format!("{}…", "x".repeat(497)))] {
        assert_eq!(super::letter::subject_line(subject), arrives);
    }
    let families = "👨\u{200D}👩\u{200D}👧".repeat(40);
    let cut = super::letter::subject_line(&families);
    assert!(
        cut.len() <= 500 && cut.trim_end_matches('…').len().is_multiple_of("👨\u{200D}👩\u{200D}👧".len()),
        "{cut}"
    );
}

#[tokio::test]
async fn words_that_have_letters_of_a_login_stay_whole() {
    let server = Server::with(Manner { login: Some(("n", "ou")), ..Manner::default() }).await;
    let nowhere = relay("smtp://u:n@nowhere.invalid");
    let told = MailSender::new(egress("nowhere.invalid")).send(&nowhere, &LETTER).await.unwrap_err().told;
    assert!(!told.contains('…') && told.contains("not found"), "{told}");
    server.on(Asks::Auth, Reply::says("535 5.7.8 user n not found: wrong password ou for smtp://n:ou@mail.example"));
    let with_login = super::SmtpRelay::parse(&server.url().replace("//", "//n:ou@"), "a@b.example", None).unwrap();
    let told = mail().send(&with_login, &LETTER).await.unwrap_err().told;
    let expected = "the relay says 535: 5.7.8 user … not found: wrong password … for smtp://…:…@mail.example";
    assert_eq!(told, expected);
}
