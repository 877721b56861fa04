//! The tries of a run, and its model calls, as its log tells them.

use crate::check::facts::{Log, is_foreign};
use crate::kernel::{Body, CallKind, Ending, Execution, FailureCode, Name, Span, Step, Timestamp};

/// One try of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// When it ended; none for one that was lost.
    pub executed_at: Option<Timestamp>,
    pub duration_ms: i64,
    pub status: Execution,
}

/// What a run that has ended went through.
pub struct Passage {
    /// Its first lease entry.
    pub begun: Timestamp,
    pub ended: Timestamp,
    pub status: Execution,
    /// In order.
    pub tries: Vec<Tried>,
    /// The length of the union of the intervals of its model calls.
    pub latency_ms: i64,
}

/// How an ending is told as the end of an execution.
const fn execution(ending: &Ending) -> Execution {
    match ending {
        Ending::Completed { .. } => Execution::Completed,
        Ending::Failed { .. } => Execution::Failed,
        Ending::Cancelled { .. } => Execution::Cancelled,
    }
}

/// How, and why, a run ended that was never executed: in its first lease, before anything was begun in it.
pub fn never_ran(log: &Log) -> Option<(Execution, Name)> {
    let (mut leases, mut ended) = (0, None);
    for body in log.bodies() {
        match body {
            Body::RunStarted(_) | Body::RunResumed(_) => leases += 1,
            Body::RunSuspended { .. } | Body::RunRetrying { .. } => return None,
            Body::Ended(Ending::Cancelled { reason, .. }) => ended = Some((Execution::Cancelled, reason.clone())),
            Body::Ended(Ending::Failed { code: FailureCode::DeadlineExceeded, error, .. }) => {
                ended = Some((Execution::Skipped, error.clone()));
            }
            body if body.opening().is_some() => return None,
            _ => {}
        }
    }
    ended.filter(|_| leases <= 1)
}

/// Reads the log of a run that has ended. A try begins at the first lease entry, after a `run.retrying` at the next
/// `run.resumed`, and at one that follows neither that nor a `run.suspended`: then the try before it was lost, and ends
/// there. What others write in between counts for nothing.
pub fn passage(log: &Log) -> Option<Passage> {
    let (mut tries, mut calls) = (Vec::new(), Vec::new());
    let (mut begun, mut current, mut rests) = (None, None, false);
    for entry in log.iter().filter(|entry| !is_foreign(&entry.body)) {
        let ts = entry.ts;
        let lasted = |from: Timestamp| ts.since(from).as_millis();
        match &*entry.body {
            Body::RunStarted(_) => {
                begun = begun.or(Some(ts));
                current = Some(ts);
            }
            Body::RunResumed(_) if rests => {}
            Body::RunResumed(_) => {
                begun = begun.or(Some(ts));
                if let Some(from) = current.replace(ts) {
                    let duration_ms = lasted(from);
                    tries.push(Tried { executed_at: None, duration_ms, status: Execution::Failed });
                }
            }
            Body::RunRetrying { .. } => {
                if let Some(from) = current.take() {
                    let duration_ms = lasted(from);
                    tries.push(Tried { executed_at: Some(ts), duration_ms, status: Execution::Failed });
                }
            }
            Body::ToolCalled { opening, .. } if opening.call == CallKind::Model => calls.push((opening.step, ts, None)),
            Body::ToolResult { step, .. } => ends_call(&mut calls, *step, ts),
            Body::Ended(ending) => {
                let status = execution(ending);
                if let Some(from) = current {
                    tries.push(Tried { executed_at: Some(ts), duration_ms: lasted(from), status });
                }
                let latency_ms = union(&calls, ts).as_millis();
                return Some(Passage { begun: begun.unwrap_or(ts), ended: ts, status, tries, latency_ms });
            }
            _ => {}
        }
        rests = matches!(&*entry.body, Body::RunSuspended { .. });
    }
    None
}

type ModelCall = (Step, Timestamp, Option<Timestamp>);

fn ends_call(calls: &mut [ModelCall], step: Step, ts: Timestamp) {
    if let Some((_, _, end)) = calls.iter_mut().find(|(called, _, _)| *called == step) {
        end.get_or_insert(ts);
    }
}

/// The length of time in which at least one of the calls was open; one without a result ends with its run.
fn union(calls: &[ModelCall], ended: Timestamp) -> Span {
    // They began in the order of the log.
    let (mut length, mut until) = (Span::ZERO, None);
    for (_, start, end) in calls {
        let end = end.unwrap_or(ended);
        let from = until.map_or(*start, |until| (*start).max(until));
        if end > from {
            length = length + end.since(from);
            until = Some(end);
        }
    }
    length
}
