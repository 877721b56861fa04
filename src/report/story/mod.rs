//! The story of a failure in words, from what was observed: who did what, what each believed, where the promise broke.
//!
//! - `facts`: names, calls and leases of a history; `focus`: what the broken promise is about;
//! - `turns`, `deeds`: one sentence for each event or call that matters; `belief`: what an actor took for true;
//! - `bearing`: how much a turn has to do with what the promise is about, so that it is told longest;
//! - `headline`: all of it in two lines; `tell`: all of it; [`spacetime`]: all of it as a diagram; `words`: requests, answers and faults as people say them.
//!
//! Everything follows from the kinds of events: no invariant has a text of its own here beyond its own sentence.

mod bearing;
mod belief;
mod deeds;
mod facts;
mod focus;
mod headline;
pub mod spacetime;
mod tell;
mod turns;
pub(super) mod words;

pub use facts::Break;
pub use tell::{Broken, Named, Story, Told, tell};

use crate::check::Violation;
use crate::history::{Event, Header, Record};
use crate::scenario::Outcome;
use facts::{Facts, breaks};
use focus::Focus;
use turns::{Teller, Turn, Weight};

/// A failure to be told: its history, and what was broken in it.
pub struct Case<'a> {
    facts: Facts<'a>,
    breaks: Vec<Break>,
    focus: Focus,
    turns: Vec<Turn>,
}

impl<'a> Case<'a> {
    /// A recorded history, judged by its invariants alone.
    pub fn of_trace(header: &'a Header, records: &'a [Record]) -> Case<'a> {
        Case::new(header, records, &[], &[])
    }

    /// A history that was played, with what came of it.
    pub fn of_outcome(header: &'a Header, records: &'a [Record], outcome: &Outcome) -> Case<'a> {
        let missed = outcome.expectations.iter().filter(|expectation| !expectation.held);
        let missed: Vec<_> = missed.map(|missed| (missed.text.clone(), missed.message.clone())).collect();
        Case::new(header, records, &outcome.violations, &missed)
    }

    fn new(header: &'a Header, records: &'a [Record], told: &[Violation], missed: &[(String, String)]) -> Case<'a> {
        let facts = Facts::of(header, records);
        let breaks = breaks(header, records, told, missed);
        let focus = breaks.first().map(|first| Focus::of(&facts, first)).unwrap_or_default();
        let mut turns = if breaks.is_empty() { Vec::new() } else { Teller::tell(&facts, &focus) };
        if let Some(place) = breaks.first().and_then(|first| first.place) {
            let anchor = anchor(&facts, &turns, place);
            turns.retain(|turn| turn.place <= place.max(anchor));
            if let Some(last) = turns.iter_mut().rfind(|turn| turn.place == anchor) {
                last.weight = Weight::Break;
            }
        }
        Case { facts, breaks, focus, turns }
    }

    /// What was broken, in the order in which it came to light; the first is what the story is about.
    pub fn breaks(&self) -> &[Break] {
        &self.breaks
    }
}

/// The place of the turn that tells what happened at `place`: a call has one turn for several events.
fn anchor(facts: &Facts<'_>, turns: &[Turn], place: usize) -> usize {
    let call = match &facts.records[place].event {
        Event::Sent { call, .. } | Event::Applied { call, .. } | Event::Returned { call, .. } => facts.calls.get(call),
        Event::Happened { call, .. } => {
            let call = facts.calls.get(call);
            let applied = call.and_then(|call| call.applied.iter().find(|(applied, _, _)| *applied > place));
            return applied.map_or(place, |(applied, _, _)| *applied);
        }
        _ => None,
    };
    let parts = call.into_iter().flat_map(|call| {
        let applied = call.applied.iter().map(|(applied, _, _)| *applied);
        [place].into_iter().chain(applied).chain([call.sent])
    });
    parts.into_iter().find(|part| turns.iter().any(|turn| turn.place == *part)).unwrap_or(place)
}

/// The failure in at most two lines: what led to it, and where it broke. Nothing where all held.
pub fn headline(case: &Case<'_>) -> String {
    case.breaks.first().map(|first| headline::headline(&case.facts, first, &case.turns)).unwrap_or_default()
}
