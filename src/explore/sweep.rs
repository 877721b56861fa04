//! Many seeds over many subjects, in parallel.
//!
//! The subjects take turns, a batch of seeds each, so that a sweep that ends early has looked at all of them
//! alike. A subject whose file lists its deviations has one schedule, whatever the seeds.

use std::ops::Range;

use super::batch::{Batch, Findings, Hand};
use super::pool::{Bench, Done, work_through};
use super::{Halt, Listener, News, Subject};
use crate::sim::Schedule;

/// What to sweep, and how.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The seeds, for each subject.
    pub seeds: Range<u64>,
    /// How many threads; at least one is used.
    pub jobs: usize,
    /// Whether the first failure ends the sweep. What came before it in the order of the sweep is still played.
    pub fail_fast: bool,
}

/// What a sweep found.
#[derive(Clone, Debug)]
pub struct Swept {
    /// Counts, failures, and what broke determinism or chronodrome itself.
    pub findings: Findings,
    /// Why it ended before its end, if it did.
    pub halted: Option<Halt>,
}

/// The most schedules that are played between two looks at the counter of batches.
const BATCH_MOST: u64 = 64;

impl Sweep {
    /// Plays every seed of every subject.
    pub fn run(&self, subjects: &[&dyn Subject], listener: &mut Listener<'_>) -> Swept {
        let count = self.seeds.end.saturating_sub(self.seeds.start);
        let plan = Plan { sweep: self, subjects, count, batch: (count / BATCH_MOST).clamp(1, BATCH_MOST) };
        let units = if subjects.is_empty() { 0 } else { plan.rounds().saturating_mul(subjects.len() as u64) };
        listener(News::Planned(plan.schedules()));
        let (findings, halted) =
            work_through(self.jobs, units, Hand::default, |hand, unit, bench| plan.unit(hand, unit, bench), listener);
        Swept { findings, halted }
    }
}

struct Plan<'a> {
    sweep: &'a Sweep,
    subjects: &'a [&'a dyn Subject],
    /// Seeds for each subject.
    count: u64,
    /// Seeds of a batch: it depends on the number of seeds alone.
    batch: u64,
}

impl<'a> Plan<'a> {
    /// Batches that a subject has; at least the one of a subject with a fixed list.
    fn rounds(&self) -> u64 {
        self.count.div_ceil(self.batch).max(1)
    }

    fn schedules(&self) -> u64 {
        let of = |subject: &&dyn Subject| if subject.fixed().is_some() { 1 } else { self.count };
        self.subjects.iter().map(of).fold(0, u64::saturating_add)
    }

    fn unit(&self, hand: &mut Hand<'a>, unit: u64, bench: &Bench<'_>) -> Done<Findings> {
        let place = (unit % self.subjects.len() as u64) as usize;
        let round = unit / self.subjects.len() as u64;
        let subject = self.subjects[place];
        let number = round * self.batch;
        let schedules: Vec<Schedule> = match subject.fixed() {
            Some(list) if round == 0 => vec![Schedule::Fixed(list.to_vec())],
            Some(_) => return Done { result: Findings::default(), last: false },
            None => (number..self.count.min(number.saturating_add(self.batch)))
                .map(|nth| Schedule::Seed(self.sweep.seeds.start + nth))
                .collect(),
        };
        let last_number = if subject.fixed().is_some() { 0 } else { self.count.saturating_sub(1) };
        let order = unit.saturating_mul(self.batch);
        let batch = Batch { subject, place, fail_fast: self.sweep.fail_fast, order, number, last_number };
        batch.play(hand, &schedules, bench)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;

    fn sweep(seeds: Range<u64>, jobs: usize, fail_fast: bool, fakes: &[Fake]) -> Swept {
        let subjects: Vec<&dyn Subject> = fakes.iter().map(|fake| fake as &dyn Subject).collect();
        Sweep { seeds, jobs, fail_fast }.run(&subjects, &mut |_| None)
    }

    /// All that a report is made of.
    fn told(swept: &Swept) -> String {
        format!("{:?}", swept.findings)
    }

    #[test]
    fn every_seed_of_every_subject_is_played_once() {
        for count in [1, 2, 63, 64, 65, 1_000, 5_001] {
            let swept = sweep(7..7 + count, 3, false, &[Fake::default(), Fake::default()]);
            let schedules: Vec<_> = swept.findings.tallies.values().map(|tally| tally.schedules).collect();
            assert_eq!(schedules, [count, count]);
            assert!(swept.findings.total().rechecked >= 2 * (count / 64), "a share is checked again");
            assert_eq!(swept.halted, None);
        }
    }

    #[test]
    fn what_is_found_does_not_depend_on_the_number_of_threads() {
        let fakes = [Fake::default(), Fake { fails: Some(97), ..Fake::default() }];
        for fail_fast in [false, true] {
            let alone = sweep(0..3_000, 1, fail_fast, &fakes);
            assert_eq!(alone.findings.failures.len(), 1);
            for jobs in [2, 5] {
                assert_eq!(told(&sweep(0..3_000, jobs, fail_fast, &fakes)), told(&alone));
            }
        }
    }

    #[test]
    fn failures_with_one_cause_are_one_group_with_the_smallest_seed() {
        let swept = sweep(0..1_000, 2, false, &[Fake { fails: Some(97), ..Fake::default() }]);
        let group = swept.findings.failures.values().next().expect("it fails");
        assert_eq!((group.count, &group.first.schedule), (10, &Schedule::Seed(97)));
    }

    #[test]
    fn fail_fast_ends_with_the_first_failure() {
        let swept = sweep(1..100_000, 2, true, &[Fake { fails: Some(50), ..Fake::default() }]);
        assert_eq!(swept.findings.total().failing, 1);
        assert_eq!(swept.findings.total().schedules, 50);
    }

    #[test]
    fn a_world_that_panics_is_a_fault_and_no_verdict() {
        let swept = sweep(0..1_000, 2, false, &[Fake { panics: Some(300), ..Fake::default() }]);
        let broken = swept.findings.broken.expect("it panics");
        assert_eq!(broken.schedule, Schedule::Seed(300));
        assert_eq!(broken.panic.message, "seed 300 is too much");
    }

    #[test]
    fn a_leak_of_determinism_is_found_and_the_event_named() {
        let swept = sweep(0..1_000, 2, false, &[Fake { leaks: true, ..Fake::default() }]);
        let divergence = swept.findings.divergence.expect("it leaks");
        assert_eq!(divergence.first.expect("the past is played again").after, 1);
    }

    #[test]
    fn a_fixed_list_is_one_schedule() {
        let fixed = Fake { fixed: Some(Vec::new()), ..Fake::default() };
        let swept = sweep(0..500, 2, false, &[fixed, Fake::default()]);
        assert_eq!(swept.findings.tallies[&0].schedules, 1);
        assert_eq!(swept.findings.tallies[&1].schedules, 500);
    }

    #[test]
    fn an_interrupt_keeps_what_was_found() {
        let fake = Fake { fails: Some(1), ..Fake::default() };
        let mut listener = |news| matches!(news, News::Failed(_)).then_some(Halt::Interrupt);
        let swept = Sweep { seeds: 0..u64::MAX, jobs: 2, fail_fast: false }.run(&[&fake], &mut listener);
        assert_eq!(swept.halted, Some(Halt::Interrupt));
        assert!(!swept.findings.failures.is_empty());
    }
}
