//! The profiler: a pure fold of a run's log into the profiling block. The same log gives the same block, however often, by
//! whomever and whenever it is computed.

use super::{alignment, reward};
use crate::kernel::{
    Alignment, Body, CallKind, EffectStatus, Ending, Execution, ExecutionResult, MEMORY_PUSH, Name, Occurrence,
    Profile, ProfileVersion, ReturnType, RunLogEntry, Score, Span, Step, Timestamp, Try, Window,
};

/// What is known of an occurrence apart from its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The occurrence.
    pub occurrence: Occurrence,
    /// When it was due.
    pub due: Timestamp,
    /// Its window, resolved.
    pub window: Window,
    /// The plan's token, as it is written.
    pub token: Option<Name>,
    /// Who planned it.
    pub planned_by: Option<Name>,
}

/// The block of an occurrence whose run has this log; none while the run has not ended.
pub fn profile(target: &Target, log: &[RunLogEntry]) -> Option<Profile> {
    let last = log.last()?;
    let ending = last.body.ending()?;
    let began = log.iter().find(|entry| entry.body.lease_entry().is_some()).map(|entry| entry.ts);
    let Some(began) = began else {
        // Its run ended before anybody took it up.
        let status = if matches!(ending, Ending::Cancelled { .. }) { Execution::Cancelled } else { Execution::Skipped };
        return Some(never_executed(target.token.clone(), status, target.planned_by.clone()));
    };
    let attempts = tries(log, ending);
    Some(Profile {
        schema_version: ProfileVersion::V1,
        executed_at: Some(last.ts),
        duration_ms: last.ts.since(began).as_millis(),
        deviation_ms: Some(last.ts.since(target.due).as_millis()),
        tempo_token: target.token.clone(),
        tempo_alignment: alignment(Some(last.ts), &target.window),
        feedback_score: None,
        reward_signal: None,
        agent_latency_ms: Some(latency(log, last.ts).as_millis()),
        user_delay_ms: None,
        attempts: if attempts.len() > 1 { attempts } else { Vec::new() },
        execution_result: result(target, ending, log),
    })
}

/// The block of an occurrence that was never executed.
pub fn never_executed(token: Option<Name>, status: Execution, planned_by: Option<Name>) -> Profile {
    Profile {
        schema_version: ProfileVersion::V1,
        executed_at: None,
        duration_ms: 0,
        deviation_ms: None,
        tempo_token: token,
        tempo_alignment: Alignment::Misaligned,
        feedback_score: None,
        reward_signal: None,
        agent_latency_ms: None,
        user_delay_ms: None,
        attempts: Vec::new(),
        execution_result: ExecutionResult { status, return_type: None, trace_id: None, planned_by },
    }
}

/// The block with feedback: three fields, and the score of the last try, differ from it.
#[must_use]
pub fn amended(profile: &Profile, score: Score, given_at: Timestamp) -> Profile {
    let mut amended = profile.clone();
    amended.feedback_score = Some(score);
    amended.reward_signal = Some(reward(score, profile.tempo_alignment));
    amended.user_delay_ms = profile.executed_at.map(|executed| given_at.since(executed).as_millis());
    if let Some(last) = amended.attempts.last_mut() {
        last.feedback_score = Some(score);
    }
    amended
}

/// Where the fold of the tries stands.
enum State {
    /// A try is under way.
    Running,
    /// Its run sleeps; it goes on with the next lease.
    Asleep,
    /// Its agent has failed; the next lease begins another try.
    Between,
}

/// Every try: it begins at the first lease, and after a retry or a lost lease. A suspend and its resume are one try.
fn tries(log: &[RunLogEntry], ending: &Ending) -> Vec<Try> {
    let mut tries = Vec::new();
    let mut began: Option<Timestamp> = None;
    let mut state = State::Between;
    let ended = |began: Timestamp, at: Timestamp, executed: bool, status, reason: Name| Try {
        executed_at: executed.then_some(at),
        duration_ms: at.since(began).as_millis(),
        status,
        reason,
        feedback_score: None,
    };
    for entry in log {
        match &*entry.body {
            Body::RunStarted(_) | Body::RunResumed(_) => {
                if let (State::Running, Some(began)) = (&state, began) {
                    let reason = "the lease was lost".into();
                    tries.push(ended(began, entry.ts, false, Execution::Failed, reason));
                }
                if !matches!(state, State::Asleep) {
                    began = Some(entry.ts);
                }
                state = State::Running;
            }
            Body::RunSuspended { .. } => state = State::Asleep,
            Body::RunRetrying { error, .. } => {
                if let Some(began) = began {
                    tries.push(ended(began, entry.ts, true, Execution::Failed, error.clone()));
                }
                state = State::Between;
            }
            Body::Ended(_) => {
                if let (State::Running | State::Asleep, Some(began)) = (&state, began) {
                    let (status, reason) = outcome(ending, tries.len());
                    tries.push(ended(began, entry.ts, true, status, reason));
                }
            }
            _ => {}
        }
    }
    tries
}

/// How the last try ended, and why.
fn outcome(ending: &Ending, before: usize) -> (Execution, Name) {
    match ending {
        Ending::Completed { .. } => (Execution::Completed, format!("try {}", before + 1).into()),
        Ending::Failed { error, .. } => (Execution::Failed, error.clone()),
        Ending::Cancelled { reason, .. } => (Execution::Cancelled, reason.clone()),
    }
}

/// The length of the union of the intervals of the model calls: each from its intent to its result.
fn latency(log: &[RunLogEntry], end: Timestamp) -> Span {
    let mut open: Vec<(Step, Timestamp)> = Vec::new();
    let mut intervals: Vec<(Timestamp, Timestamp)> = Vec::new();
    for entry in log {
        match &*entry.body {
            Body::ToolCalled { opening, .. } if opening.call == CallKind::Model => open.push((opening.step, entry.ts)),
            Body::ToolResult { step, .. } => {
                if let Some(place) = open.iter().position(|(opened, _)| opened == step) {
                    intervals.push((open.remove(place).1, entry.ts));
                }
            }
            _ => {}
        }
    }
    intervals.extend(open.into_iter().map(|(_, began)| (began, end)));
    intervals.sort_unstable();
    let mut total = Span::ZERO;
    let mut covered = Timestamp::from_micros(i64::MIN);
    for (from, to) in intervals {
        let from = from.max(covered);
        if to > from {
            total = total + to.since(from);
            covered = to;
        }
    }
    total
}

/// What came of it. The trace that it left is the first draft of a completed run, else the occurrence's own.
fn result(target: &Target, ending: &Ending, log: &[RunLogEntry]) -> ExecutionResult {
    let own: Name = target.occurrence.to_string().into();
    let (status, return_type, trace_id) = match ending {
        Ending::Completed { .. } => match first_draft(log) {
            Some(uid) => (Execution::Completed, ReturnType::Trace, uid),
            None => (Execution::Completed, ReturnType::Text, own),
        },
        Ending::Failed { .. } => (Execution::Failed, ReturnType::Error, own),
        Ending::Cancelled { .. } => (Execution::Cancelled, ReturnType::Error, own),
    };
    let planned_by = target.planned_by.clone();
    ExecutionResult { status, return_type: Some(return_type), trace_id: Some(trace_id), planned_by }
}

/// The uid of the first memory trace that the run has staged.
fn first_draft(log: &[RunLogEntry]) -> Option<Name> {
    let staged = |wanted: Step| {
        log.iter().any(|entry| match &*entry.body {
            Body::ToolResult { step, result } => *step == wanted && result.status == EffectStatus::Ok,
            _ => false,
        })
    };
    log.iter().find_map(|entry| match &*entry.body {
        Body::ToolCalled { opening, effect, .. } if &*effect.kind == MEMORY_PUSH && staged(opening.step) => {
            effect.spec.get("trace")?.get("uid")?.as_str().map(Name::from)
        }
        _ => None,
    })
}
