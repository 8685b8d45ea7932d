//! Who is calling.

use std::net::IpAddr;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use super::answer::{refusal, refused};
use super::serve::Line;
use super::server::Server;
use crate::auth::Claims;
use crate::clock::calendar;
use crate::error::{Error, Result};
use crate::graphql::Viewer;
use crate::model::actor::Origin;

/// Who is calling, with one operation counted of their rate; the answer to those who may not go on.
pub async fn counted(
    server: &Server,
    headers: &HeaderMap,
    media: &'static str,
) -> Result<Option<(Viewer, Claims)>, Response> {
    let caller = known(server, headers).await.map_err(|error| unknown(media, &error))?;
    let viewer = caller.as_ref().map(|(viewer, _)| viewer);
    server.schema.knock(viewer).await.map_err(|refusal| refused(media, &refusal))?;
    Ok(caller)
}

/// Who is calling; nobody where there is no token and introspection needs none.
async fn known(server: &Server, headers: &HeaderMap) -> Result<Option<(Viewer, Claims)>> {
    if server.app.config.wire.public_schema && !headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    verified(server, bearer(headers)).await.map(Some)
}

/// From what kind of address a request comes that a connection has brought: that of whoever has opened it and, where that is one of our
/// proxies, the one that it says.
pub fn origin(server: &Server, line: Option<&Line>, headers: &HeaderMap) -> Origin {
    let Some(line) = line else { return Origin::Unknown };
    let proxies = &server.app.config.connections.proxies;
    let told = headers.get_all("x-forwarded-for").into_iter().filter_map(|value| value.to_str().ok());
    let told: Vec<IpAddr> = told.flat_map(|of| of.split(',')).map_while(|of| of.trim().parse().ok()).collect();
    let all = told.into_iter().chain([line.address]).map(|address| address.to_canonical());
    let all: Vec<IpAddr> = all.collect();
    // Each proxy adds whom it has heard it from, at the end; before the first that is none of ours, anybody may have written anything.
    let address = all.iter().rev().find(|address| !proxies.have(**address)).or(all.first());
    address.map_or(Origin::Unknown, |address| Origin::of(*address))
}

/// The token of a request.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Who is calling with a token, and what the token says.
pub async fn verified(server: &Server, token: Option<&str>) -> Result<(Viewer, Claims)> {
    let missing = || Error::Unauthenticated("send a token: Authorization: Bearer …".into());
    let claims = server.app.verifier.verify(token.ok_or_else(missing)?, calendar(server.app.now())).await?;
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
