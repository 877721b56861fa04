//! What follows from a closing and from feedback: a reflection, an annotation of what was misaligned, a proposal to do it
//! again, and the conditions of the plan. Each has an id that follows from its occurrence, so that it is written once.

use serde_json::{Map, Value, json};

use super::{Book, Closing, Instance, Planned, When};
use crate::kernel::{Alignment, Execution, Json, Occurrence, Proposer, Span, Timestamp, TraceBody};

/// The first thing that follows from the log and is not in it.
pub fn duty(book: &Book) -> Option<TraceBody> {
    let settings = book.settings.as_ref()?;
    for planned in book.plans.values() {
        for (n, instance) in (1..).zip(&planned.instances) {
            let Some(closing) = instance.closing.as_ref().filter(|closing| closing.profile.executed_at.is_some())
            else {
                continue;
            };
            let occurrence = planned.occurrence(n);
            let is_new = |what: &str| !book.knows(&consequence(&occurrence, what));
            let is_misaligned = closing.profile.tempo_alignment == Alignment::Misaligned;
            let follows = (settings.reflect && is_new("reflection"))
                .then(|| reflection(planned, n, closing))
                .or_else(|| {
                    (settings.reflect && is_misaligned && is_new("misaligned")).then(|| annotation(planned, n, closing))
                })
                .or_else(|| {
                    (settings.follow_up && is_new("again")).then(|| follow_up(book, planned, n, instance, closing))?
                })
                .or_else(|| is_new("rescheduled").then(|| condition(planned, n, instance))?);
            if follows.is_some() {
                return follows;
            }
        }
    }
    None
}

const DAY: Span = Span::from_secs(86_400);

/// The id of what follows from an occurrence, as `review.1.reflection`.
fn consequence(of: &Occurrence, what: &str) -> String {
    format!("{}.{}.{what}", of.uid, of.n)
}

fn added(uid: String, kind: &str, at: Timestamp, content: String, about: &Occurrence) -> TraceBody {
    let trace = json!({
        "uid": uid,
        "type": kind,
        "timestamp": at.to_string(),
        "content": content,
        "linked_trace_ids": [{ "trace_id": about.to_string(), "relation": "reflects_on" }],
    });
    TraceBody::TraceAdded { uid: uid.into(), trace: Json::new(trace), by: "planner".into() }
}

/// How an execution went.
fn reflection(planned: &Planned, n: u32, closing: &Closing) -> TraceBody {
    let occurrence = planned.occurrence(n);
    let profile = &closing.profile;
    let late = profile.deviation_ms.unwrap_or_default();
    let status = profile.execution_result.status.as_str();
    let aligned = profile.tempo_alignment.as_str();
    let content = format!(
        "{}: {status} {late} ms after its time, {aligned}, in {} ms",
        planned.plan.content, profile.duration_ms
    );
    added(consequence(&occurrence, "reflection"), "reflection", closing.at, content, &occurrence)
}

/// That an execution was not where it should have been.
fn annotation(planned: &Planned, n: u32, closing: &Closing) -> TraceBody {
    let occurrence = planned.occurrence(n);
    let wanted = match closing.window {
        Some(window) if window.target.start == window.target.end => format!("{}", window.target.start),
        Some(window) => format!("{} to {}", window.target.start, window.target.end),
        None => "no time".to_owned(),
    };
    let done = closing.profile.executed_at.unwrap_or(closing.at);
    let content = format!("misaligned: wanted {wanted}, done {done}");
    added(consequence(&occurrence, "misaligned"), "observation", closing.at, content, &occurrence)
}

/// A plan like this one, at another time, derived from an occurrence of it.
fn derived(planned: &Planned, from: Occurrence, uid: String, when: &When) -> TraceBody {
    let mut plan = planned.plan.document.as_object().cloned().unwrap_or_else(Map::new);
    for field in ["timestamp", "profiling", "repeat", "deadline", "conditions", "child_trace_ids", "scheduled_for"] {
        plan.remove(field);
    }
    match when {
        When::At(at) => {
            plan.remove("tempo_token");
            plan.insert("scheduled_for".to_owned(), Value::from(at.to_string()));
        }
        When::Token(token) => _ = plan.insert("tempo_token".to_owned(), Value::from(&**token)),
    }
    plan.insert("uid".to_owned(), Value::from(uid.as_str()));
    plan.insert("status".to_owned(), Value::from("proposed"));
    plan.insert("origin".to_owned(), Value::from("agent"));
    plan.insert("planned_by".to_owned(), Value::from("planner"));
    let link = json!([{ "trace_id": from.to_string(), "relation": "derives_from" }]);
    plan.insert("linked_trace_ids".to_owned(), link);
    let plan = Json::new(Value::Object(plan));
    TraceBody::PlanProposed { uid: uid.into(), plan, by: Proposer::Occurrence(from) }
}

/// What failed is proposed again, for the next occurrence of its window or for the same time of another day; what repeats
/// comes again by itself.
fn follow_up(book: &Book, planned: &Planned, n: u32, instance: &Instance, closing: &Closing) -> Option<TraceBody> {
    let failed = closing.profile.execution_result.status == Execution::Failed;
    // One that follows from another occurrence is not followed by a third: whatever fails twice is for people to look at.
    let is_first = !matches!(planned.by, Proposer::Occurrence(_));
    if !failed || !is_first || planned.plan.repeat.is_some() {
        return None;
    }
    let occurrence = planned.occurrence(n);
    let uid = consequence(&occurrence, "again");
    if let (Some(token), Some(text)) = (&planned.token, &planned.plan.token)
        && book.calendar()?.registry.window(token).is_some()
    {
        return Some(derived(planned, occurrence, uid, &When::Token(text.clone())));
    }
    let (due, zone) = (instance.due?, &book.calendar()?.zone);
    let days = u32::try_from(closing.at.since(due).as_micros() / DAY.as_micros()).unwrap_or(0);
    let again = (days..=days + 2).map(|k| zone.next(due, super::Every::Daily, k)).find(|at| *at > closing.at)?;
    Some(derived(planned, occurrence, uid, &When::At(again)))
}

/// The first condition that a feedback meets makes a new proposed plan, once for an occurrence. Each feedback counts, also
/// one that another has overtaken before any planner looked.
fn condition(planned: &Planned, n: u32, instance: &Instance) -> Option<TraceBody> {
    let conditions = &planned.plan.conditions;
    let meets = |score| conditions.iter().find(|condition| score < condition.if_feedback_score_below);
    let met = instance.feedback.iter().find_map(|(_, score)| meets(*score))?;
    let occurrence = planned.occurrence(n);
    let uid = consequence(&occurrence, "rescheduled");
    Some(derived(planned, occurrence, uid, &met.reschedule_to))
}
