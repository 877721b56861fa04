//! What a history holds, in the terms in which it is told: runs by their names, calls from sending to return.

use std::collections::BTreeMap;

use crate::check::{Checker, Violation};
use crate::history::{Actor, Answer, Asked, CallNo, Change, Event, Header, Record};
use crate::kernel::{
    AgentId, Attempt, Body, CallError, Disposition, EffectId, Name, Policy, Reply, Request, RunId, Span, Step,
    Timestamp, TraceBody, WorkerId,
};
use crate::report::deviation::site_who;

/// A call, from its sending to its return; the numbers are places in the history.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    pub from: &'a Actor,
    pub asked: &'a Asked,
    pub sent: usize,
    /// Each time that its request took effect.
    pub applied: Vec<(usize, &'a Answer, &'a [Change])>,
    pub returned: Option<(usize, &'a Result<Answer, CallError>)>,
    /// The deviation that was taken for it.
    pub deviation: Option<usize>,
}

/// An effect, as its intent or its first request names it.
#[derive(Clone, Debug)]
pub(super) struct EffectOf {
    pub kind: Name,
    pub run: RunId,
    pub step: Step,
    pub policy: Option<Policy>,
}

/// A promise that was broken, and the place in the history at which that came to light.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The invariant's name; `expectation` for an expectation of the scenario.
    pub promise: String,
    /// What the promise is about, as the judge names it; the expectation's text for an expectation.
    pub subject: String,
    /// What is wrong, in the judge's words.
    pub message: String,
    /// The place of the event that brought it to light; none where the whole history did.
    pub place: Option<usize>,
}

/// A history with its names looked up.
pub(super) struct Facts<'a> {
    pub header: &'a Header,
    pub records: &'a [Record],
    pub names: BTreeMap<RunId, String>,
    pub addresses: BTreeMap<RunId, AgentId>,
    pub effects: BTreeMap<EffectId, EffectOf>,
    pub calls: BTreeMap<CallNo, Call<'a>>,
    /// Who was granted which lease, when, and until when.
    pub grants: BTreeMap<(RunId, Attempt), (WorkerId, Timestamp, Timestamp)>,
    /// The last place at which the store knew each lease to be held: its grant, or a renewal.
    pub renewals: BTreeMap<(RunId, Attempt), Timestamp>,
    /// Who each deviation befell.
    pub befallen: BTreeMap<usize, Actor>,
}

impl<'a> Facts<'a> {
    pub fn of(header: &'a Header, records: &'a [Record]) -> Facts<'a> {
        let mut facts = Facts {
            header,
            records,
            names: BTreeMap::new(),
            addresses: BTreeMap::new(),
            effects: BTreeMap::new(),
            calls: BTreeMap::new(),
            grants: BTreeMap::new(),
            renewals: BTreeMap::new(),
            befallen: BTreeMap::new(),
        };
        let mut counts = BTreeMap::new();
        for (place, record) in records.iter().enumerate() {
            facts.note(place, record, &mut counts);
        }
        for (place, record) in records.iter().enumerate() {
            if matches!(record.event, Event::Deviation { .. }) {
                facts.place_deviation(place);
            }
        }
        facts
    }

    fn note(&mut self, place: usize, record: &'a Record, counts: &mut BTreeMap<AgentId, u32>) {
        match &record.event {
            Event::Sent { call, from, asked } => {
                self.note_effect(asked);
                self.note_stream(asked);
                let call_facts =
                    Call { from, asked, sent: place, applied: Vec::new(), returned: None, deviation: None };
                self.calls.insert(*call, call_facts);
            }
            Event::Applied { call, answer, changes } => {
                for change in changes {
                    if let Change::Made { run, agent } | Change::Reserved { run, agent, .. } = change
                        && !self.names.contains_key(run)
                    {
                        let nth = counts.entry(agent.clone()).or_default();
                        *nth += 1;
                        let name = format!("{}#{nth}", self.agent(agent));
                        self.names.insert(*run, name);
                        self.addresses.insert(*run, agent.clone());
                    }
                }
                if let Some(call) = self.calls.get_mut(call) {
                    call.applied.push((place, answer, changes));
                    let asked = call.asked;
                    self.note_lease(record.at, asked, answer);
                }
            }
            Event::Returned { call, outcome } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.returned = Some((place, outcome));
                }
            }
            _ => {}
        }
    }

    /// Learns what the streams of the temporal layer are called, and the runs that its entries name.
    fn note_stream(&mut self, asked: &Asked) {
        let Asked::Store(Request::Append { body, .. }) = asked else { return };
        let Body::Trace(trace) = &**body else { return };
        let (run, name) = match &**trace {
            TraceBody::UserKnown { user } => (RunId::of_traces(user), format!("the traces of {user}")),
            TraceBody::PlanDispatched { run, agent, .. } => (*run, format!("{agent}#1")),
            _ => return,
        };
        self.names.entry(run).or_insert(name);
        self.names.entry(RunId::of_users()).or_insert_with(|| "the users".to_owned());
    }

    fn note_effect(&mut self, asked: &Asked) {
        match asked {
            Asked::Store(Request::Append { run, body, .. }) => {
                if let Body::ToolCalled { opening, effect, policy } = &**body {
                    let known = EffectOf { kind: effect.kind.clone(), run: *run, step: opening.step, policy: None };
                    self.effects.entry(effect.id).or_insert(known).policy.get_or_insert(*policy);
                }
            }
            Asked::Outside(perform) => {
                let effect = &perform.effect;
                let known = EffectOf { kind: effect.kind.clone(), run: perform.run, step: perform.step, policy: None };
                self.effects.entry(effect.id).or_insert(known);
            }
            Asked::Store(_) => {}
        }
    }

    fn note_lease(&mut self, at: Timestamp, asked: &Asked, answer: &Answer) {
        use crate::kernel::Heartbeat;
        match (asked, answer) {
            (_, Answer::Store(Reply::Leases(leases))) => {
                for lease in leases {
                    let key = (lease.key.run, lease.key.attempt);
                    self.addresses.entry(lease.key.run).or_insert_with(|| lease.spec.agent.clone());
                    self.grants.insert(key, (lease.key.worker.clone(), at, lease.expires_at));
                    self.renewals.insert(key, at);
                }
            }
            (Asked::Store(Request::Heartbeat { lease }), Answer::Store(Reply::Heartbeat(told)))
                if *told != Heartbeat::Lost =>
            {
                self.renewals.insert((lease.run, lease.attempt), at);
            }
            _ => {}
        }
    }

    /// Finds the call that a deviation was taken for, and whom it befell.
    fn place_deviation(&mut self, place: usize) {
        let Event::Deviation { site, .. } = &self.records[place].event else { return };
        let at = self.records[place].at;
        let mut near = self.records[place + 1..].iter().take(4).take_while(|record| record.at == at);
        let sent = near.find_map(|record| match &record.event {
            Event::Sent { call, from, .. } => Some((*call, from)),
            _ => None,
        });
        let befallen = self.actor_at(site);
        let who = site_who(site);
        let fits = |from: &Actor| befallen.as_ref().map_or_else(|| self.actor(from) == who, |actor| actor == from);
        if let Some((call, from)) = sent.filter(|(_, from)| fits(from)) {
            self.befallen.insert(place, from.clone());
            if let Some(call) = self.calls.get_mut(&call) {
                call.deviation = Some(place);
            }
        } else if let Some(actor) = befallen {
            self.befallen.insert(place, actor);
        }
    }

    /// The actor that the first words of a site name.
    fn actor_at(&self, site: &str) -> Option<Actor> {
        let mut words = site.split(" / ");
        let who = words.next()?;
        if who == "probe" {
            return Some(Actor::Probe);
        }
        if let Some(number) = who.strip_prefix("input ") {
            return number.parse().ok().map(Actor::Input);
        }
        let run = self.run_named(who)?;
        let attempt = words.next()?.strip_prefix("lease ")?.parse().ok().map(Attempt)?;
        self.grants.get(&(run, attempt)).map(|(worker, _, _)| Actor::Worker(worker.clone()))
    }

    /// The run of this name.
    pub fn run_named(&self, name: &str) -> Option<RunId> {
        self.names.iter().find(|(_, known)| *known == name).map(|(run, _)| *run)
    }

    /// A run's name for people.
    pub fn run(&self, run: RunId) -> String {
        self.names.get(&run).cloned().unwrap_or_else(|| run.to_string())
    }

    /// An address for people.
    pub fn agent(&self, agent: &AgentId) -> String {
        agent.told(|run| self.run(run))
    }

    /// An effect's name for people; with its step where its run has several of one tool.
    pub fn effect(&self, effect: EffectId) -> String {
        let Some(known) = self.effects.get(&effect) else { return effect.to_string() };
        let fellow = |other: &EffectOf| other.kind == known.kind && other.run == known.run && other.step != known.step;
        match self.effects.values().any(fellow) {
            true => format!("{} (step {})", known.kind, known.step),
            false => known.kind.to_string(),
        }
    }

    /// The effect that a site's call is about: `billing#1 / lease 0 / record stripe.charge step 0 / try 1`.
    pub fn effect_at(&self, site: &str) -> Option<EffectId> {
        let run = self.run_named(site_who(site))?;
        let what = site.split(" / ").skip(1).find(|part| part.contains(" step "))?;
        let (call, step) = what.split_once(" step ")?;
        let (_, kind) = call.split_once(' ')?;
        let mut effects = self.effects.iter();
        let found =
            effects.find(|(_, known)| known.run == run && *known.kind == *kind && known.step.to_string() == step);
        found.map(|(effect, _)| *effect)
    }

    /// Whether an effect had begun before the event at `place`: its intent stood in the log, or it was asked for.
    pub fn has_begun(&self, effect: EffectId, place: usize) -> bool {
        self.calls.values().any(|call| match call.asked {
            Asked::Outside(perform) => perform.effect.id == effect && call.sent < place,
            Asked::Store(Request::Append { body, .. }) => {
                matches!(&**body, Body::ToolCalled { effect: called, .. } if called.id == effect)
                    && call.applied.iter().any(|(applied, _, _)| *applied < place)
            }
            Asked::Store(_) => false,
        })
    }

    /// An effect's name with the step that it belongs to.
    pub fn effect_in_full(&self, effect: EffectId) -> String {
        match self.effects.get(&effect) {
            Some(known) => format!("{} of {}, step {}", known.kind, self.run(known.run), known.step),
            None => effect.to_string(),
        }
    }

    /// The id of a message, with the run in it by its name.
    pub fn message(&self, id: &str) -> String {
        if let Some(question) = id.strip_prefix("reply:") {
            return format!("reply:{}", self.message(question));
        }
        match id.split_once('.').and_then(|(run, rest)| Some((run.parse::<RunId>().ok()?, rest))) {
            Some((run, rest)) => format!("{}.{rest}", self.run(run)),
            None => id.to_owned(),
        }
    }

    /// Words of a judge, with runs and effects by their names instead of their ids.
    pub fn named(&self, text: &str) -> String {
        let mut named = text.to_owned();
        for (run, name) in &self.names {
            named = named.replace(&run.to_string(), name);
        }
        for effect in self.effects.keys() {
            let id = effect.to_string();
            if named.contains(&id) {
                named = named.replace(&id, &self.effect(*effect));
            }
        }
        named
    }

    /// Whether the request that is applied at a place took hold outside.
    pub fn took_hold(&self, place: usize) -> bool {
        let before = place.checked_sub(1).map(|before| &self.records[before].event);
        matches!((before, &self.records[place].event),
            (Some(Event::Happened { call, .. }), Event::Applied { call: applied, .. }) if call == applied)
    }

    /// How long after the start of the world.
    pub fn since_start(&self, at: Timestamp) -> Span {
        at.since(self.header.start)
    }

    pub fn at(&self, place: usize) -> Timestamp {
        self.records[place].at
    }

    /// The name of an actor; a worker keeps its name over its incarnations.
    pub fn actor(&self, actor: &Actor) -> String {
        match actor {
            Actor::Worker(worker) => worker.name.to_string(),
            Actor::Input(number) => format!("input {number}"),
            Actor::Probe => "the probe".to_owned(),
        }
    }
}

/// Judges a history anew, to know at which event each violation came to light; `told` are violations that were
/// found in another way, by playing agents again, and the expectations that did not come about.
pub(super) fn breaks(
    header: &Header,
    records: &[Record],
    told: &[Violation],
    missed: &[(String, String)],
) -> Vec<Break> {
    let mut checker = Checker::new(header);
    let mut found = Vec::new();
    for (place, record) in records.iter().enumerate() {
        checker.observe(record.at, &record.event);
        note_new(&checker, &mut found, Some(place));
    }
    checker.finish(records.last().map_or(header.start, |record| record.at));
    note_new(&checker, &mut found, None);
    for violation in told {
        let known = |found: &Break| found.promise == violation.invariant && found.subject == violation.subject;
        if !found.iter().any(known) {
            found.push(of_violation(violation, None));
        }
    }
    found.extend(missed.iter().map(|(text, message)| Break {
        promise: "expectation".to_owned(),
        subject: text.clone(),
        message: message.clone(),
        place: None,
    }));
    found
}

fn note_new(checker: &Checker, found: &mut Vec<Break>, place: Option<usize>) {
    let known = found.len();
    found.extend(checker.violations()[known..].iter().map(|violation| of_violation(violation, place)));
}

fn of_violation(violation: &Violation, place: Option<usize>) -> Break {
    Break {
        promise: violation.invariant.to_owned(),
        subject: violation.subject.clone(),
        message: violation.message.clone(),
        place,
    }
}

/// What becomes of a nacked message, in words.
pub(super) fn fate(disposition: &Disposition) -> &'static str {
    match disposition {
        Disposition::Again(_) => "to be tried again",
        Disposition::Dead(_) => "as a dead letter",
        Disposition::Ceiling(_) => "as the inbox sees fit",
    }
}
