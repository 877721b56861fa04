//! Coverage: a table of kinds of fault and phases, what was never struck, and what was never reached.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Style, counted, ended_early, grouped, percent};
use crate::check::{RunPhase, Sometimes};
use crate::explore::Halt;
use crate::explore::coverage::Coverage;
use crate::history::FaultKind;

/// All that is told of coverage.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What was exercised.
    pub coverage: &'a Coverage,
    /// How many cells must be covered, in millionths of those that are possible.
    pub floor_ppm: u64,
    /// The *sometimes* properties that must be reached.
    pub required: &'a [Sometimes],
    /// Why it ended before its end, if it did.
    pub halted: Option<Halt>,
    /// Whether every cell that was not covered is named, or those of each kind and phase are counted.
    pub all: bool,
}

impl Report<'_> {
    /// Whether so much is exercised as must be.
    pub fn enough(&self) -> bool {
        let coverage = self.coverage;
        coverage.share_ppm() >= self.floor_ppm && self.missed().is_empty()
    }

    /// What had to be reached and was not.
    fn missed(&self) -> Vec<&'static str> {
        let missed = self.required.iter().filter(|what| !self.coverage.reached.contains(what));
        missed.map(|what| what.as_str()).collect()
    }

    /// The report for people.
    pub fn text(&self, style: Style) -> String {
        let mut text = self.table(style);
        text.push('\n');
        text.push_str(&self.never_covered(style));
        text.push_str(&self.sometimes(style));
        let coverage = self.coverage;
        let (covered, possible) = (coverage.covered.len() as u64, coverage.possible.len() as u64);
        let share = percent(coverage.share_ppm() as f64 / 1e6);
        let schedules = counted(coverage.schedules, "schedule", "schedules");
        let (covered, possible) = (grouped(covered), grouped(possible));
        let _ = writeln!(text, "{schedules} cover {covered} of {possible} cells of fault × call × phase ({share})");
        text.push_str(ended_early(self.halted));
        if coverage.failing > 0 {
            let _ = writeln!(text, "{} of them broke a promise: `sweep` tells which", grouped(coverage.failing));
        }
        if coverage.share_ppm() < self.floor_ppm {
            let floor = percent(self.floor_ppm as f64 / 1e6);
            let _ = writeln!(text, "{}: at least {floor} must be covered", style.bad("too little"));
        }
        let missed = self.missed();
        if !missed.is_empty() {
            let _ = writeln!(text, "{}: {} must be reached", style.bad("too little"), missed.join(", "));
        }
        text
    }

    /// A row for each kind of fault, a column for each phase: calls that were struck, of those that can be.
    fn table(&self, style: Style) -> String {
        let mut head = format!("{:14}", "calls struck");
        for phase in RunPhase::ALL {
            let _ = write!(head, " {:>12}", phase.as_str());
        }
        let mut text = format!("{}\n", style.dim(&head));
        for fault in FaultKind::ALL {
            let cells: Vec<(usize, usize)> = self.coverage.by_phase(fault).collect();
            if cells.iter().all(|(_, possible)| *possible == 0) {
                continue;
            }
            let _ = write!(text, "{:14}", fault.as_str());
            for (covered, possible) in cells {
                let cell = if possible == 0 { String::new() } else { format!("{covered}/{possible}") };
                let cell = format!("{cell:>12}");
                let cell = if possible > 0 && covered == 0 { style.notable(&cell) } else { cell };
                let _ = write!(text, " {cell}");
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }

    fn never_covered(&self, style: Style) -> String {
        let mut missing: BTreeMap<(FaultKind, RunPhase), Vec<&'static str>> = BTreeMap::new();
        for cell in self.coverage.never_covered() {
            missing.entry((cell.fault, cell.phase)).or_default().push(cell.call.as_str());
        }
        if missing.is_empty() {
            return String::new();
        }
        let mut text = format!("{}\n", style.notable("never struck:"));
        if !self.all {
            let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
            missing.values().flatten().for_each(|call| *calls.entry(call).or_default() += 1);
            let mut calls: Vec<_> = calls.into_iter().collect();
            calls.sort_by_key(|(call, count)| (std::cmp::Reverse(*count), *call));
            let each: Vec<String> = calls.iter().map(|(call, count)| format!("{call} ({count})")).collect();
            let _ = writeln!(text, "  cells of {}\n  --all names each", each.join(", "));
            return text;
        }
        for ((fault, phase), calls) in missing {
            let _ = writeln!(text, "  {} × {}: {}", fault.as_str(), phase.as_str(), calls.join(", "));
        }
        text
    }

    fn sometimes(&self, style: Style) -> String {
        let names = |reached: bool| {
            let those = Sometimes::ALL.iter().filter(|what| self.coverage.reached.contains(what) == reached);
            those.map(|what| what.as_str()).collect::<Vec<_>>().join(", ")
        };
        let mut text = format!("{} {}\n", style.good("reached:"), names(true));
        if !names(false).is_empty() {
            let _ = writeln!(text, "{} {}", style.notable("never reached:"), names(false));
        }
        text
    }

    /// The report as a document: `schedules`, `failing`, `halted`, `covered` and `possible` (counts), `share`, `faults` (of each
    /// kind and phase the calls that were struck, of how many), `never_covered`, `reached`, `never_reached`, `enough`.
    pub fn document(&self) -> Value {
        let coverage = self.coverage;
        let mut faults = serde_json::Map::new();
        for fault in FaultKind::ALL {
            let phases = RunPhase::ALL.iter().zip(coverage.by_phase(fault));
            let phases: serde_json::Map<String, Value> = phases
                .filter(|(_, (_, possible))| *possible > 0)
                .map(|(phase, (covered, possible))| (phase.as_str().to_owned(), json!([covered, possible])))
                .collect();
            if !phases.is_empty() {
                faults.insert(fault.as_str().to_owned(), Value::Object(phases));
            }
        }
        json!({
            "schedules": coverage.schedules,
            "failing": coverage.failing,
            "halted": self.halted.map(Halt::as_str),
            "covered": coverage.covered.len(),
            "possible": coverage.possible.len(),
            "share": coverage.share_ppm() as f64 / 1e6,
            "faults": faults,
            "never_covered": coverage.never_covered().map(|cell| cell.to_string()).collect::<Vec<_>>(),
            "reached": coverage.reached.iter().map(|what| what.as_str()).collect::<Vec<_>>(),
            "never_reached": coverage.never_reached().map(Sometimes::as_str).collect::<Vec<_>>(),
            "enough": self.enough(),
        })
    }
}
