//! Requests to token issuers, at URLs that the settings name or that a configured provider names.
//!
//! These are often in the operator's own network. They ignore `TIDINGS_EGRESS_ALLOW`, which would open that network to
//! users of the API.

use std::time::Duration;

use reqwest::{Client, Response, redirect};

use base::error::{Error, Result};

/// Time limit of a request and its response.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum bytes of a response.
const ANSWER_BYTES: usize = 256 * 1024;

/// An HTTP client with a time limit of 3 s that does not follow redirects.
///
/// Fails with `Config` if the system cannot create one.
pub fn new_client() -> Result<Client> {
    let client = Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none());
    client
        .build()
        .map_err(|error| Error::Config(format!("the HTTP client for JWKS and sign-in cannot be created: {error}")))
}

/// Fetches the text at a URL; the error says why it failed.
pub async fn fetch_text(client: &Client, url: &str) -> Result<String, String> {
    let answer = client.get(url).send().await.and_then(Response::error_for_status);
    read_text(answer.map_err(error_chain)?).await
}

/// Reads the body of a response, at most 256 KiB; the error says why it failed.
pub async fn read_text(mut answer: Response) -> Result<String, String> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(error_chain)? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_BYTES {
            return Err(format!("the response has more than {ANSWER_BYTES} bytes"));
        }
    }
    String::from_utf8(body).map_err(|error| error.to_string())
}

/// Formats an error with its causes, because the outermost only says that the request failed. Omits the URL, which may
/// contain a password.
pub fn error_chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}
