//! The runs of a finished world, and which of their replays are judged.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::heard::{Heard, is_barred, is_denial};
use super::judge;
use super::nature::Nature;
use super::prefix::Prefix;
use super::rehearsal::{Props, Seen, rehearse};
use super::{CHANGES_MOST, ENTRIES_MOST, REPLAY_INVARIANTS};
use crate::check::{Invariant, Violation};
use crate::kernel::{
    ArtifactRef, Body, CallKind, Digest, Ending, Json, Name, Opening, Reply, Request, RunId, RunLogEntry, RunSpec,
    Step, Timestamp, Version,
};
use crate::scenario::{Act, Code, Scenario};
use crate::sim::Remains;
use crate::store::memory::{Memory, SerialIds};

const FAITHFUL: &Invariant = &REPLAY_INVARIANTS[0];
const DIVERGENCE: &Invariant = &REPLAY_INVARIANTS[1];
const DENIED: &Invariant = &REPLAY_INVARIANTS[2];
const MAIL: &Invariant = &REPLAY_INVARIANTS[3];

/// The most violations that are kept of one invariant: the rest tell nothing new.
const KEPT_MOST: usize = 8;

pub(super) type Log = Rc<[RunLogEntry]>;

/// A run of a finished world.
struct Case {
    name: Name,
    spec: Arc<RunSpec>,
    log: Log,
}

/// The runs of a finished world, and what is needed to replay them.
pub(super) struct Cases {
    cases: Vec<Case>,
    codes: BTreeMap<(Name, Version), (Code, Nature)>,
    artifacts: Rc<BTreeMap<ArtifactRef, Arc<[u8]>>>,
    /// The scenario's name and the start of its world.
    origin: (Name, Timestamp),
    end: Timestamp,
}

/// What was found, one violation of an invariant for each run.
struct Found {
    at: Timestamp,
    violations: Vec<Violation>,
    known: BTreeSet<(&'static str, RunId)>,
}

impl Found {
    fn note(&mut self, invariant: &Invariant, case: &Case, judged: Result<(), String>) {
        let Err(message) = judged else { return };
        let is_new = self.known.insert((invariant.name, case.spec.run));
        let kept = self.violations.iter().filter(|found| found.invariant == invariant.name).count();
        if is_new && kept < KEPT_MOST {
            let subject = case.name.to_string();
            self.violations.push(Violation { invariant: invariant.name, subject, at: self.at, message });
        }
    }
}

impl Cases {
    /// The runs of the scenario's own agents in what remains of a world of `scenario`.
    pub fn of(scenario: &Scenario, remains: &Remains) -> Cases {
        let codes = codes(scenario);
        let store = &remains.store;
        let is_own = |spec: &RunSpec| scenario.agents.contains_key(spec.agent.kind());
        let case = |spec: &RunSpec| Case {
            name: remains.aliases.get(&spec.run).cloned().unwrap_or_else(|| spec.run.to_string().into()),
            spec: Arc::new(spec.clone()),
            log: store.log(spec.run).into(),
        };
        let cases: Vec<Case> = store.runs().map(|run| run.spec).filter(|spec| is_own(spec)).map(case).collect();
        let artifacts = Rc::new(artifacts(store, &cases));
        let origin = (scenario.name.clone(), scenario.start);
        Cases { cases, codes, artifacts, origin, end: remains.end }
    }

    /// What the replays of these runs, and what their agents got, violate.
    pub fn judge(&self, heard: &Heard) -> Vec<Violation> {
        let mut found = Found { at: self.end, violations: Vec::new(), known: BTreeSet::new() };
        for case in &self.cases {
            found.note(FAITHFUL, case, heard.same_given(case.spec.run));
            found.note(DENIED, case, heard.denied_stable(case.spec.run));
            found.note(MAIL, case, heard.mail_given(case.spec.run, &case.log));
        }
        self.judge_prefixes(heard, &mut found);
        self.judge_changes(&mut found);
        found.violations
    }

    fn judge_prefixes(&self, heard: &Heard, found: &mut Found) {
        let prefixes = |case: &'_ Case| 0..=case.log.len();
        let all: Vec<(&Case, usize)> =
            self.cases.iter().flat_map(|case| prefixes(case).map(move |length| (case, length))).collect();
        let cost = all.iter().map(|(_, length)| length + 1).sum();
        for place in share(all.len(), cost, all.len()) {
            let (case, length) = all[place];
            let prefix = Rc::new(Prefix::new(case.log.clone(), length));
            let Some((seen, nature)) = self.rehearse(case, &prefix) else { continue };
            let told = |what| format!("replayed from {length} of its {} entries: {what}", case.log.len());
            found.note(MAIL, case, judge::has_its_mail(&prefix, &seen).map_err(told));
            if !nature.fickle && !prefix.changed {
                let given = |denied| gives_the_same(case.spec.run, &seen, heard, denied).map_err(told);
                found.note(DENIED, case, given(true));
                found.note(FAITHFUL, case, given(false));
            }
            found.note(FAITHFUL, case, judge::follows(&prefix, &seen, nature).map_err(told));
        }
    }

    fn judge_changes(&self, found: &mut Found) {
        let all: Vec<(&Case, Log, Step)> = self
            .cases
            .iter()
            .filter(|case| case.log.iter().any(|entry| entry.body.opening().is_some()))
            .flat_map(|case| changes(&case.log).into_iter().map(move |(log, step)| (case, log, step)))
            .collect();
        let cost = all.iter().map(|(_, log, _)| log.len()).sum();
        for place in share(all.len(), cost, CHANGES_MOST) {
            let (case, log, step) = &all[place];
            let prefix = Rc::new(Prefix::new(changed(log, *step), log.len()));
            match self.rehearse(case, &prefix) {
                Some((seen, nature)) if !nature.fickle && !prefix.changed => {
                    let told = |what| format!("replayed from a log with another step {step}: {what}");
                    found.note(DIVERGENCE, case, judge::is_caught(&prefix, &seen, *step).map_err(told));
                }
                _ => {}
            }
        }
    }

    /// Replays a prefix through the agent that wrote it.
    fn rehearse(&self, case: &Case, prefix: &Rc<Prefix>) -> Option<(Seen, Nature)> {
        let kind: Name = case.spec.agent.kind().into();
        let (code, nature) = self.codes.get(&(kind, prefix.played()))?;
        let props = Props {
            spec: case.spec.clone(),
            code: code.clone(),
            artifacts: self.artifacts.clone(),
            origin: self.origin.clone(),
        };
        Some((rehearse(prefix.clone(), &props), *nature))
    }
}

/// All code that an agent type has in a scenario, by its version.
fn codes(scenario: &Scenario) -> BTreeMap<(Name, Version), (Code, Nature)> {
    let first = scenario.agents.iter().map(|(kind, agent)| ((kind.clone(), agent.version), &agent.code));
    let later = scenario.inputs.iter().filter_map(|input| match &input.does {
        Act::Version { agent, version, code, .. } => Some(((agent.clone(), *version), code)),
        _ => None,
    });
    first.chain(later).map(|(key, code)| (key, (code.clone(), Nature::of(code)))).collect()
}

/// The artifacts that logs refer to.
fn artifacts(store: &Memory, cases: &[Case]) -> BTreeMap<ArtifactRef, Arc<[u8]>> {
    let entries = cases.iter().flat_map(|case| case.log.iter());
    let wanted: BTreeSet<ArtifactRef> = entries
        .filter_map(|entry| match &*entry.body {
            Body::ToolResult { result, .. } => result.artifact_ref.clone(),
            Body::ChildCompleted { result_ref, .. } => result_ref.clone(),
            _ => None,
        })
        .collect();
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    let mut store = store.clone();
    let mut get = |artifact: ArtifactRef| {
        let request = Request::Get { artifact: artifact.clone() };
        match store.apply(Timestamp::from_micros(0), &request, &mut SerialIds::default(), &mut Vec::new()) {
            Reply::Bytes(Some(bytes)) => Some((artifact, bytes)),
            _ => None,
        }
    };
    wanted.into_iter().filter_map(&mut get).collect()
}

/// Whether what the calls of a replay gave is what they gave while the schedule was played: the denials, or the rest.
fn gives_the_same(run: RunId, seen: &Seen, heard: &Heard, denied: bool) -> Result<(), String> {
    for (step, value) in seen.gave.iter().filter(|(_, value)| !is_barred(value)) {
        let before = heard.first_gave(run, *step).filter(|before| is_denial(before) == denied);
        if let Some(before) = before.filter(|before| *before != value) {
            return Err(format!("step {step} gave {}, where it had given {}", **value, **before));
        }
    }
    Ok(())
}

/// The part of a log that a changed agent can be given, once for each step in it that may be another one; and once
/// with a step too many, where the agent returned.
pub(super) fn changes(log: &Log) -> Vec<(Log, Step)> {
    let is_bar = |body: &Body| {
        matches!(
            body,
            Body::CancelRequested { .. } | Body::Ended(_) | Body::RunHalted { .. } | Body::OrphansResolved { .. }
        )
    };
    let length = log.iter().position(|entry| is_bar(&entry.body)).unwrap_or(log.len());
    let kept: Log = log[..length].into();
    let steps: Vec<Step> = kept.iter().filter_map(|entry| Some(entry.body.opening()?.step)).collect();
    let next = steps.last().map_or(Step(0), |last| last.next());
    let returns = |body: &Body| match body {
        Body::Ended(ending) | Body::OrphansResolved { ending, .. } => matches!(ending, Ending::Completed { .. }),
        _ => false,
    };
    let returned = log.get(length).is_some_and(|entry| returns(&entry.body));
    let mut changes: Vec<_> = steps.into_iter().map(|step| (kept.clone(), step)).collect();
    if let Some(last) = kept.last().filter(|_| returned) {
        let opening = Opening { step: next, group: None, call: CallKind::Log, digest: Digest(0) };
        let body = Arc::new(Body::StepValue { opening, value: Json::null() });
        let extra = RunLogEntry { seq: last.seq.next(), body, ..last.clone() };
        changes.push((kept.iter().cloned().chain([extra]).collect(), next));
    }
    changes
}

/// The log with another digest at a step.
pub(super) fn changed(log: &Log, step: Step) -> Log {
    let change = |entry: &RunLogEntry| {
        let mut entry = entry.clone();
        if entry.body.opening().is_some_and(|opening| opening.step == step) {
            let mut body = (*entry.body).clone();
            if let Body::ToolCalled { opening, .. }
            | Body::MessageSent { opening, .. }
            | Body::TopicPublished { opening, .. }
            | Body::ReplySent { opening, .. }
            | Body::AskSent { opening, .. }
            | Body::ChildSpawned { opening, .. }
            | Body::SpawnDenied { opening, .. }
            | Body::TimerSet { opening, .. }
            | Body::StepValue { opening, .. } = &mut body
            {
                opening.digest.0 ^= 1;
            }
            entry.body = Arc::new(body);
        }
        entry
    };
    log.iter().map(change).collect()
}

/// Places of `total`, spread evenly and not all at the same distance: so many that what they cost is about
/// [`ENTRIES_MOST`] where all cost `cost`, and `most` at most.
fn share(total: usize, cost: usize, most: usize) -> impl Iterator<Item = usize> {
    let affordable = if cost > ENTRIES_MOST { (total * ENTRIES_MOST / cost).max(1) } else { total };
    let taken = affordable.min(most).min(total);
    (0..taken).map(move |nth| {
        let (from, to) = (nth * total / taken, (nth + 1) * total / taken);
        from + nth * 7919 % (to - from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_taken_where_they_are_cheap_and_an_even_share_where_not() {
        assert_eq!(share(5, 100, 10).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(share(0, 0, 10).count(), 0);
        let some: Vec<usize> = share(1_000, 10 * ENTRIES_MOST, 1_000).collect();
        assert_eq!(some.len(), 100);
        assert!(some.iter().enumerate().all(|(nth, place)| place / 10 == nth));
        assert_eq!(share(1_000, 1, 7).count(), 7);
    }
}
