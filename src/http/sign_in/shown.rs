//! Whether a session's cookie counts: browsers send it along with whatever is asked of us, whoever has them ask.

use axum::http::{HeaderMap, header};

use super::cookie::Cookie;
use crate::auth::{Session, SignIn};
use crate::clock::calendar;
use crate::config::PublicUrl;
use crate::domain::ended_session;
use crate::error::{Error, Result};
use crate::http::server::Server;

/// What pages of the desk send with each request. Forms and links cannot, and scripts of other sites only where CORS lets them.
const DESK: &str = "x-tidings-desk";

/// Why a cookie does not count.
const FOREIGN: &str = "a session's cookie counts for pages of the desk alone: send x-tidings-desk: 1, from the origin of TIDINGS_PUBLIC_URL";

/// The session in a request's cookie. `None` if there is no cookie. Its user may have signed out since (`lasting`).
///
/// Fails with `Unauthenticated` where the request may be another site's, or the session is over.
pub fn of_request(server: &Server, headers: &HeaderMap) -> Result<Option<Session>> {
    let Some((sign_in, sealed)) = cookie(server, headers) else { return Ok(None) };
    if !is_of_desk(headers, sign_in.public()) {
        return Err(Error::Unauthenticated(FOREIGN.into()));
    }
    sign_in.session(&sealed, calendar(server.app.now())).ok_or_else(ended).map(Some)
}

fn ended() -> Error {
    Error::Unauthenticated("the session has ended: sign in again".into())
}

/// The session, unless its user has signed out, by whichever node: `Unauthenticated` then.
pub async fn lasting(server: &Server, session: Session) -> Result<Session> {
    if ended_session::has_ended(&server.app, &session.id).await? { Err(ended()) } else { Ok(session) }
}

/// Who is signed in, by the cookie of a socket's first request: a browser lets no page set its headers, and says whose page it is. The same
/// holds as for `of_request`.
pub fn of_socket(server: &Server, headers: &HeaderMap) -> Option<Session> {
    let (sign_in, sealed) = cookie(server, headers)?;
    let own = sign_in.public().origin();
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let is_own = origins.next().is_some_and(|of| *of == *own) && origins.next().is_none();
    sign_in.session(&sealed, calendar(server.app.now())).filter(|_| is_own)
}

/// Who is signed in, for a question that changes nothing and whose answer no other site can read. The same holds as for `of_request`.
pub fn session(server: &Server, headers: &HeaderMap) -> Option<Session> {
    let (sign_in, sealed) = cookie(server, headers)?;
    sign_in.session(&sealed, calendar(server.app.now()))
}

/// Fails with `Forbidden` where a request may be another site's.
pub fn is_meant(headers: &HeaderMap, public: &PublicUrl) -> Result<()> {
    if is_of_desk(headers, public) { Ok(()) } else { Err(Error::Forbidden(FOREIGN.into())) }
}

fn cookie<'a>(server: &'a Server, headers: &HeaderMap) -> Option<(&'a SignIn, String)> {
    let sign_in = server.app.sign_in.as_ref()?;
    Some((sign_in, Cookie::Session.read(headers, sign_in.public())?))
}

fn is_of_desk(headers: &HeaderMap, public: &PublicUrl) -> bool {
    headers.get(DESK).is_some_and(|value| value == "1") && is_same_origin(headers, public)
}

/// Whether the browser says that our own page asks: in one of two headers, which no page can write, and in neither anything else.
fn is_same_origin(headers: &HeaderMap, public: &PublicUrl) -> bool {
    let (origins, sites) = (headers.get_all(header::ORIGIN), headers.get_all("sec-fetch-site"));
    let own = public.origin();
    let is_said = origins.iter().next().is_some() || sites.iter().next().is_some();
    is_said && origins.iter().all(|of| *of == *own) && sites.iter().all(|of| of == "same-origin")
}
