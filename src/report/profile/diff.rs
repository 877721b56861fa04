//! Two profiles, field by field.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::{Style, counted};
use super::{span, thousandths};
use crate::kernel::{Name, Occurrence, Timestamp};
use crate::scenario::plans::profiles::Occurrences;
use crate::scenario::{PlanEnd, Profiles};

/// Something in which profiles differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The user.
    pub user: Name,
    /// The occurrence.
    pub occurrence: Occurrence,
    /// The field, as `deviation_ms`; none where only one side has the occurrence at all.
    pub field: Option<String>,
    /// What it was; null where it was not there.
    pub before: Value,
    /// What it is; null where it is not there.
    pub after: Value,
}

/// The fields in the order in which they are told; those of the tries follow, and then others.
const ORDER: [&str; 18] = [
    "status",
    "queue",
    "reason",
    "due",
    "dispatched",
    "executed_at",
    "duration_ms",
    "deviation_ms",
    "tempo_token",
    "alignment",
    "agent_latency_ms",
    "feedback_score",
    "reward_signal",
    "user_delay_ms",
    "result",
    "return_type",
    "trace_id",
    "planned_by",
];

/// All in which `after` differs from `before`.
pub fn diff(before: &Profiles, after: &Profiles) -> Vec<Difference> {
    let users: BTreeSet<&Name> = before.0.keys().chain(after.0.keys()).collect();
    let none = Occurrences::default();
    let mut all = Vec::new();
    for user in users {
        let (old, new) = (before.0.get(user).unwrap_or(&none), after.0.get(user).unwrap_or(&none));
        let occurrences: BTreeSet<&Occurrence> = old.0.keys().chain(new.0.keys()).collect();
        for occurrence in occurrences {
            let difference = |field: Option<String>, before: Value, after: Value| Difference {
                user: user.clone(),
                occurrence: occurrence.clone(),
                field,
                before,
                after,
            };
            match (old.0.get(occurrence), new.0.get(occurrence)) {
                (Some(old), Some(new)) => {
                    let fields = of_occurrence(old, new).into_iter();
                    all.extend(fields.map(|(field, before, after)| difference(Some(field), before, after)));
                }
                (old, new) => all.push(difference(None, json!(old), json!(new))),
            }
        }
    }
    all
}

/// The fields in which two ends of an occurrence differ.
fn of_occurrence(before: &PlanEnd, after: &PlanEnd) -> Vec<(String, Value, Value)> {
    let (old, new) = (fields(before), fields(after));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut differ: Vec<_> = names
        .into_iter()
        .map(|name| {
            let side = |fields: &BTreeMap<String, Value>| fields.get(name).cloned().unwrap_or_default();
            (name.clone(), side(&old), side(&new))
        })
        .filter(|(_, before, after)| before != after)
        .collect();
    differ.sort_by_key(|(name, ..)| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
    differ
}

/// Every field, by its name: those of the block without the ways to them.
fn fields(end: &PlanEnd) -> BTreeMap<String, Value> {
    let mut fields = BTreeMap::new();
    flatten(&json!(end), String::new(), &mut fields);
    let short = |name: String| match name.strip_prefix("profiling.").unwrap_or(&name) {
        "tempo_alignment" => "alignment".to_owned(),
        "execution_result.status" => "result".to_owned(),
        name => name.strip_prefix("execution_result.").unwrap_or(name).to_owned(),
    };
    fields.into_iter().map(|(name, value)| (short(name), value)).collect()
}

fn flatten(value: &Value, name: String, fields: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let below = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(member, below, fields);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                flatten(item, format!("{name}[{place}]"), fields);
            }
        }
        scalar => {
            fields.insert(name, scalar.clone());
        }
    }
}

/// The differences in words: a line for each occurrence, and how the alignment scores have changed.
pub fn diff_text(differences: &[Difference], before: &Profiles, after: &Profiles, style: Style) -> String {
    if differences.is_empty() {
        return format!("{}: no profile differs\n", style.good("the same"));
    }
    let mut by_occurrence: BTreeMap<(&Name, &Occurrence), Vec<String>> = BTreeMap::new();
    for difference in differences {
        let lines = by_occurrence.entry((&difference.user, &difference.occurrence)).or_default();
        lines.push(in_words(difference));
    }
    let count = counted(by_occurrence.len() as u64, "occurrence differs", "occurrences differ");
    let mut text = format!("{}\n", style.bad(&count));
    let mut last: Option<&Name> = None;
    for ((user, occurrence), told) in &by_occurrence {
        if last.replace(user) != Some(user) {
            let _ = writeln!(text, "  {}{}", style.strong(user), scores(user, before, after));
        }
        let _ = writeln!(text, "    {occurrence}: {}", told.join("; "));
    }
    text
}

/// How the alignment score of a user has changed, if it has.
fn scores(user: &Name, before: &Profiles, after: &Profiles) -> String {
    let score = |profiles: &Profiles| {
        let score = profiles.0.get(user).and_then(|occurrences| occurrences.tally().alignment_score());
        score.map_or("none".to_owned(), thousandths)
    };
    let (old, new) = (score(before), score(after));
    if old == new { String::new() } else { format!(": alignment score {old} -> {new}") }
}

fn in_words(difference: &Difference) -> String {
    let Some(field) = &difference.field else {
        return if difference.before.is_null() { "not in the baseline" } else { "gone" }.to_owned();
    };
    let instant = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    if let (Some(before), Some(after)) = (instant(&difference.before), instant(&difference.after)) {
        let later = after.since(before);
        let (by, how) = if later.as_micros() < 0 { (later.times(-1), "earlier") } else { (later, "later") };
        return format!("{field} {} {how}", span(by));
    }
    let plain = |value: &Value| match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("{field} {} -> {}", plain(&difference.before), plain(&difference.after))
}

/// The differences as a document: a list of `user`, `occurrence`, `field` (null where one side lacks the occurrence),
/// `before`, `after`.
pub fn diff_document(differences: &[Difference]) -> Value {
    let each = differences.iter().map(|difference| {
        json!({
            "user": difference.user,
            "occurrence": difference.occurrence.to_string(),
            "field": difference.field,
            "before": difference.before,
            "after": difference.after,
        })
    });
    each.collect()
}
