//! Falling asleep and waking: the wait list says what the open steps wait for, the store sleeps over just that list,
//! and nothing else wakes the run.

use super::facts::{Facts, How, RunAt, What};
use super::scheduler::queue::satisfied;
use super::verdict::{Judge, Rule};
use crate::kernel::{Body, CallKind, RunId, Step, Wait};

/// `wake-not-lost`, at a `run.suspended`: for each wait that is open in the log the list holds what ends it. Of a
/// signal the log does not tell the name, so any will do. As applied.
pub fn lies_down(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, waits: &[Wait]) {
    for (step, mark) in facts.runs[run].log.steps.iter().enumerate().filter(|(_, mark)| !mark.ended) {
        let is_there = match mark.call {
            Some(CallKind::WaitSignal) => waits.iter().any(|wait| matches!(wait, Wait::Signal(_))),
            Some(CallKind::Receive) => waits.iter().any(|wait| matches!(wait, Wait::Message { .. })),
            Some(CallKind::Ask) => waits.iter().any(|wait| matches!(wait, Wait::Signal(_))),
            Some(CallKind::Join) => {
                let child = facts.runs[run].log.joined(Step(step as u32));
                child.is_some_and(|child| waits.contains(&Wait::Child(child)))
            }
            Some(CallKind::Sleep) => true,
            _ => continue,
        };
        let until = mark.limit.map(|limit| Wait::Time(mark.ts + limit));
        if !is_there || until.as_ref().is_some_and(|until| !waits.contains(until)) {
            judge.violated(
                Rule::WakeNotLost,
                facts.name(run),
                format_args!("it lies down over {waits:?}, and step {step} waits for more, until {until:?}"),
            );
        }
    }
    let children = waits.iter().filter_map(|wait| match wait {
        Wait::Child(child) => Some(*child),
        _ => None,
    });
    for child in children.filter(|child| is_known_end(facts, run, *child)) {
        judge.violated(
            Rule::WakeNotLost,
            facts.name(run),
            format_args!("it lies down to wait for run {child}, whose end stood in its log when it was taken up"),
        );
    }
}

/// Whether the end of a child stood in a log before its last lease entry: then nobody will wake the run for it. One that
/// came later is still woken for, or will be.
fn is_known_end(facts: &Facts, run: RunAt, child: RunId) -> bool {
    let log = &facts.runs[run].log;
    if !log.child(child).is_some_and(|child| child.completed) {
        return false;
    }
    let is_end = |body: &&Body| matches!(body, Body::ChildCompleted { result, .. } if result.run_id == child);
    log.bodies().skip_while(|body| !is_end(body)).any(|body| body.lease_entry().is_some())
}

/// `cause-first`, when a run falls asleep by a release, as applied: over the wait list that its `run.suspended` holds,
/// or, where the log waits for a retry, over a time.
pub fn falls_asleep(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, what: &What, waits: &[Wait]) {
    if !matches!(what, What::Release { how: How::Suspended, .. }) {
        return;
    }
    let right = match facts.runs[run].log.own_end() {
        Some(Body::RunSuspended { waits: logged, .. }) => logged == waits,
        Some(Body::RunRetrying { .. }) => matches!(waits, [Wait::Time(_)]),
        _ => return,
    };
    if !right {
        judge.violated(
            Rule::CauseFirst,
            facts.name(run),
            format_args!("it sleeps over {waits:?}, which its log does not say"),
        );
    }
}

/// `status-follows-log`, when a sleeping run is queued, as applied: by a trigger of its wait list, a cancel, its
/// deadline; a halted one by a cancel, its deadline, a resume or a registration.
pub fn wakes(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, what: &What) {
    let state = &facts.runs[run];
    let over = |wait: &Wait| matches!(wait, Wait::Time(time) if *time <= judge.at);
    let lawful = state.cancelled.is_some()
        || state.deadline.is_some_and(|deadline| deadline <= judge.at)
        || match what {
            What::Resume { .. } | What::Register { .. } => state.halted,
            What::Wake { child: Some(child), .. } => state.waits.contains(&Wait::Child(facts.name(*child))),
            // What is told by any other wake need not be seen elsewhere.
            What::Wake { .. } => !state.halted,
            _ => state.waits.iter().any(over) || satisfied(facts, state, judge.at).is_some(),
        };
    if !lawful {
        judge.violated(
            Rule::StatusFollowsLog,
            facts.name(run),
            format_args!("it was woken though nothing of {:?} is there", state.waits),
        );
    }
}
