//! Connections: accepted, counted, served by hyper, and closed by time-outs.
//!
//! A connection must send a request's header within 10 s, may rest for 75 s between requests, and must take something of a response
//! every 30 s. Beyond the maximum, in all or by address, new connections are closed at once.

mod body;
mod files;
mod limiter;
mod state;
mod stream;

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, Request, Response, StatusCode, Version, header};
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use body::{RequestBody, ResponseBody};
pub use limiter::ConnectionLimiter;
pub use state::ConnectionState;
use state::Timeouts;
use stream::Stream;

/// Pause after a connection could not be accepted, mostly for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A client of HTTP/2 that was silent for this long is pinged, and has as long to answer.
const HTTP2_PING: Duration = Duration::from_secs(20);

/// Concurrent requests of a connection over HTTP/2.
const HTTP2_STREAMS: u32 = 100;

/// The most bytes of a header over HTTP/1. An address of 64 KiB must fit.
const HEADER_BYTES: usize = 128 * 1024;

/// At a shutdown, a connection without a request gets this long: its request may have been sent and not yet read.
const FIRST_REQUEST: Duration = Duration::from_secs(1);

/// Whether the server is about to stop: responses over HTTP/1 then close their connections, and none is closed at the moment when a
/// request is sent over it.
#[derive(Clone, Debug, Default)]
pub struct Draining(Arc<AtomicBool>);

impl Draining {
    pub fn begin(&self) {
        self.0.store(true, Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// Serves connections until `stop` is over, then answers the requests that were sent, and returns when all connections have ended.
/// WebSockets leave their connections, and are not waited for.
pub async fn serve(
    limiter: Arc<ConnectionLimiter>,
    draining: Draining,
    listener: TcpListener,
    routes: Router,
    stop: impl Future<Output = ()>,
) {
    let timeouts = Timeouts::of_seconds(limiter.app().config.connections.second());
    let http = Arc::new(http());
    let routes = TowerToHyperService::new(routes);
    let shutdown = watch::Sender::new(false);
    let accept = |io: TcpStream, peer: SocketAddr| {
        let Some(permit) = limiter.acquire(peer.ip()) else { return };
        let state = Arc::new(ConnectionState::new(peer.ip(), timeouts));
        let stream = Stream::new(io, state.clone(), limiter.clone(), permit);
        let service = RequestService { draining: draining.clone(), routes: routes.clone(), state };
        tokio::spawn(serve_connection(http.clone(), stream, service, shutdown.subscribe()));
    };
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((io, peer)) => accept(io, peer),
            // The client has gone already.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
            Err(error) => {
                limiter.note_failed_accept(&error);
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // Connections in the system's backlog may have sent a request that no other server can answer.
    for (io, peer) in backlog(listener) {
        accept(io, peer);
    }
    shutdown.send_replace(true);
    shutdown.closed().await;
}

/// The connections that the system has accepted and the server has not. Afterwards nothing listens any more.
fn backlog(listener: TcpListener) -> impl Iterator<Item = (TcpStream, SocketAddr)> {
    let listener = listener.into_std().ok();
    let accepted = std::iter::from_fn(move || listener.as_ref()?.accept().ok()).take(u16::MAX.into());
    accepted.filter_map(|(io, peer)| {
        io.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(io).ok()?, peer))
    })
}

fn http() -> Builder<TokioExecutor> {
    let mut http = Builder::new(TokioExecutor::new());
    // Some clients look for header names as they wrote them, others in title case.
    http.http1().max_buf_size(HEADER_BYTES).preserve_header_case(true).title_case_headers(true);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PING)
        .max_concurrent_streams(HTTP2_STREAMS);
    http
}

/// Serves a connection until it ends or becomes a WebSocket. At a shutdown it ends after the requests that were sent.
async fn serve_connection(
    http: Arc<Builder<TokioExecutor>>,
    stream: Stream,
    service: RequestService,
    mut shutdown: watch::Receiver<bool>,
) {
    let state = service.state.clone();
    let mut connection = pin!(http.serve_connection_with_upgrades(TokioIo::new(stream), service));
    let asked_to_end = async {
        let _ = shutdown.wait_for(|is_asked| *is_asked).await;
        if !state.has_had_request() {
            sleep(FIRST_REQUEST).await;
        }
    };
    // Errors are the client's: it has gone, sent no HTTP, or timed out.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = asked_to_end => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Answers the requests of a connection.
struct RequestService {
    draining: Draining,
    routes: TowerToHyperService<Router>,
    state: Arc<ConnectionState>,
}

impl Service<Request<Incoming>> for RequestService {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let in_flight = self.state.begin_request(request.version());
        // WebSockets count their bytes by it, and the audit log asks for the address.
        request.extensions_mut().insert(self.state.clone());
        let is_http1 = request.version() < Version::HTTP_2;
        let (head, body) = request.into_parts();
        let (body, is_read) = RequestBody::new(body);
        let (response, draining) = (self.routes.call(Request::from_parts(head, body)), self.draining.clone());
        // Boxed, so that a resting connection keeps no room for it.
        Box::pin(async move {
            let mut response = response.await?;
            // An unread body would be in the way of the next request, so hyper closes the connection: say so.
            let is_last = draining.has_begun() || !is_read.load(Relaxed);
            if is_http1 && is_last && response.status() != StatusCode::SWITCHING_PROTOCOLS {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response.map(|body| ResponseBody { body, _in_flight: in_flight }))
        })
    }
}
