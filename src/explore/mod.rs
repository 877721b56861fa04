//! Ways to choose schedules, one file each: [`sweep`], [`exhaust`], [`holds`], [`replay`]; [`mod@shrink`], which makes a
//! failure small; and [`mod@explain`], which varies one that fails. [`recorded`] and [`mod@diff`] look at histories that
//! were written down.
//!
//! Nothing here knows how a world is built or judged: whatever is a [`Subject`] can be explored. Nothing here
//! reads a clock or prints: who calls hears [`News`] and may [`Halt`] the work. What is found depends on the
//! subjects and the seeds alone, never on the number of threads.

mod agree;
pub mod aim;
mod batch;
pub mod contain;
pub mod coverage;
pub mod diff;
pub mod exhaust;
pub mod explain;
mod fidelity;
pub mod files;
mod fingerprint;
mod grid;
mod group;
pub mod holds;
mod pool;
pub mod recorded;
pub mod replay;
pub mod results;
pub mod shrink;
#[cfg(feature = "proptest")]
pub mod strategy;
pub mod sweep;

pub use agree::{Difference, Divergence};
pub use aim::{Aim, Known, KnownFailure};
pub use batch::{Broken, Findings, Finished, Stale, Tally};
pub use contain::Panic;
pub use explain::{Explained, explain};
pub use fidelity::REPLAY_INVARIANTS;
pub use files::{FilesError, Loaded};
pub use fingerprint::{Fingerprint, Strike};
pub use grid::{Shard, ShardError};
pub use group::{Group, Sample};
pub use pool::Halt;

use crate::check::{Cells, Moments, Violation};
use crate::history::Header;
use crate::scenario::{ExpectationResult, Options, Outcome, Runner, Scenario};
use crate::sim::Deviation;
use crate::sim::Schedule;

/// Something whose schedules can be explored: a scenario.
pub trait Subject: Sync {
    /// Its name, as reports have it.
    fn name(&self) -> &str;

    /// The deviations that its file lists, where it lists some: then they are its one schedule.
    fn fixed(&self) -> Option<&[Deviation]>;

    /// The cells that might have been covered, where these calls came up in these phases.
    fn reachable(&self, _moments: &Moments) -> Cells {
        Cells::default()
    }

    /// What the minimum of a failure broke, and what struck last in it; none where the failure has no minimum that fails
    /// in the same way, or none was found. The same failure has the same, whenever it is asked for.
    fn minimum(&self, _failure: &Failure, _aim: &Aim) -> Option<Fingerprint> {
        None
    }

    /// The reusable memory that its schedules are played in, one for each thread.
    fn player(&self) -> Box<dyn Player + '_>;
}

/// Plays schedules of one subject, one after the other. What a schedule gives must not depend on those that
/// were played before: sweeps check it.
pub trait Player {
    /// What is known of the world before it starts.
    fn header(&self) -> Header;

    /// Plays one schedule to its end.
    fn play(&mut self, schedule: &Schedule, options: Options<'_>) -> Outcome;

    /// As [`Player::play`], and judges [`REPLAY_INVARIANTS`] besides, where the player knows how to. It costs several
    /// times as much.
    fn examine(&mut self, schedule: &Schedule, options: Options<'_>) -> Outcome {
        self.play(schedule, options)
    }
}

impl Subject for Scenario {
    fn name(&self) -> &str {
        &self.name
    }

    fn fixed(&self) -> Option<&[Deviation]> {
        self.deviations.as_deref()
    }

    fn reachable(&self, moments: &Moments) -> Cells {
        Scenario::reachable(self, moments)
    }

    fn minimum(&self, failure: &Failure, aim: &Aim) -> Option<Fingerprint> {
        let shrunk = shrink::shrink(self, failure, aim, &shrink::Limits::default(), &mut |_| true).ok()?;
        (shrunk.reproduced && shrunk.minimal).then_some(shrunk.fingerprint)
    }

    fn player(&self) -> Box<dyn Player + '_> {
        Box::new(Runner::new(self))
    }
}

impl Player for Runner {
    fn header(&self) -> Header {
        Runner::header(self)
    }

    fn play(&mut self, schedule: &Schedule, options: Options<'_>) -> Outcome {
        Runner::play(self, schedule, options)
    }

    fn examine(&mut self, schedule: &Schedule, options: Options<'_>) -> Outcome {
        fidelity::examine(self, schedule, options)
    }
}

/// What an exploration tells while it works.
#[derive(Clone, Debug)]
pub enum News {
    /// Nothing new; told several times a second, so that the listener can look at its clock.
    Tick,
    /// So many more schedules were played.
    Played(u64),
    /// The number of schedules ahead is known.
    Planned(u64),
    /// A schedule failed in a way that this thread had not seen before.
    Failed(Box<Failure>),
    /// Some schedules of one subject are done. A failure that ends the exploration may make void what is told of later
    /// ones; each is true all the same.
    Finished(Box<Finished>),
}

/// Who listens to [`News`]; the answer [`Halt`] ends the work after the schedules that are being played.
pub type Listener<'a> = dyn FnMut(News) -> Option<Halt> + 'a;

/// A schedule that broke a promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The place of the subject in the list that was given.
    pub subject: usize,
    /// What was played.
    pub schedule: Schedule,
    /// What came of it.
    pub outcome: Outcome,
}

impl Failure {
    /// What was broken first, and for whom.
    pub fn cause(&self) -> Cause {
        Cause::of(&self.outcome)
    }

    /// The name of what is kept of it, a failure of `scenario`: what was broken and the schedule that broke it, in
    /// characters that every file system takes.
    pub fn name(&self, scenario: &str) -> String {
        let Cause { invariant, .. } = self.cause();
        let schedule = match &self.schedule {
            Schedule::Calm => "calm".to_owned(),
            Schedule::Seed(seed) => format!("seed-{seed}"),
            Schedule::Fixed(_) => format!("digest-{}", self.outcome.digest.get(..12).unwrap_or("none")),
        };
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '-' };
        format!("{scenario}-{invariant}-{schedule}").chars().map(plain).collect()
    }
}

/// What was broken, without what differs between two occurrences of the same failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// The invariant's name; `expectation` for an expectation of the scenario.
    pub invariant: String,
    /// The kind of subject: its leading word without numbers; the expectation's text for an expectation.
    pub subject_kind: String,
}

impl Cause {
    /// Whether it shows only where replays are judged: [`Player::examine`].
    pub fn is_of_replays(&self) -> bool {
        REPLAY_INVARIANTS.iter().any(|invariant| invariant.name == self.invariant)
    }

    /// The promise by itself: the invariant, or the text of the expectation.
    pub fn promise(&self) -> &str {
        if self.invariant == aim::EXPECTATION { &self.subject_kind } else { &self.invariant }
    }

    /// Whether an outcome breaks this, whatever else it breaks.
    pub fn is_in(&self, outcome: &Outcome) -> bool {
        Cause::all(outcome).any(|cause| cause == *self)
    }

    /// All that an outcome breaks.
    pub fn all(outcome: &Outcome) -> impl Iterator<Item = Cause> + '_ {
        let missed = outcome.expectations.iter().filter(|expectation| !expectation.held);
        outcome.violations.iter().map(Cause::of_violation).chain(missed.map(Cause::of_expectation))
    }

    /// The earliest violation of an outcome, else the first expectation that does not hold.
    pub fn of(outcome: &Outcome) -> Cause {
        if let Some(first) = outcome.violations.iter().min_by_key(|violation| violation.at) {
            return Cause::of_violation(first);
        }
        let missed = outcome.expectations.iter().find(|expectation| !expectation.held);
        missed.map_or_else(|| Cause::expectation(""), Cause::of_expectation)
    }

    fn violation(invariant: &str, subject: &str) -> Cause {
        Cause { invariant: invariant.to_owned(), subject_kind: subject_kind(subject).to_owned() }
    }

    fn expectation(text: &str) -> Cause {
        Cause { invariant: aim::EXPECTATION.to_owned(), subject_kind: text.to_owned() }
    }

    fn of_violation(violation: &Violation) -> Cause {
        Cause::violation(violation.invariant, &violation.subject)
    }

    fn of_expectation(expectation: &ExpectationResult) -> Cause {
        Cause::expectation(&expectation.text)
    }
}

/// `billing#1`, `billing#2` and `billing/ann#1` are of the kind `billing`; an effect, a run and a message of a run, known
/// by their ids, are
/// of the kinds `effect`, `run` and `message`; what else begins with a number is of its own kind.
fn subject_kind(subject: &str) -> &str {
    const EFFECT_DIGITS: usize = 16;
    const RUN_DIGITS: usize = 32;
    match subject.bytes().take_while(u8::is_ascii_hexdigit).count() {
        EFFECT_DIGITS if subject.len() == EFFECT_DIGITS => return "effect",
        RUN_DIGITS if subject.len() == RUN_DIGITS => return "run",
        RUN_DIGITS if subject[RUN_DIGITS..].starts_with('.') => return "message",
        _ => {}
    }
    let is_end = |letter: char| letter.is_ascii_digit() || letter == '#' || letter == '/';
    let end = subject.find(is_end).unwrap_or(subject.len());
    let kind = subject[..end].trim_end_matches(|letter: char| !letter.is_alphanumeric());
    if kind.is_empty() { subject } else { kind }
}

/// A schedule for a sentence.
pub(crate) fn in_words(schedule: &Schedule) -> String {
    match schedule {
        Schedule::Calm => "the calm schedule".to_owned(),
        Schedule::Seed(seed) => format!("seed {seed}"),
        Schedule::Fixed(list) if list.len() == 1 => format!("the deviation at `{}`", list[0].site),
        Schedule::Fixed(list) if list.len() == 2 => {
            format!("the deviations at `{}` and `{}`", list[0].site, list[1].site)
        }
        Schedule::Fixed(list) => format!("{} listed deviations", list.len()),
    }
}

#[cfg(test)]
pub(crate) mod fake;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_subject_is_what_two_occurrences_share() {
        let cases = [
            ("billing#1", "billing"),
            ("billing/ann", "billing"),
            ("hand/boss#1.0#1", "hand"),
            ("message order-3", "message order"),
            ("w2.0", "w"),
            ("0196bfed", "0196bfed"),
            ("985c73625b66916b", "effect"),
            ("ab5c73625b66916b", "effect"),
            ("0196bfedab5c73620196bfedab5c7362", "run"),
            ("0196bfedab5c73620196bfedab5c7362.3", "message"),
            ("", ""),
        ];
        for (subject, kind) in cases {
            assert_eq!(subject_kind(subject), kind);
        }
    }

    #[test]
    fn the_cause_of_a_failure_is_its_earliest_violation() {
        let mut outcome = fake::held();
        outcome.violations = vec![fake::violation("log-dense", 9), fake::violation("inbox-once", 3)];
        assert_eq!(Cause::of(&outcome).invariant, "inbox-once");
    }
}
