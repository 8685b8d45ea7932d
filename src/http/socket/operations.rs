//! The operations of a WebSocket that are in progress.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::{BoxStream, Peekable, StreamExt};

use super::message::{OperationId, OperationOutput};

/// Operations by their ids. Each may have one output that has not been sent.
#[derive(Default)]
pub struct ActiveOperations {
    all: Vec<(OperationId, Peekable<BoxStream<'static, OperationOutput>>)>,
    /// Which operation is polled first. It rotates, so that a busy operation does not starve the others.
    turn: usize,
}

impl ActiveOperations {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn contains(&self, id: &OperationId) -> bool {
        self.all.iter().any(|(of, _)| of == id)
    }

    pub fn insert(&mut self, id: OperationId, outputs: BoxStream<'static, OperationOutput>) {
        self.all.push((id, outputs.peekable()));
    }

    pub fn remove(&mut self, id: &OperationId) {
        self.all.retain(|(of, _)| of != id);
    }

    /// The next output of any operation. Pending while there is none.
    pub async fn next_output(&mut self) -> (OperationId, OperationOutput) {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<(OperationId, OperationOutput)> {
        let many = self.all.len();
        for place in (self.turn..self.turn + many).map(|place| place % many) {
            let (id, outputs) = &mut self.all[place];
            if let Poll::Ready(Some(output)) = outputs.poll_next_unpin(context) {
                self.turn = place + 1;
                return Poll::Ready((id.clone(), output));
            }
        }
        Poll::Pending
    }

    /// Polls each operation to its next output, which is kept.
    pub fn poll_progress(&mut self, context: &mut Context<'_>) {
        for (_, outputs) in &mut self.all {
            let _ = Pin::new(outputs).poll_peek(context);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::stream::{iter, pending, repeat_with};

    use super::*;

    #[test]
    fn who_always_has_something_keeps_nobody_waiting() {
        let mut operations = ActiveOperations::default();
        for name in ["a", "b", "c"] {
            operations.insert(OperationId::from_client(name), repeat_with(|| OperationOutput::End).boxed());
        }
        operations.insert(OperationId::from_client("silent"), pending().boxed());
        operations.insert(OperationId::from_client("over"), iter([]).boxed());
        let told = |operations: &mut ActiveOperations| {
            let (id, _) = operations.next_output().now_or_never().unwrap();
            id
        };
        let mut all: Vec<OperationId> = (0..6).map(|_| told(&mut operations)).collect();
        let order: Vec<OperationId> = ["a", "b", "c", "a", "b", "c"].map(OperationId::from_client).into();
        assert!(all == order);
        operations.remove(&OperationId::from_client("b"));
        all = (0..2).map(|_| told(&mut operations)).collect();
        assert!(
            all == ["a", "c"].map(OperationId::from_client)
                && operations.len() == 4
                && !operations.contains(&OperationId::from_client("b"))
        );
        operations.remove(&OperationId::from_client("a"));
        operations.remove(&OperationId::from_client("c"));
        assert!(operations.next_output().now_or_never().is_none());
    }
}
