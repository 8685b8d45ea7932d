//! Who is calling.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use super::answer::{refusal, refused};
use super::serve::Line;
use super::server::Server;
use super::sign_in::shown;
use crate::auth::Claims;
use crate::clock::calendar;
use crate::error::{Error, Result};
use crate::graphql::{Route, Share, Viewer};
use crate::model::actor::Origin;
use crate::model::network::Network;

/// Who is calling, with one operation counted of their rate; the answer to those who may not go on.
pub async fn counted(
    server: &Server,
    headers: &HeaderMap,
    network: Network,
    media: &'static str,
) -> Result<Option<(Viewer, Claims)>, Response> {
    let caller = known(server, headers).await.map_err(|error| unknown(media, &error))?;
    let counted = match &caller {
        Some((viewer, _)) => server.schema.knock(viewer).await,
        None => server.schema.knock_without_token(&Share::of(Route::Introspection, network)).await,
    };
    counted.map_err(|refusal| refused(media, &refusal))?;
    Ok(caller)
}

/// Who is calling; nobody where nothing is shown that counts, and introspection needs nothing.
async fn known(server: &Server, headers: &HeaderMap) -> Result<Option<(Viewer, Claims)>> {
    let may_be_nobody = server.app.config.wire.public_schema && !headers.contains_key(header::AUTHORIZATION);
    match by_request(server, headers) {
        Ok(Shown::Nothing) | Err(_) if may_be_nobody => Ok(None),
        shown => verified(server, shown?).await.map(Some),
    }
}

/// What somebody shows so that it is known who they are.
#[derive(Clone, Debug)]
pub enum Shown {
    Nothing,
    Token(String),
    /// What the cookie of a session says, which counts where there is no token: not even a wrong one.
    Session(Claims),
}

fn by_request(server: &Server, headers: &HeaderMap) -> Result<Shown> {
    if headers.contains_key(header::AUTHORIZATION) {
        return Ok(bearer(headers).map_or(Shown::Nothing, Shown::Token));
    }
    Ok(shown::of_request(server, headers)?.map_or(Shown::Nothing, Shown::Session))
}

/// What is shown with a socket's first request, which counts where its first message shows nothing.
pub fn by_socket(server: &Server, headers: &HeaderMap) -> Shown {
    if headers.contains_key(header::AUTHORIZATION) {
        return bearer(headers).map_or(Shown::Nothing, Shown::Token);
    }
    shown::of_socket(server, headers).map_or(Shown::Nothing, Shown::Session)
}

/// From what kind of address a request comes.
pub fn origin(server: &Server, line: Option<&Line>, headers: &HeaderMap) -> Origin {
    address_of(server, line, headers).map_or(Origin::Unknown, Origin::of)
}

/// The address that a request comes from: the one that has opened its connection or, where that is one of our proxies, the one that
/// the proxy names. Nothing where no connection has brought it, or a proxy names something else.
pub fn address_of(server: &Server, line: Option<&Line>, headers: &HeaderMap) -> Option<IpAddr> {
    let line = line?;
    let proxies = &server.app.config.connections.proxies;
    let mut origin = line.address.to_canonical();
    let told = headers.get_all("x-forwarded-for").into_iter().map(|value| value.to_str().unwrap_or_default());
    // Each proxy adds whom it has heard it from, at the end; before the first that is none of ours, anybody may have written anything.
    for told in told.flat_map(|of| of.split(',')).collect::<Vec<_>>().into_iter().rev() {
        if !proxies.have(origin) {
            break;
        }
        origin = address(told)?;
    }
    Some(origin)
}

/// An address as proxies write it: some with a port, some in brackets or quotes.
fn address(told: &str) -> Option<IpAddr> {
    let told = told.trim().trim_matches('"');
    let bare = || told.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || Some(told.parse::<SocketAddr>().ok()?.ip());
    let address: IpAddr = told.parse().ok().or_else(bare).or_else(with_port)?;
    Some(address.to_canonical())
}

/// The token of a request.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// Who is calling by what they show, and what that says.
pub async fn verified(server: &Server, shown: Shown) -> Result<(Viewer, Claims)> {
    let claims = match shown {
        Shown::Nothing => return Err(Error::Unauthenticated("send a token: Authorization: Bearer …".into())),
        Shown::Token(token) => server.app.verifier.verify(&token, calendar(server.app.now())).await?,
        Shown::Session(claims) => claims,
    };
    Ok((Viewer::of(&server.app, claims.clone()).await?, claims))
}

/// To whoever could not be told from others.
pub fn unknown(media: &'static str, error: &Error) -> Response {
    let status = match error {
        Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Error::Unavailable(_) | Error::Erased => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refusal(media, status, error)
}
