//! Every value of its printed list at every site of the calm run, and every hold of a call that can matter: all
//! schedules of one deviation. Then, where that is wanted, all of two values, in order: the second at every site that
//! comes later in the run that has the first; and all of two holds in the same way.
//!
//! The order is that of the sites as they come up, at each site that of its list; all of one deviation before any of
//! two, and these by their first. What is found does not depend on the number of threads.

mod cover;
mod firsts;
mod holds;
mod pairs;
#[cfg(test)]
mod tests;

pub use holds::TwoHolds;
pub use pairs::Pairs;

use super::batch::{Batch, Findings, Hand, judge_calm};
use super::contain::contain;
use super::pool::{Bench, Done, Merge, work_through};
use super::{Aim, Halt, Listener, News, Panic, Subject};
use crate::kernel::Span;
use crate::scenario::{Options, Outcome};
use crate::sim::{Deviation, Schedule, SiteListing};

/// How far to go, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhaust {
    /// The most deviations that a schedule has: 1 or 2.
    pub depth: u8,
    /// The most holds that a schedule has: 0, 1 or 2.
    pub holds: u8,
    /// How many threads; at least one is used.
    pub jobs: usize,
    /// Whether the first failure ends it. What comes before it in the order is still played.
    pub fail_fast: bool,
    /// Whether a pair is spared whose world, as the second deviation is to strike, is in the state of an earlier one.
    pub prune: bool,
}

/// The schedules ahead: known when the calm run is over.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The calm run.
    pub calm: Outcome,
    /// Its sites, in the order in which they came up, each with the values to try there.
    pub sites: Vec<SiteListing>,
}

/// How much was played of what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// Schedules that there are.
    pub planned: u64,
    /// Schedules that were played.
    pub played: u64,
}

impl Covered {
    /// Whether it was all of them.
    pub const fn complete(&self) -> bool {
        self.played == self.planned
    }
}

/// What an exhaust found.
#[derive(Clone, Debug)]
pub struct Exhausted {
    /// Counts, failures, and what broke determinism or chronodrome itself. The calm run is among the failures if it
    /// fails, but not counted. A stale schedule means that a site of an earlier run is gone: determinism is broken.
    pub findings: Findings,
    /// The most deviations that were asked for.
    pub depth: u8,
    /// Sites of the calm run.
    pub sites: u64,
    /// The schedules of one deviation.
    pub singles: Covered,
    /// The schedules of one hold.
    pub holds: Covered,
    /// Those of two holds; none if they were not asked for, or not begun.
    pub two_holds: Option<TwoHolds>,
    /// Whether two holds were asked for.
    pub wants_two_holds: bool,
    /// Those of two; none if they were not asked for, or not begun: how many there are is known only when all of one
    /// have been played.
    pub pairs: Option<Pairs>,
    /// Why it ended before its end, if it did.
    pub halted: Option<Halt>,
}

impl Exhausted {
    /// Whether all was played that was asked for.
    pub fn complete(&self) -> bool {
        let pairs = self.pairs.as_ref().map_or(self.depth < 2, Pairs::complete);
        let holds = self.two_holds.as_ref().map_or(!self.wants_two_holds, TwoHolds::complete);
        self.singles.complete() && self.holds.complete() && pairs && holds
    }

    /// Whether nothing of another depth is to follow.
    fn ends(&self, fail_fast: bool) -> bool {
        let findings = &self.findings;
        let found = fail_fast && !findings.failures.is_empty();
        let faulty = findings.broken.is_some() || findings.divergence.is_some() || !findings.stale.is_empty();
        found || faulty || self.halted.is_some() || !self.singles.complete()
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
        values(&self.sites)
    }

    /// About how many schedules of two deviations there are: as many as if a deviation never brought up a site that
    /// the calm run has not, nor took one away.
    pub fn pairs_about(&self) -> u64 {
        let mut later = self.schedules();
        let mut pairs = 0;
        for site in &self.sites {
            let here = site.faults.len() as u64;
            later -= here;
            pairs += here * later;
        }
        pairs
    }

    /// Plays them all, in parallel; with `fail_fast` only up to the first that fails. The calm run is judged again, its
    /// replays included. What is found is found of the subject at `place` of the caller's list.
    pub fn run(&self, subject: &dyn Subject, place: usize, how: Exhaust, listener: &mut Listener<'_>) -> Exhausted {
        let search = Search::new(self, subject, place, how);
        let (planned, holds) = (self.schedules(), search.holds.len() as u64);
        listener(News::Planned(planned + holds));
        let units = planned.div_ceil(BATCH);
        let (findings, halted) =
            work_through(how.jobs, units, Hand::default, |hand, unit, bench| search.unit(hand, unit, bench), listener);
        let singles = Covered { planned, played: findings.total().schedules };
        let sites = self.sites.len() as u64;
        let mut done = Exhausted {
            findings,
            depth: how.depth,
            sites,
            singles,
            holds: Covered { planned: holds, played: 0 },
            two_holds: None,
            wants_two_holds: how.holds > 1,
            pairs: None,
            halted,
        };
        judge_calm(subject, place, &search.aim, &mut done.findings, listener);
        if holds > 0 && !done.ends(how.fail_fast) {
            let (findings, covered, halted) = holds::one(&search, listener);
            done.findings.merge(findings);
            (done.holds, done.halted) = (covered, halted);
        }
        if how.depth > 1 && !done.ends(how.fail_fast) {
            search.pairs(&mut done, listener);
        }
        if how.holds > 1 && !done.ends(how.fail_fast) {
            let (findings, covered, halted) = holds::two(&search, listener);
            done.findings.merge(findings);
            (done.two_holds, done.halted) = (Some(covered), halted);
        }
        done
    }

    /// Site and value of each schedule of one deviation, in order.
    fn singles(&self) -> Vec<(usize, usize)> {
        let of_site = |(place, site): (usize, &SiteListing)| (0..site.faults.len()).map(move |value| (place, value));
        self.sites.iter().enumerate().flat_map(of_site).collect()
    }
}

/// How many values there are at all these sites.
fn values(sites: &[SiteListing]) -> u64 {
    sites.iter().map(|site| site.faults.len() as u64).sum()
}

/// An exhaust under way.
struct Search<'a> {
    plan: &'a Plan,
    subject: &'a dyn Subject,
    place: usize,
    aim: Aim,
    how: Exhaust,
    /// Site and value of each schedule of one deviation.
    singles: Vec<(usize, usize)>,
    /// The hold of each schedule of one.
    holds: Vec<Deviation>,
    lease: Span,
}

impl<'a> Search<'a> {
    fn new(plan: &'a Plan, subject: &'a dyn Subject, place: usize, how: Exhaust) -> Self {
        let lease = if how.holds > 0 { subject.player().header().lease } else { Span::ZERO };
        let holds = if how.holds > 0 { super::holds::holds(&plan.sites, lease) } else { Vec::new() };
        Search { plan, subject, place, aim: Aim::default(), how, singles: plan.singles(), holds, lease }
    }

    fn unit(&self, hand: &mut Hand<'a>, unit: u64, bench: &Bench<'_>) -> Done<Findings> {
        let number = unit * BATCH;
        let planned = self.singles.len() as u64;
        let range = number as usize..planned.min(number + BATCH) as usize;
        let schedules: Vec<_> = range.map(|single| Schedule::Fixed(vec![self.single(single)])).collect();
        // Order 0 is that of the calm run.
        self.batch(number + 1, number, planned - 1).play(hand, &schedules, bench)
    }

    fn batch(&self, order: u64, number: u64, last_number: u64) -> Batch<'a, '_> {
        let (subject, place, fail_fast) = (self.subject, self.place, self.how.fail_fast);
        Batch { subject, place, aim: &self.aim, fail_fast, order, number, last_number, may_wait: false }
    }

    /// As [`Search::batch`], of schedules whose holds may wait in vain: what is awaited may follow from what is held.
    fn waiting_batch(&self, order: u64, number: u64, last_number: u64) -> Batch<'a, '_> {
        Batch { may_wait: true, ..self.batch(order, number, last_number) }
    }

    /// The deviation of one of the schedules that have one.
    fn single(&self, single: usize) -> Deviation {
        let (site, value) = self.singles[single];
        let site = &self.plan.sites[site];
        site.deviation(site.faults[value].clone())
    }

    /// All of two, after those of one.
    fn pairs(&self, done: &mut Exhausted, listener: &mut Listener<'_>) {
        let look = firsts::look(self, listener);
        done.halted = look.halted;
        match look.firsts {
            Ok(firsts) => {
                listener(News::Planned(done.singles.planned + done.holds.planned + firsts.to_play()));
                let (findings, pairs, halted) = pairs::play(self, &firsts, listener);
                done.findings.merge(findings);
                done.pairs = Some(pairs);
                done.halted = halted;
            }
            Err(None) => {}
            Err(Some(broken)) => done.findings.broken = Some(broken),
        }
    }
}
