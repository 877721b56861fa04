//! A sweep: a table of its scenarios, its failures, and what so many quiet schedules allow to say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::outcome::broken;
use super::{Style, counted, grouped};
use crate::check::Sometimes;
use crate::explore::suite::in_words;
use crate::explore::{Cause, Divergence, Failure, Findings, Group, Halt, Tally};
use crate::history::Record;
use crate::sim::Schedule;

/// A scenario of a sweep, as its report names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The scenario's name.
    pub name: String,
    /// Its file.
    pub path: String,
}

/// All that is told of a sweep.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The scenarios, in the order of the sweep.
    pub scenarios: &'a [Swept],
    /// What was found.
    pub findings: &'a Findings,
    /// How long it took.
    pub took: Duration,
    /// Why it ended before its end, if it did.
    pub halted: Option<Halt>,
    /// The file that was written for a failure.
    pub files: &'a BTreeMap<(usize, Cause), String>,
}

impl Report<'_> {
    /// The whole report in words.
    pub fn text(&self, style: Style) -> String {
        let mut text = self.table(style);
        for (key, group) in &self.findings.failures {
            text.push('\n');
            text.push_str(&self.failure(key, group, style));
        }
        text.push('\n');
        let never = self.never_reached();
        if !never.is_empty() {
            let _ = writeln!(text, "{} {}", style.notable("never reached:"), never.join(", "));
        }
        text.push_str(&self.summary(style));
        text
    }

    fn table(&self, style: Style) -> String {
        let width = self.scenarios.iter().map(|scenario| scenario.name.chars().count()).max().unwrap_or(0).max(8);
        let head = format!(
            "{:width$} {:>12} {:>11} {:>11} {:>9}",
            "scenario", "schedules", "deviations", "lost lease", "failing"
        );
        let mut text = format!("{}\n", style.dim(&head));
        for (place, scenario) in self.scenarios.iter().enumerate() {
            let tally = self.findings.tallies.get(&place).cloned().unwrap_or_default();
            let failing = format!("{:>9}", grouped(tally.failing));
            let failing = if tally.failing > 0 { style.bad(&failing) } else { failing };
            let (mean, share) = (mean_deviations(&tally), percent(lost_lease_share(&tally)));
            let schedules = grouped(tally.schedules);
            let _ = writeln!(text, "{:width$} {schedules:>12} {mean:>11.2} {share:>11} {failing}", scenario.name);
        }
        text
    }

    fn failure(&self, key: &(usize, Cause), group: &Group, style: Style) -> String {
        let (subject, cause) = key;
        let name = &self.scenarios[*subject].name;
        let first = in_words(&group.first.schedule);
        let many = counted(group.count, "schedule", "schedules");
        let deviations = counted(group.first.outcome.deviations.len() as u64, "deviation", "deviations");
        let mut text = format!("{} {name} · {} · {}\n", style.bad("FAILED"), cause.invariant, cause.subject_kind);
        let _ = writeln!(text, "  {many}, first with {first} ({deviations})");
        text.push_str(&broken(&group.first.outcome, style));
        let _ = writeln!(text, "  {}", style.strong(&self.replay_command(key, &group.first)));
        text
    }

    /// The command that plays a failure again.
    fn replay_command(&self, key: &(usize, Cause), failure: &Failure) -> String {
        let path = &self.scenarios[failure.subject].path;
        match (self.files.get(key), &failure.schedule) {
            (Some(file), _) => format!("chronodrome replay {file}"),
            (None, Schedule::Seed(seed)) => format!("chronodrome run {path} --seed {seed}"),
            (None, Schedule::Calm) => format!("chronodrome run {path}"),
            (None, Schedule::Fixed(_) | Schedule::Spliced(_)) => format!("chronodrome replay {path}"),
        }
    }

    fn summary(&self, style: Style) -> String {
        let total = self.findings.total();
        let schedules = counted(total.schedules, "schedule", "schedules");
        let mut text = format!(
            "{schedules} of {} in {:.1} s ({}/s), {:.2} deviations a schedule, a lost lease in {} of them, {} checked again\n",
            counted(self.scenarios.len() as u64, "scenario", "scenarios"),
            self.took.as_secs_f64(),
            grouped(per_second(total.schedules, self.took)),
            mean_deviations(&total),
            percent(lost_lease_share(&total)),
            grouped(total.rechecked),
        );
        match self.halted {
            Some(Halt::Time) => text.push_str("its time was over before every seed was played\n"),
            Some(Halt::Interrupt) => text.push_str("interrupted: this is what was found so far\n"),
            None => {}
        }
        for (place, divergence) in self.findings.divergence.iter().map(|found| (found.subject, found)) {
            text.push_str(&divergence_text(&self.scenarios[place].name, divergence, style));
        }
        if let Some(found) = &self.findings.broken {
            let (name, schedule) = (&self.scenarios[found.subject].name, in_words(&found.schedule));
            let what = style.bad("a fault of chronodrome itself");
            let _ = writeln!(text, "{what}: {name} with {schedule} panicked: {}", found.panic);
        }
        for (place, stale) in &self.findings.stale {
            let (path, site) = (&self.scenarios[*place].path, &stale.deviations[0].site);
            let _ = writeln!(text, "{}: {path}: the site `{site}` never came up", style.bad("stale"));
        }
        let failing = self.findings.failures.len() as u64;
        if failing > 0 {
            let failures = counted(failing, "kind of failure", "kinds of failures");
            let _ = writeln!(text, "{} ({failures} in {})", style.bad("violated"), grouped(total.failing));
        } else if total.schedules > 0 && self.findings.divergence.is_none() && self.findings.broken.is_none() {
            let fewest = self.seeded().map(|(_, tally)| tally.schedules).min();
            let bound = fewest.map_or_else(String::new, |fewest| {
                format!("; 95 %: any one scenario fails in less than {} of its schedules", percent(bound(fewest)))
            });
            let _ = writeln!(text, "{}{bound}", style.good("no violation"));
        }
        text
    }

    /// The scenarios whose schedules are drawn alike: a bound on what they hide can be told.
    fn seeded(&self) -> impl Iterator<Item = (usize, &Tally)> {
        self.findings.tallies.iter().map(|(place, tally)| (*place, tally)).filter(|(_, tally)| tally.schedules > 1)
    }

    fn never_reached(&self) -> Vec<&'static str> {
        let reached: BTreeSet<Sometimes> = self.findings.total().reached;
        Sometimes::ALL.iter().filter(|what| !reached.contains(what)).map(|what| what.as_str()).collect()
    }

    /// The report as a document: `schedules`, `per_second`, `failures`, `never_reached`, `residual_bound`, and
    /// besides `verdict`, `seconds`, `halted`, `scenarios`, `divergence`, `fault`, `stale`.
    pub fn document(&self) -> Value {
        let total = self.findings.total();
        json!({
            "verdict": if self.findings.failures.is_empty() { "held" } else { "violated" },
            "schedules": total.schedules,
            "per_second": per_second(total.schedules, self.took),
            "seconds": self.took.as_secs_f64(),
            "halted": self.halted.map(|halt| match halt { Halt::Time => "time", Halt::Interrupt => "interrupt" }),
            "failures": self.failure_documents(),
            "never_reached": self.never_reached(),
            "residual_bound": self.bounds(),
            "scenarios": self.scenario_documents(),
            "divergence": self.findings.divergence.as_ref().map(|found| {
                divergence_document(&self.scenarios[found.subject].name, found)
            }),
            "fault": self.findings.broken.as_ref().map(|found| json!({
                "scenario": self.scenarios[found.subject].name,
                "schedule": in_words(&found.schedule),
                "message": found.panic.to_string(),
            })),
            "stale": self.findings.stale.iter().map(|(place, stale)| json!({
                "scenario": self.scenarios[*place].name,
                "file": self.scenarios[*place].path,
                "sites": stale.deviations.iter().map(|deviation| &deviation.site).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
        })
    }

    fn failure_documents(&self) -> Vec<Value> {
        let each = self.findings.failures.iter().map(|(key, group)| {
            let (subject, cause) = key;
            let scenario = &self.scenarios[*subject].name;
            let seed = if let Schedule::Seed(seed) = group.first.schedule { Some(seed) } else { None };
            json!({
                "fingerprint": format!("{scenario}/{}/{}", cause.invariant, cause.subject_kind),
                "invariant": cause.invariant,
                "scenario": scenario,
                "seed": seed,
                "schedules": group.count,
                "file": self.files.get(key),
                "replay": self.replay_command(key, &group.first),
                // Shrinking is not built: there is no number after it yet.
                "deviations": { "before": group.first.outcome.deviations.len(), "after": null },
            })
        });
        each.collect()
    }

    fn bounds(&self) -> Value {
        let quiet = self.seeded().filter(|(_, tally)| tally.failing == 0);
        let each = quiet.map(|(place, tally)| (self.scenarios[place].name.clone(), json!(bound(tally.schedules))));
        Value::Object(each.collect())
    }

    fn scenario_documents(&self) -> Vec<Value> {
        let each = self.scenarios.iter().enumerate().map(|(place, scenario)| {
            let tally = self.findings.tallies.get(&place).cloned().unwrap_or_default();
            let faults: serde_json::Map<_, _> =
                tally.faults.iter().map(|(kind, count)| (kind.as_str().to_owned(), json!(count))).collect();
            json!({
                "scenario": scenario.name,
                "file": scenario.path,
                "schedules": tally.schedules,
                "failing": tally.failing,
                "rechecked": tally.rechecked,
                "deviations_mean": mean_deviations(&tally),
                "lost_lease_share": lost_lease_share(&tally),
                "events": tally.events,
                "calls": tally.calls,
                "faults": faults,
                "reached": tally.reached.iter().map(|what| what.as_str()).collect::<Vec<_>>(),
            })
        });
        each.collect()
    }
}

/// Two histories of one schedule, in words.
pub(super) fn divergence_text(name: &str, divergence: &Divergence, style: Style) -> String {
    let schedule = in_words(&divergence.schedule);
    let mut text = format!("{}: {name} with {schedule} gave two histories\n", style.bad("determinism is broken"));
    let [one, other] = &divergence.digests;
    let _ = writeln!(text, "  digests {one}\n          {other}");
    match &divergence.first {
        Some(difference) => {
            let [one, other] = difference.events.each_ref().map(|event| event_in_words(event.as_ref()));
            let number = difference.after + 1;
            let _ = writeln!(text, "  they differ first in event {number}:\n    {one}\n    {other}");
        }
        None => text.push_str("  played once more with their events noted, they were the same\n"),
    }
    text
}

/// The document of two histories of one schedule.
pub(super) fn divergence_document(name: &str, divergence: &Divergence) -> Value {
    json!({
        "scenario": name,
        "schedule": in_words(&divergence.schedule),
        "digests": divergence.digests,
        "event": divergence.first.as_ref().map(|difference| difference.after + 1),
        "events": divergence.first.as_ref().map(|difference| &difference.events),
    })
}

fn event_in_words(event: Option<&Record>) -> String {
    let json = event.map(|record| serde_json::to_string(record).unwrap_or_else(|error| error.to_string()));
    json.unwrap_or_else(|| "(the history ends)".to_owned())
}

/// Three in N: with 95 % confidence the chance of what did not come in N alike schedules is smaller.
fn bound(schedules: u64) -> f64 {
    (3.0 / schedules.max(1) as f64).min(1.0)
}

fn mean_deviations(tally: &Tally) -> f64 {
    tally.deviations as f64 / tally.schedules.max(1) as f64
}

fn lost_lease_share(tally: &Tally) -> f64 {
    tally.with_lost_lease as f64 / tally.schedules.max(1) as f64
}

fn per_second(schedules: u64, took: Duration) -> u64 {
    (schedules as f64 / took.as_secs_f64().max(1e-9)) as u64
}

/// A share with two digits that say something.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 || percent == 0.0 {
        format!("{percent:.0} %")
    } else if percent >= 1.0 {
        format!("{percent:.1} %")
    } else if percent >= 0.01 {
        format!("{percent:.2} %")
    } else {
        format!("{percent:.5} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_keeps_the_digits_that_say_something() {
        let cases = [
            (0.0, "0 %"),
            (0.14, "14 %"),
            (0.034, "3.4 %"),
            (0.003, "0.30 %"),
            (0.000_003, "0.00030 %"),
            (1.0, "100 %"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn the_bound_is_three_in_n_and_no_more_than_certainty() {
        assert_eq!(bound(1_000), 0.003);
        assert_eq!(bound(1), 1.0);
        assert_eq!(bound(0), 1.0);
    }
}
