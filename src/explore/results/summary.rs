//! What a set of lines says, as reports tell it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::batches::Chosen;
use super::line::{
    BatchLine, Counts, DivergenceLine, FORMAT, FailingCount, FailureLine, FileLine, Line, PanicLine, ScenarioEntry,
    StaleLine, SweepLine, WRITTEN_BY,
};
use crate::explore::group::select;
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

impl ScenarioSummary {
    /// What people know it by: its name, or of what lists its deviations the file's, for it has the name of the scenario
    /// that it is of.
    pub fn shown(&self) -> &str {
        let stem = Path::new(&self.path).file_stem().and_then(|stem| stem.to_str());
        stem.filter(|_| self.listed).unwrap_or(&self.name)
    }
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
    /// How they compare with what is known, where only their minima tell.
    pub compared: Option<Compared>,
}

/// Failures with one cause, compared with those that are known by the last deviation of their minimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// How many are known.
    pub known: u64,
    /// How many were shrunk to a minimum that is not known.
    pub unknown: u64,
    /// How many were not shrunk, or have no minimum that fails in the same way. They count as not known.
    pub not_shrunk: u64,
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
        let mut seen = BTreeSet::new();
        for place in 0..summary.scenarios.len() {
            summary.take_in(place, &sorted, known, &mut seen)?;
        }
        summary.note_not_seen(known, &seen);
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

    /// Counts and failures of one scenario; `seen` are the places of the known ones that came up.
    fn take_in(
        &mut self,
        place: usize,
        sorted: &Sorted<'_>,
        known: &Known,
        seen: &mut BTreeSet<usize>,
    ) -> Result<(), SummaryError> {
        let scenario = &mut self.scenarios[place];
        let batches = sorted.batches.get(&*scenario.id).map_or(&[][..], Vec::as_slice);
        let contradicting = batches.windows(2).filter(|pair| pair[0].contradicts(pair[1]));
        self.contradictions.extend(contradicting.map(|pair| (scenario.id.clone(), pair[0].seeds)));
        let chosen = Chosen::of(batches.iter().copied());
        self.left_out += chosen.left_out;
        let mut told: BTreeMap<Cause, Failures<'_>> = BTreeMap::new();
        for batch in &chosen.batches {
            scenario.counts.add(&batch.counts);
            for failing in &batch.failing {
                told.entry(cause(&failing.invariant, &failing.subject)).or_default().count(failing);
            }
        }
        for failure in sorted.failures.get(&*scenario.id).into_iter().flatten() {
            let of_cause = told.entry(cause(&failure.invariant, &failure.subject)).or_default();
            of_cause.tell(failure, chosen.has(failure.seed));
        }
        let name = scenario.name.clone();
        if let Some((untold, _)) = told.iter().find(|(_, failures)| failures.lines.is_empty()) {
            return Err(SummaryError::Untold { name, invariant: untold.invariant.clone() });
        }
        for (cause, mut failures) in told {
            let compared = known.asks_for_minimum(&name, &cause).then(|| failures.compared(&name, &cause, known));
            if compared.is_some_and(|compared| compared.not_shrunk == 0) {
                // Those of a sweep that did not compare are among those of one that did.
                failures.lines.retain(|_, line| line.minimum.is_some());
            }
            let lasts = failures.minima.keys().copied().chain([None]);
            seen.extend(lasts.filter_map(|last| known.covers(&name, &cause, last)));
            let samples = sorted.samples(&name, &cause, failures.lines.into_values(), known);
            self.failures.push(FailureSummary { scenario: place, cause, count: failures.count, samples, compared });
        }
        Ok(())
    }

    fn note_not_seen(&mut self, known: &Known, seen: &BTreeSet<usize>) {
        let here = |entry: &KnownFailure| self.scenarios.iter().any(|scenario| scenario.name == entry.scenario);
        // What was not compared may be one of those that are known by their last deviation.
        let perhaps = |entry: &KnownFailure| {
            let open = |compared: Compared| compared.not_shrunk > 0;
            let of_it = |failure: &&FailureSummary| {
                failure.cause.invariant == entry.invariant && self.scenarios[failure.scenario].name == entry.scenario
            };
            self.failures.iter().filter(of_it).any(|failure| failure.compared.is_none_or(open))
        };
        let unseen = known.entries().iter().enumerate().filter(|(place, _)| !seen.contains(place));
        let unseen = unseen.filter(|(_, entry)| entry.last.is_none() || !perhaps(entry));
        self.not_seen = unseen.map(|(_, entry)| entry).filter(|entry| here(entry)).cloned().collect();
    }
}

impl FailureSummary {
    /// Whether every one of them is known.
    pub fn is_known(&self) -> bool {
        match self.compared {
            Some(compared) => compared.unknown == 0 && compared.not_shrunk == 0,
            None => self.samples.iter().all(|sample| sample.known.is_some()),
        }
    }
}

impl SampleSummary {
    /// The last deviation: that of the minimum, where there is one, else that of the file, where there is one.
    pub fn last(&self) -> Option<&str> {
        let of_file = || self.file.as_ref().map_or(&self.failure.last, |file| &file.last);
        self.failure.minimum.as_ref().map_or_else(of_file, |minimum| &minimum.last).as_deref()
    }
}

/// The failures of one cause.
#[derive(Default)]
struct Failures<'a> {
    count: u64,
    /// How many have minima with which last deviation.
    minima: BTreeMap<Option<&'a str>, u64>,
    /// Those that are told, by seed.
    lines: BTreeMap<Option<u64>, &'a FailureLine>,
}

impl<'a> Failures<'a> {
    /// Takes in what a batch counts.
    fn count(&mut self, failing: &'a FailingCount) {
        self.count = self.count.saturating_add(failing.count);
        for minimum in &failing.minima {
            self.add(minimum.last.as_deref(), minimum.count);
        }
    }

    /// Takes in one that is told. Of two lines of one schedule that which tells the minimum says more.
    fn tell(&mut self, failure: &'a FailureLine, counted: bool) {
        let before = self.lines.get(&failure.seed).copied();
        if !counted {
            self.count += u64::from(before.is_none());
            let told = before.is_some_and(|before| before.minimum.is_some());
            if let Some(minimum) = failure.minimum.as_ref().filter(|_| !told) {
                self.add(minimum.last.as_deref(), 1);
            }
        }
        if before.is_none_or(|before| before.minimum.is_none()) {
            self.lines.insert(failure.seed, failure);
        }
    }

    fn add(&mut self, last: Option<&'a str>, count: u64) {
        let own = self.minima.entry(last).or_default();
        *own = own.saturating_add(count);
    }

    fn compared(&self, name: &str, cause: &Cause, known: &Known) -> Compared {
        let mut compared = Compared::default();
        for (last, count) in &self.minima {
            let is_known = known.covers(name, cause, *last).is_some();
            let own = if is_known { &mut compared.known } else { &mut compared.unknown };
            *own = own.saturating_add(*count);
        }
        compared.not_shrunk = self.count.saturating_sub(compared.known.saturating_add(compared.unknown));
        compared
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
        // A regression has the name of the scenario that it is of, and there may be several.
        let mut entries: BTreeMap<(&str, Option<&str>), (&ScenarioEntry, Ranges)> = BTreeMap::new();
        for sweep in &self.sweeps {
            if sweep.format != FORMAT || sweep.written_by != WRITTEN_BY {
                return Err(SummaryError::Version(sweep.written_by.clone()));
            }
            for entry in &sweep.scenarios {
                let key = (&*entry.name, entry.listed.then_some(&*entry.id));
                let (known, seeds) = entries.entry(key).or_insert((entry, Vec::new()));
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
    /// few, and the first few that are not known; of those that were shrunk to the same one the first.
    fn samples<'f>(
        &self,
        name: &str,
        cause: &Cause,
        by_seed: impl Iterator<Item = &'f FailureLine>,
        known: &Known,
    ) -> Vec<SampleSummary> {
        let entry = |failure: &FailureLine| {
            let last = failure.minimum.as_ref().and_then(|minimum| minimum.last.as_deref());
            let place = known.covers(name, cause, last)?;
            // Of a sweep that was not told what is known, a line may be of a known failure and of others besides.
            let any = known.entries()[place].last.is_none();
            let all_known = failure.causes().all(|cause| known.covers(name, &cause, None).is_some());
            (!any || all_known).then_some(place)
        };
        let kind = |failure: &&'f FailureLine| match &failure.minimum {
            Some(minimum) => (true, &minimum.last),
            None => (false, &failure.last),
        };
        let mut told: Vec<&FailureLine> = by_seed.collect();
        select(&mut told, kind, |failure| entry(failure).is_some());
        let mut shrunk = BTreeSet::new();
        let mut samples = Vec::new();
        for failure in told {
            let file = self.file(failure);
            if failure.minimum.is_none() && file.is_some_and(|file| file.shrunk.is_some() && !shrunk.insert(&file.last))
            {
                continue;
            }
            let known = entry(failure).map(|place| known.entries()[place].reason.clone());
            samples.push(SampleSummary { failure: failure.clone(), file: file.cloned(), known });
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
