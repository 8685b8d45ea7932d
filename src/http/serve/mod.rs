//! Accepts, counts and serves connections (with hyper), and closes them after time-outs.
//!
//! A client must send a request's header within 10 s, may be idle for 75 s between requests, and must read something of
//! a response every 30 s. Beyond the maximum, in total or by network, new connections are closed at once.

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
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
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
use state::ConnectionTimeouts;
use stream::ClientStream;

/// Pause after a connection could not be accepted, mostly for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// An HTTP/2 client that was silent for this long is pinged, and has as long to answer.
const HTTP2_PING: Duration = Duration::from_secs(20);

/// Concurrent requests of an HTTP/2 connection.
const HTTP2_STREAMS: u32 = 100;

/// The most bytes of an HTTP/1 header. A URL of 64 KiB must fit.
const HEADER_BYTES: usize = 128 * 1024;

/// At a shutdown, a connection without a request stays open for this long: its request may have been sent but not read.
const FIRST_REQUEST: Duration = Duration::from_secs(1);

/// Whether the server is about to stop. HTTP/1 responses then close their connections, so that no connection is closed
/// at the moment a client sends a request over it.
#[derive(Clone, Debug, Default)]
pub struct DrainFlag(Arc<AtomicBool>);

impl DrainFlag {
    pub fn begin(&self) {
        self.0.store(true, Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// Serves connections until `stop` completes, then answers the requests that were sent, and returns when all
/// connections have ended. Does not wait for WebSockets, which have left their connections.
pub async fn serve(
    limiter: Arc<ConnectionLimiter>,
    draining: DrainFlag,
    listener: TcpListener,
    routes: Router,
    stop: impl Future<Output = ()>,
) {
    let timeouts = ConnectionTimeouts::with_second(limiter.app().config.connections.second());
    let http = Arc::new(http_builder());
    let routes = TowerToHyperService::new(routes);
    let shutdown = watch::Sender::new(false);
    let accept = |io: TcpStream, peer: SocketAddr| {
        let Some(permit) = limiter.acquire(peer.ip()) else { return };
        let state = Arc::new(ConnectionState::new(peer.ip(), timeouts));
        let stream = ClientStream::new(io, state.clone(), limiter.clone(), permit);
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
            // The client has disconnected already.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
            Err(error) => {
                limiter.record_failed_accept(&error);
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // Connections in the backlog may carry a request that no other server can answer.
    for (io, peer) in accept_backlog(listener) {
        accept(io, peer);
    }
    shutdown.send_replace(true);
    shutdown.closed().await;
}

/// The connections that the system has accepted and the server has not. Closes the listener.
fn accept_backlog(listener: TcpListener) -> impl Iterator<Item = (TcpStream, SocketAddr)> {
    let listener = listener.into_std().ok();
    let accepted = std::iter::from_fn(move || listener.as_ref()?.accept().ok()).take(u16::MAX.into());
    accepted.filter_map(|(io, peer)| {
        io.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(io).ok()?, peer))
    })
}

fn http_builder() -> Builder<TokioExecutor> {
    let mut http = Builder::new(TokioExecutor::new());
    // Some clients expect header names as they spelled them, others in title case.
    http.http1().max_buf_size(HEADER_BYTES).preserve_header_case(true).title_case_headers(true);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PING)
        .max_concurrent_streams(HTTP2_STREAMS);
    http
}

/// Serves a connection until it ends or becomes a WebSocket. At a shutdown, answers sent requests first.
async fn serve_connection(
    http: Arc<Builder<TokioExecutor>>,
    stream: ClientStream,
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
    // Errors are the client's: it disconnected, sent no HTTP, or timed out.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = asked_to_end => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Answers the requests of a connection.
struct RequestService {
    draining: DrainFlag,
    routes: TowerToHyperService<Router>,
    state: Arc<ConnectionState>,
}

impl Service<Request<Incoming>> for RequestService {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let in_flight = self.state.begin_request(request.version());
        // WebSockets count their bytes with it, and the audit log reads the address.
        request.extensions_mut().insert(self.state.clone());
        let is_http1 = request.version() < Version::HTTP_2;
        let (head, body) = request.into_parts();
        let (body, is_read) = RequestBody::new(body);
        let (response, draining) = (self.routes.call(Request::from_parts(head, body)), self.draining.clone());
        // Boxed, so that an idle connection needs no memory for it.
        Box::pin(async move {
            let mut response = response.await?;
            // An unread body precedes the next request on the wire, so hyper closes the connection: say so.
            let is_last = draining.has_begun() || !is_read.load(Relaxed);
            if is_http1 && is_last && response.status() != StatusCode::SWITCHING_PROTOCOLS {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response.map(|body| ResponseBody { body, _in_flight: in_flight }))
        })
    }
}
