//! The scenarios that are shipped: what they promise calm, and that their faults are lively enough.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronodrome::check::{Cells, Moments};
use chronodrome::scenario::{Options, Runner, Scenario};
use chronodrome::sim::Schedule;

/// A scenario for exhaust has fewer call sites than this in its calm run.
const SITES_MAX: usize = 400;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    chronodrome::explore::files::scenario_files(&folder).unwrap()
}

#[test]
fn every_scenario_keeps_its_promises_in_the_calm_schedule() {
    for file in files() {
        let scenario = Scenario::load(&file).unwrap_or_else(|error| panic!("{error}"));
        let outcome = Runner::new(&scenario).play(&Schedule::Calm, Options::default());
        let broken: Vec<_> = outcome.expectations.iter().filter(|expectation| !expectation.held).collect();
        assert!(broken.is_empty() && outcome.violations.is_empty(), "{file:?}: {broken:?} {:?}", outcome.violations);
        assert!(outcome.deviations.is_empty());
    }
}

/// Small scenarios that once were judged, or ended, wrongly; their last seed has its replays judged.
#[test]
fn odd_scenarios_keep_their_promises() {
    let suite = chronodrome::suite(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/odd"));
    suite.seeds(0..65).run().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn every_scenario_is_small_enough_for_exhaust_or_has_a_small_one_beside_it() {
    for file in files() {
        let scenario = Scenario::load(&file).unwrap();
        let outcome = Runner::new(&scenario).play(&Schedule::Calm, Options { sites: true, ..Options::default() });
        let small = file.with_file_name(format!("{}-small.json", scenario.name));
        assert!(outcome.sites.len() < SITES_MAX || small.exists(), "{file:?} has {} sites", outcome.sites.len());
    }
}

/// A list of deviations names its sites in words: two sites of one name would be struck both.
#[test]
fn no_two_sites_of_a_schedule_have_one_name() {
    for file in files() {
        let scenario = Scenario::load(&file).unwrap();
        let mut runner = Runner::new(&scenario);
        for schedule in [Schedule::Calm, Schedule::Seed(0), Schedule::Seed(1), Schedule::Seed(2)] {
            let outcome = runner.play(&schedule, Options { sites: true, ..Options::default() });
            let mut names = BTreeSet::new();
            let twice: Vec<_> = outcome.sites.iter().filter(|site| !names.insert(&site.name)).collect();
            assert!(
                twice.is_empty(),
                "{file:?} {schedule:?}: {:?}",
                twice.iter().map(|site| &site.name).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn schedules_are_lively_and_keep_every_promise() {
    const SEEDS: u64 = 40;
    for file in files() {
        let scenario = Scenario::load(&file).unwrap();
        let mut runner = Runner::new(&scenario);
        if let Some(list) = &scenario.deviations {
            let outcome = runner.play(&Schedule::Fixed(list.clone()), Options::default());
            assert!(outcome.held(), "{file:?}: {:?} {:?}", outcome.violations, outcome.expectations);
            assert!(outcome.stale.is_empty(), "{file:?} is stale: {:?}", outcome.stale);
            continue;
        }
        let (mut deviations, mut lost) = (0, 0);
        for seed in 0..SEEDS {
            let outcome = runner.play(&Schedule::Seed(seed), Options::default());
            assert!(outcome.held(), "{file:?} seed {seed}: {:?} {:?}", outcome.violations, outcome.expectations);
            deviations += outcome.deviations.len() as u64;
            lost += u64::from(outcome.lost_leases > 0);
        }
        assert!(deviations >= 2 * SEEDS, "{file:?}: {deviations} deviations in {SEEDS} schedules");
        assert!(lost * 10 >= SEEDS, "{file:?}: lost leases in {lost} of {SEEDS} schedules");
    }
}

/// What seeds strike are calls that come up, at a kind that can strike there: but for those that are never sent.
#[test]
fn what_is_struck_could_be_struck() {
    for name in ["charge-card", "signals", "retries", "mail"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{name}.json"));
        let scenario = Scenario::load(&file).unwrap();
        let mut runner = Runner::new(&scenario);
        let (mut covered, mut moments) = (Cells::default(), Moments::default());
        for seed in 0..150 {
            let outcome = runner.play(&Schedule::Seed(seed), Options::default());
            covered.add(&outcome.covered);
            moments.add(&outcome.moments);
        }
        let reachable = scenario.reachable(&moments);
        let missing: Vec<_> = covered.iter().filter(|cell| !reachable.contains(*cell)).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
        assert!(covered.len() > 100, "{name}: {} of {} cells", covered.len(), reachable.len());
    }
}
