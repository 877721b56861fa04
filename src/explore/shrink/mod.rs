//! From a failure to the smallest one that is still the same: first its deviations, then its scenario.
//!
//! - `ddmin`: drops what a list does not need.
//! - `anchor`: finds the site of a deviation again after what came before it was dropped.
//! - `elsewhere`: puts fewer of the same kinds together anew, at other sites.
//! - `values`: simpler values of a fault.
//! - `alone`: tries every single deviation of the calm run in place of several.
//! - `deviations`: these in turn, until nothing changes.
//! - `edits`, `scenario`: smaller documents, and which of them keep the failure.
//! - `trial`: plays what they ask for, none twice, and tells whether the failure is the same.
//!
//! Two failures are the same while their [`Cause`] is. Nothing here is drawn at random: the same failure is shrunk to
//! the same minimum.

mod alone;
mod anchor;
mod ddmin;
pub(crate) mod deviations;
mod edits;
mod elsewhere;
mod scenario;
mod trial;
mod values;

use self::alone::alone;
use self::deviations::{Oracle, is_minimal, minimize};
use self::elsewhere::{anew, of_kinds, of_strikes};
use self::trial::{Account, Stop, Target, Trial};
use super::contain::contain;
use super::exhaust::Covered;
use super::{Aim, Cause, Failure, Fingerprint, Panic, Player};
use crate::scenario::write::{bare, regression};
use crate::scenario::{Options, Outcome, Runner, Scenario};
use crate::sim::{Deviation, Schedule};

/// The most single deviations that are tried in place of several. Of more an even share is taken.
const SINGLES_MOST: usize = 5_000;

/// The most schedules that are played each time to find two deviations, or three, in place of more: of kinds that the
/// failure has, and of any.
const ANEW_MOST: usize = 20_000;
const ANEW_OF_ANY_MOST: usize = 5_000;

/// How much may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most schedules that are played.
    pub replays: u64,
    /// Whether the scenario is made smaller, too, once its deviations are few.
    pub scenario: bool,
    /// Whether one deviation of any kind may stand in for several: the failure becomes as small as its cause allows, perhaps
    /// for another reason. Where known failures of the cause are told by their last deviation, none may: else what is
    /// known would hide what is not.
    pub alone: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { replays: 100_000, scenario: true, alone: true }
    }
}

/// What is being made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The deviations.
    Deviations,
    /// The deviations: others, and fewer, are tried in their place.
    Alone,
    /// The scenario.
    Scenario,
    /// Nothing more: that it is minimal is checked.
    Check,
}

/// How far a shrinking is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being made smaller.
    pub phase: Phase,
    /// The deviations left.
    pub deviations: usize,
    /// Schedules played so far.
    pub replays: u64,
}

/// The smallest failure that was found.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The scenario of the minimum: its `deviations` are the list, its document is the file that plays it again.
    pub scenario: Scenario,
    /// What comes of it, its replays judged; what was not asked for is left out.
    pub outcome: Outcome,
    /// The deviations, in the order in which they come about.
    pub deviations: Vec<Deviation>,
    /// What failures that are the same have in common.
    pub fingerprint: Fingerprint,
    /// Deviations of the failure that was given.
    pub before: usize,
    /// Deviations that are left.
    pub after: usize,
    /// Schedules that were played.
    pub replays: u64,
    /// Whether every list that lacks one of the deviations was played, and none fails in the same way.
    pub minimal: bool,
    /// Where two or more are left: how many of the schedules of one deviation that `exhaust` would play of the scenario of
    /// the minimum were played. None of them fails in the same way.
    pub singles: Option<Covered>,
    /// Where one deviation stands in for several of which none could be dropped: how many these were.
    pub stands_for: Option<usize>,
    /// Whether the deviations of the failure that was given, played as a list, fail as it did. If not, nothing was made
    /// smaller, and the rest is what the list gave.
    pub reproduced: bool,
}

/// Makes `failure`, a failure of `scenario`, as small as it gets. What `aim` does not ask for breaks nothing here: where it
/// asks for one invariant, others may be broken before it. `progress` hears of every replay before it is made, and
/// answers whether to go on; what was found until then is given.
///
/// A failure of the calm schedule that only `expect_calm` sees is given as one of `expect`, under an empty list.
///
/// # Errors
/// When a world panics.
pub fn shrink(
    scenario: &Scenario,
    failure: &Failure,
    aim: &Aim,
    limits: &Limits,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Shrunk, Panic> {
    let before = failure.outcome.deviations.len();
    let target = Target::of(&scenario.name, &failure.outcome, aim);
    let start = Progress { phase: Phase::Deviations, deviations: before, replays: 0 };
    let mut account = Account { limits, listener: progress, progress: start };
    let mut best = Best::of(scenario, failure);
    best.alone = limits.alone && !aim.known.asks_for_minimum(&scenario.name, target.cause());
    let reproduced = match best.make_smaller(&target, &mut account) {
        Ok(()) | Err(Stop::Spent) => best.reproduced,
        Err(Stop::Panicked(panic)) => return Err(panic),
    };
    let replays = account.progress.replays;
    let Best { scenario: smallest, deviations, minimal, singles, stands_for, .. } = best;
    let of = &scenario.name;
    let scenario = regression(&smallest, &deviations, target.cause().promise());
    let schedule = Schedule::Fixed(deviations.clone());
    let mut outcome = contain(|| Runner::new(&scenario).examine(&schedule, Options::default()))?;
    aim.apply(of, &mut outcome);
    let fingerprint = Fingerprint::of(&outcome);
    let after = deviations.len();
    Ok(Shrunk {
        scenario,
        outcome,
        deviations,
        fingerprint,
        before,
        after,
        replays,
        minimal,
        singles,
        stands_for,
        reproduced,
    })
}

/// Looks for two deviations in place of more, of the same kinds and then of any; then for three of the same strikes.
/// Whether some were found.
fn last_resorts(trial: &mut Trial<'_, '_>, current: &mut Vec<Deviation>) -> Result<bool, Stop> {
    let (kinds, strikes) = (of_kinds(current), of_strikes(current));
    Ok(anew(trial, &kinds, 2, ANEW_MOST, current)?
        || anew(trial, &|_| true, 2, ANEW_OF_ANY_MOST, current)?
        || (current.len() > 3 && anew(trial, &strikes, 3, ANEW_MOST, current)?))
}

/// The smallest failure so far.
struct Best {
    scenario: Scenario,
    deviations: Vec<Deviation>,
    reproduced: bool,
    minimal: bool,
    alone: bool,
    singles: Option<Covered>,
    stands_for: Option<usize>,
}

impl Best {
    fn of(scenario: &Scenario, failure: &Failure) -> Best {
        Best {
            scenario: bare(scenario, failure.schedule == Schedule::Calm),
            deviations: failure.outcome.deviations.clone(),
            reproduced: false,
            minimal: false,
            alone: false,
            singles: None,
            stands_for: None,
        }
    }

    fn make_smaller(&mut self, target: &Target, account: &mut Account<'_>) -> Result<(), Stop> {
        let mut trial = Trial::new(&self.scenario, target, account);
        let Some(taken) = trial.fails(&self.deviations)? else { return Ok(()) };
        (self.deviations, self.reproduced) = (taken, true);
        self.make_fewer(&mut trial)?;
        loop {
            if account.limits.scenario {
                scenario::make_smaller(self, target, account)?;
            }
            let left = self.deviations.len();
            if left < 3 || !self.alone {
                return Ok(());
            }
            account.enter(Phase::Alone);
            let mut trial = Trial::new(&self.scenario, target, account);
            if !last_resorts(&mut trial, &mut self.deviations)? {
                return Ok(());
            }
            (self.stands_for, self.minimal, self.singles) = (Some(left), false, None);
            self.make_fewer(&mut trial)?;
        }
    }

    /// Makes the deviations of its scenario, which `trial` plays, few and simple, and checks that none can be dropped.
    fn make_fewer(&mut self, trial: &mut Trial<'_, '_>) -> Result<(), Stop> {
        loop {
            trial.account.enter(Phase::Deviations);
            minimize(trial, &mut self.deviations)?;
            trial.account.enter(Phase::Check);
            self.minimal = is_minimal(trial, &self.deviations)?;
            let left = self.deviations.len();
            if left < 2 || !self.alone {
                return Ok(());
            }
            trial.account.enter(Phase::Alone);
            self.singles = alone(trial, self.scenario.runtime.lease, SINGLES_MOST, &mut self.deviations)?;
            if self.singles.is_some() {
                return Ok(());
            }
            (self.stands_for, self.minimal) = (Some(left), false);
        }
    }
}
