//! The tools of the temporal layer, as agents see them: `plan.propose`, `memory.push`, `memory.pull`. Each is an effect, with
//! intent, receipt and recorded result like any other; what carries it out is the trace log.
//!
//! Staging is the run's own log: a push is recorded there with its step, seen by nobody else, and committed in the epilogue of
//! the run if that completes.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use serde_json::{Value, json};

use super::desk::check_links;
use super::memport::pulled;
use super::{Book, Desk, MemoryTrace, Refusal};
use crate::kernel::{
    Body, CallError, Calling, EffectStatus, EventLog, Host, Json, MEMORY_PULL, MEMORY_PUSH, Name, Outside,
    PLAN_PROPOSE, Perform, Performed, Proposer, RunLogEntry, Scheduler, Seq, Step, Store, Task,
};
use crate::runtime::repeat_on;

/// The outside world of an agent, with the tools of the temporal layer in it.
pub struct Port {
    outside: Rc<dyn Outside>,
    store: Rc<dyn Store>,
    host: Rc<dyn Host>,
}

impl Port {
    /// Puts the tools before `outside`.
    pub fn new(outside: Rc<dyn Outside>, store: Rc<dyn Store>, host: Rc<dyn Host>) -> Port {
        Port { outside, store, host }
    }

    fn desk(&self, args: &Value) -> Result<Desk, Performed> {
        match args.get("user").and_then(Value::as_str) {
            Some(user) => Ok(Desk::new(self.store.clone(), self.host.clone(), user)),
            None => Err(refused("the arguments name no `user`")),
        }
    }
}

fn refused(reason: impl ToString) -> Performed {
    Performed::Refused { reason: reason.to_string().into(), after: None }
}

fn argument(args: &Value, name: &str) -> Json {
    args.get(name).cloned().map_or_else(Json::null, Json::new)
}

impl Outside for Port {
    fn perform(&self, request: Perform) -> Calling<Performed> {
        let args = request.effect.spec.clone();
        let kind = request.effect.kind.clone();
        if ![PLAN_PROPOSE, MEMORY_PUSH, MEMORY_PULL].contains(&&*kind) {
            return self.outside.perform(request);
        }
        let desk = match self.desk(&args) {
            Ok(desk) => desk,
            Err(refused) => return Box::pin(async { Ok(refused) }),
        };
        let (store, host) = (self.store.clone(), self.host.clone());
        let limit = self.host.sleep(request.limit);
        let work = async move {
            match &*kind {
                PLAN_PROPOSE => {
                    let view = repeat_on(&*host, async || store.status(request.run).await).await;
                    let Some(view) = view else { return refused("nobody knows the run that proposes") };
                    let by = Proposer::Run { run: request.run, agent: view.agent, step: request.step };
                    let plan = argument(&args, "plan");
                    match desk.propose(&plan, by).await {
                        Ok(()) => Performed::Done(Json::new(json!({ "proposed": plan.get("uid") }))),
                        Err(refusal) => refused(refusal),
                    }
                }
                MEMORY_PUSH => match MemoryTrace::parse(&argument(&args, "trace")) {
                    Ok(trace) => {
                        let book = desk.book().await;
                        let log = repeat_on(&*host, async || store.read(request.run, Seq::FIRST).await).await;
                        match check_draft(&book, &earlier_drafts(&log, &book.user, request.step), trace) {
                            Ok(uid) => Performed::Done(Json::new(json!({ "staged": &*uid }))),
                            Err(refusal) => refused(refusal),
                        }
                    }
                    Err(error) => refused(error),
                },
                _ => match pulled(&desk.book().await, &args) {
                    Ok(traces) => Performed::Done(Json::new(traces)),
                    Err(error) => refused(error),
                },
            }
        };
        Box::pin(within(limit, work))
    }
}

/// The ids of what a run has staged for a user before a step, as its log tells.
fn earlier_drafts(log: &[RunLogEntry], user: &str, before: Step) -> BTreeSet<Name> {
    let staged = |entry: &RunLogEntry| match &*entry.body {
        Body::ToolResult { step, result } if result.status == EffectStatus::Ok && *step < before => Some(*step),
        _ => None,
    };
    let staged: BTreeSet<Step> = log.iter().filter_map(staged).collect();
    let uid = |entry: &RunLogEntry| match &*entry.body {
        Body::ToolCalled { opening, effect, .. }
            if &*effect.kind == MEMORY_PUSH && effect.spec["user"] == *user && staged.contains(&opening.step) =>
        {
            effect.spec["trace"]["uid"].as_str().map(Name::from)
        }
        _ => None,
    };
    log.iter().filter_map(uid).collect()
}

/// A draft has an id of its own, and its links lead to memory or to earlier drafts of its run. Gives the id.
fn check_draft(book: &Book, earlier: &BTreeSet<Name>, mut trace: MemoryTrace) -> Result<Name, Refusal> {
    if book.calendar().is_none() {
        return Err(Refusal::UnknownUser(book.user.clone()));
    }
    if book.knows(&trace.uid) || earlier.contains(&trace.uid) {
        return Err(Refusal::DuplicateUid(trace.uid));
    }
    trace.links.retain(|link| !earlier.contains(&link.trace_id));
    check_links(book, &trace.links, &[])?;
    Ok(trace.uid)
}

/// What came of it within its limit; after that nobody can tell.
async fn within(mut limit: Task, work: impl Future<Output = Performed>) -> Result<Performed, CallError> {
    let mut work = Box::pin(work);
    poll_fn(move |cx| match work.as_mut().poll(cx) {
        Poll::Ready(performed) => Poll::Ready(Ok(performed)),
        Poll::Pending => limit.as_mut().poll(cx).map(|()| Ok(Performed::Unknown)),
    })
    .await
}
