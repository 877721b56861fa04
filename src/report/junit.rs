//! A sweep as JUnit's XML, which CI systems show: one test case for each scenario.
//!
//! Written out here: the crates that do it bring a wall clock and random ids with them, and there is little to it.

use std::fmt::Write as _;

use super::sweep::{Report, broken};
use super::{Style, counted};
use crate::explore::results::{FailureSummary, ScenarioSummary};

/// The whole document. A known failure is told in the output of its test case, and fails nothing.
pub fn xml(report: &Report<'_>) -> String {
    let scenarios = &report.summary.scenarios;
    let cases: Vec<Case> =
        scenarios.iter().enumerate().map(|(place, scenario)| Case::of(report, place, scenario)).collect();
    let failures = cases.iter().filter(|case| !case.failures.is_empty()).count();
    let errors = cases.iter().filter(|case| !case.errors.is_empty()).count();
    let counts = format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.len());
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(text, "<testsuites name=\"chronodrome\" {counts}>");
    let _ = writeln!(text, "  <testsuite name=\"sweep\" {counts}>");
    cases.iter().for_each(|case| case.write(&mut text));
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// A test case: a scenario, and what is told of it.
struct Case<'a> {
    scenario: &'a ScenarioSummary,
    /// Kind, headline, and text of each.
    failures: Vec<[String; 3]>,
    errors: Vec<[String; 3]>,
    out: String,
}

impl<'a> Case<'a> {
    fn of(report: &Report<'_>, place: usize, scenario: &'a ScenarioSummary) -> Case<'a> {
        let mut out = format!("{}\n", counted(scenario.counts.schedules, "schedule", "schedules"));
        let mut failures = Vec::new();
        for failure in report.summary.failures.iter().filter(|failure| failure.scenario == place) {
            let told = failure_told(report, failure);
            if failure.is_known() {
                let _ = write!(out, "known: {}", told.join("\n"));
            } else {
                failures.push(told);
            }
        }
        Case { scenario, failures, errors: errors(report, scenario), out }
    }

    fn write(&self, text: &mut String) {
        let (name, path) = (escaped(self.scenario.shown()), escaped(&self.scenario.path));
        let _ = writeln!(text, "    <testcase name=\"{name}\" classname=\"{path}\">");
        for (tag, told) in [("failure", &self.failures), ("error", &self.errors)] {
            for [kind, headline, body] in told {
                let (kind, headline, body) = (escaped(kind), escaped(headline), escaped(body));
                let _ = writeln!(text, "      <{tag} type=\"{kind}\" message=\"{headline}\">{body}</{tag}>");
            }
        }
        let _ = writeln!(text, "      <system-out>{}</system-out>\n    </testcase>", escaped(&self.out));
    }
}

fn failure_told(report: &Report<'_>, failure: &FailureSummary) -> [String; 3] {
    let cause = &failure.cause;
    let many = counted(failure.count, "schedule", "schedules");
    let mut body = String::from("\n");
    for sample in &failure.samples {
        body.push_str(&broken(&sample.failure, Style::PLAIN));
        for line in sample.file.iter().flat_map(super::sweep::told) {
            let _ = writeln!(body, "  {line}");
        }
        let _ = writeln!(body, "  {}", report.command(failure, sample));
    }
    [cause.invariant.clone(), format!("{} · {} in {many}", cause.invariant, cause.subject_kind), body]
}

/// What broke determinism, chronodrome itself, or the file of a scenario.
fn errors(report: &Report<'_>, scenario: &ScenarioSummary) -> Vec<[String; 3]> {
    let summary = report.summary;
    let error = |kind: &str, headline: String| [kind.to_owned(), headline, String::new()];
    let divergences = summary.divergences.iter().filter(|found| found.of == scenario.id);
    let mut errors: Vec<_> =
        divergences.map(|found| error("determinism", format!("{} gave two histories", found.schedule))).collect();
    let contradictions = summary.contradictions.iter().filter(|(of, _)| *of == scenario.id);
    errors.extend(contradictions.map(|(_, seeds)| {
        error("determinism", format!("seeds from {} on were counted twice, and not alike", seeds[0]))
    }));
    let panics = summary.panics.iter().filter(|found| found.of == scenario.id);
    errors.extend(panics.map(|found| error("panic", format!("{} panicked: {}", found.schedule, found.message))));
    let stale = summary.stale.iter().filter(|found| found.of == scenario.id);
    errors.extend(stale.map(|found| error("stale", format!("its sites never came up: {}", found.sites.join(", ")))));
    errors
}

/// A text inside XML; characters that XML cannot hold are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            '\u{fffe}' | '\u{ffff}' => {}
            letter if letter < ' ' => {}
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_escaped_and_loses_what_xml_cannot_hold() {
        assert_eq!(escaped("a < b & \"c\" > d\n\u{1b}[1m\u{0}é"), "a &lt; b &amp; &quot;c&quot; &gt; d\n[1mé");
    }
}
