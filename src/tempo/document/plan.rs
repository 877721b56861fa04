//! An `agent_plan` document, read.

use super::read::{Field, Read};
use super::{DocumentError, profile};
use crate::kernel::{Json, Name, Profile, Timestamp};
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
            uid: uid(&doc.need("uid")?)?,
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

/// An id that leaves room for those of what follows from the plan, as `review.1.again.1.reflection`.
fn uid(field: &Field<'_>) -> Read<Name> {
    const LONGEST: usize = 160;
    let uid = field.uid()?;
    if uid.len() > LONGEST {
        return Err(field.error(format!("the id of a plan has at most {LONGEST} bytes, not {}", uid.len())));
    }
    if uid.contains('/') {
        let reason = format!("the id `{}` must be without `/`", crate::tempo::word::excerpt(&uid));
        return Err(field.hinted(reason, "it is the last part of an address"));
    }
    Ok(uid)
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A plan that is right, with these fields in place of its own; one that is null is taken away.
    fn document(change: &[(&str, Value)]) -> Json {
        let mut document = json!({
            "uid": "p", "type": "agent_plan", "content": "Do it", "action_type": "log", "status": "proposed",
            "origin": "user", "scheduled_for": "2026-03-15T10:00:00Z",
        });
        for (field, value) in change {
            document[*field] = value.clone();
        }
        document.into()
    }

    fn parse(change: &[(&str, Value)]) -> Result<Plan, DocumentError> {
        Plan::parse(&document(change), &Registry::default())
    }

    #[test]
    fn a_plan_is_read_in_full_and_kept_as_it_was_given() {
        let change = [
            ("target", json!("mailer/ana")),
            ("tempo_token", json!("<tempo:SundayMorning>")),
            ("conditions", json!([{ "if_feedback_score_below": 3, "reschedule_to": "<tempo:SundayEvening>" }])),
            ("repeat", json!({ "every": "weekly", "times": 4, "until": "2026-06-01T00:00:00Z" })),
            ("deadline", json!("2026-03-15T20:00:00Z")),
            ("priority", json!(-3)),
            ("retry_on_failure", json!(2)),
            ("linked_trace_ids", json!(["a", { "trace_id": "b", "relation": "fulfills" }])),
            ("child_trace_ids", json!(["c"])),
            ("tags", json!(["t"])),
            ("mood", json!({ "of": "mine" })),
        ];
        let plan = parse(&change).unwrap();
        assert_eq!(plan.agent().as_str(), "mailer/ana");
        let reschedule_to = When::Token("<tempo:SundayEvening>".into());
        let if_feedback_score_below = crate::kernel::Score::new(3).unwrap();
        assert_eq!(plan.conditions, [Condition { if_feedback_score_below, reschedule_to }]);
        let repeat = plan.repeat.unwrap();
        assert_eq!((repeat.every, repeat.times, repeat.until.is_some()), (Every::Weekly, Some(4), true));
        assert_eq!((plan.priority, plan.retry_on_failure, plan.linked_trace_ids.len()), (-3, 2, 2));
        assert_eq!(plan.document, document(&change));
        assert_eq!(parse(&[("target", Value::Null)]).unwrap().agent().as_str(), "log");
    }

    #[test]
    fn a_token_says_what_the_plan_does_not() {
        let given = |change: &[(&str, Value)]| {
            let plan = parse(change).unwrap();
            (plan.repeat.map(|repeat| repeat.every), plan.deadline.map(|at| at.to_string()), plan.priority)
        };
        let token = |word: &str| ("tempo_token", json!(format!("<tempo:{word}>")));
        let noon = "2026-03-16T12:00:00Z";
        assert_eq!(given(&[]), (None, None, 0));
        assert_eq!(given(&[token("recurring-daily")]), (Some(Every::Daily), None, 0));
        assert_eq!(given(&[token("recurring-daily"), ("repeat", json!("monthly"))]), (Some(Every::Monthly), None, 0));
        assert_eq!(given(&[token("deadline-2026-03-16T12:00Z")]), (None, Some(noon.into()), 0));
        let later = "2026-03-17T12:00:00Z";
        let both = [token("deadline-2026-03-16T12:00Z"), ("deadline", json!(later))];
        assert_eq!(given(&both), (None, Some(later.into()), 0));
        let due = "2026-03-15T10:00:00Z";
        assert_eq!(given(&[("deadline", json!(due))]), (None, Some(due.into()), 0));
        assert_eq!(given(&[token("urgent")]), (None, None, 10));
        assert_eq!(given(&[token("low-priority")]), (None, None, -10));
        assert_eq!(given(&[token("urgent"), ("priority", json!(0))]), (None, None, 0));
    }

    #[test]
    fn retries_are_true_for_one_or_a_count() {
        for (given, retries) in
            [(json!(true), 1), (json!(false), 0), (json!(0), 0), (json!(100), 100), (json!(null), 0)]
        {
            assert_eq!(parse(&[("retry_on_failure", given)]).unwrap().retry_on_failure, retries);
        }
    }

    #[test]
    fn a_plan_needs_a_time_of_its_own_or_of_its_token() {
        let without = ("scheduled_for", Value::Null);
        for word in ["Evening", "FridayEvening", "EveningReview", "in-2h", "window-22:00-02:00", "2026-03-17T14:00Z"] {
            let token = ("tempo_token", json!(format!("<tempo:{word}>")));
            assert!(parse(&[without.clone(), token]).is_ok(), "{word}");
        }
        for word in ["urgent", "after-x", "duration-5min", "deadline-2026-03-17T14:00Z", "recurring-daily"] {
            let token = ("tempo_token", json!(format!("<tempo:{word}>")));
            assert_eq!(parse(&[without.clone(), token]).unwrap_err().place, "scheduled_for", "{word}");
        }
        assert_eq!(parse(&[without]).unwrap_err().place, "scheduled_for");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let condition = |score: Value, to: &str| json!([{ "if_feedback_score_below": score, "reschedule_to": to }]);
        let cases = [
            ("type", json!("plan"), "type"),
            ("uid", json!(""), "uid"),
            ("uid", json!("p#1"), "uid"),
            ("uid", json!("p 1"), "uid"),
            ("uid", json!("p".repeat(201)), "uid"),
            ("uid", json!(7), "uid"),
            ("content", json!(" "), "content"),
            ("action_type", json!("remind"), "action_type"),
            ("origin", json!("model"), "origin"),
            ("scheduled_for", json!("Sunday 10am"), "scheduled_for"),
            ("scheduled_for", json!("2026-03-15T10:00:00"), "scheduled_for"),
            ("scheduled_for", json!("2026-03-15T10:00:00+00:00"), "scheduled_for"),
            ("scheduled_for", json!(1_773_568_800), "scheduled_for"),
            ("timestamp", json!("today"), "timestamp"),
            ("target", json!("/ana"), "target"),
            ("tempo_token", json!("<tempo:Noonish>"), "tempo_token"),
            ("tempo_token", json!("<tempo:after-p>"), "tempo_token"),
            ("tempo_token", json!("<tempo:deadline-2026-03-15T09:59Z>"), "tempo_token"),
            ("conditions", json!({}), "conditions"),
            ("conditions", condition(json!(0), "2026-03-15T17:00:00Z"), "conditions[0].if_feedback_score_below"),
            ("conditions", condition(json!(3), "Sunday 10am"), "conditions[0].reschedule_to"),
            ("conditions", condition(json!(3), "<tempo:Sunady>"), "conditions[0].reschedule_to"),
            ("conditions", condition(json!(3), "<tempo:urgent>"), "conditions[0].reschedule_to"),
            (
                "conditions",
                json!([{ "reschedule_to": "2026-03-15T17:00:00Z" }]),
                "conditions[0].if_feedback_score_below",
            ),
            ("repeat", json!("weekley"), "repeat"),
            ("repeat", json!({ "every": "weekly", "untill": "2026-03-15T17:00:00Z" }), "repeat.untill"),
            ("repeat", json!({ "every": "weekly", "times": 0 }), "repeat.times"),
            ("repeat", json!({ "every": "weekly", "until": "2026-03-15T09:59:59Z" }), "repeat.until"),
            ("deadline", json!("2026-03-15T09:59:59.999999Z"), "deadline"),
            ("priority", json!(1.5), "priority"),
            ("retry_on_failure", json!(-1), "retry_on_failure"),
            ("retry_on_failure", json!(101), "retry_on_failure"),
            ("linked_trace_ids", json!([{ "trace_id": "x", "relation": "likes" }]), "linked_trace_ids[0].relation"),
            ("linked_trace_ids", json!(["x", {}]), "linked_trace_ids[1].trace_id"),
            ("child_trace_ids", json!([1]), "child_trace_ids[0]"),
            ("tags", json!("t"), "tags"),
            ("planned_by", json!([]), "planned_by"),
        ];
        for (field, value, place) in cases {
            let error = parse(&[(field, value.clone())]).expect_err(place);
            assert_eq!(error.place, place, "{value}: {error}");
        }
        assert_eq!(Plan::parse(&json!("p").into(), &Registry::default()).unwrap_err().place, "document");
    }

    #[test]
    fn free_text_is_refused_with_what_could_have_been_meant() {
        let cases = [
            ("Sunday 10am", "`<tempo:Sunday>`"),
            ("sunday evening", "`<tempo:SundayEvening>`"),
            ("in the afternoon", "`<tempo:Afternoon>`"),
            ("tomorrow", "`2026-03-15T10:00:00Z`"),
            ("2026-03-15T11:00:00+01:00", "`2026-03-15T10:00:00Z`"),
        ];
        for (text, meant) in cases {
            let hint = parse(&[("scheduled_for", json!(text))]).unwrap_err().hint.expect(text);
            assert!(hint.contains(meant), "{text}: {hint}");
        }
    }

    #[test]
    fn a_status_goes_with_its_block_only() {
        let ran = json!({ "executed_at": "2026-03-15T10:01:00Z", "duration_ms": 60_000, "deviation_ms": 60_000,
            "tempo_alignment": "exact", "execution_result": { "status": "completed" } });
        let never = |status: &str| {
            json!({ "executed_at": null, "duration_ms": 0, "deviation_ms": null,
                "tempo_alignment": "misaligned", "execution_result": { "status": status } })
        };
        let cases = [
            ("proposed", Value::Null, None),
            ("proposed", ran.clone(), Some("profiling")),
            ("proposed", never("skipped"), Some("profiling")),
            ("approved", Value::Null, None),
            ("approved", ran.clone(), Some("profiling.executed_at")),
            ("approved", never("skipped"), None),
            ("approved", never("cancelled"), None),
            ("rejected", Value::Null, None),
            ("rejected", ran.clone(), Some("profiling.executed_at")),
            ("rejected", never("skipped"), None),
            ("executed", Value::Null, Some("profiling")),
            ("executed", ran, None),
            ("executed", never("skipped"), Some("profiling.executed_at")),
        ];
        for (status, block, place) in cases {
            let read = parse(&[("status", json!(status)), ("profiling", block.clone())]);
            assert_eq!(read.err().map(|error| error.place).as_deref(), place, "{status} {block}");
        }
    }

    #[test]
    fn alignment_is_held_to_the_users_calendar() {
        // 20:03:12 in Berlin is 45 minutes behind the review there, and in the middle of it by UTC.
        let block = json!({ "executed_at": "2026-03-15T19:03:12Z", "duration_ms": 182_000, "deviation_ms": 192_000,
            "tempo_alignment": "partial", "execution_result": { "status": "completed" } });
        let change = [
            ("status", json!("executed")),
            ("scheduled_for", json!("2026-03-15T19:00:00Z")),
            ("tempo_token", json!("<tempo:EveningReview>")),
            ("profiling", block.clone()),
        ];
        let settings = crate::tempo::Settings { zone: Some("Europe/Berlin".into()), ..Default::default() };
        let (berlin, utc) = (Calendar::of(&settings).unwrap(), Calendar::of(&Default::default()).unwrap());
        let plan = parse(&change).unwrap();
        assert_eq!(plan.check_alignment(&berlin), Ok(()));
        assert_eq!(plan.check_alignment(&utc).unwrap_err().place, "profiling.tempo_alignment");
        // Without a due time of its own, the block tells it.
        let plan = parse(&[&change[..], &[("scheduled_for", Value::Null)]].concat()).unwrap();
        assert_eq!(plan.check_alignment(&berlin), Ok(()));
    }
}
