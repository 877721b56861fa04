//! The turns of a story: what happened, one sentence for each event or call that matters.
//!
//! A call that went as calls go is one turn, at the instant it took effect. One that did not (lost, late, twice, in
//! vain) has a turn for each part that its caller or the world noticed.

use std::collections::{BTreeMap, BTreeSet};

use super::bearing::Bearing;
use super::deeds::{Deed, store_call};
use super::facts::{Call, Facts};
use super::focus::Focus;
use super::words::{about, befell, clock, noun, span, trigger};
use crate::history::{Actor, ActorChange, Answer, Asked, CallNo, Change, Event, Phase};
use crate::kernel::{Attempt, CallError, EffectId, Lease, Performed, Reply, Request, Span, Trigger};
use crate::report::deviation::site_who;
use crate::sim::Fault;

/// How much a turn matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// As in every run.
    Routine,
    /// A step of the protocol about the subject.
    Step,
    /// What somebody found out, or what happened outside.
    Telling,
    /// What deviated.
    Deviation,
    /// What broke the promise.
    Break,
}

/// Something that happened, as a sentence: who, and what they did.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// The event's place in the history.
    pub place: usize,
    pub who: String,
    /// The sentence without its subject: `wrote entry 2, tool.called stripe.charge`.
    pub said: String,
    /// The same, shorter, for a headline; none for a turn that no headline needs.
    pub brief: Option<String>,
    pub weight: Weight,
    /// The actor whose beliefs explain the turn.
    pub actor: Option<Actor>,
    /// The place of the deviation that the turn tells of.
    pub struck: Option<usize>,
    pub bearing: Bearing,
}

/// A call that arrives so much later than it was sent, or whose reply does, is late.
pub(super) const LATE: Span = Span::from_secs(1);

/// Makes the turns of a history about a focus.
pub(super) struct Teller<'a> {
    facts: &'a Facts<'a>,
    focus: &'a Focus,
    turns: Vec<Turn>,
    /// How often each effect has happened so far.
    happened: BTreeMap<EffectId, u32>,
}

/// Whether a call waits at the store for something to tell: that it takes long is no news.
fn waits(asked: &Asked) -> bool {
    matches!(asked, Asked::Store(Request::Tail { .. }))
}

impl<'a> Teller<'a> {
    /// All turns, in the order of the history.
    pub fn tell(facts: &'a Facts<'a>, focus: &'a Focus) -> Vec<Turn> {
        let mut teller = Teller { facts, focus, turns: Vec::new(), happened: BTreeMap::new() };
        let mut struck: BTreeMap<String, usize> = BTreeMap::new();
        let mut bent = BTreeSet::new();
        for (place, record) in facts.records.iter().enumerate() {
            match &record.event {
                Event::Sent { call, .. } => {
                    teller.sent(place, *call);
                    teller.bent(place, *call, &mut bent);
                }
                Event::Applied { call, answer, changes } => {
                    teller.applied(place, *call, answer, changes);
                    teller.bent(place, *call, &mut bent);
                }
                Event::Returned { call, outcome } => {
                    teller.returned(place, *call, outcome);
                    teller.bent(place, *call, &mut bent);
                }
                Event::Deviation { site, fault, .. } => {
                    if let Some(actor) = facts.befallen.get(&place) {
                        struck.insert(facts.actor(actor), place);
                    }
                    teller.deviated(place, site, fault);
                }
                Event::Actor { actor, change } => {
                    let fault = struck.get(&facts.actor(actor)).copied();
                    teller.actor_changed(place, actor, *change, fault);
                }
                Event::StoreReach { up } => {
                    let said = if *up { "can be reached again" } else { "is out of reach" };
                    teller.push(place, "the store", said.to_owned(), Weight::Step, None);
                }
                Event::Phase(Phase::Healed) => {
                    teller.push(place, "the world", "healed: no faults from here on".to_owned(), Weight::Routine, None);
                }
                Event::Refused { by, code, message } => {
                    let said = format!("was refused what it asked for ({code}): {message}");
                    teller.push(place, &facts.actor(by), said, Weight::Step, None);
                }
                Event::Happened { effect, .. } => *teller.happened.entry(*effect).or_default() += 1,
                Event::Entered { .. } | Event::Gave { .. } | Event::LetGo { .. } | Event::Phase(_) => {}
            }
        }
        let bearings: Vec<Bearing> = teller.turns.iter().map(|turn| Bearing::of(facts, focus, turn)).collect();
        teller.turns.iter_mut().zip(bearings).for_each(|(turn, bearing)| turn.bearing = bearing);
        teller.turns
    }

    fn push(&mut self, place: usize, who: &str, said: String, weight: Weight, actor: Option<&Actor>) {
        let brief = (weight >= Weight::Telling).then(|| said.clone());
        let (who, actor) = (who.to_owned(), actor.cloned());
        let (struck, bearing) = (None, Bearing::Aside);
        self.turns.push(Turn { place, who, said, brief, weight, actor, struck, bearing });
    }

    fn brief(&mut self, brief: String) {
        if let Some(last) = self.turns.last_mut() {
            last.brief = Some(brief);
        }
    }

    /// A call that never took effect, or much later, is told when it is sent.
    fn sent(&mut self, place: usize, number: CallNo) {
        let call = &self.facts.calls[&number];
        if !self.focus.concerns(self.facts, call.asked) {
            return;
        }
        let late =
            call.applied.first().is_none_or(|(applied, _, _)| self.is_late(place, *applied) && !waits(call.asked));
        if !late {
            return;
        }
        let (what, who) = (asks(self.facts, call.asked), self.facts.actor(call.from));
        let end = match call.applied.first() {
            None => "; it never took effect".to_owned(),
            Some((applied, _, _)) => {
                format!("; the request arrived {} later", span(self.facts.at(*applied).since(self.facts.at(place))))
            }
        };
        let weight = if matches!(call.asked, Asked::Outside(_)) { Weight::Telling } else { Weight::Step };
        self.push(place, &who, format!("{what}{end}"), weight, Some(call.from));
        // What befell the call says that it was sent.
        if let Some(last) = self.turns.last_mut() {
            last.brief = (weight == Weight::Telling && call.deviation.is_none()).then_some(what);
        }
    }

    /// The first turn of a call that a fault bent tells of the deviation; `bent` are the calls whose turn did.
    fn bent(&mut self, place: usize, number: CallNo, bent: &mut BTreeSet<CallNo>) {
        let Some(call) = self.facts.calls.get(&number) else { return };
        let Some(deviation) = call.deviation else { return };
        let Event::Deviation { site, fault, .. } = &self.facts.records[deviation].event else { return };
        let Some(fault) = serde_json::from_str::<Fault>(fault).ok().filter(bends_call) else { return };
        if let Some(last) = self.turns.last_mut().filter(|last| last.place == place)
            && bent.insert(number)
        {
            last.weight = Weight::Deviation;
            last.struck = Some(deviation);
            let befell = befell(self.facts, &fault, site);
            let who = self.facts.actor(call.from);
            last.brief = Some(if last.who.is_empty() { format!("{who} {befell}") } else { befell });
        }
    }

    /// Whether the caller had died or frozen before its request took effect.
    fn is_gone(&self, call: &Call<'_>, place: usize) -> bool {
        let from = call.deviation.unwrap_or(call.sent).min(call.sent);
        self.facts.records[from..place].iter().any(|record| match &record.event {
            Event::Actor { actor, change: ActorChange::Crashed | ActorChange::Paused } => actor == call.from,
            _ => false,
        })
    }

    fn is_late(&self, from: usize, to: usize) -> bool {
        self.facts.at(to).since(self.facts.at(from)) > LATE
    }

    fn applied(&mut self, place: usize, number: CallNo, answer: &Answer, changes: &[Change]) {
        self.changed(place, changes);
        let Some(call) = self.facts.calls.get(&number) else { return };
        if let (Asked::Store(Request::Lease { .. }), Answer::Store(Reply::Leases(leases))) = (call.asked, answer) {
            for lease in leases.iter().filter(|lease| self.focus.runs.contains(&lease.key.run)) {
                self.granted(place, call, lease);
            }
            return;
        }
        if !self.focus.concerns(self.facts, call.asked) && !self.focus.touched(answer, changes) {
            return;
        }
        let nth = call.applied.iter().position(|(applied, _, _)| *applied == place).unwrap_or(0);
        let who = self.facts.actor(call.from);
        let Deed { said, brief, weight } = self.did(place, call, answer);
        let late = self.is_late(call.sent, place) && !waits(call.asked);
        let gone = self.is_gone(call, place);
        if nth > 0 || late || gone {
            let what = noun(self.facts, call.asked);
            let ago = span(self.facts.at(place).since(self.facts.at(call.sent)));
            let how = if nth > 0 { "arrived again" } else { "arrived" };
            let outcome = self.outcome(place, call, answer);
            let (text, brief) = match (nth, late) {
                (0, false) => {
                    let came = if outcome.starts_with("it took hold") { "took hold" } else { "arrived" };
                    (format!("{what} of {who} arrived: {outcome}"), format!("{what} of {who} {came}"))
                }
                (0, true) => {
                    let about = about(self.facts.at(place).since(self.facts.at(call.sent)));
                    let brief = format!("{what} of {who} landed {about} after it was sent");
                    (format!("{what}, sent {ago} before by {who}, {how}: {outcome}"), brief)
                }
                _ => {
                    let brief = format!("{what} of {who} arrived again");
                    (format!("{what}, sent {ago} before by {who}, {how}: {outcome}"), brief)
                }
            };
            self.push(place, "", text, weight.max(Weight::Telling), Some(call.from));
            return self.brief(brief);
        }
        let unseen = match call.returned {
            None => "; nobody saw the reply",
            Some((_, Ok(_))) => "",
            Some((_, Err(_))) => "; the reply was lost",
        };
        self.push(place, &who, format!("{said}{unseen}"), weight, Some(call.from));
        if let Some(last) = self.turns.last_mut() {
            last.brief = brief.filter(|_| weight >= Weight::Telling);
        }
    }

    /// What a run's state became beside the answer.
    fn changed(&mut self, place: usize, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Moved { run, trigger: Some(by), .. } if self.focus.runs.contains(run) => {
                    let weight = if *by == Trigger::Reclaim { Weight::Routine } else { Weight::Step };
                    let name = self.facts.run(*run);
                    self.push(place, &name, format!("was queued: {}", trigger(by)), weight, None);
                }
                Change::Made { run, .. } if self.focus.runs.contains(run) => {
                    let name = self.facts.run(*run);
                    self.push(place, &name, "was made".to_owned(), Weight::Step, None);
                }
                Change::Swept { run } if self.focus.runs.contains(run) => {
                    let name = self.facts.run(*run);
                    self.push(place, &name, "was given up before it was made".to_owned(), Weight::Telling, None);
                }
                Change::Settled { message, dead: true, .. } if self.focus.mail.contains(&**message) => {
                    let name = self.facts.message(message);
                    self.push(place, &name, "became a dead letter".to_owned(), Weight::Telling, None);
                }
                _ => {}
            }
        }
    }

    fn granted(&mut self, place: usize, call: &Call<'_>, lease: &Lease) {
        let facts = self.facts;
        let (run, attempt) = (facts.run(lease.key.run), lease.key.attempt);
        let until = clock(facts, lease.expires_at);
        let who = facts.actor(call.from);
        let former = attempt.0.checked_sub(1).and_then(|before| {
            let key = (lease.key.run, Attempt(before));
            Some((&facts.grants.get(&key)?.0, *facts.renewals.get(&key)?))
        });
        let reclaimed = lease.woken_by.contains(&Trigger::Reclaim);
        match former.filter(|_| reclaimed) {
            Some((holder, heard)) => {
                let silent = span(facts.at(place).since(heard));
                let said = format!(
                    "took {run} over from {} (lease {attempt}, until {until}), of whom the store had heard nothing for {silent}",
                    holder.name
                );
                self.push(place, &who, said, Weight::Telling, Some(call.from));
                self.brief(format!("took over after {}", about(self.facts.at(place).since(heard))));
            }
            None => {
                let said = format!("was granted {run} (lease {attempt}, until {until})");
                self.push(place, &who, said, Weight::Telling, Some(call.from));
                if let Some(last) = self.turns.last_mut() {
                    last.brief = None;
                }
            }
        }
    }

    /// What a call that took effect at once did: in full, in short, and how much that matters.
    fn did(&self, place: usize, call: &Call<'_>, answer: &Answer) -> Deed {
        let facts = self.facts;
        match (call.asked, answer) {
            (Asked::Outside(perform), Answer::Outside(performed)) => {
                let effect = &perform.effect;
                let name = facts.effect(effect.id);
                let outcome = self.outcome(place, call, answer);
                let again =
                    self.facts.took_hold(place) && self.happened.get(&effect.id).is_some_and(|times| *times > 1);
                let brief = match performed {
                    Performed::Done(_) if again => format!("performed {name} again"),
                    Performed::Done(_) => format!("performed {name}"),
                    Performed::Refused { .. } => format!("was refused {name}"),
                    Performed::Unknown => format!("got no clear answer to {name}"),
                };
                let own = self.focus.effects.is_empty() || self.focus.effects.contains(&effect.id);
                let weight = if own { Weight::Telling } else { Weight::Step };
                Deed { said: format!("asked for {name}: {outcome}"), brief: Some(brief), weight }
            }
            (Asked::Store(request), Answer::Store(reply)) => store_call(facts, self.focus, request, reply),
            _ => Deed { said: asks(facts, call.asked), brief: None, weight: Weight::Routine },
        }
    }

    /// What came of a call.
    fn outcome(&self, place: usize, call: &Call<'_>, answer: &Answer) -> String {
        match (call.asked, answer) {
            (Asked::Outside(perform), Answer::Outside(performed)) => {
                let hold = match (self.facts.took_hold(place), self.happened.get(&perform.effect.id)) {
                    (false, _) => None,
                    (true, None | Some(1)) => Some("it took hold".to_owned()),
                    (true, Some(times)) => Some(format!("it took hold, for the {} time", ordinal(*times))),
                };
                match (performed, hold) {
                    (Performed::Done(_), None) => "the tool knew its key, and did nothing more".to_owned(),
                    (Performed::Done(_), Some(hold)) => hold,
                    (Performed::Refused { reason, .. }, _) => format!("it was refused ({reason})"),
                    (Performed::Unknown, None) => "the tool could not vouch for the outcome".to_owned(),
                    (Performed::Unknown, Some(hold)) => format!("{hold}, and the tool could not vouch for it"),
                }
            }
            (Asked::Store(request), Answer::Store(reply)) => {
                let deed = store_call(self.facts, self.focus, request, reply);
                format!("{} {}", self.facts.actor(call.from), deed.said)
            }
            _ => "it took effect".to_owned(),
        }
    }

    /// A call is told once more when it came back in another way than at once.
    fn returned(&mut self, place: usize, number: CallNo, outcome: &Result<Answer, CallError>) {
        let Some(call) = self.facts.calls.get(&number) else { return };
        if !self.focus.concerns(self.facts, call.asked) {
            return;
        }
        let (who, what) = (self.facts.actor(call.from), noun(self.facts, call.asked));
        match outcome {
            Err(CallError::Unknown) => {
                let waited = span(self.facts.at(place).since(self.facts.at(call.sent)));
                let said = format!("gave {what} up after {waited}: nobody told whether it took effect");
                self.push(place, &who, said, Weight::Telling, Some(call.from));
                self.brief(format!("could not tell whether {what} had taken effect"));
            }
            Err(CallError::Unavailable) => {
                let said = format!("was told that the store does not take {what}");
                self.push(place, &who, said, Weight::Step, Some(call.from));
            }
            Ok(_) if call.applied.last().is_some_and(|(applied, _, _)| self.is_late(*applied, place)) => {
                let waited = span(self.facts.at(place).since(self.facts.at(call.sent)));
                let said = format!("saw the reply to {what}, {waited} after it had asked");
                self.push(place, &who, said, Weight::Step, Some(call.from));
            }
            Ok(_) => {}
        }
    }

    /// A deviation that shows in no call of its own and in no change of an actor.
    fn deviated(&mut self, place: usize, site: &str, words: &str) {
        let Ok(fault) = serde_json::from_str::<Fault>(words) else { return };
        let who = match self.facts.befallen.get(&place) {
            Some(actor) => self.facts.actor(actor),
            None => site_who(site).to_owned(),
        };
        let of_actor = matches!(fault, Fault::Crash { .. } | Fault::Pause { .. } | Fault::Partition { .. });
        let of_call = bends_call(&fault) && self.facts.calls.values().any(|call| call.deviation == Some(place));
        let shows_elsewhere = of_actor || of_call;
        if !shows_elsewhere {
            let weight = if self.matters(place, site) { Weight::Deviation } else { Weight::Routine };
            let actor = self.facts.befallen.get(&place);
            self.push(place, &who, befell(self.facts, &fault, site), weight, actor);
            self.strikes(place);
        }
    }

    /// Whether a deviation befell a subject, or somebody who ever had to do with one.
    fn matters(&self, place: usize, site: &str) -> bool {
        let who = site_who(site);
        let subject = self.facts.run_named(who).is_some_and(|run| self.focus.runs.contains(&run));
        let client = self.facts.befallen.get(&place).is_some_and(|actor| !matches!(actor, Actor::Worker(_)));
        subject || client || self.is_holder(who)
    }

    /// Whether a worker of this name ever held a subject.
    fn is_holder(&self, name: &str) -> bool {
        let mut grants = self.facts.grants.iter();
        grants.any(|((run, _), (worker, _, _))| self.focus.runs.contains(run) && *worker.name == *name)
    }

    fn actor_changed(&mut self, place: usize, actor: &Actor, change: ActorChange, struck: Option<usize>) {
        let who = self.facts.actor(actor);
        let incarnation = if let Actor::Worker(worker) = actor { worker.incarnation } else { 0 };
        let by = struck.and_then(|struck| match &self.facts.records[struck].event {
            Event::Deviation { site, fault, .. } if self.matters(struck, site) => {
                let fault: Fault = serde_json::from_str(fault).ok()?;
                fits(change, &fault).then(|| befell(self.facts, &fault, site))
            }
            _ => None,
        });
        if by.is_none() && !self.is_holder(&who) {
            return;
        }
        let told = by.is_some().then_some(struck).flatten();
        let (said, weight) = match (change, by) {
            (ActorChange::Started, _) if incarnation == 0 => return,
            (_, Some(by)) => (by, Weight::Deviation),
            (ActorChange::Started, _) => ("started anew, with nothing in memory".to_owned(), Weight::Routine),
            (ActorChange::Crashed, _) => ("died".to_owned(), Weight::Telling),
            (ActorChange::Paused, _) => ("froze".to_owned(), Weight::Telling),
            (ActorChange::Resumed, _) => ("went on where it was".to_owned(), Weight::Telling),
            (ActorChange::CutOff, _) => ("was cut off".to_owned(), Weight::Telling),
            (ActorChange::Reachable, _) => ("could be reached again".to_owned(), Weight::Step),
            (ActorChange::Stopping, _) => ("was asked to stop".to_owned(), Weight::Step),
            (ActorChange::Stopped, _) => ("stopped".to_owned(), Weight::Step),
        };
        self.push(place, &who, said, weight, Some(actor));
        if let Some(struck) = told {
            self.strikes(struck);
        }
    }

    /// The last turn tells of the deviation at `struck`.
    fn strikes(&mut self, struck: usize) {
        if let Some(last) = self.turns.last_mut() {
            last.struck = Some(struck);
        }
    }
}

/// Whether a fault shows in the call that it is taken for.
fn bends_call(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::LostRequest
            | Fault::LostReply
            | Fault::StoreError
            | Fault::Duplicate { .. }
            | Fault::DelayRequest { .. }
            | Fault::DelayReply { .. }
            | Fault::Hold { .. }
            | Fault::ToolSlow { .. }
            | Fault::ToolRefuses { .. }
            | Fault::ToolUnknown { .. }
            | Fault::ToolMalformed
    )
}

/// Whether a change of an actor is what a fault does to it.
fn fits(change: ActorChange, fault: &Fault) -> bool {
    matches!(
        (change, fault),
        (ActorChange::Crashed, Fault::Crash { .. })
            | (ActorChange::Paused, Fault::Pause { .. })
            | (ActorChange::CutOff, Fault::Partition { .. })
    )
}

/// What a call asks for, as a verb: `asked for stripe.charge`.
fn asks(facts: &Facts<'_>, asked: &Asked) -> String {
    match asked {
        Asked::Outside(perform) => format!("asked for {}", facts.effect(perform.effect.id)),
        Asked::Store(_) => format!("sent {}", noun(facts, asked)),
    }
}

pub(super) fn ordinal(number: u32) -> String {
    match number {
        1 => "first".to_owned(),
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        number => format!("{number}th"),
    }
}
