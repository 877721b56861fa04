//! The state of a world at a site, as a number: two worlds that show the same number at a site are in the same state,
//! and go on alike under the same deviations at that site and after it. So of two schedules that lead there, one need
//! be tried further.
//!
//! Equal histories are not enough: a clock that is off, or a reply that will never come, may show only once something
//! else goes wrong. So the number is taken of two things. The *course* is all that has happened: every event of the
//! history but those that name deviations, every entry of the agenda that came due, every task that was polled, every
//! reading of a clock that is off; from it follow the tasks, the store and the outside. The *rest* is what may still
//! show: the agenda, the calls on their way with faults that have not struck, clocks, pauses, the store's reach.
//! Where it is not plain that something does not matter, it is taken in: then two states differ that need not, and a
//! schedule more is played.

use std::hash::Hash;

use super::core::{Core, Wish};
use crate::history::{Event, RunningHash};
use crate::kernel::Timestamp;

/// All that a world has done.
#[derive(Clone, Debug, Default)]
pub(super) struct Course(RunningHash);

impl Course {
    /// Adds an event, unless it only says that something deviates.
    pub fn note_event(&mut self, at: Timestamp, event: &Event) {
        if !matches!(event, Event::Deviation { .. }) {
            self.0.note(&at);
            self.0.note(event);
        }
    }

    /// Adds something that is no event.
    pub fn note<T: Hash>(&mut self, thing: &T) {
        self.0.note(thing);
    }
}

impl Core {
    /// Tells the decider the state, for the site that comes up now, where sites are listed.
    pub fn note_state(&mut self) {
        let Some(course) = &self.course else { return };
        let mut hash = course.0.clone();
        hash.note(&(self.now, self.reach, self.reach_turn, self.calls.made, &self.tails));
        self.agenda.pending().for_each(|entry| hash.note(&entry));
        self.calls.living().for_each(|(place, call)| {
            let fault = if call.spent { &None } else { &call.fault };
            hash.note(&(place, call.no, call.caller, call.sent_at, call.deadline, call.latency, fault));
            hash.note(&(call.waiting, call.settled, call.timed, call.uses, &call.reply, &call.outcome));
        });
        self.note_held(&mut hash);
        for worker in &self.workers {
            hash.note(&(worker.incarnation, worker.alive, worker.doomed, worker.frozen, worker.cut, worker.clock_off));
            hash.note(&(worker.slow, worker.poll, worker.poll_at, worker.turn, &worker.deferred, &worker.woken));
            hash.note(&(worker.restart_after, &worker.attempts));
        }
        for sleep in &self.sleeps {
            hash.note(&(sleep.turn, sleep.worker, sleep.over));
        }
        for wish in &self.wishes {
            match wish {
                Wish::Kill(worker, restart) => hash.note(&(0, worker, restart)),
                Wish::Stopped(worker) => hash.note(&(1, worker)),
                Wish::Stop(worker) => hash.note(&(2, worker)),
                Wish::Spawn(..) => hash.note(&3),
            }
        }
        self.decider.state = Some(hash.value());
    }
}
