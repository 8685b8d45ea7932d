//! Email, from the senders to the SMTP relay of the tests.

mod deferred;
mod digest;
pub mod inbox;
mod model;
mod quiet;
mod template;
mod wishes;

use base::config::EgressConfig;
use outside::egress::EgressClient;
use outside::mail::{MailSender, OutgoingEmail, SmtpFailureKind, SmtpRelay};

use crate::support::relay::{Asks, Encryption, Manner, Relay as Server, Reply};

fn mail() -> MailSender {
    MailSender::new(
        EgressClient::new(&EgressConfig { allow: "127.0.0.1".parse().unwrap(), ..EgressConfig::default() }).unwrap(),
    )
}

fn relay(url: &str) -> SmtpRelay {
    SmtpRelay::parse(url, "Shop <noreply@shop.example>", None).unwrap()
}

fn letter<'a>(to: &'a str, id: &'a str) -> OutgoingEmail<'a> {
    let (subject, text, at) = ("Your order", "It is on its way.", 1_795_456_800_000);
    OutgoingEmail { to, subject, text, html: None, id, at, unsubscribe: None, language: None }
}

#[tokio::test]
async fn a_relay_keeps_what_it_took_and_nothing_else() {
    let server = Server::start().await;
    server.on_letters_to("full@users.example", Asks::Text, Reply::says("452 4.2.2 full"));
    server.on_letters_to("nobody@users.example", Asks::Rcpt, Reply::says("550-5.1.1 nobody\r\n550 5.1.1 here"));
    server.once(Asks::Mail, Reply::says("451 4.3.0 not now"));
    let (mail, relay) = (mail(), relay(&server.url()));
    let mut said = Vec::new();
    for (to, id) in [("ada", "1"), ("ada", "1"), ("full", "2"), ("nobody", "3"), ("eve", "4")] {
        let to = format!("{to}@users.example");
        said.push(mail.send(&relay, &letter(&to, id)).await.map_err(|failure| (failure.kind, failure.code.unwrap())));
    }
    let (later, full) = (Err((SmtpFailureKind::Later, 451)), Err((SmtpFailureKind::Deferred, 452)));
    assert_eq!(said, [later, Ok(250), full, Err((SmtpFailureKind::Recipient, 550)), Ok(250)]);
    let got: Vec<_> = server.got().iter().map(|got| (got.to.clone(), got.header("message-id").unwrap())).collect();
    let kept = |to: &str, id: &str| (to.to_owned(), id.to_owned());
    assert_eq!(got, [kept("ada@users.example", "<1@shop.example>"), kept("eve@users.example", "<4@shop.example>")]);
    assert!(
        server.got()[0].raw.ends_with("\r\n\r\nIt is on its way.\r\n")
            && server.got()[0].from == "noreply@shop.example"
    );
    assert_eq!(server.connections(), 1);
    server.be_kind();
    server.close_connections();
    mail.send(&relay, &letter("full@users.example", "2")).await.unwrap();
    assert_eq!((server.connections(), server.got().len()), (2, 3));
}

#[tokio::test]
async fn letters_at_once_take_their_own_connections() {
    let server = Server::start().await;
    let (mail, relay) = (mail(), relay(&server.url()));
    let to: Vec<String> = (0..40).map(|number| format!("user{number}@users.example")).collect();
    let all = to.iter().map(|to| async { mail.send(&relay, &letter(to, "1")).await });
    assert!(futures_util::future::join_all(all).await.iter().all(Result::is_ok));
    let mut got: Vec<String> = server.got().iter().map(|got| got.to.clone()).collect();
    let mut to = to;
    got.sort();
    to.sort();
    assert_eq!(got, to);
}

#[tokio::test]
async fn nobody_logs_in_where_the_relay_proves_to_be_nobody() {
    for (encryption, scheme) in [(Encryption::Offered, "smtp"), (Encryption::FromTheBeginning, "smtps")] {
        let login = Some(("shop", "hunter2"));
        let server = Server::with(Manner { encryption: Some(encryption), login }).await;
        server.on(Asks::Quit, Reply::Closes);
        let url = format!("{scheme}://shop:hunter2@127.0.0.1:{}", server.port);
        let failure = mail().send(&relay(&url), &letter("ada@users.example", "1")).await.unwrap_err();
        assert_eq!(failure.kind, SmtpFailureKind::Relay, "{failure}");
        assert!(failure.told.starts_with("the connection cannot be encrypted") && server.got().is_empty(), "{failure}");
    }
}

#[tokio::test]
async fn whoever_gives_up_has_sent_nothing() {
    let server = Server::start().await;
    server.on(Asks::Data, Reply::Hangs);
    let (mail, relay) = (mail(), relay(&server.url()));
    let letter = letter("ada@users.example", "1");
    let sending = tokio::time::timeout(std::time::Duration::from_millis(50), mail.send(&relay, &letter));
    assert!(sending.await.is_err());
    server.be_kind();
    mail.send(&relay, &letter).await.unwrap();
    assert_eq!((server.got().len(), server.connections()), (1, 2));
}

#[tokio::test]
async fn a_relay_that_ends_connections_is_tried_later() {
    let server = Server::start().await;
    for asks in [Asks::Greeting, Asks::Ehlo, Asks::StartTls, Asks::Auth, Asks::Data, Asks::Rset] {
        server.once(asks, Reply::Closes);
    }
    for _ in 0..3 {
        let failure = mail().send(&relay(&server.url()), &letter("ada@users.example", "1")).await.unwrap_err();
        assert_eq!(failure.kind, SmtpFailureKind::Later, "{failure}");
    }
    mail().send(&relay(&server.url()), &letter("ada@users.example", "1")).await.unwrap();
}
