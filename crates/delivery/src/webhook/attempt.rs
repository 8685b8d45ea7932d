//! Sends a webhook request and reads the answer.

use super::Endpoint;
use crate::DeliveryContext;
use crate::destination::{AttemptOutcome, FailureScope, vault_owner};
use base::clock::Millis;
use base::error::{Error, Result};
use domain::tenant::Tenant;
use model::webhook::{SigningSecret, attempt_headers};

/// The URL and the signing secrets of an endpoint.
#[derive(Debug)]
pub struct WebhookClient {
    url: String,
    /// The newest first, or the reason why they cannot be opened.
    secrets: Result<Vec<SigningSecret>, String>,
}

impl WebhookClient {
    /// The receiver of an endpoint with its current settings.
    pub fn for_endpoint(context: &DeliveryContext, tenant: &Tenant, endpoint: &Endpoint) -> Self {
        let secrets = signing_secrets(context, tenant, endpoint).map_err(|error| {
            tracing::error!(
                tenant = tenant.code,
                cause = error.log_message(),
                "the secret of a webhook endpoint cannot be decrypted"
            );
            "the server cannot decrypt the secret of the endpoint: its log says why".to_owned()
        });
        Self { url: endpoint.url.clone(), secrets }
    }

    /// Sends a delivery once and waits for the answer, at most 15 s.
    pub async fn attempt(&self, context: &DeliveryContext, id: &str, body: Vec<u8>) -> AttemptOutcome {
        let secrets = match &self.secrets {
            Ok(secrets) => secrets,
            Err(why) => return AttemptOutcome::without_answer(why),
        };
        let mut all = attempt_headers(id, context.now(), &body, secrets).to_vec();
        all.push(("content-type", "application/json".to_owned()));
        let answer = match context.egress.post(&self.url, &all, body).await {
            Ok(answer) => answer,
            Err(failure) => return AttemptOutcome::without_answer(failure.message),
        };
        let retry_after = answer.retry_after.filter(|_| matches!(answer.status, 429 | 503));
        AttemptOutcome {
            status: Some(answer.status),
            error: (!answer.is_success()).then(|| format!("the receiver answered with status {}", answer.status)),
            retry_after: retry_after.and_then(|of| Millis::try_from(of.as_millis()).ok()),
            excerpt: answer.excerpt(),
            blame: match answer.status {
                410 => FailureScope::Gone,
                429 | 502 | 504 => FailureScope::Throttled,
                _ => FailureScope::Destination,
            },
        }
    }
}

/// The secrets to sign with: the current one, and during a rotation the previous one too.
fn signing_secrets(context: &DeliveryContext, tenant: &Tenant, endpoint: &Endpoint) -> Result<Vec<SigningSecret>> {
    let is_both = endpoint.previous_until.is_some_and(|until| until > context.now());
    let previous = endpoint.previous_secret.as_ref().filter(|_| is_both);
    let owner = vault_owner(tenant, endpoint.id);
    let read = |sealed: &String| {
        let secret = context.vault.open(&owner, sealed)?;
        let secret = std::str::from_utf8(secret.as_bytes()).ok().and_then(SigningSecret::parse);
        secret.ok_or_else(|| Error::internal("the decrypted text is not a signing secret"))
    };
    [&endpoint.secret].into_iter().chain(previous).map(read).collect()
}
