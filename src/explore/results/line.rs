//! One result of a sweep as a line of JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::explore::grid::{CALM, longest_block};
use crate::explore::{Cause, Fingerprint, Group, Shard, Tally};
use crate::sim::Deviation;

/// The form of the lines.
pub const FORMAT: u32 = 2;

/// The version of chronodrome that lines name as their writer.
pub const WRITTEN_BY: &str = concat!("chronodrome ", env!("CARGO_PKG_VERSION"));

/// A result. What it is about it names in full, so that a line says the same wherever it stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// What a sweep is about to play; the first line that it writes.
    Sweep(SweepLine),
    /// Some schedules of a scenario are played: their counts.
    Batch(BatchLine),
    /// What schedules of a scenario reached for the first time in a sweep.
    Coverage(CoverageLine),
    /// A schedule that broke a promise; the first with its cause and its last deviation, that of its minimum where this was
    /// looked for, in a sweep.
    Failure(FailureLine),
    /// The file that plays a failure again.
    File(FileLine),
    /// A schedule that gave two histories.
    Divergence(DivergenceLine),
    /// A schedule whose world panicked.
    Panic(PanicLine),
    /// A file that lists a site which never came up.
    Stale(StaleLine),
    /// A sweep is over; the last line that it writes. It counts for nothing.
    End {
        /// Why it ended before its end, if it did: `time`, `interrupt`.
        halted: Option<String>,
    },
}

/// What a sweep is about to play.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepLine {
    /// The form of the lines: [`FORMAT`].
    pub format: u32,
    /// Who writes them: [`WRITTEN_BY`].
    pub written_by: String,
    /// The one invariant that counts, where not all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// The scenarios.
    pub scenarios: Vec<ScenarioEntry>,
    /// The seeds that all shards play together, first and one past the last; none where only time ends it.
    pub seeds: Option<[u64; 2]>,
    /// Which shard it is, and of how many.
    pub shard: [u64; 2],
}

/// A scenario that lines are about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioEntry {
    /// What lines name it by: a digest of what it is and of how it plays.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: String,
    /// Whether the file lists its deviations, and so has one schedule.
    pub listed: bool,
}

impl ScenarioEntry {
    /// Whether both stand for the same scenario, in whatever version: they have one name, and where they list their
    /// deviations, one file.
    pub fn is_at(&self, other: &ScenarioEntry) -> bool {
        self.name == other.name && self.listed == other.listed && (!self.listed || self.path == other.path)
    }
}

/// Some schedules of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchLine {
    /// The scenario's id.
    pub of: String,
    /// The first seed and one past the last. Both are 0 where the scenario lists its deviations, and both the greatest
    /// number for the calm schedule, which is told only where it fails, and counts as a failure alone.
    pub seeds: [u64; 2],
    /// Of these seeds only those of this shard.
    pub shard: [u64; 2],
    /// What was counted.
    pub counts: Counts,
    /// How many schedules failed with each cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<FailingCount>,
}

/// What was counted over some schedules: [`Tally`] by names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Schedules played.
    pub schedules: u64,
    /// Schedules that broke a promise.
    pub failing: u64,
    /// Schedules that were played again in a fresh world.
    pub rechecked: u64,
    /// Deviations that came about.
    pub deviations: u64,
    /// Schedules in which a lease was lost.
    pub with_lost_lease: u64,
    /// Events.
    pub events: u64,
    /// Calls.
    pub calls: u64,
    /// How often each kind of fault came about.
    pub faults: BTreeMap<String, u64>,
}

impl Counts {
    /// Adds the counts of other schedules; what lines tell may be any number, and the greatest is the most.
    pub fn add(&mut self, other: &Counts) {
        let pairs = [
            (&mut self.schedules, other.schedules),
            (&mut self.failing, other.failing),
            (&mut self.rechecked, other.rechecked),
            (&mut self.deviations, other.deviations),
            (&mut self.with_lost_lease, other.with_lost_lease),
            (&mut self.events, other.events),
            (&mut self.calls, other.calls),
        ];
        for (own, more) in pairs {
            *own = own.saturating_add(more);
        }
        for (kind, count) in &other.faults {
            let own = self.faults.entry(kind.clone()).or_default();
            *own = own.saturating_add(*count);
        }
    }
}

impl From<&Tally> for Counts {
    fn from(tally: &Tally) -> Counts {
        Counts {
            schedules: tally.schedules,
            failing: tally.failing,
            rechecked: tally.rechecked,
            deviations: tally.deviations,
            with_lost_lease: tally.with_lost_lease,
            events: tally.events,
            calls: tally.calls,
            faults: tally.faults.iter().map(|(kind, count)| (kind.as_str().to_owned(), *count)).collect(),
        }
    }
}

/// How many schedules failed with a cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailingCount {
    /// The invariant; `expectation` for an expectation.
    pub invariant: String,
    /// The kind of subject.
    pub subject: String,
    /// How many.
    pub count: u64,
    /// How many of them were shrunk, to be told from what is known, to which minimum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub minima: Vec<MinimumCount>,
}

impl FailingCount {
    /// Of the failures of a cause.
    pub(super) fn of(cause: &Cause, group: &Group) -> FailingCount {
        let minima = group
            .minima
            .iter()
            .map(|(last, count)| MinimumCount { last: last.as_ref().map(ToString::to_string), count: *count });
        FailingCount {
            invariant: cause.invariant.clone(),
            subject: cause.subject_kind.clone(),
            count: group.count,
            minima: minima.collect(),
        }
    }

    /// How many were shrunk.
    pub(super) fn shrunk(&self) -> u64 {
        self.minima.iter().fold(0, |sum, minimum| sum.saturating_add(minimum.count))
    }
}

/// How many failures have minima with this last deviation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MinimumCount {
    /// The last deviation, as `crash × append tool.called`; none where nothing needs to deviate.
    pub last: Option<String>,
    /// How many.
    pub count: u64,
}

/// The minimum of a failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minimum {
    /// Its last deviation, as `crash × append tool.called`; none where nothing needs to deviate.
    pub last: Option<String>,
}

impl From<&Fingerprint> for Minimum {
    fn from(fingerprint: &Fingerprint) -> Minimum {
        Minimum { last: fingerprint.last.as_ref().map(ToString::to_string) }
    }
}

/// What was reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoverageLine {
    /// The scenario's id.
    pub of: String,
    /// The *sometimes* properties.
    pub reached: BTreeSet<String>,
    /// Kinds of fault that struck calls in phases, as `crash × append tool.called × live`.
    pub covered: BTreeSet<String>,
    /// Those that might have, of calls that came up in phases.
    pub possible: BTreeSet<String>,
}

/// A schedule that broke a promise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureLine {
    /// The scenario's id.
    pub of: String,
    /// The seed; none where the scenario lists its deviations.
    pub seed: Option<u64>,
    /// The invariant that was broken first; `expectation` for an expectation.
    pub invariant: String,
    /// The kind of subject.
    pub subject: String,
    /// The last deviation, as `crash × append tool.called`.
    pub last: Option<String>,
    /// What is left of it, where it was shrunk to be told from what is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Minimum>,
    /// How many deviations there were.
    pub deviations: u64,
    /// The violations, of very many the first few.
    pub broken: Vec<Broke>,
    /// How many more violations there were.
    pub more: u64,
    /// The expectations that did not hold.
    pub missed: Vec<Missed>,
    /// The digest of the history.
    pub digest: String,
}

impl FailureLine {
    /// All that it tells to be broken.
    pub(super) fn causes(&self) -> impl Iterator<Item = Cause> + '_ {
        let violated = self.broken.iter().map(|broken| Cause::violation(&broken.invariant, &broken.subject));
        violated.chain(self.missed.iter().map(|missed| Cause::expectation(&missed.text)))
    }
}

/// A violation in a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broke {
    /// The invariant.
    pub invariant: String,
    /// What it is about.
    pub subject: String,
    /// When it came to light.
    pub at: String,
    /// What is wrong.
    pub message: String,
}

/// An expectation that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missed {
    /// What was expected.
    pub text: String,
    /// What came about.
    pub message: String,
}

/// The file that plays a failure again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileLine {
    /// The scenario's id.
    pub of: String,
    /// The seed of the failure.
    pub seed: u64,
    /// The invariant of its cause.
    pub invariant: String,
    /// The kind of subject of its cause.
    pub subject: String,
    /// Whether it was shrunk, and found to be the least: no deviation can be dropped.
    pub shrunk: Option<Shrinking>,
    /// The last deviation of the file.
    pub last: Option<String>,
    /// The deviations of the file.
    pub deviations: Vec<Deviation>,
    /// What happens, in two or three lines.
    pub story: Vec<String>,
    /// The name of the file.
    pub name: String,
    /// The text of the file.
    pub text: String,
}

/// How far a failure was shrunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shrinking {
    /// How many schedules were played.
    pub replays: u64,
    /// Whether every list that lacks one of the deviations was played, and none fails in the same way.
    pub minimal: bool,
}

/// A schedule that gave two histories.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DivergenceLine {
    /// The scenario's id.
    pub of: String,
    /// What was played, in words.
    pub schedule: String,
    /// The two digests.
    pub digests: [String; 2],
    /// The number of the first event that differs, from 1.
    pub event: Option<u64>,
    /// That event in each history, as JSON; none where a history ends.
    pub events: [Option<String>; 2],
}

/// A schedule whose world panicked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanicLine {
    /// The scenario's id.
    pub of: String,
    /// What was played, in words.
    pub schedule: String,
    /// What it said.
    pub message: String,
}

/// A file that lists sites which never came up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaleLine {
    /// The scenario's id.
    pub of: String,
    /// The sites.
    pub sites: Vec<String>,
}

impl Line {
    /// The line, its end included.
    ///
    /// # Panics
    /// Never: it is plain data with keys of text.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("lines are plain data");
        text.push('\n');
        text
    }
}

impl BatchLine {
    /// The shard that was played.
    pub(super) fn shard(&self) -> Shard {
        Shard { number: self.shard[0], of: self.shard[1] }
    }

    /// How many failures were shrunk.
    pub(super) fn shrunk(&self) -> u64 {
        self.failing.iter().fold(0, |sum, failing| sum.saturating_add(failing.shrunk()))
    }

    /// How many failures have which cause, in order.
    fn causes(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.failing.iter().map(|failing| (&*failing.invariant, &*failing.subject, failing.count))
    }

    /// Whether both are of the same schedules, which cannot have given both. How many were checked again hangs on the
    /// whole range of a sweep; who checks more may find more failures.
    pub(super) fn contradicts(&self, other: &BatchLine) -> bool {
        let histories = |counts: &Counts| Counts { rechecked: 0, failing: 0, ..counts.clone() };
        let alike = histories(&self.counts) == histories(&other.counts)
            && (self.counts.rechecked != other.counts.rechecked || self.causes().eq(other.causes()));
        (self.seeds, self.shard) == (other.seeds, other.shard) && !alike
    }
}

/// The lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadLines {
    /// The lines, in order.
    pub lines: Vec<Line>,
    /// How many bytes of the file are whole lines: the rest is one that was cut off while it was written.
    pub whole: usize,
    /// Whether there is such a rest.
    pub cut: bool,
}

/// A line that is no result.
#[derive(Debug, thiserror::Error)]
#[error("line {number} is no result of a sweep: {error}")]
pub struct WrongLine {
    /// Its number, from 1.
    pub number: usize,
    /// Why.
    pub error: serde_json::Error,
}

/// Reads lines. A last one that was cut off is left out.
///
/// # Errors
/// At the first line that is no result.
pub fn read_lines(bytes: &[u8]) -> Result<ReadLines, WrongLine> {
    let mut read = ReadLines::default();
    for (place, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let ended = line.ends_with(b"\n");
        match parse(line) {
            Ok(parsed) => read.lines.extend(parsed),
            // What is whole JSON is not cut off, but something else.
            Err(_) if !ended && serde_json::from_slice::<serde_json::Value>(line).is_err() => {
                read.cut = true;
                break;
            }
            Err(error) => return Err(WrongLine { number: place + 1, error }),
        }
        read.whole += line.len();
    }
    Ok(read)
}

/// A line; none where there is only white space.
fn parse(line: &[u8]) -> Result<Option<Line>, serde_json::Error> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let line: Line = serde_json::from_slice(line)?;
    line.check().map(|()| Some(line)).map_err(serde::de::Error::custom)
}

impl Line {
    /// Whether numbers that stand together fit together, and names are such as are written.
    fn check(&self) -> Result<(), &'static str> {
        let (seeds, shard) = match self {
            Line::Sweep(sweep) => (sweep.seeds.unwrap_or_default(), sweep.shard),
            Line::Batch(batch) => (batch.seeds, batch.shard),
            Line::File(file) if !is_file_name(&file.name) => return Err("its name is none that a failure's file has"),
            _ => return Ok(()),
        };
        if seeds[0] > seeds[1] {
            Err("its seeds end before they begin")
        } else if shard[0] < 1 || shard[0] > shard[1] || shard[1] > u64::from(u32::MAX) {
            Err("there is no such shard")
        } else if let Line::Batch(batch) = self {
            batch.check()
        } else {
            Ok(())
        }
    }
}

impl BatchLine {
    /// Whether it can be what a sweep played and counted.
    fn check(&self) -> Result<(), &'static str> {
        let [start, end] = self.seeds;
        let calm = self.seeds == [CALM.start, CALM.end];
        // The one schedule of a scenario that lists its deviations has no seed, and neither has the calm one.
        let schedules = if start < end { self.shard().count(&(start..end)) } else { u64::from(!calm) };
        let causes = self.failing.iter().fold(0, |sum: u64, failing| sum.saturating_add(failing.count));
        if end - start > longest_block(start, self.shard[1]) {
            Err("it has more seeds than a sweep plays in one go")
        } else if self.counts.schedules != schedules {
            Err("it does not count as many schedules as it has seeds")
        } else if self.counts.failing > schedules + u64::from(calm) {
            Err("it counts more failures than schedules")
        } else if causes != self.counts.failing {
            Err("it does not count as many causes as failures")
        } else if self.failing.iter().any(|failing| failing.shrunk() > failing.count) {
            Err("it counts more minima than failures")
        } else {
            Ok(())
        }
    }
}

/// Whether this is a name of a file in the directory where it is written, and of no file of results.
fn is_file_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    name.strip_suffix(".json").is_some_and(|stem| !stem.is_empty() && stem.chars().all(plain))
}
