//! What a program of the simulated world sees of it: a store, the outside, a host. It cannot tell that they
//! are simulated.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::core::{Caller, Core, Wish};
use super::executor::Group;
use super::site::mix;
use super::transport::{outside_reply, store_reply};
use crate::history::{Answer, Asked, Event};
use crate::kernel::{
    CallError, Calling, Host, Name, Outside, Perform, Performed, Reply, Request, RunId, Span, Step, Store, Task,
    Timestamp,
};

/// One program's machine: its way to the store and the outside, its clock, its tasks.
#[derive(Clone)]
pub struct Machine {
    pub(super) core: Rc<RefCell<Core>>,
    pub(super) caller: Caller,
}

impl Machine {
    /// The group of this machine's tasks.
    fn group(&self) -> Group {
        match self.caller {
            Caller::Worker(worker) => Group(u32::try_from(worker).expect("few workers")),
            _ => CLIENTS,
        }
    }

    fn worker(&self) -> Option<usize> {
        match self.caller {
            Caller::Worker(worker) => Some(worker),
            _ => None,
        }
    }

    /// Kills the worker that runs on this machine at once; it starts anew after `restart`.
    pub fn die(&self, restart: Span) {
        if let Some(worker) = self.worker() {
            self.core.borrow_mut().doom(worker, restart);
        }
    }

    /// Asks the worker of this name to stop gracefully; it starts anew `restart` after it has stopped.
    pub fn stop_worker(&self, name: &str, restart: Span) {
        let mut core = self.core.borrow_mut();
        if let Some(worker) = core.worker_names.iter().position(|known| **known == *name) {
            core.ask_to_stop(worker, restart);
        }
    }

    /// Adds to the history what an agent saw.
    pub fn note(&self, event: Event) {
        self.core.borrow_mut().note(event);
    }

    /// When the world starts, by the true clock.
    pub fn start(&self) -> Timestamp {
        self.core.borrow().start
    }

    /// The id of the run that an alias, as `billing#1`, names.
    pub fn run_id(&self, alias: &str) -> RunId {
        self.core.borrow_mut().aliases.register(alias)
    }
}

/// The group of the tasks that belong to no worker.
pub(super) const CLIENTS: Group = Group(u32::MAX);

/// A call's future: one use of the call's place.
struct Pending {
    core: Rc<RefCell<Core>>,
    place: u32,
}

impl Future for Pending {
    type Output = Result<Answer, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut core = self.core.borrow_mut();
        match core.take_outcome(self.place) {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                let call = core.calls.at(self.place);
                if !call.waker.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
                    call.waker = Some(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.core.borrow_mut().abandon(self.place);
    }
}

impl Store for Machine {
    fn call(&self, request: Request) -> Calling<Reply> {
        let place = self.core.borrow_mut().begin(self.caller, Asked::Store(request));
        let pending = Pending { core: self.core.clone(), place };
        Box::pin(async move { store_reply(pending.await) })
    }
}

impl Outside for Machine {
    fn perform(&self, request: Perform) -> Calling<Performed> {
        let place = self.core.borrow_mut().begin(self.caller, Asked::Outside(request));
        let pending = Pending { core: self.core.clone(), place };
        Box::pin(async move { outside_reply(pending.await) })
    }
}

/// A sleep's future.
struct Sleep {
    core: Rc<RefCell<Core>>,
    sleep: u32,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut core = self.core.borrow_mut();
        let slot = &mut core.sleeps[self.sleep as usize];
        if slot.over {
            return Poll::Ready(());
        }
        if !slot.waker.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
            slot.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.core.borrow_mut().end_sleep(self.sleep);
    }
}

impl Host for Machine {
    fn now(&self) -> Timestamp {
        let mut core = self.core.borrow_mut();
        let off = self.worker().map_or(Span::ZERO, |worker| core.workers[worker].clock_off);
        if let Some(course) = &mut core.course {
            course.note(&off);
        }
        core.now + off
    }

    fn sleep(&self, span: Span) -> Task {
        let (sleep, _) = self.core.borrow_mut().sleep(self.worker(), span);
        Box::pin(Sleep { core: self.core.clone(), sleep })
    }

    fn spawn(&self, task: Task) {
        let group = self.group();
        self.core.borrow_mut().wishes.push(Wish::Spawn(group, task));
    }

    fn random(&self, run: RunId, step: Step) -> u128 {
        let word = |salt: u64| {
            let run = mix(run.as_u128() as u64, (run.as_u128() >> 64) as u64);
            mix(mix(run, u64::from(step.0)), salt)
        };
        (u128::from(word(1)) << 64) | u128::from(word(2))
    }
}

/// The name of a worker, from its place: `w1` is the first.
pub fn worker_name(place: usize) -> Name {
    format!("w{}", place + 1).into()
}
