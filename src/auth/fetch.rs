//! Requests to addresses that the settings name, or whoever they name: those who sign tokens.
//!
//! These are often in the operator's own network, so `TIDINGS_EGRESS_ALLOW`, which would open that to users of the API, does not count here.

use std::time::Duration;

use reqwest::{Client, Response, redirect};

use crate::error::{Error, Result};

/// How long to wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(3);
/// The most bytes of an answer.
const ANSWER_BYTES: usize = 256 * 1024;

/// Who asks: 3 s for a request with its answer, and no redirections.
///
/// Fails with `Config` where the system lets nobody ask.
pub fn client() -> Result<Client> {
    let client = Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none());
    client.build().map_err(|error| Error::Config(format!("those who sign tokens cannot be asked: {error}")))
}

/// The text at a URL; else why there is none.
pub async fn fetch(client: &Client, url: &str) -> Result<String, String> {
    let answer = client.get(url).send().await.and_then(Response::error_for_status);
    text(answer.map_err(why)?).await
}

/// The text of an answer of at most 256 KiB; else why there is none.
pub async fn text(mut answer: Response) -> Result<String, String> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(why)? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_BYTES {
            return Err(format!("the answer has more than {ANSWER_BYTES} bytes"));
        }
    }
    String::from_utf8(body).map_err(|error| error.to_string())
}

/// An error with what caused it, of which the first says only that something failed; without the URL, for it may have a password.
pub fn why(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}
