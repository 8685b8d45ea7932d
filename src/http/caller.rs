//! Authenticates callers.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use super::answer::{refusal, refused};
use super::serve::ConnectionState;
use super::server::Server;
use super::session::Pass;
use super::sign_in::shown;
use crate::auth::Session;
use crate::clock::calendar;
use crate::error::{Error, Result};
use crate::graphql::{Route, Share, Viewer};
use crate::model::actor::Origin;
use crate::model::network::Network;

/// Authenticates the caller and counts one operation towards its rate. On failure, the response to send.
pub async fn counted(
    server: &Server,
    headers: &HeaderMap,
    network: Network,
    media: &'static str,
) -> Result<Option<(Viewer, Pass)>, Response> {
    let caller = known(server, headers).await.map_err(|error| unknown(media, &error))?;
    let counted = match &caller {
        Some((viewer, _)) => server.schema.knock(viewer).await,
        None => server.schema.knock_without_token(&Share::of(Route::Introspection, network)).await,
    };
    counted.map_err(|refusal| refused(media, &refusal))?;
    Ok(caller)
}

/// Authenticates the caller. `None` without valid credentials if public introspection is enabled.
async fn known(server: &Server, headers: &HeaderMap) -> Result<Option<(Viewer, Pass)>> {
    let may_be_nobody = server.app.config.wire.public_schema && !headers.contains_key(header::AUTHORIZATION);
    match by_request(server, headers) {
        Ok(Shown::Nothing) | Err(_) if may_be_nobody => Ok(None),
        shown => verified(server, shown?).await.map(Some),
    }
}

/// The credentials of a request.
#[derive(Clone, Debug)]
pub enum Shown {
    Nothing,
    Token(String),
    /// A session cookie. It is used only without an `Authorization` header, even an invalid one.
    Session(Session),
}

fn by_request(server: &Server, headers: &HeaderMap) -> Result<Shown> {
    if headers.contains_key(header::AUTHORIZATION) {
        return Ok(bearer(headers).map_or(Shown::Nothing, Shown::Token));
    }
    Ok(shown::of_request(server, headers)?.map_or(Shown::Nothing, Shown::Session))
}

/// The credentials of a WebSocket's first request. They are used if its first message has no token.
pub fn by_socket(server: &Server, headers: &HeaderMap) -> Shown {
    if headers.contains_key(header::AUTHORIZATION) {
        return bearer(headers).map_or(Shown::Nothing, Shown::Token);
    }
    shown::of_socket(server, headers).map_or(Shown::Nothing, Shown::Session)
}

/// The class of the address that a request comes from.
pub fn origin(server: &Server, connection: Option<&ConnectionState>, headers: &HeaderMap) -> Origin {
    client_address(server, connection, headers).map_or(Origin::Unknown, Origin::of)
}

/// The client's address: the peer's, or, if the peer is a proxy of `TIDINGS_TRUSTED_PROXIES`, the one that the proxy
/// added to `X-Forwarded-For`. `None` without a connection, or if the proxy's entry is no address.
pub fn client_address(server: &Server, connection: Option<&ConnectionState>, headers: &HeaderMap) -> Option<IpAddr> {
    let proxies = &server.app.config.connections.trusted_proxies;
    let mut client = connection?.address.to_canonical();
    let told = headers.get_all("x-forwarded-for").into_iter().map(|value| value.to_str().unwrap_or_default());
    // Proxies append to this header; entries left of the last trusted hop can be forged.
    for told in told.flat_map(|of| of.split(',')).collect::<Vec<_>>().into_iter().rev() {
        if !proxies.have(client) {
            break;
        }
        client = address(told)?;
    }
    Some(client)
}

/// An address as proxies write it: some add a port, brackets or quotes.
fn address(told: &str) -> Option<IpAddr> {
    let told = told.trim().trim_matches('"');
    let bare = || told.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || Some(told.parse::<SocketAddr>().ok()?.ip());
    let address: IpAddr = told.parse().ok().or_else(bare).or_else(with_port)?;
    Some(address.to_canonical())
}

/// The bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// Verifies credentials. Returns the caller and how long the credentials are valid.
pub async fn verified(server: &Server, shown: Shown) -> Result<(Viewer, Pass)> {
    let (claims, pass) = match shown {
        Shown::Nothing => return Err(Error::Unauthenticated("send a token: Authorization: Bearer …".into())),
        Shown::Token(token) => {
            let claims = server.app.verifier.verify(&token, calendar(server.app.now())).await?;
            let pass = Pass::token(&claims);
            (claims, pass)
        }
        Shown::Session(session) => {
            let session = shown::lasting(server, session).await?;
            let pass = Pass::cookie(&session);
            (session.claims, pass)
        }
    };
    Ok((Viewer::of(&server.app, claims).await?, pass))
}

/// The response to a caller that could not be authenticated.
pub fn unknown(media: &'static str, error: &Error) -> Response {
    let status = match error {
        Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Error::Unavailable(_) | Error::Erased => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refusal(media, status, error)
}
