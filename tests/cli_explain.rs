//! `explain`, `check` and `diff` as people and scripts meet them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

/// An empty directory with the scenario in which a card may be charged twice, with these deviations.
struct Place(TempDir);

struct Told {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a directory for the test"))
    }

    fn with(deviations: &Value) -> Place {
        let place = Place::new();
        let mut document: Value = serde_json::from_str(&data("double-charge.json")).expect("a scenario is JSON");
        let members = document.as_object_mut().expect("a scenario is an object");
        members.remove("faults");
        members.insert("deviations".to_owned(), deviations.clone());
        place.write("failure.json", &document.to_string());
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("it can be written");
    }

    fn run(&self, arguments: &str) -> Told {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronodrome"));
        let output = command.current_dir(self.0.path()).args(arguments.split_whitespace()).output();
        let output = output.expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("text is UTF-8");
        Told { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const CHARGE: &str = "billing#1 / lease 0 / perform stripe.charge step 0 / try 1";
const READ: &str = "billing#1 / lease 0 / read / try 1";

/// The worker freezes over the charge until its lease is another's.
fn pause(lasts: &str) -> Value {
    json!({ "site": CHARGE, "fault": "pause", "point": "after", "lasts": lasts })
}

fn slow_read() -> Value {
    json!({ "site": READ, "fault": "delay_request", "by": "1s" })
}

#[test]
fn a_double_charge_is_told_drawn_and_traced_to_the_second_that_matters() {
    let place = Place::with(&json!([slow_read(), pause("45s")]));
    let told = place.run("explain failure.json");
    assert_eq!((told.code, told.err.as_str()), (Some(1), ""));
    insta::assert_snapshot!(told.out);
}

#[test]
fn the_document_of_an_explanation_has_the_story_the_diagram_and_what_would_have_saved_it() {
    let place = Place::with(&json!([slow_read(), pause("45s")]));
    let told = place.run("explain failure.json --json --trace t.jsonl");
    let document: Value = serde_json::from_str(&told.out).expect("one document");
    assert_eq!(document["verdict"], "violated");
    assert_eq!(document["turning"]["after"], 2);
    assert_eq!(document["nearest"]["deviation"], 2);
    let lasts = |with: &str| document["nearest"][with]["lasts"].as_str().map(str::to_owned);
    let (holds, fails) = (lasts("holds_with").expect("a pause"), lasts("fails_with").expect("a pause"));
    let verdict = |lasts: &str| Place::with(&json!([slow_read(), pause(lasts)])).run("replay failure.json").code;
    assert_eq!((verdict(&holds), verdict(&fails)), (Some(0), Some(1)), "{holds} holds, {fails} fails");
    assert!(document["story"]["headline"].as_str().is_some_and(|line| line.lines().count() == 2));
    assert!(document["spacetime"].as_array().is_some_and(|rows| rows.len() > 5));
    assert_eq!(place.run("check t.jsonl").code, Some(1));
}

#[test]
fn what_holds_needs_no_explanation_and_what_is_stale_gets_none() {
    let place = Place::with(&json!([pause("1s")]));
    let told = place.run("explain failure.json");
    assert_eq!(told.code, Some(0));
    assert!(told.out.contains("nothing to explain"), "{}", told.out);
    let stale = json!({ "site": "billing#1 / lease 7 / read / try 1", "fault": "lost_reply" });
    let told = Place::with(&json!([stale])).run("explain failure.json --trace t.jsonl");
    assert_eq!((told.code, told.out.as_str()), (Some(2), ""));
    assert!(told.err.contains("stale") && told.err.contains("lease 7"), "{}", told.err);
}

#[test]
fn of_a_hold_that_waits_in_vain_the_site_that_never_came_up_is_told() {
    let held = json!({ "site": READ, "fault": "hold", "until": "billing#7 / lease 0 / ack / try 1" });
    let place = Place::with(&json!([held]));
    for command in ["explain failure.json", "run failure.json", "replay failure.json", "sweep failure.json --seeds 1"] {
        let told = place.run(command);
        assert_eq!(told.code, Some(2), "{command}: {}", told.err);
        let text = format!("{}{}", told.out, told.err);
        assert!(text.contains("the site `billing#7 / lease 0 / ack / try 1` never came up"), "{command}: {text}");
    }
}

#[test]
fn a_seed_is_explained_as_the_list_of_its_deviations() {
    let place = Place::new();
    place.write("double-charge.json", &data("double-charge.json"));
    let failing = (0..500).find(|seed| place.run(&format!("run double-charge.json --seed {seed}")).code == Some(1));
    let told = place.run(&format!("explain double-charge.json --seed {}", failing.expect("some seed fails")));
    assert_eq!(told.code, Some(1), "{}", told.err);
    assert!(told.out.contains("What would have saved it"), "{}", told.out);
    assert_eq!(place.run("explain double-charge.json").code, Some(0), "the calm schedule holds");
}

/// A scenario of one agent `shop` with this beside its name, agents and input.
fn shop(steps: &Value, members: &Value) -> Value {
    let mut document = json!({
        "name": "shop",
        "outside": { "card.charge": {} },
        "agents": { "shop": steps },
        "inputs": [{ "to": "shop", "id": "order" }],
    });
    let Value::Object(members) = members else { panic!("members are an object") };
    document.as_object_mut().expect("a scenario is an object").extend(members.clone());
    document
}

#[test]
fn why_a_run_failed_stands_in_its_story_on_one_line() {
    let place = Place::new();
    let long = format!("no such\norder: {}", "x".repeat(200));
    for (steps, why) in [
        (
            json!([{ "effect": "card.charge", "as": "charge" }, { "complete": "$charge.idd" }]),
            "`$charge.idd` finds nothing",
        ),
        (json!([{ "fail": long }]), "no such order: xxx"),
    ] {
        let members = json!({
            "runtime": { "workers": 1, "retry": { "max_retries": 2, "backoff": "1s" } },
            "expect": [{ "agent": "shop", "ends": "completed" }]
        });
        place.write("failing.json", &shop(&steps, &members).to_string());
        let told = place.run("explain failing.json --width 200");
        assert_eq!(told.code, Some(1), "{}", told.err);
        let headline = told.out.lines().nth(2).expect("a headline");
        assert!(headline.contains("wrote run.failed (") && headline.contains(why), "{headline}");
        assert_eq!(headline.matches("wrote run.retrying (").count(), 1, "{headline}");
        for entry in ["run.retrying (failure 1): ", "run.failed (agent_crashed): ", "run.retrying: ", "run.failed: "] {
            let line = told.out.lines().find_map(|line| line.split_once(entry)).map(|(_, line)| line);
            let line = line.unwrap_or_else(|| panic!("no {entry}in {}", told.out));
            assert!(line.starts_with(why) && line.trim_end_matches("...").chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn a_belief_is_about_the_steps_that_had_begun_and_names_them_where_a_tool_has_several() {
    let place = Place::new();
    let charge = |name: &str| json!({ "effect": "card.charge", "policy": "repeatable", "tries": 2, "as": name });
    let lost = json!({ "site": "shop#1 / lease 0 / perform card.charge step 0 / try 1", "fault": "lost_reply" });
    let members = json!({ "deviations": [lost], "expect": [{ "effect": "card.charge", "happened": 2 }] });
    place.write("twice.json", &shop(&json!([charge("one"), charge("two")]), &members).to_string());
    let told = place.run("explain twice.json --json");
    assert_eq!(told.code, Some(1), "{}", told.err);
    let document: Value = serde_json::from_str(&told.out).expect("one document");
    let turns = document["story"]["turns"].as_array().expect("there are turns");
    let text = |turn: &Value, field: &str| turn[field].as_str().unwrap_or_default().to_owned();
    let second = turns.iter().position(|turn| text(turn, "said").contains("card.charge (step 1)")).expect("it begins");
    let beliefs = |turns: &[Value]| turns.iter().map(|turn| text(turn, "belief")).collect::<Vec<_>>().join("\n");
    let (before, after) = (beliefs(&turns[..second]), beliefs(&turns[second..]));
    assert!(before.contains("no result of card.charge (step 0)") && !before.contains("(step 1)"), "{before}");
    assert!(before.contains("In truth card.charge (step 0) had taken hold already"), "{before}");
    assert!(
        after.contains("card.charge (step 0) done") && after.contains("no result of card.charge (step 1)"),
        "{after}"
    );
}

/// Told are the deviations that befell the effect of the broken promise, however many others came later.
#[test]
fn a_story_names_the_lost_reply_that_broke_it_among_many_later_deviations() {
    let reply = json!({ "site": CHARGE, "fault": "lost_reply" });
    let late = |what: &str, by: &str| json!({ "site": format!("billing#1 / lease 0 / {what}"), "fault": "delay_reply", "by": by });
    // With very many, not every turn is told.
    for (many, limit) in [(0, "60s"), (4, "60s"), (60, "20m")] {
        let mut list = vec![late("read / try 1", "1ms"), reply.clone()];
        list.extend((1..=many).map(|beat| late(&format!("heartbeat / try {beat}"), &format!("{beat}ms"))));
        let place = Place::new();
        let mut document: Value = serde_json::from_str(&data("double-charge.json")).expect("a scenario is JSON");
        document["agents"]["billing"][0]["limit"] = json!(limit);
        (document["faults"], document["deviations"]) = (json!({}), json!(list));
        place.write("failure.json", &document.to_string());
        let told = place.run("explain failure.json");
        assert_eq!(told.code, Some(1), "{}", told.err);
        let headline = told.out.lines().nth(2).expect("a headline");
        assert!(headline.contains("never saw the reply to the request for stripe.charge"), "{many}: {headline}");
        assert!(told.out.contains(" !  ") && told.out.contains("it took hold; the reply was lost"), "{}", told.out);
    }
}

#[test]
fn a_recorded_history_is_judged_like_a_played_one() {
    let place = Place::new();
    place.write("double-charge.json", &data("double-charge.json"));
    place.write("bad.jsonl", &data("histories/performed-again.jsonl"));
    assert_eq!(place.run("run double-charge.json --trace good.jsonl").code, Some(0));
    let good = place.run("check good.jsonl");
    assert_eq!(good.code, Some(0), "{}", good.err);
    assert!(!good.out.contains("not judged  "), "{}", good.out);
    let bad = place.run("check bad.jsonl");
    assert_eq!(bad.code, Some(1));
    insta::assert_snapshot!(bad.out);
    let document: Value = serde_json::from_str(&place.run("check bad.jsonl --json").out).expect("one document");
    assert_eq!(document["violations"][0]["invariant"], "effect-at-most-once");
    assert_eq!(document["runs"][0], json!({ "alias": "billing#1", "status": "completed", "attempts": 2 }));
}

#[test]
fn what_a_scenario_expects_is_not_in_its_trace_and_told_as_not_judged() {
    let place = Place::new();
    let mut document: Value = serde_json::from_str(&data("double-charge.json")).expect("a scenario is JSON");
    document["expect"] = json!([{ "effect": "stripe.charge", "happened": 2 }]);
    place.write("two.json", &document.to_string());
    assert_eq!(place.run("run two.json --trace two.jsonl").code, Some(1));
    let told = place.run("check two.jsonl");
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(told.out.contains("expectations  not judged: a trace does not hold them"), "{}", told.out);
    let document: Value = serde_json::from_str(&place.run("check two.jsonl --json").out).expect("one document");
    assert_eq!(document["expectations_judged"], json!(false));
}

#[test]
fn a_history_without_applied_facts_leaves_unjudged_what_needs_them() {
    let place = Place::new();
    let observed = |line: &&str| !line.contains("\"event\":\"applied\"") && !line.contains("\"event\":\"happened\"");
    let text = data("histories/performed-again.jsonl");
    place.write("observed.jsonl", &(text.lines().filter(observed).collect::<Vec<_>>().join("\n") + "\n"));
    let told = place.run("check observed.jsonl");
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    assert!(told.out.contains("not judged  ") && told.out.contains("lease-exclusive"), "{}", told.out);
}

#[test]
fn what_is_no_trace_is_told_with_its_place_and_its_reason() {
    let place = Place::new();
    let whole = data("histories/performed-again.jsonl");
    place.write("cut.jsonl", &whole[..whole.len() / 2]);
    place.write("empty.jsonl", "");
    place.write("scenario.json", &data("double-charge.json"));
    place.write("strange.jsonl", &whole.replacen("\"event\":\"phase\"", "\"event\":\"phrase\"", 1));
    place.write("later.jsonl", &whole.replacen("\"format\":1", "\"format\":2", 1));
    place.write("good.jsonl", &whole);
    let mut told = String::new();
    for name in ["cut.jsonl", "empty.jsonl", "scenario.json", "strange.jsonl", "later.jsonl", "goood.jsonl", "."] {
        for command in [format!("check {name}"), format!("diff good.jsonl {name}")] {
            let ended = place.run(&command);
            assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{command}");
            told.push_str(&format!("$ {command}\n{}", ended.err));
        }
    }
    insta::assert_snapshot!(told);
    let cut = place.run("check cut.jsonl --allow-truncated");
    assert_eq!(cut.code, Some(0), "{}", cut.err);
    assert!(cut.out.contains("breaks off and was left out") && cut.out.contains("not judged  "), "{}", cut.out);
}

#[test]
fn two_histories_are_compared_up_to_the_first_event_that_differs() {
    let place = Place::with(&json!([slow_read(), pause("45s")]));
    place.write("double-charge.json", &data("double-charge.json"));
    assert_eq!(place.run("run double-charge.json --trace calm.jsonl").code, Some(0));
    assert_eq!(place.run("replay failure.json --trace failure.jsonl").code, Some(1));
    assert_eq!(place.run("replay failure.json --trace again.jsonl").code, Some(1));
    let same = place.run("diff failure.jsonl again.jsonl");
    assert_eq!(same.code, Some(0), "{}", same.out);
    let differ = place.run("diff calm.jsonl failure.jsonl");
    assert_eq!(differ.code, Some(1));
    insta::assert_snapshot!(differ.out);
    let document: Value = serde_json::from_str(&place.run("diff calm.jsonl failure.jsonl --json").out).expect("one");
    assert_eq!(document["equal"], json!(false));
    assert_eq!(document["header"][0]["field"], "timer_jitter", "a file without faults has none");
    let line = document["first"]["line"].as_u64().expect("a line") as usize;
    let lines = ["calm.jsonl", "failure.jsonl"].map(|name| fs::read_to_string(place.path(name)).expect("it is there"));
    let nth = |text: &str, line: usize| text.lines().nth(line - 1).map(str::to_owned);
    assert_eq!(nth(&lines[0], line - 1), nth(&lines[1], line - 1));
    assert_ne!(nth(&lines[0], line), nth(&lines[1], line));
}
