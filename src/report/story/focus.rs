//! What a broken promise is about: the runs, effects and messages whose events belong to its story.

use std::collections::BTreeSet;

use super::facts::{Break, Facts};
use crate::history::{Answer, Asked, Change, Event};
use crate::kernel::{Body, EffectId, Name, Reply, Request, RunId, TraceBody};
use crate::report::deviation::site_who;

/// The subjects of a story.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Focus {
    pub runs: BTreeSet<RunId>,
    /// The effects that the promise is about; not all those of the runs.
    pub effects: BTreeSet<EffectId>,
    pub mail: BTreeSet<String>,
    /// Plans and occurrences, by their user's trace log and their name.
    pub plans: BTreeSet<(RunId, String)>,
}

/// So many runs are followed at most where the promise names none.
const RUNS_MOST: usize = 3;

impl Focus {
    /// What `broken` is about, by the ids and names in its words; else the runs that the deviations befell.
    pub fn of(facts: &Facts<'_>, broken: &Break) -> Focus {
        let mut focus = Focus::default();
        focus.take_ids(facts, &broken.subject);
        focus.take_ids(facts, &broken.message);
        focus.take_names(facts, &broken.subject);
        focus.take_mail(facts, &broken.subject);
        match expected_plan(broken) {
            Some(subject) => focus.take_plan(facts, &subject),
            None => focus.take_plan(facts, &broken.subject),
        }
        focus.runs.extend(focus.effects.iter().filter_map(|effect| Some(facts.effects.get(effect)?.run)));
        if focus.runs.is_empty() {
            focus.take_receivers(facts);
        }
        if focus.runs.is_empty() && focus.mail.is_empty() {
            focus.take_befallen(facts);
        }
        if focus.runs.is_empty() && focus.mail.is_empty() {
            let own = facts.names.iter().filter(|(_, name)| !name.starts_with("probe#"));
            focus.runs.extend(own.map(|(run, _)| *run).take(RUNS_MOST));
        }
        focus
    }

    fn take_ids(&mut self, facts: &Facts<'_>, text: &str) {
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric()) {
            if let Some(run) = word.parse().ok().filter(|run| facts.addresses.contains_key(run)) {
                self.runs.insert(run);
            }
            if let Some(effect) = word.parse().ok().filter(|effect| facts.effects.contains_key(effect)) {
                self.effects.insert(effect);
            }
        }
    }

    /// Kinds of effects, runs and addresses that a text names.
    fn take_names(&mut self, facts: &Facts<'_>, text: &str) {
        let words: BTreeSet<&str> = text.split(' ').map(|word| word.trim_matches([',', ':', '`', '.'])).collect();
        let kinds = facts.effects.iter().filter(|(_, known)| words.contains(&*known.kind));
        self.effects.extend(kinds.map(|(effect, _)| *effect));
        let runs = facts.names.iter().filter(|(_, name)| {
            let agent = name.rsplit_once('#').map_or(name.as_str(), |(agent, _)| agent);
            words.contains(name.as_str()) || words.contains(agent)
        });
        self.runs.extend(runs.map(|(run, _)| *run));
    }

    fn take_mail(&mut self, facts: &Facts<'_>, subject: &str) {
        let id = subject.rsplit(' ').next().unwrap_or(subject);
        let delivered = facts.calls.values().any(|call| match call.asked {
            Asked::Store(Request::Deliver { message, .. }) => *message.id == *id,
            _ => false,
        });
        if delivered {
            self.mail.insert(id.to_owned());
        }
    }

    /// The plan or occurrence of a user that a subject is: `ana inbox#1`.
    fn take_plan(&mut self, facts: &Facts<'_>, subject: &str) {
        let Some((user, what)) = subject.split_once(' ') else { return };
        let stream = RunId::of_traces(user);
        if !facts.names.contains_key(&stream) {
            return;
        }
        self.plans.insert((stream, what.to_owned()));
        let begins = format!("/{user}/{what}#");
        let runs = facts.names.iter().filter(|(_, name)| name.contains(&begins));
        self.runs.extend(runs.map(|(run, _)| *run));
    }

    /// Whether an entry of a trace log is about a plan of the story, or about a run of it.
    fn plans(&self, stream: &RunId, body: &Body) -> bool {
        let Body::Trace(trace) = body else { return false };
        if let TraceBody::MemoryCommitted { run, .. } = &**trace {
            return self.runs.contains(run);
        }
        // That of a whole plan belongs to each of its occurrences, and the other way round.
        let subject = trace.subject();
        let name = subject.split(' ').next().unwrap_or_default();
        let is_of =
            |occurrence: &str, plan: &str| occurrence.strip_prefix(plan).is_some_and(|rest| rest.starts_with('#'));
        let related = |known: &str| known == name || is_of(known, name) || is_of(name, known);
        self.plans.iter().any(|(log, known)| log == stream && related(known))
    }

    /// The runs that received the mail.
    fn take_receivers(&mut self, facts: &Facts<'_>) {
        for call in facts.calls.values() {
            if let Asked::Store(Request::Append { run, body, .. }) = call.asked
                && let Body::MsgReceived { messages, .. } = &**body
                && messages.iter().any(|received| self.mail.contains(&*received.message.id))
            {
                self.runs.insert(*run);
            }
        }
    }

    fn take_befallen(&mut self, facts: &Facts<'_>) {
        for record in facts.records {
            if let Event::Deviation { site, .. } = &record.event {
                let who = site_who(site);
                self.runs.extend(facts.run_named(who));
            }
        }
    }

    /// Whether what was asked is about a subject.
    pub fn concerns(&self, facts: &Facts<'_>, asked: &Asked) -> bool {
        let run = |run: &RunId| self.runs.contains(run);
        let effect = |id: &EffectId| self.effects.contains(id) || facts.effects.get(id).is_some_and(|of| run(&of.run));
        let mail = |id: &Name| self.mail.contains(&**id);
        match asked {
            Asked::Outside(perform) => run(&perform.run) || effect(&perform.effect.id),
            Asked::Store(request) => match request {
                Request::Append { run: of, body, .. } => run(of) || self.plans(of, body),
                Request::Read { run: of, .. }
                | Request::Tail { run: of, .. }
                | Request::LastSeq { run: of }
                | Request::Drain { run: of, .. }
                | Request::Spec { run: of }
                | Request::Wake { run: of, .. }
                | Request::Resume { run: of }
                | Request::Cancel { run: of, .. }
                | Request::Status { run: of }
                | Request::Signal { run: of, .. }
                | Request::Timer { run: of, .. }
                | Request::Claim { run: of, .. } => run(of),
                Request::Ack { message, run: of, .. } | Request::Nack { message, run: of, .. } => {
                    run(of) || mail(message)
                }
                Request::Heartbeat { lease } | Request::Release { lease, .. } => run(&lease.run),
                Request::Create { spec, .. } => run(&spec.run),
                Request::Lookup { effect: id } => effect(id),
                Request::Record { result } => effect(&result.effect_id),
                Request::Deliver { message, .. } => mail(&message.id),
                Request::Redrive { message, .. } | Request::Receiver { message, .. } => mail(message),
                _ => false,
            },
        }
    }

    /// Whether what was asked is about one of the effects or messages that the promise is about, not only about their run.
    pub fn is_subject(&self, asked: &Asked) -> bool {
        let effect = |id: &EffectId| self.effects.contains(id);
        let mail = |id: &Name| self.mail.contains(&**id);
        match asked {
            Asked::Outside(perform) => effect(&perform.effect.id),
            Asked::Store(request) => match request {
                Request::Append { body, .. } => match &**body {
                    Body::ToolCalled { effect: called, .. } => effect(&called.id),
                    Body::ToolResult { result, .. } => effect(&result.effect_id),
                    Body::MsgReceived { messages, .. } => messages.iter().any(|got| mail(&got.message.id)),
                    _ => false,
                },
                Request::Lookup { effect: id } => effect(id),
                Request::Record { result } => effect(&result.effect_id),
                Request::Deliver { message, .. } => mail(&message.id),
                Request::Ack { message, .. }
                | Request::Nack { message, .. }
                | Request::Redrive { message, .. }
                | Request::Receiver { message, .. } => mail(message),
                _ => false,
            },
        }
    }

    /// Whether an answer, or a change that it came with, is about a subject.
    pub fn touched(&self, answer: &Answer, changes: &[Change]) -> bool {
        let granted = match answer {
            Answer::Store(Reply::Leases(leases)) => leases.iter().any(|lease| self.runs.contains(&lease.key.run)),
            _ => false,
        };
        granted
            || changes.iter().any(|change| match change {
                Change::Made { run, .. }
                | Change::Moved { run, .. }
                | Change::Reserved { run, .. }
                | Change::Swept { run }
                | Change::Returned { run }
                | Change::Replanted { run, .. } => self.runs.contains(run),
                Change::Following { .. } => false,
                Change::Spent { key, .. } => self.effects.contains(key),
                Change::Stored { message, .. } | Change::Settled { message, .. } => self.mail.contains(&**message),
            })
    }
}

/// The plan or occurrence that an expectation is about, as a judge would name it: of `plan call of ana …`, for which
/// `call#2: …` came about, `ana call#2`.
fn expected_plan(broken: &Break) -> Option<String> {
    let (plan, rest) = broken.subject.strip_prefix("plan ")?.split_once(" of ")?;
    let user = rest.split(' ').next()?;
    let told = broken.message.split_once(": ").map(|(told, _)| told);
    let what = told.filter(|told| *told == plan || told.starts_with(&format!("{plan}#"))).unwrap_or(plan);
    (broken.promise == "expectation").then(|| format!("{user} {what}"))
}
