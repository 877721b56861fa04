//! *Sometimes*: what a sweep over plans must reach.

use super::Entry;
use super::tries::passage;
use crate::check::facts::{Dispatch, Facts, Instance, Party, RunAt, TraceLog, WorkerAt, worker_of};
use crate::check::sometimes::Sometimes;
use crate::check::verdict::Judge;
use crate::kernel::{Alignment, Body, Interval, Name, Profile, Proposer, RunId, RunStatus, Timestamp, TraceBody};

/// At an entry of a trace log, before it is folded in.
pub fn entry(facts: &Facts, judge: &mut Judge<'_>, entry: &Entry, body: &TraceBody) {
    // These two may be the first entry of their log.
    match body {
        TraceBody::PlanProposed { by: Proposer::Run { .. }, .. } => judge.reached(Sometimes::ProposedByAgent),
        TraceBody::MemoryCommitted { run, .. } => committed(facts, judge, entry, *run),
        _ => {}
    }
    let Some(log) = facts.traces.log(entry.stream) else { return };
    match body {
        TraceBody::PlanProposed { by: Proposer::Occurrence(from), .. } => {
            let closing = log.instance(from).and_then(|instance| instance.closed.as_ref());
            if closing.is_some_and(|closing| !closing.feedback.is_empty()) {
                judge.reached(Sometimes::Rescheduled);
            }
        }
        TraceBody::PlanDispatched { occurrence, due, action, .. } => {
            if occurrence.n > 1 {
                judge.reached(Sometimes::Recurred);
            }
            if held_by_budget(log, action, *due, entry.ts) {
                judge.reached(Sometimes::HeldByBudget);
            }
        }
        TraceBody::PlanClosed { occurrence, profile, .. } => {
            closed(facts, judge, log.instance(occurrence), entry, profile);
        }
        TraceBody::PlanFeedback { occurrence, .. } => {
            let closing = log.instance(occurrence).and_then(|instance| instance.closed.as_ref());
            if closing.is_some_and(|closing| closing.profile.tempo_alignment != Alignment::Exact) {
                judge.reached(Sometimes::FeedbackOnLate);
            }
        }
        _ => {}
    }
}

/// Whether it was due on a day whose budget was spent, and that day is over.
fn held_by_budget(log: &TraceLog, action: &Name, due: Timestamp, ts: Timestamp) -> bool {
    let Some((_, most)) = log.settings.budget.iter().find(|(limited, _)| limited == action) else { return false };
    let within = |at: Timestamp, day: &Interval| at >= day.start && at < day.end;
    let same = |dispatch: &&Dispatch| dispatch.action == *action;
    log.dispatches().filter(same).map(|dispatch| dispatch.day).any(|day| {
        let spent = log.dispatches().filter(same).filter(|dispatch| within(dispatch.ts, &day)).count() as u64;
        within(due, &day) && ts >= day.end && spent >= *most
    })
}

fn closed(facts: &Facts, judge: &mut Judge<'_>, known: Option<&Instance>, entry: &Entry, profile: &Profile) {
    let Some(dispatch) = known.and_then(|instance| instance.dispatched.as_ref()) else {
        return judge.reached(Sometimes::PlanSkipped);
    };
    judge.reached(match profile.tempo_alignment {
        Alignment::Exact => Sometimes::AlignedExactly,
        Alignment::Partial => Sometimes::AlignedPartially,
        Alignment::Misaligned => Sometimes::Misaligned,
    });
    let workers = dispatch.from.and_then(worker_of).zip(entry.from.and_then(worker_of));
    if workers.is_some_and(|(dispatcher, closer)| dispatcher != closer) {
        judge.reached(Sometimes::ClosedByAnother);
    }
    let tries = passage(&facts.runs[dispatch.run].log).map_or(Vec::new(), |passage| passage.tries);
    if tries.len() > 1 {
        judge.reached(Sometimes::TriedAgain);
    }
    if tries.iter().any(|tried| tried.executed_at.is_none()) {
        judge.reached(Sometimes::TryLost);
    }
}

fn committed(facts: &Facts, judge: &mut Judge<'_>, entry: &Entry, run: RunId) {
    let Some(run) = facts.known_run(run) else { return };
    if facts.traces.staged(run).any(|push| push.stream == entry.stream && push.from != entry.from) {
        judge.reached(Sometimes::CommittedByAnother);
    }
}

/// A log of a run is closed: one that has failed leaves its drafts behind.
pub fn ended(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, status: RunStatus) {
    if status == RunStatus::Failed && facts.traces.staged(run).next().is_some() {
        judge.reached(Sometimes::DraftsLeft);
    }
}

/// An append to a trace log is refused: a dispatch, because another planner's stands there.
pub fn refused(facts: &Facts, judge: &mut Judge<'_>, from: Party, stream: RunAt, body: &Body) {
    let Body::Trace(trace) = body else { return };
    let TraceBody::PlanDispatched { occurrence, .. } = &**trace else { return };
    let known = facts.traces.log(stream).and_then(|log| log.instance(occurrence)?.dispatched.as_ref());
    if known.is_some_and(|dispatch| dispatch.from != Some(from)) {
        judge.reached(Sometimes::DispatchRaceLost);
    }
}

/// A worker dies: perhaps between a dispatch and the creation of its run.
pub fn crashed(facts: &Facts, judge: &mut Judge<'_>, worker: WorkerAt) {
    let mut dispatches = facts.traces.logs.iter().flat_map(TraceLog::dispatches);
    let own = |dispatch: &Dispatch| dispatch.from == Some(Party::Worker(worker));
    if dispatches.any(|dispatch| own(dispatch) && facts.runs[dispatch.run].status.is_none()) {
        judge.reached(Sometimes::CrashBeforeOccurrence);
    }
}
