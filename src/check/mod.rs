//! Invariants over a history: the promises of the project, judged from what was observed and applied.
//!
//! A [`Checker`] takes the events of a history as it grows. `facts` is its own fold of them: who holds what, logs as
//! accepted, mail by life. One file per contract judges: `log`, `effects`, `inbox`, `scheduler`, `signals`, `temporal`,
//! `liveness`; each function there states the exact rule and which facts it needs. Nothing is taken from the code
//! that is judged: kernel types and the history alone.
//!
//! Where a request is told as applied, that decides; an answer alone is the observed view. A history without applied
//! facts is judged by the invariants that do not need them, over what callers were told.

mod announced;
mod ask;
mod children;
mod coverage;
mod deaths;
mod effects;
mod facts;
mod inbox;
mod liveness;
mod log;
mod observe;
mod pubsub;
mod scheduler;
mod signals;
mod sleep;
mod sometimes;
mod spend;
mod supervisor;
mod temporal;
#[cfg(test)]
mod tests;
mod verdict;

pub use coverage::{Cell, Cells, Moments, RunPhase};
pub use sometimes::Sometimes;
pub use verdict::{INVARIANTS, Invariant, Violation};

use coverage::Coverage;
use facts::{Calls, Facts};
use verdict::{Judge, Verdicts};

use crate::history::{Event, Header, Record};
use crate::kernel::Timestamp;

/// Judges one history, event by event. It can be used for the next one after a [`Checker::reset`].
///
/// ```
/// use chronodrome::check::Checker;
/// use chronodrome::history::{Event, Header, Phase};
/// use chronodrome::kernel::{Span, Timestamp};
///
/// let start = Timestamp::from_micros(0);
/// let header = Header {
///     format: 1, scenario: "empty".into(), start, lease: Span::from_secs(30), poll: Span::from_millis(50),
///     timer_jitter: Span::ZERO, capacity: 10, max_lost_leases: 10, workers: vec![],
/// };
/// let mut checker = Checker::new(&header);
/// checker.observe(start, &Event::Phase(Phase::Over));
/// checker.finish(start);
/// assert!(checker.violations().is_empty());
/// ```
pub struct Checker {
    facts: Facts,
    calls: Calls,
    coverage: Coverage,
    verdicts: Verdicts,
    finished: bool,
}

impl Checker {
    /// A checker for a history with this header.
    pub fn new(header: &Header) -> Checker {
        let mut checker = Checker {
            facts: Facts::default(),
            calls: Calls::default(),
            coverage: Coverage::default(),
            verdicts: Verdicts::default(),
            finished: false,
        };
        checker.facts.reset(header);
        checker
    }

    /// Begins anew, with the memory it has.
    pub fn reset(&mut self, header: &Header) {
        self.facts.reset(header);
        self.calls.clear();
        self.coverage.clear();
        self.verdicts.clear();
        self.finished = false;
    }

    /// Takes the next event of the history, which happened `at` by the true clock.
    pub fn observe(&mut self, at: Timestamp, event: &Event) {
        if self.facts.lost_track {
            return;
        }
        let Checker { facts, calls, coverage, verdicts, .. } = self;
        observe::event(facts, calls, coverage, verdicts, at, event);
    }

    /// Judges what is judged once, when the history is complete. A history that did not heal and come to its end leaves
    /// that unjudged, see [`Checker::not_judged`]. A second call changes nothing.
    pub fn finish(&mut self, at: Timestamp) {
        if std::mem::replace(&mut self.finished, true) || self.facts.lost_track {
            return;
        }
        let facts = &mut self.facts;
        let mut judge = Judge { at, applied: facts.applied, verdicts: &mut self.verdicts };
        if !facts.applied {
            log::finish_observed(facts, &mut judge);
        }
        if settled(facts) {
            log::finish(facts, &mut judge);
            announced::finish(facts, &mut judge);
            supervisor::finish(facts, &mut judge);
            children::finish(facts, &mut judge);
            pubsub::finish(facts, &mut judge);
            effects::finish(facts, &mut judge);
            inbox::finish(facts, &mut judge);
            scheduler::queue::rest(facts, &mut judge);
            scheduler::tries::rest(facts, &mut judge);
            temporal::finish(facts, &mut judge);
            liveness::converged(facts, &mut judge);
            liveness::served(facts, &mut judge, facts.phases.probed_at);
        }
    }

    /// What is violated, in the order in which it came to light: of one invariant each subject once, and at most eight.
    pub fn violations(&self) -> &[Violation] {
        &self.verdicts.violations
    }

    /// The *sometimes* properties that were reached.
    pub fn reached(&self) -> impl Iterator<Item = Sometimes> {
        self.verdicts.reached.iter()
    }

    /// Which kinds of fault struck which calls in which phase.
    pub fn covered(&self) -> &Cells {
        &self.coverage.covered
    }

    /// Which calls came up in which phase, before healing.
    pub fn moments(&self) -> &Moments {
        &self.coverage.moments
    }

    /// The invariants that were not, or not wholly, judged: for want of applied facts, or because the history did not
    /// heal and come to its end. All of them, when calls came up again that were forgotten because there were too many.
    pub fn not_judged(&self) -> Vec<&'static str> {
        let facts = &self.facts;
        let complete = self.finished && settled(facts);
        let unjudged = |invariant: &&Invariant| {
            facts.lost_track || (invariant.needs_applied && !facts.applied) || (invariant.after_healing && !complete)
        };
        INVARIANTS.iter().filter(unjudged).map(|invariant| invariant.name).collect()
    }
}

/// Whether the world has healed and come to its end.
fn settled(facts: &Facts) -> bool {
    facts.phases.healed && facts.phases.over && !facts.phases.exhausted
}

/// Judges a whole history.
pub fn check(header: &Header, records: &[Record]) -> Checker {
    let mut checker = Checker::new(header);
    for record in records {
        checker.observe(record.at, &record.event);
    }
    checker.finish(records.last().map_or(header.start, |record| record.at));
    checker
}
