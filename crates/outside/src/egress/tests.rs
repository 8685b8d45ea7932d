//! Tests with real sockets. Loopback addresses stand for the internet: `127.0.0.2` is allowed and `127.0.0.1` is not.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use reqwest::dns::Resolve;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

use super::address_rules::EgressPolicy;
use super::resolver::{HostLookup, NoAddress, PolicyResolver};
use super::{EgressClient, RequestFailureKind, RequestTimeouts};
use base::config::EgressConfig;

/// Returns these results one after the other for each lookup, and repeats the last one.
#[derive(Debug)]
struct Answers(Mutex<Vec<Vec<IpAddr>>>);

impl HostLookup for Answers {
    fn lookup_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        assert_eq!(name, "hooks.example");
        let mut rest = self.0.lock();
        let next = if rest.len() > 1 { rest.remove(0) } else { rest[0].clone() };
        Box::pin(async { Ok(next) })
    }
}

fn answers(each: &[&[&str]]) -> Arc<Answers> {
    let addresses = |all: &&[&str]| all.iter().map(|address| address.parse().unwrap()).collect();
    Arc::new(Answers(Mutex::new(each.iter().map(addresses).collect())))
}

fn config(allow: &str) -> EgressConfig {
    EgressConfig { allow: allow.parse().unwrap(), ..EgressConfig::default() }
}

fn egress(allow: &str) -> EgressClient {
    EgressClient::new(&config(allow)).unwrap()
}

/// With these lookup results and short time limits.
fn told(allow: &str, each: &[&[&str]]) -> EgressClient {
    let patience = RequestTimeouts { connect: Duration::from_secs(2), all: Duration::from_millis(300) };
    EgressClient::with_lookup(&config(allow), answers(each), patience).unwrap()
}

/// A receiver on all addresses of this machine.
struct Receiver {
    port: u16,
    /// For each connection, the address it came in at and its request.
    seen: Arc<Mutex<Vec<(IpAddr, String)>>>,
}

impl Receiver {
    /// Sends this response on each connection and closes it.
    async fn saying(answer: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::doing(move |mut connection| {
            let answer = answer.clone();
            Box::pin(async move {
                let _ = connection.write_all((*answer).as_ref()).await;
                let _ = connection.shutdown().await;
            })
        })
        .await
    }

    async fn doing(answer: impl Fn(TcpStream) -> BoxFuture<'static, ()> + Send + 'static) -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Vec<_>>>::default();
        let writing = seen.clone();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let at = connection.local_addr().unwrap().ip();
                let number = writing.lock().len();
                writing.lock().push((at, String::new()));
                let asked = ask(&mut connection).await;
                writing.lock()[number].1 = asked;
                tokio::spawn(answer(connection));
            }
        });
        Self { port, seen }
    }

    fn url(&self, host: &str) -> String {
        format!("{host}:{}/hook?token=hunter2", self.port)
    }

    fn at(&self) -> Vec<IpAddr> {
        self.seen.lock().iter().map(|(at, _)| *at).collect()
    }
}

/// Reads a whole request if it has a `content-length`, otherwise its first bytes.
async fn ask(connection: &mut TcpStream) -> String {
    let mut asked = Vec::new();
    loop {
        let mut more = [0; 4096];
        match connection.read(&mut more).await {
            Ok(length @ 1..) => asked.extend_from_slice(&more[..length]),
            _ => break,
        }
        let text = String::from_utf8_lossy(&asked);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if text.starts_with("POST") {
                continue;
            }
            break;
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.is_none_or(|length| length.parse::<usize>().unwrap() <= body.len()) {
            break;
        }
    }
    String::from_utf8_lossy(&asked).into_owned()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_receiver_that_is_listed_gets_what_is_sent_and_its_answer_comes_back() {
    let receiver =
        Receiver::saying("HTTP/1.1 429 Too Many Requests\r\nretry-after: 70\r\ncontent-length: 4\r\n\r\nlate").await;
    let headers = [("webhook-id", "msg_1".to_owned()), ("content-type", "application/json".to_owned())];
    let answer = egress("127.0.0.1/32").post(&receiver.url("http://127.0.0.1"), &headers, b"{\"a\":1}".to_vec()).await;
    let answer = answer.unwrap();
    assert_eq!((answer.status, answer.is_success(), &*answer.body), (429, false, &b"late"[..]));
    assert_eq!(
        (answer.retry_after, &*answer.excerpt()),
        (Some(Duration::from_secs(70)), ""),
        "nothing is shown of a private address"
    );
    let asked = receiver.seen.lock()[0].1.clone();
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "{\"a\":1}");
    for line in [
        "POST /hook?token=hunter2 HTTP/1.1",
        "webhook-id: msg_1",
        "content-type: application/json",
        "user-agent: Tidings/",
    ] {
        assert!(head.contains(line), "{line} in {head}");
    }
    for line in ["accept-encoding", "referer", "cookie"] {
        assert!(!head.contains(line), "{line} in {head}");
    }
}

/// The client does not resolve a host that is an address.
#[tokio::test]
async fn private_addresses_in_a_url_are_not_connected_to() {
    let receiver = Receiver::saying("HTTP/1.1 200 OK\r\n\r\n").await;
    for host in [
        "127.0.0.1",
        "127.0.0.2",
        "2130706433",
        "0177.1",
        "0x7f.1",
        "127.1",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "0.0.0.0",
        "0",
    ] {
        for scheme in ["http", "https"] {
            let url = receiver.url(&format!("{scheme}://{host}"));
            let failure = egress("10.0.0.0/8").post(&url, &[], Vec::new()).await.unwrap_err();
            assert_eq!(failure.kind, RequestFailureKind::Refused, "{url}");
            assert!(failure.message.starts_with("the URL must not lead to a private"), "{failure}");
            assert!(
                egress("10.0.0.0/8").check_url(&url).unwrap_err().to_string().contains("must not lead to a private")
            );
        }
    }
    assert_eq!(receiver.at(), [] as [IpAddr; 0]);
}

#[tokio::test]
async fn names_of_this_machine_are_not_connected_to() {
    let receiver = Receiver::saying("HTTP/1.1 200 OK\r\n\r\n").await;
    let failure = egress("none").post(&receiver.url("https://localhost"), &[], Vec::new()).await.unwrap_err();
    assert_eq!(failure.kind, RequestFailureKind::Refused);
    assert!(failure.message.contains("only private or reserved addresses"), "{failure}");
    assert!(receiver.at().is_empty());
    let answer = egress("localhost").post(&receiver.url("http://localhost"), &[], Vec::new()).await.unwrap();
    assert_eq!(answer.status, 200, "a name that is listed");
}

/// The connection is made, then fails: the receiver does not speak TLS.
#[tokio::test]
async fn a_name_that_leads_elsewhere_a_moment_later_gains_nothing() {
    let receiver = Receiver::saying("no TLS").await;
    let egress = told("127.0.0.2", &[&["127.0.0.2"], &["127.0.0.1"], &["169.254.169.254"], &["::ffff:127.0.0.1"]]);
    let url = receiver.url("https://hooks.example");
    let mut kinds = Vec::new();
    for _ in 0..4 {
        kinds.push(egress.post(&url, &[], Vec::new()).await.unwrap_err().kind);
    }
    let refused = RequestFailureKind::Refused;
    assert_eq!(kinds, [RequestFailureKind::Unreachable, refused, refused, refused]);
    assert_eq!(receiver.at(), [address("127.0.0.2")]);
}

#[tokio::test]
async fn of_mixed_addresses_only_those_that_may_be_reached_are_tried() {
    let receiver = Receiver::saying("no TLS").await;
    let mixed = ["127.0.0.1", "::1", "fd00::1", "127.0.0.2", "10.0.0.1", "::ffff:127.0.0.1"];
    let failure = told("127.0.0.2", &[&mixed]).post(&receiver.url("https://hooks.example"), &[], Vec::new()).await;
    assert_eq!(failure.unwrap_err().kind, RequestFailureKind::Unreachable);
    assert_eq!(receiver.at(), [address("127.0.0.2")]);
}

#[tokio::test]
async fn what_is_connected_to_is_what_was_checked() {
    let each: [&[&str]; 5] =
        [&["93.184.216.34"], &["10.0.0.1"], &["10.0.0.1", "2a00:1450::1", "::1", "8.8.8.8"], &[], &["8.8.8.8"]];
    let gate = Arc::new(EgressPolicy::new(&config("none")).unwrap());
    let checked = PolicyResolver { gate, port: 443, lookup: answers(&each) };
    let mut found = Vec::new();
    for _ in each {
        let resolved = checked.resolve("hooks.example".parse().unwrap()).await;
        found.push(match resolved {
            Ok(all) => all.map(|address: SocketAddr| address.to_string()).collect::<Vec<_>>().join(" "),
            Err(error) => match error.downcast_ref() {
                Some(NoAddress::Refused) => "refused".into(),
                Some(NoAddress::Unknown(_)) => "unknown".into(),
                None => error.to_string(),
            },
        });
    }
    assert_eq!(found, ["93.184.216.34:0", "refused", "[2a00:1450::1]:0 8.8.8.8:0", "unknown", "8.8.8.8:0"]);
}

/// A resolver that does not answer until the test lets it.
#[derive(Debug)]
struct Unanswered {
    asked: Mutex<Vec<String>>,
    is_answered: watch::Receiver<bool>,
}

impl HostLookup for Unanswered {
    fn lookup_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.asked.lock().push(name);
        let mut is_answered = self.is_answered.clone();
        Box::pin(async move {
            is_answered.wait_for(|is_answered| *is_answered).await.map_err(io::Error::other)?;
            Ok(vec![address("127.0.0.2")])
        })
    }
}

#[tokio::test]
async fn a_name_that_nobody_answers_for_is_asked_for_once_at_a_time() {
    let receiver = Receiver::saying("no TLS").await;
    let (answer, is_answered) = watch::channel(false);
    let nobody = Arc::new(Unanswered { asked: Mutex::default(), is_answered });
    let patience = RequestTimeouts { connect: Duration::from_millis(50), all: Duration::from_mins(1) };
    let egress = EgressClient::with_lookup(&config("127.0.0.2"), nobody.clone(), patience).unwrap();
    let (one, other) = (receiver.url("https://hooks.example"), receiver.url("https://other.example"));
    for _ in 0..3 {
        let failures = join_all([&one, &one, &other].map(|url| egress.post(url, &[], Vec::new()))).await;
        assert!(failures.into_iter().all(|failure| failure.unwrap_err().kind == RequestFailureKind::TimedOut));
    }
    let mut asked = nobody.asked.lock().clone();
    asked.sort_unstable();
    assert_eq!(asked, ["hooks.example", "other.example"]);
    answer.send_replace(true);
    while egress.post(&one, &[], Vec::new()).await.unwrap_err().kind == RequestFailureKind::TimedOut {}
    assert!(receiver.at().iter().all(|at| *at == address("127.0.0.2")), "and then it is there");
}

/// Names are resolved without a port, so each listed port has a client of its own.
#[tokio::test]
async fn what_is_listed_at_one_port_is_not_connected_to_at_another() {
    let (listed, other) =
        (Receiver::saying("HTTP/1.1 200 OK\r\n\r\n").await, Receiver::saying("HTTP/1.1 200 OK\r\n\r\n").await);
    let allow = format!("127.0.0.1:{0},localhost:{0}", listed.port);
    let egress = egress(&allow);
    for host in ["http://127.0.0.1", "http://localhost"] {
        assert_eq!(egress.post(&listed.url(host), &[], Vec::new()).await.unwrap().status, 200, "{host}");
    }
    for host in ["http://127.0.0.1", "https://127.0.0.1", "http://localhost", "https://localhost"] {
        let failure = egress.post(&other.url(host), &[], Vec::new()).await.unwrap_err();
        assert_eq!(failure.kind, RequestFailureKind::Refused, "{host}: {failure}");
    }
    assert!(other.at().is_empty());
    let addresses = |port| egress.resolve_host("localhost", port);
    assert!(addresses(listed.port).await.is_ok() && addresses(other.port).await.is_err());
}

#[tokio::test]
async fn redirections_are_answers_and_not_followed() {
    for to in ["http://169.254.169.254/latest/meta-data", "/other", "https://hooks.example/"] {
        let answer = format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
        let receiver = Receiver::saying(answer).await;
        let answer = egress("127.0.0.1").post(&receiver.url("http://127.0.0.1"), &[], b"{}".to_vec()).await.unwrap();
        assert_eq!((answer.status, answer.is_success(), receiver.at().len()), (307, false, 1), "{to}");
    }
}

#[tokio::test]
async fn whoever_does_not_answer_is_given_up() {
    let receiver = Receiver::doing(|connection| {
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop(connection);
        })
    })
    .await;
    let failure = told("127.0.0.1", &[&[]]).post(&receiver.url("http://127.0.0.1"), &[], Vec::new()).await.unwrap_err();
    assert_eq!((failure.kind, &*failure.message), (RequestFailureKind::TimedOut, "there was no answer in time"));
}

#[tokio::test]
async fn an_answer_that_does_not_end_counts_by_its_status() {
    let receiver = Receiver::doing(|mut connection| {
        Box::pin(async move {
            let _ = connection.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 100\r\n\r\nhalf").await;
            std::future::pending::<()>().await;
        })
    })
    .await;
    let answer = told("127.0.0.1", &[&[]]).post(&receiver.url("http://127.0.0.1"), &[], Vec::new()).await.unwrap();
    assert_eq!((answer.status, &*answer.body), (202, &b"half"[..]));
}

#[tokio::test]
async fn of_a_huge_answer_the_beginning_is_read_and_the_connection_given_up() {
    let (done, ended) = oneshot::channel();
    let done = Mutex::new(Some(done));
    let receiver = Receiver::doing(move |mut connection| {
        let done = done.lock().take().unwrap();
        Box::pin(async move {
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
            let chunk = format!("4000\r\n{}\r\n", "a".repeat(0x4000));
            while connection.write_all(chunk.as_bytes()).await.is_ok() {}
            let _ = done.send(());
        })
    })
    .await;
    let answer = egress("127.0.0.1").post(&receiver.url("http://127.0.0.1"), &[], Vec::new()).await.unwrap();
    assert_eq!((answer.status, answer.body.len(), answer.excerpt().len()), (200, 20_000, 0));
    tokio::time::timeout(Duration::from_secs(10), ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_is_packed_is_not_unpacked() {
    let mut packing = GzEncoder::new(Vec::new(), Compression::best());
    packing.write_all(&vec![0; 10_000_000]).unwrap();
    let bomb = packing.finish().unwrap();
    assert!(bomb.len() < 20_000);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", bomb.len());
    let receiver = Receiver::saying([head.as_bytes(), &bomb].concat()).await;
    let answer = egress("127.0.0.1").post(&receiver.url("http://127.0.0.1"), &[], Vec::new()).await.unwrap();
    assert!(answer.body == bomb);
}

#[tokio::test]
async fn a_failure_says_what_failed_and_shows_no_secret() {
    let (broken, mute) = (Receiver::saying("SSH-2.0-x\r\n").await, Receiver::saying("").await);
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let nobody = Receiver { port: nobody, seen: Arc::default() };
    let headers = [("authorization", "Bearer hunter2".to_owned())];
    for (url, kind, words) in [
        (nobody.url("http://127.0.0.1"), RequestFailureKind::Unreachable, "could not connect: Connection refused"),
        (
            broken.url("https://127.0.0.1"),
            RequestFailureKind::Unreachable,
            "could not connect: received corrupt message",
        ),
        (
            broken.url("http://127.0.0.1"),
            RequestFailureKind::Broken,
            "the connection ended without an answer: invalid HTTP version",
        ),
        (
            mute.url("http://127.0.0.1"),
            RequestFailureKind::Broken,
            "the connection ended without an answer: connection closed",
        ),
        (nobody.url("https://hooks.example"), RequestFailureKind::NotFound, "the host is not found: it has no address"),
        (nobody.url("http://hooks.example"), RequestFailureKind::Refused, "the URL must begin with https:"),
    ] {
        let failure = told("127.0.0.1", &[&[]]).post(&url, &headers, b"hunter2".to_vec()).await.unwrap_err();
        assert!(failure.kind == kind && failure.message.starts_with(words), "{url}: {failure:?}");
        assert!(!failure.message.contains("hunter2") && failure.message.len() <= 500, "{failure:?}");
    }
}

#[tokio::test]
async fn a_header_cannot_become_two() {
    let receiver = Receiver::saying("HTTP/1.1 200 OK\r\n\r\n").await;
    for header in [("webhook-id", "a\r\nx: hunter2".to_owned()), ("web hook", "hunter2".to_owned())] {
        let failure =
            egress("127.0.0.1").post(&receiver.url("http://127.0.0.1"), &[header], Vec::new()).await.unwrap_err();
        assert!(failure.kind == RequestFailureKind::Refused && !failure.message.contains("hunter2"), "{failure}");
    }
    assert!(receiver.at().is_empty());
}
