//! Scenarios that are written: the one that plays a failure again.
//!
//! What is written says all that it means: a default that another version changes does not change the file.

use serde_json::{Map, Value, json};

use super::format::{TOOLS, usual_policy};
use super::layout;
use super::model::{RuntimeSettings, Scenario};
use super::steps::each_list;
use crate::kernel::{Json, Limits, Name, Span};
use crate::sim::{Deviation, Tool};

/// The version of chronodrome that files name as their writer.
pub const WRITTEN_BY: &str = concat!("chronodrome ", env!("CARGO_PKG_VERSION"));

/// `scenario` under exactly these deviations, its faults gone but for their `until`: it plays the same without rates and
/// seed. `violates` is the promise that is broken: an invariant, or the text of an expectation. Its document has every default
/// written out.
pub fn regression(scenario: &Scenario, deviations: &[Deviation], violates: &str) -> Scenario {
    let mut regression = scenario.clone();
    regression.faults.plans.clear();
    regression.deviations = Some(deviations.to_vec());
    regression.violates = Some(violates.into());
    regression.written_by = Some(WRITTEN_BY.into());
    regression.document = Json::new(document(&regression));
    regression
}

/// `scenario` before anything goes wrong in it: no faults but their `until`, no deviations, every id that follows from a
/// place in the file written out, and the number of workers. `calm` makes what is expected of the calm schedule expected of every schedule.
pub(crate) fn bare(scenario: &Scenario, calm: bool) -> Scenario {
    let mut bare = scenario.clone();
    bare.faults.plans.clear();
    (bare.deviations, bare.violates, bare.written_by) = (None, None, None);
    let mut document = (*scenario.document).clone();
    if let Value::Object(members) = &mut document {
        members.retain(|key, _| !["deviations", "violates", "written_by"].contains(&key.as_str()));
        members.insert("faults".to_owned(), json!({ "until": at(scenario.faults.until) }));
        fill_ids(members);
        let runtime = members.entry("runtime").or_insert_with(|| json!({}));
        if let Some(runtime) = runtime.as_object_mut() {
            fill(runtime, "workers", || workers_document(&scenario.runtime));
        }
        if calm {
            bare.expect.append(&mut bare.expect_calm);
            let of_calm = members.remove("expect_calm").and_then(|list| list.as_array().cloned());
            if let Some(list) = members.entry("expect").or_insert_with(|| json!([])).as_array_mut() {
                list.extend(of_calm.into_iter().flatten());
            }
        }
    }
    bare.document = Json::new(document);
    bare
}

/// The text of a scenario's file. Read again it gives the same scenario, and written again the same text.
pub fn text(scenario: &Scenario) -> String {
    layout::text(&scenario.document)
}

/// The document of a scenario that lists its deviations, with every default written out.
fn document(scenario: &Scenario) -> Value {
    let mut document: Value = (*scenario.document).clone();
    fill_steps(&mut document, only_user(scenario));
    let Value::Object(members) = &mut document else { return document };
    fill_ids(members);
    fill_senders(members);
    fill_users(members, scenario);
    let tools = scenario.outside.iter().map(|(name, tool)| (name.to_string(), tool_document(tool)));
    members.extend([
        ("format".to_owned(), json!(1)),
        ("about".to_owned(), json!(scenario.about)),
        ("start".to_owned(), json!(scenario.start)),
        ("runtime".to_owned(), runtime_document(&scenario.runtime)),
        ("outside".to_owned(), Value::Object(tools.collect())),
        ("faults".to_owned(), json!({ "until": at(scenario.faults.until) })),
        ("deviations".to_owned(), json!(scenario.deviations)),
        ("written_by".to_owned(), json!(scenario.written_by)),
    ]);
    let optional = ["outside", "inputs", "load", "expect", "expect_calm"];
    let is_empty = |value: &Value| *value == json!([]) || *value == json!({});
    members.retain(|key, value| !optional.contains(&key.as_str()) || !is_empty(value));
    // The file stands somewhere else than the one whose schema is beside it.
    members.remove("$schema");
    members.remove("violates");
    if let Some(violates) = &scenario.violates {
        members.insert("violates".to_owned(), json!(violates));
    }
    document
}

/// A time after the start.
fn at(span: Span) -> String {
    format!("+{span}")
}

fn runtime_document(runtime: &RuntimeSettings) -> Value {
    let retry = &runtime.retry;
    let mut members = json!({
        "workers": workers_document(runtime),
        "lease": runtime.lease,
        "poll": runtime.poll,
        "capacity": runtime.capacity,
        "retry": {
            "max_retries": retry.max_retries,
            "backoff": retry.backoff,
            "dead_run_on_cancel": retry.dead_run_on_cancel,
        },
        "max_lost_leases": runtime.max_lost_leases,
        "batch": runtime.batch,
        "max_agents": runtime.spawn_budget.max_agents,
        "store_latency": runtime.store_latency,
    });
    if runtime.limits != Limits::default() {
        members["limits"] = limits_document(&runtime.limits);
    }
    members
}

fn limits_document(limits: &Limits) -> Value {
    let mut members = Map::new();
    members.extend(limits.tokens.map(|tokens| ("tokens".to_owned(), json!(tokens))));
    members.extend(limits.cost_micros.map(|micros| ("cost".to_owned(), money(micros))));
    members.extend(limits.turns.map(|turns| ("turns".to_owned(), json!(turns))));
    Value::Object(members)
}

/// Millionths of the currency as files have them: in whole units.
fn money(micros: u64) -> Value {
    if micros.is_multiple_of(1_000_000) { json!(micros / 1_000_000) } else { json!(micros as f64 / 1_000_000.0) }
}

/// The number of workers, or their names where those are others than a number gives.
fn workers_document(runtime: &RuntimeSettings) -> Value {
    let by_number = (1..).zip(&runtime.workers).all(|(number, name)| *format!("w{number}") == **name);
    if by_number { json!(runtime.workers.len()) } else { json!(runtime.workers) }
}

/// A tool as a list of deviations meets it: the chances that only a seed asks about are left out.
fn tool_document(tool: &Tool) -> Value {
    let (least, most) = tool.takes;
    let takes = if least == most { json!(least) } else { json!([least, most]) };
    let mut members = json!({ "takes": takes, "honours_key": tool.honours_key });
    if !tool.answers.is_empty() {
        members["answers"] = json!(tool.answers);
    }
    if tool.refuses_first > 0 {
        members["refuses_first"] = json!(tool.refuses_first);
    }
    if let (Some(model), Value::Object(of_tool)) = (&tool.model, &mut members) {
        let cost: Vec<Value> = model.cost_micros.iter().map(|micros| money(*micros)).collect();
        of_tool.remove("honours_key");
        of_tool.insert("model".to_owned(), json!({ "tokens": model.tokens, "cost": cost }));
    }
    members
}

/// Policy, tries and limit of effects and models, and the pause where there are tries to pause between; what becomes of a
/// child when its parent ends.
fn fill_steps(document: &mut Value, user: Option<&Name>) {
    each_list(document, &mut |list| {
        for step in list.iter_mut().filter_map(Value::as_object_mut) {
            let is_effect = step.contains_key("effect");
            if let Some(kind) = step.get("effect").and_then(Value::as_str) {
                let policy = json!(usual_policy(kind));
                let is_temporal = TOOLS.contains(&kind);
                fill(step, "policy", || policy);
                if let Some(args) = step.get_mut("args").and_then(Value::as_object_mut).filter(|_| is_temporal) {
                    fill_user(args, user);
                    fill_status(args);
                }
            }
            if is_effect || step.contains_key("model") {
                fill(step, "tries", || json!(1));
                if step["tries"] != json!(1) {
                    fill(step, "pause", || json!("1s"));
                }
                fill(step, "limit", || json!("1m"));
            }
            if step.contains_key("spawn") {
                fill(step, "retention", || json!("run"));
            }
        }
    });
}

/// The ids of messages, signals and loads, which follow from their place in the file where it gives none.
fn fill_ids(members: &mut Map<String, Value>) {
    for (place, input) in inputs(members).into_iter().enumerate() {
        if is_sent(input) {
            fill(input, "id", || json!(format!("input-{}", place + 1)));
        }
        if input.contains_key("edit") {
            fill(input, "id", || json!(format!("edit-{}", place + 1)));
        }
        if let Some(feedback) = input.get_mut("feedback").and_then(Value::as_object_mut) {
            fill(feedback, "uid", || json!(format!("feedback-{}", place + 1)));
        }
    }
    for (place, load) in loads(members).into_iter().enumerate() {
        fill(load, "id", || json!(format!("load-{}", place + 1)));
    }
}

/// The times of inputs, and the senders of messages.
fn fill_senders(members: &mut Map<String, Value>) {
    for input in inputs(members) {
        fill(input, "at", || json!("+0s"));
        if is_sent(input) && !input.contains_key("signal") {
            fill(input, "from", || json!("client"));
        }
    }
    for load in loads(members) {
        fill(load, "from", || json!("client"));
    }
}

/// Whether an input is a message or a signal.
fn is_sent(input: &Map<String, Value>) -> bool {
    let others = ["cancel", "redrive", "resume", "tail", "follow", "unfollow", "stop", "version"];
    !others.iter().chain(&DESK_CALLS).any(|kind| input.contains_key(*kind))
}

/// What is asked of a user's desk.
const DESK_CALLS: [&str; 6] = ["plan", "approve", "reject", "edit", "feedback", "remember"];

/// What holds for users, all of it; and whose the plans and traces of inputs and expectations are.
fn fill_users(members: &mut Map<String, Value>, scenario: &Scenario) {
    if scenario.users.is_empty() {
        members.remove("users");
        return;
    }
    members.insert("users".to_owned(), json!(scenario.users));
    let only = only_user(scenario);
    for input in inputs(members).into_iter().filter(|input| DESK_CALLS.iter().any(|kind| input.contains_key(*kind))) {
        fill_user(input, only);
        let user = input.get("user").cloned().unwrap_or_default();
        fill(input, "by", || user);
        if input.contains_key("reject") {
            fill(input, "reason", || json!("rejected"));
        }
        fill_status(input);
    }
    for list in ["expect", "expect_calm"] {
        let expected = members.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        let about_user =
            |expected: &&mut Map<String, Value>| expected.contains_key("plan") || expected.contains_key("memory");
        for expected in expected.filter_map(Value::as_object_mut).filter(about_user) {
            fill_user(expected, only);
        }
    }
}

/// Where the plan of an input or of a step stands.
fn fill_status(members: &mut Map<String, Value>) {
    if let Some(plan) = members.get_mut("plan").and_then(Value::as_object_mut) {
        fill(plan, "status", || json!("proposed"));
    }
}

/// The user, where there is just one.
fn only_user(scenario: &Scenario) -> Option<&Name> {
    let mut names = scenario.users.keys();
    names.next().filter(|_| names.next().is_none())
}

fn fill_user(members: &mut Map<String, Value>, only: Option<&Name>) {
    if let Some(user) = only {
        fill(members, "user", || json!(user));
    }
}

fn inputs(members: &mut Map<String, Value>) -> Vec<&mut Map<String, Value>> {
    let inputs = members.get_mut("inputs").and_then(Value::as_array_mut);
    inputs.into_iter().flatten().filter_map(Value::as_object_mut).collect()
}

fn loads(members: &mut Map<String, Value>) -> Vec<&mut Map<String, Value>> {
    let loads = match members.get_mut("load") {
        Some(Value::Array(loads)) => loads.iter_mut().collect(),
        Some(load) => vec![load],
        None => Vec::new(),
    };
    loads.into_iter().filter_map(Value::as_object_mut).collect()
}

fn fill(members: &mut Map<String, Value>, key: &str, value: impl FnOnce() -> Value) {
    if !members.contains_key(key) {
        members.insert(key.to_owned(), value());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::shipped;
    use crate::sim::{Fault, Model, Point};

    fn scenarios() -> Vec<Scenario> {
        let mut files = shipped::files();
        files.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/profile-day.json"));
        files.iter().map(|path| Scenario::load(path).expect("it is valid")).collect()
    }

    fn deviations() -> Vec<Deviation> {
        let flight = Point::Flight(Span::from_millis(45_007));
        vec![
            Deviation::named(
                "a#1 / lease 0 / read / try 1",
                Fault::Crash { point: flight, restart: Span::from_secs(1) },
            ),
            Deviation::named(
                "a#1 / lease 1 / perform e step 0 / try 1",
                Fault::ToolUnknown { happened: true, after: None },
            ),
            Deviation::named("w1 / speed", Fault::Slow { factor: 3 }),
        ]
    }

    /// All but the document.
    fn meaning(scenario: &Scenario) -> String {
        format!("{:#?}", Scenario { document: Json::null(), ..scenario.clone() })
    }

    #[test]
    fn what_is_written_is_read_as_the_same_scenario_and_written_again_as_the_same_text() {
        for scenario in scenarios() {
            let mut written = regression(&scenario, &deviations(), "inbox-once");
            // The chances of tools are a seed's alone.
            for tool in written.outside.values_mut() {
                (tool.refuses_ppm, tool.unknown_ppm) = (0, 0);
                if let Some(model) = &mut tool.model {
                    let (tokens, cost_micros) = (model.tokens.clone(), model.cost_micros.clone());
                    *model = Model { tokens, cost_micros, ..Model::default() };
                }
            }
            let text_once = text(&written);
            let read =
                Scenario::parse(&text_once, &scenario.name).unwrap_or_else(|error| panic!("{error}\n{text_once}"));
            assert_eq!(meaning(&read), meaning(&written));
            assert_eq!(read.document, written.document);
            let again = regression(&read, &deviations(), "inbox-once");
            assert_eq!(text(&again), text_once);
        }
    }

    #[test]
    fn a_regression_is_laid_out_for_people_and_says_all_that_it_means() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/refused-late.json");
        let scenario = Scenario::load(&path).expect("it is valid");
        let written = text(&regression(&scenario, &deviations(), "effect-not-denied"));
        let start = written.find("\"written_by\"").expect("it is said");
        insta::assert_snapshot!(&written[..start]);
    }

    #[test]
    fn a_regression_with_users_says_whose_everything_is() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/profile-day.json");
        let scenario = Scenario::load(&path).expect("it is valid");
        let written = regression(&scenario, &[], "plan-served");
        let document = &written.document;
        insta::assert_snapshot!(layout::text(&json!({
            "users": document["users"], "inputs": document["inputs"], "agents": document["agents"], "expect": document["expect"]
        })));
    }
}
