//! One schedule: its summary in words, and as a document.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::profile::{queue_in_words, thousandths};
use super::{Style, counted, grouped};
use crate::explore::in_words;
use crate::scenario::plans::profiles::Occurrences;
use crate::scenario::{Ends, Outcome};
use crate::sim::{Deviation, FaultKind, Schedule};
use crate::tempo::QueueState;

/// How many violations a person is shown.
const VIOLATIONS_MOST: usize = 8;

/// How many refusals a person is shown.
const REFUSALS_MOST: usize = 4;

/// The summary of one schedule: verdict, what was broken, runs, effects, faults, time, digest.
pub fn text(scenario: &str, schedule: &Schedule, outcome: &Outcome, style: Style) -> String {
    let mut text = format!("{} · {}\n", style.strong(scenario), in_words(schedule));
    text.push_str(&broken(outcome, style));
    let mut line = |what: &str, value: &str| {
        let _ = writeln!(text, "  {what:<13} {value}");
    };
    line("runs", &runs(&outcome.ends));
    for (kind, count) in &outcome.ends.effects {
        let facts = format!("happened {}, recorded {}, in doubt {}", count.happened, count.recorded, count.in_doubt);
        line("effect", &format!("{kind}: {facts}"));
    }
    for letter in &outcome.ends.dead_letters {
        line("dead letter", &format!("{} at {}: {}", letter.message, letter.agent, letter.error));
    }
    for (user, occurrences) in &outcome.profiles().0 {
        line("plans", &format!("{user}: {}", plans(occurrences)));
    }
    for refused in outcome.ends.refused.iter().take(REFUSALS_MOST) {
        line("refused", &format!("{}: {}", refused.code, refused.message));
    }
    if let Some(more) = outcome.ends.refused.len().checked_sub(REFUSALS_MOST).filter(|more| *more > 0) {
        line("refused", &format!("… and {}", counted(more as u64, "more request", "more requests")));
    }
    line("faults", &faults(&outcome.deviations));
    let (events, calls) = (counted(outcome.events, "event", "events"), counted(outcome.calls, "call", "calls"));
    line("virtual time", &format!("{} ms in {events}, {calls}", grouped(outcome.virtual_ms.unsigned_abs())));
    if outcome.lost_leases > 0 {
        line("lost leases", &outcome.lost_leases.to_string());
    }
    if !outcome.not_judged.is_empty() {
        line("not judged", &outcome.not_judged.join(", "));
    }
    line("verdict", &verdict_in_words(outcome, style));
    line("digest", &style.dim(&outcome.digest));
    text
}

/// What was broken, one paragraph each; nothing if all held.
pub(super) fn broken(outcome: &Outcome, style: Style) -> String {
    let mut text = String::new();
    for violation in outcome.violations.iter().take(VIOLATIONS_MOST) {
        let (invariant, subject) = (style.bad(violation.invariant), &violation.subject);
        let _ = writeln!(text, "  {invariant} · {subject} · {}\n    {}", violation.at, violation.message);
    }
    if let Some(more) = outcome.violations.len().checked_sub(VIOLATIONS_MOST).filter(|more| *more > 0) {
        let _ = writeln!(text, "  … and {}", counted(more as u64, "more violation", "more violations"));
    }
    for missed in outcome.expectations.iter().filter(|expectation| !expectation.held) {
        let _ = writeln!(text, "  {} · {}\n    {}", style.bad("expectation"), missed.text, missed.message);
    }
    text
}

fn verdict_in_words(outcome: &Outcome, style: Style) -> String {
    let held = outcome.expectations.iter().filter(|expectation| expectation.held).count();
    let all = outcome.expectations.len();
    let violations = counted(outcome.violations.len() as u64, "violation", "violations");
    let facts = format!("{violations}, {held} of {} hold", counted(all as u64, "expectation", "expectations"));
    let word = if outcome.held() { style.good("held") } else { style.bad("violated") };
    format!("{word} ({facts})")
}

/// The ends of the runs: each by name while they are few.
fn runs(ends: &Ends) -> String {
    const NAMED_MOST: usize = 4;
    if ends.runs.is_empty() {
        return "none".to_owned();
    }
    if ends.runs.len() <= NAMED_MOST {
        let each = ends.runs.iter().map(|run| {
            let leases = counted(u64::from(run.attempts), "lease", "leases");
            format!("{} {} ({leases})", run.alias, run.end.as_str())
        });
        return each.collect::<Vec<_>>().join(", ");
    }
    let mut counts = BTreeMap::<&str, u64>::new();
    ends.runs.iter().for_each(|run| *counts.entry(run.end.as_str()).or_default() += 1);
    let each: Vec<_> = counts.into_iter().map(|(end, count)| format!("{} {end}", grouped(count))).collect();
    format!("{}: {}", grouped(ends.runs.len() as u64), each.join(", "))
}

/// Where the occurrences of a user are, and how near to their windows they were.
fn plans(occurrences: &Occurrences) -> String {
    let mut counts = BTreeMap::<QueueState, u64>::new();
    occurrences.0.values().for_each(|end| *counts.entry(end.queue).or_default() += 1);
    let each: Vec<String> =
        counts.into_iter().map(|(queue, count)| format!("{} {}", grouped(count), queue_in_words(queue))).collect();
    match occurrences.tally().alignment_score() {
        _ if each.is_empty() => "none".to_owned(),
        Some(score) => format!("{} (alignment score {})", each.join(", "), thousandths(score)),
        None => each.join(", "),
    }
}

fn faults(deviations: &[Deviation]) -> String {
    if deviations.is_empty() {
        return "none".to_owned();
    }
    let each: Vec<_> =
        fault_counts(deviations).into_iter().map(|(kind, count)| format!("{} {count}", kind.as_str())).collect();
    format!("{} ({})", deviations.len(), each.join(", "))
}

fn fault_counts(deviations: &[Deviation]) -> Vec<(FaultKind, usize)> {
    let count = |kind| deviations.iter().filter(|deviation| deviation.fault.kind() == kind).count();
    FaultKind::ALL.into_iter().map(|kind| (kind, count(kind))).filter(|(_, count)| *count > 0).collect()
}

/// The document of one schedule: `scenario`, `seed` (null for the calm schedule and a list), `verdict`,
/// `violations`, `digest`, `events`, `calls`, `virtual_ms`, `faults`, `deviations`, `runs`, `effects`,
/// `expectations`, and besides `dead_letters`, `lost_leases`, `reached`, `not_judged`; of a scenario with users `plans` (the
/// occurrences of each), and where clients were refused something `refused`.
pub fn document(scenario: &str, schedule: &Schedule, outcome: &Outcome) -> Value {
    let seed = if let Schedule::Seed(seed) = schedule { Some(*seed) } else { None };
    let faults: serde_json::Map<_, _> = fault_counts(&outcome.deviations)
        .into_iter()
        .map(|(kind, count)| (kind.as_str().to_owned(), json!(count)))
        .collect();
    let mut document = json!({
        "scenario": scenario,
        "seed": seed,
        "verdict": if outcome.held() { "held" } else { "violated" },
        "violations": violations(outcome),
        "digest": outcome.digest,
        "events": outcome.events,
        "calls": outcome.calls,
        "virtual_ms": outcome.virtual_ms,
        "faults": faults,
        "deviations": outcome.deviations,
        "runs": run_documents(&outcome.ends),
        "effects": effect_documents(&outcome.ends),
        "dead_letters": dead_letter_documents(&outcome.ends),
        "expectations": expectations(outcome),
        "lost_leases": outcome.lost_leases,
        "reached": outcome.reached.iter().map(|what| what.as_str()).collect::<Vec<_>>(),
        "not_judged": outcome.not_judged,
    });
    if !outcome.ends.users.is_empty() {
        document["plans"] = json!(outcome.profiles());
    }
    if !outcome.ends.refused.is_empty() {
        let each = outcome.ends.refused.iter();
        document["refused"] = each.map(|refused| json!({ "code": refused.code, "message": refused.message })).collect();
    }
    document
}

fn violations(outcome: &Outcome) -> Vec<Value> {
    let each = outcome.violations.iter().map(|violation| {
        json!({
            "invariant": violation.invariant,
            "subject": violation.subject,
            "at": violation.at,
            "message": violation.message,
        })
    });
    each.collect()
}

fn expectations(outcome: &Outcome) -> Vec<Value> {
    let each = outcome.expectations.iter();
    each.map(|result| json!({ "text": result.text, "held": result.held, "message": result.message })).collect()
}

fn run_documents(ends: &Ends) -> Vec<Value> {
    let each = ends.runs.iter().map(|run| {
        json!({
            "alias": run.alias.to_string(),
            "id": run.run,
            "agent": run.agent,
            "status": run.end.as_str(),
            "attempts": run.attempts,
            "output": run.output,
        })
    });
    each.collect()
}

fn effect_documents(ends: &Ends) -> Vec<Value> {
    let each = ends.effects.iter().map(|(kind, count)| {
        json!({
            "kind": kind,
            "happened": count.happened,
            "recorded": count.recorded,
            "in_doubt": count.in_doubt,
        })
    });
    each.collect()
}

fn dead_letter_documents(ends: &Ends) -> Vec<Value> {
    let each = ends.dead_letters.iter().map(|letter| {
        json!({
            "agent": letter.agent,
            "message": letter.message,
            "attempts": letter.attempts,
            "error": letter.error,
        })
    });
    each.collect()
}
