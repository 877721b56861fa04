//! What a log lets a store answer about other runs than its own: the children that its steps were given, what a tree had
//! spent, how far others were. What has to be carried out again was carried out before, so everybody has it already.

use std::sync::Arc;

use super::prefix::Prefix;
use crate::kernel::{
    Account, AgentId, ArtifactRef, AskOutcome, Body, CallKind, Claimed, Created, Ending, Json, Limits, Name, Reply,
    Request, Reserved, RunHandle, RunId, RunLogEntry, RunSpec, RunStatusSummary, RunView, Seq, SpecDefaults, Spend,
    Step, Timestamp,
};

/// The reply, where the log knows it or where none is needed to know.
pub(super) fn of_others(prefix: &Prefix, request: &Request, time: Timestamp) -> Option<Reply> {
    Some(match request {
        Request::Create { .. } => Reply::Created(Created::Exists),
        Request::Cancel { .. }
        | Request::Detach { .. }
        | Request::ReturnUnit { .. }
        | Request::Follow { .. }
        | Request::Unfollow { .. } => Reply::Done,
        // Whoever was to get a publication has it.
        Request::FollowersOf { .. } => Reply::Agents(Vec::new()),
        Request::Put { .. } => Reply::Stored(ArtifactRef("rehearsed".into())),
        Request::Reserve { step, .. } => Reply::Reserved(reserved(prefix, *step)?),
        Request::Totals { .. } => Reply::Account(account(prefix)?),
        Request::Spend { .. } => Reply::Account(Account::default()),
        Request::Status { run } => Reply::View(view(prefix, *run)?),
        Request::LastSeq { .. } => Reply::LastSeq(last_seq(prefix)?),
        Request::Read { run, from } => Reply::Entries(vec![RunLogEntry {
            run_id: *run,
            seq: (*from).max(Seq::FIRST),
            ts: time,
            body: Arc::new(last_words(prefix)),
        }]),
        Request::Receiver { .. } => Reply::Run(timed_out(prefix)?.map(|handle| handle.run_id)),
        Request::RunOf { .. } => Reply::Run(None),
        Request::Spec { run } => {
            let handle = timed_out(prefix)?;
            Reply::Spec(handle.map(|handle| {
                let root = RunSpec::root(*run, handle.agent_id.clone(), SpecDefaults::default());
                Arc::new(RunSpec { parent: handle.parent_run, ..root })
            }))
        }
        _ => return None,
    })
}

/// How the log ends the claim of a question or a wait.
pub(super) fn claimed(prefix: &Prefix, step: Step) -> Option<Claimed> {
    Some(match prefix.result(step)? {
        Body::SignalReceived { name, id, payload, .. } => {
            Claimed::Signal { id: id.clone(), name: name.clone(), payload: payload.clone() }
        }
        Body::AskResolved { outcome, .. } if !matches!(**outcome, AskOutcome::TimedOut { .. }) => {
            let Body::AskSent { message, .. } = &*prefix.opening(step)?.body else { return None };
            let name: Name = format!("reply:{}", message.correlation.as_ref()?).into();
            let payload = Json::new(serde_json::to_value(outcome).ok()?);
            Claimed::Signal { id: name.clone(), name, payload }
        }
        Body::TimerFired { .. } | Body::AskResolved { .. } => Claimed::TimedOut,
        _ => return None,
    })
}

/// What a step was told that asked for a child. What its type is registered with is what its parent made of it.
fn reserved(prefix: &Prefix, step: Step) -> Option<Reserved> {
    Some(match prefix.recorded(step)? {
        Body::ChildSpawned { spec, .. } => {
            let defaults = Box::new(spec.settings.clone());
            Reserved::Reserved { child_run: spec.run, tree: spec.tree, defaults }
        }
        Body::SpawnDenied { reason, .. } => Reserved::Denied { reason: reason.clone() },
        _ => return None,
    })
}

/// What the next step was told that its tree had spent: nothing, or just what its refusal names.
fn account(prefix: &Prefix) -> Option<Account> {
    match prefix.recorded(prefix.next_step())? {
        Body::ToolCalled { opening, .. } if opening.call == CallKind::Model => Some(Account::default()),
        Body::StepValue { opening, value } if opening.call == CallKind::Model => {
            let zero = |name: &str| (value.get("limit").and_then(|limit| limit.as_str()) == Some(name)).then_some(0);
            let limits = Limits { tokens: zero("tokens"), cost_micros: zero("cost"), turns: zero("turns") };
            Some(Account { spent: Spend::default(), limits })
        }
        _ => None,
    }
}

/// What the next step saw, where it looks at a run.
fn peek(prefix: &Prefix) -> Option<&Json> {
    match prefix.recorded(prefix.next_step())? {
        Body::StepValue { opening, value } if opening.call == CallKind::Status => Some(value),
        _ => None,
    }
}

fn summary(prefix: &Prefix) -> Option<RunStatusSummary> {
    serde_json::from_value((**peek(prefix)?).clone()).ok()
}

fn view(prefix: &Prefix, run: RunId) -> Option<Option<RunView>> {
    if peek(prefix)?.get("refused").is_some() {
        return Some(None);
    }
    let status = summary(prefix).filter(|seen| seen.run_id == run)?.status;
    let agent: AgentId = "somebody".parse().ok()?;
    Some(Some(RunView { agent, status, attempt: None, waits: Vec::new(), halted: false, reserved: false }))
}

fn last_seq(prefix: &Prefix) -> Option<Seq> {
    if let Some(seen) = summary(prefix) {
        return Some(seen.last_seq);
    }
    let ends = prefix.begun().filter(|step| prefix.is_open(*step)).filter_map(|step| prefix.result(step));
    ends.filter_map(|end| match end {
        Body::AskResolved { outcome, .. } => match **outcome {
            AskOutcome::TimedOut { last_seq, .. } => Some(last_seq),
            _ => None,
        },
        _ => None,
    })
    .next()
}

/// The last entry of another run: of the kind that a look at it saw, else its end.
fn last_words(prefix: &Prefix) -> Body {
    match summary(prefix).and_then(|seen| seen.last_milestone) {
        Some(kind) => Body::Other { kind, payload: Json::null() },
        None => Body::Ended(Ending::Completed { output: Json::null(), in_doubt: Vec::new() }),
    }
}

/// Whom a question that timed out in the log had reached.
fn timed_out(prefix: &Prefix) -> Option<Option<&RunHandle>> {
    let ends = prefix.begun().filter(|step| prefix.is_open(*step)).filter_map(|step| prefix.result(step));
    ends.filter_map(|end| match end {
        Body::AskResolved { outcome, .. } => match &**outcome {
            AskOutcome::TimedOut { handle, .. } => Some(handle.as_ref()),
            _ => None,
        },
        _ => None,
    })
    .next()
}
