//! What became of a failure that was shrunk: its size before and after, and the deviations that are left in words.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Style, counted, deviation, outcome};
use crate::explore::exhaust::Covered;
use crate::explore::in_words;
use crate::explore::shrink::Shrunk;
use crate::scenario::{AgentType, Code, Scenario};
use crate::sim::Schedule;

/// A failure and its minimum.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The scenario that failed.
    pub scenario: &'a Scenario,
    /// The schedule that it failed under.
    pub schedule: &'a Schedule,
    /// The minimum.
    pub shrunk: &'a Shrunk,
    /// How long it took.
    pub took: Duration,
    /// The file that plays the minimum again, where one was written.
    pub file: Option<&'a str>,
    /// Whether somebody interrupted it.
    pub interrupted: bool,
}

impl Report<'_> {
    /// The report for people.
    pub fn text(&self, style: Style) -> String {
        let shrunk = self.shrunk;
        let mut text = format!("{} · {}\n", style.strong(&self.scenario.name), in_words(self.schedule));
        text.push_str(&outcome::broken(&shrunk.outcome, style));
        let mut line = |what: &str, value: &str| {
            let _ = writeln!(text, "  {what:<13} {value}");
        };
        if !shrunk.reproduced {
            line(
                "verdict",
                &style.notable("its deviations, played as a list, do not fail as it did: nothing was shrunk"),
            );
            return text;
        }
        line("deviations", &format!("{} of {} left, {}", shrunk.after, shrunk.before, self.minimality()));
        if let Some(several) = shrunk.stands_for {
            line("", &format!("in place of {several} others, of which none could be dropped"));
        }
        if let Some(Covered { planned, played }) = shrunk.singles {
            let of_all = if played == planned { String::new() } else { format!(", of {planned} there are") };
            line(
                "alone",
                &format!("none of {} breaks it so{of_all}", counted(played, "single deviation", "single deviations")),
            );
        }
        line("scenario", &size(self.scenario, &shrunk.scenario));
        let replays = counted(shrunk.replays, "replay", "replays");
        line("played", &format!("{replays} in {:.2} s", self.took.as_secs_f64()));
        for (place, deviation) in shrunk.deviations.iter().enumerate() {
            let _ = writeln!(text, "  {}. {}", place + 1, style.strong(&deviation.site));
            let _ = writeln!(text, "     {}", deviation::in_words(deviation));
        }
        if let Some(file) = self.file {
            let _ = writeln!(text, "  written to {file}; to play it again:\n    chronodrome replay {file}");
        }
        text
    }

    fn minimality(&self) -> &'static str {
        match (self.shrunk.minimal, self.interrupted) {
            (true, false) => "none can be dropped",
            (true, true) => "none can be dropped (interrupted before the scenario was as small as it gets)",
            (false, true) => "not yet minimal: interrupted",
            (false, false) => "not yet minimal: as many replays as were allowed are done",
        }
    }

    /// The report as a document: `scenario`, `seed`, `fingerprint` (`invariant`, `subject_kind`, `last`), `before`,
    /// `after`, `replays`, `seconds`, `minimal`, `singles` (`planned`, `played`; nothing where fewer than two are left), `stands_for`, `reproduced`, `interrupted`, `deviations` (each with `words`), `digest`,
    /// `file`.
    pub fn document(&self) -> Value {
        let shrunk = self.shrunk;
        let seed = if let Schedule::Seed(seed) = self.schedule { Some(*seed) } else { None };
        let cause = &shrunk.fingerprint.cause;
        let last = shrunk.fingerprint.last.as_ref();
        let last = last.map(|last| json!({ "fault": last.fault.as_str(), "call": last.call }));
        let deviations = shrunk.deviations.iter().map(|deviation| {
            let mut document = json!(deviation);
            document["words"] = json!(deviation::in_words(deviation));
            document
        });
        json!({
            "scenario": self.scenario.name,
            "seed": seed,
            "fingerprint": { "invariant": cause.invariant, "subject_kind": cause.subject_kind, "last": last },
            "before": shrunk.before,
            "after": shrunk.after,
            "replays": shrunk.replays,
            "seconds": self.took.as_secs_f64(),
            "minimal": shrunk.minimal,
            "singles": shrunk.singles.map(|singles| json!({ "planned": singles.planned, "played": singles.played })),
            "stands_for": shrunk.stands_for,
            "reproduced": shrunk.reproduced,
            "interrupted": self.interrupted,
            "deviations": deviations.collect::<Vec<_>>(),
            "digest": shrunk.outcome.digest,
            "file": self.file,
        })
    }
}

/// What is left of a scenario.
fn size(before: &Scenario, after: &Scenario) -> String {
    let of = |agent: &AgentType| match &agent.code {
        Code::Script(script) => script.steps.len(),
        Code::Rust(_) => 0,
    };
    let steps = |scenario: &Scenario| scenario.agents.values().map(of).sum::<usize>();
    let counts = [
        ("workers", before.runtime.workers.len(), after.runtime.workers.len()),
        ("agents", before.agents.len(), after.agents.len()),
        ("steps", steps(before), steps(after)),
        ("inputs", before.inputs.len(), after.inputs.len()),
    ];
    let each = counts.map(|(what, before, after)| format!("{after} of {before} {what}"));
    each.join(", ")
}
