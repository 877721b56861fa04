//! Plans: approved before they are dispatched, closed once, never early.

use serde_json::Value;

use super::document::{repeat, scheduled_for, tempo, text};
use super::{Entry, subject};
use crate::check::facts::{Facts, Party, Plan, RunAt, Standing, TraceLog, What, WorkerAt};
use crate::check::verdict::{Judge, Rule};
use crate::kernel::{Body, Execution, Name, Occurrence, PLAN_PROPOSE, Proposer, RunId, Timestamp, TraceBody};

/// `plan-approved`, at a transition: a uid is proposed once; only a proposed plan is edited (an edit once), approved or
/// rejected; and nothing happens to a plan that was never proposed.
pub fn transition(facts: &Facts, judge: &mut Judge<'_>, entry: &Entry, body: &TraceBody) {
    let (uid, edit) = match body {
        TraceBody::PlanProposed { uid, .. }
        | TraceBody::PlanApproved { uid, .. }
        | TraceBody::PlanRejected { uid, .. } => (uid, None),
        TraceBody::PlanEdited { uid, edit, .. } => (uid, Some(edit)),
        TraceBody::PlanDispatched { occurrence, .. }
        | TraceBody::PlanClosed { occurrence, .. }
        | TraceBody::PlanFeedback { occurrence, .. } => (&occurrence.uid, None),
        _ => return,
    };
    let plan = facts.traces.log(entry.stream).and_then(|log| log.plan(uid));
    let wrong = match (body, plan) {
        (TraceBody::PlanProposed { .. }, None) => return,
        (TraceBody::PlanProposed { .. }, Some(_)) => "a plan of that uid was proposed before".to_owned(),
        (_, None) => "it was never proposed".to_owned(),
        (TraceBody::PlanDispatched { .. }, Some(plan)) if plan.standing == Standing::Approved => return,
        (TraceBody::PlanClosed { .. } | TraceBody::PlanFeedback { .. }, Some(_)) => return,
        (TraceBody::PlanEdited { .. }, Some(plan)) if edit.is_some_and(|edit| plan.edits.contains(edit)) => {
            "that edit was made before".to_owned()
        }
        (TraceBody::PlanDispatched { .. }, Some(plan)) => format!("it is {}", plan.standing.as_str()),
        (_, Some(plan)) if plan.standing == Standing::Proposed => return,
        (_, Some(plan)) => format!("it is {} already", plan.standing.as_str()),
    };
    let (name, kind) = (entry.subject(facts, uid), body.kind());
    judge.violated(Rule::PlanApproved, name, format_args!("its log takes `{kind}`, and {wrong}"));
}

impl Standing {
    const fn as_str(self) -> &'static str {
        match self {
            Standing::Proposed => "proposed",
            Standing::Approved => "approved",
            Standing::Rejected => "rejected",
        }
    }
}

/// `announced-done`, the way back, at a proposal in a run's name: the log of that run intends it at that step.
pub fn proposed(facts: &Facts, judge: &mut Judge<'_>, entry: &Entry, uid: &Name, by: &Proposer) {
    let Proposer::Run { run, agent, step } = by else { return };
    let known = facts.known_run(*run).map(|run| &facts.runs[run]);
    let intends = |body: &Body| match body {
        Body::ToolCalled { opening, effect, .. } => {
            let plan = effect.spec.get("plan").and_then(|plan| plan.get("uid"));
            let same = plan.and_then(Value::as_str).is_none_or(|named| *named == **uid);
            opening.step == *step && *effect.kind == *PLAN_PROPOSE && same
        }
        _ => false,
    };
    let address = known.and_then(|run| run.agent).and_then(|agent| facts.agents[agent].id.as_ref());
    if address != Some(agent) || !known.is_some_and(|run| run.log.bodies().any(intends)) {
        judge.violated(
            Rule::AnnouncedDone,
            entry.subject(facts, uid),
            format_args!("it was proposed by step {step} of run {run} at `{agent}`, whose log does not intend that"),
        );
    }
}

/// `announced-done`, the way back, when a worker asks for a root: it is the run of an occurrence that was dispatched, with
/// that occurrence's message.
pub fn created(facts: &Facts, judge: &mut Judge<'_>, worker: WorkerAt, what: &What) {
    let What::Create { run, boot, parent: None, .. } = what else { return };
    let known = facts.traces.occurrence_of(*run);
    let boot = boot.and_then(|boot| facts.mails[boot].id.as_deref());
    let named = known.map(|(plan, instance)| format!("{}#{}", plan.uid, instance.n));
    if named.is_none() || named.as_deref() != boot {
        let who = facts.party_name(Party::Worker(worker));
        judge.violated(
            Rule::AnnouncedDone,
            facts.name(*run),
            format_args!("{who} creates it with message {boot:?}, and it was dispatched for {named:?}"),
        );
    }
}

/// `plan-closed-once`, at a dispatch or a closing: an occurrence is dispatched once and not behind its closing, closed
/// once, and only when the one before it is closed; one that was dispatched is closed when the log of its run is.
pub fn once(facts: &Facts, judge: &mut Judge<'_>, stream: RunAt, occurrence: &Occurrence, dispatch: bool) {
    let Some(plan) = facts.traces.log(stream).and_then(|log| log.plan(&occurrence.uid)) else { return };
    let known = plan.instance(occurrence.n);
    let dispatched = known.and_then(|instance| instance.dispatched.as_ref());
    let before = occurrence.n.checked_sub(1);
    let follows = match before {
        None => false,
        Some(0) => true,
        Some(before) => plan.instance(before).is_some_and(|before| before.closed.is_some()),
    };
    let wrong = if known.is_some_and(|instance| instance.closed.is_some()) {
        "it is closed already"
    } else if dispatch && dispatched.is_some() {
        "it was dispatched before"
    } else if !follows {
        "the one before it is not closed"
    } else if dispatched.is_some_and(|dispatch| facts.runs[dispatch.run].log.closed.is_none()) {
        "its run has not ended"
    } else {
        return;
    };
    let kind = if dispatch { "dispatched" } else { "closed" };
    judge.violated(
        Rule::PlanClosedOnce,
        subject(facts, stream, &occurrence.to_string()),
        format_args!("it is {kind}, and {wrong}"),
    );
}

/// At a dispatch. `plan-not-early`: it is not before its release, and the release not before it is due; it is due when
/// the document says, or when its recurrence does; nobody has begun its run. `plan-approved`: what is dispatched is what
/// was approved: its action, and the address and run of the occurrence.
pub fn dispatched(facts: &mut Facts, judge: &mut Judge<'_>, entry: &Entry, body: &TraceBody) {
    let TraceBody::PlanDispatched { occurrence, due, release, run, agent, action, .. } = body else { return };
    let begun = facts.run_at(*run);
    let begun = facts.runs[begun].log.iter().next().is_some();
    let name = entry.name(facts, occurrence);
    if entry.ts < *release || release < due || begun {
        let begun = if begun { "begun" } else { "not begun" };
        let ts = entry.ts;
        judge.violated(
            Rule::PlanNotEarly,
            &name,
            format_args!("dispatched at {ts}, due {due}, to be released at {release}, its run {begun}"),
        );
    }
    let Some(plan) = facts.traces.log(entry.stream).and_then(|log| log.plan(&occurrence.uid)) else { return };
    if let Some(wrong) = due_wrong(plan, occurrence.n, *due) {
        judge.violated(Rule::PlanNotEarly, &name, format_args!("dispatched as due {due}, {wrong}"));
    }
    if let Some(task) = tempo(&plan.document, "after-")
        && !facts.traces.log(entry.stream).is_some_and(|log| is_done(log, plan, task))
    {
        judge.violated(
            Rule::PlanNotEarly,
            &name,
            format_args!("dispatched, and it goes after `{task}`, which is not done"),
        );
    }
    let asked = text(&plan.document, "action_type");
    let target = text(&plan.document, "target").or(asked).unwrap_or("");
    let is_behind = |rest: &str| match facts.traces.user(entry.stream) {
        Some(user) => rest == format!("/{user}/{occurrence}"),
        None => rest.ends_with(&format!("/{occurrence}")),
    };
    let addressed = agent.as_str().strip_prefix(target).is_some_and(is_behind);
    if asked.is_some_and(|asked| *asked != **action) || !addressed || *run != RunId::of_occurrence(agent) {
        judge.violated(
            Rule::PlanApproved,
            &name,
            format_args!("run {run} at `{agent}` for `{action}` is dispatched, which is not what was approved"),
        );
    }
}

/// Whether an occurrence of another plan that is called so, or belongs to that task, was completed.
fn is_done(log: &TraceLog, plan: &Plan, task: &str) -> bool {
    let is_meant = |other: &&Plan| *other.uid == *task || text(&other.document, "task_id") == Some(task);
    let others = log.plans.iter().filter(|other| other.uid != plan.uid).filter(is_meant);
    let mut closed = others.flat_map(|other| &other.occurrences).filter_map(|instance| instance.closed.as_ref());
    closed.any(|closing| closing.profile.execution_result.status == Execution::Completed)
}

/// `plan-not-early`: what is wrong with the time at which an occurrence is said to be due.
pub fn due_wrong(plan: &Plan, n: u32, due: Timestamp) -> Option<String> {
    if n <= 1 {
        let wanted = scheduled_for(&plan.document).filter(|wanted| *wanted != due)?;
        return Some(format!("where its document says {wanted}"));
    }
    let Some(repeat) = repeat(&plan.document) else { return Some("and the plan does not repeat".into()) };
    if repeat.times.is_some_and(|times| u64::from(n) > times) || repeat.until.is_some_and(|until| due > until) {
        return Some("where the plan has ended to repeat".into());
    }
    let due_of = |n: u32| {
        let instance = plan.instance(n)?;
        let dispatched = instance.dispatched.as_ref().map(|dispatch| dispatch.due);
        dispatched.or_else(|| instance.closed.as_ref()?.due)
    };
    let (least, most) = repeat.every.bounds();
    if let Some(before) = due_of(n - 1).filter(|before| due < *before + least || due > *before + most) {
        return Some(format!("which is no period behind {before}"));
    }
    let first = due_of(1)?;
    let (least, most) = repeat.every.reach(first, n - 1)?;
    (due < least || due > most).then(|| format!("which has drifted, {} periods behind {first}", n - 1))
}
