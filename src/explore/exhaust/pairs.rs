//! The schedules of two deviations: after each first, every value at every site that comes later in its run.
//!
//! Work is handed out in pieces of one first each, which lists its later sites anew: no more than one first's pairs
//! are ever held by a thread.

use super::cover::Ranges;
use super::firsts::{Firsts, Listed, Lister};
use super::{Search, values};
use crate::explore::batch::{Broken, Findings, Hand};
use crate::explore::contain::contain;
use crate::explore::pool::{Bench, Done, Merge, work_through};
use crate::explore::{Halt, Listener};
use crate::sim::{Deviation, Schedule};

/// Which schedules of two deviations were played. They are in order: by their first, then by their second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// Pairs that there are.
    pub planned: u64,
    /// Pairs that need not be played: as their second is to strike, their world is in the state of an earlier one.
    pub spared: u64,
    /// Pairs that were played.
    pub played: u64,
    /// Firsts that there are: every schedule of one deviation.
    pub firsts: u64,
    /// Firsts, from the first one on, of which all was played.
    pub firsts_done: u64,
    /// The last of these.
    pub through: Option<Deviation>,
    /// Pairs that were played of other firsts.
    pub beyond: u64,
}

impl Pairs {
    /// Whether each was played or need not be.
    pub fn complete(&self) -> bool {
        self.played + self.spared == self.planned
    }

    fn of(search: &Search<'_>, firsts: &Firsts, played: &Ranges) -> Pairs {
        let unbroken = played.unbroken();
        let done = firsts.offsets[1..].partition_point(|end| *end <= unbroken);
        Pairs {
            planned: firsts.pairs,
            spared: firsts.pairs - firsts.to_play(),
            played: played.count(),
            firsts: search.singles.len() as u64,
            firsts_done: done as u64,
            through: done.checked_sub(1).map(|last| search.single(last)),
            beyond: played.count() - firsts.offsets[done],
        }
    }
}

/// The most pairs of one piece of work.
const PIECE: u64 = 64;

/// What a thread keeps from piece to piece.
struct Keeping<'a> {
    hand: Hand<'a>,
    lister: Lister<'a>,
    listed: Option<(usize, Listed)>,
}

/// What some pieces gave.
#[derive(Default)]
struct Found {
    findings: Findings,
    played: Ranges,
}

impl Merge for Found {
    fn merge(&mut self, other: Self) {
        self.findings.merge(other.findings);
        self.played.merge(other.played);
    }
}

/// Plays all that are to be played.
pub(super) fn play<'a>(
    search: &Search<'a>,
    firsts: &Firsts,
    listener: &mut Listener<'_>,
) -> (Findings, Pairs, Option<Halt>) {
    let pieces = Pieces::of(firsts);
    let keep = || Keeping { hand: Hand::default(), lister: Lister::new(search), listed: None };
    let unit = |keeping: &mut Keeping<'a>, unit: u64, bench: &Bench<'_>| {
        let piece = pieces.piece(firsts, unit);
        piece.play(search, firsts, keeping, bench)
    };
    let (found, halted) = work_through(search.how.jobs, pieces.count(), keep, unit, listener);
    let pairs = Pairs::of(search, firsts, &found.played);
    (found.findings, pairs, halted)
}

/// How the pairs are cut.
pub(super) struct Pieces {
    /// For each first, and at the end: how many pieces there are before it.
    before: Vec<u64>,
}

impl Pieces {
    pub(super) fn of(firsts: &Firsts) -> Pieces {
        let mut before = vec![0];
        for ends in firsts.offsets.windows(2) {
            before.push(before.last().expect("it begins with one") + (ends[1] - ends[0]).div_ceil(PIECE));
        }
        Pieces { before }
    }

    pub(super) fn count(&self) -> u64 {
        *self.before.last().expect("it begins with one")
    }

    pub(super) fn piece(&self, firsts: &Firsts, unit: u64) -> Piece {
        let first = self.before.partition_point(|before| *before <= unit) - 1;
        let from = (unit - self.before[first]) * PIECE;
        let count = firsts.offsets[first + 1] - firsts.offsets[first];
        Piece { first, from, to: count.min(from + PIECE) }
    }
}

/// Some pairs of one first.
pub(super) struct Piece {
    pub(super) first: usize,
    /// Which of its pairs.
    from: u64,
    to: u64,
}

impl Piece {
    fn play<'a>(
        &self,
        search: &Search<'a>,
        firsts: &Firsts,
        keeping: &mut Keeping<'a>,
        bench: &Bench<'_>,
    ) -> Done<Found> {
        if keeping.listed.as_ref().is_none_or(|(first, _)| *first != self.first) {
            match contain(|| keeping.lister.list(search, self.first)) {
                Ok(listed) => keeping.listed = Some((self.first, listed)),
                Err(panic) => return self.broken(search, panic),
            }
        }
        let (_, listed) = keeping.listed.as_ref().expect("it was just listed");
        let schedules = self.schedules(&search.single(self.first), listed);
        let number = firsts.offsets[self.first] + self.from;
        // Behind the calm run and all schedules of one deviation.
        let order = 1 + (search.singles.len() + search.holds.len()) as u64 + number;
        let batch = search.batch(order, number, firsts.to_play() - 1);
        let Done { result: findings, last } = batch.play(&mut keeping.hand, &schedules, bench);
        let mut played = Ranges::default();
        played.add(number, number + findings.total().schedules);
        Done { result: Found { findings, played }, last }
    }

    fn broken(&self, search: &Search<'_>, panic: crate::explore::Panic) -> Done<Found> {
        let schedule = Schedule::Fixed(vec![search.single(self.first)]);
        let mut found = Found::default();
        found.findings.broken = Some(Box::new(Broken { subject: search.place, schedule, panic }));
        Done { result: found, last: true }
    }

    /// The schedules of this piece, in order.
    pub(super) fn schedules(&self, first: &Deviation, listed: &Listed) -> Vec<Schedule> {
        let mut schedules = Vec::with_capacity((self.to - self.from) as usize);
        let mut before = 0;
        for site in listed.later() {
            let here = values(std::slice::from_ref(site));
            let range = self.from.max(before)..self.to.min(before + here);
            for value in range {
                let second = site.deviation(site.faults[(value - before) as usize].clone());
                schedules.push(Schedule::Fixed(vec![first.clone(), second]));
            }
            before += here;
        }
        schedules
    }
}
