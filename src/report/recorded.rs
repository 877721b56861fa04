//! Histories that were written down: the verdict over one, and how two compare.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Style, counted, grouped};
use crate::explore::diff::Compared;
use crate::explore::recorded::{Recorded, RunLeft};
use crate::history::Record;

/// How many violations a person is shown.
const VIOLATIONS_MOST: usize = 8;
/// How many runs are named.
const RUNS_MOST: usize = 4;

/// The verdict over a history, in words.
pub fn text(recorded: &Recorded, cut_off: Option<usize>, style: Style) -> String {
    let mut text = format!("{} · a recorded history\n", style.strong(&recorded.scenario));
    for violation in recorded.violations.iter().take(VIOLATIONS_MOST) {
        let (invariant, subject) = (style.bad(violation.invariant), &violation.subject);
        let _ = writeln!(text, "  {invariant} · {subject} · {}\n    {}", violation.at, violation.message);
    }
    if let Some(more) = recorded.violations.len().checked_sub(VIOLATIONS_MOST).filter(|more| *more > 0) {
        let _ = writeln!(text, "  … and {}", counted(more as u64, "more violation", "more violations"));
    }
    let mut line = |what: &str, value: &str| {
        let _ = writeln!(text, "  {what:<13} {value}");
    };
    line("runs", &runs(&recorded.runs));
    for (kind, count) in &recorded.effects {
        line("effect", &format!("{kind}: happened {count}"));
    }
    line("faults", &recorded.deviations.len().to_string());
    let (events, calls) = (counted(recorded.events, "event", "events"), counted(recorded.calls, "call", "calls"));
    line("virtual time", &format!("{} ms in {events}, {calls}", grouped(recorded.took.as_millis().unsigned_abs())));
    if let Some(cut_off) = cut_off {
        line("cut short", &format!("line {cut_off} breaks off and was left out"));
    }
    if !recorded.not_judged.is_empty() {
        line("not judged", &recorded.not_judged.join(", "));
    }
    line("expectations", "not judged: a trace does not hold them; `run` and `replay` judge those of a scenario");
    let count = counted(recorded.violations.len() as u64, "violation", "violations");
    let word = if recorded.held() { style.good("held") } else { style.bad("violated") };
    line("verdict", &format!("{word} ({count})"));
    text
}

fn runs(runs: &[RunLeft]) -> String {
    if runs.is_empty() {
        return "none".to_owned();
    }
    if runs.len() <= RUNS_MOST {
        let each = runs.iter().map(|run| {
            let leases = counted(u64::from(run.leases), "lease", "leases");
            format!("{} {} ({leases})", run.alias, run.status.as_str())
        });
        return each.collect::<Vec<_>>().join(", ");
    }
    let mut counts = std::collections::BTreeMap::<&str, u64>::new();
    runs.iter().for_each(|run| *counts.entry(run.status.as_str()).or_default() += 1);
    let each: Vec<_> = counts.into_iter().map(|(status, count)| format!("{} {status}", grouped(count))).collect();
    format!("{}: {}", grouped(runs.len() as u64), each.join(", "))
}

/// The verdict over a history as a document. Expectations belong to a scenario and are not in a trace, so
/// `expectations_judged` is always false.
pub fn document(recorded: &Recorded, cut_off: Option<usize>) -> Value {
    let runs = recorded.runs.iter();
    let runs = runs.map(|run| json!({ "alias": run.alias, "status": run.status.as_str(), "attempts": run.leases }));
    let deviations = recorded.deviations.iter().map(|(site, fault)| {
        let mut deviation = serde_json::from_str(fault).unwrap_or_else(|_| json!({ "fault": fault }));
        deviation["site"] = json!(site);
        deviation
    });
    json!({
        "scenario": recorded.scenario,
        "verdict": if recorded.held() { "held" } else { "violated" },
        "violations": recorded.violations,
        "events": recorded.events,
        "calls": recorded.calls,
        "virtual_ms": recorded.took.as_millis(),
        "deviations": deviations.collect::<Vec<_>>(),
        "runs": runs.collect::<Vec<_>>(),
        "effects": recorded.effects,
        "reached": recorded.reached.iter().map(|what| what.as_str()).collect::<Vec<_>>(),
        "not_judged": recorded.not_judged,
        "expectations_judged": false,
        "cut_off": cut_off,
    })
}

/// How two histories compare, in words; `names` are those of their files.
pub fn diff_text(compared: &Compared, names: [&str; 2], style: Style) -> String {
    if compared.equal() {
        let events = counted(compared.each[0].events, "event", "events");
        return format!("{}: the same {events}\n", style.good("equal"));
    }
    let mut text = format!("{} {} and {}\n", style.bad("they differ:"), names[0], names[1]);
    for (field, [mine, yours]) in &compared.headers {
        let _ = writeln!(text, "  header, {field}\n    - {mine}\n    + {yours}");
    }
    if let Some(first) = &compared.first {
        let after = counted(first.after as u64, "event", "events");
        let _ = writeln!(text, "  first after {after} in common (line {})", first.after + 2);
        let events = [0, 1].map(|side| first.events[side].as_ref().map_or_else(|| "it ends".to_owned(), one_line));
        let [mine, yours] = excerpts(&events);
        let _ = writeln!(text, "    - {mine}\n    + {yours}");
    }
    let _ = writeln!(text, "  {}", style.dim("what follows"));
    let rows = follows(&compared.each);
    for (what, [mine, yours]) in rows {
        if mine == yours {
            let _ = writeln!(text, "    {what:<12} {mine}");
        } else {
            let _ = writeln!(text, "    {what:<12} - {mine}\n    {:<12} + {}", "", style.notable(&yours));
        }
    }
    text
}

fn one_line(record: &Record) -> String {
    serde_json::to_string(record).unwrap_or_else(|error| error.to_string())
}

/// So many letters of an event are shown, from so many before the first that differs.
const SHOWN_MOST: usize = 160;
const SHOWN_BEFORE: usize = 60;

/// Two events around the first letter in which they differ.
fn excerpts(events: &[String; 2]) -> [String; 2] {
    let same = events[0].chars().zip(events[1].chars()).take_while(|(mine, yours)| mine == yours).count();
    [0, 1].map(|side| {
        let text: Vec<char> = events[side].chars().collect();
        let start = if text.len() <= SHOWN_MOST { 0 } else { same.saturating_sub(SHOWN_BEFORE) };
        let end = text.len().min(start + SHOWN_MOST);
        let shown: String = text[start..end].iter().collect();
        let (before, after) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
        format!("{before}{shown}{after}")
    })
}

/// What each history comes to, line by line.
fn follows(each: &[Recorded; 2]) -> Vec<(&'static str, [String; 2])> {
    let both = |tell: &dyn Fn(&Recorded) -> String| [tell(&each[0]), tell(&each[1])];
    vec![
        ("events", both(&|recorded| grouped(recorded.events))),
        ("calls", both(&|recorded| grouped(recorded.calls))),
        ("faults", both(&|recorded| recorded.deviations.len().to_string())),
        ("took", both(&|recorded| format!("{} ms", grouped(recorded.took.as_millis().unsigned_abs())))),
        ("runs", both(&|recorded| runs(&recorded.runs))),
        ("effects", both(&effects)),
        ("violations", both(&violations)),
    ]
}

fn effects(recorded: &Recorded) -> String {
    let each = recorded.effects.iter().map(|(kind, count)| format!("{kind} {count}"));
    let each: Vec<_> = each.collect();
    if each.is_empty() { "none".to_owned() } else { each.join(", ") }
}

fn violations(recorded: &Recorded) -> String {
    let each = recorded.violations.iter().take(VIOLATIONS_MOST);
    let each: Vec<_> = each.map(|violation| format!("{} · {}", violation.invariant, violation.subject)).collect();
    if each.is_empty() { "none".to_owned() } else { each.join(", ") }
}

/// How two histories compare, as a document.
pub fn diff_document(compared: &Compared, names: [&str; 2]) -> Value {
    let first = compared
        .first
        .as_ref()
        .map(|first| json!({ "after": first.after, "line": first.after + 2, "events": first.events }));
    let header = compared.headers.iter().map(|(field, values)| json!({ "field": field, "values": values }));
    json!({
        "files": names,
        "equal": compared.equal(),
        "header": header.collect::<Vec<_>>(),
        "first": first,
        "each": compared.each.iter().map(|recorded| document(recorded, None)).collect::<Vec<_>>(),
    })
}
