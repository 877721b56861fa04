//! The profiler: a pure fold of a run's log into the profiling block. The same log gives the same block, however often, by
//! whomever and whenever it is computed.

use super::{alignment, reward};
use crate::kernel::{
    Alignment, Body, CallKind, EffectStatus, Ending, Execution, ExecutionResult, FailureCode, MEMORY_PUSH, Name,
    Occurrence, Profile, ProfileVersion, ReturnType, RunLogEntry, Score, Span, Step, Timestamp, Try, Window,
};

/// What is known of an occurrence apart from its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Whose plan it is.
    pub user: Name,
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
    if never_ran(log).is_some() {
        let status = if matches!(ending, Ending::Cancelled { .. }) { Execution::Cancelled } else { Execution::Skipped };
        return Some(never_executed(target.token.clone(), status, target.planned_by.clone()));
    }
    let began = log.iter().find(|entry| entry.body.lease_entry().is_some())?.ts;
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

/// Why a run was never executed: it was cancelled, or its deadline was over, when it was first taken up. It has one lease
/// then, in which nothing was begun.
pub(super) fn never_ran(log: &[RunLogEntry]) -> Option<Name> {
    let reason = match log.last()?.body.ending()? {
        Ending::Cancelled { reason, .. } => reason,
        Ending::Failed { code: FailureCode::DeadlineExceeded, error, .. } => error,
        _ => return None,
    };
    let leases = log.iter().filter(|entry| entry.body.lease_entry().is_some()).count();
    let acts = |entry: &RunLogEntry| {
        let body = &*entry.body;
        body.opening().is_some() || matches!(body, Body::RunSuspended { .. } | Body::RunRetrying { .. })
    };
    (leases <= 1 && !log.iter().any(acts)).then(|| reason.clone())
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
        Ending::Completed { .. } => match first_draft(&target.user, log) {
            Some(uid) => (Execution::Completed, ReturnType::Trace, uid),
            None => (Execution::Completed, ReturnType::Text, own),
        },
        Ending::Failed { .. } => (Execution::Failed, ReturnType::Error, own),
        Ending::Cancelled { .. } => (Execution::Cancelled, ReturnType::Error, own),
    };
    let planned_by = target.planned_by.clone();
    ExecutionResult { status, return_type: Some(return_type), trace_id: Some(trace_id), planned_by }
}

/// Whether the run, whose log is closed, leaves drafts to `user`: they will be committed.
pub(super) fn leaves_drafts(user: &str, log: &[RunLogEntry]) -> bool {
    let ending = log.last().and_then(|entry| entry.body.ending());
    matches!(ending, Some(Ending::Completed { .. })) && first_draft(user, log).is_some()
}

/// The uid of the first memory trace that the run has staged for its user.
fn first_draft(user: &str, log: &[RunLogEntry]) -> Option<Name> {
    let staged = |wanted: Step| {
        log.iter().any(|entry| match &*entry.body {
            Body::ToolResult { step, result } => *step == wanted && result.status == EffectStatus::Ok,
            _ => false,
        })
    };
    log.iter().find_map(|entry| match &*entry.body {
        Body::ToolCalled { opening, effect, .. }
            if &*effect.kind == MEMORY_PUSH && effect.spec["user"] == *user && staged(opening.step) =>
        {
            effect.spec.get("trace")?.get("uid")?.as_str().map(Name::from)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kernel::{
        Attempt, Body, Digest, Effect, EffectResult, FailureCode, Interval, Json, LeaseEntry, Opening, Policy, RunId,
        Seq,
    };
    use crate::tempo::{Calendar, Settings};

    const RUN: RunId = RunId::from_parts(1, 2);

    /// A log of these bodies, each so many milliseconds after 20:00:00.
    fn log(entries: Vec<(i64, Body)>) -> Vec<RunLogEntry> {
        let due = due();
        let entry = |(place, (millis, body)): (i64, (i64, Body))| RunLogEntry {
            run_id: RUN,
            seq: Seq::new(place).unwrap(),
            ts: due + Span::from_millis(millis),
            body: Arc::new(body),
        };
        (0..).zip(entries).map(entry).collect()
    }

    fn due() -> Timestamp {
        "2025-05-11T20:00:00Z".parse().unwrap()
    }

    fn lease(attempt: u32) -> LeaseEntry {
        let (agent, version) = ("log".parse().unwrap(), Default::default());
        LeaseEntry { agent, version, attempt: Attempt(attempt), woken_by: Vec::new() }
    }

    fn completed() -> Body {
        Body::Ended(Ending::Completed { output: Json::null(), in_doubt: Vec::new() })
    }

    fn effect(step: u32, call: CallKind, kind: &str, spec: serde_json::Value) -> Body {
        let opening = Opening { step: Step(step), group: None, call, digest: Digest(0) };
        let effect = Effect::new(RUN, Step(step), kind.into(), Json::new(spec));
        Body::ToolCalled { opening, effect, policy: Policy::Repeatable }
    }

    fn done(step: u32, kind: &str, spec: serde_json::Value) -> Body {
        let effect = Effect::new(RUN, Step(step), kind.into(), Json::new(spec));
        Body::ToolResult { step: Step(step), result: EffectResult::ok(effect.id, Json::null()) }
    }

    fn target(token: Option<&str>) -> Target {
        let calendar = Calendar::of(&Settings::default()).unwrap();
        let parsed = token.map(|token| calendar.registry.token(token).unwrap());
        Target {
            user: "ana".into(),
            occurrence: Occurrence { uid: "review".into(), n: 1 },
            due: due(),
            window: calendar.window(parsed.as_ref(), due()),
            token: token.map(Name::from),
            planned_by: Some("ana".into()),
        }
    }

    fn block(token: Option<&str>, entries: Vec<(i64, Body)>) -> Profile {
        profile(&target(token), &log(entries)).unwrap()
    }

    #[test]
    fn the_requirements_example_comes_out_as_it_says() {
        let nothing = || serde_json::json!({});
        let entries = vec![
            (10_000, Body::RunStarted(lease(0))),
            (20_000, effect(0, CallKind::Model, "writer", nothing())),
            (22_300, done(0, "writer", nothing())),
            (192_000, completed()),
        ];
        let profile = block(Some("<tempo:EveningReview>"), entries);
        assert_eq!((profile.deviation_ms, profile.duration_ms), (Some(192_000), 182_000));
        assert_eq!((profile.tempo_alignment, profile.agent_latency_ms), (Alignment::Partial, Some(2_300)));
        assert_eq!(profile.reward_signal, None, "there is no reward before there is feedback");
        let judged = amended(&profile, Score::new(4).unwrap(), due() + Span::from_millis(200_000));
        assert_eq!((judged.reward_signal.map(|reward| reward.0), judged.user_delay_ms), (Some(7), Some(8_000)));
        assert_eq!(Profile { feedback_score: None, reward_signal: None, user_delay_ms: None, ..judged }, profile);
    }

    #[test]
    fn the_limits_of_alignment_are_inclusive() {
        for (late, wanted) in [
            (900_000, Alignment::Exact),
            (900_001, Alignment::Partial),
            (5_400_000, Alignment::Partial),
            (5_400_001, Alignment::Misaligned),
        ] {
            let profile = block(None, vec![(0, Body::RunStarted(lease(0))), (late, completed())]);
            assert_eq!(profile.tempo_alignment, wanted, "{late} ms");
        }
    }

    #[test]
    fn one_try_is_no_list_of_tries_though_it_slept() {
        let entries = vec![
            (0, Body::RunStarted(lease(0))),
            (5, Body::RunSuspended { waits: Vec::new(), wakeup: None }),
            (9, Body::RunResumed(lease(1))),
            (12, completed()),
        ];
        assert_eq!(block(None, entries).attempts, []);
    }

    #[test]
    fn a_retry_and_a_lost_lease_begin_another_try() {
        let retrying = Body::RunRetrying { error: "no".into(), failure: 1, delay: Span::from_millis(10) };
        let entries = vec![
            (100, Body::RunStarted(lease(0))),
            (140, retrying),
            (200, Body::RunResumed(lease(1))),
            (900, Body::RunResumed(lease(2))),
            (930, completed()),
        ];
        let profile = block(None, entries);
        let told: Vec<_> = profile
            .attempts
            .iter()
            .map(|attempt| {
                (attempt.executed_at.map(|at| at.since(due()).as_millis()), attempt.duration_ms, attempt.status)
            })
            .collect();
        let (failed, completed) = (Execution::Failed, Execution::Completed);
        assert_eq!(told, [(Some(140), 40, failed), (None, 700, failed), (Some(930), 30, completed)]);
        assert_eq!(profile.duration_ms, 830);
    }

    #[test]
    fn model_calls_that_overlap_count_once() {
        let nothing = || serde_json::json!({});
        let entries = vec![
            (0, Body::RunStarted(lease(0))),
            (10, effect(0, CallKind::Model, "a", nothing())),
            (20, effect(1, CallKind::Model, "b", nothing())),
            (25, effect(2, CallKind::Effect, "c", nothing())),
            (30, done(0, "a", nothing())),
            (50, done(1, "b", nothing())),
            (90, done(2, "c", nothing())),
            (100, completed()),
        ];
        assert_eq!(block(None, entries).agent_latency_ms, Some(40));
    }

    #[test]
    fn what_it_left_is_its_first_draft_or_its_own_trace() {
        let draft = || serde_json::json!({ "user": "ana", "trace": { "uid": "note-1" } });
        let staged = vec![
            (0, Body::RunStarted(lease(0))),
            (1, effect(0, CallKind::Effect, MEMORY_PUSH, draft())),
            (2, done(0, MEMORY_PUSH, draft())),
            (3, completed()),
        ];
        let result = block(None, staged).execution_result;
        assert_eq!((result.return_type, result.trace_id.as_deref()), (Some(ReturnType::Trace), Some("note-1")));
        let failed = Ending::Failed { code: FailureCode::AgentCrashed, error: "no".into(), in_doubt: Vec::new() };
        let failed = block(None, vec![(0, Body::RunStarted(lease(0))), (3, Body::Ended(failed))]).execution_result;
        assert_eq!((failed.status, failed.trace_id.as_deref()), (Execution::Failed, Some("review#1")));
    }

    #[test]
    fn a_run_that_nobody_took_up_was_never_executed() {
        let cancelled = Body::Ended(Ending::Cancelled { reason: "no".into(), in_doubt: Vec::new() });
        let begun = vec![
            (5, Body::RunStarted(lease(0))),
            (6, effect(0, CallKind::Effect, "c", serde_json::json!({}))),
            (7, cancelled.clone()),
        ];
        assert_eq!(block(None, begun).execution_result.status, Execution::Cancelled);
        let profile = block(None, vec![(5, Body::RunStarted(lease(0))), (6, cancelled)]);
        assert_eq!((profile.executed_at, profile.deviation_ms, profile.duration_ms), (None, None, 0));
        assert_eq!(profile.tempo_alignment, Alignment::Misaligned);
        assert_eq!(super::profile(&target(None), &log(vec![(0, Body::RunStarted(lease(0)))])), None);
        let point = Interval { start: due(), end: due() };
        assert_eq!(target(None).window, Window { target: point, boundary: None });
    }
}
