//! The profiles of one schedule: as a report for people, as a document, and as a baseline that later ones are held to.

mod baseline;
mod diff;

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Style;
use super::outcome::broken;
use super::story::words::span;
use crate::explore::in_words;
use crate::kernel::{Alignment, Name, Occurrence, Span, Timestamp};
use crate::scenario::plans::profiles::{Occurrences, Tally};
use crate::scenario::{Outcome, PlanEnd, Profiles};
use crate::sim::Schedule;
use crate::tempo::QueueState;

pub use baseline::{Baseline, BaselineError};
pub use diff::{Difference, diff, diff_document, diff_text};

/// The report of one schedule: each occurrence of each user on a line, and what they come to.
pub fn text(scenario: &str, schedule: &Schedule, outcome: &Outcome, style: Style) -> String {
    let mut text = format!("{} · {}\n", style.strong(scenario), in_words(schedule));
    text.push_str(&broken(outcome, style));
    for (user, occurrences) in &outcome.profiles().0 {
        let _ = writeln!(text, "\n  {}", style.strong(user));
        if occurrences.0.is_empty() {
            text.push_str("    no plan\n");
            continue;
        }
        table(occurrences, style, &mut text);
        let _ = writeln!(text, "    {}", tally_in_words(&occurrences.tally()));
    }
    text
}

/// The columns of the table.
const HEADS: [&str; 10] =
    ["plan", "queue", "due", "dispatched", "completed", "alignment", "tries", "feedback", "reward", "reason"];

fn table(occurrences: &Occurrences, style: Style, text: &mut String) {
    let rows: Vec<[String; 10]> = occurrences.0.iter().map(|(occurrence, end)| row(occurrence, end)).collect();
    let is_empty = |column: usize| rows.iter().all(|row| row[column].is_empty());
    let shown: Vec<usize> = (0..HEADS.len()).filter(|column| !is_empty(*column)).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([HEADS[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = shown.iter().map(|column| width(*column)).collect();
    let mut line = |cells: &dyn Fn(usize) -> (String, String)| {
        let mut told = String::new();
        for (column, width) in shown.iter().zip(&widths) {
            let (plain, painted) = cells(*column);
            let gap = " ".repeat(width - plain.chars().count() + 2);
            let _ = write!(told, "{painted}{gap}");
        }
        let _ = writeln!(text, "    {}", told.trim_end());
    };
    line(&|column| (HEADS[column].to_owned(), style.dim(HEADS[column])));
    for (cells, end) in rows.iter().zip(occurrences.0.values()) {
        line(&|column| (cells[column].clone(), painted(column, &cells[column], end, style)));
    }
}

/// A cell in its colour.
fn painted(column: usize, cell: &str, end: &PlanEnd, style: Style) -> String {
    let alignment = end.profiling.as_ref().map(|block| block.tempo_alignment);
    match (HEADS[column], alignment) {
        ("plan", _) => style.strong(cell),
        ("queue", _) if end.queue == QueueState::Done => style.good(cell),
        ("queue", _) => style.notable(cell),
        ("alignment", Some(Alignment::Exact)) => style.good(cell),
        ("alignment", Some(Alignment::Partial)) => style.notable(cell),
        ("alignment", _) => style.bad(cell),
        _ => cell.to_owned(),
    }
}

fn row(occurrence: &Occurrence, end: &PlanEnd) -> [String; 10] {
    let told = |at: Option<Timestamp>| at.map_or(String::new(), |at| at.to_string());
    let since = |at: Option<Timestamp>| at.map_or(String::new(), |at| after(at, end.due));
    let alignment = end.completed().and(end.profiling.as_ref()).map(|block| block.tempo_alignment.as_str());
    [
        occurrence.to_string(),
        queue_in_words(end.queue),
        told(end.due),
        since(end.dispatched),
        since(end.completed()),
        alignment.unwrap_or_default().to_owned(),
        if end.attempts() == 0 { String::new() } else { end.attempts().to_string() },
        end.score().map_or(String::new(), |score| score.get().to_string()),
        end.reward().map_or(String::new(), |reward| format!("{}.{}", reward.0 / 10, reward.0 % 10)),
        reason(end),
    ]
}

/// Why it was never executed, or how it failed.
fn reason(end: &PlanEnd) -> String {
    let failed = || {
        let result = &end.profiling.as_ref()?.execution_result;
        let is_usual = result.status == crate::kernel::Execution::Completed;
        (!is_usual).then(|| result.status.as_str().to_owned())
    };
    end.reason.as_ref().map(ToString::to_string).or_else(failed).unwrap_or_default()
}

/// An instant that follows another one: its time of day, its date where that is another, and how much later it is.
fn after(at: Timestamp, due: Option<Timestamp>) -> String {
    let (told, before) = (at.to_string(), due.map(|due| due.to_string()).unwrap_or_default());
    let day = |text: &str| text.split_once('T').map(|(day, _)| day.to_owned());
    let whole = told.trim_end_matches('Z').split('.').next().unwrap_or_default().to_owned();
    let short = match told.split_once('T') {
        Some(_) if day(&told) == day(&before) => {
            whole.split_once('T').map_or(whole.clone(), |(_, time)| time.to_owned())
        }
        _ => format!("{whole}Z"),
    };
    match due.map(|due| Span::from_millis(at.since(due).as_millis())) {
        Some(late) if late.as_micros() < 0 => format!("{short} ({})", span(late)),
        Some(late) => format!("{short} (+{})", span(late)),
        None => short,
    }
}

/// What the profiles of a user come to, in words.
fn tally_in_words(tally: &Tally) -> String {
    let mut said = match tally.alignment_score() {
        None => "nothing was executed".to_owned(),
        Some(score) => format!(
            "alignment score {} of {} executed ({} exact, {} partial, {} misaligned)",
            thousandths(score),
            tally.executed(),
            tally.exact,
            tally.partial,
            tally.misaligned
        ),
    };
    let given = (1..).zip(tally.feedback).filter(|(_, count)| *count > 0);
    let given: Vec<String> = given.map(|(score, count)| format!("{score} × {count}")).collect();
    if !given.is_empty() {
        let _ = write!(said, "; feedback {}", given.join(", "));
    }
    said
}

/// A place in the queue, as people say it.
pub(super) fn queue_in_words(state: QueueState) -> String {
    state.as_str().replace('_', " ")
}

/// A number of thousandths as a part of one.
pub(super) fn thousandths(score: u64) -> String {
    format!("{}.{:03}", score / 1_000, score % 1_000)
}

/// The document of one schedule: `scenario`, `seed` (null for the calm schedule and a list), `verdict`, and for each of
/// `users` `tempo_alignment_score`, `feedback_distribution` and `occurrences`.
pub fn document(scenario: &str, schedule: &Schedule, outcome: &Outcome) -> Value {
    let users: serde_json::Map<String, Value> =
        outcome.profiles().0.iter().map(|(user, occurrences)| of_user(user, occurrences)).collect();
    json!({
        "scenario": scenario,
        "seed": seed(schedule),
        "verdict": if outcome.held() { "held" } else { "violated" },
        "users": users,
    })
}

fn of_user(user: &Name, occurrences: &Occurrences) -> (String, Value) {
    let tally = occurrences.tally();
    let feedback = (1..=5).zip(tally.feedback).map(|(score, count): (u32, u64)| (score.to_string(), json!(count)));
    let score = tally.alignment_score().map(|score| score as f64 / 1_000.0);
    let document = json!({
        "tempo_alignment_score": score,
        "feedback_distribution": feedback.collect::<serde_json::Map<_, _>>(),
        "occurrences": occurrences,
    });
    (user.to_string(), document)
}

/// The seed of a schedule that has one.
fn seed(schedule: &Schedule) -> Option<u64> {
    if let Schedule::Seed(seed) = schedule { Some(*seed) } else { None }
}

/// The baseline that a schedule gives.
pub fn baseline(scenario: &Name, schedule: &Schedule, profiles: Profiles) -> Baseline {
    Baseline { format: 1, scenario: scenario.clone(), seed: seed(schedule), users: profiles }
}
