//! Many senders of a program, few requests.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::client::{CHUNK_BYTES, CHUNK_LENGTH, Client, give_key, size};
use crate::error::Error;
use crate::input::SendNotificationInput;
use crate::output::{ErrorCode, SendPayload};

/// Gathers what a program sends, from wherever, into requests of up to 1,000. Copies share one queue.
///
/// One request is under way at a time, so that all is sent in the order in which it was handed in.
#[derive(Debug, Clone)]
pub struct Sender(mpsc::Sender<Queued>);

/// Something to send, and who waits for what comes of it.
#[derive(Debug)]
struct Queued {
    input: SendNotificationInput,
    size: usize,
    answer: oneshot::Sender<Result<SendPayload, Error>>,
}

impl Sender {
    /// A sender whose requests wait for so long after the first notification of each; some milliseconds are many of a busy
    /// program. To be called in a runtime of Tokio, where it ends with the last copy of it.
    pub fn new(client: Client, linger: Duration) -> Self {
        let (sender, queue) = mpsc::channel(CHUNK_LENGTH);
        tokio::spawn(run(client, linger, queue));
        Self(sender)
    }

    /// Sends one, and says what came of it. It waits while 1,000 wait already.
    ///
    /// Where it is refused, those that were sent with it are not. What may have to be sent again after an error (`Unavailable`)
    /// needs an idempotency key of its own. What was handed in is sent even if nobody waits for it any more.
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

/// Sends a batch. One that is refused is all of it, so it is sent without the one that is to blame, or in halves.
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
    /// Whoever has given up waiting is not told.
    fn tell(self, outcome: Result<SendPayload, Error>) {
        drop(self.answer.send(outcome));
    }
}
