//! Interleavings by name: all schedules of one hold that can matter, and, where that is wanted, all of two, the second
//! at a call that comes later in the run that has the first.

use super::cover::Ranges;
use super::{BATCH, Covered, Search};
use crate::explore::batch::{Broken, Findings, Hand};
use crate::explore::contain::contain;
use crate::explore::holds::schedules;
use crate::explore::pool::{Bench, Done, Merge, work_through};
use crate::explore::{Halt, Listener, Player};
use crate::scenario::Options;
use crate::sim::{Deviation, Schedule};

/// Which schedules of two holds were played: how many there are of a first is known once it is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TwoHolds {
    /// Schedules that were played.
    pub played: u64,
    /// Firsts that there are: every schedule of one hold.
    pub firsts: u64,
    /// Firsts of which all was played.
    pub firsts_done: u64,
}

impl TwoHolds {
    /// Whether each was played.
    pub fn complete(&self) -> bool {
        self.firsts_done == self.firsts
    }
}

/// The order of the first schedule of two holds, and how many a first may have: behind everything else.
const ORDER: u64 = 1 << 62;
const ORDER_OF_FIRST: u64 = 1 << 24;

/// Plays all of one hold.
pub(super) fn one<'a>(search: &Search<'a>, listener: &mut Listener<'_>) -> (Findings, Covered, Option<Halt>) {
    let planned = search.holds.len() as u64;
    let unit = |hand: &mut Hand<'a>, unit: u64, bench: &Bench<'_>| {
        let number = unit * BATCH;
        let some = &search.holds[number as usize..planned.min(number + BATCH) as usize];
        let some: Vec<Schedule> = some.iter().map(|hold| Schedule::Fixed(vec![hold.clone()])).collect();
        let order = 1 + search.singles.len() as u64 + number;
        search.waiting_batch(order, number, planned - 1).play(hand, &some, bench)
    };
    let (findings, halted) = work_through(search.how.jobs, planned.div_ceil(BATCH), Hand::default, unit, listener);
    let played = findings.total().schedules;
    (findings, Covered { planned, played }, halted)
}

/// What some firsts gave.
#[derive(Default)]
struct Found {
    findings: Findings,
    done: Ranges,
}

impl Merge for Found {
    fn merge(&mut self, other: Self) {
        self.findings.merge(other.findings);
        self.done.merge(other.done);
    }
}

/// What a thread keeps from first to first.
struct Keeping<'a> {
    hand: Hand<'a>,
    lister: Box<dyn Player + 'a>,
}

/// Plays all of two holds.
pub(super) fn two<'a>(search: &Search<'a>, listener: &mut Listener<'_>) -> (Findings, TwoHolds, Option<Halt>) {
    let firsts = search.holds.len() as u64;
    let keep = || Keeping { hand: Hand::default(), lister: search.subject.player() };
    let unit = |keeping: &mut Keeping<'a>, unit: u64, bench: &Bench<'_>| of_first(search, keeping, unit, bench);
    let (found, halted) = work_through(search.how.jobs, firsts, keep, unit, listener);
    let played = found.findings.total().schedules;
    (found.findings, TwoHolds { played, firsts, firsts_done: found.done.count() }, halted)
}

/// Every second hold of one first.
fn of_first<'a>(search: &Search<'a>, keeping: &mut Keeping<'a>, first: u64, bench: &Bench<'_>) -> Done<Found> {
    let hold = &search.holds[first as usize];
    let mut found = Found::default();
    let seconds = match contain(|| later(keeping.lister.as_mut(), hold, search)) {
        Ok(seconds) => seconds,
        Err(panic) => {
            let schedule = Schedule::Fixed(vec![hold.clone()]);
            found.findings.broken = Some(Box::new(Broken { subject: search.place, schedule, panic }));
            return Done { result: found, last: true };
        }
    };
    let count = seconds.len() as u64;
    let order = ORDER + first * ORDER_OF_FIRST;
    let batch = search.waiting_batch(order, first * ORDER_OF_FIRST, u64::MAX);
    let Done { result: findings, last } = batch.play(&mut keeping.hand, &seconds, bench);
    if findings.total().schedules == count {
        found.done.add(first, first + 1);
    }
    found.findings = findings;
    Done { result: found, last }
}

/// The schedules of `hold` and one more, at a call that comes later.
fn later(player: &mut dyn Player, hold: &Deviation, search: &Search<'_>) -> Vec<Schedule> {
    let listing = Options { sites: true, ..Options::default() };
    let first = std::slice::from_ref(hold);
    let sites = player.play(&Schedule::Fixed(first.to_vec()), listing).sites;
    let past = sites.iter().position(|site| site.name == hold.site).map_or(sites.len(), |place| place + 1);
    schedules(first, &sites[past..], search.lease)
}
