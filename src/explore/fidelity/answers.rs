//! What a log lets a store answer about other runs than its own: the children that its steps were given, what a tree had
//! spent, how far others were. What has to be carried out again was carried out before, so everybody has it already.

use std::sync::Arc;

use super::prefix::Prefix;
use crate::kernel::{
    Account, AgentId, ArtifactRef, AskOutcome, Body, CallKind, Claimed, Created, Ending, Json, Limits, Message, Name,
    Reply, Request, Reserved, RunHandle, RunId, RunLogEntry, RunSpec, RunStatusSummary, RunView, Seq, SpecDefaults,
    Spend, Step, Timestamp, TraceBody,
};

/// The reply, where the log knows it or where none is needed to know. `log` is the log as it stands by now.
pub(super) fn of_others(prefix: &Prefix, log: &[RunLogEntry], request: &Request, time: Timestamp) -> Option<Reply> {
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
        Request::LastSeq { run } => Reply::LastSeq(last_seq(prefix, log, *run)?),
        Request::Read { run, from } => {
            // Who peeks looks at the first entry; who wants to write finds the log closed.
            let end = Ending::Completed { output: Json::null(), in_doubt: Vec::new() };
            let first = (*from).max(Seq::FIRST);
            let entry = |seq, body| RunLogEntry { run_id: *run, seq, ts: time, body: Arc::new(body) };
            // The drafts of this run are committed.
            let own = log.first().map_or(*run, |entry| entry.run_id);
            let committed = Body::Trace(Box::new(TraceBody::MemoryCommitted { run: own, traces: Vec::new() }));
            Reply::Entries(vec![
                entry(first, last_words(prefix)),
                entry(first.next(), Body::Ended(end)),
                entry(first.next().next(), committed),
            ])
        }
        Request::Receiver { message, .. } => {
            let (handle, _) = timed_out(prefix, log, |question, _| question.id == *message)?;
            Reply::Run(handle.map(|handle| handle.run_id))
        }
        Request::RunOf { .. } => Reply::Run(None),
        Request::Spec { run } => {
            let (handle, _) = timed_out(prefix, log, |_, handle| is_of(handle, *run))?;
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

fn last_seq(prefix: &Prefix, log: &[RunLogEntry], run: RunId) -> Option<Seq> {
    let asked = timed_out(prefix, log, |_, handle| is_of(handle, run)).map(|(_, last_seq)| last_seq);
    asked.or_else(|| summary(prefix).map(|seen| seen.last_seq))
}

fn is_of(handle: Option<&RunHandle>, run: RunId) -> bool {
    handle.is_some_and(|handle| handle.run_id == run)
}

/// The last entry of another run: of the kind that a look at it saw, else its end.
fn last_words(prefix: &Prefix) -> Body {
    match summary(prefix).and_then(|seen| seen.last_milestone) {
        Some(kind) => Body::Other { kind, payload: Json::null() },
        None => Body::Ended(Ending::Completed { output: Json::null(), in_doubt: Vec::new() }),
    }
}

/// Of a question that the whole log ends by its time, and the log by now does not: whom it had reached, and how far that
/// run was.
fn timed_out<'p>(
    prefix: &'p Prefix,
    log: &[RunLogEntry],
    is_meant: impl Fn(&Message, Option<&RunHandle>) -> bool,
) -> Option<(Option<&'p RunHandle>, Seq)> {
    let is_over = |wanted: Step| {
        let mut ends = log.iter().filter(|entry| matches!(&*entry.body, Body::AskResolved { .. }));
        ends.any(|entry| entry.body.step() == Some(wanted))
    };
    let open = prefix.begun().filter(|step| prefix.is_open(*step) && !is_over(*step));
    open.filter_map(|step| match (&*prefix.opening(step)?.body, prefix.result(step)?) {
        (Body::AskSent { message, .. }, Body::AskResolved { outcome, .. }) => match &**outcome {
            AskOutcome::TimedOut { handle, last_seq } => Some((message, handle.as_ref(), *last_seq)),
            _ => None,
        },
        _ => None,
    })
    .find(|(question, handle, _)| is_meant(question, *handle))
    .map(|(_, handle, last_seq)| (handle, last_seq))
}
