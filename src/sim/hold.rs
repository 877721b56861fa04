//! Holds: requests that are kept on their way until another call was applied.
//!
//! A listed hold names the other call's site. A drawn one takes the next call of another actor about the same address
//! that is applied within a lease, and what is recorded names that call's site: so the recorded list plays the same
//! history. The history tells a hold twice: that it begins ([`Event::Deviation`], which does not say for what) and that
//! it ends ([`Event::LetGo`], which does).

use super::core::{Caller, Core, Due};
use super::schedule::Fault;
use super::site::{Site, Who, Words};
use crate::history::{About, Asked, Event, RunningHash};
use crate::kernel::{EffectId, Name, Request, RunId};

/// A request that is held back.
pub(super) struct Held {
    /// Counts the holds of a world.
    number: u32,
    /// Its call, of which this is one use.
    place: u32,
    /// Whose call it is.
    by: By,
    until: Until,
    /// The place of its deviation among those that were taken.
    taken: usize,
}

/// What lets a held request go, before its time.
#[derive(Hash)]
enum Until {
    /// The call at the site of this name.
    Named(Name),
    /// The next call by somebody else about this address.
    NextAbout(Name),
    /// Nothing.
    Never,
}

/// Whose call it is: a worker's in one of its incarnations, or a client's.
pub(super) type By = (Caller, u32);

/// The site of a call that was made, and in whose name.
pub(super) type Named = (Who, Site);

impl Core {
    /// Whose call it is that `caller` makes now.
    pub fn by(&self, caller: Caller) -> By {
        match caller {
            Caller::Worker(worker) => (caller, self.workers[worker].incarnation),
            Caller::Input(_) | Caller::Probe => (caller, 0),
        }
    }

    /// What a call is about: what it says itself, or the run of its effect.
    pub fn about<'a>(&self, asked: &'a Asked) -> About<'a> {
        let of_effect =
            |effect: EffectId| self.effects.get(&effect).map_or(About::Neither, |known| About::Run(known.0));
        match asked {
            Asked::Store(Request::Lookup { effect }) => of_effect(*effect),
            Asked::Store(Request::Record { result }) => of_effect(result.effect_id),
            _ => asked.about(),
        }
    }

    /// Adds the held requests, and what they wait for, to the state of the world.
    pub fn note_held(&self, state: &mut RunningHash) {
        state.note(&self.holds);
        self.held.iter().for_each(|held| state.note(&(held.number, held.place, held.by, &held.until)));
    }

    fn words(&self) -> Words<'_> {
        Words { aliases: &self.aliases, workers: &self.worker_names, effects: &self.effects }
    }

    /// The request at `place`, which has been sent, is held back as its fault says.
    pub fn hold(&mut self, place: u32) {
        let call = self.calls.at(place);
        let (asked, by) = (call.asked.clone(), call.by);
        let Some(Fault::Hold { until, most }) = call.fault.clone() else { return };
        call.uses += 1;
        let until = match until {
            Some(name) => Until::Named(name),
            None if self.decider.draws() => {
                let address = self.words().address(self.about(&asked));
                address.map_or(Until::Never, Until::NextAbout)
            }
            None => Until::Never,
        };
        let (number, taken) = (self.holds, self.decider.taken.len() - 1);
        self.holds += 1;
        self.held.push(Held { number, place, by, until, taken });
        if let Some(most) = most {
            self.agenda.push(self.now + most, Due::LetGo { hold: number });
        }
        self.time_out(place);
    }

    /// Whether a request is still held.
    pub fn is_held(&self, hold: u32) -> bool {
        self.held.iter().any(|held| held.number == hold)
    }

    /// A hold has lasted for as long as it may.
    pub fn let_go_in_time(&mut self, hold: u32) {
        if let Some(found) = self.held.iter().position(|held| held.number == hold) {
            self.let_go(found, None);
        }
    }

    /// Nothing else is due: the request that has been held longest goes on. Whether there was one.
    pub fn let_go_eldest(&mut self) -> bool {
        let any = !self.held.is_empty();
        if any {
            self.let_go(0, None);
        }
        any
    }

    /// A call was applied: the requests that were held for it arrive, in the order in which they were sent.
    /// `granted` is the run that names the site of a grant.
    pub fn let_go_after(&mut self, place: u32, granted: Option<RunId>) {
        while !self.held.is_empty() {
            let call = self.calls.at(place);
            let Some((who, site)) = call.named.as_deref().copied() else { return };
            let (by, asked) = (call.by, call.asked.clone());
            let about = granted.map_or_else(|| self.about(&asked), About::Run);
            let address = self.words().address(about);
            let lets_go = |held: &Held| match &held.until {
                Until::Named(name) => self.decider.key_of(name) == Some(site.key()),
                Until::NextAbout(wanted) => held.by != by && address.as_ref() == Some(wanted),
                Until::Never => false,
            };
            let Some(found) = self.held.iter().position(lets_go) else { return };
            let name = match asked {
                Asked::Store(Request::Lease { .. }) => self.words().other(who, GRANTED, site.nth),
                _ => self.words().call(who, &asked, site.nth),
            };
            self.let_go(found, Some(name));
        }
    }

    fn let_go(&mut self, found: usize, until: Option<Name>) {
        let Held { place, taken, .. } = self.held.remove(found);
        if let Some(until) = &until {
            self.decider.held_until(taken, until.clone());
        }
        let call = self.calls.at(place).no;
        self.note(Event::LetGo { call, until });
        self.arrive(place);
        self.calls.let_go(place);
    }
}

/// What the site of a grant is called.
pub(super) const GRANTED: &str = "granted";
