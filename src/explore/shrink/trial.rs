//! Plays lists of deviations over one scenario, none twice, and tells whether the failure is the same.

use std::collections::BTreeMap;

use super::deviations::{Key, Oracle, key};
use super::{Cause, Limits, Phase, Progress};
use crate::explore::aim::{Aim, EXPECTATION};
use crate::explore::contain::contain;
use crate::explore::{Panic, Player};
use crate::kernel::{Name, Span};
use crate::scenario::{Options, Outcome, Runner, Scenario};
use crate::sim::{Deviation, Fault, Schedule, SiteListing};

/// Why no more is played.
#[derive(Debug)]
pub(super) enum Stop {
    /// A world panicked.
    Panicked(Panic),
    /// As many replays as were allowed are done, or the listener wants no more.
    Spent,
}

/// What makes two outcomes the same failure.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The name of the scenario that failed.
    scenario: Name,
    aim: Aim,
    cause: Cause,
    /// What came about in place of an expectation, without its numbers: too few is not the same failure as too many.
    told: Option<String>,
    /// Whether replays must be judged for it to be seen.
    closely: bool,
}

impl Target {
    /// What `outcome` broke of what `aim` asks for.
    pub(super) fn of(scenario: &Name, outcome: &Outcome, aim: &Aim) -> Target {
        let cause = Cause::of(outcome);
        let told = missed(outcome, &cause).map(without_numbers);
        let closely = cause.is_of_replays();
        Target { scenario: scenario.clone(), aim: aim.clone(), cause, told, closely }
    }

    pub(super) fn cause(&self) -> &Cause {
        &self.cause
    }

    /// An outcome without what is not asked for.
    fn aimed(&self, mut outcome: Outcome) -> Outcome {
        self.aim.apply(&self.scenario, &mut outcome);
        outcome
    }

    fn is(&self, outcome: &Outcome) -> bool {
        if outcome.held() {
            return false;
        }
        let cause = Cause::of(outcome);
        cause == self.cause && missed(outcome, &cause).map(without_numbers) == self.told
    }
}

/// What came about in place of the expectation that is the cause, where one is.
fn missed<'a>(outcome: &'a Outcome, cause: &Cause) -> Option<&'a str> {
    let is_cause = |result: &&crate::scenario::ExpectationResult| !result.held && result.text == cause.subject_kind;
    let expected = cause.invariant == EXPECTATION;
    outcome.expectations.iter().find(is_cause).filter(|_| expected).map(|result| &*result.message)
}

/// Every duration, and every number but 0, is `#`.
fn without_numbers(text: &str) -> String {
    let is_duration = |word: &str| word.ends_with(char::is_alphabetic) && word.parse::<Span>().is_ok();
    let plain = |word: &str| if is_duration(word) { "#".to_owned() } else { without_digits(word) };
    text.split(' ').map(plain).collect::<Vec<_>>().join(" ")
}

fn without_digits(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut digits = String::new();
    for letter in text.chars().chain(['\0']) {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        if !digits.is_empty() {
            plain.push(if digits.bytes().all(|digit| digit == b'0') { '0' } else { '#' });
            digits.clear();
        }
        plain.push(letter);
    }
    plain.pop();
    plain
}

/// What came about, where a hold that waited in vain waits for nothing: it plays the same, and no file of it is stale.
/// None where such a hold has no end of its own.
fn without_vain_waits(mut taken: Vec<Deviation>, stale: &[Deviation]) -> Option<Vec<Deviation>> {
    for deviation in &mut taken {
        let in_vain = stale.iter().any(|listed| listed.site == deviation.site);
        let Fault::Hold { until: until @ Some(_), most } = &mut deviation.fault else { continue };
        if in_vain {
            *until = None;
            most.as_ref()?;
        }
    }
    Some(taken)
}

/// What is counted and bounded over all that is played for one shrinking.
pub(super) struct Account<'a> {
    pub(super) limits: &'a Limits,
    pub(super) listener: &'a mut dyn FnMut(&Progress) -> bool,
    pub(super) progress: Progress,
}

impl Account<'_> {
    pub(super) fn enter(&mut self, phase: Phase) {
        self.progress.phase = phase;
    }

    /// Counts one more replay, unless there may be none.
    fn spend(&mut self) -> Result<(), Stop> {
        if self.progress.replays >= self.limits.replays || !(self.listener)(&self.progress) {
            return Err(Stop::Spent);
        }
        self.progress.replays += 1;
        Ok(())
    }
}

/// One scenario whose lists of deviations are played.
pub(super) struct Trial<'a, 'b> {
    scenario: Scenario,
    target: &'a Target,
    pub(super) account: &'a mut Account<'b>,
    played: BTreeMap<Key, Option<Vec<Deviation>>>,
    /// Whether the calm schedule breaks the same promise, in whatever way; none before it was played.
    calm: Option<bool>,
    /// Plays as the file of a list would that makes a timer at most this late: the checks allow for it.
    runner: Option<(Span, Runner)>,
}

impl<'a, 'b> Trial<'a, 'b> {
    /// A trial of `scenario`, whose own faults and deviations do not matter.
    pub(super) fn new(scenario: &Scenario, target: &'a Target, account: &'a mut Account<'b>) -> Trial<'a, 'b> {
        let mut scenario = scenario.clone();
        scenario.faults.plans.clear();
        Trial { scenario, target, account, played: BTreeMap::new(), calm: None, runner: None }
    }

    /// Whether the calm schedule breaks the promise that the failure breaks, in the same way or in another.
    pub(super) fn calm_breaks(&mut self) -> Result<bool, Stop> {
        if self.calm.is_none() {
            self.play(&[], false)?;
        }
        Ok(self.calm == Some(true))
    }

    fn play(&mut self, list: &[Deviation], sites: bool) -> Result<Vec<SiteListing>, Stop> {
        self.account.spend()?;
        let schedule = Schedule::Fixed(list.to_vec());
        let (target, runner) = (self.target, self.runner(list));
        let options = || Options { sites, ..Options::default() };
        let played = contain(|| {
            let mut play = |closely| {
                let (schedule, options) = (&schedule, options());
                let played =
                    if closely { runner.examine(schedule, options) } else { Player::play(runner, schedule, options) };
                target.aimed(played)
            };
            let outcome = play(target.closely);
            // A broken expectation is no cause where a replay violates an invariant.
            if !target.closely && target.told.is_some() && target.is(&outcome) { play(true) } else { outcome }
        });
        let outcome = played.map_err(|panic| {
            self.runner = None;
            Stop::Panicked(panic)
        })?;
        if list.is_empty() {
            self.calm = Some(!outcome.held() && self.target.cause().is_in(&outcome));
        }
        let verdict =
            if self.target.is(&outcome) { without_vain_waits(outcome.deviations, &outcome.stale) } else { None };
        if let Some(taken) = &verdict {
            self.account.progress.deviations = self.account.progress.deviations.min(taken.len());
            // What came about plays as what was listed.
            self.played.insert(key(taken), verdict.clone());
        }
        self.played.insert(key(list), verdict);
        Ok(outcome.sites)
    }

    fn runner(&mut self, list: &[Deviation]) -> &mut Runner {
        let late = list.iter().map(|deviation| match deviation.fault {
            Fault::TimerLate { by } => by,
            _ => Span::ZERO,
        });
        let late = late.fold(Span::ZERO, Span::max);
        if self.runner.as_ref().is_none_or(|(known, _)| *known != late) {
            self.scenario.deviations = Some(list.to_vec());
            self.runner = Some((late, Runner::new(&self.scenario)));
        }
        &mut self.runner.as_mut().expect("it was just made").1
    }
}

impl Oracle for Trial<'_, '_> {
    type Stop = Stop;

    fn fails(&mut self, list: &[Deviation]) -> Result<Option<Vec<Deviation>>, Stop> {
        if let Some(known) = self.played.get(&key(list)) {
            return Ok(known.clone());
        }
        self.play(list, false)?;
        Ok(self.played[&key(list)].clone())
    }

    fn sites(&mut self, list: &[Deviation]) -> Result<Vec<SiteListing>, Stop> {
        self.play(list, true)
    }

    fn workers(&self) -> Vec<Name> {
        self.scenario.runtime.workers.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_that_waits_in_vain_waits_for_nothing() {
        let hold = |site: &str, until: Option<&str>, most| {
            Deviation::named(site, Fault::Hold { until: until.map(Into::into), most })
        };
        let most = Some(Span::from_secs(1));
        let taken = vec![hold("a", Some("gone"), most), hold("b", Some("there"), None)];
        let rest = without_vain_waits(taken.clone(), &taken[..1]);
        assert_eq!(rest, Some(vec![hold("a", None, most), taken[1].clone()]));
        assert_eq!(without_vain_waits(taken.clone(), &taken[1..]), None);
    }

    #[test]
    fn numbers_but_0_do_not_tell_failures_apart() {
        let cases = [
            ("card happened 0 times", "card happened 0 times"),
            ("card happened 12 times", "card happened # times"),
            ("billing#1 is failed", "billing## is failed"),
            ("it took 1m1s162ms43us", "it took #"),
            ("it took 31s318ms103us", "it took #"),
            ("10", "#"),
            ("", ""),
        ];
        for (text, plain) in cases {
            assert_eq!(without_numbers(text), plain);
        }
    }
}
