//! An exhaust: what was tried, whether that was all, and what broke.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::outcome::broken;
use super::sweep::{divergence_document, divergence_text};
use super::{Style, counted, grouped};
use crate::explore::exhaust::{Covered, Exhausted, Pairs, TwoHolds};
use crate::explore::{Cause, Group, Stale, in_words};

/// An exhaust of one world of a scenario: of the scenario as it is, or with other latencies.
#[derive(Clone, Debug)]
pub struct Start {
    /// The seed of its latencies; none for the calm ones.
    pub latencies: Option<u64>,
    /// What was found; the place of its failures is that of this start among all.
    pub done: Exhausted,
}

/// All that is told of an exhaust.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// The worlds that it was begun from, at least one.
    pub starts: &'a [Start],
    /// The file that was written for a failure.
    pub files: &'a BTreeMap<(usize, Cause), String>,
}

/// A failure's place, cause and group, and the starts in which it was found.
struct Found<'a> {
    key: (usize, Cause),
    first: &'a Group,
    count: u64,
    starts: Vec<Option<u64>>,
}

impl Report<'_> {
    /// The whole report in words.
    pub fn text(&self, style: Style) -> String {
        let mut text = String::new();
        for found in self.failures() {
            text.push_str(&self.failure(&found, style));
            text.push('\n');
        }
        for start in self.starts {
            text.push_str(&self.faults(start, style));
        }
        for start in self.starts {
            text.push_str(&self.coverage(start, style));
        }
        text
    }

    /// Failures of one cause are one, whichever start they were found in.
    fn failures(&self) -> Vec<Found<'_>> {
        let mut all: Vec<Found<'_>> = Vec::new();
        for start in self.starts {
            for (key, group) in &start.done.findings.failures {
                match all.iter_mut().find(|known| known.key.1 == key.1) {
                    Some(known) => {
                        known.count += group.count;
                        known.starts.push(start.latencies);
                    }
                    None => {
                        let starts = vec![start.latencies];
                        all.push(Found { key: key.clone(), first: group, count: group.count, starts });
                    }
                }
            }
        }
        all
    }

    fn failure(&self, found: &Found<'_>, style: Style) -> String {
        let Found { key, first, count, starts } = found;
        let mut text = format!("{} {} · {}\n", style.bad("FAILED"), key.1.invariant, key.1.subject_kind);
        let many = counted(*count, "schedule", "schedules");
        let world = with_latencies(starts[0]);
        let _ = write!(text, "  {many}, first with {}{world}", in_words(&first.first().schedule));
        if starts.len() > 1 {
            let _ = write!(text, "; in {} of the {} worlds", starts.len(), self.starts.len());
        }
        text.push('\n');
        text.push_str(&broken(&first.first().outcome, style));
        if let Some(file) = self.files.get(key) {
            let _ = writeln!(text, "  {}", style.strong(&format!("chronodrome replay {file}")));
        }
        text
    }

    /// Broken determinism, and faults of chronodrome itself.
    fn faults(&self, start: &Start, style: Style) -> String {
        let (findings, world) = (&start.done.findings, with_latencies(start.latencies));
        let mut text = String::new();
        if let Some(divergence) = &findings.divergence {
            text.push_str(&divergence_text(&format!("{}{world}", self.scenario), divergence, style));
        }
        if let Some(stale) = findings.stale.values().next() {
            let (site, what) = (&stale.sites[0], style.bad("determinism is broken"));
            let _ = writeln!(text, "{what}{world}: the site `{site}` came up, and not when it was to deviate");
        }
        if let Some(found) = &findings.broken {
            let (what, schedule) = (style.bad("a fault of chronodrome itself"), in_words(&found.schedule));
            let _ = writeln!(text, "{what}: {schedule}{world} panicked: {}", found.panic);
        }
        text
    }

    /// Exactly what was covered.
    fn coverage(&self, start: &Start, style: Style) -> String {
        let done = &start.done;
        let mut what = format!("{}; {}", singles(done), holds(done));
        if done.depth > 1 {
            what.push_str("; ");
            what.push_str(&done.pairs.as_ref().map_or_else(
                || "none of two deviations was played: how many there are is known when all of one are done".to_owned(),
                pairs,
            ));
        }
        if done.wants_two_holds {
            what.push_str("; ");
            what.push_str(
                &done.two_holds.as_ref().map_or_else(|| "none of two holds was played".to_owned(), two_holds),
            );
        }
        let failing = done.findings.failures.values().map(|group| group.count).sum::<u64>();
        let verdict = match failing {
            0 if done.complete() => style.good("nothing violated"),
            0 => style.notable("nothing violated in these"),
            _ => style.bad(&format!("{} violated a promise", counted(failing, "schedule", "schedules"))),
        };
        format!("{}{}: {what}; {verdict}\n", style.strong(self.scenario), with_latencies(start.latencies))
    }

    /// The report as a document.
    pub fn document(&self) -> Value {
        let failures = self.failures();
        let each = || self.starts.iter().map(|start| &start.done);
        let fault = each().find_map(|done| done.findings.broken.as_ref());
        let stale: Option<&Stale> = each().find_map(|done| done.findings.stale.values().next());
        json!({
            "scenario": self.scenario,
            "verdict": if failures.is_empty() { "held" } else { "violated" },
            "depth": self.starts[0].done.depth,
            "sites": self.starts[0].done.sites,
            "planned": each().map(|done| total(done).planned).sum::<u64>(),
            "schedules": each().map(|done| total(done).played).sum::<u64>(),
            "complete": each().all(Exhausted::complete),
            "starts": self.starts.iter().map(start_document).collect::<Vec<_>>(),
            "failures": failures.iter().map(|found| self.failure_document(found)).collect::<Vec<_>>(),
            "divergence": each().find_map(|done| {
                done.findings.divergence.as_ref().map(|found| divergence_document(self.scenario, found))
            }),
            "fault": fault.map(|found| json!({
                "schedule": in_words(&found.schedule),
                "message": found.panic.to_string(),
            })),
            "stale": stale.map(|stale| {
                stale.sites.iter().collect::<BTreeSet<_>>()
            }),
        })
    }

    fn failure_document(&self, found: &Found<'_>) -> Value {
        let Found { key, first, count, starts } = found;
        let cause = &key.1;
        json!({
            "fingerprint": format!("{}/{}/{}", self.scenario, cause.invariant, cause.subject_kind),
            "invariant": cause.invariant,
            "scenario": self.scenario,
            "schedules": count,
            "latencies": starts,
            "file": self.files.get(key),
            "deviations": first.first().outcome.deviations,
        })
    }
}

fn with_latencies(seed: Option<u64>) -> String {
    seed.map_or_else(String::new, |seed| format!(" with latencies {seed}"))
}

/// The schedules that are to be played and that were, of one deviation and of two.
fn total(done: &Exhausted) -> Covered {
    let (planned, played) = done.pairs.as_ref().map_or((0, 0), |pairs| (pairs.planned - pairs.spared, pairs.played));
    let two_holds = done.two_holds.map_or(0, |two| two.played);
    Covered {
        planned: done.singles.planned + done.holds.planned + planned + two_holds,
        played: done.singles.played + done.holds.played + played + two_holds,
    }
}

fn singles(done: &Exhausted) -> String {
    let Covered { planned, played } = done.singles;
    let sites = counted(done.sites, "site", "sites");
    let all = counted(planned, "schedule of one deviation", "schedules of one deviation");
    if played == planned {
        return format!("all {all} played: every value of its list at each of the {sites} of the calm run");
    }
    format!("{} of {all} played ({} at {sites} not)", grouped(played), grouped(planned - played))
}

fn holds(done: &Exhausted) -> String {
    let Covered { planned, played } = done.holds;
    match (planned, played) {
        (0, _) => "no hold".to_owned(),
        _ if planned == played => format!("all {} of one hold", grouped(planned)),
        _ => format!("{} of the {} of one hold, {} not", grouped(played), grouped(planned), grouped(planned - played)),
    }
}

fn two_holds(two: &TwoHolds) -> String {
    if two.complete() {
        return format!("all {} of two holds", grouped(two.played));
    }
    let (done, firsts) = (grouped(two.firsts_done), grouped(two.firsts));
    format!("{} of two holds: all of {done} firsts of {firsts}, and not all of any other", grouped(two.played))
}

fn pairs(pairs: &Pairs) -> String {
    let all = counted(pairs.planned, "of two deviations", "of two deviations");
    let spared = match pairs.spared {
        0 => String::new(),
        spared => format!(", {} spared (their second strikes a world in the state of another's)", grouped(spared)),
    };
    if pairs.complete() {
        let played = grouped(pairs.played);
        return format!("all {all}, the second at each site that comes later: {played} played{spared}");
    }
    let left = grouped(pairs.planned - pairs.spared - pairs.played);
    let mut text = format!("{} of the {all} played{spared}, {left} not: ", grouped(pairs.played));
    match &pairs.through {
        Some(last) => {
            let (done, firsts) = (grouped(pairs.firsts_done), grouped(pairs.firsts));
            let (fault, site) = (last.fault.kind().as_str(), &last.site);
            let _ = write!(text, "all whose first is among {done} of {firsts}, up to {fault} at `{site}`");
            let _ = write!(text, ", and {} more", grouped(pairs.beyond));
        }
        None => text.push_str("not all of any first"),
    }
    text
}

fn start_document(start: &Start) -> Value {
    let done = &start.done;
    let pairs = done.pairs.as_ref().map(|pairs| {
        json!({
            "planned": pairs.planned,
            "spared": pairs.spared,
            "played": pairs.played,
            "firsts": pairs.firsts,
            "firsts_done": pairs.firsts_done,
            "through": pairs.through,
            "beyond": pairs.beyond,
        })
    });
    json!({
        "latencies": start.latencies,
        "sites": done.sites,
        "singles": { "planned": done.singles.planned, "played": done.singles.played },
        "pairs": pairs,
        "holds": { "planned": done.holds.planned, "played": done.holds.played },
        "two_holds": done.two_holds.map(|two| {
            json!({ "played": two.played, "firsts": two.firsts, "firsts_done": two.firsts_done })
        }),
        "complete": done.complete(),
    })
}
