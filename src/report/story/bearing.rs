//! How much a turn bears on the effects and the mail that a broken promise is about.

use super::facts::{Call, Facts};
use super::focus::Focus;
use super::turns::Turn;
use crate::history::{Answer, Asked, Event, Record};
use crate::kernel::Performed;

/// How a turn bears on the effects and the mail that the promise is about: the more, the longer it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bearing {
    /// It has to do with their run, if with that.
    Aside,
    /// It is a call about one of them, or befell one.
    Subject,
    /// It is a call by which one of the effects took hold, or befell one.
    Held,
    /// One of the effects took hold, and because of a deviation its caller did not know it, at least not in time.
    Unclear,
}

impl Bearing {
    /// How `turn` bears on what the focus is about.
    pub fn of(facts: &Facts<'_>, focus: &Focus, turn: &Turn) -> Bearing {
        let of_turn = match &facts.records[turn.place].event {
            Event::Sent { call, .. } | Event::Applied { call, .. } | Event::Returned { call, .. } => {
                facts.calls.get(call)
            }
            _ => None,
        };
        let bent = turn.struck.and_then(|struck| facts.calls.values().find(|call| call.deviation == Some(struck)));
        let Some(call) = bent.or(of_turn).filter(|call| focus.is_subject(call.asked)) else { return Bearing::Aside };
        let mut applied = call.applied.iter().map(|(applied, _, _)| *applied);
        match applied.find(|applied| facts.took_hold(*applied)) {
            None => Bearing::Subject,
            Some(held) if turn.struck.is_some() && !knew_in_time(facts, call, held) => Bearing::Unclear,
            Some(_) => Bearing::Held,
        }
    }
}

/// Whether the caller of an effect that took hold at the place `held` was told so before it took hold once more.
fn knew_in_time(facts: &Facts<'_>, call: &Call<'_>, held: usize) -> bool {
    let (Asked::Outside(perform), Some((told, Ok(Answer::Outside(Performed::Done(_)))))) = (call.asked, call.returned)
    else {
        return false;
    };
    let again =
        |record: &Record| matches!(&record.event, Event::Happened { effect, .. } if *effect == perform.effect.id);
    !facts.records[held..told].iter().any(again)
}
