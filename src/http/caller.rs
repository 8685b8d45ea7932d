//! Who is calling.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use super::answer::{refusal, refused};
use super::server::Server;
use crate::auth::Claims;
use crate::clock::calendar;
use crate::error::{Error, Result};
use crate::graphql::Viewer;

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
