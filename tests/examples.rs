//! The agents of `examples/`, each swept in a few lines.

#[path = "../examples/orchestrator.rs"]
mod orchestrator;
#[path = "../examples/researcher.rs"]
mod researcher;
#[path = "../examples/second_opinion.rs"]
mod second_opinion;

/// As many as a test has time for; the examples themselves play more.
const SEEDS: std::ops::Range<u64> = 0..150;

#[test]
fn an_orchestrator_publishes_once_what_its_children_have_built() {
    use orchestrator::{SCENARIO, build, release};
    let suite = chronodrome::suite(SCENARIO).agent("release", || release).agent("build", || build);
    assert!(suite.seeds(SEEDS).run().unwrap_or_else(|error| panic!("{error}")).is_sound());
}

#[test]
fn a_question_ends_in_one_way_whatever_becomes_of_who_asks_and_who_answers() {
    use second_opinion::{SCENARIO, colleague, doctor};
    let suite = chronodrome::suite(SCENARIO).agent("doctor", || doctor).agent("colleague", || colleague);
    assert!(suite.seeds(SEEDS).run().unwrap_or_else(|error| panic!("{error}")).is_sound());
}

#[test]
fn a_model_is_paid_once_for_each_answer_that_counts() {
    let suite = chronodrome::suite(researcher::SCENARIO).agent("researcher", || researcher::researcher);
    assert!(suite.seeds(SEEDS).run().unwrap_or_else(|error| panic!("{error}")).is_sound());
}
