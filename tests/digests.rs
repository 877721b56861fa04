//! Same binary and schedule, same digest: on every machine, in debug and in release. `cargo test` checks the
//! snapshot in debug, `.ci/run` the same one in release.

use std::fmt::Write as _;
use std::path::PathBuf;

use chronodrome::explore::files;
use chronodrome::scenario::{Options, Runner};
use chronodrome::sim::Schedule;

/// The seeds of each scenario whose digests are kept.
const SEEDS: [u64; 4] = [0, 1, 2, 42];

#[test]
fn the_digests_of_a_few_schedules_of_every_scenario_are_as_they_were() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut digests = String::new();
    for loaded in files::load_all(&[directory]).expect("the scenarios are valid") {
        let schedules = match &loaded.scenario.deviations {
            Some(list) => vec![("listed".to_owned(), Schedule::Fixed(list.clone()))],
            None => std::iter::once(("calm".to_owned(), Schedule::Calm))
                .chain(SEEDS.map(|seed| (format!("seed {seed}"), Schedule::Seed(seed))))
                .collect(),
        };
        let mut runner = Runner::new(&loaded.scenario);
        for (name, schedule) in schedules {
            let digest = runner.play(&schedule, Options::default()).digest;
            let again = Runner::new(&loaded.scenario).play(&schedule, Options::default()).digest;
            assert_eq!(digest, again, "{} with {name} in a fresh world", loaded.scenario.name);
            let _ = writeln!(digests, "{} {name}: {digest}", loaded.scenario.name);
        }
    }
    insta::assert_snapshot!(digests);
}
