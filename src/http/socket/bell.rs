//! Says whether anything is to be looked at again of what is seldom there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Rings when one of some futures may go on, for a task that mostly wakes for another reason: it need not touch them then. (5,000
/// sockets that are told something have to fetch each piece of memory that they look at.)
#[derive(Debug)]
pub struct Bell(Arc<Ring>);

#[derive(Debug)]
struct Ring {
    has_rung: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.has_rung.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl Bell {
    /// It has rung, for nothing was looked at yet.
    pub fn new() -> Self {
        Self(Arc::new(Ring { has_rung: AtomicBool::new(true), task: AtomicWaker::new() }))
    }

    /// Something is to be looked at again, though nothing has woken the task.
    pub fn ring(&self) {
        self.0.has_rung.store(true, Ordering::Release);
    }

    /// Polls the futures if it has rung since they all had to wait.
    pub fn poll<T>(&self, cx: &mut Context<'_>, futures: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        self.0.task.register(cx.waker());
        if !self.0.has_rung.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let polled = futures(&mut Context::from_waker(&Waker::from(self.0.clone())));
        if polled.is_ready() {
            // The others were perhaps not polled, and this one may be ready again.
            self.ring();
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::poll;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn nothing_is_polled_until_it_rings() {
        let (bell, notify) = (Bell::new(), Notify::new());
        let (mut polls, mut notified) = (0, Box::pin(notify.notified()));
        let mut look = async || {
            let mut one = |cx: &mut Context<'_>| {
                polls += 1;
                notified.as_mut().poll(cx)
            };
            let polled = poll!(poll_fn(|cx| bell.poll(cx, &mut one)));
            (polled.is_ready(), polls)
        };
        assert_eq!(look().await, (false, 1));
        assert_eq!(look().await, (false, 1), "nothing has happened");
        bell.ring();
        assert_eq!(look().await, (false, 2));
        notify.notify_one();
        assert_eq!(look().await, (true, 3));
        let polled = poll!(poll_fn(|cx| bell.poll(cx, |_| Poll::<()>::Pending)));
        assert!(polled.is_pending());
    }

    #[tokio::test]
    async fn what_was_ready_is_polled_again_and_wakes_whoever_waits_now() {
        let (bell, notify) = (Arc::new(Bell::new()), Arc::new(Notify::new()));
        let mut first = true;
        poll_fn(|cx| bell.poll(cx, |_| Poll::Ready(()))).await;
        assert!(
            poll!(poll_fn(|cx| bell.poll(cx, |_| {
                first = false;
                Poll::<()>::Pending
            })))
            .is_pending()
        );
        assert!(!first, "others may be ready, too");
        // It is another task that waits from now on.
        bell.ring();
        let waits = tokio::spawn({
            let (bell, notify) = (bell.clone(), notify.clone());
            async move {
                let mut notified = Box::pin(notify.notified());
                poll_fn(|cx| bell.poll(cx, |cx| notified.as_mut().poll(cx))).await;
            }
        });
        tokio::task::yield_now().await;
        notify.notify_one();
        waits.await.unwrap();
    }
}
