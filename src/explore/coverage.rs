//! What schedules exercise: which kinds of fault struck which calls in which phase of a run's life, of all that might
//! have been; and which *sometimes* properties were reached.

use std::collections::BTreeSet;

use super::contain::contain;
use super::{Findings, Panic, Subject};
use crate::check::{Cell, Cells, RunPhase, Sometimes};
use crate::history::FaultKind;
use crate::scenario::Options;
use crate::sim::Schedule;

/// What the schedules of some subjects exercise together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The cells that were covered.
    pub covered: Cells,
    /// The cells that might have been: every kind of fault that can strike at a call that came up, in the phase in
    /// which it came up. What was covered is among them.
    pub possible: Cells,
    /// The properties that were reached.
    pub reached: BTreeSet<Sometimes>,
    /// Schedules that were played.
    pub schedules: u64,
    /// Schedules that broke a promise.
    pub failing: u64,
}

impl Coverage {
    /// What the schedules of an exploration exercised. `subjects` are those that were explored, in the same order.
    pub fn of(findings: &Findings, subjects: &[&dyn Subject]) -> Coverage {
        let mut coverage = Coverage::default();
        for (subject, tally) in &findings.tallies {
            coverage.covered.add(&tally.covered);
            coverage.possible.add(&tally.covered);
            coverage.possible.add(&subjects[*subject].reachable(&tally.moments));
            coverage.reached.extend(tally.reached.iter().copied());
            coverage.schedules += tally.schedules;
            coverage.failing += tally.failing;
        }
        coverage
    }

    /// Adds what the calm schedule of a subject exercises; whether it fails, the exploration has told.
    ///
    /// # Errors
    /// When its world panics.
    pub fn add_calm(&mut self, subject: &dyn Subject) -> Result<(), Panic> {
        if subject.fixed().is_some() {
            return Ok(());
        }
        let outcome = contain(|| subject.player().play(&Schedule::Calm, Options::default()))?;
        self.possible.add(&subject.reachable(&outcome.moments));
        self.reached.extend(outcome.reached.iter().copied());
        self.schedules += 1;
        Ok(())
    }

    /// The cells that were covered, in millionths of those that might have been; a million where there are none.
    pub fn share_ppm(&self) -> u64 {
        let possible = self.possible.len() as u64;
        (self.covered.len() as u64 * 1_000_000).checked_div(possible).unwrap_or(1_000_000)
    }

    /// The properties that were not reached.
    pub fn never_reached(&self) -> impl Iterator<Item = Sometimes> {
        Sometimes::ALL.iter().copied().filter(|what| !self.reached.contains(what))
    }

    /// The cells that were not covered.
    pub fn never_covered(&self) -> impl Iterator<Item = Cell> {
        self.possible.iter().filter(|cell| !self.covered.contains(*cell))
    }

    /// How many calls a kind of fault struck, of how many it might have, in each phase that is possible for it.
    pub fn by_phase(&self, fault: FaultKind) -> impl Iterator<Item = (usize, usize)> {
        RunPhase::ALL.iter().map(move |phase| {
            let count = |cells: &Cells| cells.iter().filter(|cell| cell.fault == fault && cell.phase == *phase).count();
            (count(&self.covered), count(&self.possible))
        })
    }
}
