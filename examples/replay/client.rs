//! A minimal client of GraphQL over HTTP.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Result;

/// Attempts per request. Everything that the replay does is idempotent, and each attempt gets further with inboxes that
/// are opened for the first time.
const TRIES: u32 = 6;

/// Pause for a server that restarts; it doubles with each further attempt.
const PAUSE: Duration = Duration::from_millis(500);

/// Maximum characters shown of a response that is not GraphQL.
const SHOWN_BODY: usize = 300;

pub struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
}

#[derive(Serialize)]
struct Request<'a, V> {
    query: &'a str,
    variables: V,
}

#[derive(Deserialize)]
struct Response<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<GraphqlError>,
}

#[derive(Debug, Deserialize)]
struct GraphqlError {
    message: String,
    #[serde(default)]
    extensions: Extensions,
}

#[derive(Debug, Default, Deserialize)]
struct Extensions {
    code: Option<String>,
}

impl fmt::Display for GraphqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.extensions.code.as_deref().unwrap_or("no code");
        write!(f, "{} ({code})", self.message)
    }
}

impl Error for GraphqlError {}

impl Client {
    pub fn new(url: &str, token: &str) -> Self {
        Self { http: reqwest::Client::new(), url: url.to_owned(), token: token.to_owned() }
    }

    /// Runs an operation; any GraphQL error fails the whole call.
    pub async fn call<T: DeserializeOwned>(&self, query: &str, variables: impl Serialize) -> Result<T> {
        let request = serde_json::to_vec(&Request { query, variables })?;
        let mut pause = PAUSE;
        for _ in 1..TRIES {
            match self.post(request.clone()).await.map(|answer| read(&answer)) {
                Ok(Err(error)) if is_unavailable(&*error) => eprintln!("trying again in {pause:?}: {error}"),
                Ok(read) => return read,
                Err(error) => eprintln!("trying again in {pause:?}: {}", root_cause(&error)),
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        let answer = self.post(request).await;
        let given_up = |error| format!("gave up after {TRIES} tries: {}: {}", self.url, root_cause(&error));
        read(&answer.map_err(given_up)?)
    }

    /// Returns the body with any status: GraphQL over HTTP describes errors in the body of a 4xx response, too.
    async fn post(&self, request: Vec<u8>) -> reqwest::Result<Vec<u8>> {
        let response = self
            .http
            .post(&self.url)
            .bearer_auth(&self.token)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/graphql-response+json, application/json;q=0.9")
            .body(request)
            .send()
            .await?;
        Ok(response.bytes().await?.into())
    }
}

fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T> {
    let response: Response<T> = serde_json::from_slice(answer).map_err(|error| {
        let body: String = String::from_utf8_lossy(answer).chars().take(SHOWN_BODY).collect();
        format!("unexpected answer: {error}: {body}")
    })?;
    match response.errors.into_iter().next() {
        Some(error) => Err(error.into()),
        None => response.data.ok_or_else(|| "answer without data".into()),
    }
}

fn is_unavailable(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<GraphqlError>();
    error.is_some_and(|error| error.extensions.code.as_deref() == Some("UNAVAILABLE"))
}

/// The cause that reqwest hides behind "error sending request", such as a refused connection.
fn root_cause<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause
}
