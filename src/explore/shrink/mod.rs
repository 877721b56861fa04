//! From a failure to the smallest one that is still the same: first its deviations, then its scenario.
//!
//! - `ddmin`: drops what a list does not need.
//! - `anchor`: finds the site of a deviation again after what came before it was dropped.
//! - `elsewhere`: tries the same kinds of fault at other sites, fewer of them.
//! - `values`: simpler values of a fault.
//! - `deviations`: these in turn, until nothing changes.
//! - `edits`, `scenario`: smaller documents, and which of them keep the failure.
//! - `trial`: plays what they ask for, none twice, and tells whether the failure is the same.
//!
//! Two failures are the same while their [`Cause`] is. Nothing here is drawn at random: the same failure is shrunk to
//! the same minimum.

mod anchor;
mod ddmin;
pub(crate) mod deviations;
mod edits;
mod elsewhere;
mod scenario;
mod trial;
mod values;

use self::deviations::{Oracle, is_minimal, minimize};
use self::trial::{Account, Stop, Target, Trial};
use super::contain::contain;
use super::{Aim, Cause, Failure, Fingerprint, Panic, Player};
use crate::scenario::write::{bare, regression};
use crate::scenario::{Options, Outcome, Runner, Scenario};
use crate::sim::{Deviation, Schedule};

/// How much may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most schedules that are played.
    pub replays: u64,
    /// Whether the scenario is made smaller, too, once its deviations are few.
    pub scenario: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { replays: 10_000, scenario: true }
    }
}

/// What is being made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The deviations.
    Deviations,
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
    let target = Target::of(&failure.outcome, aim);
    let start = Progress { phase: Phase::Deviations, deviations: before, replays: 0 };
    let mut account = Account { limits, listener: progress, progress: start };
    let mut best = Best::of(scenario, failure);
    let reproduced = match best.make_smaller(&target, &mut account) {
        Ok(()) | Err(Stop::Spent) => best.reproduced,
        Err(Stop::Panicked(panic)) => return Err(panic),
    };
    let replays = account.progress.replays;
    let Best { scenario, deviations, minimal, .. } = best;
    let scenario = regression(&scenario, &deviations, &target.cause().invariant);
    let schedule = Schedule::Fixed(deviations.clone());
    let mut outcome = contain(|| Runner::new(&scenario).examine(&schedule, Options::default()))?;
    aim.apply(&mut outcome);
    let fingerprint = Fingerprint::of(&outcome);
    let after = deviations.len();
    Ok(Shrunk { scenario, outcome, deviations, fingerprint, before, after, replays, minimal, reproduced })
}

/// The smallest failure so far.
struct Best {
    scenario: Scenario,
    deviations: Vec<Deviation>,
    reproduced: bool,
    minimal: bool,
}

impl Best {
    fn of(scenario: &Scenario, failure: &Failure) -> Best {
        Best {
            scenario: bare(scenario, failure.schedule == Schedule::Calm),
            deviations: failure.outcome.deviations.clone(),
            reproduced: false,
            minimal: false,
        }
    }

    fn make_smaller(&mut self, target: &Target, account: &mut Account<'_>) -> Result<(), Stop> {
        let mut trial = Trial::new(&self.scenario, target, account);
        let Some(taken) = trial.fails(&self.deviations)? else { return Ok(()) };
        (self.deviations, self.reproduced) = (taken, true);
        minimize(&mut trial, &mut self.deviations)?;
        trial.account.enter(Phase::Check);
        self.minimal = is_minimal(&mut trial, &self.deviations)?;
        if account.limits.scenario {
            scenario::make_smaller(self, target, account)?;
        }
        Ok(())
    }
}
