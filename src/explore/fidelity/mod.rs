//! Replay fidelity: what cannot be judged from a history alone, because an agent has to be run again.
//!
//! When a schedule is over, the log of each run is cut off at any place, and what is left of it is given to the real
//! runtime with the real agent, over a store that answers from the log and an outside that never answers
//! (`rehearsal`, `answers`). What it asks for is judged (`judge`, `walk`) by the judge's own reading of the log
//! (`prefix`). What agents got while the schedule was played is compared with the logs, too (`heard`).
//!
//! An agent that differs from its log is had by changing the log: one recorded step is given another digest, as if the
//! agent that wrote it had been another one.
//!
//! A rehearsal costs about as much as its prefix is long, so their number is bounded ([`ENTRIES_MOST`]): of more
//! prefixes an even share is taken.

mod answers;
mod cases;
mod heard;
mod judge;
mod nature;
mod prefix;
mod rehearsal;
#[cfg(test)]
mod tests;
mod walk;

use crate::check::Invariant;
use crate::history::Record;
use crate::scenario::{Options, Outcome, Runner};
use crate::sim::{Remains, Schedule};
use cases::Cases;
use heard::Heard;

/// The invariants that are judged here: by playing agents again, not by a [`crate::check::Checker`].
pub const REPLAY_INVARIANTS: [Invariant; 4] = [
    Invariant {
        name: "replay-faithful",
        about: "Every prefix of a log, replayed, takes the same steps and touches nothing up to the first not done.",
        needs_applied: false,
        after_healing: false,
    },
    Invariant {
        name: "replay-divergence",
        about: "An agent that differs from its log is halted before it does anything.",
        needs_applied: false,
        after_healing: false,
    },
    Invariant {
        name: "denied-stable",
        about: "A refusal, or a doubt, is the same on every replay.",
        needs_applied: false,
        after_healing: false,
    },
    Invariant {
        name: "mail-given",
        about: "The mail that an agent got is what its log says, and no message comes twice in one run.",
        needs_applied: false,
        after_healing: false,
    },
];

/// The most entries that are replayed after one schedule, all prefixes together; and as many in changed logs.
pub(super) const ENTRIES_MOST: usize = 50_000;

/// The most changed logs that are replayed after one schedule.
pub(super) const CHANGES_MOST: usize = 256;

/// Plays `schedule`, and judges the replays of its runs besides: what they violate is added to the outcome.
pub(super) fn examine(runner: &mut Runner, schedule: &Schedule, options: Options<'_>) -> Outcome {
    let scenario = runner.scenario().clone();
    let Options { sites, mut trace, remains: mut take } = options;
    let mut heard = Heard::default();
    let mut note = |record: &Record| {
        heard.hear(&record.event);
        if let Some(trace) = &mut trace {
            trace(record);
        }
    };
    let mut cases = None;
    let mut keep = |remains: &Remains| {
        cases = Some(Cases::of(&scenario, remains));
        if let Some(take) = &mut take {
            take(remains);
        }
    };
    let mut outcome = runner.play(schedule, Options { sites, trace: Some(&mut note), remains: Some(&mut keep) });
    if let Some(cases) = cases {
        outcome.violations.extend(cases.judge(&heard));
    }
    outcome
}
