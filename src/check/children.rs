//! The end of children: told once and truly to who joins, cancels that reach all below, and no orphans.

use super::facts::{Call, Facts, Party, RunAt, What, worker_of};
use super::sometimes::Sometimes;
use super::verdict::{Judge, Rule};
use crate::kernel::{
    Body, CallKind, Ending, Json, Opening, Retention, RunId, RunResult, RunStatus, RunStatusSummary, Step, Wait,
};

/// At a `child.completed`, as applied. `child-completed-once`: the log announces that child and says nothing of its end
/// yet, and the writer held the child. `cause-first`: the child's log is closed. `join-truth`: it says what the child's
/// terminal entry says.
pub fn completed(
    facts: &mut Facts,
    judge: &mut Judge<'_>,
    from: Option<Party>,
    run: RunAt,
    result: &RunResult,
    is_whole: bool,
) {
    let place = facts.run_at(result.run_id);
    let (name, child) = (result.run_id, &facts.runs[place]);
    let parent = facts.name(run);
    match facts.runs[run].log.child(result.run_id) {
        None => judge.violated(
            Rule::ChildCompletedOnce,
            name,
            format_args!("the log of run {parent} tells its end and does not announce it"),
        ),
        Some(known) if known.completed => judge.violated(
            Rule::ChildCompletedOnce,
            name,
            format_args!("the log of run {parent} tells its end a second time"),
        ),
        Some(_) => {}
    }
    if let Some(from) = from
        && worker_of(from).is_none_or(|worker| child.grant_of(worker).is_none())
    {
        let writer = facts.party_name(from);
        judge.violated(Rule::ChildCompletedOnce, name, format_args!("{writer} told its end and never held it"));
    }
    if child.log.closed.is_none() {
        judge.violated(
            Rule::CauseFirst,
            name,
            format_args!("the log of run {parent} tells its end, and its own log is open"),
        );
    } else if !child.log.bodies().filter_map(Body::ending).any(|ending| says(ending, result, is_whole)) {
        judge.violated(
            Rule::JoinTruth,
            name,
            format_args!("the log of run {parent} tells that it ended as {result:?}, its own log ends otherwise"),
        );
    }
    met(facts, judge, run);
}

/// *Sometimes*: where a parent is when the end of its child comes.
fn met(facts: &Facts, judge: &mut Judge<'_>, parent: RunAt) {
    let state = &facts.runs[parent];
    let has_run_out = state.holder.is_some_and(|holder| holder.expires_at < judge.at) || state.expired.is_some();
    match state.status {
        Some(RunStatus::Suspended) => judge.reached(Sometimes::ChildEndsInSleep),
        Some(RunStatus::Running | RunStatus::Pending) if has_run_out => judge.reached(Sometimes::ChildEndsInReclaim),
        Some(RunStatus::Running) => judge.reached(Sometimes::ChildEndsDuringRun),
        _ => {}
    }
}

/// Whether a result says what a terminal entry says; an output that is kept apart cannot be compared.
pub fn says(ending: &Ending, result: &RunResult, is_whole: bool) -> bool {
    let no_output = result.output.as_ref().is_none_or(|output| output.is_null());
    ending.status() == result.status
        && match ending {
            Ending::Completed { output, .. } => {
                result.error.is_none()
                    && (!is_whole || result.output.as_ref() == Some(output) || (no_output && output.is_null()))
            }
            Ending::Failed { error, .. } => no_output && result.error.as_ref() == Some(error),
            Ending::Cancelled { reason, .. } => no_output && result.error.as_ref() == Some(reason),
        }
}

/// Whether two results are the same: an output of null is none.
pub fn same(one: &RunResult, other: &RunResult) -> bool {
    let output = |result: &RunResult| result.output.clone().filter(|output| !output.is_null());
    let rest = |result: &RunResult| (result.run_id, result.status, result.error.clone(), result.metadata.clone());
    output(one) == output(other) && rest(one) == rest(other)
}

/// `join-truth`, at a `timer.fired`: the log did not tell the end of the joined child already when the step began, or
/// when the lease did that writes this.
pub fn timed_out(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step) {
    let log = &facts.runs[run].log;
    let Some(child) = log.joined(step) else { return };
    judge.reached(Sometimes::JoinTimedOut);
    let mut bodies =
        log.bodies().skip_while(|body| !matches!(body, Body::ChildCompleted { result, .. } if result.run_id == child));
    let known =
        bodies.any(|body| body.lease_entry().is_some() || body.opening().is_some_and(|opening| opening.step == step));
    if known {
        judge.violated(
            Rule::JoinTruth,
            facts.name(run),
            format_args!("step {step} gave up waiting for run {child}, whose end stood in the log"),
        );
    }
}

/// `join-truth`, at what a join gave: nothing where its time is over by the log, else what the log says of the child.
pub fn gave(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, value: &Json) {
    let log = &facts.runs[run].log;
    let joins = log.step(step).is_some_and(|mark| mark.call == Some(CallKind::Join));
    if !judge.applied || !joins || value.get("error").is_some_and(|_| value.get("run_id").is_none()) {
        return;
    }
    let fired = log.bodies().any(|body| matches!(body, Body::TimerFired { step: fired } if *fired == step));
    let told = log.joined(step).filter(|_| !fired).and_then(|child| log.completion(child));
    let right = match told {
        _ if fired => value.is_null(),
        Some(Body::ChildCompleted { result, result_ref }) => {
            let given = serde_json::from_value::<RunResult>((**value).clone());
            given.is_ok_and(|given| match result_ref {
                None => same(&given, result),
                Some(_) => (given.run_id, given.status) == (result.run_id, result.status),
            })
        }
        _ => false,
    };
    if !right {
        judge.violated(
            Rule::JoinTruth,
            facts.name(run),
            format_args!("step {step} gave {value:?}, which the log does not say"),
        );
    }
}

/// `join-truth`, at a `step.value` that tells of children: a refusal names none that the log announces, `children_of`
/// lists just those of whose end the log says nothing, and a peek says that a child has ended only once the log does.
pub fn peeked(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, opening: &Opening, value: &Json) {
    let log = &facts.runs[run].log;
    let right = match opening.call {
        CallKind::ChildrenOf => {
            let listed = value.as_array().map(|list| list.iter().filter_map(|handle| handle.get("run_id")?.as_str()));
            let live = log.children.iter().filter(|child| !child.completed).map(|child| child.run);
            let mut live: Vec<String> = live.map(|run| run.to_string()).collect();
            let mut listed: Vec<&str> = listed.into_iter().flatten().collect();
            live.sort_unstable();
            listed.sort_unstable();
            live == listed
        }
        CallKind::Status => match serde_json::from_value::<RunStatusSummary>((**value).clone()) {
            Ok(peek) => !peek.status.is_terminal() || log.child(peek.run_id).is_none_or(|child| child.completed),
            Err(_) => true,
        },
        CallKind::Join | CallKind::Cancel => {
            let named = value.get("run").and_then(|run| run.as_str()?.parse::<RunId>().ok());
            let is_child = named.is_some_and(|run| log.child(run).is_some());
            is_child == value.get("refused").is_none()
        }
        _ => true,
    };
    if !right {
        let (step, call) = (opening.step, opening.call.as_str());
        judge.violated(
            Rule::JoinTruth,
            facts.name(run),
            format_args!("step {step}, {call}, logs {value:?}, which the log does not say of its children"),
        );
    }
}

/// When a run was released as ended, as applied. `announced-done`: the log of its parent tells its end, unless that is
/// closed. `wake-not-lost`: its parent does not sleep over it.
pub fn released(facts: &Facts, judge: &mut Judge<'_>, run: RunAt) {
    let Some(parent) = facts.runs[run].kin.announced else { return };
    let (name, state) = (facts.name(run), &facts.runs[parent]);
    if state.log.closed.is_none() && state.log.child(name).is_none_or(|child| !child.completed) {
        judge.violated(
            Rule::AnnouncedDone,
            name,
            format_args!("it was released as ended, and the log of its parent {} does not say so", facts.name(parent)),
        );
    }
    let sleeps = state.status == Some(RunStatus::Suspended) && !state.halted;
    if sleeps && state.waits.contains(&Wait::Child(name)) {
        judge.violated(Rule::WakeNotLost, facts.name(parent), format_args!("it sleeps over the end of run {name}"));
    }
}

/// `cause-first`, when a worker sends it: a run's end is told to its parent's log only behind its own terminal entry,
/// and so is its unit given back; its parent is woken when that log tells the end, or is closed.
pub fn caused(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call) {
    let (run, lacks) = match &call.what {
        What::Append { body, .. } => {
            let Body::ChildCompleted { result, .. } = &**body else { return };
            let child = facts.run_at(result.run_id);
            (child, facts.runs[child].log.closed.is_none().then_some("tells its end, and its log is open"))
        }
        What::ReturnUnit { run } => {
            (*run, facts.runs[*run].log.closed.is_none().then_some("gives back its unit, and its log is open"))
        }
        What::Wake { run, child: Some(child) } => {
            let (log, id) = (&facts.runs[*run].log, facts.name(*child));
            let told = log.closed.is_some() || log.child(id).is_some_and(|child| child.completed);
            (*child, (!told).then_some("wakes its parent, whose log does not tell its end"))
        }
        _ => return,
    };
    if let Some(lacks) = lacks.filter(|_| worker_of(call.from).is_some()) {
        let who = facts.party_name(call.from);
        judge.violated(Rule::CauseFirst, facts.name(run), format_args!("{who} {lacks}"));
    }
}

/// `no-orphan`, at the decision on how a run ends, and at its end: the decision names just the children of whose end the
/// log says nothing, each by what its announcement says; no run ends over such a child without one, or otherwise than it
/// says.
pub fn decides(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, body: &Body) {
    let (name, log) = (facts.name(run), &facts.runs[run].log);
    let live = |retention: Retention| {
        let children = log.children.iter().filter(move |child| !child.completed && child.retention == retention);
        let mut ids: Vec<RunId> = children.map(|child| child.run).collect();
        ids.sort_unstable();
        ids
    };
    let sorted = |ids: &[RunId]| {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids
    };
    match (body, log.decision()) {
        (Body::OrphansResolved { cancel, detach, .. }, None) => {
            let (of_run, permanent) = (live(Retention::Run), live(Retention::Permanent));
            if sorted(cancel) != of_run || sorted(detach) != permanent {
                judge.violated(
                    Rule::NoOrphan,
                    name,
                    format_args!(
                        "it decides to cancel {cancel:?} and to detach {detach:?}; its live children are {of_run:?} and, \
                         to be kept, {permanent:?}"
                    ),
                );
            }
        }
        (Body::Ended(ending), Some((decided, ..))) if ending != decided => {
            judge.violated(Rule::NoOrphan, name, format_args!("it ends with {ending:?}, and had decided {decided:?}"))
        }
        (Body::Ended(_), None) => {
            if let Some(child) = log.children.iter().find(|child| !child.completed) {
                judge.violated(
                    Rule::NoOrphan,
                    name,
                    format_args!("it ends over its live child {} without a word of it", child.run),
                );
            }
        }
        (body, Some(_)) if body.opening().is_some() || body.lease_entry().is_some() => judge.violated(
            Rule::NoOrphan,
            name,
            format_args!("its log goes on with `{}` behind the decision on its end", body.kind()),
        ),
        (Body::OrphansResolved { .. }, Some(_)) => {
            judge.violated(Rule::NoOrphan, name, format_args!("it decides on its end a second time"));
        }
        _ => {}
    }
}

/// Whether a log says what becomes of a child by the end of its parent: cancelled, or detached.
fn resolved(facts: &Facts, parent: RunAt, child: RunAt) -> Option<Retention> {
    let (log, id) = (&facts.runs[parent].log, facts.name(child));
    let (_, cancel, detach) = log.decision().filter(|_| log.closed.is_some())?;
    if detach.contains(&id) {
        return Some(Retention::Permanent);
    }
    cancel.contains(&id).then_some(Retention::Run)
}

/// Whether a run is to end because it, or a run above it, is cancelled. A child that its parent kept on purpose is apart,
/// and all below it.
fn must_end(facts: &Facts, run: RunAt) -> Option<RunAt> {
    let mut at = run;
    for _ in 0..10_000 {
        let state = &facts.runs[at];
        if state.log.cancelled || (state.cancelled.is_some() && at == run) {
            return Some(at);
        }
        let parent = state.kin.announced?;
        let log = &facts.runs[parent].log;
        if !log.cancelled && resolved(facts, parent, at) == Some(Retention::Permanent) {
            return None;
        }
        at = parent;
    }
    None
}

/// Once, after healing. `cancel-cascade`: no run lives on that was cancelled, or descends from one whose log holds the
/// request. `no-orphan`: no run lives on whose parent has ended, unless it was kept on purpose and is a tree of its own.
pub fn finish(facts: &Facts, judge: &mut Judge<'_>) {
    for (place, run) in facts.runs.iter().filter(|(_, run)| run.status.is_some() && run.is_live()) {
        let name = facts.name(place);
        if let Some(cancelled) = must_end(facts, place) {
            let cancelled = facts.name(cancelled);
            judge.violated(Rule::CancelCascade, name, format_args!("run {cancelled} was cancelled, and it lives on"));
        }
        let Some(parent) = run.kin.announced.filter(|parent| !facts.runs[*parent].is_live()) else { continue };
        let is_kept = resolved(facts, parent, place) == Some(Retention::Permanent);
        if !is_kept || run.kin.tree.is_some() {
            let parent = facts.name(parent);
            judge.violated(
                Rule::NoOrphan,
                name,
                format_args!("its parent {parent} has ended, and it lives on as a part of its tree"),
            );
        }
    }
}

/// `announced-done`, when a worker sends a cancel or a detach: it is announced. A child's cancel by a step of its parent,
/// by its parent's end, by a cancel of its parent or by one of a run further up; a detach by its parent's end alone,
/// and never where the parent's log holds a request to cancel.
pub fn announced(facts: &Facts, judge: &mut Judge<'_>, call: &Call) {
    if worker_of(call.from).is_none() {
        return;
    }
    let (run, right, what) = match call.what {
        What::Cancel { run } => (run, may_cancel(facts, run), "cancels"),
        What::Detach { run } => {
            let parent = facts.runs[run].kin.announced;
            let right = parent.is_some_and(|parent| {
                resolved(facts, parent, run) == Some(Retention::Permanent) && !facts.runs[parent].log.cancelled
            });
            (run, right, "detaches")
        }
        _ => return,
    };
    if !right {
        let who = facts.party_name(call.from);
        judge.violated(Rule::AnnouncedDone, facts.name(run), format_args!("{who} {what} it, and no log says so"));
    }
}

fn may_cancel(facts: &Facts, run: RunAt) -> bool {
    let mut at = run;
    for _ in 0..10_000 {
        let Some(parent) = facts.runs[at].kin.announced else { return false };
        let (state, id) = (&facts.runs[parent], facts.name(at));
        let by_step = || state.log.bodies().any(|body| cancels(body) == Some(id));
        let by_end = resolved(facts, parent, at);
        if state.log.cancelled || state.cancelled.is_some() || by_end == Some(Retention::Run) || by_step() {
            return true;
        }
        // A node that has ended does not stop the cascade.
        if state.log.closed.is_none() || by_end == Some(Retention::Permanent) {
            return false;
        }
        at = parent;
    }
    false
}

/// The run that an entry announces to cancel.
pub fn cancels(body: &Body) -> Option<RunId> {
    match body {
        Body::StepValue { opening, value } if opening.call == CallKind::Cancel => {
            value.get("run").filter(|_| value.get("refused").is_none())?.as_str()?.parse().ok()
        }
        _ => None,
    }
}
