//! The one task of a leased run: it drives the work on the run and the heartbeats together, and drops both
//! once the lease is lost.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::cycle;
use super::hold::Hold;
use super::pace::Pauses;
use crate::kernel::{Calling, Reply, Request, Task, Timestamp};

/// The task.
pub(super) struct Drive {
    hold: Rc<Hold>,
    pulse: Pulse,
    work: Task,
}

/// Where the heartbeats are.
struct Pulse {
    pauses: Pauses,
    state: Beat,
}

enum Beat {
    /// The next one is to be timed.
    Idle,
    /// Until the next one.
    Resting(Task),
    /// Sent at this time, by the worker's clock.
    Sent(Timestamp, Calling<Reply>),
}

impl Drive {
    pub fn new(hold: Rc<Hold>) -> Self {
        let work = Box::pin(cycle::work(hold.clone()));
        Drive { hold, pulse: Pulse { pauses: Pauses::new(), state: Beat::Idle }, work }
    }
}

impl Future for Drive {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.hold.set_driver(cx.waker());
        if this.hold.is_gone() {
            return Poll::Ready(());
        }
        this.pulse.poll(&this.hold, cx);
        if this.hold.is_gone() || this.work.as_mut().poll(cx).is_ready() || this.hold.is_gone() {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        self.hold.floor.leave(&self.hold.lease.key);
    }
}

impl Pulse {
    fn poll(&mut self, hold: &Hold, cx: &mut Context<'_>) {
        while !hold.is_gone() {
            match &mut self.state {
                Beat::Idle => self.state = Beat::Resting(hold.floor.host.sleep(hold.until_beat())),
                Beat::Resting(rest) => {
                    if rest.as_mut().poll(cx).is_pending() {
                        return;
                    }
                    let request = Request::Heartbeat { lease: hold.lease.key.clone() };
                    self.state = Beat::Sent(hold.now(), hold.floor.store.call(request));
                }
                Beat::Sent(sent, call) => {
                    let Poll::Ready(outcome) = call.as_mut().poll(cx) else { return };
                    self.state = match outcome {
                        Ok(Reply::Heartbeat(heartbeat)) => {
                            hold.hear(*sent, heartbeat);
                            self.pauses = Pauses::new();
                            Beat::Idle
                        }
                        Ok(other) => unreachable!("a store answered {other:?} to a heartbeat"),
                        Err(_) => {
                            let pause = self.pauses.after_failure().min(hold.until_lost());
                            Beat::Resting(hold.floor.host.sleep(pause))
                        }
                    };
                }
            }
        }
    }
}
