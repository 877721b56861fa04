//! How the text of a scenario file is laid out for people.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::format::FIELDS;

/// The most characters of a line, where its value can be broken.
const WIDTH: usize = 120;

/// Members of which each stands on a line of its own, however short they are.
const BROKEN: [&str; 10] =
    ["outside", "agents", "users", "inputs", "load", "faults", "deviations", "expect", "expect_calm", "steps"];

/// Known members but those of a scenario itself, in the order in which they are written; others follow by name.
const ORDER: &[&str] = &[
    // A deviation.
    "site",
    "fault",
    "point",
    // A runtime.
    "workers",
    "lease",
    "poll",
    "capacity",
    "retry",
    "max_retries",
    "backoff",
    "max_lost_leases",
    "batch",
    "max_agents",
    "limits",
    "store_latency",
    // A tool.
    "takes",
    "honours_key",
    "model",
    "tokens",
    "cost",
    "turns",
    // A user.
    "zone",
    "auto_approve",
    "registry",
    "days",
    "start",
    "end",
    "budget",
    "cadence",
    "blocked",
    "horizon",
    "reflect",
    "follow_up",
    // A load.
    "seed",
    "messages",
    "within",
    // A fault.
    "rate",
    "at_least",
    "at_most",
    // An input, a step or an expectation, by what it is.
    "at",
    "uid",
    "plan_uid",
    "type",
    "content",
    "action_type",
    "version",
    "agent",
    "effect",
    "run",
    "plan",
    "memory",
    "refused",
    "took",
    "spawn",
    "join",
    "children_of",
    "status",
    "ask",
    "reply",
    "emit",
    "follow",
    "unfollow",
    "send",
    "signal",
    "sleep",
    "wait_signal",
    "receive",
    "now",
    "random",
    "uuid",
    "all",
    "check",
    "log",
    "complete",
    "fail",
    "die",
    "panic",
    "if",
    "repeat",
    "for_each",
    "by_attempt",
    "cancel",
    "redrive",
    "resume",
    "tail",
    "stop",
    "approve",
    "reject",
    "edit",
    "set",
    "feedback",
    "remember",
    // A plan, a feedback, a memory trace, but for what they are.
    "occurrence",
    "feedback_rating",
    "notes",
    "timestamp",
    "origin",
    "scheduled_for",
    "tempo_token",
    "target",
    "deadline",
    "priority",
    "retry_on_failure",
    "conditions",
    "task_id",
    "linked_trace_ids",
    // What stands beside it.
    "user",
    "by",
    "to",
    "from",
    "is",
    "is_not",
    "below",
    "above",
    "exists",
    "id",
    "args",
    "data",
    "reason",
    "retention",
    "json",
    "policy",
    "tries",
    "pause",
    "limit",
    "as",
    "ends",
    "runs",
    "happened",
    "recorded",
    "in_doubt",
    "queue",
    "occurrences",
    "alignment",
    "result",
    "deviation",
    "duration",
    "attempts",
    "score",
    "reward",
    "times",
    "do",
    "then",
    "else",
    "on_error",
    "steps",
];

/// The text of a scenario's document: members in a fixed order, what is short on one line.
pub fn text(document: &Value) -> String {
    let mut text = String::new();
    value(document, "", 0, 0, &mut text);
    text.push('\n');
    text
}

/// Writes `found`, the member `key` of something, behind `column` characters of its line.
fn value(found: &Value, key: &str, depth: usize, column: usize, text: &mut String) {
    let breakable = match found {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    };
    let short = short(found);
    let is_script = depth == 2 && is_list_of_objects(found) && key.starts_with("agents ");
    let always = depth == 0 || BROKEN.contains(&key) && (depth == 1 || key == "steps") || is_script;
    // A comma may follow.
    if !breakable || (!always && column + short.chars().count() < WIDTH) {
        text.push_str(&short);
        return;
    }
    let indent = "  ".repeat(depth + 1);
    let of_agents = key == "agents" && depth == 1;
    match found {
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                let _ = write!(text, "{}\n{indent}", if place > 0 { "," } else { "" });
                value(item, "", depth + 1, indent.len(), text);
            }
        }
        Value::Object(members) => {
            text.push('{');
            for (place, (name, member)) in in_order(members).into_iter().enumerate() {
                let head = format!("{}: ", Value::from(name.as_str()));
                let _ = write!(text, "{}\n{indent}{head}", if place > 0 { "," } else { "" });
                let key = if of_agents { "agents " } else { name };
                value(member, key, depth + 1, indent.len() + head.chars().count(), text);
            }
        }
        _ => {}
    }
    let close = if found.is_array() { ']' } else { '}' };
    let _ = write!(text, "\n{}{close}", "  ".repeat(depth));
}

fn is_list_of_objects(found: &Value) -> bool {
    found.as_array().is_some_and(|items| items.iter().any(Value::is_object))
}

/// A value on one line.
fn short(found: &Value) -> String {
    match found {
        Value::Array(items) => {
            let each: Vec<String> = items.iter().map(short).collect();
            let each = each.join(", ");
            if is_list_of_objects(found) { format!("[ {each} ]") } else { format!("[{each}]") }
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let member =
                |(name, member): (&String, &Value)| format!("{}: {}", Value::from(name.as_str()), short(member));
            let each: Vec<String> = in_order(members).into_iter().map(member).collect();
            format!("{{ {} }}", each.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn in_order(members: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = members.iter().collect();
    let rank = |name: &str| FIELDS.iter().chain(ORDER).position(|known| *known == name).unwrap_or(usize::MAX);
    members.sort_by_key(|(name, _)| (rank(name), name.as_str().to_owned()));
    members
}
