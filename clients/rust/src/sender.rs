//! Batches the messages of many tasks into few requests.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::client::{CHUNK_BYTES, CHUNK_LENGTH, Client, give_key, size};
use crate::error::Error;
use crate::input::SendNotificationInput;
use crate::output::{ErrorCode, SendPayload};

/// Collects notifications from all tasks of a program into requests of up to 1,000. Clones share one queue.
///
/// Only one request is in flight at a time, so the order is kept.
#[derive(Debug, Clone)]
pub struct Sender(mpsc::Sender<Queued>);

/// An input, and the channel for its result.
#[derive(Debug)]
struct Queued {
    input: SendNotificationInput,
    size: usize,
    answer: oneshot::Sender<Result<SendPayload, Error>>,
}

impl Sender {
    /// Creates a sender. Each request waits for `linger` after its first notification; in a busy program a few
    /// milliseconds suffice. Must be called in a Tokio runtime; its task ends when the last clone is dropped.
    pub fn new(client: Client, linger: Duration) -> Self {
        let (sender, queue) = mpsc::channel(CHUNK_LENGTH);
        tokio::spawn(run(client, linger, queue));
        Self(sender)
    }

    /// Sends one notification and returns the result. Waits while 1,000 are queued.
    ///
    /// If it is rejected, the others of its request are sent nevertheless. To send it again after an error
    /// (`Unavailable`), set an idempotency key yourself. A queued notification is sent even if the caller drops the
    /// future.
    pub async fn send(&self, input: impl Into<SendNotificationInput>) -> Result<SendPayload, Error> {
        let ended = || Error::new(ErrorCode::Unavailable, "the sender has ended");
        let mut input = input.into();
        give_key(input.key());
        let (answer, outcome) = oneshot::channel();
        let queued = Queued { size: size(&input), input, answer };
        self.0.send(queued).await.map_err(|_| ended())?;
        outcome.await.map_err(|_| ended())?
    }
}

async fn run(client: Client, linger: Duration, mut queue: mpsc::Receiver<Queued>) {
    let mut held = None;
    while let Some(first) = match held.take() {
        Some(queued) => Some(queued),
        None => queue.recv().await,
    } {
        let until = Instant::now() + linger;
        let mut bytes = first.size;
        let mut batch = vec![first];
        while batch.len() < CHUNK_LENGTH {
            let Ok(Some(queued)) = timeout_at(until, queue.recv()).await else { break };
            if bytes + queued.size > CHUNK_BYTES {
                held = Some(queued);
                break;
            }
            bytes += queued.size;
            batch.push(queued);
        }
        deliver(&client, batch).await;
    }
}

/// Sends a batch. If the server rejects it as a whole, sends it without the invalid input, or in halves if that is
/// unknown.
async fn deliver(client: &Client, batch: Vec<Queued>) {
    let mut parts = vec![batch];
    while let Some(mut part) = parts.pop() {
        let mut inputs: Vec<_> = part.iter().map(|queued| queued.input.clone()).collect();
        match client.send_notifications(&mut inputs).await {
            Ok(outcomes) => part.into_iter().zip(outcomes).for_each(|(queued, outcome)| queued.tell(Ok(outcome))),
            Err(error) if error.is_of_input() && part.len() > 1 => match error.index() {
                Some(index) if index < part.len() => {
                    part.remove(index).tell(Err(error.alone()));
                    parts.push(part);
                }
                _ => {
                    let second = part.split_off(part.len() / 2);
                    parts.extend([second, part]);
                }
            },
            Err(error) => part.into_iter().for_each(|queued| queued.tell(Err(error.clone().alone()))),
        }
    }
}

impl Queued {
    /// Ignores a receiver that was dropped.
    fn tell(self, outcome: Result<SendPayload, Error>) {
        drop(self.answer.send(outcome));
    }
}
