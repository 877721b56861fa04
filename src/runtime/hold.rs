//! One lease: what its holder knows, and every call it makes in the run's name.
//!
//! None of the methods here returns once the lease counts as lost: they stay pending, and [`super::drive`]
//! drops the whole work on the run. So nothing behind them ever has to ask whether it still may write.

use std::cell::{Cell, RefCell};
use std::future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use super::fold::Fold;
use super::pace::{Pauses, Turns};
use super::worker::Floor;
use crate::kernel::{
    Body, CallError, EventLog, Heartbeat, Host, Lease, Name, Release, RunId, RunLogEntry, Scheduler, Seq, Span, Term,
    Timestamp,
};

/// One lease and the log that belongs to it.
pub(super) struct Hold {
    pub floor: Rc<Floor>,
    pub lease: Lease,
    pub log: RefCell<Fold>,
    /// Held from a drain to the entry that says what was drained.
    pub receiving: Turns,
    appending: Turns,
    /// When the last confirmed renewal was sent, by the worker's clock.
    renewed: Cell<Timestamp>,
    /// The length of the last term.
    length: Cell<Span>,
    gone: Cell<bool>,
    /// The reason of a cancel that the store told of.
    cancel_told: RefCell<Option<Name>>,
    deadline_over: Cell<bool>,
    driver: RefCell<Option<Waker>>,
    trouble: Cell<Pauses>,
}

impl Hold {
    /// The holder of `lease`, granted to a poll that was sent at `sent`. The grant was made no sooner than the
    /// poll had waited at the store, so its age is known however long that was.
    pub fn new(floor: Rc<Floor>, lease: Lease, sent: Timestamp) -> Self {
        let length = lease.expires_at.since(lease.granted_at);
        Hold {
            floor,
            log: RefCell::new(Fold::new()),
            receiving: Turns::default(),
            appending: Turns::default(),
            renewed: Cell::new(sent + lease.waited),
            length: Cell::new(length),
            gone: Cell::new(false),
            cancel_told: RefCell::new(lease.cancel_requested.clone()),
            deadline_over: Cell::new(lease.deadline.is_some_and(|deadline| deadline <= lease.granted_at)),
            driver: RefCell::new(None),
            trouble: Cell::new(Pauses::new()),
            lease,
        }
    }

    pub fn run(&self) -> RunId {
        self.lease.key.run
    }

    /// Whether the run is no longer this holder's: told so, or two thirds of the term have passed on the
    /// worker's clock since the last confirmed renewal was sent.
    pub fn is_gone(&self) -> bool {
        if self.now() >= self.renewed.get() + self.length.get().times(2).part(3) {
            self.gone.set(true);
        }
        self.gone.get()
    }

    /// Whether the term is over by the worker's own clock: no effect begins then.
    pub fn has_run_out(&self) -> bool {
        self.now() >= self.renewed.get() + self.length.get()
    }

    pub fn length(&self) -> Span {
        self.length.get()
    }

    /// Gives the run up without another call, and wakes the driver so that it drops the work on it.
    pub fn abandon(&self) {
        self.gone.set(true);
        if let Some(driver) = self.driver.borrow_mut().take() {
            driver.wake();
        }
    }

    /// Remembers how to wake the driver.
    pub fn set_driver(&self, waker: &Waker) {
        let mut driver = self.driver.borrow_mut();
        match &mut *driver {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Gives the run up and never returns.
    pub async fn lose<T>(&self) -> T {
        self.abandon();
        future::pending().await
    }

    pub fn now(&self) -> Timestamp {
        self.floor.host.now()
    }

    /// How long until the next heartbeat is due: a third of the term after the last was sent, however the clock
    /// steps in between.
    pub fn until_beat(&self) -> Span {
        let (third, since) = (self.length.get().part(3), self.now().since(self.renewed.get()));
        (third - since).max(Span::ZERO).min(third)
    }

    /// How long until the lease counts as lost.
    pub fn until_lost(&self) -> Span {
        let since = self.now().since(self.renewed.get());
        (self.length.get().times(2).part(3) - since).max(Span::ZERO)
    }

    /// Takes in what the store says to a heartbeat that was sent at `sent`.
    pub fn hear(&self, sent: Timestamp, heartbeat: Heartbeat) {
        let term = match heartbeat {
            Heartbeat::Healthy(term) => term,
            Heartbeat::CancelRequested(term, reason) => {
                self.cancel_told.borrow_mut().get_or_insert(reason);
                term
            }
            Heartbeat::DeadlinePassed(term) => {
                self.deadline_over.set(true);
                term
            }
            Heartbeat::Lost => return self.gone.set(true),
        };
        self.renew(sent, term);
    }

    fn renew(&self, sent: Timestamp, term: Term) {
        self.renewed.set(sent);
        self.length.set(term.expires_at.since(term.renewed_at));
    }

    /// The reason of a cancel, if one is known, from the log or from the store.
    pub fn cancel(&self) -> Option<Name> {
        let in_log = self.log.borrow().cancel.clone();
        in_log.or_else(|| self.cancel_told.borrow().clone())
    }

    /// Whether the deadline is known to be over: by the grant, the own lease entry or a heartbeat.
    pub fn deadline_over(&self) -> bool {
        self.deadline_over.get()
    }

    /// Whether more leases in a row ran out over the run than may.
    pub fn is_poisoned(&self) -> bool {
        self.lease.reclaims > self.floor.settings.max_lost_leases
    }

    /// Repeats a call until it is decided.
    pub async fn settled<T>(&self, call: impl AsyncFn() -> Result<T, CallError>) -> T {
        repeat(&self.floor, call).await
    }

    /// Reads the log from its start.
    pub async fn read_log(&self) {
        self.read_from(Seq::FIRST).await;
    }

    /// Appends `body` behind the last entry known. `None` when that did not come about: others may have
    /// written, their entries are in the fold now, and the caller decides anew.
    pub async fn append(&self, body: &Arc<Body>) -> Option<Timestamp> {
        let _turn = self.appending.take().await;
        let (expected, is_closed) = {
            let log = self.log.borrow();
            (log.last, log.ended.is_some())
        };
        if is_closed {
            // Nothing follows a terminal entry: whoever leases the run next writes its epilogue.
            return self.lose().await;
        }
        match self.floor.store.append(self.run(), body.clone(), expected).await {
            Ok(Ok(appended)) if appended.seq == expected.next() => {
                self.trouble.set(Pauses::new());
                self.log.borrow_mut().add(appended.seq, appended.ts, body);
                self.note_time_of(body, appended.ts);
                Some(appended.ts)
            }
            Ok(Ok(_) | Err(_)) => self.look_for(body, expected).await,
            Err(error) => {
                self.pause().await;
                if error == CallError::Unavailable { None } else { self.look_for(body, expected).await }
            }
        }
    }

    /// Reads what stands behind `expected`; an entry that is the caller's own by its content counts as that.
    async fn look_for(&self, body: &Arc<Body>, expected: Seq) -> Option<Timestamp> {
        let entries = self.read_from(expected.next()).await;
        let Some(first) = entries.first() else {
            self.pause().await;
            return None;
        };
        self.trouble.set(Pauses::new());
        (first.body == *body).then(|| {
            self.note_time_of(body, first.ts);
            first.ts
        })
    }

    /// Reads and folds. An entry of a later lease means that the run is lost.
    async fn read_from(&self, from: Seq) -> Vec<RunLogEntry> {
        let read = async || {
            let entries = self.floor.store.read(self.run(), from).await?;
            let places = std::iter::successors(Some(from), |seq| Some(seq.next()));
            let is_dense = entries.iter().map(|entry| entry.seq).eq(places.take(entries.len()));
            // A log has no gaps: a store that shows one is not ready.
            if is_dense { Ok(entries) } else { Err(CallError::Unavailable) }
        };
        let entries = self.settled(read).await;
        let is_superseded = {
            let mut log = self.log.borrow_mut();
            entries.iter().for_each(|entry| log.apply(entry));
            log.attempt > Some(self.lease.key.attempt)
        };
        if is_superseded {
            return self.lose().await;
        }
        entries
    }

    /// The time of the own lease entry may show that the deadline is over.
    fn note_time_of(&self, body: &Body, ts: Timestamp) {
        if body.lease_entry().is_some() && self.lease.deadline.is_some_and(|deadline| deadline <= ts) {
            self.deadline_over.set(true);
        }
    }

    async fn pause(&self) {
        let mut trouble = self.trouble.get();
        let pause = trouble.after_failure();
        self.trouble.set(trouble);
        self.floor.host.sleep(pause).await;
    }

    /// Gives the run up. Whether it was still held makes no difference to the caller: it has ended its work.
    pub async fn release(&self, how: Release) {
        self.settled(async || self.floor.store.release(self.lease.key.clone(), how.clone()).await).await;
    }
}

/// Repeats a call with pauses until it is decided.
pub(super) async fn repeat<T>(floor: &Floor, call: impl AsyncFn() -> Result<T, CallError>) -> T {
    repeat_on(&*floor.host, call).await
}

/// Repeats a call on a host, with pauses of 0.1 s doubling to 5 s, until it is decided.
pub async fn repeat_on<T>(host: &dyn Host, call: impl AsyncFn() -> Result<T, CallError>) -> T {
    let mut pauses = Pauses::new();
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(_) => host.sleep(pauses.after_failure()).await,
        }
    }
}
