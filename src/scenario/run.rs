//! One scenario under one schedule: from a schedule to a verdict.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use sha2::{Digest as _, Sha256};

use super::cast::ScenarioCast;
use super::expect::{AgentFact, DeadLetter, EffectCount, End, Ends, ExpectationResult, Refused, RunEnd};
use super::judge::judge;
use super::model::{PROBE, Scenario};
use super::plans::UserEnd;
use crate::check::{Cells, Checker, Moments, Sometimes, Violation};
use crate::history::{Change, Event, Header, Record};
use crate::kernel::{
    AskOutcome, Body, EffectStatus, Ending, FailureCode, Name, RunId, RunLogEntry, RunStatus, Span, Spend, Timestamp,
    canonical,
};
use crate::sim::{self, Deviation, Fault, Remains, Schedule, Setup, SiteListing, Watcher};
use crate::store::memory::RunReport;

/// What is wanted of a run besides its outcome.
#[derive(Default)]
pub struct Options<'a> {
    /// List the sites that came up.
    pub sites: bool,
    /// Takes every record of the history, once the world is over.
    pub trace: Option<&'a mut dyn FnMut(&Record)>,
    /// Takes what is left of the world, after the last record.
    pub remains: Option<&'a mut dyn FnMut(&Remains)>,
}

/// What came of a scenario under a schedule.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The invariants that were violated.
    pub violations: Vec<Violation>,
    /// The digest of history, final state and scenario: 64 hex digits.
    pub digest: String,
    /// Events of the history.
    pub events: u64,
    /// Calls that were sent.
    pub calls: u64,
    /// How long it took in virtual time.
    pub virtual_ms: i64,
    /// What deviated from the calm schedule.
    pub deviations: Vec<Deviation>,
    /// Listed deviations whose sites never came up.
    pub stale: Vec<Deviation>,
    /// Leases that ran out.
    pub lost_leases: u32,
    /// How runs, effects and mail stand at the end.
    pub ends: Ends,
    /// How the expectations fared.
    pub expectations: Vec<ExpectationResult>,
    /// The *sometimes* properties that were reached.
    pub reached: Vec<Sometimes>,
    /// Which kinds of fault struck which calls in which phase.
    pub covered: Cells,
    /// Which calls came up in which phase: what might have been struck, see [`Scenario::reachable`].
    pub moments: Moments,
    /// The invariants for which the history lacks facts.
    pub not_judged: Vec<&'static str>,
    /// The sites that came up, where they were asked for.
    pub sites: Vec<SiteListing>,
    /// The names of those that came up after healing, where nothing strikes, if sites were asked for.
    pub healed: Vec<Name>,
}

impl Outcome {
    /// Whether every promise was kept: no violation, and every expectation came about.
    pub fn held(&self) -> bool {
        self.violations.is_empty() && self.expectations.iter().all(|expectation| expectation.held)
    }
}

/// The most events and polls of one world: so many, and so many more for each input. A world that has more
/// does not come to rest; its logs grow with it, and every lease reads one.
const EVENTS_MAX: u64 = 100_000;
const EVENTS_MAX_PER_INPUT: u64 = 10_000;

/// Plays a scenario under one schedule after another.
pub struct Runner {
    scenario: Scenario,
    /// The hash of the scenario's own document.
    document: [u8; 32],
    setup: Setup,
}

impl Scenario {
    /// Plays this scenario once, under `schedule`. Who plays many keeps a [`Runner`].
    ///
    /// ```
    /// use chronodrome::scenario::Scenario;
    /// use chronodrome::sim::Schedule;
    /// let text = r#"{ "name": "n", "agents": { "a": [ { "complete": 1 } ] }, "inputs": [ { "to": "a" } ] }"#;
    /// let scenario = Scenario::parse(text, "n.json").unwrap();
    /// assert!(scenario.run(&Schedule::Calm).held());
    /// ```
    ///
    /// # Panics
    /// When an agent's Rust code is missing: see [`Scenario::without_code`].
    pub fn run(&self, schedule: &Schedule) -> Outcome {
        Runner::new(self).play(schedule, Options::default())
    }
}

/// Feeds the history to the checks as it grows.
struct Bench {
    checker: Checker,
    records: Option<Vec<Record>>,
    happened: BTreeMap<Name, u64>,
    /// What each tree has spent, by its root.
    spent: BTreeMap<RunId, Spend>,
    refused: Vec<Refused>,
}

impl Watcher for Bench {
    fn observe(&mut self, at: Timestamp, event: Event) {
        self.checker.observe(at, &event);
        match &event {
            Event::Happened { kind, .. } => *self.happened.entry(kind.clone()).or_insert(0) += 1,
            Event::Refused { code, message, .. } => {
                self.refused.push(Refused { code: code.clone(), message: message.clone() });
            }
            Event::Applied { changes, .. } => {
                for change in changes {
                    if let Change::Spent { tree, amounts, .. } = change {
                        let spent = self.spent.entry(*tree).or_default();
                        *spent = spent.plus(*amounts);
                    }
                }
            }
            _ => {}
        }
        if let Some(records) = &mut self.records {
            records.push(Record { at, event });
        }
    }
}

impl Runner {
    /// A runner of `scenario`.
    pub fn new(scenario: &Scenario) -> Runner {
        let runtime = &scenario.runtime;
        let header = Header {
            format: 1,
            scenario: scenario.name.clone(),
            start: scenario.start,
            lease: runtime.lease,
            poll: runtime.poll,
            timer_jitter: timer_jitter(scenario),
            capacity: runtime.capacity,
            max_lost_leases: runtime.max_lost_leases,
            workers: runtime.workers.clone(),
        };
        let store = crate::store::memory::Config { lease: runtime.lease, ..Default::default() };
        let setup = Setup {
            header,
            faults: scenario.faults.clone(),
            tools: scenario.outside.clone(),
            latency: runtime.store_latency.part(2),
            latencies: scenario.latencies,
            store,
            inputs: scenario.inputs.iter().map(|input| input.at).collect(),
            events_max: EVENTS_MAX + EVENTS_MAX_PER_INPUT * scenario.inputs.len() as u64,
        };
        let document = Sha256::digest(canonical(&scenario.document).as_bytes()).into();
        Runner { scenario: scenario.clone(), document, setup }
    }

    /// What every history of it begins with.
    pub fn header(&self) -> Header {
        self.setup.header.clone()
    }

    /// What it plays.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Plays the scenario under `schedule`.
    pub fn play(&mut self, schedule: &Schedule, options: Options<'_>) -> Outcome {
        let bench = Rc::new(RefCell::new(Bench {
            checker: Checker::new(&self.setup.header),
            records: options.trace.is_some().then(Vec::new),
            happened: BTreeMap::new(),
            spent: BTreeMap::new(),
            refused: Vec::new(),
        }));
        let cast = ScenarioCast::new(&self.scenario);
        let remains = sim::play(&self.setup, &cast, schedule, options.sites, bench.clone());
        let mut bench = bench.borrow_mut();
        bench.checker.finish(remains.end);
        if let (Some(trace), Some(records)) = (options.trace, &bench.records) {
            records.iter().for_each(trace);
        }
        if let Some(take) = options.remains {
            take(&remains);
        }
        let (spent, refused) = (std::mem::take(&mut bench.spent), std::mem::take(&mut bench.refused));
        let ends = Ends { spent, refused, ..self.ends(&remains, &bench.happened) };
        let mut expectations = judge(&self.scenario.expect, &ends);
        let calm = *schedule == Schedule::Calm && self.scenario.latencies.is_none();
        if calm && self.scenario.deviations.is_none() {
            expectations.extend(judge(&self.scenario.expect_calm, &ends));
        }
        Outcome {
            violations: bench.checker.violations().to_vec(),
            digest: self.digest(&remains),
            events: remains.events,
            calls: u64::from(remains.calls),
            virtual_ms: remains.end.since(self.setup.header.start).as_millis(),
            deviations: remains.deviations,
            stale: remains.stale,
            lost_leases: remains.lost_leases,
            ends,
            expectations,
            reached: bench.checker.reached().collect(),
            moments: bench.checker.moments().clone(),
            covered: bench.checker.covered().clone(),
            not_judged: bench.checker.not_judged(),
            sites: remains.sites,
            healed: remains.healed,
        }
    }

    /// The digest: SHA-256 over the end of the running hash, the final state and the scenario.
    fn digest(&self, remains: &Remains) -> String {
        let mut sha = Sha256::new();
        sha.update(remains.hash.to_be_bytes());
        for run in remains.store.runs() {
            sha.update(run.spec.run.as_u128().to_be_bytes());
            sha.update(run.status.as_str());
            sha.update(u64::try_from(remains.store.log(run.spec.run).len()).unwrap_or(u64::MAX).to_be_bytes());
        }
        sha.update(self.document);
        sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn ends(&self, remains: &Remains, happened: &BTreeMap<Name, u64>) -> Ends {
        let mut ends = Ends::default();
        for (kind, count) in happened {
            ends.effects.entry(kind.clone()).or_default().happened = *count;
        }
        let mut last_end = self.setup.header.start;
        for run in remains.store.runs().filter(|run| run.spec.agent.kind() != PROBE) {
            let log = remains.store.log(run.spec.run);
            count_effects(log, &mut ends.effects);
            ends.runs.push(run_end(&run, log, remains));
            if let Some(entry) = log.last().filter(|entry| entry.body.ending().is_some()) {
                last_end = last_end.max(entry.ts);
            }
        }
        ends.dead_letters = remains
            .store
            .dead_letters()
            .map(|(agent, letter)| DeadLetter {
                agent: agent.clone(),
                message: letter.message.id,
                attempts: letter.attempts,
                error: letter.error,
            })
            .collect();
        for (agent, _, _) in remains.store.pending_mail() {
            *ends.pending.entry(agent.clone()).or_insert(0) += 1;
        }
        for user in self.scenario.users.keys() {
            let entries = remains.store.log(RunId::of_traces(user));
            let end = UserEnd::of(user, entries, remains.end, |run| remains.store.log(run));
            ends.users.insert(user.clone(), end);
        }
        ends.took = last_end.since(self.setup.header.start);
        ends
    }
}

impl Scenario {
    /// The cells that might have been covered, where these calls came up in these phases: every kind that can strike
    /// at such a call, whether or not the scenario names the kind. What was covered is not all among them: a call
    /// that dies before it is sent comes up nowhere.
    pub fn reachable(&self, moments: &Moments) -> Cells {
        let unlisted = sim::Tool::default();
        let mut cells = Cells::default();
        for (by_worker, call, phase) in moments.iter() {
            for tool in self.outside.values().chain([&unlisted]) {
                cells.insert_all(sim::kinds_at(call, by_worker, tool), call, phase);
            }
        }
        cells
    }
}

/// The most that any timer of a scenario may be late: by its faults, by its list, or as exhaust tries it.
fn timer_jitter(scenario: &Scenario) -> Span {
    let listed = scenario.deviations.iter().flatten().map(|deviation| match deviation.fault {
        Fault::TimerLate { by } => by,
        _ => Span::ZERO,
    });
    listed.fold(scenario.faults.timer_jitter().max(sim::EXHAUST_TIMER_LATE), Span::max)
}

/// Counts the ends of effects that a log holds.
fn count_effects(log: &[RunLogEntry], effects: &mut BTreeMap<Name, EffectCount>) {
    let mut kinds = BTreeMap::new();
    for entry in log {
        match &*entry.body {
            Body::ToolCalled { effect, .. } => {
                effects.entry(effect.kind.clone()).or_default();
                kinds.insert(effect.id, effect.kind.clone());
            }
            Body::ToolResult { result, .. } => {
                let Some(kind) = kinds.get(&result.effect_id) else { continue };
                let count = effects.entry(kind.clone()).or_default();
                count.recorded += u64::from(result.status == EffectStatus::Ok);
                count.in_doubt += u64::from(result.is_in_doubt());
            }
            _ => {}
        }
    }
}

fn run_end(run: &RunReport<'_>, log: &[RunLogEntry], remains: &Remains) -> RunEnd {
    let end = match run.status {
        RunStatus::Completed => End::Completed,
        RunStatus::Failed => End::Failed,
        RunStatus::Cancelled => End::Cancelled,
        RunStatus::Suspended if run.halted => End::Halted,
        RunStatus::Suspended => End::Sleeping,
        RunStatus::Pending => End::Pending,
        RunStatus::Running => End::Running,
    };
    let (code, output) = match log.last().and_then(|entry| entry.body.ending()) {
        Some(Ending::Failed { code, .. }) => (Some(*code), None),
        Some(Ending::Completed { output, .. }) => (None, Some(output.clone())),
        _ => (None, None),
    };
    let retries = log.iter().filter(|entry| matches!(&*entry.body, Body::RunRetrying { .. })).count();
    let last = usize::from(code == Some(FailureCode::AgentCrashed));
    let name = remains.aliases.get(&run.spec.run).cloned().unwrap_or_else(|| run.spec.run.to_string().into());
    RunEnd {
        alias: name.parse().unwrap_or_else(|_| super::model::Alias { agent: run.spec.agent.clone(), nth: 0 }),
        run: run.spec.run,
        agent: run.spec.agent.clone(),
        end,
        code,
        attempts: run.attempt.map_or(0, |attempt| attempt.0 + 1),
        failures: u32::try_from(retries + last).unwrap_or(u32::MAX),
        output,
        tree: run.spec.tree,
        counts: counts(log),
    }
}

/// What befell a run, as its log tells.
fn counts(log: &[RunLogEntry]) -> [u64; AgentFact::ALL.len()] {
    let mut counts = [0; AgentFact::ALL.len()];
    for entry in log {
        let (fact, times) = match &*entry.body {
            Body::MsgReceived { messages, .. } => (AgentFact::Received, messages.len() as u64),
            Body::ChildSpawned { .. } => (AgentFact::Spawned, 1),
            Body::SpawnDenied { .. } => (AgentFact::Denied, 1),
            Body::AskResolved { outcome, .. } => {
                let fact = match **outcome {
                    AskOutcome::Replied { .. } => AgentFact::Replied,
                    AskOutcome::TimedOut { .. } => AgentFact::TimedOut,
                    AskOutcome::TargetFailed { .. } => AgentFact::TargetFailed,
                    AskOutcome::TargetCancelled { .. } => AgentFact::TargetCancelled,
                };
                (fact, 1)
            }
            _ => continue,
        };
        counts[fact as usize] += times;
    }
    counts
}
