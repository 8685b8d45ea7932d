//! Batches requests into statements: requests that arrive while a batch runs form the next one.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, oneshot};

use crate::Result;

pub struct Together<Q, A>(mpsc::Sender<Waiting<Q, A>>);

type Waiting<Q, A> = (Q, oneshot::Sender<Result<A, String>>);

impl<Q: Send + 'static, A: Send + 'static> Together<Q, A> {
    /// Runs at most `groups` concurrent batches of at most `most` requests; `answer` answers a batch in order.
    pub fn new<F>(groups: u32, most: usize, answer: impl Fn(Vec<Q>) -> F + Clone + Send + 'static) -> Self
    where
        F: Future<Output = Result<Vec<A>>> + Send,
    {
        let (sender, waiting) = mpsc::channel::<Waiting<Q, A>>(most);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..groups {
            let (waiting, answer) = (waiting.clone(), answer.clone());
            tokio::spawn(async move {
                loop {
                    let mut group = Vec::new();
                    if waiting.lock().await.recv_many(&mut group, most).await == 0 {
                        return;
                    }
                    let (asked, asking): (Vec<Q>, Vec<_>) = group.into_iter().unzip();
                    match answer(asked).await {
                        // Ignores clients that have gone.
                        Ok(answers) => asking.into_iter().zip(answers).for_each(|(one, of)| drop(one.send(Ok(of)))),
                        Err(cause) => asking.into_iter().for_each(|one| drop(one.send(Err(cause.to_string())))),
                    }
                }
            });
        }
        Self(sender)
    }

    pub async fn ask(&self, of: Q) -> Result<A> {
        let (sender, answer) = oneshot::channel();
        self.0.send((of, sender)).await.map_err(|_| "nobody answers any more")?;
        Ok(answer.await??)
    }
}
