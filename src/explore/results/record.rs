//! From what a sweep tells while it works, and from what it found, to lines.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::line::{
    BatchLine, Broke, CoverageLine, DivergenceLine, FORMAT, FailingCount, FailureLine, Line, Minimum, Missed,
    PanicLine, ScenarioEntry, StaleLine, SweepLine, WRITTEN_BY,
};
use crate::check::{Cells, Moments, Sometimes};
use crate::explore::contain::contain;
use crate::explore::in_words;
use crate::explore::sweep::Sweep;
use crate::explore::{Cause, Divergence, Findings, Fingerprint, Finished, Group, Sample, Shard, Subject, Tally};
use crate::scenario::Options;
use crate::sim::Schedule;

/// How many violations of a failure a line holds.
const BROKEN_MOST: usize = 8;

/// A subject of a sweep, as lines name it.
#[derive(Clone, Copy)]
pub struct Swept<'a> {
    /// What is swept.
    pub subject: &'a dyn Subject,
    /// Its file.
    pub path: &'a str,
}

/// What a subject is and how it plays, as 16 hex digits: of the calm schedule, or of the file's list, and of two seeds
/// the digest counts. The same scenario under a changed runtime is as a rule another one.
pub fn identity(subject: &dyn Subject) -> String {
    let schedules = match subject.fixed() {
        Some(list) => vec![Schedule::Fixed(list.to_vec())],
        None => vec![Schedule::Calm, Schedule::Seed(0), Schedule::Seed(1)],
    };
    let mut sha = Sha256::new();
    sha.update(WRITTEN_BY);
    sha.update(subject.name());
    for schedule in schedules {
        // What panics is told when it is swept.
        let digest = contain(|| subject.player().play(&schedule, Options::default()).digest);
        sha.update(digest.unwrap_or_else(|panic| panic.message));
    }
    sha.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Turns what a sweep tells into lines.
pub struct Recorder<'a> {
    swept: Vec<Swept<'a>>,
    sweep: SweepLine,
    /// The failures that have lines, as a [`Group`] keeps them.
    failures: BTreeMap<(usize, Cause), Group>,
    /// What was reached, of each subject.
    seen: Vec<Seen>,
}

/// What lines tell was reached.
#[derive(Clone, Debug, Default)]
struct Seen {
    reached: BTreeSet<Sometimes>,
    covered: Cells,
    moments: Moments,
    possible: Cells,
}

impl<'a> Recorder<'a> {
    /// A recorder of `sweep` over `swept`. Some schedules of each are played to tell what it is.
    pub fn new(sweep: &Sweep, swept: &[Swept<'a>]) -> Recorder<'a> {
        let entry = |swept: &Swept<'_>| ScenarioEntry {
            id: identity(swept.subject),
            name: swept.subject.name().to_owned(),
            path: swept.path.to_owned(),
            listed: swept.subject.fixed().is_some(),
        };
        let bounded = sweep.seeds.end < u64::MAX;
        let line = SweepLine {
            format: FORMAT,
            written_by: WRITTEN_BY.to_owned(),
            only: sweep.aim.only.clone(),
            scenarios: swept.iter().map(entry).collect(),
            seeds: bounded.then_some([sweep.seeds.start, sweep.seeds.end]),
            shard: [sweep.shard.number, sweep.shard.of],
        };
        let seen = vec![Seen::default(); swept.len()];
        Recorder { swept: swept.to_vec(), sweep: line, failures: BTreeMap::new(), seen }
    }

    /// What the sweep is about to play.
    pub fn sweep(&self) -> &SweepLine {
        &self.sweep
    }

    /// The id that lines name a subject by.
    pub fn id(&self, subject: usize) -> &str {
        &self.sweep.scenarios[subject].id
    }

    /// The lines of some schedules that are done. Their counts come last: what is broken off anywhere counts no failure
    /// that no line tells.
    pub fn finished(&mut self, finished: &Finished) -> Vec<Line> {
        let subject = finished.subject;
        let mut lines = Vec::from_iter(self.coverage(subject, &finished.tally));
        for (cause, group) in &finished.failures {
            let key = (subject, cause.clone());
            let orders = |group: &Group| group.samples().iter().map(|sample| sample.order).collect();
            let before: Vec<u64> = self.failures.get(&key).map_or_else(Vec::new, orders);
            match self.failures.get_mut(&key) {
                Some(known) => known.join(group.clone()),
                None => drop(self.failures.insert(key.clone(), group.clone())),
            }
            let new = self.failures[&key].samples().iter().filter(|sample| !before.contains(&sample.order));
            lines.extend(new.map(|sample| Line::Failure(failure_line(self.id(subject), sample))));
        }
        lines.push(self.batch(finished));
        lines
    }

    fn batch(&self, finished: &Finished) -> Line {
        let failing = finished.failures.iter().map(|(cause, group)| FailingCount::of(cause, group));
        let seeds = &finished.seeds;
        // A scenario that lists its deviations is the same in every shard.
        let shard = if seeds.is_empty() { [1, 1] } else { self.sweep.shard };
        Line::Batch(BatchLine {
            of: self.id(finished.subject).to_owned(),
            seeds: [seeds.start, seeds.end],
            shard,
            counts: (&finished.tally).into(),
            failing: failing.collect(),
        })
    }

    /// What was not reached before.
    fn coverage(&mut self, subject: usize, tally: &Tally) -> Option<Line> {
        let known = &mut self.seen[subject];
        let (mut covered, mut possible) = (BTreeSet::new(), BTreeSet::new());
        let new = tally.reached.iter().filter(|what| known.reached.insert(**what));
        let reached: BTreeSet<String> = new.map(|what| what.as_str().to_owned()).collect();
        if !tally.covered.is_subset(&known.covered) {
            covered = not_in(&tally.covered, &known.covered);
            known.covered.add(&tally.covered);
        }
        let before = known.moments.clone();
        known.moments.add(&tally.moments);
        if known.moments != before {
            let now = self.swept[subject].subject.reachable(&known.moments);
            possible = not_in(&now, &known.possible);
            known.possible.add(&now);
        }
        let any = !reached.is_empty() || !covered.is_empty() || !possible.is_empty();
        let of = self.sweep.scenarios[subject].id.clone();
        any.then_some(Line::Coverage(CoverageLine { of, reached, covered, possible }))
    }
}

/// The cells of one set that are not in another, in words.
fn not_in(cells: &Cells, known: &Cells) -> BTreeSet<String> {
    cells.iter().filter(|cell| !known.contains(*cell)).map(|cell| cell.to_string()).collect()
}

/// All that a sweep found, as few lines: the counts of a scenario are one batch. `recorder` is that of the sweep.
pub fn of_findings(findings: &Findings, recorder: &Recorder<'_>) -> BTreeSet<Line> {
    let sweep = &recorder.sweep;
    let id = |subject: usize| sweep.scenarios[subject].id.clone();
    let mut lines = BTreeSet::from([Line::Sweep(sweep.clone())]);
    for (&subject, tally) in &findings.tallies {
        let groups = findings.failures.iter().filter(|((of, _), _)| *of == subject);
        let failing = groups.map(|((_, cause), group)| FailingCount::of(cause, group));
        let listed = sweep.scenarios[subject].listed;
        let whole = Shard::WHOLE;
        lines.insert(Line::Batch(BatchLine {
            of: id(subject),
            seeds: if listed { [0, 0] } else { [0, u64::MAX] },
            shard: [whole.number, whole.of],
            counts: tally.into(),
            failing: failing.collect(),
        }));
        let reached = tally.reached.iter().map(|what| what.as_str().to_owned()).collect();
        let mut possible = recorder.swept[subject].subject.reachable(&tally.moments);
        possible.add(&tally.covered);
        let none = Cells::default();
        let (covered, possible) = (not_in(&tally.covered, &none), not_in(&possible, &none));
        lines.insert(Line::Coverage(CoverageLine { of: id(subject), reached, covered, possible }));
    }
    for ((subject, _), group) in &findings.failures {
        lines.extend(group.samples().iter().map(|sample| Line::Failure(failure_line(&id(*subject), sample))));
    }
    lines.extend(troubles(findings, id));
    lines
}

/// What broke determinism, chronodrome itself, or a file, as lines.
pub(super) fn troubles(findings: &Findings, id: impl Fn(usize) -> String) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(found) = &findings.divergence {
        lines.push(Line::Divergence(DivergenceLine::of(&id(found.subject), found)));
    }
    if let Some(found) = &findings.broken {
        lines.push(Line::Panic(PanicLine {
            of: id(found.subject),
            schedule: in_words(&found.schedule),
            message: found.panic.to_string(),
        }));
    }
    for (subject, stale) in &findings.stale {
        let sites = stale.sites.iter().map(ToString::to_string).collect();
        lines.push(Line::Stale(StaleLine { of: id(*subject), sites }));
    }
    lines
}

impl Recorder<'_> {
    /// The lines of what broke determinism, chronodrome itself, or a file.
    pub fn troubles(&self, findings: &Findings) -> Vec<Line> {
        troubles(findings, |subject| self.id(subject).to_owned())
    }
}

impl DivergenceLine {
    /// What a schedule of the scenario with this id gave.
    pub fn of(id: &str, found: &Divergence) -> DivergenceLine {
        let json = |record: &Option<crate::history::Record>| {
            record.as_ref().map(|record| serde_json::to_string(record).unwrap_or_else(|error| error.to_string()))
        };
        DivergenceLine {
            of: id.to_owned(),
            schedule: in_words(&found.schedule),
            digests: found.digests.clone(),
            event: found.first.as_ref().map(|difference| difference.after as u64 + 1),
            events: found.first.as_ref().map_or([None, None], |difference| difference.events.each_ref().map(json)),
        }
    }
}

/// A failure as a line.
fn failure_line(of: &str, sample: &Sample) -> FailureLine {
    let failure = &sample.failure;
    let outcome = &failure.outcome;
    let Fingerprint { cause, last } = Fingerprint::of(outcome);
    let broken = outcome.violations.iter().take(BROKEN_MOST).map(|violation| Broke {
        invariant: violation.invariant.to_owned(),
        subject: violation.subject.clone(),
        at: violation.at.to_string(),
        message: violation.message.clone(),
    });
    let missed = outcome.expectations.iter().filter(|expectation| !expectation.held);
    FailureLine {
        of: of.to_owned(),
        seed: if let Schedule::Seed(seed) = failure.schedule { Some(seed) } else { None },
        invariant: cause.invariant,
        subject: cause.subject_kind,
        last: last.map(|strike| strike.to_string()),
        minimum: sample.minimum.as_ref().map(Minimum::from),
        deviations: outcome.deviations.len() as u64,
        broken: broken.collect(),
        more: outcome.violations.len().saturating_sub(BROKEN_MOST) as u64,
        missed: missed
            .map(|expectation| Missed { text: expectation.text.clone(), message: expectation.message.clone() })
            .collect(),
        digest: outcome.digest.clone(),
    }
}
