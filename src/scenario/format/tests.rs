use proptest::prelude::*;
use serde_json::json;

use std::collections::BTreeSet;

use super::*;
use crate::kernel::Span;
use crate::scenario::model::Act;
use crate::scenario::script::{ErrorCode, Op, Template};
use crate::scenario::{Code, shipped};
use crate::sim::{Deviation, Fault, FaultKind, Point};

#[test]
fn every_shipped_scenario_is_valid_and_named_after_its_file() {
    let files = shipped::files();
    let mut kinds = BTreeSet::new();
    assert!(files.len() >= 12, "{files:?}");
    for file in files {
        let scenario = Scenario::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Some(&*scenario.name), file.file_stem().unwrap().to_str());
        assert!(!scenario.about.is_empty() && !scenario.expect.is_empty());
        if scenario.deviations.is_some() {
            continue;
        }
        assert!(!scenario.expect_calm.is_empty());
        assert!(scenario.faults.plans.len() >= 4, "{} is not lively", scenario.name);
        kinds.extend(scenario.faults.plans.into_keys());
    }
    assert_eq!(kinds.len(), FaultKind::ALL.len(), "together they have every kind of fault: {kinds:?}");
}

/// A scenario with this in place of its agent's steps.
fn with_steps(steps: &str) -> String {
    let outside = r#""outside": { "stripe.charge": {}, "email.send": {}, "planner": { "model": {} } }"#;
    format!("{{ \"name\": \"x\", {outside},\n  \"agents\": {{ \"billing\": {steps} }} }}")
}

/// A scenario with this besides its name and agents.
fn with(members: &str) -> String {
    format!("{{ \"name\": \"x\", \"agents\": {{ \"billing\": [] }},\n  {members} }}")
}

/// Files that are wrong, one mistake each.
fn mistakes() -> Vec<String> {
    let steps = [
        r#"[ { "efect": "stripe.charge" } ]"#,
        r#"[ { "effect": "stripe.chrage" } ]"#,
        r#"[ { "effect": "stripe.charge", "polcy": "idempotent" } ]"#,
        r#"[ { "effect": "stripe.charge", "policy": "idempotnet" } ]"#,
        r#"[ { "spawn": "biling/1" } ]"#,
        r#"[ { "spawn": { "type": "biling" } } ]"#,
        r#"[ { "spawn": { "typ": "billing" } } ]"#,
        r#"[ { "spawn": "billing/1", "retention": "for ever" } ]"#,
        r#"[ { "spawn": "billing/1", "as": "child" }, { "join": "$chlid" } ]"#,
        r#"[ { "effect": "stripe.charge", "as": "charge" }, { "spawn": "billing/1", "as": "child" }, { "join": "$charge" } ]"#,
        r#"[ { "effect": "stripe.charge", "as": "charge" }, { "join": "$charge" } ]"#,
        r#"[ { "spawn": "billing/1", "as": "child" }, { "cancel": "$child.run_id" } ]"#,
        r#"[ { "spawn": "billing/1", "as": "child" }, { "send": "$child.agent", "data": 1 } ]"#,
        r#"[ { "children_of": true, "as": "kids" }, { "join": "$kids" } ]"#,
        r#"[ { "join": "billing" } ]"#,
        r#"[ { "ask": "billing/1", "data": 1 } ]"#,
        r#"[ { "reply": "$inbox", "data": 1 } ]"#,
        r#"[ { "reply": "$inbox.0.sender", "data": 1 } ]"#,
        r#"[ { "log": "$inbox.0.from" } ]"#,
        r#"[ { "emit": "", "data": 1 } ]"#,
        r#"[ { "follow": 7 } ]"#,
        r#"[ { "model": "planer" } ]"#,
        r#"[ { "model": "stripe.charge" } ]"#,
        r#"[ { "effect": "planner" } ]"#,
        r#"[ { "all": [ { "model": "planner", "tries": 2 } ] } ]"#,
        r#"[ { "version": "cheaper", "than": [] } ]"#,
        r#"[ { "send": "billing/boss#1.0", "data": 1 } ]"#,
        r#"[ { "sleep": "1 hour" } ]"#,
        r#"[ { "sleep": "1s", "log": 1 } ]"#,
        r#"[ { "as": "nothing" } ]"#,
        r#"[ { "now": {} } ]"#,
        r#"[ { "log": "$later" }, { "now": true, "as": "later" } ]"#,
        r#"[ { "now": true, "as": "began" }, { "log": { "at": ["$begun.x"] } } ]"#,
        r#"[ { "now": true, "as": "t" }, { "now": true, "as": "t" } ]"#,
        r#"[ { "now": true, "as": "self" } ]"#,
        r#"[ { "log": "$self.agnet" } ]"#,
        r#"[ { "if": "$inbox", "then": [ { "now": true, "as": "t" } ] }, { "log": "$t" } ]"#,
        r#"[ { "all": [ { "now": true }, { "check": true } ] } ]"#,
        r#"[ { "effect": "email.send", "on_error": { "Indoubt": [] } } ]"#,
        r#"[ { "send": "biling/1" } ]"#,
        r#"[ { "signal": "go", "to": "billing" } ]"#,
        r#"[ { "repeat": 1000, "do": [ { "repeat": 1000, "do": [ { "check": true } ] } ] } ]"#,
        r#"{ "step": [] }"#,
        r#"7"#,
        r#"[ { "finish": {} } ]"#,
        r#"[ { "drop": "billing/1" } ]"#,
        r#"[ { "effect": "stripe.charge", "policy": "exactly_once" } ]"#,
        r#"[ { "effect": "stripe.charge", "policy": "AtMostOnce" } ]"#,
        r#"[ { "effect": "stripe.charge", "on_error": { "in_doubt": [] } } ]"#,
        r#"[ { "effect": "stripe.charge", "on_error": { "timeout": [] } } ]"#,
        r#"[ { "effect": "stripe.charge", "on_error": [ { "check": true } ] } ]"#,
        r#"[ { "log": "$self.name" } ]"#,
    ];
    let members = [
        r#""naem": "y""#,
        r#""name": "y""#,
        r#""format": 2"#,
        r#""start": "2025-05-11""#,
        r#""runtime": { "lease": "1s1m" }"#,
        r#""runtime": { "workers": ["w1", "w1"] }"#,
        r#""runtime": { "workers": 0 }"#,
        r#""outside": { "t": { "refuses": 2 } }"#,
        r#""outside": { "t": { "takes": ["2s", "1s"] } }"#,
        r#""outside": { "t": { "model": true } }"#,
        r#""outside": { "t": { "model": { "cost": -1 } } }"#,
        r#""outside": { "t": { "model": {}, "honours_key": true } }"#,
        r#""runtime": { "limits": { "tokns": 1 } }"#,
        r#""runtime": { "max_agents": 0 }"#,
        r#""inputs": [ { "follow": "news", "agent": "biling/ann" } ]"#,
        r#""inputs": [ { "unfollow": "news" } ]"#,
        r#""inputs": [ { "to": "billing/boss#1.0" } ]"#,
        r#""inputs": [ { "to": "billing", "id": "a" }, { "to": "billing", "id": "a" } ]"#,
        r#""inputs": [ { "to": "bill" } ]"#,
        r#""inputs": [ { "at": "10m", "to": "billing" } ]"#,
        r#""inputs": [ { "stop": "w9" } ]"#,
        r#""inputs": [ { "cancle": "billing#1" } ]"#,
        r#""inputs": [ { "tail": "billing#1", "cut": "+1s" } ]"#,
        r#""inputs": [ { "version": 1, "agent": "billing", "steps": [] } ]"#,
        r#""faults": { "crashes": 0.1 }"#,
        r#""faults": { "crash": { "at_most": 1 } }"#,
        r#""faults": { "crash": { "rate": 1, "calls": ["apend"] } }"#,
        r#""faults": { "lost_reply": { "rate": 1, "for": "1s" } }"#,
        r#""faults": { "crash": 0.1 }, "deviations": []"#,
        r#""deviations": [ { "site": "w1", "fault": "crsh" } ]"#,
        r#""deviations": [ { "site": "w1", "fault": "pause", "lasts": "1s" } ]"#,
        r#""deviations": [ { "site": "x", "fault": "hold" } ]"#,
        r#""deviations": [ { "site": "x", "fault": "hold", "until": "x" } ]"#,
        r#""deviations": [ { "site": "x", "fault": "hold", "untill": "y" } ]"#,
        r#""faults": { "hold": { "rate": 0.1, "for": "1s" } }"#,
        r#""deviations": [ { "site": "x", "fault": "delay_request", "by": "-5s" } ]"#,
        r#""deviations": [ { "site": "x", "fault": "crash", "point": { "flight": "-5s" }, "restart": "1s" } ]"#,
        r#""expect": [ { "effect": "stripe.charge", "happened": 1 } ]"#,
        r#""expect": [ { "agent": "billing", "ends": "complete" } ]"#,
        r#""expect": [ { "run": "billing#0", "ends": "completed" } ]"#,
        r#""expect": [ { "agent": "billing" } ]"#,
        r#""expect": [ { "agent": "billing", "reply": 1 } ]"#,
        r#""expect": [ { "run": "billing#1", "cost": "1" } ]"#,
        r#""expect": [ { "took": "1h" } ]"#,
        r#""expect": [ { "agent": "billing", "ends": "done" } ]"#,
        r#""expect": [ { "agent": "billing", "runs": { "max": 1 } } ]"#,
        r#""expect": [ { "agent": "billing", "runs": true } ]"#,
        r#""expact": []"#,
        r#""settings": {}"#,
        r#""runtime": { "lease": 30 }"#,
        r#""outside": { "t": { "honours_key": "true" } }"#,
        r#""outside": { "t": { "takes": 3 } }"#,
        r#""inputs": [ { "to": "billing", "at": 10 } ]"#,
        r#""start": 2025"#,
        r#""faults": { "bug": 0.1 }"#,
        r#""faults": { "until": "+1h", "crash": 0.1 }, "deviations": []"#,
        r#""deviations": [ { "site": "w1", "fault": "bug" } ]"#,
    ];
    let users = [
        r#""users": { "a/b": {} }"#,
        r#""users": { "ana": { "zone": "Europe/Berlni" } }"#,
        r#""users": { "ana": { "auto_aprove": true } }"#,
        r#""users": { "ana": { "registry": { "Tea": { "start": "25:00", "end": "26:00" } } } }"#,
        r#""users": { "ana": { "blocked": [{ "days": "Sonday", "start": "12:00", "end": "13:00" }] } }"#,
        r#""users": { "ana": { "budget": { "notfy": 1 } } }"#,
        r#""users": { "ana": { "cadence": { "notify": 30 } } }"#,
        r#""users": { "ana": { "horizon": "2020-01-01T00:00:00Z" } }"#,
        r#""inputs": [ { "approve": "tea" } ]"#,
        r#""users": { "ana": {}, "ben": {} }, "inputs": [ { "approve": "tea" } ]"#,
        r#""users": { "ana": {}, "ben": {} }, "inputs": [ { "approve": "tea", "user": "anna" } ]"#,
        r#""users": { "ana": {} }, "inputs": [ { "edit": "tea", "set": { "uid": "coffee" } } ]"#,
        r#""users": { "ana": {} }, "inputs": [ { "edit": "tea", "set": { "tempo_token": "<tempo:Mornin>" } } ]"#,
        r#""users": { "ana": {} }, "inputs": [ { "feedback": { "plan_uid": "tea", "feedback_rating": 6 } } ]"#,
        r#""users": { "ana": {} }, "inputs": [ { "feedback": { "feedback_rating": 5 } } ]"#,
        r#""users": { "ana": {} }, "inputs": [ { "remember": { "uid": "g", "type": "gaol", "timestamp": "2025-01-01T00:00:00Z", "content": "x" } } ]"#,
        r#""users": { "ana": {} }, "expect": [ { "plan": "tea", "alignment": "exakt" } ]"#,
        r#""users": { "ana": {} }, "expect": [ { "plan": "tea", "reward": 0.75 } ]"#,
        r#""users": { "ana": {} }, "expect": [ { "plan": "tea", "deviation": 3 } ]"#,
        r#""users": { "ana": {} }, "expect": [ { "memory": "tea", "user": "bob", "exists": true } ]"#,
        r#""expect": [ { "refused": "DuplicateUuid", "times": 1 } ]"#,
    ];
    let plans = [
        r#""tempo_token": "<tempo:EveningRevew>""#,
        r#""scheduled_for": "Sunday 10am""#,
        r#""scheduled_for": "2025-05-11T20:00:00+02:00""#,
        r#""scheduled_for": "2025-05-11T20:00:00Z", "deadline": "2025-05-11T19:00:00Z""#,
        r#""scheduled_for": "2025-05-11T20:00:00Z", "status": "executed""#,
        r#""scheduled_for": "2025-05-11T20:00:00Z", "target": "biling""#,
        r#""scheduled_for": "2025-05-11T20:00:00Z", "retry_on_failure": "often""#,
        r#""scheduled_for": "2025-05-11T20:00:00Z", "repeat": { "evry": "daily" }"#,
        r#""scheduled_for": "2025-05-11T20:00:00Z", "conditions": [{ "reschedule_to": "<tempo:Morning>" }]"#,
        "",
    ];
    let proposals = [
        r#""user": "ann", "plan": {}"#,
        r#""plan": { "uid": "tea", "type": "agent_plan", "content": "x", "action_type": "log", "origin": "agent", "target": "billing", "tempo_token": "<tempo:Tee>" }"#,
        r#""user": "ana""#,
    ];
    let whole = [
        "",
        "[]",
        "{ \"name\": \"x\",\n  \"agents\": { \"a\": [] }, }",
        "{ \"name\": \"x\" }",
        "{ \"agents\": { \"a\": [] } }",
        "{ \"name\": \"x\", \"agents\": { \"probe\": [] } }",
        "{ \"name\": \"x\", \"agents\": { \"a/b\": [] } }",
        "{ \"ä\": \"€\", \"name\" 1 }",
    ];
    let plans = plans.iter().map(|members| {
        let target = if members.contains("target") { "" } else { r#", "target": "billing""# };
        let comma = if members.is_empty() { "" } else { ", " };
        let plan = format!(
            r#"{{ "uid": "tea", "type": "agent_plan", "content": "x", "action_type": "log", "origin": "user"{target}{comma}{members} }}"#
        );
        with(&format!(r#""users": {{ "ana": {{}} }}, "inputs": [ {{ "plan": {plan} }} ]"#))
    });
    let proposals = proposals.iter().map(|args| {
        let steps = format!(r#"[ {{ "effect": "plan.propose", "args": {{ {args} }} }} ]"#);
        format!("{{ \"name\": \"x\", \"users\": {{ \"ana\": {{}} }},\n  \"agents\": {{ \"billing\": {steps} }} }}")
    });
    let pull = r#"[ { "effect": "memory.pull", "args": { "from": "2025-05-11T20:00:00Z", "until": "2025-05-11T19:00:00Z" } } ]"#;
    let pull =
        format!("{{ \"name\": \"x\", \"users\": {{ \"ana\": {{}} }},\n  \"agents\": {{ \"billing\": {pull} }} }}");
    let texts = whole.into_iter().map(str::to_owned).chain(plans).chain(proposals).chain([pull]);
    let members = members.iter().chain(&users);
    texts.chain(steps.iter().map(|text| with_steps(text))).chain(members.map(|text| with(text))).collect()
}

#[test]
fn every_mistake_is_told_with_its_place_and_the_nearest_name() {
    let told: Vec<String> = mistakes()
        .iter()
        .map(|text| Scenario::parse(text, "x.json").err().unwrap_or_else(|| panic!("accepted: {text}")).to_string())
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn the_place_of_a_mistake_is_the_place_of_its_text() {
    for text in mistakes() {
        let error = Scenario::parse(&text, "x.json").unwrap_err();
        let (Some(offending), true) = (&error.text, error.line > 0) else { continue };
        let line: String = text.lines().nth(error.line - 1).unwrap().chars().skip(error.column - 1).collect();
        assert!(line.trim_start_matches('"').starts_with(offending.trim_end_matches('…')), "{error}\n{line}");
    }
}

#[test]
fn what_is_too_large_too_deep_no_utf8_or_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let load = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let told = Scenario::load(&path).unwrap_err().to_string();
        told.rsplit_once(name).unwrap().1.to_owned()
    };
    assert_eq!(load("utf8", b"{\n \"name\": \"\xff\" }"), ":2:11: this is not UTF-8");
    assert_eq!(load("large", &vec![b' '; FILE_BYTES_MAX as usize + 1]), ": a scenario file has at most 16 MiB");
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(load("deep", deep.as_bytes()), ":1:128: this is not JSON: recursion limit exceeded");
    assert!(Scenario::load(&folder.path().join("none")).unwrap_err().to_string().contains("cannot be read"));
    assert!(Scenario::load(folder.path()).unwrap_err().to_string().ends_with("this is a directory"));
    // A file of a size that is never read to its end: sparse, so that it costs nothing to make.
    let path = folder.path().join("vast");
    File::create(&path).unwrap().set_len(100 << 30).unwrap();
    assert!(Scenario::load(&path).unwrap_err().reason.contains("16 MiB"));
}

#[test]
fn defaults_are_the_contracts_own() {
    let scenario = Scenario::parse(&with(r#""inputs": [ { "to": "billing/ann" } ]"#), "x.json").unwrap();
    assert_eq!(scenario.runtime, RuntimeSettings::default());
    assert_eq!(scenario.agents["billing"].defaults, crate::kernel::SpecDefaults::default());
    assert_eq!(scenario.faults, Faults::default());
    let Act::Message { to, message } = &scenario.inputs[0].does else { panic!("a message was given") };
    assert_eq!((to.as_str(), &*message.id, message.sender.as_str()), ("billing/ann", "input-1", "client"));
}

#[test]
fn times_ranges_and_rates_become_integers() {
    let text = with(
        r#""start": "2025-05-11T20:00:00Z", "inputs": [ { "to": "billing", "at": "2025-05-11T22:30:00+02:00" },
           { "to": "billing", "id": "b", "at": "+10m", "again": ["+1m", "+2h"] } ],
           "faults": { "crash": { "rate": 0.02, "for": ["1s", "2m"], "at_most": 3, "from": "+1m" }, "lost_reply": 0.000001,
                       "timer_jitter": "3s", "slow": { "rate": 1, "times": 8 }, "until": "+1h" }"#,
    );
    let scenario = Scenario::parse(&text, "x.json").unwrap();
    let minutes: Vec<i64> = scenario.inputs.iter().map(|input| input.at.as_millis() / 60_000).collect();
    assert_eq!(minutes, [1, 10, 30, 120]);
    let crash = &scenario.faults.plans[&FaultKind::Crash];
    assert_eq!(
        (crash.rate_ppm, crash.at_most, crash.lasts),
        (20_000, Some(3), (Span::from_secs(1), Span::from_secs(120)))
    );
    assert_eq!((crash.from, crash.until), (Span::from_secs(60), Span::MAX));
    assert_eq!(scenario.faults.plans[&FaultKind::LostReply].rate_ppm, 1);
    assert_eq!(scenario.faults.timer_jitter(), Span::from_secs(3));
    assert_eq!(scenario.faults.plans[&FaultKind::Slow].lasts, (Span::from_micros(8), Span::from_micros(8)));
    assert_eq!(scenario.faults.until, Span::from_secs(3600));
}

#[test]
fn deviations_are_read_as_they_are_written() {
    let deviations = vec![
        Deviation {
            site: "billing#1 / lease 0 / append tool.called step 0 / try 1".into(),
            fault: Fault::Crash { point: Point::Flight(Span::from_secs(2)), restart: Span::from_secs(1) },
            key: None,
        },
        Deviation { site: "w1".into(), fault: Fault::Slow { factor: 4 }, key: None },
        Deviation { site: "x".into(), fault: Fault::LostReply, key: None },
        Deviation { site: "y".into(), fault: Fault::Hold { until: Some("x".into()), most: None }, key: None },
        Deviation { site: "z".into(), fault: Fault::Hold { until: None, most: Some(Span::from_secs(1)) }, key: None },
    ];
    let written = serde_json::to_string(&deviations).unwrap();
    let text = with(&format!("\"deviations\": {written}, \"violates\": \"log-dense\""));
    let scenario = Scenario::parse(&text, "x.json").unwrap();
    assert_eq!(scenario.deviations, Some(deviations));
    assert_eq!(scenario.violates.as_deref(), Some("log-dense"));
}

#[test]
fn a_dollar_is_written_twice_and_fixed_values_are_shared() {
    let text = with_steps(r#"[ { "log": { "price": "$$5", "list": [1] } }, { "log": ["$inbox", 1] } ]"#);
    let scenario = Scenario::parse(&text, "x.json").unwrap();
    let Code::Script(script) = &scenario.agents["billing"].code else { panic!("it is a script") };
    assert!(script.reads_inbox);
    let Op::Log(Template::Fixed(fixed)) = &script.steps[0].op else { panic!("a fixed value was given") };
    assert_eq!(**fixed, serde_json::json!({ "price": "$5", "list": [1] }));
    assert!(matches!(&script.steps[1].op, Op::Log(Template::List(items)) if items.len() == 2));
}

/// The text of a shipped scenario with some of its bytes replaced, dropped or doubled, or cut off.
fn mangled() -> impl Strategy<Value = String> {
    let texts: Vec<String> = shipped::files().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let edit = (any::<prop::sample::Index>(), 0..4_u8, prop::sample::select(PIECES.as_slice()));
    (prop::sample::select(texts), prop::collection::vec(edit, 1..6)).prop_map(|(text, edits)| {
        let mut bytes = text.into_bytes();
        for (place, kind, piece) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            let end = (at + piece.len()).min(bytes.len());
            match kind {
                0 => drop(bytes.splice(at..end, piece.bytes())),
                1 => drop(bytes.splice(at..at, piece.bytes())),
                2 => drop(bytes.drain(at..end)),
                _ => bytes.truncate(at),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

const PIECES: [&str; 24] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "$",
    "#0",
    "/",
    "-1",
    "9999999999999999999",
    "1e400",
    "null",
    "\\",
    "\\u0000",
    "é€",
    "\n",
    "99999999999d",
    "+",
    "as",
    "0",
    "$self.",
    "ms",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mangled_scenario_is_read_or_refused_with_a_place_inside_the_text(text in mangled()) {
        if let Err(error) = Scenario::parse(&text, "x.json") {
            prop_assert!(error.line <= text.lines().count() + 1, "{}", error);
            prop_assert!(!error.reason.is_empty());
        }
    }

    #[test]
    fn any_document_is_read_or_refused(text in "\\PC{0,60}") {
        let _ = Scenario::parse(&text, "x.json");
        let _ = Scenario::parse(&with(&text), "x.json");
        let _ = Scenario::parse(&with_steps(&text), "x.json");
    }

    #[test]
    fn replacing_any_value_of_a_scenario_never_panics(
        file in prop::sample::select(shipped::files()),
        place in any::<prop::sample::Index>(),
        value in prop::sample::select(vec![json!(null), json!(-1), json!(u64::MAX), json!(1e308), json!(""), json!("$"),
            json!("$a..b"), json!("+"), json!([]), json!({}), json!([[]]), json!("a#4294967296"), json!(true)]),
    ) {
        let mut document: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let mut count = 0;
        visit(&mut document, &mut |_| count += 1);
        let chosen = place.index(count);
        let mut number = 0;
        visit(&mut document, &mut |found| {
            if number == chosen {
                *found = value.clone();
            }
            number += 1;
        });
        let _ = Scenario::parse(&document.to_string(), "x.json");
    }
}

/// Visits every value, those within first.
fn visit(value: &mut Value, visitor: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, visitor)),
        Value::Object(members) => members.values_mut().for_each(|member| visit(member, visitor)),
        _ => {}
    }
    visitor(value);
}

#[test]
fn every_field_step_error_and_fault_is_described_beside_the_scenarios() {
    let page = include_str!("../../../scenarios/README.md");
    let fields = FIELDS.into_iter().filter(|field| *field != "$schema");
    let faults = FaultKind::ALL.iter().map(|kind| kind.as_str());
    for name in fields.chain(step_names()).chain(faults).chain(ErrorCode::ALL.iter().map(|code| code.as_str())) {
        assert!(
            page.contains(&format!("`{name}`")) || page.contains(&format!("\"{name}\"")),
            "`{name}` is not described"
        );
    }
}

#[test]
fn a_world_with_plans_may_go_wrong_till_the_last_one_is_due() {
    let plan = |due: &str| {
        format!(
            r#"{{ "name": "n", "start": "2025-05-11T18:00:00Z", "users": {{ "ana": {{}} }}, "agents": {{ "log": [] }},
                "inputs": [ {{ "at": "+1m", "plan": {{ "uid": "p", "type": "agent_plan", "content": "p", "action_type": "log",
                    "origin": "user", "scheduled_for": "{due}" }} }} ] FAULTS }}"#
        )
    };
    let until = |due: &str, faults: &str| {
        let scenario = Scenario::parse(&plan(due).replace("FAULTS", faults), "n.json");
        scenario.unwrap_or_else(|error| panic!("{error}")).faults.until
    };
    assert_eq!(until("2025-05-11T21:00:00Z", ""), "3h15m".parse().unwrap());
    assert_eq!(until("2025-05-11T18:00:00Z", ""), "16m".parse().unwrap(), "it is due when it comes");
    assert_eq!(until("2025-05-11T21:00:00Z", r#", "faults": { "until": "+1h" }"#), "1h".parse().unwrap());
}
