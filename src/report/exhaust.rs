//! An exhaust: what was tried, whether that was all, and what broke.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::outcome::broken;
use super::sweep::{divergence_document, divergence_text};
use super::{Style, counted, grouped};
use crate::explore::exhaust::Exhausted;
use crate::explore::in_words;
use crate::explore::{Cause, Group};

/// All that is told of an exhaust.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// What was found.
    pub done: &'a Exhausted,
    /// The file that was written for a failure.
    pub files: &'a std::collections::BTreeMap<(usize, Cause), String>,
}

impl Report<'_> {
    /// The whole report in words.
    pub fn text(&self, style: Style) -> String {
        let findings = &self.done.findings;
        let mut text = String::new();
        for (key, group) in &findings.failures {
            text.push_str(&self.failure(key, group, style));
            text.push('\n');
        }
        if let Some(divergence) = &findings.divergence {
            text.push_str(&divergence_text(self.scenario, divergence, style));
        }
        if let Some(stale) = findings.stale.get(&0) {
            let site = &stale.deviations[0].site;
            let what = style.bad("determinism is broken");
            let _ = writeln!(text, "{what}: the site `{site}` came up in the calm run, and not when it was to deviate");
        }
        if let Some(found) = &findings.broken {
            let (what, schedule) = (style.bad("a fault of chronodrome itself"), in_words(&found.schedule));
            let _ = writeln!(text, "{what}: {schedule} panicked: {}", found.panic);
        }
        text.push_str(&self.coverage(style));
        text
    }

    fn failure(&self, key: &(usize, Cause), group: &Group, style: Style) -> String {
        let cause = &key.1;
        let many = counted(group.count, "schedule", "schedules");
        let first = in_words(&group.first.schedule);
        let mut text = format!("{} {} · {}\n", style.bad("FAILED"), cause.invariant, cause.subject_kind);
        let _ = writeln!(text, "  {many}, first with {first}");
        text.push_str(&broken(&group.first.outcome, style));
        if let Some(file) = self.files.get(key) {
            let _ = writeln!(text, "  {}", style.strong(&format!("chronodrome replay {file}")));
        }
        text
    }

    /// Exactly what was covered.
    fn coverage(&self, style: Style) -> String {
        let done = self.done;
        let sites = counted(done.sites, "site", "sites");
        let planned = counted(done.planned, "schedule of one deviation", "schedules of one deviation");
        let what = if done.complete() {
            format!("all {planned} played: every value of its list at each of the {sites} of the calm run")
        } else {
            let left = done.planned - done.played;
            let played = grouped(done.played);
            format!("{played} of {planned} played ({} at {sites} not)", grouped(left))
        };
        let failing = done.findings.failures.values().map(|group| group.count).sum::<u64>();
        let verdict = match failing {
            0 if done.complete() => style.good("nothing violated"),
            0 => style.notable("nothing violated in these"),
            _ => style.bad(&format!("{} violated a promise", counted(failing, "schedule", "schedules"))),
        };
        format!("{}: {what}; {verdict}\n", style.strong(self.scenario))
    }

    /// The report as a document.
    pub fn document(&self) -> Value {
        let (done, findings) = (self.done, &self.done.findings);
        json!({
            "scenario": self.scenario,
            "verdict": if findings.failures.is_empty() { "held" } else { "violated" },
            "sites": done.sites,
            "planned": done.planned,
            "schedules": done.played,
            "complete": done.complete(),
            "failures": findings.failures.iter().map(|(key, group)| self.failure_document(key, group)).collect::<Vec<_>>(),
            "divergence": findings.divergence.as_ref().map(|found| divergence_document(self.scenario, found)),
            "fault": findings.broken.as_ref().map(|found| json!({
                "schedule": in_words(&found.schedule),
                "message": found.panic.to_string(),
            })),
            "stale": findings.stale.get(&0).map(|stale| {
                stale.deviations.iter().map(|deviation| &deviation.site).collect::<Vec<_>>()
            }),
        })
    }

    fn failure_document(&self, key: &(usize, Cause), group: &Group) -> Value {
        let cause = &key.1;
        json!({
            "fingerprint": format!("{}/{}/{}", self.scenario, cause.invariant, cause.subject_kind),
            "invariant": cause.invariant,
            "scenario": self.scenario,
            "schedules": group.count,
            "file": self.files.get(key),
            "deviations": group.first.outcome.deviations,
        })
    }
}
