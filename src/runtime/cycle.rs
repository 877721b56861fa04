//! One lease, from the read of its log to the release.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use super::announced::carry_out_all;
use super::ending::{Concluded, Departure, conclude, park};
use super::epilogue::{epilogue, nack_all};
use super::hold::Hold;
use super::seat::{Outcome, Seat};
use super::{Context, Registration};
use crate::kernel::{Body, Inbox, LeaseEntry, Message, Release, Span, Step, Task, Version};

/// A run of an unknown type goes back after this long: some other worker may know it.
const UNKNOWN_TYPE_PAUSE: Span = Span::from_secs(5);

/// Works on a leased run until it is released.
pub(super) async fn work(hold: Rc<Hold>) {
    if hold.floor.is_stopping() {
        return hold.release(Release::Pending).await;
    }
    let agents = hold.floor.agents.clone();
    let Some(registration) = agents.0.get(hold.lease.spec.agent.kind()) else {
        hold.floor.host.sleep(UNKNOWN_TYPE_PAUSE).await;
        return hold.release(Release::Pending).await;
    };
    hold.read_log().await;
    match enter(&hold, registration.version).await {
        Entry::Parked => {}
        Entry::Closed => epilogue(&hold).await,
        Entry::Open => {
            receive_batch(&hold).await;
            loop {
                let departure = run(&hold, registration).await;
                if conclude(&hold, departure).await == Concluded::Over {
                    return;
                }
            }
        }
    }
}

/// How a lease begins.
enum Entry {
    /// The run was parked again.
    Parked,
    /// The log is closed.
    Closed,
    /// The lease entry stands in the log.
    Open,
}

/// Does what the log leaves to do before the lease entry, and appends that, which shuts predecessors out.
async fn enter(hold: &Hold, version: Version) -> Entry {
    let mut nacked = 0;
    loop {
        let (ended, parked, resolved, is_first) = {
            let log = hold.log.borrow();
            let resolved = log.resolved.as_ref().map(|resolved| resolved.ending.clone());
            (log.ended.is_some(), log.parked.clone(), resolved, log.attempt.is_none())
        };
        if ended {
            return Entry::Closed;
        }
        if let Some(parked) = parked.filter(|parked| parked.failure != nacked) {
            nack_all(hold, parked.failure, &parked.error).await;
            nacked = parked.failure;
            // Both are judged by the time of the grant, whatever a heartbeat has told since: a run that is parked
            // past its deadline is pending again at once.
            let granted_at = hold.lease.granted_at;
            let is_overdue = hold.lease.deadline.is_some_and(|deadline| deadline <= granted_at);
            if parked.due > granted_at && hold.cancel().is_none() && !is_overdue {
                park(hold, parked.due).await;
                return Entry::Parked;
            }
        }
        if let Some(ending) = resolved {
            hold.append(&Arc::new(Body::Ended(ending))).await;
            continue;
        }
        let entry = LeaseEntry {
            agent: hold.lease.spec.agent.clone(),
            version,
            attempt: hold.lease.key.attempt,
            woken_by: hold.lease.woken_by.clone(),
        };
        let body = if is_first { Body::RunStarted(entry) } else { Body::RunResumed(entry) };
        if hold.append(&Arc::new(body)).await.is_some() {
            return Entry::Open;
        }
    }
}

/// The first drain of the run: what stands in its `msg.received` is its batch for ever.
async fn receive_batch(hold: &Hold) {
    let spec = &hold.lease.spec;
    while hold.log.borrow().batch.is_none() {
        let drain = async || hold.floor.store.drain(spec.agent.clone(), hold.run(), None, spec.settings.batch).await;
        let drained = hold.settled(drain).await;
        let messages = drained.into_iter().map(|drained| drained.received).collect();
        hold.append(&Arc::new(Body::MsgReceived { step: None, messages })).await;
    }
}

fn batch(hold: &Hold) -> Vec<Message> {
    match hold.log.borrow().batch.as_deref() {
        Some(Body::MsgReceived { messages, .. }) => messages.iter().map(|got| got.message.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Runs the agent, unless the run is to end.
async fn run(hold: &Rc<Hold>, registration: &Registration) -> Departure {
    if hold.cancel().is_some() || hold.deadline_over() || hold.is_poisoned() {
        return Departure { outcome: Outcome::Barred, raised: false, next: Step(0) };
    }
    carry_out_all(hold).await;
    let seat = Rc::new(Seat::new(hold.clone(), registration.version));
    let outcome = seated(&seat, registration, batch(hold)).await;
    Departure { outcome, raised: seat.has_raised(), next: seat.next() }
}

/// Polls the agent until it ends, or until one of its calls says how it ends; then drops it.
async fn seated(seat: &Rc<Seat>, registration: &Registration, batch: Vec<Message>) -> Outcome {
    let ctx = Context::new(seat.clone());
    let mut agent: Task<_> = match catch_unwind(AssertUnwindSafe(|| registration.agent.run(ctx, batch))) {
        Ok(agent) => agent,
        Err(panic) => return Outcome::Panicked(message_of(&*panic)),
    };
    let outcome = poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| agent.as_mut().poll(cx)));
        if let Some(outcome) = seat.take_outcome() {
            return Poll::Ready(outcome);
        }
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(returned)) => Poll::Ready(Outcome::Returned(returned)),
            Err(panic) => Poll::Ready(Outcome::Panicked(message_of(&*panic))),
        }
    })
    .await;
    seat.leave();
    match catch_unwind(AssertUnwindSafe(|| drop(agent))) {
        Ok(()) => outcome,
        Err(panic) => Outcome::Panicked(message_of(&*panic)),
    }
}

/// What a panic says.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
