//! The operations of a WebSocket that are in progress.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::{BoxStream, Peekable, StreamExt};

use super::message::{Id, Output};

/// Operations by their ids. Each may have one output that has not been sent.
#[derive(Default)]
pub struct Operations {
    all: Vec<(Id, Peekable<BoxStream<'static, Output>>)>,
    /// Which operation is polled first. It rotates, so that a busy operation does not starve the others.
    turn: usize,
}

impl Operations {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn has(&self, id: &Id) -> bool {
        self.all.iter().any(|(of, _)| of == id)
    }

    pub fn insert(&mut self, id: Id, outputs: BoxStream<'static, Output>) {
        self.all.push((id, outputs.peekable()));
    }

    pub fn remove(&mut self, id: &Id) {
        self.all.retain(|(of, _)| of != id);
    }

    /// The next output of any operation. Pending while there is none.
    pub async fn next(&mut self) -> (Id, Output) {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<(Id, Output)> {
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
        let mut operations = Operations::default();
        for name in ["a", "b", "c"] {
            operations.insert(Id::of(name), repeat_with(|| Output::End).boxed());
        }
        operations.insert(Id::of("silent"), pending().boxed());
        operations.insert(Id::of("over"), iter([]).boxed());
        let told = |operations: &mut Operations| {
            let (id, _) = operations.next().now_or_never().unwrap();
            id
        };
        let mut all: Vec<Id> = (0..6).map(|_| told(&mut operations)).collect();
        let order: Vec<Id> = ["a", "b", "c", "a", "b", "c"].map(Id::of).into();
        assert!(all == order);
        operations.remove(&Id::of("b"));
        all = (0..2).map(|_| told(&mut operations)).collect();
        assert!(all == ["a", "c"].map(Id::of) && operations.len() == 4 && !operations.has(&Id::of("b")));
        operations.remove(&Id::of("a"));
        operations.remove(&Id::of("c"));
        assert!(operations.next().now_or_never().is_none());
    }
}
