//! Liveness: somebody moves every live run, the healed world converges, and serves again.

use super::facts::{Facts, Run, RunAt};
use super::scheduler::queue::satisfied;
use super::verdict::{Judge, Rule};
use crate::kernel::{Body, RunId, RunStatus, Timestamp, Wait};

/// The most events that a run may have at one instant.
pub const EVENTS_PER_INSTANT_MAX: u32 = 10_000;

/// `bounded`: counts an event of a run.
pub fn count(facts: &mut Facts, judge: &mut Judge<'_>, run: RunAt) {
    let (instant, count) = &mut facts.runs[run].instant;
    if *instant == judge.at {
        *count += 1;
        if *count > EVENTS_PER_INSTANT_MAX {
            judge.violated(
                Rule::Bounded,
                facts.name(run),
                format_args!("more than {EVENTS_PER_INSTANT_MAX} events at one instant"),
            );
        }
    } else {
        (*instant, *count) = (judge.at, 1);
    }
}

/// `progress-owner`, in a quiescent world: nothing is in flight and nothing scheduled, so nobody will move a live run
/// unless it sleeps as it may: halted, or with a wait list of which nothing is satisfied and no wait is for a time, or
/// for a child that does not live.
/// Before healing a queued or leased run may wait for workers to come back. As applied.
pub fn quiescent(facts: &Facts, judge: &mut Judge<'_>) {
    let healed = facts.phases.healed;
    for (place, run) in facts.runs.iter() {
        let owed = match run.status {
            Some(RunStatus::Pending) if healed => "it is queued",
            Some(RunStatus::Running) if healed => "it is leased",
            Some(RunStatus::Suspended) if !run.halted => {
                if satisfied(facts, run, judge.at).is_some() {
                    "a wait of it is satisfied"
                } else if let Some(child) = lost_child(facts, run) {
                    let name = facts.name(place);
                    judge.violated(
                        Rule::ProgressOwner,
                        name,
                        format_args!("the world is at rest, it waits for run {child}, and that one will never end"),
                    );
                    continue;
                } else if healed && run.waits.iter().any(|wait| matches!(wait, Wait::Time(_))) {
                    "it waits for a time"
                } else {
                    continue;
                }
            }
            _ => continue,
        };
        judge.violated(
            Rule::ProgressOwner,
            facts.name(place),
            format_args!("the world is at rest, {owed}, and nobody will move it"),
        );
    }
}

/// A child that the run waits for and that nobody will bring to an end: it was never created, or it is gone. One that
/// lives is judged for itself.
fn lost_child(facts: &Facts, run: &Run) -> Option<RunId> {
    run.waits.iter().find_map(|wait| match wait {
        Wait::Child(child) => {
            let lives = facts.known_run(*child).is_some_and(|child| facts.runs[child].is_live());
            (!lives).then_some(*child)
        }
        _ => None,
    })
}

/// `converges`: the bound on events was not reached.
pub fn exhausted(judge: &mut Judge<'_>) {
    judge.violated(Rule::Converges, "the world", format_args!("it did not come to rest within its bound of events"));
}

/// `converges`, after healing: every run has ended, by status and log; or sleeps, and the last entry of its own is a
/// `run.suspended` of which no wait is satisfied, or a `run.halted`.
pub fn converged(facts: &Facts, judge: &mut Judge<'_>) {
    for (place, run) in facts.runs.iter() {
        let Some(status) = run.status.filter(|_| !run.kin.swept) else { continue };
        let rests = match status {
            RunStatus::Suspended => match run.log.own_end() {
                Some(Body::RunSuspended { .. }) => !run.halted && satisfied(facts, run, judge.at).is_none(),
                Some(Body::RunHalted { .. }) => run.halted,
                _ => false,
            },
            status => status.is_terminal() && run.log.closed == Some(status),
        };
        if !rests {
            let last = run.log.own_end().map_or("nothing", Body::kind);
            judge.violated(
                Rule::Converges,
                facts.name(place),
                format_args!("it is {} and its log ends with {last}", status.as_str()),
            );
        }
    }
}

/// `serves-again`: once the probe was sent, a run of the probe agent (type `probe`) completes.
pub fn served(facts: &Facts, judge: &mut Judge<'_>, probed_at: Option<Timestamp>) {
    let Some(probed_at) = probed_at else { return };
    let served = facts.runs.iter().any(|(_, run)| {
        let agent = run.agent.and_then(|agent| facts.agents[agent].id.as_ref());
        agent.is_some_and(|agent| agent.kind() == "probe")
            && run.status == Some(RunStatus::Completed)
            && run.since >= probed_at
    });
    if !served {
        judge.violated(Rule::ServesAgain, "probe", format_args!("sent at {probed_at}, it was never served"));
    }
}
