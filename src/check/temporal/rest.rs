//! What is judged of the temporal layer once, when the world has healed and is at rest.

use super::document::{deadline, is_linked, repeat, scheduled_for, text};
use super::{links, memory, subject};
use crate::check::facts::{Facts, Plan, Standing, TraceLog};
use crate::check::verdict::{Judge, Rule};
use crate::kernel::Timestamp;

/// At the end of the world.
pub fn finish(facts: &Facts, judge: &mut Judge<'_>) {
    for log in &facts.traces.logs {
        for plan in &log.plans {
            closed(facts, judge, log, plan);
            served(facts, judge, log, plan);
        }
        links::finish(facts, judge, log);
    }
    memory::finish(facts, judge);
}

/// `plan-closed-once`: every occurrence whose run has ended is closed, and every rejected plan is. `announced-done`: the
/// run of every occurrence that was dispatched was created.
fn closed(facts: &Facts, judge: &mut Judge<'_>, log: &TraceLog, plan: &Plan) {
    for instance in plan.occurrences.iter().filter(|instance| instance.closed.is_none()) {
        let Some(dispatch) = &instance.dispatched else { continue };
        let (run, name) = (&facts.runs[dispatch.run], format!("{}#{}", plan.uid, instance.n));
        let (rule, wrong) = if run.status.is_none() {
            (Rule::AnnouncedDone, "its run was never created")
        } else if run.log.closed.is_some() {
            (Rule::PlanClosedOnce, "its run has ended, and it was never closed")
        } else {
            continue;
        };
        judge.violated(
            rule,
            subject(facts, log.stream, &name),
            format_args!("it was dispatched to `{}`, {wrong}", dispatch.agent),
        );
    }
    if plan.standing == Standing::Rejected && plan.occurrences.iter().all(|instance| instance.closed.is_none()) {
        let name = subject(facts, log.stream, &plan.uid);
        judge.violated(Rule::PlanClosedOnce, name, format_args!("it was rejected, and never closed"));
    }
}

/// `plan-served`: the next occurrence of an approved plan is dispatched or closed once it is due, unless it waits for
/// another plan; a plan of a user who lets all plans be approved is not left as proposed.
fn served(facts: &Facts, judge: &mut Judge<'_>, log: &TraceLog, plan: &Plan) {
    let name = || subject(facts, log.stream, &plan.uid);
    if plan.standing == Standing::Proposed {
        if log.settings.auto_approve {
            judge.violated(Rule::PlanServed, name(), format_args!("nobody approved it, and its user lets all be"));
        }
        return;
    }
    let open = plan.occurrences.iter().any(|instance| instance.closed.is_none());
    let kind = text(&plan.document, "target").or(text(&plan.document, "action_type")).unwrap_or_default();
    let kind = kind.split('/').next().unwrap_or_default();
    // Planners leave alone what goes to agents that nobody has registered.
    let is_known = facts.registered.iter().any(|known| **known == *kind);
    if plan.standing == Standing::Rejected || open || is_linked(&plan.document) || !is_known {
        return;
    }
    let n = plan.occurrences.iter().map(|instance| instance.n).max().unwrap_or(0) + 1;
    let Some(due) = due_at_latest(log, plan, n) else { return };
    if due <= judge.at {
        judge.violated(
            Rule::PlanServed,
            name(),
            format_args!("occurrence {n} was due by {due}, the world is at rest, and it was never dispatched"),
        );
    }
}

/// When an occurrence that nobody has touched is due, at the latest; none where the document does not tell, or where it
/// may never come.
fn due_at_latest(log: &TraceLog, plan: &Plan, n: u32) -> Option<Timestamp> {
    let document = &plan.document;
    if n == 1 {
        let due = [scheduled_for(document), deadline(document)].into_iter().flatten().min();
        return due.filter(|due| log.settings.horizon.is_none_or(|horizon| *due <= horizon));
    }
    let (repeat, before) = (repeat(document)?, plan.instance(n - 1)?);
    if repeat.times.is_some_and(|times| u64::from(n) > times) {
        return None;
    }
    let due = before.dispatched.as_ref().map(|dispatch| dispatch.due).or(before.closed.as_ref()?.due)?;
    let due = due + repeat.every.bounds().1;
    // Where no horizon is set, nobody can tell that this one was wanted.
    let until = [repeat.until, deadline(document)].into_iter().flatten().fold(log.settings.horizon?, Timestamp::min);
    (due <= until).then_some(due)
}
