//! A profiling block, read, and recomputed as far as it tells its own arithmetic.

use super::DocumentError;
use super::read::{Field, Read};
use crate::kernel::{
    Alignment, Execution, ExecutionResult, Profile, ProfileVersion, ReturnType, Reward, Score, Span, Timestamp, Try,
};
use crate::tempo::word::excerpt;

const ALIGNMENTS: [(&str, Alignment); 3] =
    [("exact", Alignment::Exact), ("partial", Alignment::Partial), ("misaligned", Alignment::Misaligned)];

const EXECUTIONS: [(&str, Execution); 4] = [
    ("completed", Execution::Completed),
    ("failed", Execution::Failed),
    ("skipped", Execution::Skipped),
    ("cancelled", Execution::Cancelled),
];

const RETURN_TYPES: [(&str, ReturnType); 3] =
    [("trace", ReturnType::Trace), ("text", ReturnType::Text), ("error", ReturnType::Error)];

/// The reward of a score and an alignment: `(2·(score − 1) + {exact 2, partial 1, misaligned 0}) / 10`.
pub fn reward(score: Score, alignment: Alignment) -> Reward {
    let aligned = match alignment {
        Alignment::Exact => 2,
        Alignment::Partial => 1,
        Alignment::Misaligned => 0,
    };
    Reward(2 * (score.get() - 1) + aligned)
}

/// Reads a block, field by field.
pub(super) fn read(block: &Field<'_>) -> Read<Profile> {
    let version = block.read("schema_version", |field| {
        let version = field.text()?;
        let unknown =
            || field.hinted(format!("the version `{}` is not known", excerpt(version)), "the only one is `v1`");
        if version == "v1" { Ok(ProfileVersion::V1) } else { Err(unknown()) }
    })?;
    let executed_at = nullable(block, "executed_at", Field::instant)?;
    Ok(Profile {
        schema_version: version.unwrap_or_default(),
        executed_at,
        duration_ms: block.need("duration_ms")?.millis()?,
        deviation_ms: nullable(block, "deviation_ms", |field| field.integer(i64::MIN, i64::MAX))?,
        tempo_token: block.read("tempo_token", Field::name)?,
        tempo_alignment: block.need("tempo_alignment")?.one_of(&ALIGNMENTS)?,
        feedback_score: block.read("feedback_score", Field::score)?,
        reward_signal: block.read("reward_signal", |field| {
            let reward = serde_json::from_value(field.value.clone());
            reward.map_err(|_| field.wanted("a reward: 0 to 1, in tenths"))
        })?,
        agent_latency_ms: block.read("agent_latency_ms", Field::millis)?,
        user_delay_ms: block.read("user_delay_ms", Field::millis)?,
        attempts: block.each("attempts", attempt)?,
        execution_result: match block.maybe("execution_result")? {
            Some(result) => execution_result(&result)?,
            // Left out, as the requirement allows: what is certain without it.
            None => ExecutionResult {
                status: if executed_at.is_some() { Execution::Completed } else { Execution::Skipped },
                return_type: None,
                trace_id: None,
                planned_by: None,
            },
        },
    })
}

/// A member that must be there, and may be null.
fn nullable<'a, T>(block: &Field<'a>, key: &str, read: impl FnOnce(&Field<'a>) -> Read<T>) -> Read<Option<T>> {
    if block.member(key)?.is_none() {
        return block.need(key).map(|_| None);
    }
    block.read(key, read)
}

fn execution_result(field: &Field<'_>) -> Read<ExecutionResult> {
    let result = ExecutionResult {
        status: field.need("status")?.one_of(&EXECUTIONS)?,
        return_type: field.read("return_type", |field| field.one_of(&RETURN_TYPES))?,
        trace_id: field.read("trace_id", Field::name)?,
        planned_by: field.read("planned_by", Field::name)?,
    };
    if result.return_type == Some(ReturnType::Trace) && result.trace_id.is_none() {
        let missing = field.need("trace_id").err();
        return Err(missing.map_or_else(
            || field.error("no trace"),
            |error| DocumentError { hint: Some("a result of the type `trace` names the trace".into()), ..error },
        ));
    }
    Ok(result)
}

fn attempt(field: &Field<'_>) -> Read<Try> {
    Ok(Try {
        executed_at: nullable(field, "executed_at", Field::instant)?,
        duration_ms: field.need("duration_ms")?.millis()?,
        status: field.need("status")?.one_of(&EXECUTIONS)?,
        reason: field.need("reason")?.name()?,
        feedback_score: field.read("feedback_score", Field::score)?,
    })
}

/// That something is wrong with a field of a block.
fn wrong<T>(field: &str, reason: String, hint: Option<String>) -> Read<T> {
    Err(DocumentError { place: format!("profiling.{field}"), reason, hint })
}

/// Whether a block agrees with itself, with the due time and with the token of its plan. What the plan does not say, like a
/// due time that its token resolves, is not looked at.
pub(super) fn check(block: &Profile, due: Option<Timestamp>, token: Option<&str>) -> Read<()> {
    if let Some(stated) = &block.tempo_token
        && token != Some(stated)
    {
        let theirs = token.map_or("none".to_owned(), |token| format!("`{}`", excerpt(token)));
        return wrong("tempo_token", format!("`{}` is not the plan's token, {theirs}", excerpt(stated)), None);
    }
    match block.executed_at {
        Some(executed_at) => {
            check_times(block, executed_at, due)?;
            check_attempts(block, executed_at)?;
        }
        None => check_never_executed(block)?,
    }
    check_feedback(block)
}

/// The block of an occurrence that never ran says so in each field.
fn check_never_executed(block: &Profile) -> Read<()> {
    let never = |field: &str, is: String| wrong(field, format!("{is} does not go with `executed_at` null"), None);
    let status = block.execution_result.status;
    if block.duration_ms != 0 {
        return never("duration_ms", block.duration_ms.to_string());
    }
    if let Some(deviation) = block.deviation_ms {
        return never("deviation_ms", deviation.to_string());
    }
    if block.tempo_alignment != Alignment::Misaligned {
        return never("tempo_alignment", format!("`{}`", block.tempo_alignment.as_str()));
    }
    if let Some(latency) = block.agent_latency_ms {
        return never("agent_latency_ms", latency.to_string());
    }
    if let Some(delay) = block.user_delay_ms {
        return never("user_delay_ms", delay.to_string());
    }
    if !block.attempts.is_empty() {
        return never("attempts", "a list of tries".to_owned());
    }
    if !matches!(status, Execution::Skipped | Execution::Cancelled) {
        return never("execution_result.status", format!("`{}`", status.as_str()));
    }
    Ok(())
}

/// Deviation is completion minus due, and not below duration: nothing is dispatched before it is due.
fn check_times(block: &Profile, executed_at: Timestamp, due: Option<Timestamp>) -> Read<()> {
    if block.execution_result.status == Execution::Skipped {
        let reason = "`skipped` does not go with an `executed_at`".to_owned();
        return wrong("execution_result.status", reason, None);
    }
    let Some(deviation) = block.deviation_ms else {
        return wrong("deviation_ms", "null does not go with an `executed_at`".into(), None);
    };
    let right = due.map(|due| executed_at.since(due).as_millis());
    if let Some(right) = right.filter(|right| *right != deviation) {
        let reason = format!("{deviation} ms is not `executed_at` minus `scheduled_for`");
        return wrong("deviation_ms", reason, Some(format!("that is {right} ms")));
    }
    if deviation < block.duration_ms {
        let early = block.duration_ms.saturating_sub(deviation);
        let reason = format!("{} ms is {early} ms more than `deviation_ms`", block.duration_ms);
        return wrong("duration_ms", reason, Some("the plan would have been dispatched before it was due".into()));
    }
    if let Some(latency) = block.agent_latency_ms.filter(|latency| *latency > block.duration_ms) {
        let reason = format!("{latency} ms is more than `duration_ms`, {} ms", block.duration_ms);
        return wrong("agent_latency_ms", reason, None);
    }
    Ok(())
}

/// Tries are listed when there is more than one, in order, do not overlap, and end with the execution.
fn check_attempts(block: &Profile, executed_at: Timestamp) -> Read<()> {
    let Some((last, earlier)) = block.attempts.split_last() else { return Ok(()) };
    let of = |number: usize, field: &str| format!("attempts[{number}].{field}");
    if earlier.is_empty() {
        let hint = "one try is told by the block itself".to_owned();
        return wrong("attempts", "tries are listed when there is more than one".into(), Some(hint));
    }
    let dispatched = executed_at - Span::from_millis(block.duration_ms);
    // Lost tries have no end: their lengths add up, and have to fit in before the next try that has one.
    let (mut free_from, mut lost) = (dispatched, Span::ZERO);
    for (number, of_try) in block.attempts.iter().enumerate() {
        let length = Span::from_millis(of_try.duration_ms);
        let Some(end) = of_try.executed_at else {
            lost = lost + length;
            continue;
        };
        let is_late = |from: Timestamp| from.since(end - length).as_millis() > 0;
        if end < free_from && number > 0 {
            return wrong(&of(number, "executed_at"), format!("{end} is before the try in front has ended"), None);
        }
        if is_late(free_from + lost) {
            let begin = end - length;
            let reason = match number {
                0 => format!("the try would have begun at {begin}, before the plan was dispatched, {dispatched}"),
                _ => {
                    format!("the try would have begun at {begin}, before the one in front ended, {}", free_from + lost)
                }
            };
            return wrong(&of(number, "duration_ms"), reason, None);
        }
        (free_from, lost) = (end, Span::ZERO);
    }
    let last_number = earlier.len();
    if last.executed_at != Some(executed_at) {
        let reason = format!("the last try ends when the plan does, {executed_at}");
        return wrong(&of(last_number, "executed_at"), reason, None);
    }
    if last.status != block.execution_result.status {
        let (last, whole) = (last.status.as_str(), block.execution_result.status.as_str());
        let reason = format!("the last try is `{last}`, but the execution `{whole}`");
        return wrong(&of(last_number, "status"), reason, None);
    }
    if let Some(number) = earlier.iter().position(|of_try| of_try.status == Execution::Completed) {
        return wrong(&of(number, "status"), "after a try that completed there is no other".into(), None);
    }
    if let Some(number) = earlier.iter().position(|of_try| of_try.feedback_score.is_some()) {
        return wrong(&of(number, "feedback_score"), "feedback is about the last try".into(), None);
    }
    if last.feedback_score.is_some() && last.feedback_score != block.feedback_score {
        let reason = "the last try's score is the block's".to_owned();
        return wrong(&of(last_number, "feedback_score"), reason, None);
    }
    Ok(())
}

/// Reward and the user's delay come with feedback.
fn check_feedback(block: &Profile) -> Read<()> {
    let Some(score) = block.feedback_score else {
        let hint = || Some("it comes with `feedback_score`".to_owned());
        if block.reward_signal.is_some() {
            return wrong("reward_signal", "there is no reward without feedback".into(), hint());
        }
        if block.user_delay_ms.is_some() {
            return wrong("user_delay_ms", "there is no delay of the user without feedback".into(), hint());
        }
        return Ok(());
    };
    let Some(stated) = block.reward_signal else { return Ok(()) };
    if block.executed_at.is_none() {
        return wrong("reward_signal", "there is no reward for what was never executed".into(), None);
    }
    let right = reward(score, block.tempo_alignment);
    if stated == right {
        return Ok(());
    }
    let tenths = |reward: Reward| format!("{}.{}", reward.0 / 10, reward.0 % 10);
    let (score, aligned) = (score.get(), block.tempo_alignment.as_str());
    let reason = format!("{} is not the reward of score {score} and `{aligned}`", tenths(stated));
    wrong("reward_signal", reason, Some(format!("that is {}", tenths(right))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Due at 10:00:00, dispatched at 10:00:10, done at 10:03:12, tried three times of which one was lost.
    fn block() -> Value {
        json!({
            "executed_at": "2026-03-15T10:03:12Z", "duration_ms": 182_000, "deviation_ms": 192_000,
            "tempo_token": "<tempo:Morning>", "tempo_alignment": "partial", "feedback_score": 4, "reward_signal": 0.7,
            "agent_latency_ms": 2_300, "user_delay_ms": 5_000,
            "attempts": [
                { "executed_at": "2026-03-15T10:00:40Z", "duration_ms": 30_000, "status": "failed", "reason": "no answer" },
                { "executed_at": null, "duration_ms": 62_000, "status": "failed", "reason": "lease lost" },
                { "executed_at": "2026-03-15T10:03:12Z", "duration_ms": 90_000, "status": "completed", "reason": "retry", "feedback_score": 4 },
            ],
            "execution_result": { "status": "completed", "return_type": "trace", "trace_id": "t" },
        })
    }

    /// Reads and checks the block with the value at `pointer` in place of its own; where that is `"-"`, without it.
    fn checked(mut block: Value, pointer: &str, value: Value) -> Read<()> {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = block.pointer_mut(parent).unwrap();
        if value == "-" {
            parent.as_object_mut().unwrap().remove(key);
        } else {
            parent[key] = value;
        }
        let field = Field { value: &block, place: "profiling".to_owned() };
        check(&read(&field)?, "2026-03-15T10:00:00Z".parse().ok(), Some("<tempo:Morning>"))
    }

    fn attempt_is(number: usize, field: &str, value: Value) -> Read<()> {
        let mut attempts = block()["attempts"].clone();
        attempts[number][field] = value;
        checked(block(), "/attempts", attempts)
    }

    #[test]
    fn a_block_that_agrees_with_itself_is_right_and_may_leave_out_what_is_certain() {
        assert_eq!(checked(block(), "/schema_version", json!("v1")), Ok(()));
        for field in
            ["tempo_token", "agent_latency_ms", "user_delay_ms", "reward_signal", "attempts", "execution_result"]
        {
            assert_eq!(checked(block(), &format!("/{field}"), json!("-")), Ok(()), "{field}");
        }
    }

    #[test]
    fn a_figure_that_contradicts_another_is_refused() {
        let cases = [
            ("/schema_version", json!("v2"), "schema_version"),
            ("/executed_at", json!("-"), "executed_at"),
            ("/executed_at", json!(null), "duration_ms"),
            ("/executed_at", json!("2026-03-15T10:03:13Z"), "deviation_ms"),
            ("/deviation_ms", json!(192), "deviation_ms"),
            ("/deviation_ms", json!(192_001), "deviation_ms"),
            ("/deviation_ms", json!(null), "deviation_ms"),
            ("/duration_ms", json!(192_001), "duration_ms"),
            ("/duration_ms", json!(-1), "duration_ms"),
            ("/duration_ms", json!("182000"), "duration_ms"),
            ("/duration_ms", json!(181_999), "attempts[0].duration_ms"),
            ("/tempo_token", json!("<tempo:Evening>"), "tempo_token"),
            ("/tempo_alignment", json!("exact"), "reward_signal"),
            ("/tempo_alignment", json!("near"), "tempo_alignment"),
            ("/feedback_score", json!(0), "feedback_score"),
            ("/feedback_score", json!(5), "attempts[2].feedback_score"),
            ("/reward_signal", json!(0.75), "reward_signal"),
            ("/reward_signal", json!(0.8), "reward_signal"),
            ("/agent_latency_ms", json!(182_001), "agent_latency_ms"),
            ("/user_delay_ms", json!(-1), "user_delay_ms"),
            ("/execution_result/status", json!("done"), "execution_result.status"),
            ("/execution_result/status", json!("skipped"), "execution_result.status"),
            ("/execution_result/status", json!("failed"), "attempts[2].status"),
            ("/execution_result/trace_id", json!("-"), "execution_result.trace_id"),
        ];
        for (pointer, value, place) in cases {
            let error = checked(block(), pointer, value.clone()).expect_err(pointer);
            assert_eq!(error.place, format!("profiling.{place}"), "{pointer} {value}: {error}");
        }
    }

    #[test]
    fn figures_of_any_size_are_compared_without_a_due_time() {
        let figures = [0, 1, -1, 192_000, i64::MAX, i64::MIN];
        for (duration, deviation) in figures.iter().flat_map(|one| figures.map(|other| (*one, other))) {
            let mut block = block();
            (block["duration_ms"], block["deviation_ms"]) = (json!(duration), json!(deviation));
            block["agent_latency_ms"] = json!(0);
            block["attempts"] = json!([]);
            let field = Field { value: &block, place: "profiling".to_owned() };
            let read = read(&field).and_then(|block| check(&block, None, Some("<tempo:Morning>")));
            assert_eq!(read.is_ok(), 0 <= duration && duration <= deviation, "{duration} {deviation}: {read:?}");
        }
    }

    #[test]
    fn feedback_figures_come_with_feedback() {
        let mut silent = block();
        for field in ["feedback_score", "reward_signal", "user_delay_ms", "attempts"] {
            silent.as_object_mut().unwrap().remove(field);
        }
        assert_eq!(checked(silent.clone(), "/feedback_score", json!("-")), Ok(()));
        for (field, value) in [("reward_signal", json!(0.5)), ("user_delay_ms", json!(5))] {
            let error = checked(silent.clone(), &format!("/{field}"), value).unwrap_err();
            assert_eq!(error.place, format!("profiling.{field}"));
        }
    }

    #[test]
    fn tries_are_more_than_one_in_order_and_do_not_overlap() {
        let lost_fits = attempt_is(1, "duration_ms", json!(62_000));
        assert_eq!(lost_fits, Ok(()));
        let cases = [
            (attempt_is(0, "executed_at", json!("2026-03-15T10:00:39.999Z")), "attempts[0].duration_ms"),
            (attempt_is(0, "duration_ms", json!(30_001)), "attempts[0].duration_ms"),
            (attempt_is(0, "executed_at", json!("2026-03-15T10:00:41Z")), "attempts[2].duration_ms"),
            (attempt_is(0, "status", json!("completed")), "attempts[0].status"),
            (attempt_is(0, "feedback_score", json!(4)), "attempts[0].feedback_score"),
            (attempt_is(0, "reason", json!("")), "attempts[0].reason"),
            (attempt_is(1, "duration_ms", json!(62_001)), "attempts[2].duration_ms"),
            (attempt_is(1, "executed_at", json!("2026-03-15T10:00:30Z")), "attempts[1].executed_at"),
            (attempt_is(2, "executed_at", json!(null)), "attempts[2].executed_at"),
            (attempt_is(2, "executed_at", json!("2026-03-15T10:03:11Z")), "attempts[2].duration_ms"),
            (attempt_is(2, "duration_ms", json!(150_000)), "attempts[2].duration_ms"),
            (checked(block(), "/attempts", json!([block()["attempts"][2]])), "attempts"),
        ];
        for (read, place) in cases {
            assert_eq!(read.expect_err(place).place, format!("profiling.{place}"));
        }
    }

    #[test]
    fn a_block_of_what_never_ran_has_nothing_but_its_end() {
        let never = json!({ "executed_at": null, "duration_ms": 0, "deviation_ms": null, "tempo_alignment": "misaligned",
            "feedback_score": 1, "execution_result": { "status": "skipped" } });
        assert_eq!(checked(never.clone(), "/schema_version", json!("v1")), Ok(()));
        let cases = [
            ("duration_ms", json!(1)),
            ("deviation_ms", json!(0)),
            ("tempo_alignment", json!("exact")),
            ("agent_latency_ms", json!(0)),
            ("user_delay_ms", json!(0)),
            ("reward_signal", json!(0.0)),
            ("attempts", block()["attempts"].clone()),
        ];
        for (field, value) in cases {
            let error = checked(never.clone(), &format!("/{field}"), value).expect_err(field);
            assert_eq!(error.place, format!("profiling.{field}"));
        }
        for status in ["completed", "failed"] {
            let error = checked(never.clone(), "/execution_result/status", json!(status)).expect_err(status);
            assert_eq!(error.place, "profiling.execution_result.status");
        }
    }

    #[test]
    fn a_reward_is_two_parts_feedback_and_one_alignment() {
        let tenths = |score, alignment| reward(Score::new(score).unwrap(), alignment).0;
        assert_eq!(tenths(1, Alignment::Misaligned), 0);
        assert_eq!(tenths(2, Alignment::Misaligned), 2);
        assert_eq!(tenths(4, Alignment::Partial), 7);
        assert_eq!(tenths(5, Alignment::Exact), 10);
    }
}
