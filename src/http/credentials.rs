//! Authenticates callers.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use super::response::{error_response, refused_response};
use super::serve::ConnectionState;
use super::server::Server;
use super::session::SessionCredential;
use super::sign_in::session_cookie;
use crate::graphql::{PublicRoute, RateScope, Viewer};
use auth::SignInSession;
use base::clock::to_date_time;
use base::error::{Error, Result};
use model::actor::NetworkClass;
use model::network::CallerNetwork;

/// Authenticates the caller and counts one operation towards its rate. On failure, the response to send.
pub async fn authenticate_and_charge(
    server: &Server,
    headers: &HeaderMap,
    network: CallerNetwork,
    media: &'static str,
) -> Result<Option<(Viewer, SessionCredential)>, Response> {
    let caller = authenticate_caller(server, headers).await.map_err(|error| unauthenticated_response(media, &error))?;
    let counted = match &caller {
        Some((viewer, _)) => server.schema.charge(viewer).await,
        None => server.schema.charge_without_token(&RateScope::for_route(PublicRoute::Introspection, network)).await,
    };
    counted.map_err(|refusal| refused_response(media, &refusal))?;
    Ok(caller)
}

/// Authenticates the caller. `None` without valid credentials if public introspection is enabled.
async fn authenticate_caller(server: &Server, headers: &HeaderMap) -> Result<Option<(Viewer, SessionCredential)>> {
    let may_be_nobody = server.app.config.wire.public_schema && !headers.contains_key(header::AUTHORIZATION);
    match read_credentials(server, headers) {
        Ok(RequestCredentials::Nothing) | Err(_) if may_be_nobody => Ok(None),
        shown => verify_credentials(server, shown?).await.map(Some),
    }
}

/// The credentials of a request.
#[derive(Clone, Debug)]
pub enum RequestCredentials {
    Nothing,
    Token(String),
    /// A session cookie. It is used only without an `Authorization` header, even an invalid one.
    Session(SignInSession),
}

fn read_credentials(server: &Server, headers: &HeaderMap) -> Result<RequestCredentials> {
    if headers.contains_key(header::AUTHORIZATION) {
        return Ok(bearer_token(headers).map_or(RequestCredentials::Nothing, RequestCredentials::Token));
    }
    Ok(session_cookie::read_for_request(server, headers)?
        .map_or(RequestCredentials::Nothing, RequestCredentials::Session))
}

/// The credentials of a WebSocket's first request. They are used if its first message has no token.
pub fn read_socket_credentials(server: &Server, headers: &HeaderMap) -> RequestCredentials {
    if headers.contains_key(header::AUTHORIZATION) {
        return bearer_token(headers).map_or(RequestCredentials::Nothing, RequestCredentials::Token);
    }
    session_cookie::read_for_socket(server, headers).map_or(RequestCredentials::Nothing, RequestCredentials::Session)
}

/// The class of the address that a request comes from.
pub fn client_origin(server: &Server, connection: Option<&ConnectionState>, headers: &HeaderMap) -> NetworkClass {
    client_address(server, connection, headers).map_or(NetworkClass::Unknown, NetworkClass::from_address)
}

/// The client's address: the peer's, or, if the peer is a proxy of `TIDINGS_TRUSTED_PROXIES`, the one that the proxy
/// added to `X-Forwarded-For`. `None` without a connection, or if the proxy's entry is no address.
pub fn client_address(server: &Server, connection: Option<&ConnectionState>, headers: &HeaderMap) -> Option<IpAddr> {
    let proxies = &server.app.config.connections.trusted_proxies;
    let mut client = connection?.address.to_canonical();
    let told = headers.get_all("x-forwarded-for").into_iter().map(|value| value.to_str().unwrap_or_default());
    // Proxies append to this header; entries left of the last trusted hop can be forged.
    for told in told.flat_map(|of| of.split(',')).collect::<Vec<_>>().into_iter().rev() {
        if !proxies.contains(client) {
            break;
        }
        client = parse_address(told)?;
    }
    Some(client)
}

/// An address as proxies write it: some add a port, brackets or quotes.
fn parse_address(told: &str) -> Option<IpAddr> {
    let told = told.trim().trim_matches('"');
    let bare = || told.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || Some(told.parse::<SocketAddr>().ok()?.ip());
    let address: IpAddr = told.parse().ok().or_else(bare).or_else(with_port)?;
    Some(address.to_canonical())
}

/// The bearer token of a request.
fn bearer_token(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// Verifies credentials. Returns the caller and how long the credentials are valid.
pub async fn verify_credentials(server: &Server, shown: RequestCredentials) -> Result<(Viewer, SessionCredential)> {
    let (claims, pass) = match shown {
        RequestCredentials::Nothing => {
            return Err(Error::Unauthenticated("send a token: Authorization: Bearer …".into()));
        }
        RequestCredentials::Token(token) => {
            let claims = server.app.verifier.verify(&token, to_date_time(server.app.now())).await?;
            let pass = SessionCredential::from_token(&claims);
            (claims, pass)
        }
        RequestCredentials::Session(session) => {
            let session = session_cookie::check_not_ended(server, session).await?;
            let pass = SessionCredential::from_cookie(&session);
            (session.claims, pass)
        }
    };
    Ok((Viewer::from_claims(&server.app, claims).await?, pass))
}

/// The response to a caller that could not be authenticated.
pub fn unauthenticated_response(media: &'static str, error: &Error) -> Response {
    let status = match error {
        Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Error::Unavailable(_) | Error::Erased => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    error_response(media, status, error)
}
