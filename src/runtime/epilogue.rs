//! What is left to do behind a closed log. Every part is idempotent: any worker, or two at once, can finish it
//! after a crash anywhere.

use std::sync::Arc;

use super::announced::{cancel_child, carry_out_all, ensure_child, send_outcome};
use super::foreign;
use super::hold::Hold;
use crate::kernel::{
    ArtifactRef, Artifacts, AskOutcome, Body, Disposition, Ending, FailureCode, INLINE_BYTES_MAX, Inbox, Message,
    MessageId, Name, Nursery, Release, RunId, RunLogEntry, RunResult, RunStatus, Scheduler, Seq, TraceBody, Wakeup,
};

/// Carries out what the log announces, sees to the children, gives the unit back, tells the parent and the askers,
/// settles the mail, and releases the run as ended.
pub(super) async fn epilogue(hold: &Hold) {
    carry_out_all(hold).await;
    see_to_children(hold).await;
    hold.settled(async || hold.floor.store.return_unit(hold.run()).await).await;
    commit_memory(hold).await;
    let result = hold.log.borrow().run_result(hold.run()).expect("an epilogue stands behind a terminal entry");
    if let Some(parent) = hold.lease.spec.parent {
        tell_parent(hold, parent, result.clone()).await;
    }
    answer_questions(hold, &result).await;
    settle_mail(hold).await;
    hold.release(Release::Ended(result.status)).await;
}

/// Commits what a completed run has staged: its drafts, user by user, into their trace logs, unless they stand there. What a
/// run has staged that did not complete stays in its own log, seen by nobody else.
async fn commit_memory(hold: &Hold) {
    let drafts = {
        let log = hold.log.borrow();
        match &log.ended {
            Some(Ending::Completed { .. }) => log.drafts(),
            _ => return,
        }
    };
    let (store, host, run) = (&hold.floor.store, &hold.floor.host, hold.run());
    for (user, traces) in drafts {
        let committed = TraceBody::MemoryCommitted { run, traces };
        let is_there = |entry: &RunLogEntry| match &*entry.body {
            Body::Trace(trace) => matches!(**trace, TraceBody::MemoryCommitted { run: known, .. } if known == run),
            _ => false,
        };
        let body = Arc::new(Body::Trace(Box::new(committed)));
        foreign::write(&**store, &**host, RunId::of_traces(&user), &body, is_there).await;
    }
}

/// Cancels or detaches the children that live, as the log has decided. A cancel of the run, whenever it came, means all of
/// them.
async fn see_to_children(hold: &Hold) {
    let (live, cancelled, detach) = {
        let log = hold.log.borrow();
        let live: Vec<RunId> = log.live_children().map(|child| child.handle(hold.run()).run_id).collect();
        (live, log.cancel.clone(), log.resolved.clone().map(|resolved| resolved.detach).unwrap_or_default())
    };
    for child in live {
        if let Some(reason) = &cancelled {
            cancel_child(hold, child, reason).await;
        } else if detach.contains(&child) {
            ensure_child(hold, child).await;
            hold.settled(async || hold.floor.store.detach(child).await).await;
        } else {
            cancel_child(hold, child, &"its parent has ended".into()).await;
        }
    }
}

/// Writes the result into the log of the parent, unless that is closed or has it, and wakes the parent.
async fn tell_parent(hold: &Hold, parent: RunId, result: RunResult) {
    let child_run = result.run_id;
    let (result, result_ref) = kept(hold, result).await;
    let body = Arc::new(Body::ChildCompleted { result: Box::new(result), result_ref: result_ref.clone() });
    let (store, host) = (&hold.floor.store, &hold.floor.host);
    let mut is_closed = false;
    let answers = |entry: &RunLogEntry| match &*entry.body {
        Body::Ended(_) => {
            is_closed = true;
            true
        }
        Body::ChildCompleted { result, .. } => result.run_id == child_run,
        _ => false,
    };
    foreign::write(&**store, &**host, parent, &body, answers).await;
    if !is_closed {
        let wakeup = Wakeup::ChildDone { child_run, result_ref };
        hold.settled(async || store.wake(parent, wakeup.clone()).await).await;
    }
}

/// A result as it stands in a log: without its output where that is large, which is kept as an artifact then.
async fn kept(hold: &Hold, result: RunResult) -> (RunResult, Option<ArtifactRef>) {
    let bytes = serde_json::to_vec(&result).expect("a result is written to memory");
    if bytes.len() <= INLINE_BYTES_MAX {
        return (result, None);
    }
    let bytes: Arc<[u8]> = bytes.into();
    let artifact = hold.settled(async || hold.floor.store.put(bytes.clone()).await).await;
    (RunResult { output: None, ..result }, Some(artifact))
}

/// Answers every question that the run has received and not answered with how the run ended.
async fn answer_questions(hold: &Hold, result: &RunResult) {
    let (open, last_seq): (Vec<Message>, Seq) = {
        let log = hold.log.borrow();
        let open = log.questions.values().filter(|question| !question.answered);
        (open.map(|question| question.message.clone()).collect(), log.last)
    };
    let outcome = match result.status {
        RunStatus::Failed => AskOutcome::TargetFailed { last_seq },
        RunStatus::Cancelled => AskOutcome::TargetCancelled { last_seq },
        _ => AskOutcome::Replied { result: result.clone(), last_seq },
    };
    for question in open {
        send_outcome(hold, &question, &outcome).await;
    }
}

/// Settles all mail of the run.
async fn settle_mail(hold: &Hold) {
    let (ending, failures, mail) = {
        let log = hold.log.borrow();
        let ending = log.ended.clone().expect("an epilogue stands behind a terminal entry");
        (ending, log.failures, log.mail.clone())
    };
    let dead = |number, reason: &Name| Some((number, Disposition::Dead(reason.clone())));
    let nack = match &ending {
        Ending::Failed { code, error, .. } => dead(failures + u32::from(is_of_agent(*code)), error),
        Ending::Cancelled { reason, .. } if hold.lease.spec.settings.retry.dead_run_on_cancel => dead(failures, reason),
        Ending::Completed { .. } | Ending::Cancelled { .. } => None,
    };
    for message in mail {
        match &nack {
            Some((failure, disposition)) => nack_one(hold, message, *failure, disposition.clone()).await,
            None => ack_one(hold, message).await,
        }
    }
}

/// Whether the agent itself failed, which counts as one more failure over its mail.
const fn is_of_agent(code: FailureCode) -> bool {
    match code {
        FailureCode::AgentCrashed
        | FailureCode::EffectRefused
        | FailureCode::EffectInDoubt
        | FailureCode::OverlappingSteps
        | FailureCode::AbandonedStep => true,
        FailureCode::DeadlineExceeded | FailureCode::BudgetExhausted | FailureCode::Poisoned => false,
    }
}

async fn ack_one(hold: &Hold, message: MessageId) {
    let agent = &hold.lease.spec.agent;
    hold.settled(async || hold.floor.store.ack(agent.clone(), message.clone(), hold.run()).await).await;
}

async fn nack_one(hold: &Hold, message: MessageId, failure: u32, disposition: Disposition) {
    let (agent, run) = (&hold.lease.spec.agent, hold.run());
    let nack = async || {
        let (agent, message, disposition) = (agent.clone(), message.clone(), disposition.clone());
        hold.floor.store.nack(agent, message, run, failure, disposition).await
    };
    hold.settled(nack).await;
}

/// Notes failure number `failure` over all mail of the run, which stays pending.
pub(super) async fn nack_all(hold: &Hold, failure: u32, error: &Name) {
    let mail = hold.log.borrow().mail.clone();
    for message in mail {
        nack_one(hold, message, failure, Disposition::Again(error.clone())).await;
    }
}
