//! The documents of `tests/data/profiling-examples.json`: each is accepted or refused as it is marked, with the values that
//! it expects; and the example of the requirement.

use chronodrome::kernel::{Alignment, Json, Reward, Timestamp};
use chronodrome::tempo::{self, Calendar, CalendarEvent, DocumentError, Feedback, Plan, Settings};
use serde_json::{Value, json};

fn examples() -> Vec<Value> {
    let text = include_str!("data/profiling-examples.json");
    let all: Value = serde_json::from_str(text).expect("the file is JSON");
    all["examples"].as_array().expect("there is a list of examples").clone()
}

fn example(id: &str) -> Value {
    examples().into_iter().find(|example| example["id"] == id).expect("there is such an example")
}

fn check(example: &Value) -> Result<(), DocumentError> {
    tempo::check(example["kind"].as_str().expect("an example has a kind"), &example["doc"])
}

fn plan(document: &Value) -> Plan {
    Plan::parse(&Json::new(document.clone()), &calendar().registry).expect("it is marked as valid")
}

fn calendar() -> Calendar {
    Calendar::of(&Settings::default()).expect("settings by default are right")
}

/// What the plan's times, token and feedback give, with nothing of the block but when it was done and how long it took.
fn figures(plan: &Plan) -> Value {
    let block = plan.profiling.as_ref().expect("it was executed");
    let (due, executed_at) = (plan.scheduled_for.expect("it has a due time"), block.executed_at.expect("it ran"));
    let deviation = executed_at.since(due).as_millis();
    let token = plan.token.as_deref().map(|text| calendar().registry.token(text).expect("it is registered"));
    let alignment = tempo::alignment(Some(executed_at), &calendar().window(token.as_ref(), due));
    json!({
        "deviation_ms": deviation,
        "duration_ms": block.duration_ms,
        "dispatch_delay_ms": deviation - block.duration_ms,
        "tempo_alignment": alignment.as_str(),
        "reward_signal": block.feedback_score.map(|score| tempo::reward(score, alignment)),
    })
}

#[test]
fn each_example_is_accepted_or_refused_as_marked() {
    let (mut wrong, mut seen) = (Vec::new(), (0, 0));
    for example in examples() {
        let (id, valid) = (example["id"].as_str().unwrap(), example["valid"].as_bool().unwrap());
        match check(&example) {
            Err(error) if valid => wrong.push(format!("{id} is refused: {error}")),
            Ok(()) if !valid => wrong.push(format!("{id} is accepted, though {}", example["reason"])),
            Ok(()) => seen.0 += 1,
            Err(_) => seen.1 += 1,
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(seen, (16, 27), "accepted and refused");
}

#[test]
fn expected_values_come_out() {
    let mut compared = 0;
    for example in examples() {
        let Some(expected) = example["expect"].as_object() else { continue };
        let document = Json::new(example["doc"].clone());
        let figures = match example["kind"].as_str().unwrap() {
            "agent_plan" => figures(&plan(&document)),
            "calendar_event" => {
                let event = CalendarEvent::parse(&document).unwrap();
                json!({ "ics_dtstart": event.ics_dtstart(), "ics_dtend": event.ics_dtend() })
            }
            "feedback_trace" => {
                let feedback = Feedback::parse(&document).unwrap();
                let judged = plan(&self::example("V03")["doc"]);
                assert_eq!(feedback.plan_uid, judged.uid);
                let executed_at = judged.profiling.unwrap().executed_at.unwrap();
                json!({ "user_delay_ms": feedback.timestamp.unwrap().since(executed_at).as_millis() })
            }
            kind => panic!("nothing is expected of the kind {kind}"),
        };
        for (figure, value) in expected {
            assert_eq!(&figures[figure], value, "{} {figure}", example["id"]);
            compared += 1;
        }
    }
    assert_eq!(compared, 25, "each expected value was looked at");
}

#[test]
fn each_refusal_names_the_place_and_the_reason() {
    let refusals = [
        ("X01", "action_type", "missing"),
        ("X02", "status", "`queued`"),
        ("X03", "tempo_token", "`<tempo:Noon@Dawn>`"),
        ("X04", "profiling.deviation_ms", "94000 ms"),
        ("X05", "profiling.tempo_alignment", "is `partial`, not `exact`"),
        ("X06", "profiling.feedback_score", "from 1 to 5"),
        ("X07", "profiling.attempts[1].executed_at", "before the try in front"),
        ("X08", "profiling.attempts[1].duration_ms", "2026-03-13T19:09:30Z"),
        ("X09", "profiling.executed_at", "`rejected`"),
        ("X10", "profiling", "missing"),
        ("X11", "profiling", "`proposed`"),
        ("X12", "profiling.execution_result.status", "`done`"),
        ("X13", "profiling.schema_version", "`v9`"),
        ("X14", "profiling.duration_ms", "6000 ms"),
        ("X15", "profiling.reward_signal", "without feedback"),
        ("X16", "conditions[0].if_mood", "`if_feedback_score_below`"),
        ("X17", "scheduled_for", "no time"),
        ("X18", "feedback_rating", "from 1 to 5"),
        ("X19", "profiling", "`observation`"),
        ("X20", "timestamp", "`2026-03-02T07:00:00Z`"),
        ("X21", "linked_trace_ids", "reflection or an observation"),
        ("X22", "duration_minutes", "from 1"),
        ("X23", "end_time", "two instants"),
        ("X24", "user_id", "missing"),
        ("X25", "tokens[0]", "whole minutes"),
        ("X26", "status", "`error`"),
        ("X27", "profiling.tempo_alignment", "is `misaligned`, not `exact`"),
    ];
    for (id, place, words) in refusals {
        let error = check(&example(id)).expect_err(id);
        assert_eq!(error.place, place, "{id}");
        assert!(error.to_string().contains(words), "{id}: {error}");
    }
}

#[test]
fn where_several_things_are_wrong_each_is_refused_alone() {
    let right = |id: &str, change: &[(&str, Value)]| {
        let mut example = example(id);
        for (field, value) in change {
            example["doc"][*field] = value.clone();
        }
        check(&example).map_err(|error| error.place)
    };
    let (utc, importance) = (("timestamp", json!("2026-03-02T08:00:00Z")), ("importance", json!(0.4)));
    assert_eq!(right("X20", std::slice::from_ref(&utc)), Err("importance".into()));
    assert_eq!(right("X20", &[utc, importance]), Ok(()));
    let (user, format) = (("user_id", json!("user-17")), ("export_format", json!("full")));
    assert_eq!(right("X24", std::slice::from_ref(&user)), Err("export_format".into()));
    assert_eq!(right("X24", &[user.clone(), format.clone()]), Err("end_time".into()));
    assert_eq!(right("X24", &[user, format, ("end_time", json!("2026-03-12T00:00:00Z"))]), Ok(()));
    for token in example("X25")["doc"]["tokens"].as_array().unwrap() {
        assert_eq!(right("X25", &[("tokens", json!([token]))]), Err("tokens[0]".into()), "{token}");
    }
    assert_eq!(right("X25", &[("tokens", json!(["<tempo:Monday>"]))]), Ok(()));
}

#[test]
fn refusals_say_what_is_wrong_and_where() {
    let refusals: Vec<String> = examples()
        .iter()
        .filter(|example| example["valid"] == false)
        .map(|example| {
            let error = check(example).expect_err("it is marked as invalid");
            let [id, reason] = ["id", "reason"].map(|key| example[key].as_str().unwrap());
            format!("{id}: {reason}\n     {error}")
        })
        .collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn the_requirements_example_is_partial_and_gives_its_figures() {
    let document = json!({
        "uid": "agent-plan-2025-05-11-reflect", "type": "agent_plan", "scheduled_for": "2025-05-11T20:00:00Z",
        "content": "Reflect on the day", "action_type": "reflect", "status": "executed", "origin": "agent",
        "tempo_token": "<tempo:EveningReview>",
        "profiling": {
            "executed_at": "2025-05-11T20:03:12Z", "duration_ms": 182000, "deviation_ms": 192000,
            "tempo_token": "<tempo:EveningReview>", "tempo_alignment": "partial", "feedback_score": 4,
            "reward_signal": 0.7, "agent_latency_ms": 2300,
            "execution_result": { "status": "completed", "trace_id": "trace-456", "return_type": "trace" },
        },
    });
    assert_eq!(tempo::check("agent_plan", &document), Ok(()));
    let plan = plan(&document);
    assert_eq!(
        figures(&plan),
        json!({ "deviation_ms": 192_000, "duration_ms": 182_000, "dispatch_delay_ms": 10_000,
            "tempo_alignment": "partial", "reward_signal": 0.7 })
    );
    assert_eq!(plan.profiling.unwrap().reward_signal, Some(Reward(7)));
}

#[test]
fn the_limits_of_alignment_hold_in_documents() {
    let executed = |millis: i64, alignment: Alignment| {
        let due: Timestamp = "2026-03-16T11:00:00Z".parse().unwrap();
        let executed_at = due + chronodrome::kernel::Span::from_millis(millis);
        tempo::check(
            "agent_plan",
            &json!({
                "uid": "p", "type": "agent_plan", "content": "Send", "action_type": "notify", "status": "executed",
                "origin": "user", "scheduled_for": due,
                "profiling": { "executed_at": executed_at, "duration_ms": 0, "deviation_ms": millis,
                    "tempo_alignment": alignment.as_str() },
            }),
        )
    };
    let cases = [
        (900_000, Alignment::Exact),
        (900_001, Alignment::Partial),
        (5_400_000, Alignment::Partial),
        (5_400_001, Alignment::Misaligned),
    ];
    for (millis, right) in cases {
        for stated in [Alignment::Exact, Alignment::Partial, Alignment::Misaligned] {
            assert_eq!(executed(millis, stated).is_ok(), stated == right, "{millis} ms as {}", stated.as_str());
        }
    }
}

/// The ways to all values of a document, as JSON pointers.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| pointers(member, &format!("{at}/{key}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(number, item)| pointers(item, &format!("{at}/{number}"), found));
        }
        _ => {}
    }
    found.push(at.to_owned());
}

#[test]
fn whatever_stands_in_a_field_is_read_or_refused_with_a_place_in_it() {
    let strangers = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("<tempo:>"),
        json!("<tempo:in-99999d>"),
        json!("0000-01-01T00:00Z"),
        json!("9999-12-30T00:00:00.000001Z"),
        json!("\u{0}é#\n"),
        json!("x".repeat(100_000)),
        json!([]),
        json!([[null]]),
        json!({}),
        json!({ "": { "": [] } }),
    ];
    let mut refused = 0;
    for example in examples() {
        let mut found = Vec::new();
        pointers(&example["doc"], "", &mut found);
        for pointer in found {
            for stranger in &strangers {
                let mut document = example["doc"].clone();
                *document.pointer_mut(&pointer).expect("it was just found") = stranger.clone();
                if let Err(error) = tempo::check(example["kind"].as_str().unwrap(), &document) {
                    assert!(!error.place.is_empty() && error.to_string().len() < 700, "{pointer}: {error:.200}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 10_000, "{refused}");
}

#[test]
fn a_kind_that_there_is_not_is_refused_with_the_nearest() {
    let error = tempo::check("agentplan", &json!({})).unwrap_err();
    assert_eq!(error.to_string(), "kind: there is no kind `agentplan`; did you mean `agent_plan`?");
}
