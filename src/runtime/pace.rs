//! The pace of repeats, turns at what only one may do at a time, and what is done side by side.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Poll, Waker};

use crate::kernel::Span;

/// The pauses between the tries of one call: 0.1 s, doubling to 5 s.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    next: Span,
}

impl Default for Pauses {
    fn default() -> Self {
        Pauses::new()
    }
}

impl Pauses {
    const FIRST: Span = Span::from_millis(100);
    const MAX: Span = Span::from_secs(5);

    /// The pauses from the first on.
    pub const fn new() -> Self {
        Pauses { next: Self::FIRST }
    }

    /// The pause before the next try.
    pub fn after_failure(&mut self) -> Span {
        let pause = self.next;
        self.next = pause.times(2).min(Self::MAX);
        pause
    }
}

/// One turn at a time, among the futures of one task.
#[derive(Default)]
pub(super) struct Turns {
    taken: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

/// A turn; it ends when this is dropped.
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits for its turn.
    pub async fn take(&self) -> Turn<'_> {
        poll_fn(|cx| {
            if !self.taken.replace(true) {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
        .await;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.taken.set(false);
        self.0.waiting.borrow_mut().drain(..).for_each(Waker::wake);
    }
}

/// Gives the other futures of the agent one chance to be polled.
pub(super) async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Drives futures side by side until each has ended; their values in the same order.
pub(super) async fn together<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut members: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|cx| {
        let mut open = 0;
        for (future, value) in members.iter_mut().filter(|(_, value)| value.is_none()) {
            match Pin::as_mut(future).poll(cx) {
                Poll::Ready(ended) => *value = Some(ended),
                Poll::Pending => open += 1,
            }
        }
        if open == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    members.into_iter().filter_map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_seconds() {
        let mut pauses = Pauses::new();
        let told: Vec<String> = (0..8).map(|_| pauses.after_failure().to_string()).collect();
        assert_eq!(told, ["100ms", "200ms", "400ms", "800ms", "1s600ms", "3s200ms", "5s", "5s"]);
    }
}
