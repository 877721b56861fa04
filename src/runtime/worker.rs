//! The worker: it polls for leases, starts one task per leased run, and can be stopped gracefully.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};

use super::Agents;
use super::drive::Drive;
use super::fanout::Push;
use super::hold::{Hold, repeat};
use super::pace::Pauses;
use crate::kernel::{
    FanoutStrategy, Host, Lease, LeaseKey, Outside, RunId, Scheduler, Span, Store, Task, Timestamp, WorkerId,
};

/// What a worker allows itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The most runs at once.
    pub capacity: u32,
    /// How long a lease poll may wait at the store.
    pub poll_wait: Span,
    /// A run of which more leases in a row ran out is poisoned.
    pub max_lost_leases: u32,
    /// After this long the outcome of an effect is unknown, where the call says nothing else.
    pub effect_limit: Span,
    /// How long a graceful stop may take; `None` for the length of one lease.
    pub grace: Option<Span>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            capacity: 10,
            poll_wait: Span::from_secs(30),
            max_lost_leases: 10,
            effect_limit: Span::from_secs(60),
            grace: None,
        }
    }
}

/// A lease poll that comes back empty sooner than this is not followed by another one at once.
const POLL_PAUSE: Span = Span::from_millis(50);

/// How long a lease is taken to be by a worker that holds none.
const LEASE_DEFAULT: Span = Span::from_secs(30);

/// What the worker and its runs share.
pub(super) struct Floor {
    pub id: WorkerId,
    pub settings: Settings,
    pub store: Rc<dyn Store>,
    pub outside: Rc<dyn Outside>,
    pub host: Rc<dyn Host>,
    pub agents: Rc<Agents>,
    pub fanout: Rc<dyn FanoutStrategy>,
    running: RefCell<BTreeMap<RunId, Weak<Hold>>>,
    stopping: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Floor {
    /// Whether the worker is to take up nothing new.
    pub fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    fn room(&self) -> u32 {
        let running = u32::try_from(self.running.borrow().len()).unwrap_or(u32::MAX);
        self.settings.capacity.saturating_sub(running)
    }

    /// Takes a granted run up; an older lease of the same run is dropped.
    fn take_up(self: &Rc<Self>, lease: Lease, sent: Timestamp) {
        let LeaseKey { run, attempt, .. } = lease.key;
        let known = self.running.borrow().get(&run).and_then(Weak::upgrade);
        if let Some(known) = known {
            if known.lease.key.attempt >= attempt {
                return;
            }
            known.abandon();
        }
        let hold = Rc::new(Hold::new(self.clone(), lease, sent));
        self.running.borrow_mut().insert(run, Rc::downgrade(&hold));
        self.host.spawn(Box::pin(Drive::new(hold)));
    }

    /// The task of a lease has ended.
    pub fn leave(&self, lease: &LeaseKey) {
        let mut running = self.running.borrow_mut();
        let ours = |hold: &Weak<Hold>| hold.upgrade().is_none_or(|hold| hold.lease.key == *lease);
        if running.get(&lease.run).is_some_and(ours) {
            running.remove(&lease.run);
            drop(running);
            self.wake();
        }
    }

    /// Drops the work on every run, as a crash would.
    fn abandon_all(&self) {
        let running: Vec<_> = self.running.borrow().values().filter_map(Weak::upgrade).collect();
        running.iter().for_each(|hold| hold.abandon());
    }

    /// The longest term held.
    fn longest_term(&self) -> Option<Span> {
        self.running.borrow().values().filter_map(Weak::upgrade).map(|hold| hold.length()).max()
    }
}

/// Makes a worker stop gracefully.
#[derive(Clone)]
pub struct Stopper(Rc<Floor>);

impl Stopper {
    /// Begins the stop: no new lease (a grant under way is given back); open effects are carried to their
    /// results; runs are given back at their next step; after the grace time everything is dropped.
    pub fn stop(&self) {
        self.0.stopping.set(true);
        self.0.wake();
    }
}

/// A worker: it leases runs and drives their agents.
pub struct Worker {
    floor: Rc<Floor>,
}

impl Worker {
    /// A worker called `id` that runs `agents`.
    pub fn new(
        id: WorkerId,
        settings: Settings,
        store: Rc<dyn Store>,
        outside: Rc<dyn Outside>,
        host: Rc<dyn Host>,
        agents: Rc<Agents>,
    ) -> Worker {
        let running = RefCell::new(BTreeMap::new());
        let (stopping, waker) = (Cell::new(false), RefCell::new(None));
        let fanout = Rc::new(Push);
        let floor = Floor { id, settings, store, outside, host, agents, fanout, running, stopping, waker };
        Worker { floor: Rc::new(floor) }
    }

    /// Publishes in another way than by [`Push`].
    #[must_use]
    pub fn fanout(self, fanout: Rc<dyn FanoutStrategy>) -> Worker {
        let Ok(floor) = Rc::try_unwrap(self.floor) else {
            unreachable!("a worker that does not run yet is not shared")
        };
        Worker { floor: Rc::new(Floor { fanout, ..floor }) }
    }

    /// What stops it.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.floor.clone())
    }

    /// Registers its agents, then polls until it is stopped.
    pub fn run(self) -> Task {
        let floor = self.floor;
        let mut work = Box::pin(serve(floor.clone()));
        let mut grace: Option<Task> = None;
        Box::pin(poll_fn(move |cx| {
            *floor.waker.borrow_mut() = Some(cx.waker().clone());
            if work.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            if !floor.is_stopping() {
                return Poll::Pending;
            }
            let grace = grace.get_or_insert_with(|| {
                let one_lease = || floor.longest_term().unwrap_or(LEASE_DEFAULT);
                floor.host.sleep(floor.settings.grace.unwrap_or_else(one_lease))
            });
            if grace.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            floor.abandon_all();
            Poll::Ready(())
        }))
    }
}

/// Registers, polls, and at the end waits for the runs that are still there.
async fn serve(floor: Rc<Floor>) {
    for (kind, registration) in &floor.agents.0 {
        let (version, defaults) = (registration.version, &registration.defaults);
        repeat(&floor, async || floor.store.register(kind.clone(), version, defaults.clone()).await).await;
    }
    poll_for_leases(&floor).await;
    until(|| floor.running.borrow().is_empty()).await;
}

/// Polls until the worker stops; never for more than there is room for.
async fn poll_for_leases(floor: &Rc<Floor>) {
    let mut pauses = Pauses::new();
    loop {
        until(|| floor.is_stopping() || floor.room() > 0).await;
        if floor.is_stopping() {
            return;
        }
        let sent = floor.host.now();
        match floor.store.lease(floor.id.clone(), floor.room(), floor.settings.poll_wait).await {
            Ok(leases) if leases.is_empty() => {
                pauses = Pauses::new();
                if floor.host.now().since(sent) < POLL_PAUSE {
                    floor.host.sleep(POLL_PAUSE).await;
                }
            }
            Ok(leases) => {
                pauses = Pauses::new();
                leases.into_iter().for_each(|lease| floor.take_up(lease, sent));
            }
            Err(_) => floor.host.sleep(pauses.after_failure()).await,
        }
    }
}

/// Waits for a condition of the floor; whatever may change it wakes the worker.
async fn until(condition: impl Fn() -> bool) {
    poll_fn(|_| if condition() { Poll::Ready(()) } else { Poll::Pending }).await;
}
