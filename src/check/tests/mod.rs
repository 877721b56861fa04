//! For every invariant a history by hand that violates it, and one that nearly does: the second violates nothing at
//! all. And that everything is there.

mod ask;
mod children;
mod coverage;
mod effects;
mod family;
mod history;
mod inbox;
mod liveness;
mod log;
mod pubsub;
mod scheduler;
mod signals;
mod sleep;
mod sometimes;
mod spend;
mod supervisor;
mod temporal;

use history::History;

use super::INVARIANTS;

/// Two histories over one invariant.
pub struct Pair {
    invariant: &'static str,
    /// What tells this pair from the others over the invariant.
    case: &'static str,
    violates: fn(&mut History),
    nearly: fn(&mut History),
}

fn pairs() -> impl Iterator<Item = &'static Pair> {
    let alone =
        [log::PAIRS, effects::PAIRS, inbox::PAIRS, scheduler::PAIRS, signals::PAIRS, sleep::PAIRS, liveness::PAIRS];
    let with_others = [supervisor::PAIRS, children::PAIRS, pubsub::PAIRS, ask::PAIRS, spend::PAIRS];
    alone.into_iter().chain(with_others).chain(temporal::PAIRS.iter().copied()).flatten()
}

fn told(story: fn(&mut History)) -> History {
    let mut history = History::new();
    story(&mut history);
    history
}

#[test]
fn every_invariant_is_violated_by_a_history_and_nearly_so_by_another() {
    let mut wrong = Vec::new();
    for pair in pairs() {
        let found = told(pair.violates).judged();
        if !found.violations().iter().any(|violation| violation.invariant == pair.invariant) {
            wrong.push(format!("{} ({}): missed, found {:?}", pair.invariant, pair.case, found.violations()));
        }
        let found = told(pair.nearly).judged();
        if !found.violations().is_empty() {
            wrong.push(format!("{} ({}): false alarm {:?}", pair.invariant, pair.case, found.violations()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_invariant_has_a_pair_and_every_pair_an_invariant() {
    for invariant in INVARIANTS {
        assert!(pairs().any(|pair| pair.invariant == invariant.name), "no pair for {}", invariant.name);
    }
    for pair in pairs() {
        assert!(INVARIANTS.iter().any(|invariant| invariant.name == pair.invariant), "{}", pair.invariant);
    }
}

#[test]
fn names_are_unique_and_sentences_end() {
    for (place, invariant) in INVARIANTS.iter().enumerate() {
        assert!(INVARIANTS[..place].iter().all(|other| other.name != invariant.name), "{}", invariant.name);
        assert!(invariant.about.ends_with('.'), "{}", invariant.name);
    }
}

#[test]
fn a_checker_that_was_reset_judges_like_a_new_one() {
    let mut reused = super::Checker::new(&History::new().header);
    for story in pairs().flat_map(|pair| [pair.violates, pair.nearly]) {
        let history = told(story);
        reused.reset(&history.header);
        for record in &history.records {
            reused.observe(record.at, &record.event);
        }
        reused.finish(history.records.last().unwrap().at);
        let new = history.judged();
        assert_eq!(reused.violations(), new.violations());
        assert_eq!(reused.not_judged(), new.not_judged());
        assert!(reused.reached().eq(new.reached()));
    }
}

#[test]
fn what_needs_applied_facts_or_healing_is_told_as_not_judged_without() {
    let mut observed = History::new();
    observed.applied = false;
    observed.begun();
    let unjudged = observed.judged().not_judged();
    let needy: Vec<_> = INVARIANTS
        .iter()
        .filter(|invariant| invariant.needs_applied || invariant.after_healing)
        .map(|invariant| invariant.name)
        .collect();
    assert_eq!(unjudged, needy);

    let mut whole = History::new();
    whole.begun();
    whole.completes();
    whole.heals();
    assert_eq!(whole.judged().not_judged(), Vec::<&str>::new());
}

/// Without applied facts nothing is held against a history that is right, and what callers saw is judged still.
#[test]
fn a_history_of_calls_and_replies_alone_is_judged_by_what_callers_saw() {
    for pair in pairs() {
        let mut history = told(pair.nearly);
        history.records.retain(|record| !matches!(record.event, crate::history::Event::Applied { .. }));
        let found = history.judged();
        assert!(found.violations().is_empty(), "{}: {:?}", pair.invariant, found.violations());
    }
    let seen = [
        "log-dense",
        "log-immutable",
        "log-fenced",
        "log-closed",
        "attempts-rise",
        "log-tail",
        "effect-at-most-once",
        "effect-idempotent-once",
        "effect-write-once",
        "effect-not-denied",
        "effect-identity",
        "inbox-fifo",
        "inbox-dedup",
        "lease-capacity",
        "signal-once",
        "timer-not-early",
        "bounded",
    ];
    for invariant in seen {
        let violates = pairs().filter(|pair| pair.invariant == invariant).any(|pair| {
            let mut history = told(pair.violates);
            history.records.retain(|record| !matches!(record.event, crate::history::Event::Applied { .. }));
            history.judged().violations().iter().any(|violation| violation.invariant == invariant)
        });
        assert!(violates, "{invariant} is not judged without applied facts");
    }
    let judged = INVARIANTS.iter().filter(|invariant| !invariant.needs_applied).map(|invariant| invariant.name);
    assert!(judged.eq(seen), "the list above is the list of invariants that need no applied facts");
}
