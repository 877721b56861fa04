//! Many seeds over many subjects, in parallel.
//!
//! The subjects take turns, a block of seeds each, so that a sweep that ends early has looked at all of them
//! alike. A subject whose file lists its deviations has one schedule, whatever the seeds; the first shard plays it.
//! Before all seeds the calm schedule of every other subject is judged, by every shard.

use std::collections::BTreeMap;
use std::ops::Range;

use super::aim::Aim;
use super::batch::{Batch, Findings, Hand, judge_calm};
use super::grid::{CALM, Shard, blocks};
use super::pool::{Bench, Done, Merge, work_through};
use super::{Finished, Group, Halt, Listener, News, Subject, Tally};
use crate::sim::Schedule;

/// What to sweep, and how.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The seeds, for each subject.
    pub seeds: Range<u64>,
    /// Which of them are played.
    pub shard: Shard,
    /// Which failures count.
    pub aim: Aim,
    /// How many threads; at least one is used.
    pub jobs: usize,
    /// Whether the first failure that is not known ends the sweep. What came before it in the order of the sweep is
    /// still played.
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

impl Default for Sweep {
    /// 1 000 seeds on one thread.
    fn default() -> Sweep {
        Sweep { seeds: 0..1_000, shard: Shard::WHOLE, aim: Aim::default(), jobs: 1, fail_fast: false }
    }
}

impl Sweep {
    /// Plays every seed of every subject.
    pub fn run(&self, subjects: &[&dyn Subject], listener: &mut Listener<'_>) -> Swept {
        let plan = Plan { sweep: self, subjects, blocks: blocks(&self.seeds, self.shard.of) };
        let units = plan.rounds().saturating_mul(subjects.len() as u64);
        listener(News::Planned(plan.schedules()));
        let calm = self.calm(subjects, listener);
        if (self.fail_fast && calm.violated()) || calm.broken.is_some() {
            return Swept { findings: calm, halted: None };
        }
        let (mut findings, halted) =
            work_through(self.jobs, units, Hand::default, |hand, unit, bench| plan.unit(hand, unit, bench), listener);
        findings.merge(calm);
        Swept { findings, halted }
    }

    /// Judges the calm schedules. They are not counted: a bound on what seeds hide is of seeds alone.
    fn calm(&self, subjects: &[&dyn Subject], listener: &mut Listener<'_>) -> Findings {
        let mut found = Findings::default();
        for (place, subject) in subjects.iter().enumerate().filter(|(_, subject)| subject.fixed().is_none()) {
            let Some(sample) = judge_calm(*subject, place, &self.aim, &mut found, listener) else { continue };
            let tally = Tally { failing: 1, ..Tally::default() };
            let failures = BTreeMap::from([(sample.failure.cause(), Group::of(sample.clone()))]);
            let finished = Finished { subject: place, seeds: CALM, tally: tally.clone(), failures };
            listener(News::Finished(Box::new(finished)));
            found.tallies.insert(place, tally);
        }
        found
    }

    /// The schedules of a subject that this sweep plays.
    pub fn planned(&self, subject: &dyn Subject) -> u64 {
        match subject.fixed() {
            Some(_) => u64::from(self.shard.number == 1),
            None => self.shard.count(&self.seeds),
        }
    }
}

/// The order of the first schedule that is not calm.
const AFTER_CALM: u64 = 1;

struct Plan<'a, 'b> {
    sweep: &'b Sweep,
    subjects: &'b [&'a dyn Subject],
    blocks: Vec<Range<u64>>,
}

impl<'a> Plan<'a, '_> {
    /// Blocks that a subject has; at least the one of a subject with a fixed list.
    fn rounds(&self) -> u64 {
        self.blocks.len().max(1) as u64
    }

    fn schedules(&self) -> u64 {
        self.subjects.iter().map(|subject| self.sweep.planned(*subject)).fold(0, u64::saturating_add)
    }

    fn unit(&self, hand: &mut Hand<'a>, unit: u64, bench: &Bench<'_>) -> Done<Findings> {
        let place = (unit % self.subjects.len() as u64) as usize;
        let round = unit / self.subjects.len() as u64;
        let (sweep, subject) = (self.sweep, self.subjects[place]);
        let schedules: Vec<Schedule> = match subject.fixed() {
            Some(list) if round == 0 && sweep.shard.number == 1 => vec![Schedule::Fixed(list.to_vec())],
            Some(_) => Vec::new(),
            None => {
                let block = self.blocks.get(round as usize).cloned().unwrap_or(0..0);
                sweep.shard.seeds(block).map(Schedule::Seed).collect()
            }
        };
        if schedules.is_empty() {
            return Done { result: Findings::default(), last: false };
        }
        let last_number = if subject.fixed().is_some() { 0 } else { sweep.seeds.end.saturating_sub(1) };
        let (aim, fail_fast) = (&sweep.aim, sweep.fail_fast);
        // No block that is ever played has so many seeds that two orders meet.
        let order = unit.saturating_mul(1 << 32).saturating_add(AFTER_CALM);
        let batch = Batch { subject, place, aim, fail_fast, order, number: 0, last_number, may_wait: false };
        batch.play(hand, &schedules, bench)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;

    fn sweep(seeds: Range<u64>, jobs: usize, fail_fast: bool, fakes: &[Fake]) -> Swept {
        let subjects: Vec<&dyn Subject> = fakes.iter().map(|fake| fake as &dyn Subject).collect();
        Sweep { seeds, jobs, fail_fast, ..Sweep::default() }.run(&subjects, &mut |_| None)
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
        assert_eq!((group.count, &group.first().schedule), (10, &Schedule::Seed(97)));
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
        let swept = Sweep { seeds: 0..u64::MAX, jobs: 2, ..Sweep::default() }.run(&[&fake], &mut listener);
        assert_eq!(swept.halted, Some(Halt::Interrupt));
        assert!(!swept.findings.failures.is_empty());
    }
}
