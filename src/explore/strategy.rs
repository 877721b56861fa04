//! Schedules as values of `proptest`, where the feature `proptest` is on.
//!
//! A value is the schedule of a seed that `proptest` draws, so that what it notes of a failure in `proptest-regressions`
//! gives the same schedule again. What makes failing values smaller is the one shrinker, [`mod@super::shrink`]: it asks, and
//! the test answers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use proptest::num::u64::ANY;
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::contain::contain;
use super::shrink::deviations::{Key, Oracle, key, minimize};
use crate::kernel::Name;
use crate::scenario::{Options, Outcome, Runner, Scenario};
use crate::sim::{Deviation, Schedule, SiteListing};

/// Every schedule that a seed draws for `scenario`; for one that lists its deviations, the list.
///
/// A failing one is made smaller as [`shrink`](fn@super::shrink::shrink) does it, but for what the test asserts, and
/// without changing the scenario.
///
/// ```
/// use chronodrome::scenario::Scenario;
/// use chronodrome::schedules;
/// use proptest::prelude::*;
///
/// fn charge() -> Scenario {
///     let text = r#"{
///         "name": "charge",
///         "outside": { "card": {} },
///         "agents": { "billing": [ { "effect": "card" } ] },
///         "inputs": [ { "to": "billing" } ],
///         "faults": { "crash": 0.1, "lost_reply": 0.1 },
///         "expect": [ { "effect": "card", "happened": { "at_most": 1 } } ]
///     }"#;
///     Scenario::parse(text, "charge.json").unwrap()
/// }
///
/// proptest! {
/// # #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]
/// # /*
///     #[test]
/// # */
///     fn holds(s in schedules(&charge())) {
///         prop_assert!(charge().run(&s).held());
///     }
/// }
/// # holds();
/// ```
pub fn schedules(scenario: &Scenario) -> Schedules {
    Schedules { scenario: Arc::new(scenario.clone()) }
}

/// The strategy of [`schedules`].
#[derive(Clone, Debug)]
pub struct Schedules {
    scenario: Arc<Scenario>,
}

impl Strategy for Schedules {
    type Tree = ScheduleTree;
    type Value = Schedule;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let schedule = match &self.scenario.deviations {
            Some(list) => Schedule::Fixed(list.clone()),
            None => Schedule::Seed(ANY.new_tree(runner)?.current()),
        };
        Ok(ScheduleTree::new(self.scenario.clone(), schedule))
    }
}

/// A schedule, and how it is made smaller.
pub struct ScheduleTree {
    scenario: Arc<Scenario>,
    /// What the test is given.
    current: Schedule,
    /// The smallest that is known to fail.
    failing: Schedule,
    /// The deviations that the first one came to, once it has failed.
    all: Option<Vec<Deviation>>,
    known: Known,
}

impl ScheduleTree {
    fn new(scenario: Arc<Scenario>, schedule: Schedule) -> ScheduleTree {
        ScheduleTree { scenario, failing: schedule.clone(), current: schedule, all: None, known: Known::default() }
    }

    /// Notes what the test says of the current schedule, and goes on to the next that the shrinker asks about.
    fn answered(&mut self, fails: bool) -> bool {
        if fails {
            self.failing = self.current.clone();
        }
        let start = match &self.all {
            Some(all) => all.clone(),
            None if fails => return self.as_list(),
            None => return false,
        };
        if let Schedule::Fixed(list) = &self.current {
            self.known.answers.insert(key(list), fails);
        }
        if self.known.answers.get(&key(&start)) != Some(&true) {
            return self.settle();
        }
        let mut asking = Asking { scenario: &self.scenario, known: &mut self.known };
        let mut list = start;
        match minimize(&mut asking, &mut list) {
            Err(asked) => {
                self.current = Schedule::Fixed(asked);
                true
            }
            Ok(()) => self.settle(),
        }
    }

    /// The first simplification: the deviations of the schedule in place of its seed.
    fn as_list(&mut self) -> bool {
        let played = play(&self.scenario, &self.current, false);
        let Some(list) = played.map(|outcome| outcome.deviations) else { return false };
        self.current = Schedule::Fixed(list.clone());
        self.all = Some(list);
        true
    }

    fn settle(&mut self) -> bool {
        self.current = self.failing.clone();
        false
    }
}

impl ValueTree for ScheduleTree {
    type Value = Schedule;

    fn current(&self) -> Schedule {
        self.current.clone()
    }

    fn simplify(&mut self) -> bool {
        self.answered(true)
    }

    fn complicate(&mut self) -> bool {
        self.answered(false)
    }
}

impl fmt::Debug for ScheduleTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleTree").field("current", &self.current).finish_non_exhaustive()
    }
}

/// What was played and answered so far.
#[derive(Default)]
struct Known {
    answers: BTreeMap<Key, bool>,
    taken: BTreeMap<Key, Vec<Deviation>>,
    sites: BTreeMap<Key, Vec<SiteListing>>,
}

/// Answers the shrinker as the test did; it stops with the first list that the test was not asked about yet.
struct Asking<'a> {
    scenario: &'a Scenario,
    known: &'a mut Known,
}

impl Oracle for Asking<'_> {
    type Stop = Vec<Deviation>;

    fn fails(&mut self, list: &[Deviation]) -> Result<Option<Vec<Deviation>>, Vec<Deviation>> {
        let known = key(list);
        match self.known.answers.get(&known) {
            None => return Err(list.to_vec()),
            Some(false) => return Ok(None),
            Some(true) => {}
        }
        if let Some(taken) = self.known.taken.get(&known) {
            return Ok(Some(taken.clone()));
        }
        let played = play(self.scenario, &Schedule::Fixed(list.to_vec()), false);
        let taken = played.map_or_else(|| list.to_vec(), |outcome| outcome.deviations);
        self.known.answers.insert(key(&taken), true);
        self.known.taken.insert(key(&taken), taken.clone());
        self.known.taken.insert(known, taken.clone());
        Ok(Some(taken))
    }

    fn sites(&mut self, list: &[Deviation]) -> Result<Vec<SiteListing>, Vec<Deviation>> {
        let known = key(list);
        if !self.known.sites.contains_key(&known) {
            let played = play(self.scenario, &Schedule::Fixed(list.to_vec()), true);
            self.known.sites.insert(known.clone(), played.map(|outcome| outcome.sites).unwrap_or_default());
        }
        Ok(self.known.sites[&known].clone())
    }

    fn workers(&self) -> Vec<Name> {
        self.scenario.runtime.workers.clone()
    }
}

/// What comes of a schedule; none where its world panics, which is for the test to tell.
fn play(scenario: &Scenario, schedule: &Schedule, sites: bool) -> Option<Outcome> {
    contain(|| Runner::new(scenario).play(schedule, Options { sites, ..Options::default() })).ok()
}
