//! Whether a session cookie is accepted. Browsers send it with any request, even one that another site makes.

use axum::http::{HeaderMap, header};

use super::cookie::SignInCookie;
use crate::http::server::Server;
use auth::{SignIn, SignInSession};
use base::clock::to_date_time;
use base::config::PublicUrl;
use base::error::{Error, Result};
use domain::ended_session;

/// The header of all requests of desk pages. Forms and links cannot set it, scripts of other sites only with CORS.
const DESK: &str = "x-tidings-desk";

/// Why the cookie was not accepted.
const FOREIGN: &str =
    "the session cookie is only for pages of the desk: send x-tidings-desk: 1 from the origin of TIDINGS_PUBLIC_URL";

/// The session in a request's cookie. `None` without a cookie. `check_not_ended` checks for a sign-out.
///
/// Fails with `Unauthenticated` if another site may have made the request, or the session has expired.
pub fn read_for_request(server: &Server, headers: &HeaderMap) -> Result<Option<SignInSession>> {
    let Some((sign_in, sealed)) = sealed_cookie(server, headers) else { return Ok(None) };
    if !is_from_desk(headers, sign_in.public_url()) {
        return Err(Error::Unauthenticated(FOREIGN.into()));
    }
    sign_in.decrypt_session(&sealed, to_date_time(server.app.now())).ok_or_else(session_ended_error).map(Some)
}

fn session_ended_error() -> Error {
    Error::Unauthenticated("the session has ended: sign in again".into())
}

/// The session, unless its user has signed out on any node: `Unauthenticated` then.
pub async fn check_not_ended(server: &Server, session: SignInSession) -> Result<SignInSession> {
    if ended_session::has_ended(&server.app, &session.id).await? { Err(session_ended_error()) } else { Ok(session) }
}

/// The session in the cookie of a WebSocket's first request. A page cannot set headers there, but the browser sends the
/// page's origin. As in `read_for_request`, the user may have signed out.
pub fn read_for_socket(server: &Server, headers: &HeaderMap) -> Option<SignInSession> {
    let (sign_in, sealed) = sealed_cookie(server, headers)?;
    let own = sign_in.public_url().origin();
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let is_own = origins.next().is_some_and(|of| *of == *own) && origins.next().is_none();
    sign_in.decrypt_session(&sealed, to_date_time(server.app.now())).filter(|_| is_own)
}

/// The session, for a request that changes nothing and that other sites cannot read. The user may have signed out.
pub fn read_session(server: &Server, headers: &HeaderMap) -> Option<SignInSession> {
    let (sign_in, sealed) = sealed_cookie(server, headers)?;
    sign_in.decrypt_session(&sealed, to_date_time(server.app.now()))
}

/// Fails with `Forbidden` if another site may have made the request.
pub fn check_desk_origin(headers: &HeaderMap, public: &PublicUrl) -> Result<()> {
    if is_from_desk(headers, public) { Ok(()) } else { Err(Error::Forbidden(FOREIGN.into())) }
}

fn sealed_cookie<'a>(server: &'a Server, headers: &HeaderMap) -> Option<(&'a SignIn, String)> {
    let sign_in = server.app.sign_in.as_ref()?;
    Some((sign_in, SignInCookie::Session.read(headers, sign_in.public_url())?))
}

fn is_from_desk(headers: &HeaderMap, public: &PublicUrl) -> bool {
    headers.get(DESK).is_some_and(|value| value == "1") && is_same_origin(headers, public)
}

/// Whether our own page makes the request, by `Origin` or `Sec-Fetch-Site`. No page can set them. Both must agree.
fn is_same_origin(headers: &HeaderMap, public: &PublicUrl) -> bool {
    let (origins, sites) = (headers.get_all(header::ORIGIN), headers.get_all("sec-fetch-site"));
    let own = public.origin();
    let is_said = origins.iter().next().is_some() || sites.iter().next().is_some();
    is_said && origins.iter().all(|of| *of == *own) && sites.iter().all(|of| of == "same-origin")
}
