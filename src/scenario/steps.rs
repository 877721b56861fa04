//! The way through the steps of a scenario's document, before anything is decoded.

use serde_json::{Map, Value};

/// Where a step's own steps stand: a list of steps, or lists of them by name or number.
const WITHIN: [&str; 6] = ["do", "then", "else", "all", "by_attempt", "on_error"];

/// Calls `each` with every list of steps of a document: those of agents, of new versions, and those within other steps.
/// A list comes before the lists within its steps.
pub(super) fn each_list(document: &mut Value, each: &mut dyn FnMut(&mut Vec<Value>)) {
    let agents = document.get_mut("agents").and_then(Value::as_object_mut);
    for agent in agents.into_iter().flat_map(Map::values_mut) {
        of_agent(agent, each);
    }
    let inputs = document.get_mut("inputs").and_then(Value::as_array_mut);
    for version in inputs.into_iter().flatten().filter(|input| input.get("version").is_some()) {
        of_agent(version, each);
    }
}

/// An agent is a list of steps, or an object that has one.
fn of_agent(agent: &mut Value, each: &mut dyn FnMut(&mut Vec<Value>)) {
    match agent {
        Value::Array(_) => lists_of(agent, each),
        Value::Object(members) => members.get_mut("steps").into_iter().for_each(|steps| lists_of(steps, each)),
        _ => {}
    }
}

/// The list that `value` is, and those within it. A list of lists, or an object of lists, are the lists alone.
fn lists_of(value: &mut Value, each: &mut dyn FnMut(&mut Vec<Value>)) {
    match value {
        Value::Array(ways) if ways.iter().any(Value::is_array) => {
            ways.iter_mut().for_each(|way| lists_of(way, each));
        }
        Value::Array(list) => {
            each(list);
            let steps = list.iter_mut().filter_map(Value::as_object_mut);
            for (_, within) in steps.flatten().filter(|(key, _)| WITHIN.contains(&key.as_str())) {
                lists_of(within, each);
            }
        }
        Value::Object(cases) => cases.values_mut().for_each(|case| lists_of(case, each)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_list_of_steps_is_found_outer_ones_first_and_no_data_is_taken_for_one() {
        let mut document = json!({
            "agents": {
                "a": [
                    { "repeat": 2, "do": [ { "log": ["no", "steps"] } ] },
                    { "effect": "e", "args": { "do": [ { "not": "a step" } ] }, "on_error": { "else": [ { "check": true } ] } },
                    { "by_attempt": [ [ { "now": true } ], [ { "uuid": true } ] ] }
                ],
                "b": { "steps": [ { "if": "$x", "then": [ { "all": [ { "random": true } ] } ], "else": [] } ] }
            },
            "inputs": [ { "to": "a" }, { "version": 2, "agent": "a", "steps": [ { "complete": 1 } ] } ]
        });
        let mut found = Vec::new();
        each_list(&mut document, &mut |list| found.push(Value::Array(list.clone()).to_string()));
        let beginnings: Vec<&str> = found.iter().map(|list| &list[..list.len().min(12)]).collect();
        assert_eq!(
            beginnings,
            [
                r#"[{"do":[{"lo"#,
                r#"[{"log":["no"#,
                r#"[{"check":tr"#,
                r#"[{"now":true"#,
                r#"[{"uuid":tru"#,
                r#"[{"else":[],"#,
                r#"[]"#,
                r#"[{"all":[{"r"#,
                r#"[{"random":t"#,
                r#"[{"complete""#,
            ]
        );
    }
}
