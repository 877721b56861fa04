//! What a set of lines says, as reports tell it.

use std::collections::{BTreeMap, BTreeSet};

use super::batches::Chosen;
use super::line::{
    BatchLine, Counts, DivergenceLine, FORMAT, FailureLine, FileLine, Line, PanicLine, ScenarioEntry, StaleLine,
    SweepLine, WRITTEN_BY,
};
use crate::explore::batch::SAMPLES_MOST;
use crate::explore::{Cause, Known, KnownFailure};

/// What lines say, whatever their order and however often each stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The scenarios, by name.
    pub scenarios: Vec<ScenarioSummary>,
    /// The failures, by scenario and cause.
    pub failures: Vec<FailureSummary>,
    /// Schedules that gave two histories.
    pub divergences: Vec<DivergenceLine>,
    /// Schedules whose world panicked.
    pub panics: Vec<PanicLine>,
    /// Files that list sites which never came up.
    pub stale: Vec<StaleLine>,
    /// Batches of the same schedules that tell different counts: the scenario's id and the seeds.
    pub contradictions: BTreeSet<(String, [u64; 2])>,
    /// Schedules that were played and do not count, because they share some with others that do, and not all.
    pub left_out: u64,
    /// What is known and did not come up, of the scenarios here.
    pub not_seen: Vec<KnownFailure>,
    /// The one invariant that counts, where not all do.
    pub only: Option<String>,
}

/// What was played of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioSummary {
    /// What lines name it by.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: String,
    /// Whether its file lists its deviations, and so has one schedule.
    pub listed: bool,
    /// How many schedules were to be played, where that was said.
    pub planned: Option<u64>,
    /// What was counted.
    pub counts: Counts,
    /// The *sometimes* properties that were reached.
    pub reached: BTreeSet<String>,
    /// The cells that were covered.
    pub covered: BTreeSet<String>,
    /// The cells that might have been; those that were are among them.
    pub possible: BTreeSet<String>,
}

/// Failures of one scenario with one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureSummary {
    /// The scenario's place in the summary.
    pub scenario: usize,
    /// What was broken, and for whom.
    pub cause: Cause,
    /// How many schedules failed so.
    pub count: u64,
    /// A few of them, each with another last deviation; the first is that of the smallest seed.
    pub samples: Vec<SampleSummary>,
}

/// One failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleSummary {
    /// What failed.
    pub failure: FailureLine,
    /// The file that plays it again, where one was written.
    pub file: Option<FileLine>,
    /// Why it may stay, where it is known.
    pub known: Option<String>,
}

/// Why lines have no common summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// There is no line that says what was swept.
    #[error("there is no result in this")]
    Empty,
    /// Another version wrote some of them.
    #[error("these results were written by `{0}`; this is `{WRITTEN_BY}`")]
    Version(String),
    /// One scenario was played in two ways.
    #[error("the results of `{name}` are of two scenarios, or of two builds of chronodrome: they cannot be joined")]
    Differ {
        /// The scenario's name.
        name: String,
        /// Its ids.
        ids: [String; 2],
    },
    /// Some count everything, others one invariant only.
    #[error("some of these results are of `--only {}`, others are not", .0)]
    Only(String),
    /// A line is about a scenario that no sweep here names.
    #[error("a result is of a scenario ({0}) that no line here names: is the beginning of a file missing?")]
    Nameless(String),
    /// Failures are counted, and no line tells one of them.
    #[error("failures of `{name}` ({invariant}) are counted here, and no line tells one: is a part of a file missing?")]
    Untold {
        /// The scenario's name.
        name: String,
        /// What they broke.
        invariant: String,
    },
}

impl Summary {
    /// What `lines` say. Failures that `known` covers are marked so.
    ///
    /// # Errors
    /// When they do not belong together.
    pub fn of(lines: &BTreeSet<Line>, known: &Known) -> Result<Summary, SummaryError> {
        let sorted = Sorted::of(lines);
        let mut summary = Summary { only: sorted.only()?, scenarios: sorted.scenarios()?, ..Summary::default() };
        let places: BTreeMap<String, usize> =
            summary.scenarios.iter().enumerate().map(|(place, scenario)| (scenario.id.clone(), place)).collect();
        for line in lines {
            let of = match line {
                Line::Batch(batch) => &batch.of,
                Line::Coverage(coverage) => &coverage.of,
                Line::Failure(failure) => &failure.of,
                Line::File(file) => &file.of,
                Line::Divergence(found) => &found.of,
                Line::Panic(found) => &found.of,
                Line::Stale(found) => &found.of,
                Line::Sweep(_) | Line::End { .. } => continue,
            };
            let place = *places.get(of).ok_or_else(|| SummaryError::Nameless(of.clone()))?;
            match line {
                Line::Coverage(coverage) => {
                    let scenario = &mut summary.scenarios[place];
                    scenario.reached.extend(coverage.reached.iter().cloned());
                    scenario.covered.extend(coverage.covered.iter().cloned());
                    scenario.possible.extend(coverage.covered.iter().chain(&coverage.possible).cloned());
                }
                Line::Divergence(found) => summary.divergences.push(found.clone()),
                Line::Panic(found) => summary.panics.push(found.clone()),
                Line::Stale(found) => summary.stale.push(found.clone()),
                _ => {}
            }
        }
        for place in 0..summary.scenarios.len() {
            summary.take_in(place, &sorted, known)?;
        }
        summary.note_not_seen(known);
        Ok(summary)
    }

    /// Schedules that were played.
    pub fn total(&self) -> Counts {
        self.scenarios.iter().fold(Counts::default(), |mut total, scenario| {
            total.add(&scenario.counts);
            total
        })
    }

    /// How many cells of fault × call × phase all scenarios cover together, and how many are possible.
    pub fn coverage(&self) -> (u64, u64) {
        let count = |cells: fn(&ScenarioSummary) -> &BTreeSet<String>| {
            self.scenarios.iter().flat_map(cells).collect::<BTreeSet<_>>().len() as u64
        };
        (count(|scenario| &scenario.covered), count(|scenario| &scenario.possible))
    }

    /// Whether every schedule that was to be played was.
    pub fn complete(&self) -> bool {
        self.scenarios.iter().all(|scenario| scenario.planned == Some(scenario.counts.schedules))
    }

    /// The files that play failures again.
    pub fn files(&self) -> impl Iterator<Item = &FileLine> {
        self.failures.iter().flat_map(|failure| &failure.samples).filter_map(|sample| sample.file.as_ref())
    }

    /// Whether nothing is broken: no promise but those that are known to be, not determinism, no file, and not
    /// chronodrome itself.
    pub fn is_sound(&self) -> bool {
        let troubles = self.divergences.len() + self.contradictions.len() + self.panics.len() + self.stale.len();
        !self.violated() && troubles == 0
    }

    /// Whether something failed that is not known.
    pub fn violated(&self) -> bool {
        self.failures.iter().any(|failure| !failure.is_known())
    }

    /// Counts and failures of one scenario.
    fn take_in(&mut self, place: usize, sorted: &Sorted<'_>, known: &Known) -> Result<(), SummaryError> {
        let scenario = &mut self.scenarios[place];
        let batches = sorted.batches.get(&*scenario.id).map_or(&[][..], Vec::as_slice);
        let contradicting = batches.windows(2).filter(|pair| pair[0].contradicts(pair[1]));
        self.contradictions.extend(contradicting.map(|pair| (scenario.id.clone(), pair[0].seeds)));
        let chosen = Chosen::of(batches.iter().copied());
        self.left_out += chosen.left_out;
        let mut counts: BTreeMap<Cause, u64> = BTreeMap::new();
        for batch in &chosen.batches {
            scenario.counts.add(&batch.counts);
            for failing in &batch.failing {
                *counts.entry(cause(&failing.invariant, &failing.subject)).or_default() += failing.count;
            }
        }
        let mut samples: BTreeMap<Cause, Vec<&FailureLine>> = BTreeMap::new();
        for failure in sorted.failures.get(&*scenario.id).into_iter().flatten() {
            let cause = cause(&failure.invariant, &failure.subject);
            if !chosen.has(failure.seed) {
                *counts.entry(cause.clone()).or_default() += 1;
            }
            samples.entry(cause).or_default().push(failure);
        }
        let name = scenario.name.clone();
        if let Some(untold) = counts.keys().find(|cause| !samples.contains_key(cause)) {
            return Err(SummaryError::Untold { name, invariant: untold.invariant.clone() });
        }
        for (cause, lines) in samples {
            let count = counts.get(&cause).copied().unwrap_or_default();
            let samples = sorted.samples(&name, &cause, lines, known);
            self.failures.push(FailureSummary { scenario: place, cause, count, samples });
        }
        Ok(())
    }

    fn note_not_seen(&mut self, known: &Known) {
        let seen = |entry: &KnownFailure| {
            let one = Known::new(vec![entry.clone()]);
            self.failures.iter().any(|failure| {
                let name = &self.scenarios[failure.scenario].name;
                let mut samples = failure.samples.iter();
                samples.any(|sample| one.covers(name, &failure.cause, sample.last()).is_some())
            })
        };
        let here = |entry: &&KnownFailure| self.scenarios.iter().any(|scenario| scenario.name == entry.scenario);
        self.not_seen = known.entries().iter().filter(here).filter(|entry| !seen(entry)).cloned().collect();
    }
}

impl FailureSummary {
    /// Whether every one of them is known.
    pub fn is_known(&self) -> bool {
        self.samples.iter().all(|sample| sample.known.is_some())
    }
}

impl SampleSummary {
    /// The last deviation: that of the file, where there is one.
    pub fn last(&self) -> Option<&str> {
        self.file.as_ref().map_or(&self.failure.last, |file| &file.last).as_deref()
    }
}

fn cause(invariant: &str, subject: &str) -> Cause {
    Cause { invariant: invariant.to_owned(), subject_kind: subject.to_owned() }
}

/// Lines by what they are about.
struct Sorted<'a> {
    sweeps: Vec<&'a SweepLine>,
    /// By the scenario's id; those of the same seeds and shard stand side by side.
    batches: BTreeMap<&'a str, Vec<&'a BatchLine>>,
    failures: BTreeMap<&'a str, Vec<&'a FailureLine>>,
    files: Vec<&'a FileLine>,
}

impl<'a> Sorted<'a> {
    fn of(lines: &'a BTreeSet<Line>) -> Sorted<'a> {
        let mut sorted =
            Sorted { sweeps: Vec::new(), batches: BTreeMap::new(), failures: BTreeMap::new(), files: Vec::new() };
        for line in lines {
            match line {
                Line::Sweep(sweep) => sorted.sweeps.push(sweep),
                Line::Batch(batch) => sorted.batches.entry(&batch.of).or_default().push(batch),
                Line::Failure(failure) => sorted.failures.entry(&failure.of).or_default().push(failure),
                Line::File(file) => sorted.files.push(file),
                _ => {}
            }
        }
        sorted
    }

    fn only(&self) -> Result<Option<String>, SummaryError> {
        let first = self.sweeps.first().ok_or(SummaryError::Empty)?;
        match self.sweeps.iter().find(|sweep| sweep.only != first.only) {
            Some(other) => Err(SummaryError::Only(other.only.clone().or(first.only.clone()).unwrap_or_default())),
            None => Ok(first.only.clone()),
        }
    }

    /// The scenarios by name, with how many schedules of each were to be played.
    fn scenarios(&self) -> Result<Vec<ScenarioSummary>, SummaryError> {
        let mut entries: BTreeMap<&str, (&ScenarioEntry, Ranges)> = BTreeMap::new();
        for sweep in &self.sweeps {
            if sweep.format != FORMAT || sweep.written_by != WRITTEN_BY {
                return Err(SummaryError::Version(sweep.written_by.clone()));
            }
            for entry in &sweep.scenarios {
                let (known, seeds) = entries.entry(&entry.name).or_insert((entry, Vec::new()));
                if known.id != entry.id {
                    let ids = [known.id.clone(), entry.id.clone()];
                    return Err(SummaryError::Differ { name: entry.name.clone(), ids });
                }
                if entry.path < known.path {
                    *known = entry;
                }
                seeds.push(sweep.seeds);
            }
        }
        let scenario = |(entry, seeds): &(&ScenarioEntry, Ranges)| ScenarioSummary {
            id: entry.id.clone(),
            name: entry.name.clone(),
            path: entry.path.clone(),
            listed: entry.listed,
            planned: if entry.listed { Some(1) } else { covered(seeds) },
            counts: Counts::default(),
            reached: BTreeSet::new(),
            covered: BTreeSet::new(),
            possible: BTreeSet::new(),
        };
        Ok(entries.values().map(scenario).collect())
    }

    /// The failures of a cause that are told: of each last deviation that with the smallest seed, of these the first
    /// few; of those that were shrunk to the same one the first.
    fn samples(&self, name: &str, cause: &Cause, mut lines: Vec<&FailureLine>, known: &Known) -> Vec<SampleSummary> {
        lines.sort_by_key(|line| line.seed);
        let mut raw = BTreeSet::new();
        lines.retain(|line| raw.insert(&line.last));
        lines.truncate(SAMPLES_MOST);
        let mut shrunk = BTreeSet::new();
        let mut samples = Vec::new();
        for failure in lines {
            let file = self.file(failure);
            if file.is_some_and(|file| file.shrunk.is_some() && !shrunk.insert(&file.last)) {
                continue;
            }
            let mut sample = SampleSummary { failure: failure.clone(), file: file.cloned(), known: None };
            let entry = known.covers(name, cause, sample.last());
            sample.known = entry.map(|place| known.entries()[place].reason.clone());
            samples.push(sample);
        }
        samples
    }

    /// The file of a failure; a shrunk one goes before another, the smaller before the larger.
    fn file(&self, failure: &FailureLine) -> Option<&'a FileLine> {
        let of_it = |file: &&&FileLine| {
            (&file.of, Some(file.seed), &file.invariant, &file.subject)
                == (&failure.of, failure.seed, &failure.invariant, &failure.subject)
        };
        let found = self.files.iter().filter(of_it);
        found.min_by_key(|file| (file.shrunk.is_none(), file.deviations.len(), *file)).copied()
    }
}

/// Seeds that sweeps were to play: first and one past the last; none where a sweep was to end by time alone.
type Ranges = Vec<Option<[u64; 2]>>;

/// How many seeds lie in at least one of the ranges; none where a range has no end.
fn covered(ranges: &[Option<[u64; 2]>]) -> Option<u64> {
    let mut ranges: Vec<[u64; 2]> = ranges.iter().copied().collect::<Option<_>>()?;
    ranges.sort_unstable();
    let (mut count, mut reached) = (0, 0);
    for [start, end] in ranges {
        count += end.saturating_sub(start.max(reached));
        reached = reached.max(end);
    }
    Some(count)
}
