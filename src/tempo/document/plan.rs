//! An `agent_plan` document, read.

use super::read::{Field, Read};
use super::{DocumentError, profile};
use crate::kernel::{Json, Profile, Timestamp};
use crate::tempo::plan::{Action, Condition, Every, Origin, Plan, PlanStatus, Repeat, When};
use crate::tempo::registry::Registry;
use crate::tempo::token::Token;
use crate::tempo::window::{Calendar, alignment};

const ACTIONS: [(&str, Action); 5] = [
    ("schedule", Action::Schedule),
    ("reflect", Action::Reflect),
    ("reschedule", Action::Reschedule),
    ("notify", Action::Notify),
    ("log", Action::Log),
];

const STATUSES: [(&str, PlanStatus); 4] = [
    ("proposed", PlanStatus::Proposed),
    ("approved", PlanStatus::Approved),
    ("rejected", PlanStatus::Rejected),
    ("executed", PlanStatus::Executed),
];

const ORIGINS: [(&str, Origin); 2] = [("agent", Origin::Agent), ("user", Origin::User)];

/// The most tries that a plan may ask for after the first.
const RETRIES_MOST: i64 = 100;

impl Plan {
    /// Reads an `agent_plan` document. Fields that are not known are kept in [`Plan::document`]; where `repeat`, `deadline` or
    /// `priority` is absent, a token that speaks of it says so.
    ///
    /// Whether a profiling block's alignment is right depends on the user's calendar: [`Plan::check_alignment`] looks.
    ///
    /// # Errors
    /// The first thing that is wrong: a field that is missing, of the wrong type or out of range; a time that is not ISO 8601
    /// in UTC; a token that is not registered; no time at all; a deadline before the due time; a profiling block that does not
    /// go with the status or contradicts itself.
    pub fn parse(document: &Json, registry: &Registry) -> Result<Plan, DocumentError> {
        let doc = Field::document(document)?;
        doc.is_of_type("agent_plan")?;
        let token = doc.read("tempo_token", |field| field.token(registry))?;
        let plan = Plan {
            uid: doc.need("uid")?.uid()?,
            content: doc.need("content")?.name()?,
            action: doc.need("action_type")?.one_of(&ACTIONS)?,
            status: doc.need("status")?.one_of(&STATUSES)?,
            origin: doc.need("origin")?.one_of(&ORIGINS)?,
            scheduled_for: doc.read("scheduled_for", Field::instant)?,
            target: doc.read("target", Field::address)?,
            token: doc.read("tempo_token", Field::name)?,
            conditions: doc.each("conditions", |field| condition(field, registry))?,
            repeat: doc.read("repeat", repeat)?.or_else(|| token.as_ref()?.repeat().map(always)),
            deadline: doc.read("deadline", Field::instant)?.or_else(|| token.as_ref()?.deadline()),
            priority: doc
                .read("priority", |field| field.integer(i64::MIN, i64::MAX))?
                .or_else(|| token.as_ref()?.priority())
                .unwrap_or(0),
            retry_on_failure: doc.read("retry_on_failure", retries)?.unwrap_or(0),
            task_id: doc.read("task_id", Field::name)?,
            linked_trace_ids: doc.each("linked_trace_ids", Field::link)?,
            child_trace_ids: doc.each("child_trace_ids", Field::name)?,
            planned_by: doc.read("planned_by", Field::name)?,
            tags: doc.each("tags", Field::name)?,
            profiling: doc.read("profiling", profile::read)?,
            document: document.clone(),
        };
        doc.read("timestamp", Field::instant)?;
        check_time(&plan, token.as_ref(), &doc)?;
        check_order(&plan, token.as_ref(), &doc)?;
        check_status(&plan, &doc)?;
        if let Some(block) = &plan.profiling {
            profile::check(block, plan.scheduled_for, plan.token.as_deref())?;
        }
        Ok(plan)
    }

    /// Whether the alignment that the plan's profiling block states is the one of its calendar.
    ///
    /// # Errors
    /// When it is another one.
    pub fn check_alignment(&self, calendar: &Calendar) -> Result<(), DocumentError> {
        let Some(block) = &self.profiling else { return Ok(()) };
        let Some((executed_at, deviation)) = block.executed_at.zip(block.deviation_ms) else { return Ok(()) };
        let token = self.token.as_deref().and_then(|text| calendar.registry.token(text).ok());
        let due = self.scheduled_for.unwrap_or(executed_at - crate::kernel::Span::from_millis(deviation));
        let window = calendar.window(token.as_ref(), due);
        let right = alignment(Some(executed_at), &window);
        if right == block.tempo_alignment {
            return Ok(());
        }
        let reason = format!("{executed_at} is `{}`, not `{}`", right.as_str(), block.tempo_alignment.as_str());
        let mut hint = format!("the window is from {} to {}", window.target.start, window.target.end);
        if let Some(days) = window.boundary {
            hint.push_str(&format!(", its days are from {} to before {}", days.start, days.end));
        }
        Err(DocumentError { place: "profiling.tempo_alignment".into(), reason, hint: Some(hint) })
    }
}

/// A recurrence without bounds of its own.
fn always(every: Every) -> Repeat {
    Repeat { every, times: None, until: None }
}

/// `"weekly"`, or `{ "every", "times", "until" }`.
fn repeat(field: &Field<'_>) -> Read<Repeat> {
    let choices = Every::ALL.map(|every| (every.as_str(), every));
    if field.value.is_string() {
        return field.one_of(&choices).map(always);
    }
    field.only(&["every", "times", "until"])?;
    Ok(Repeat {
        every: field.need("every")?.one_of(&choices)?,
        times: field.read("times", |times| times.count(1))?,
        until: field.read("until", Field::instant)?,
    })
}

/// `true` is one more try; a number, so many.
fn retries(field: &Field<'_>) -> Read<u32> {
    if let Some(retries) = field.value.as_bool() {
        return Ok(u32::from(retries));
    }
    let number = field
        .integer(0, RETRIES_MOST)
        .map_err(|error| DocumentError { hint: Some("`true` is one more try, a number is so many".into()), ..error })?;
    Ok(u32::try_from(number).expect("the bound is one of 32 bits"))
}

/// `{ "if_feedback_score_below": n, "reschedule_to": … }`.
fn condition(field: &Field<'_>, registry: &Registry) -> Read<Condition> {
    field.only(&["if_feedback_score_below", "reschedule_to"])?;
    let to = field.need("reschedule_to")?;
    Ok(Condition {
        if_feedback_score_below: field.need("if_feedback_score_below")?.score()?,
        reschedule_to: if to.text()?.starts_with('<') {
            let token = to.token(registry)?;
            if !token.has_time() {
                return Err(
                    to.hinted(format!("`{token}` names no time"), format!("give an instant in UTC, or {TIMES}"))
                );
            }
            When::Token(to.name()?)
        } else {
            When::At(to.instant()?)
        },
    })
}

const TIMES: &str = "a token that names a time: a datetime, a window like `<tempo:SundayMorning>`, or `<tempo:in-2h>`";

/// A plan is due at some time, and does not wait for itself.
fn check_time(plan: &Plan, token: Option<&Token>, doc: &Field<'_>) -> Read<()> {
    let waits_for = token.and_then(|token| token.after().or(token.before()));
    if waits_for == Some(&*plan.uid) {
        return Err(doc.need("tempo_token")?.error("a plan cannot wait for itself"));
    }
    if plan.scheduled_for.is_some() || token.is_some_and(Token::has_time) {
        return Ok(());
    }
    let reason = match token {
        Some(token) => format!("the plan has no time: `{token}` names none"),
        None => "the plan has no time: neither `scheduled_for` nor `tempo_token`".to_owned(),
    };
    Err(DocumentError {
        place: "scheduled_for".into(),
        reason,
        hint: Some(format!("give an instant in UTC, or {TIMES}")),
    })
}

/// What has an order in time: due, deadline, the last recurrence.
fn check_order(plan: &Plan, token: Option<&Token>, doc: &Field<'_>) -> Read<()> {
    let spelt = match token {
        Some(Token::At(moment)) => Some(moment.at),
        _ => None,
    };
    let Some(due) = plan.scheduled_for.or(spelt) else { return Ok(()) };
    let not_before_due = |limit: Option<Timestamp>, place: &str| match limit {
        Some(limit) if limit < due => Err(DocumentError {
            place: place.into(),
            reason: format!("{limit} is before the plan is due, {due}"),
            hint: None,
        }),
        _ => Ok(()),
    };
    let stated_by = if doc.maybe("deadline")?.is_some() { "deadline" } else { "tempo_token" };
    not_before_due(plan.deadline, stated_by)?;
    not_before_due(plan.repeat.and_then(|repeat| repeat.until), "repeat.until")
}

/// Which status goes with which block: a plan that was executed has the block of an execution; one that was approved or
/// rejected may have the closing block of one that never ran; one that is only proposed has none.
fn check_status(plan: &Plan, doc: &Field<'_>) -> Read<()> {
    let status = plan.status.as_str();
    let Some(block) = &plan.profiling else {
        if plan.status == PlanStatus::Executed {
            let reason = "this field is missing: a plan that is `executed` has one";
            return Err(DocumentError { place: "profiling".into(), reason: reason.into(), hint: None });
        }
        return Ok(());
    };
    let profiling = doc.need("profiling")?;
    let refused = |block: &Profile| {
        let executed = profiling.member("executed_at")?.unwrap_or(profiling.clone());
        Err(match block.executed_at {
            Some(at) => executed.hinted(
                format!("{at} does not go with the status `{status}`"),
                "a plan that ran is `executed`, one that never ran has null here",
            ),
            None => executed.hinted(
                format!("null does not go with the status `{status}`"),
                "a plan that never ran is `approved` or `rejected`",
            ),
        })
    };
    match plan.status {
        PlanStatus::Proposed => Err(profiling
            .hinted("a plan that is `proposed` has no profiling block", "one is written when an occurrence is closed")),
        PlanStatus::Executed if block.executed_at.is_none() => refused(block),
        PlanStatus::Approved | PlanStatus::Rejected if block.executed_at.is_some() => refused(block),
        _ => Ok(()),
    }
}
