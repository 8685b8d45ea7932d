//! What a client of a socket has asked for, and is at.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::{BoxStream, Peekable, StreamExt};
use smallvec::SmallVec;

use super::message::{Id, Output};

/// Operations by their ids, mostly one, which is kept where this is. Of each there may be an output already that has not been told.
#[derive(Default)]
pub struct Operations {
    all: SmallVec<[(Id, Peekable<BoxStream<'static, Output>>); 1]>,
    /// Whose turn it is: one that always has something to be told keeps nobody else waiting.
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

    /// What the next of them gives.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<(Id, Output)> {
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

    /// Each goes on to its next output.
    pub fn go_on(&mut self, context: &mut Context<'_>) {
        for (_, outputs) in &mut self.all {
            let _ = Pin::new(outputs).poll_peek(context);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::poll_fn;
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
            let (id, _) = poll_fn(|cx| operations.poll_next(cx)).now_or_never().unwrap();
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
        assert!(poll_fn(|cx| operations.poll_next(cx)).now_or_never().is_none());
    }
}
