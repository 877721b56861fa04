//! From a failure of a sweep to the file that plays it again.

use super::line::{FileLine, Shrinking};
use crate::explore::contain::contain;
use crate::explore::shrink::{Limits, Progress, shrink};
use crate::explore::{Aim, Failure, Fingerprint, Panic};
use crate::history::{Header, Record};
use crate::scenario::{Options, Outcome, Runner, Scenario, write};
use crate::sim::{Deviation, Schedule};

/// A file, and what comes of playing it.
#[derive(Clone, Debug)]
pub struct Made {
    /// The file; who makes it gives it its name, its scenario's id and its story.
    pub file: FileLine,
    /// What is known of its world beforehand.
    pub header: Header,
    /// Its history.
    pub records: Vec<Record>,
    /// What came of it, without what was not asked for.
    pub outcome: Outcome,
}

/// Whether a failure of a sweep needs a file: a file's own list plays itself, and what is known, whatever came last, is
/// not looked for.
pub fn needs_file(scenario: &Scenario, failure: &Failure, aim: &Aim) -> bool {
    let known = aim.known.covers(&scenario.name, &failure.cause(), None).is_some();
    matches!(failure.schedule, Schedule::Seed(_)) && !known
}

/// The smallest failure of `scenario` that is like `failure` and is found within `limits`; where there is none, or
/// without limits, the failure as it is. None where its deviations alone do not make it fail as it did.
///
/// # Errors
/// When a world panics.
pub fn make(
    scenario: &Scenario,
    failure: &Failure,
    aim: &Aim,
    limits: Option<&Limits>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Option<Made>, Panic> {
    let shrunk = limits.map(|limits| smallest(scenario, failure, aim, limits, progress)).transpose()?;
    shrunk.flatten().map_or_else(|| as_it_is(scenario, failure, aim), |made| Ok(Some(made)))
}

/// The smallest failure that is like `failure`.
fn smallest(
    scenario: &Scenario,
    failure: &Failure,
    aim: &Aim,
    limits: &Limits,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Option<Made>, Panic> {
    let shrunk = shrink(scenario, failure, aim, limits, progress)?;
    if !shrunk.reproduced {
        return Ok(None);
    }
    let how = Shrinking { replays: shrunk.replays, minimal: shrunk.minimal };
    made(scenario, failure, aim, &shrunk.scenario, Some(how)).map(Some)
}

/// The failure with all its deviations.
fn as_it_is(scenario: &Scenario, failure: &Failure, aim: &Aim) -> Result<Option<Made>, Panic> {
    let cause = failure.cause();
    let file = write::regression(scenario, &failure.outcome.deviations, cause.promise());
    let made = made(scenario, failure, aim, &file, None)?;
    let alike = made.outcome.stale.is_empty() && !made.outcome.held() && Fingerprint::of(&made.outcome).cause == cause;
    Ok(alike.then_some(made))
}

fn made(
    of: &Scenario,
    failure: &Failure,
    aim: &Aim,
    file: &Scenario,
    shrunk: Option<Shrinking>,
) -> Result<Made, Panic> {
    let list = file.deviations.clone().unwrap_or_default();
    let mut records = Vec::new();
    let (header, mut outcome) = contain(|| {
        let mut runner = Runner::new(file);
        let mut note = |record: &Record| records.push(record.clone());
        let options = Options { trace: Some(&mut note), ..Options::default() };
        let outcome = crate::explore::Player::examine(&mut runner, &Schedule::Fixed(list.clone()), options);
        (runner.header(), outcome)
    })?;
    aim.apply(&of.name, &mut outcome);
    let cause = failure.cause();
    let file = FileLine {
        of: String::new(),
        seed: if let Schedule::Seed(seed) = failure.schedule { seed } else { 0 },
        invariant: cause.invariant,
        subject: cause.subject_kind,
        shrunk,
        last: Fingerprint::of(&outcome).last.map(|strike| strike.to_string()),
        deviations: list.iter().map(|deviation| Deviation { key: None, ..deviation.clone() }).collect(),
        story: Vec::new(),
        name: String::new(),
        text: write::text(file),
    };
    Ok(Made { file, header, records, outcome })
}
