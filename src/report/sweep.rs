//! A sweep: a table of its scenarios, its failures, and what so many quiet schedules allow to say.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Style, counted, deviation, ended_early, grouped, percent};
use crate::check::Sometimes;
use crate::explore::results::{
    Compared, Counts, DivergenceLine, FailureLine, FailureSummary, FileLine, SampleSummary, ScenarioSummary, Summary,
};
use crate::explore::{Divergence, Halt};

/// All that is told of a sweep, or of the joined results of many.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// What was found.
    pub summary: &'a Summary,
    /// How long it took, where it was one sweep.
    pub took: Option<Duration>,
    /// Why it ended before its end, if it did.
    pub halted: Option<Halt>,
    /// The directory that the files of failures are written to, as commands name it; none where they are not.
    pub directory: Option<&'a str>,
    /// The agent types that are Rust code: what has them is played again by a suite that brings them along, for the
    /// command cannot.
    pub agents: &'a [String],
}

impl Report<'_> {
    /// The whole report in words.
    pub fn text(&self, style: Style) -> String {
        let mut text = self.table(style);
        for failure in &self.summary.failures {
            text.push('\n');
            text.push_str(&self.failure(failure, style));
        }
        text.push('\n');
        let never = self.never_reached();
        if !never.is_empty() {
            let _ = writeln!(text, "{} {}", style.notable("never reached:"), few(&never));
        }
        text.push_str(&self.totals());
        text.push_str(&self.troubles(style));
        text.push_str(&self.verdict(style));
        text
    }

    /// What is broken alone, for the output of a test.
    pub fn complaints(&self) -> String {
        let failures = self.summary.failures.iter().filter(|failure| !failure.is_known());
        let mut text: String = failures.map(|failure| self.failure(failure, Style::PLAIN)).collect();
        text.push_str(&self.troubles(Style::PLAIN));
        text
    }

    fn table(&self, style: Style) -> String {
        let scenarios = &self.summary.scenarios;
        let width = scenarios.iter().map(|scenario| scenario.shown().chars().count()).max().unwrap_or(0).max(8);
        let head = format!(
            "{:width$} {:>12} {:>11} {:>11} {:>9}",
            "scenario", "schedules", "deviations", "lost lease", "failing"
        );
        let mut text = format!("{}\n", style.dim(&head));
        for scenario in scenarios {
            let counts = &scenario.counts;
            let failing = format!("{:>9}", grouped(counts.failing));
            let failing = if counts.failing > 0 { style.bad(&failing) } else { failing };
            let (mean, share) = (mean_deviations(counts), percent(lost_lease_share(counts)));
            let schedules = grouped(counts.schedules);
            let _ = writeln!(text, "{:width$} {schedules:>12} {mean:>11.2} {share:>11} {failing}", scenario.shown());
        }
        text
    }

    fn failure(&self, failure: &FailureSummary, style: Style) -> String {
        let (name, listed) = (self.scenario(failure).shown(), self.scenario(failure).listed);
        let word = if failure.is_known() { style.notable("KNOWN") } else { style.bad("FAILED") };
        let cause = &failure.cause;
        let mut text = format!("{word} {name} · {} · {}\n", cause.invariant, cause.subject_kind);
        let first = &failure.samples[0];
        let many = counted(failure.count, "schedule", "schedules");
        let _ = writeln!(text, "  {many}, first with {}", sample_in_words(first, listed));
        if let Some(compared) = &failure.compared {
            let _ = writeln!(text, "  {}", compared_in_words(compared));
        }
        text.push_str(&broken(&first.failure, style));
        for sample in &failure.samples {
            let _ = writeln!(text, "  {}: {}", sample_in_words(sample, listed), deviations_in_words(sample));
            for line in sample.file.iter().flat_map(told) {
                let _ = writeln!(text, "    {line}");
            }
            if let Some(reason) = &sample.known {
                let _ = writeln!(text, "    {} {reason}", style.notable("known:"));
            }
            let _ = writeln!(text, "    {}", style.strong(&self.command(failure, sample)));
        }
        text
    }

    fn scenario(&self, failure: &FailureSummary) -> &ScenarioSummary {
        &self.summary.scenarios[failure.scenario]
    }

    /// The path of a file of a failure.
    fn path(&self, file: &FileLine) -> Option<String> {
        Some(std::path::Path::new(self.directory?).join(&file.name).display().to_string())
    }

    /// The command, or the line of a test, that plays a failure again.
    pub(super) fn command(&self, failure: &FailureSummary, sample: &SampleSummary) -> String {
        let path = &self.scenario(failure).path;
        if !self.agents.is_empty() {
            let file = sample.file.as_ref().and_then(|file| self.path(file));
            let agents: String = self.agents.iter().map(|kind| format!(".agent({kind:?}, …)")).collect();
            let seeds = match sample.failure.seed {
                Some(seed) if file.is_none() => format!(".seeds({seed}..{})", seed + 1),
                _ => String::new(),
            };
            return format!("chronodrome::suite({:?}){agents}{seeds}.run()", file.as_ref().unwrap_or(path));
        }
        match (sample.file.as_ref().and_then(|file| self.path(file)), sample.failure.seed) {
            (Some(file), _) => format!("chronodrome replay {file}"),
            (None, Some(seed)) => format!("chronodrome run {path} --seed {seed}"),
            (None, None) if self.scenario(failure).listed => format!("chronodrome replay {path}"),
            (None, None) => format!("chronodrome run {path}"),
        }
    }

    fn totals(&self) -> String {
        let total = self.summary.total();
        let schedules = counted(total.schedules, "schedule", "schedules");
        let scenarios = counted(self.summary.scenarios.len() as u64, "scenario", "scenarios");
        let speed = self.took.map_or_else(String::new, |took| {
            format!(" in {:.1} s ({}/s)", took.as_secs_f64(), grouped(per_second(total.schedules, took)))
        });
        let (covered, possible) = self.summary.coverage();
        let share = percent(covered as f64 / possible.max(1) as f64);
        let (covered, possible) = (grouped(covered), grouped(possible));
        let coverage = format!("{covered} of {possible} cells of fault × call × phase covered ({share})\n");
        let mut text = format!(
            "{coverage}{schedules} of {scenarios}{speed}, {:.2} deviations a schedule, a lost lease in {} of them, {} checked again\n",
            mean_deviations(&total),
            percent(lost_lease_share(&total)),
            grouped(total.rechecked),
        );
        text.push_str(ended_early(self.halted));
        if self.halted.is_none() && self.took.is_none() {
            text.push_str(&self.missing());
        }
        text
    }

    /// What joined results lack.
    fn missing(&self) -> String {
        let mut text = String::new();
        let planned = self.summary.scenarios.iter().map(|scenario| scenario.planned);
        let planned = planned.reduce(|sum, more| Some(sum?.saturating_add(more?))).flatten();
        let played = self.summary.total().schedules;
        if let Some(planned) = planned.filter(|planned| *planned > played) {
            let (played, planned) = (grouped(played), counted(planned, "schedule", "schedules"));
            let _ = writeln!(text, "incomplete: {played} of {planned} that were to be played");
        }
        if self.summary.left_out > 0 {
            let schedules = counted(self.summary.left_out, "schedule", "schedules");
            let _ = writeln!(text, "{schedules} not counted: they were played in shards that cut those of others");
        }
        text
    }

    fn troubles(&self, style: Style) -> String {
        let mut text = String::new();
        for found in &self.summary.divergences {
            text.push_str(&two_histories(self.name(&found.of), found, style));
        }
        for (of, seeds) in &self.summary.contradictions {
            let (what, name) = (style.bad("determinism is broken"), self.name(of));
            let [first, last] = [seeds[0], seeds[1].saturating_sub(1)];
            let _ = writeln!(text, "{what}: {name}: seeds {first} to {last} were counted twice, and not alike");
        }
        for found in &self.summary.panics {
            let (what, name) = (style.bad("a fault of chronodrome itself"), self.name(&found.of));
            let _ = writeln!(text, "{what}: {name} with {} panicked: {}", found.schedule, found.message);
        }
        for found in &self.summary.stale {
            let path = self.summary.scenarios.iter().find(|scenario| scenario.id == found.of);
            let path = path.map_or("", |scenario| &scenario.path);
            let site = found.sites.first().map_or("", String::as_str);
            let _ = writeln!(text, "{}: {path}: the site `{site}` never came up", style.bad("stale"));
        }
        text
    }

    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.summary.scenarios.iter().find(|scenario| scenario.id == id).map_or(id, ScenarioSummary::shown)
    }

    fn verdict(&self, style: Style) -> String {
        let (summary, total) = (self.summary, self.summary.total());
        let known = summary.failures.iter().filter(|failure| failure.is_known()).count() as u64;
        let failing = summary.failures.len() as u64 - known;
        let mut text = String::new();
        if self.halted.is_none() && summary.complete() {
            for entry in &summary.not_seen {
                let subject = entry.subject.as_deref().map(|subject| format!(" · {subject}")).unwrap_or_default();
                let what = format!("{} · {}{subject}", entry.scenario, entry.invariant);
                let _ = writeln!(text, "{}: {what} did not come up", style.notable("known"));
            }
        }
        let only = summary.only.as_ref().map_or_else(String::new, |only| format!(" of {only}"));
        let kinds = |count| counted(count, "kind of failure", "kinds of failures");
        let also = if known > 0 { format!("; {} known", kinds(known)) } else { String::new() };
        if failing > 0 {
            let word = style.bad(&format!("violated{only}"));
            let _ = writeln!(text, "{word} ({} in {}{also})", kinds(failing), grouped(total.failing));
        } else if total.schedules > 0 && summary.divergences.is_empty() && summary.panics.is_empty() {
            let fewest = self.seeded().filter(|scenario| scenario.counts.failing == 0);
            let bound = fewest.map(|scenario| scenario.counts.schedules).min().map_or_else(String::new, |fewest| {
                format!("; 95 %: any one scenario fails in less than {} of its schedules", percent(bound(fewest)))
            });
            let word = if known > 0 { "no new violation" } else { "no violation" };
            let _ = writeln!(text, "{}{also}{bound}", style.good(&format!("{word}{only}")));
        }
        text
    }

    /// The scenarios whose schedules are drawn alike: a bound on what they hide can be told.
    fn seeded(&self) -> impl Iterator<Item = &ScenarioSummary> {
        self.summary.scenarios.iter().filter(|scenario| scenario.counts.schedules > 1)
    }

    fn never_reached(&self) -> Vec<&'static str> {
        let reached: BTreeSet<&str> =
            self.summary.scenarios.iter().flat_map(|scenario| &scenario.reached).map(String::as_str).collect();
        Sometimes::ALL.iter().map(|what| what.as_str()).filter(|what| !reached.contains(what)).collect()
    }

    /// The report as a document: `schedules`, `failures`, `never_reached`, `residual_bound`, and besides `verdict`,
    /// `scenarios`, `divergences`, `faults`, `stale`, `known_not_seen`; of one sweep `per_second`, `seconds`, `halted`,
    /// of joined results `complete`, `left_out`, `contradictions`.
    pub fn document(&self) -> Value {
        let (summary, total) = (self.summary, self.summary.total());
        let mut document = json!({
            "verdict": if summary.violated() { "violated" } else { "held" },
            "only": summary.only,
            "schedules": total.schedules,
            "failures": summary.failures.iter().map(|failure| self.failure_document(failure)).collect::<Vec<_>>(),
            "never_reached": self.never_reached(),
            "coverage": { "covered": summary.coverage().0, "possible": summary.coverage().1 },
            "residual_bound": self.bounds(),
            "scenarios": summary.scenarios.iter().map(scenario_document).collect::<Vec<_>>(),
            "divergences": summary.divergences.iter().map(|found| self.divergence_document(found)).collect::<Vec<_>>(),
            "faults": summary.panics.iter().map(|found| json!({
                "scenario": self.name(&found.of),
                "schedule": found.schedule,
                "message": found.message,
            })).collect::<Vec<_>>(),
            "stale": summary.stale.iter().map(|found| json!({
                "scenario": self.name(&found.of),
                "sites": found.sites,
            })).collect::<Vec<_>>(),
            "known_not_seen": if summary.complete() { json!(summary.not_seen) } else { json!([]) },
        });
        match self.took {
            Some(took) => {
                document["per_second"] = json!(per_second(total.schedules, took));
                document["seconds"] = json!(took.as_secs_f64());
                document["halted"] = json!(self.halted.map(Halt::as_str));
            }
            None => {
                document["complete"] = json!(summary.complete());
                document["left_out"] = json!(summary.left_out);
                document["contradictions"] = summary
                    .contradictions
                    .iter()
                    .map(|(of, seeds)| json!({ "scenario": self.name(of), "seeds": seeds }))
                    .collect();
            }
        }
        document
    }

    fn divergence_document(&self, found: &DivergenceLine) -> Value {
        let event = |text: &String| serde_json::from_str(text).unwrap_or(Value::Null);
        json!({
            "scenario": self.name(&found.of),
            "schedule": found.schedule,
            "digests": found.digests,
            "event": found.event,
            "events": found.event.map(|_| found.events.each_ref().map(|text| text.as_ref().map(event))),
        })
    }

    fn failure_document(&self, failure: &FailureSummary) -> Value {
        let (scenario, cause) = (&self.scenario(failure).name, &failure.cause);
        let first = &failure.samples[0];
        json!({
            "fingerprint": format!("{scenario}/{}/{}", cause.invariant, cause.subject_kind),
            "invariant": cause.invariant,
            "subject": cause.subject_kind,
            "scenario": scenario,
            "schedules": failure.count,
            "known": failure.is_known(),
            "compared": failure.compared.map(|compared| json!({
                "known": compared.known,
                "unknown": compared.unknown,
                "not_shrunk": compared.not_shrunk,
            })),
            "seed": first.failure.seed,
            "file": first.file.as_ref().and_then(|file| self.path(file)),
            "replay": self.command(failure, first),
            "deviations": deviation_counts(first),
            "samples": failure.samples.iter().map(|sample| json!({
                "seed": sample.failure.seed,
                "last": sample.last(),
                "known": sample.known,
                "digest": sample.failure.digest,
                "violations": sample.failure.broken,
                "expectations": sample.failure.missed,
                "file": sample.file.as_ref().and_then(|file| self.path(file)),
                "replay": self.command(failure, sample),
                "shrunk": sample.file.as_ref().and_then(|file| file.shrunk),
                "deviations": deviation_counts(sample),
                "listed": sample.file.as_ref().map(|file| &file.deviations),
                "story": sample.file.as_ref().map(|file| &file.story),
            })).collect::<Vec<_>>(),
        })
    }

    fn bounds(&self) -> Value {
        let quiet = self.seeded().filter(|scenario| scenario.counts.failing == 0);
        let each = quiet.map(|scenario| (scenario.name.clone(), json!(bound(scenario.counts.schedules))));
        Value::Object(each.collect())
    }
}

fn scenario_document(scenario: &ScenarioSummary) -> Value {
    let counts = &scenario.counts;
    json!({
        "scenario": scenario.name,
        "file": scenario.path,
        "planned": scenario.planned,
        "schedules": counts.schedules,
        "failing": counts.failing,
        "rechecked": counts.rechecked,
        "deviations_mean": mean_deviations(counts),
        "lost_lease_share": lost_lease_share(counts),
        "events": counts.events,
        "calls": counts.calls,
        "faults": counts.faults,
        "reached": scenario.reached,
    })
}

/// How many deviations a failure had, and how many when it was shrunk; null where it was not.
fn deviation_counts(sample: &SampleSummary) -> Value {
    let shrunk = sample.file.as_ref().filter(|file| file.shrunk.is_some());
    json!({ "before": sample.failure.deviations, "after": shrunk.map(|file| file.deviations.len()) })
}

/// The story of a file, and its deviations as long as they are few.
pub(super) fn told(file: &FileLine) -> Vec<String> {
    const DEVIATIONS_MOST: usize = 3;
    let mut lines = file.story.clone();
    for deviation in file.deviations.iter().take(DEVIATIONS_MOST) {
        lines.push(format!("{}: {}", deviation.site, deviation::in_words(deviation)));
    }
    if let Some(more) = file.deviations.len().checked_sub(DEVIATIONS_MOST).filter(|more| *more > 0) {
        lines.push(format!("and {}", counted(more as u64, "more deviation", "more deviations")));
    }
    lines
}

/// How many failing schedules were compared with what is known, and what came of it.
pub(super) fn compared_in_words(compared: &Compared) -> String {
    let Compared { known, unknown, not_shrunk } = *compared;
    let compared = counted(known.saturating_add(unknown), "schedule", "schedules");
    let mut text = format!("{compared} compared with what is known: {} known", grouped(known));
    if unknown > 0 {
        let _ = write!(text, ", {} not", grouped(unknown));
    }
    if not_shrunk > 0 {
        let _ = write!(text, "; {} not compared, and taken as not known", counted(not_shrunk, "schedule", "schedules"));
    }
    text
}

/// The most names that a report has in one line.
const NAMES_MOST: usize = 12;

/// The names, or where they are many how many: what a single scenario cannot reach is no news.
fn few(names: &[&str]) -> String {
    if names.len() <= NAMES_MOST {
        return names.join(", ");
    }
    format!("{} of {} properties; `coverage` names them", names.len(), Sometimes::ALL.len())
}

fn sample_in_words(sample: &SampleSummary, listed: bool) -> String {
    let without = if listed { "the listed deviations" } else { "the calm schedule" };
    sample.failure.seed.map_or_else(|| without.to_owned(), |seed| format!("seed {seed}"))
}

fn deviations_in_words(sample: &SampleSummary) -> String {
    let before = counted(sample.failure.deviations, "deviation", "deviations");
    match sample.file.as_ref().and_then(|file| Some((file.shrunk?, file.deviations.len()))) {
        Some((shrunk, after)) if shrunk.minimal => format!("{before}, shrunk to {after}"),
        Some((_, after)) => format!("{before}, shrunk to {after}, perhaps not the least"),
        None if sample.failure.seed.is_some() => format!("{before}, not shrunk"),
        None => before,
    }
}

/// What a failure broke, in words.
pub(super) fn broken(failure: &FailureLine, style: Style) -> String {
    let mut text = String::new();
    for broken in &failure.broken {
        let invariant = style.bad(&broken.invariant);
        let _ = writeln!(text, "  {invariant} · {} · {}\n    {}", broken.subject, broken.at, broken.message);
    }
    if failure.more > 0 {
        let _ = writeln!(text, "  … and {}", counted(failure.more, "more violation", "more violations"));
    }
    for missed in &failure.missed {
        let _ = writeln!(text, "  {} · {}\n    {}", style.bad("expectation"), missed.text, missed.message);
    }
    text
}

/// Two histories of one schedule, in words.
pub(super) fn divergence_text(name: &str, divergence: &Divergence, style: Style) -> String {
    two_histories(name, &DivergenceLine::of("", divergence), style)
}

fn two_histories(name: &str, found: &DivergenceLine, style: Style) -> String {
    let what = style.bad("determinism is broken");
    let mut text = format!("{what}: {name} with {} gave two histories\n", found.schedule);
    let [one, other] = &found.digests;
    let _ = writeln!(text, "  digests {one}\n          {other}");
    match found.event {
        Some(number) => {
            let [one, other] = found.events.each_ref().map(|event| event.as_deref().unwrap_or("(the history ends)"));
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
        "schedule": crate::explore::in_words(&divergence.schedule),
        "digests": divergence.digests,
        "event": divergence.first.as_ref().map(|difference| difference.after + 1),
        "events": divergence.first.as_ref().map(|difference| &difference.events),
    })
}

/// Three in N: with 95 % confidence the chance of what did not come in N alike schedules is smaller.
fn bound(schedules: u64) -> f64 {
    (3.0 / schedules.max(1) as f64).min(1.0)
}

fn mean_deviations(counts: &Counts) -> f64 {
    counts.deviations as f64 / counts.schedules.max(1) as f64
}

fn lost_lease_share(counts: &Counts) -> f64 {
    counts.with_lost_lease as f64 / counts.schedules.max(1) as f64
}

fn per_second(schedules: u64, took: Duration) -> u64 {
    (schedules as f64 / took.as_secs_f64().max(1e-9)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_three_in_n_and_no_more_than_certainty() {
        assert_eq!(bound(1_000), 0.003);
        assert_eq!(bound(1), 1.0);
        assert_eq!(bound(0), 1.0);
    }
}
