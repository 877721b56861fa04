//! The whole story: headline, deviations by name, the turns that matter, and where the promise broke.

use std::fmt::Write as _;

use serde::Serialize;

use super::bearing::Bearing;
use super::facts::{Break, Call};
use super::turns::{Turn, Weight};
use super::words::{aftermath, befell, clock, span};
use super::{Case, belief, headline};
use crate::check::INVARIANTS;
use crate::explore::REPLAY_INVARIANTS;
use crate::history::{About, Asked, Event};
use crate::kernel::{Request, Span, Timestamp};
use crate::report::deviation::site_who;
use crate::report::{Style, counted};
use crate::sim::Fault;

/// A story, ready to be written out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Story {
    /// At most two lines.
    pub headline: String,
    /// What deviated from the calm schedule, in the order in which it did.
    pub deviations: Vec<Named>,
    /// What happened about the subject of the first broken promise.
    pub turns: Vec<Told>,
    /// How many turns are left out: steps far from any deviation and from the break.
    pub left_out: usize,
    /// What was broken; the story is about the first.
    pub broken: Vec<Broken>,
}

/// A deviation in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// When.
    pub at: Timestamp,
    /// When, after the start.
    pub clock: String,
    /// The site.
    pub site: String,
    /// What happened there, as a sentence.
    pub said: String,
}

/// A turn in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// When.
    pub at: Timestamp,
    /// When, after the start.
    pub clock: String,
    /// What happened, as a sentence.
    pub said: String,
    /// What the one who acted took for true, and where that was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub belief: Option<String>,
    /// Whether it is a deviation.
    pub deviation: bool,
    /// Whether the promise broke here.
    pub breaks: bool,
}

/// A broken promise in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// Its name; `expectation` for an expectation of the scenario.
    pub promise: String,
    /// What it promises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<&'static str>,
    /// When it came to light; none where the history as a whole broke it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// What is wrong.
    pub said: String,
}

/// More turns than this are not told: steps are left out first.
const TURNS_MOST: usize = 40;

/// A step so many turns away from a deviation or the break still belongs to the story.
const NEAR: usize = 2;

/// So many broken promises are told.
const BROKEN_MOST: usize = 8;

/// Tells a failure. Empty where all held.
pub fn tell(case: &Case<'_>) -> Story {
    let (kept, left_out) = kept(&case.turns);
    Story {
        headline: super::headline(case),
        deviations: deviations(case),
        turns: kept.into_iter().map(|turn| told(case, turn)).collect(),
        left_out,
        broken: case.breaks.iter().map(|found| broken(case, found)).collect(),
    }
}

/// The turns that are told: all that tell something, and the steps around them.
pub(super) fn kept(turns: &[Turn]) -> (Vec<&Turn>, usize) {
    let able: Vec<&Turn> = turns.iter().filter(|turn| turn.weight > Weight::Routine).collect();
    let turning = |turn: &Turn| turn.weight >= Weight::Deviation;
    let near = |place: usize| {
        let range = place.saturating_sub(NEAR)..(place + NEAR + 1).min(able.len());
        able[range].iter().any(|turn| turning(turn))
    };
    let telling = |place: usize| able[place].weight >= Weight::Telling;
    let rules: [&dyn Fn(usize) -> bool; 2] = [&|place| telling(place) || near(place), &telling];
    let chosen = rules.iter().map(|rule| (0..able.len()).filter(|place| rule(*place)).collect::<Vec<_>>());
    let chosen = chosen.reduce(|wider, narrower| if wider.len() <= TURNS_MOST { wider } else { narrower });
    let mut chosen = chosen.unwrap_or_default();
    // Of very many turns those are told that befell the subject, or in which it took hold, then the last ones, which are nearest to the break.
    if chosen.len() > TURNS_MOST {
        let tells_of_subject =
            |turn: &Turn| turn.bearing >= Bearing::Held || turning(turn) && turn.bearing > Bearing::Aside;
        let worth = |place: &usize| (tells_of_subject(able[*place]), *place);
        chosen.sort_unstable_by_key(worth);
        chosen.drain(..chosen.len() - TURNS_MOST);
        chosen.sort_unstable();
    }
    let left_out = able.len() - chosen.len();
    (chosen.into_iter().map(|place| able[place]).collect(), left_out)
}

fn told(case: &Case<'_>, turn: &Turn) -> Told {
    let at = case.facts.at(turn.place);
    let belief = turn.actor.as_ref().filter(|_| !turn.who.is_empty() && acts(case, turn)).and_then(|actor| {
        let run = call_of(case, turn).and_then(|call| match call.asked.about() {
            About::Run(run) => Some(run),
            _ => None,
        });
        let belief = belief::told(&case.facts, &case.focus, actor, run, believed_at(case, turn))?;
        let wrong = belief.wrong && turn.weight >= Weight::Telling;
        let explains = wrong || turn.weight == Weight::Break || performs_subject(case, turn);
        explains.then_some(belief.said)
    });
    Told {
        at,
        clock: clock(&case.facts, at),
        said: if turn.who.is_empty() { turn.said.clone() } else { format!("{} {}", turn.who, turn.said) },
        belief,
        deviation: turn.weight == Weight::Deviation,
        breaks: turn.weight == Weight::Break,
    }
}

/// The call whose sending, or effect, a turn tells.
fn call_of<'a>(case: &'a Case<'_>, turn: &Turn) -> Option<&'a Call<'a>> {
    match &case.facts.records[turn.place].event {
        Event::Sent { call, .. } | Event::Applied { call, .. } => case.facts.calls.get(call),
        _ => None,
    }
}

/// Whether a turn is something that its actor did to the outside world, or wrote or gave up about its run.
fn acts(case: &Case<'_>, turn: &Turn) -> bool {
    call_of(case, turn).is_some_and(|call| {
        matches!(
            call.asked,
            Asked::Outside(_) | Asked::Store(Request::Append { .. } | Request::Release { .. } | Request::Claim { .. })
        )
    })
}

/// Whether a turn is a request for an effect that the promise is about.
fn performs_subject(case: &Case<'_>, turn: &Turn) -> bool {
    call_of(case, turn).is_some_and(|call| match call.asked {
        Asked::Outside(perform) => case.focus.effects.contains(&perform.effect.id),
        Asked::Store(_) => false,
    })
}

/// Beliefs are those at the sending of a call, not at its arrival.
fn believed_at(case: &Case<'_>, turn: &Turn) -> usize {
    match &case.facts.records[turn.place].event {
        Event::Applied { call, .. } => case.facts.calls.get(call).map_or(turn.place, |call| call.sent),
        _ => turn.place,
    }
}

fn deviations(case: &Case<'_>) -> Vec<Named> {
    let facts = &case.facts;
    let each = facts.records.iter().enumerate().filter_map(|(place, record)| match &record.event {
        Event::Deviation { site, fault, .. } => Some((place, record.at, site, fault)),
        _ => None,
    });
    each.map(|(place, at, site, fault)| {
        let who = match facts.befallen.get(&place) {
            Some(actor) => facts.actor(actor),
            None => site_who(site).to_owned(),
        };
        let said = match serde_json::from_str::<Fault>(fault) {
            Ok(known) => {
                let more = aftermath(&known).map_or_else(String::new, |more| format!("; {more}"));
                format!("{who} {}{more}", befell(facts, &known, site))
            }
            Err(_) => format!("{who}: {fault}"),
        };
        Named { at, clock: clock(facts, at), site: site.to_string(), said }
    })
    .collect()
}

fn broken(case: &Case<'_>, found: &Break) -> Broken {
    let known = INVARIANTS.iter().chain(&REPLAY_INVARIANTS).find(|invariant| invariant.name == found.promise);
    let facts = &case.facts;
    Broken {
        promise: found.promise.clone(),
        about: known.map(|invariant| invariant.about),
        clock: found.place.map(|place| clock(facts, facts.at(place))),
        said: format!("{}: {}", headline::subject(facts, found), facts.named(&found.message)),
    }
}

impl Story {
    /// The story for people.
    pub fn text(&self, style: Style) -> String {
        let mut text = String::new();
        for line in self.headline.lines() {
            let _ = writeln!(text, "{}", style.strong(line));
        }
        if !self.deviations.is_empty() {
            let _ = writeln!(text, "\n{}", style.dim("What deviated"));
        }
        for (place, deviation) in self.deviations.iter().enumerate() {
            let number = place + 1;
            let _ = writeln!(text, "{number:>3}. {:>10}  {}", deviation.clock, style.notable(&deviation.said));
            let _ = writeln!(text, "                 {}", style.dim(&deviation.site));
        }
        if !self.turns.is_empty() {
            let _ = writeln!(text, "\n{}", style.dim("What happened"));
        }
        self.write_turns(&mut text, style);
        let _ = writeln!(text, "\n{}", style.dim("Where it broke"));
        let mut explained = None;
        for found in self.broken.iter().take(BROKEN_MOST) {
            let when = found.clock.as_deref().unwrap_or("at the end");
            let about = found.about.filter(|about| explained != Some(*about));
            explained = found.about;
            let about = about.map_or_else(String::new, |about| format!(": {about}"));
            let _ = writeln!(text, "     {when:>10}  {}{about}", style.bad(&found.promise));
            let _ = writeln!(text, "                 {}", found.said);
        }
        if let Some(more) = self.broken.len().checked_sub(BROKEN_MOST).filter(|more| *more > 0) {
            let _ = writeln!(text, "                 … and {}", counted(more as u64, "more break", "more breaks"));
        }
        text
    }

    fn write_turns(&self, text: &mut String, style: Style) {
        if self.left_out > 0 {
            let left = counted(self.left_out as u64, "routine step is", "routine steps are");
            let _ = writeln!(text, "                 {}", style.dim(&format!("({left} left out)")));
        }
        let mut before: Option<Timestamp> = None;
        for turn in &self.turns {
            let gap = before.map_or(Span::ZERO, |before| turn.at.since(before));
            if gap > Span::from_secs(1) {
                let _ = writeln!(text, "                 {}", style.dim(&format!("… {} …", span(gap))));
            }
            before = Some(turn.at);
            let said = match (turn.breaks, turn.deviation) {
                (true, _) => style.bad(&turn.said),
                (_, true) => style.notable(&turn.said),
                _ => turn.said.clone(),
            };
            let mark = match (turn.breaks, turn.deviation) {
                (true, _) => "=>",
                (_, true) => "!",
                _ => "",
            };
            let _ = writeln!(text, " {mark:<2}  {:>10}  {said}", turn.clock);
            if let Some(belief) = &turn.belief {
                let _ = writeln!(text, "                 {}", style.dim(belief));
            }
        }
    }
}
