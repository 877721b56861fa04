//! A failure in at most two lines: what led to it, and where it broke.

use super::facts::{Break, Facts};
use super::turns::{Turn, Weight};

/// So many letters a line should have at most; what broke is told whatever its length.
const LETTERS_MOST: usize = 200;

/// So many clauses lead to a break at most.
const CLAUSES_MOST: usize = 5;

/// Two lines: who did what until it broke, and the break with what the judge says of it.
pub(super) fn headline(facts: &Facts<'_>, broken: &Break, turns: &[Turn]) -> String {
    let breaking = turns.iter().rfind(|turn| turn.weight == Weight::Break);
    let mut lead: Vec<&Turn> = turns
        .iter()
        .filter(|turn| (Weight::Telling..Weight::Break).contains(&turn.weight) && turn.brief.is_some())
        .collect();
    while lead.len() > 1 && (lead.len() > CLAUSES_MOST || sentences(&lead).chars().count() > LETTERS_MOST) {
        let least = (0..lead.len()).min_by_key(|place| (lead[*place].weight, *place)).expect("there is more than one");
        lead.remove(least);
    }
    let mut lines = Vec::new();
    if !lead.is_empty() {
        lines.push(sentences(&lead));
    }
    let verdict = verdict(facts, broken);
    lines.push(match breaking {
        Some(turn) => format!("{} {verdict}", sentences(&[turn])),
        None => verdict,
    });
    lines.join("\n")
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

/// Clauses as sentences: those of one actor in a row are joined.
fn sentences(turns: &[&Turn]) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for turn in turns {
        let clause = turn.brief.as_deref().unwrap_or(&turn.said);
        match groups.last_mut() {
            Some((who, clauses)) if *who == turn.who => clauses.push(clause),
            _ => groups.push((&turn.who, vec![clause])),
        }
    }
    let each = groups.iter().map(|(who, clauses)| sentence(who, clauses));
    each.collect::<Vec<_>>().join(" ")
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
