//! Workers, and the time in which one of them surely takes what can be granted.

use super::{Fresh, Party, RunAt};
use crate::history::ActorChange;
use crate::kernel::{Attempt, CALL_TIMEOUT, Span, Timestamp, WorkerId};

/// An incarnation of a worker.
#[derive(Default)]
pub struct Worker {
    pub id: Option<WorkerId>,
    pub up: bool,
    pub paused: bool,
    pub cut_off: bool,
    pub stopping: bool,
    /// Runs it was granted and is not seen to be done with.
    pub taken: u32,
    /// Of these, granted by a poll that has no outcome yet.
    pub unheard: Vec<(RunAt, Attempt)>,
    /// Calls without an outcome that keep it from polling: polls, and registrations at its start.
    pub busy: u32,
    /// Until then it may be waiting for a call that is lost, or pausing after an error.
    pub deaf_until: Timestamp,
    /// When it last went on after a pause.
    pub resumed_at: Timestamp,
    /// Its grants in the order in which it heard of them: how many runs overlap with each.
    pub grants: Vec<Heard>,
}

/// A grant that a worker heard of.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    pub run: RunAt,
    pub attempt: Attempt,
    /// How many of its runs, this one included, it is seen to work on from then on.
    pub overlapping: u32,
}

impl Worker {
    /// Follows what becomes of it. `longest_poll` is the longest a poll may wait.
    pub fn change(&mut self, change: ActorChange, at: Timestamp, longest_poll: Span) {
        let deaf = match change {
            ActorChange::Started => {
                (self.up, self.paused, self.stopping) = (true, false, false);
                Span::ZERO
            }
            ActorChange::Crashed | ActorChange::Stopped => {
                self.up = false;
                Span::ZERO
            }
            ActorChange::Paused => {
                self.paused = true;
                Span::ZERO
            }
            ActorChange::Resumed => {
                self.paused = false;
                self.resumed_at = at;
                PAUSE_MAX
            }
            ActorChange::CutOff => {
                self.cut_off = true;
                Span::ZERO
            }
            ActorChange::Reachable => {
                self.cut_off = false;
                longest_poll + PAUSE_MAX
            }
            ActorChange::Stopping => {
                self.stopping = true;
                Span::ZERO
            }
        };
        self.deaf(at + deaf);
    }

    /// It may not listen before `until`.
    pub fn deaf(&mut self, until: Timestamp) {
        self.deaf_until = self.deaf_until.max(until);
    }

    fn polls(&self, capacity: u32) -> bool {
        let there = self.up && !self.paused && !self.cut_off && !self.stopping;
        there && self.busy == 0 && self.taken < capacity
    }
}

impl Fresh for Worker {
    fn refresh(&mut self) {
        let Worker { mut grants, mut unheard, .. } = std::mem::take(self);
        grants.clear();
        unheard.clear();
        *self = Worker { grants, unheard, ..Worker::default() };
    }
}

/// The longest that a worker waits after a failed call before the next, and for the failed call itself.
pub const PAUSE_MAX: Span = Span::from_secs(10);

/// How much later than the bound says something may happen: the polls of a worker that just had bad luck.
pub const LENIENCE: Span = CALL_TIMEOUT.times(2);

/// When, without a break, some worker that can be reached and has room was polling.
#[derive(Default)]
pub struct Room {
    open_from: Option<Timestamp>,
    closed: Vec<(Timestamp, Timestamp)>,
}

impl Room {
    /// Follows the workers: what they do from `at` on. `seamless` tells that what closed the window before was a
    /// poll that has just been answered: whatever could be granted was granted by it.
    pub fn follow<'a>(
        &mut self,
        workers: impl Iterator<Item = &'a Worker>,
        capacity: u32,
        store_up: bool,
        at: Timestamp,
        seamless: bool,
    ) {
        let polling = workers.filter(|worker| store_up && worker.polls(capacity));
        let ready = polling.map(|worker| worker.deaf_until).min();
        match (self.open_from, ready) {
            (Some(from), Some(ready)) if from <= at && ready <= at => {}
            (open, ready) => {
                if let Some(from) = open.filter(|from| *from < at) {
                    self.closed.push((from, at));
                }
                self.open_from = ready.map(|ready| ready.max(at));
                if seamless
                    && self.open_from == Some(at)
                    && self.closed.last().is_some_and(|(_, to)| at.since(*to) < CALL_TIMEOUT)
                {
                    self.open_from = self.closed.pop().map(|(from, _)| from);
                }
            }
        }
    }

    /// The longest time between `from` and `to` in which room was there without a break.
    pub fn longest(&self, from: Timestamp, to: Timestamp) -> Span {
        let open = self.open_from.map(|open| (open, to));
        let windows = open.into_iter().chain(self.closed.iter().rev().copied());
        windows
            .take_while(|(_, end)| *end > from)
            .map(|(start, end)| end.min(to).since(start.max(from)))
            .max()
            .map_or(Span::ZERO, |span| span.max(Span::ZERO))
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.open_from = None;
        self.closed.clear();
    }
}

/// The worker of a party.
pub fn worker_of(party: Party) -> Option<super::WorkerAt> {
    match party {
        Party::Worker(worker) => Some(worker),
        _ => None,
    }
}
