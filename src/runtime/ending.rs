//! What follows from how the agent left its seat. Every append is decided anew from the fold: a cancel that
//! comes in between changes what is decided.

use std::sync::Arc;

use super::effect::spend_result;
use super::epilogue::{epilogue, nack_all};
use super::hold::Hold;
use super::seat::Outcome;
use super::{AgentError, StepError};
use crate::kernel::{
    Body, EffectId, EffectResult, Ending, FailureCode, Journal, Name, Release, Retention, Step, Timestamp, Wait, Wakeup,
};

/// How an agent left its seat, and where it was.
pub(super) struct Departure {
    pub outcome: Outcome,
    /// Whether a check had told it of the end of the run.
    pub raised: bool,
    /// The number of the step that would have been its next.
    pub next: Step,
}

/// What is to be done with the run.
enum Course {
    End(Ending),
    Retry { error: Name },
    Sleep(Vec<Wait>),
    Halt { step: Step, expected: Name, actual: Name },
    GiveBack,
}

/// What became of a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Concluded {
    /// The lease is over.
    Over,
    /// What the agent waits for has come: it is to be entered again.
    Satisfied,
}

/// Brings a run from the departure of its agent to its release, unless what the agent waits for comes in between.
pub(super) async fn conclude(hold: &Hold, departure: Departure) -> Concluded {
    loop {
        let (is_closed, resolved) = {
            let log = hold.log.borrow();
            (log.ended.is_some(), log.resolved.as_ref().map(|resolved| resolved.ending.clone()))
        };
        if is_closed {
            epilogue(hold).await;
            return Concluded::Over;
        }
        if let Some(ending) = resolved {
            hold.append(&Arc::new(Body::Ended(ending))).await;
            continue;
        }
        match course(hold, &departure) {
            Course::End(ending) => approach(hold, ending).await,
            Course::Retry { error } => {
                let failure = hold.log.borrow().failures + 1;
                let delay = hold.lease.spec.settings.retry.pause_before(failure);
                let body = Arc::new(Body::RunRetrying { error: error.clone(), failure, delay });
                if let Some(ts) = hold.append(&body).await {
                    nack_all(hold, failure, &error).await;
                    park(hold, ts + delay).await;
                    return Concluded::Over;
                }
            }
            Course::Sleep(waits) if has_come(hold, &waits) => return Concluded::Satisfied,
            Course::Sleep(waits) => {
                let wakeup = waits.first().map(wakeup_of);
                if hold.append(&Arc::new(Body::RunSuspended { waits: waits.clone(), wakeup })).await.is_some() {
                    hold.release(Release::Suspended(waits)).await;
                    return Concluded::Over;
                }
            }
            Course::Halt { step, expected, actual } => {
                if hold.append(&Arc::new(Body::RunHalted { step, expected, actual })).await.is_some() {
                    hold.release(Release::Halted).await;
                    return Concluded::Over;
                }
            }
            Course::GiveBack => {
                hold.release(Release::Pending).await;
                return Concluded::Over;
            }
        }
    }
}

/// Whether a child that is waited for has ended, as the log says by now.
fn has_come(hold: &Hold, waits: &[Wait]) -> bool {
    let log = hold.log.borrow();
    let ended = |child| log.child(child).is_some_and(|child| child.completed.is_some());
    waits.iter().any(|wait| matches!(wait, Wait::Child(child) if ended(*child)))
}

/// Releases a run until its retry is due.
pub(super) async fn park(hold: &Hold, due: Timestamp) {
    hold.release(Release::Suspended(vec![Wait::Time(due)])).await;
}

/// Writes the next of the entries that lead to the end: the cancel, a result for each open intent, what becomes of the
/// children, the terminal entry.
async fn approach(hold: &Hold, ending: Ending) {
    if let Ending::Cancelled { reason, .. } = &ending
        && hold.log.borrow().cancel.is_none()
    {
        let reason = reason.clone();
        hold.append(&Arc::new(Body::CancelRequested { reason })).await;
        return;
    }
    let open = hold.log.borrow().open_intent();
    if let Some((step, effect)) = open {
        return settle_intent(hold, step, effect).await;
    }
    let orphans = orphans(hold, &ending);
    hold.append(&Arc::new(orphans.unwrap_or(Body::Ended(ending)))).await;
}

/// What becomes of the children that live, if there are any, as long as no cancel of the run says otherwise.
fn orphans(hold: &Hold, ending: &Ending) -> Option<Body> {
    let log = hold.log.borrow();
    let live = log.live_children().filter_map(|child| match &*child.spawned {
        Body::ChildSpawned { spec, .. } => Some((spec.run, spec.retention)),
        _ => None,
    });
    let (mut cancel, mut detach) = (Vec::new(), Vec::new());
    for (run, retention) in live {
        match retention {
            Retention::Permanent => detach.push(run),
            Retention::Run => cancel.push(run),
        }
    }
    let is_needed = !cancel.is_empty() || !detach.is_empty();
    is_needed.then(|| Body::OrphansResolved { ending: ending.clone(), cancel, detach })
}

/// Ends an open intent without performing anything: with the recorded result, else with the verdict.
async fn settle_intent(hold: &Hold, step: Step, effect: EffectId) {
    let store = &hold.floor.store;
    let result = match hold.settled(async || store.lookup(effect).await).await {
        Some(recorded) => recorded,
        None => {
            let verdict = EffectResult::in_doubt(effect);
            hold.settled(async || store.record(verdict.clone()).await).await
        }
    };
    spend_result(hold, step, &result).await;
    hold.append(&Arc::new(Body::ToolResult { step, result })).await;
}

/// Decides from the fold as it is now.
fn course(hold: &Hold, departure: &Departure) -> Course {
    let log = hold.log.borrow();
    let in_doubt = log.in_doubt();
    let fail = |code, error: Name| Course::End(Ending::Failed { code, error, in_doubt: in_doubt.clone() });
    let recorded_on = log.steps.get(&departure.next);
    let (next_recorded, failures) = (recorded_on.map(|record| record.opening().call.as_str()), log.failures);
    drop(log);

    let is_return = matches!(departure.outcome, Outcome::Returned(Ok(_))) && !departure.raised;
    if !is_return {
        if let Some(reason) = hold.cancel() {
            return Course::End(Ending::Cancelled { reason, in_doubt });
        }
        if hold.deadline_over() {
            return fail(FailureCode::DeadlineExceeded, "the run's deadline has passed".into());
        }
    }
    let left_over = |call: &str| Course::Halt { step: departure.next, expected: call.into(), actual: "end".into() };
    let failed = |error: String| match next_recorded {
        Some(call) => left_over(call),
        None if failures < hold.lease.spec.settings.retry.max_retries => Course::Retry { error: error.into() },
        None => fail(FailureCode::AgentCrashed, error.into()),
    };
    match &departure.outcome {
        Outcome::Barred => {
            fail(FailureCode::Poisoned, format!("{} leases in a row ran out over the run", hold.lease.reclaims).into())
        }
        Outcome::Returned(Ok(output)) => match next_recorded {
            Some(call) => left_over(call),
            None => Course::End(Ending::Completed { output: output.clone(), in_doubt }),
        },
        Outcome::Returned(Err(error)) => match (final_code(error), next_recorded) {
            (Some(code), None) => fail(code, error.to_string().into()),
            _ => failed(error.to_string()),
        },
        Outcome::Panicked(message) => failed(format!("the agent panicked: {message}")),
        Outcome::Waits(waits) => Course::Sleep(waits.clone()),
        Outcome::Diverged { step, expected, actual } => {
            Course::Halt { step: *step, expected: expected.clone(), actual: actual.clone() }
        }
        Outcome::Misused(code) => fail(*code, misuse(*code).into()),
        Outcome::GivenBack => Course::GiveBack,
    }
}

/// The code under which an error is final at once: it comes from what is recorded, so a retry would meet it again.
const fn final_code(error: &AgentError) -> Option<FailureCode> {
    match error {
        AgentError::Step(StepError::Refused { .. }) => Some(FailureCode::EffectRefused),
        AgentError::Step(StepError::InDoubt { .. }) => Some(FailureCode::EffectInDoubt),
        AgentError::Step(StepError::Overlapping) => Some(FailureCode::OverlappingSteps),
        AgentError::Step(StepError::BudgetExhausted { .. }) => Some(FailureCode::BudgetExhausted),
        AgentError::Step(
            StepError::Malformed { .. }
            | StepError::SpawnDenied { .. }
            | StepError::NotAChild { .. }
            | StepError::UnknownRun { .. }
            | StepError::NotAQuestion { .. }
            | StepError::ReservedName { .. },
        ) => Some(FailureCode::AgentCrashed),
        AgentError::Step(StepError::Cancelled { .. } | StepError::DeadlineExceeded) | AgentError::Own(_) => None,
    }
}

/// A misuse in words.
const fn misuse(code: FailureCode) -> &'static str {
    match code {
        FailureCode::OverlappingSteps => "the agent asked for a step while another was open",
        _ => "the agent dropped a step that was open",
    }
}

/// A wait as the page's Wakeup.
fn wakeup_of(wait: &Wait) -> Wakeup {
    match wait {
        Wait::Signal(name) => Wakeup::Signal { signal: name.clone(), payload: Default::default() },
        Wait::Message { .. } => Wakeup::Message { source_run: None },
        Wait::Child(child) => Wakeup::ChildDone { child_run: *child, result_ref: None },
        Wait::Time(at) => Wakeup::Timer { at: *at },
    }
}
