//! Every value of its printed list at every site of the calm run: all schedules of one deviation.

use super::batch::{Batch, Broken, Findings, Hand};
use super::contain::contain;
use super::pool::{Bench, Done, work_through};
use super::{Failure, Halt, Listener, News, Panic, Subject};
use crate::scenario::{Options, Outcome};
use crate::sim::{Schedule, SiteListing};

/// The schedules ahead: known when the calm run is over.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The calm run.
    pub calm: Outcome,
    /// Its sites, in the order in which they came up, each with the values to try there.
    pub sites: Vec<SiteListing>,
}

/// What an exhaust found.
#[derive(Clone, Debug)]
pub struct Exhausted {
    /// Counts, failures, and what broke determinism or chronodrome itself. The calm run is among the failures if it
    /// fails, but not counted. A stale schedule means that a site of the calm run is gone: determinism is broken.
    pub findings: Findings,
    /// Sites of the calm run.
    pub sites: u64,
    /// Schedules of one deviation that there are.
    pub planned: u64,
    /// Schedules of one deviation that were played.
    pub played: u64,
    /// Why it ended before its end, if it did.
    pub halted: Option<Halt>,
}

impl Exhausted {
    /// Whether every value was tried at every site.
    pub fn complete(&self) -> bool {
        self.played == self.planned
    }
}

/// Schedules played between two looks at the counter of batches.
const BATCH: u64 = 16;

impl Plan {
    /// Plays the calm schedule of `subject` and lists its sites.
    ///
    /// # Errors
    /// When its world panics.
    pub fn of(subject: &dyn Subject) -> Result<Plan, Panic> {
        let listing = Options { sites: true, ..Options::default() };
        let mut calm = contain(|| subject.player().play(&Schedule::Calm, listing))?;
        let sites = std::mem::take(&mut calm.sites);
        Ok(Plan { calm, sites })
    }

    /// How many schedules of one deviation there are.
    pub fn schedules(&self) -> u64 {
        self.sites.iter().map(|site| site.faults.len() as u64).sum()
    }

    /// Plays them all, in parallel; with `fail_fast` only up to the first that fails. The calm run is judged again, its
    /// replays included.
    pub fn run(&self, subject: &dyn Subject, jobs: usize, fail_fast: bool, listener: &mut Listener<'_>) -> Exhausted {
        let planned = self.schedules();
        listener(News::Planned(planned));
        let singles = Singles { plan: self, subject, fail_fast, all: self.singles() };
        let units = planned.div_ceil(BATCH);
        let (mut findings, halted) =
            work_through(jobs, units, Hand::default, |hand, unit, bench| singles.unit(hand, unit, bench), listener);
        let played = findings.total().schedules;
        match contain(|| subject.player().examine(&Schedule::Calm, Options::default())) {
            Ok(outcome) if outcome.held() => {}
            Ok(outcome) => {
                let failure = Failure { subject: 0, schedule: Schedule::Calm, outcome };
                listener(News::Failed(Box::new(failure.clone())));
                findings.fail(0, failure);
            }
            Err(panic) => {
                let broken = Broken { subject: 0, schedule: Schedule::Calm, panic };
                findings.broken.get_or_insert_with(|| Box::new(broken));
            }
        }
        Exhausted { findings, sites: self.sites.len() as u64, planned, played, halted }
    }

    /// Site and value of each schedule, in order.
    fn singles(&self) -> Vec<(usize, usize)> {
        let of_site = |(place, site): (usize, &SiteListing)| (0..site.faults.len()).map(move |value| (place, value));
        self.sites.iter().enumerate().flat_map(of_site).collect()
    }
}

struct Singles<'a> {
    plan: &'a Plan,
    subject: &'a dyn Subject,
    fail_fast: bool,
    all: Vec<(usize, usize)>,
}

impl<'a> Singles<'a> {
    fn unit(&self, hand: &mut Hand<'a>, unit: u64, bench: &Bench<'_>) -> Done<Findings> {
        let number = unit * BATCH;
        let planned = self.all.len() as u64;
        let range = number as usize..planned.min(number + BATCH) as usize;
        let schedules: Vec<_> = self.all[range].iter().map(|&(site, value)| self.schedule(site, value)).collect();
        // Order 0 is that of the calm run.
        let (order, last_number) = (number + 1, planned - 1);
        let batch = Batch { subject: self.subject, place: 0, fail_fast: self.fail_fast, order, number, last_number };
        batch.play(hand, &schedules, bench)
    }

    fn schedule(&self, site: usize, value: usize) -> Schedule {
        let site = &self.plan.sites[site];
        Schedule::Fixed(vec![site.deviation(site.faults[value].clone())])
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;
    use crate::sim::Fault;

    fn fake(weak: Option<&'static str>) -> Fake {
        let two = vec![Fault::LostRequest, Fault::LostReply];
        Fake { sites: vec![("a", two.clone()), ("b", Vec::new()), ("c", two)], weak, ..Fake::default() }
    }

    fn exhaust(fake: &Fake, fail_fast: bool) -> Exhausted {
        Plan::of(fake).expect("it does not panic").run(fake, 2, fail_fast, &mut |_| None)
    }

    #[test]
    fn every_value_at_every_site_is_played() {
        let done = exhaust(&fake(None), false);
        assert_eq!((done.sites, done.planned, done.played, done.complete()), (3, 4, 4, true));
        assert!(done.findings.failures.is_empty() && done.findings.stale.is_empty());
    }

    #[test]
    fn the_one_bad_value_is_found() {
        let done = exhaust(&fake(Some("c")), false);
        let group = done.findings.failures.values().next().expect("it fails");
        let Schedule::Fixed(list) = &group.first.schedule else { panic!("{:?}", group.first.schedule) };
        assert_eq!((list.len(), &*list[0].site, &list[0].fault), (1, "c", &Fault::LostReply));
        assert!(done.complete());
        assert!(!exhaust(&fake(Some("a")), true).complete(), "the first failure ends it");
    }

    #[test]
    fn a_run_without_sites_is_covered_by_the_calm_run_alone() {
        let done = exhaust(&Fake::default(), false);
        assert_eq!((done.planned, done.complete()), (0, true));
    }
}
