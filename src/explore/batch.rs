//! Some schedules of one subject, played one after the other in one memory, counted, and a share of them checked
//! again in a fresh memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::agree::recheck;
use super::aim::Aim;
use super::contain::contain;
use super::pool::{Bench, Done, Merge};
use super::{Cause, Divergence, Failure, Fingerprint, Group, Listener, News, Panic, Player, Sample, Subject};
use crate::check::{Cells, Moments, Sometimes};
use crate::kernel::Name;
use crate::scenario::{Options, Outcome};
use crate::sim::{Deviation, FaultKind, Schedule};

/// One schedule in so many is checked again, and its replays are judged; so is every failure.
pub(super) const RECHECKED_ONE_IN: u64 = 64;

/// Which of [`RECHECKED_ONE_IN`] numbers is checked again: a fixed mix of theirs, so that however seeds are shared by
/// remainder, each share has about as many of these.
fn share_of(numbers: u64) -> u64 {
    numbers.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECHECKED_ONE_IN.ilog2())
}

/// What was counted over the schedules of one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Schedules played (those played again to check determinism are not counted).
    pub schedules: u64,
    /// Schedules that broke a promise.
    pub failing: u64,
    /// Schedules that were played again in a fresh world.
    pub rechecked: u64,
    /// Deviations that came about, over all schedules.
    pub deviations: u64,
    /// Schedules in which a lease was lost.
    pub with_lost_lease: u64,
    /// Events, over all schedules.
    pub events: u64,
    /// Calls, over all schedules.
    pub calls: u64,
    /// How often each kind of fault came about.
    pub faults: BTreeMap<FaultKind, u64>,
    /// The *sometimes* properties that were reached.
    pub reached: BTreeSet<Sometimes>,
    /// Which kinds of fault struck which calls in which phase.
    pub covered: Cells,
    /// Which calls came up in which phase.
    pub moments: Moments,
}

impl Tally {
    fn count(&mut self, outcome: &Outcome) {
        self.schedules += 1;
        self.failing += u64::from(!outcome.held());
        self.deviations += outcome.deviations.len() as u64;
        self.with_lost_lease += u64::from(outcome.lost_leases > 0);
        self.events += outcome.events;
        self.calls += outcome.calls;
        for deviation in &outcome.deviations {
            *self.faults.entry(deviation.fault.kind()).or_default() += 1;
        }
        self.reached.extend(outcome.reached.iter().copied());
        self.covered.add(&outcome.covered);
        self.moments.add(&outcome.moments);
    }

    /// Adds the counts of other schedules.
    pub fn add(&mut self, other: &Tally) {
        self.schedules += other.schedules;
        self.failing += other.failing;
        self.rechecked += other.rechecked;
        self.deviations += other.deviations;
        self.with_lost_lease += other.with_lost_lease;
        self.events += other.events;
        self.calls += other.calls;
        for (kind, count) in &other.faults {
            *self.faults.entry(*kind).or_default() += count;
        }
        self.reached.extend(other.reached.iter().copied());
        self.covered.add(&other.covered);
        self.moments.add(&other.moments);
    }
}

/// Schedules of one subject that are done, and what came of them.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The subject's place in the list that was given.
    pub subject: usize,
    /// The seeds from the first to the last that was played; empty where schedules have none: the file's list, and the calm
    /// one. With shards only those of the shard were played.
    pub seeds: Range<u64>,
    /// The counts.
    pub tally: Tally,
    /// The failures by their cause.
    pub failures: BTreeMap<Cause, Group>,
}

/// A schedule whose world panicked.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The place of the subject in the list that was given.
    pub subject: usize,
    /// What was played.
    pub schedule: Schedule,
    /// What was caught.
    pub panic: Panic,
}

/// What an exploration found, whatever chose the schedules.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The counts, by the subject's place.
    pub tallies: BTreeMap<usize, Tally>,
    /// The failures, by the subject's place and their cause.
    pub failures: BTreeMap<(usize, Cause), Group>,
    /// The first schedule that gave two histories.
    pub divergence: Option<Box<Divergence>>,
    /// The first schedule whose world panicked.
    pub broken: Option<Box<Broken>>,
    /// The first schedule of each subject that lists a site which never came up, and what it lists in vain.
    pub stale: BTreeMap<usize, Stale>,
    divergence_order: u64,
    broken_order: u64,
}

/// A schedule that lists sites which never came up.
#[derive(Clone, Debug)]
pub struct Stale {
    /// The sites: of what was listed in vain, or what a hold waited for in vain.
    pub sites: Vec<Name>,
    order: u64,
}

impl Findings {
    /// The counts over all subjects.
    pub fn total(&self) -> Tally {
        self.tallies.values().fold(Tally::default(), |mut total, tally| {
            total.add(tally);
            total
        })
    }

    /// Whether something failed that is not known.
    pub fn violated(&self) -> bool {
        self.failures.values().any(|group| group.samples().iter().any(|sample| !sample.known))
    }

    pub(super) fn fail(&mut self, sample: Sample) {
        self.join_group((sample.failure.subject, sample.failure.cause()), Group::of(sample));
    }

    fn note_stale(&mut self, subject: usize, stale: Stale) {
        if self.stale.get(&subject).is_none_or(|known| stale.order < known.order) {
            self.stale.insert(subject, stale);
        }
    }

    fn join_group(&mut self, key: (usize, Cause), group: Group) {
        match self.failures.get_mut(&key) {
            None => {
                self.failures.insert(key, group);
            }
            Some(known) => known.join(group),
        }
    }
}

impl Merge for Findings {
    fn merge(&mut self, other: Self) {
        for (subject, tally) in other.tallies {
            self.tallies.entry(subject).or_default().add(&tally);
        }
        for (key, group) in other.failures {
            self.join_group(key, group);
        }
        for (subject, stale) in other.stale {
            self.note_stale(subject, stale);
        }
        if other.divergence.is_some() && (self.divergence.is_none() || other.divergence_order < self.divergence_order) {
            (self.divergence, self.divergence_order) = (other.divergence, other.divergence_order);
        }
        if other.broken.is_some() && (self.broken.is_none() || other.broken_order < self.broken_order) {
            (self.broken, self.broken_order) = (other.broken, other.broken_order);
        }
    }
}

/// What a thread keeps from batch to batch.
#[derive(Default)]
pub(super) struct Hand<'a> {
    players: BTreeMap<usize, Box<dyn Player + 'a>>,
    told: BTreeSet<(usize, Cause)>,
}

/// Schedules of one subject that are played one after the other.
pub(super) struct Batch<'a, 'b> {
    pub(super) subject: &'a dyn Subject,
    /// The subject's place in the list that was given.
    pub(super) place: usize,
    /// Which failures count.
    pub(super) aim: &'b Aim,
    /// Whether the first failure that is not known ends the exploration.
    pub(super) fail_fast: bool,
    /// The order of the first schedule in the exploration.
    pub(super) order: u64,
    /// The number of the first schedule among those of this subject. The number of a seed is the seed.
    pub(super) number: u64,
    /// The number of the last one of them all, which is checked again whatever it is.
    pub(super) last_number: u64,
    /// Whether a hold whose call was held, and awaits one that never comes, is as good as any other.
    pub(super) may_wait: bool,
}

/// Plays a schedule; `closely`, or where it fails, its replays are judged, too.
fn play(player: &mut dyn Player, schedule: &Schedule, closely: bool) -> Outcome {
    if closely {
        return player.examine(schedule, Options::default());
    }
    let outcome = player.play(schedule, Options::default());
    if outcome.held() {
        return outcome;
    }
    let violations = player.examine(schedule, Options::default()).violations;
    Outcome { violations, ..outcome }
}

/// Plays the calm schedule of a subject closely, and notes what comes of it before all else; it is not counted among the
/// schedules. The failure, if it is one of those that count.
pub(super) fn judge_calm<'f>(
    subject: &dyn Subject,
    place: usize,
    aim: &Aim,
    found: &'f mut Findings,
    listener: &mut Listener<'_>,
) -> Option<&'f Sample> {
    let schedule = Schedule::Calm;
    match contain(|| subject.player().examine(&schedule, Options::default())) {
        Ok(mut outcome) => {
            aim.apply(subject.name(), &mut outcome);
            if outcome.held() {
                return None;
            }
            let failure = Failure { subject: place, schedule, outcome };
            let cause = failure.cause();
            let minimum = aim.known.asks_for_minimum(subject.name(), &cause);
            let minimum = minimum.then(|| Fingerprint::of(&failure.outcome));
            let known = aim.known.covers(subject.name(), &cause, None).is_some();
            if !known {
                listener(News::Failed(Box::new(failure.clone())));
            }
            found.fail(Sample { failure, minimum, known, order: 0 });
            found.failures.get(&(place, cause)).map(|group| &group.samples()[0])
        }
        Err(panic) => {
            found.broken.get_or_insert_with(|| Box::new(Broken { subject: place, schedule, panic }));
            None
        }
    }
}

/// A schedule that is to be played again, and its place in the batch.
struct Again {
    nth: usize,
    outcome: Outcome,
}

impl<'a> Batch<'a, '_> {
    /// Plays them, until one ends the exploration or the bench is halted.
    pub(super) fn play(&self, hand: &mut Hand<'a>, schedules: &[Schedule], bench: &Bench<'_>) -> Done<Findings> {
        let mut found = Findings::default();
        let mut tally = Tally::default();
        let mut again = Vec::new();
        let mut last = false;
        for (nth, schedule) in schedules.iter().enumerate() {
            if bench.halted() || last {
                break;
            }
            let subject = self.subject;
            let player = hand.players.entry(self.place).or_insert_with(|| subject.player());
            let in_share = self.in_share(nth, schedule);
            let closely = in_share || *schedule == Schedule::Calm;
            let mut outcome = match contain(|| play(player.as_mut(), schedule, closely)) {
                Ok(outcome) => outcome,
                Err(panic) => {
                    hand.players.remove(&self.place);
                    self.note_panic(&mut found, nth, schedule, panic);
                    last = true;
                    break;
                }
            };
            self.aim.apply(subject.name(), &mut outcome);
            tally.count(&outcome);
            let stale = outcome.stale.iter().filter(|stale| self.is_stale(stale, &outcome));
            let sites: Vec<Name> = stale.map(|stale| stale.missing(&outcome.deviations).clone()).collect();
            if !sites.is_empty() {
                found.note_stale(self.place, Stale { sites, order: self.order + nth as u64 });
            }
            if !outcome.held() {
                let known = self.note_failure(&mut found, hand, nth, schedule, &outcome, bench);
                last = self.fail_fast && !known;
            }
            if !outcome.held() || in_share {
                again.push(Again { nth, outcome });
            }
        }
        tally.rechecked = again.len() as u64;
        last |= self.check_again(&mut found, schedules, again);
        bench.tell(News::Played(tally.schedules));
        self.tell_finished(schedules, &tally, &found, bench);
        found.tallies.insert(self.place, tally);
        Done { result: found, last }
    }

    fn tell_finished(&self, schedules: &[Schedule], tally: &Tally, found: &Findings, bench: &Bench<'_>) {
        let seed = |nth: usize| match schedules.get(nth) {
            Some(Schedule::Seed(seed)) => Some(*seed),
            _ => None,
        };
        let Some(last) = (tally.schedules as usize).checked_sub(1) else { return };
        let seeds = seed(0).zip(seed(last)).map_or(0..0, |(first, last)| first..last.saturating_add(1));
        let failures = found.failures.iter().map(|((_, cause), group)| (cause.clone(), group.clone())).collect();
        let finished = Finished { subject: self.place, seeds, tally: tally.clone(), failures };
        bench.tell(News::Finished(Box::new(finished)));
    }

    /// Whether what was listed in vain makes its schedule stale.
    fn is_stale(&self, listed: &Deviation, outcome: &Outcome) -> bool {
        !self.may_wait || *listed.missing(&outcome.deviations) == listed.site
    }

    /// Whether a schedule is checked again: one of every so many, another place in each of these.
    fn in_share(&self, nth: usize, schedule: &Schedule) -> bool {
        let number = match schedule {
            Schedule::Seed(seed) => *seed,
            _ => self.number + nth as u64,
        };
        number % RECHECKED_ONE_IN == share_of(number / RECHECKED_ONE_IN) || number == self.last_number
    }

    fn note_panic(&self, found: &mut Findings, nth: usize, schedule: &Schedule, panic: Panic) {
        found.broken_order = self.order + nth as u64;
        found.broken = Some(Box::new(Broken { subject: self.place, schedule: schedule.clone(), panic }));
    }

    /// Whether the failure is known.
    fn note_failure(
        &self,
        found: &mut Findings,
        hand: &mut Hand<'_>,
        nth: usize,
        schedule: &Schedule,
        outcome: &Outcome,
        bench: &Bench<'_>,
    ) -> bool {
        let failure = Failure { subject: self.place, schedule: schedule.clone(), outcome: outcome.clone() };
        let cause = failure.cause();
        let minimum = self.minimum(&failure, &cause);
        let last = minimum.as_ref().and_then(|minimum| minimum.last.as_ref()).map(ToString::to_string);
        let known = self.aim.known.covers(self.subject.name(), &cause, last.as_deref()).is_some();
        if !known && hand.told.insert((self.place, cause)) {
            bench.tell(News::Failed(Box::new(failure.clone())));
        }
        found.fail(Sample { failure, minimum, known, order: self.order + nth as u64 });
        known
    }

    /// What tells a failure from others with its cause, where what is known asks for it.
    fn minimum(&self, failure: &Failure, cause: &Cause) -> Option<Fingerprint> {
        if !self.aim.known.asks_for_minimum(self.subject.name(), cause) {
            return None;
        }
        match failure.schedule {
            // What lists its deviations is told by the list.
            Schedule::Fixed(_) => Some(Fingerprint::of(&failure.outcome)),
            _ => self.subject.minimum(failure, self.aim),
        }
    }

    /// Plays the chosen ones again, the last first, in a fresh memory. Whether one ends the exploration.
    fn check_again(&self, found: &mut Findings, schedules: &[Schedule], again: Vec<Again>) -> bool {
        if again.is_empty() {
            return false;
        }
        let mut fresh = self.subject.player();
        for Again { nth, outcome } in again.into_iter().rev() {
            let schedule = &schedules[nth];
            let checked =
                contain(|| recheck(self.subject, self.place, schedule, &schedules[..nth], &outcome, fresh.as_mut()));
            match checked {
                Ok(None) => {}
                Ok(Some(divergence)) => {
                    found.divergence_order = self.order + nth as u64;
                    found.divergence = Some(Box::new(divergence));
                    return true;
                }
                Err(panic) => {
                    self.note_panic(found, nth, schedule, panic);
                    return true;
                }
            }
        }
        false
    }
}
