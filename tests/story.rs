//! Stories as people read them: of histories in which planted bugs broke promises, and of every scenario at random.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use chronodrome::explore::files;
use chronodrome::history::{Header, Record, read_trace};
use chronodrome::kernel::{Span, Timestamp};
use chronodrome::report::Style;
use chronodrome::report::story::spacetime::{Drawing, draw, rows};
use chronodrome::report::story::{Case, Named, Story, headline, tell};
use chronodrome::scenario::{ExpectationResult, Options, Runner};
use chronodrome::sim::Schedule;

fn history(name: &str) -> (Header, Vec<Record>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/histories").join(name);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read_trace(&mut BufReader::new(file)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The histories, and the promise that each breaks.
const HISTORIES: &[(&str, &str)] = &[
    ("performed-again", "effect-at-most-once"),
    ("refused-and-happened", "effect-not-denied"),
    ("append-unfenced", "log-fenced"),
    ("signal-overslept", "wake-not-lost"),
    ("accepted-twice", "inbox-dedup"),
];

fn drawing(width: usize, ascii: bool) -> Drawing {
    Drawing { width, ascii, style: Style::PLAIN }
}

#[test]
fn a_history_in_which_a_promise_broke_is_told_and_drawn() {
    for (name, promise) in HISTORIES {
        let (header, records) = history(&format!("{name}.jsonl"));
        let case = Case::of_trace(&header, &records);
        assert_eq!(case.breaks()[0].promise, *promise, "{name}");
        let told = tell(&case).text(Style::PLAIN);
        insta::assert_snapshot!(*name, format!("{told}\n{}", draw(&case, drawing(80, false))));
    }
}

#[test]
fn a_diagram_can_be_drawn_in_ascii() {
    let (header, records) = history("performed-again.jsonl");
    let drawn = draw(&Case::of_trace(&header, &records), drawing(80, true));
    assert!(drawn.is_ascii());
    insta::assert_snapshot!("performed-again, ascii", drawn);
}

#[test]
fn no_line_of_a_diagram_is_wider_than_wanted() {
    for (name, _) in HISTORIES {
        let (header, records) = history(&format!("{name}.jsonl"));
        let case = Case::of_trace(&header, &records);
        for width in [40, 41, 60, 80, 100, 200] {
            for ascii in [false, true] {
                let drawn = draw(&case, drawing(width, ascii));
                let wide = drawn.lines().find(|line| line.chars().count() > width);
                assert_eq!(wide, None, "{name} at {width}");
            }
        }
    }
}

#[test]
fn every_beginning_of_a_history_is_told_in_two_lines_or_not_at_all() {
    for (name, _) in HISTORIES {
        let (header, records) = history(&format!("{name}.jsonl"));
        for length in (0..=records.len()).step_by(7) {
            let case = Case::of_trace(&header, &records[..length]);
            let lines = headline(&case).lines().count();
            assert_eq!(lines == 0, case.breaks().is_empty(), "{name} up to {length}");
            assert!(lines <= 2, "{name} up to {length}");
            assert_eq!(tell(&case).turns.is_empty(), rows(&case).is_empty());
        }
    }
}

/// The seeds of a scenario in which a card is charged twice, with their stories.
fn double_charges(seeds: std::ops::Range<u64>) -> Vec<(u64, Story)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/double-charge.json");
    let scenario = files::load(&path).expect("the scenario is valid").scenario;
    let told = seeds.filter_map(|seed| {
        let mut runner = Runner::new(&scenario);
        let mut records = Vec::new();
        let mut note = |record: &Record| records.push(record.clone());
        let outcome = runner.play(&Schedule::Seed(seed), Options { trace: Some(&mut note), ..Options::default() });
        let header = runner.header();
        (!outcome.held()).then(|| (seed, tell(&Case::of_outcome(&header, &records, &outcome))))
    });
    told.collect()
}

#[test]
fn what_befell_the_effect_of_a_broken_promise_is_told_whatever_else_went_wrong() {
    const DEVIATIONS_OF_A_HEADLINE: usize = 3;
    let stories = double_charges(0..400);
    assert!(stories.len() > 40, "{}", stories.len());
    let mut among_many = 0;
    for (seed, story) in stories {
        let broke = story.turns.iter().find(|turn| turn.breaks).unwrap_or_else(|| panic!("seed {seed} breaks nowhere"));
        let about = |named: &&Named| named.site.contains("/ perform stripe.charge ") && named.at < broke.at;
        let befell: Vec<&Named> = story.deviations.iter().filter(about).collect();
        // The call that breaks the promise is told as that, whatever befell it.
        let before: Vec<&&Named> =
            befell.iter().filter(|named| broke.at.since(named.at) > Span::from_millis(50)).collect();
        for named in &before {
            let near = |at: Timestamp| (Span::ZERO..Span::from_secs(1)).contains(&at.since(named.at));
            let told = story.turns.iter().any(|turn| turn.deviation && near(turn.at));
            assert!(told, "seed {seed}: {}", named.said);
        }
        let headline = story.headline.lines().next().expect("a headline");
        let said = |named: &Named| {
            let said = named.said.split(';').next().unwrap_or_default();
            headline.contains(said.split_once(' ').map_or(said, |(_, said)| said))
        };
        if before.len() == 1 {
            assert!(said(before[0]), "seed {seed}: {} is not in {headline}", before[0].said);
            among_many += usize::from(story.deviations.len() > DEVIATIONS_OF_A_HEADLINE);
        }
    }
    assert!(among_many > 5, "{among_many}");
}

#[test]
fn whatever_deviates_in_any_scenario_a_failure_can_be_told() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let loaded = files::load_all(&[scenarios]).expect("the scenarios are valid");
    let small = loaded.iter().filter(|loaded| loaded.scenario.inputs.len() <= 20);
    for loaded in small {
        for seed in 0..4 {
            let mut runner = Runner::new(&loaded.scenario);
            let mut records = Vec::new();
            let mut note = |record: &Record| records.push(record.clone());
            let schedule = match &loaded.scenario.deviations {
                Some(list) => Schedule::Fixed(list.clone()),
                None => Schedule::Seed(seed),
            };
            let mut outcome = runner.play(&schedule, Options { trace: Some(&mut note), ..Options::default() });
            let (text, message) = ("something else".to_owned(), "it did not come about".to_owned());
            outcome.expectations.push(ExpectationResult { text, held: false, message });
            let header = runner.header();
            let case = Case::of_outcome(&header, &records, &outcome);
            let told = tell(&case);
            assert!((1..=2).contains(&told.headline.lines().count()), "{}", told.headline);
            assert_eq!(told.deviations.len(), outcome.deviations.len());
            assert!(draw(&case, drawing(80, true)).is_ascii());
        }
    }
}
