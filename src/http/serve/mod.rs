//! Connections: accepted, counted, served, and closed when they do nothing for too long.

mod body;
mod door;
mod files;
mod line;
mod stream;

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, Request, Response, StatusCode, Version, header};
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep};

use body::{Answered, Asking};
pub use door::Door;
pub use line::Line;
use line::Word;
pub use stream::Stream;

/// How long nothing is accepted after something was lacking for it.
const LACKING: Duration = Duration::from_millis(50);

/// A client of HTTP/2 is asked for a sign of life when it has given none for this long, and has as long for it.
const PING: Duration = Duration::from_secs(20);

/// Requests of a connection at the same time, over HTTP/2.
const STREAMS: u32 = 100;

/// The most bytes of a header over HTTP/1: an address has 64 KiB at the most.
const HEADER_BYTES: usize = 128 * 1024;

tokio::task_local! {
    /// What ends the stream of HTTP/2 that is being served.
    static CUT: AbortHandle;
}

/// Serves whoever comes until `stop` is over, and then those who are there to the end of their requests.
pub async fn serve(door: Arc<Door>, listener: TcpListener, routes: Router, stop: impl Future<Output = ()>) {
    let http = Arc::new(http());
    let routes = TowerToHyperService::new(routes);
    let (open, connected) = watch::channel(());
    let welcome = |io: TcpStream, peer: SocketAddr| {
        let Some((line, place)) = door.enter(peer.ip()) else { return };
        let stream = Stream::new(io, line.clone(), place);
        let calls = Calls { door: door.clone(), routes: routes.clone(), line };
        let (http, connected) = (http.clone(), connected.clone());
        tokio::spawn(async move {
            converse(&http, stream, calls).await;
            drop(connected);
        });
    };
    let mut seconds = interval(door.second());
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            _ = seconds.tick() => {
                door.look();
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((io, peer)) => welcome(io, peer),
            // Those have gone again already.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
            Err(error) => {
                door.lacks(&error);
                sleep(LACKING).await;
            }
        }
    }
    // Who waits in the system's line is connected already, and may have sent a request that nobody may send again.
    for (io, peer) in in_line(listener) {
        welcome(io, peer);
    }
    drop(connected);
    door.close();
    loop {
        tokio::select! {
            () = open.closed() => break,
            _ = seconds.tick() => {
                door.look();
                door.close();
            }
        }
    }
}

/// The connections that nobody has accepted yet. After the last one, or as many as the line holds, nothing listens any more.
fn in_line(listener: TcpListener) -> impl Iterator<Item = (TcpStream, SocketAddr)> {
    let listener = listener.into_std().ok();
    let accepted = std::iter::from_fn(move || listener.as_ref()?.accept().ok()).take(u16::MAX.into());
    accepted.filter_map(|(io, peer)| {
        io.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(io).ok()?, peer))
    })
}

/// HTTP/1 has no timer, for it would set one for each request: the door looks after headers and connections at rest.
fn http() -> Builder<Streams> {
    let mut http = Builder::new(Streams);
    // Some clients look for names of headers by the very letters that they have written, and for others in title case.
    http.http1().max_buf_size(HEADER_BYTES).preserve_header_case(true).title_case_headers(true);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_concurrent_streams(STREAMS);
    http
}

/// A connection from its first byte to its last, or until it becomes a socket.
async fn converse(http: &Builder<Streams>, stream: Stream, calls: Calls) {
    let line = calls.line.clone();
    let mut connection = pin!(http.serve_connection_with_upgrades(TokioIo::new(stream), calls));
    loop {
        tokio::select! {
            // What went wrong is the client's business.
            _ = connection.as_mut() => return,
            word = line.told() => match word {
                Word::Nothing => {}
                Word::Leave => connection.as_mut().graceful_shutdown(),
                Word::End => return,
            },
        }
    }
}

/// What answers the requests of a connection.
struct Calls {
    door: Arc<Door>,
    routes: TowerToHyperService<Router>,
    line: Arc<Line>,
}

impl Service<Request<Incoming>> for Calls {
    type Response = Response<Answered>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let under_way = self.line.begin(request.version());
        // For sockets, which it counts, and for acts, which are written down with where they came from.
        request.extensions_mut().insert(self.line.clone());
        let may_leave = request.version() < Version::HTTP_2;
        let (head, body) = request.into_parts();
        let (body, is_read) = Asking::new(body);
        let (answer, door) = (self.routes.call(Request::from_parts(head, body)), self.door.clone());
        // Boxed, so that a connection at rest does not keep room for it.
        Box::pin(async move {
            let mut answer = answer.await?;
            // What is left of a body is in the way of the next request: the connection is closed, and whoever knows asks by another.
            let is_last = door.is_draining() || !is_read.load(Relaxed);
            if may_leave && is_last && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            let cut = CUT.try_with(AbortHandle::clone).ok();
            Ok(answer.map(|body| Answered::new(body, under_way, cut)))
        })
    }
}

/// Runs streams of HTTP/2, each of which may be ended alone.
#[derive(Clone, Copy, Debug)]
struct Streams;

impl<F> Executor<F> for Streams
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, stream: F) {
        let (cut, registration) = AbortHandle::new_pair();
        tokio::spawn(CUT.scope(cut, async {
            // Whether it came to its end is seen by its client.
            let _ = Abortable::new(stream, registration).await;
        }));
    }
}
