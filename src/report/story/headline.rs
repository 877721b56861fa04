//! A failure in at most two lines: what led to it, and where it broke.

use super::bearing::Bearing;
use super::facts::{Break, Facts};
use super::turns::{Turn, Weight};
use crate::history::{Actor, Answer, Event};

/// So many letters a line should have at most; what broke is told whatever its length.
const LETTERS_MOST: usize = 200;

/// So many clauses lead to a break at most.
const CLAUSES_MOST: usize = 5;

/// So many deviations are named at most: those that befell what the promise is about, then the last ones. Of a failure that was
/// cut down there are hardly more.
const DEVIATIONS_MOST: usize = 3;

/// Two lines: who did what until it broke, and the break with what the judge says of it.
pub(super) fn headline(facts: &Facts<'_>, broken: &Break, turns: &[Turn]) -> String {
    let breaking = turns.iter().rfind(|turn| turn.weight == Weight::Break);
    let mut lead: Vec<&Turn> = turns
        .iter()
        .filter(|turn| (Weight::Telling..Weight::Break).contains(&turn.weight) && turn.brief.is_some())
        .collect();
    lead.dedup_by(|next, before| repeats(before, next));
    let mut deviations: Vec<(Bearing, usize)> =
        lead.iter().filter(|turn| turn.weight == Weight::Deviation).map(|turn| (turn.bearing, turn.place)).collect();
    deviations.sort_unstable();
    let dropped = deviations.len().saturating_sub(DEVIATIONS_MOST);
    deviations.truncate(dropped);
    lead.retain(|turn| turn.weight != Weight::Deviation || !deviations.contains(&(turn.bearing, turn.place)));
    while lead.len() > 1 && (lead.len() > CLAUSES_MOST || sentences(&lead).chars().count() > LETTERS_MOST) {
        let worth = |place: &usize| {
            let turn = lead[*place];
            (turn.bearing == Bearing::Unclear, turn.weight, turn.bearing, is_outside(facts, turn), *place)
        };
        let least = (0..lead.len()).min_by_key(worth).expect("there is more than one");
        lead.remove(least);
    }
    let mut lines = Vec::new();
    if !lead.is_empty() {
        lines.push(sentences(&lead));
    }
    let verdict = verdict(facts, broken);
    lines.push(match breaking {
        Some(turn) => format!("{} {verdict}", sentence(&named(turn, lead.iter().copied()), &[clause(turn)])),
        None => verdict,
    });
    lines.join("\n")
}

/// Whether two turns of one actor that follow each other say the same of something beside the subject, as two tries do that failed
/// alike: once is enough.
fn repeats(before: &Turn, next: &Turn) -> bool {
    next.bearing == Bearing::Aside
        && (&before.who, &before.actor, &before.brief) == (&next.who, &next.actor, &next.brief)
}

/// Whether a turn tells what took hold outside: of all that was done that is what cannot be undone.
fn is_outside(facts: &Facts<'_>, turn: &Turn) -> bool {
    matches!(&facts.records[turn.place].event, Event::Applied { answer: Answer::Outside(_), .. })
}

/// What is broken, about what, as a sentence.
pub(super) fn verdict(facts: &Facts<'_>, broken: &Break) -> String {
    let subject = subject(facts, broken);
    let message = facts.named(&broken.message);
    match broken.promise.as_str() {
        "expectation" => format!("Expected: {}; {message}.", broken.subject),
        promise => format!("{promise} is broken for {subject}: {message}."),
    }
}

/// What a promise is about, by its name.
pub(super) fn subject(facts: &Facts<'_>, broken: &Break) -> String {
    match broken.subject.parse() {
        Ok(effect) if facts.effects.contains_key(&effect) => facts.effect_in_full(effect),
        _ => facts.named(&broken.subject),
    }
}

/// Clauses as sentences: those of one actor in a row are joined. A worker that has died in between is named as one that
/// started anew: it remembers nothing.
fn sentences(turns: &[&Turn]) -> String {
    let mut groups: Vec<(&Turn, Vec<&str>)> = Vec::new();
    for turn in turns {
        match groups.last_mut() {
            Some((first, clauses)) if first.who == turn.who && !is_anew(first, turn) => clauses.push(clause(turn)),
            _ => groups.push((turn, vec![clause(turn)])),
        }
    }
    let mut told = Vec::new();
    for (place, (first, clauses)) in groups.iter().enumerate() {
        let who = named(first, groups[..place].iter().map(|(before, _)| *before));
        told.push(sentence(&who, clauses));
    }
    told.join(" ")
}

fn clause(turn: &Turn) -> &str {
    turn.brief.as_deref().unwrap_or(&turn.said)
}

/// Who a turn is about, after the turns `before` it.
fn named<'a>(turn: &Turn, mut before: impl Iterator<Item = &'a Turn>) -> String {
    if before.any(|before| is_anew(before, turn)) { format!("{}, started anew,", turn.who) } else { turn.who.clone() }
}

/// Whether two turns of one worker are of different incarnations.
fn is_anew(before: &Turn, after: &Turn) -> bool {
    match (&before.actor, &after.actor) {
        (Some(Actor::Worker(before)), Some(Actor::Worker(after))) => {
            before.name == after.name && before.incarnation != after.incarnation
        }
        _ => false,
    }
}

fn sentence(who: &str, clauses: &[&str]) -> String {
    let said = match clauses {
        [one] => (*one).to_owned(),
        [one, two] => format!("{one}, then {two}"),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
        [] => String::new(),
    };
    let text = if who.is_empty() { said } else { format!("{who} {said}") };
    match text.strip_prefix("the ") {
        Some(rest) => format!("The {rest}."),
        None => format!("{text}."),
    }
}
