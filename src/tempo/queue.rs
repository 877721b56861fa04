//! The planner's queue: what is to be done next, as a pure function of the trace log and the time.

use super::profiler::never_executed;
use super::{Book, Instance, PlanStatus, Planned, Token, reflect};
use crate::kernel::{Execution, Name, Proposer, RunId, Span, Timestamp, TraceBody};

/// What a planner does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Write this.
    Write(TraceBody),
    /// Nothing until the log grows, or this instant comes.
    Wait(Option<Timestamp>),
}

/// What is to be done whatever the time: approvals by policy, the closings of what was rejected, what follows from closings
/// and feedback.
pub fn duty(book: &Book) -> Option<TraceBody> {
    let auto = book.settings.as_ref().is_some_and(|settings| settings.auto_approve);
    let by_policy = |planned: &&Planned| auto && planned.status == PlanStatus::Proposed;
    if let Some(planned) = in_order(book).into_iter().find(by_policy) {
        return Some(TraceBody::PlanApproved { uid: planned.plan.uid.clone(), by: "policy".into() });
    }
    let rejected = book.plans.values().filter(|planned| planned.status == PlanStatus::Rejected);
    for planned in rejected {
        if let (Some((n, instance)), Some((by, reason))) = (planned.open(), &planned.rejected) {
            return Some(skipped(book, planned, n, instance, format!("rejected by {by}: {reason}")));
        }
    }
    reflect::duty(book)
}

/// Whether anything waits for its time.
pub fn has_waiting(book: &Book) -> bool {
    book.plans.values().any(|planned| waiting(planned).is_some())
}

/// What is to be done at `now`: the first in the queue that may go is dispatched, what may go no more is skipped.
pub fn next(book: &Book, now: Timestamp) -> Next {
    let (Some(calendar), Some(_)) = (book.calendar(), &book.settings) else { return Next::Wait(None) };
    let mut wake: Option<Timestamp> = None;
    let mut sooner = |at: Timestamp| wake = Some(wake.map_or(at, |wake| wake.min(at)));
    for planned in in_order(book) {
        let Some((n, instance, due)) = waiting(planned) else { continue };
        if due > now {
            sooner(due);
            continue;
        }
        match hold_back(book, planned, n, now) {
            Held::Free => {
                let agent = planned.plan.agent();
                let address = agent.with_key(&format!("{}/{}", book.user, planned.occurrence(n)));
                return Next::Write(TraceBody::PlanDispatched {
                    occurrence: planned.occurrence(n),
                    due,
                    release: due,
                    run: RunId::of_occurrence(&address),
                    agent: address,
                    action: planned.plan.action.as_str().into(),
                    day: calendar.zone.day_of(now),
                });
            }
            Held::Never(reason) => return Next::Write(skipped(book, planned, n, instance, reason)),
            Held::Until(until) => {
                let until = [until, planned.deadline(n)].into_iter().flatten().min();
                until.into_iter().for_each(&mut sooner);
            }
        }
    }
    Next::Wait(wake)
}

/// The occurrence of a plan that is approved, not dispatched, and has a time.
fn waiting(planned: &Planned) -> Option<(u32, &Instance, Timestamp)> {
    let (n, instance) = planned.open()?;
    let is_approved = planned.status == PlanStatus::Approved && instance.dispatch.is_none();
    is_approved.then_some(())?;
    Some((n, instance, instance.due?))
}

/// All plans in the order of the queue: release, priority (higher first), insertion, uid.
fn in_order(book: &Book) -> Vec<&Planned> {
    let mut plans: Vec<&Planned> = book.plans.values().collect();
    plans.sort_by_key(|planned| {
        let due = planned.open().and_then(|(_, instance)| instance.due);
        (due, std::cmp::Reverse(planned.plan.priority), planned.inserted, planned.plan.uid.clone())
    });
    plans
}

/// Whether something holds an occurrence back that is due.
enum Held {
    /// Nothing.
    Free,
    /// It may go at this instant at the earliest; without one, once the log says so.
    Until(Option<Timestamp>),
    /// It will never go.
    Never(String),
}

fn hold_back(book: &Book, planned: &Planned, n: u32, now: Timestamp) -> Held {
    if let Some(deadline) = planned.deadline(n).filter(|deadline| now >= *deadline) {
        return Held::Never(format!("its deadline {deadline} has passed"));
    }
    if let Some(before) = planned.token.as_ref().and_then(Token::before)
        && tasks(book, before).any(|other| other.instances.iter().any(|instance| instance.dispatch.is_some()))
    {
        return Held::Never(format!("it was to go before {before}, which has begun"));
    }
    if let Some(after) = planned.token.as_ref().and_then(Token::after) {
        match after_is_done(book, after) {
            Held::Free => {}
            held => return held,
        }
    }
    let until = [blocked(book, now), over_cadence(book, planned, now), over_budget(book, planned, now)];
    match until.into_iter().flatten().max() {
        Some(until) => Held::Until(Some(until)),
        None => Held::Free,
    }
}

/// The plans that a link names, by task or by uid.
fn tasks<'a>(book: &'a Book, name: &'a str) -> impl Iterator<Item = &'a Planned> {
    book.plans
        .values()
        .filter(move |planned| *planned.plan.uid == *name || planned.plan.task_id.as_deref() == Some(name))
}

/// `after-<task>`: an occurrence of the task has been completed. Where none ever will be, the plan is skipped.
fn after_is_done(book: &Book, task: &str) -> Held {
    let ended = |instance: &Instance, status: Execution| {
        instance.closing.as_ref().is_some_and(|closing| closing.profile.execution_result.status == status)
    };
    let mut others = tasks(book, task).peekable();
    if others.peek().is_none() {
        return Held::Until(None);
    }
    let mut may_come = false;
    for other in others {
        if other.instances.iter().any(|instance| ended(instance, Execution::Completed)) {
            return Held::Free;
        }
        may_come |= other.open().is_some();
    }
    if may_come { Held::Until(None) } else { Held::Never(format!("it was to go after {task}, which was not done")) }
}

fn blocked(book: &Book, now: Timestamp) -> Option<Timestamp> {
    book.calendar()?.blocked_until(now)
}

/// Every dispatch of the same action: when, and the end of its local day.
fn dispatches<'a>(book: &'a Book, planned: &'a Planned) -> impl Iterator<Item = &'a super::Dispatch> {
    let same = book.plans.values().filter(|other| other.plan.action == planned.plan.action);
    same.flat_map(|other| &other.instances).filter_map(|instance| instance.dispatch.as_ref())
}

fn over_cadence(book: &Book, planned: &Planned, now: Timestamp) -> Option<Timestamp> {
    let gap: Span = *book.settings.as_ref()?.cadence.get(&planned.plan.action)?;
    let last = dispatches(book, planned).map(|dispatch| dispatch.at).max()?;
    Some(last + gap).filter(|free| *free > now)
}

fn over_budget(book: &Book, planned: &Planned, now: Timestamp) -> Option<Timestamp> {
    let budget = *book.settings.as_ref()?.budget.get(&planned.plan.action)?;
    let today = book.calendar()?.zone.day_of(now);
    let used =
        dispatches(book, planned).filter(|dispatch| dispatch.at >= today.start && dispatch.at < today.end).count();
    (used >= budget as usize).then_some(today.end)
}

/// The closing of an occurrence that will never be executed.
fn skipped(book: &Book, planned: &Planned, n: u32, instance: &Instance, reason: String) -> TraceBody {
    let window = |due| book.calendar().map(|calendar| calendar.window(planned.token.as_ref(), due));
    TraceBody::PlanClosed {
        occurrence: planned.occurrence(n),
        due: instance.due,
        window: instance.due.and_then(window),
        reason: Some(reason.into()),
        profile: Box::new(never_executed(planned.plan.token.clone(), Execution::Skipped, planned_by(planned))),
    }
}

/// Who planned it: as the document says, else who proposed it.
pub fn planned_by(planned: &Planned) -> Option<Name> {
    planned.plan.planned_by.clone().or_else(|| match &planned.by {
        Proposer::User(user) => Some(user.clone()),
        Proposer::Run { agent, .. } => Some(agent.as_str().into()),
        Proposer::Occurrence(_) => Some("planner".into()),
    })
}
