//! On a world of arithmetic, in which a deviation brings up sites and takes some away; and on a real one, that what is
//! spared is the same as what is played in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel};

use proptest::prelude::*;

use super::firsts::{self, Lister};
use super::pairs::Pieces;
use super::*;
use crate::explore::fake::{Fake, held, violation};
use crate::explore::{Cause, Player};
use crate::history::{Event, Header, Record, RunningHash};
use crate::scenario::Scenario;
use crate::sim::Fault;

const TWO: [Fault; 2] = [Fault::LostRequest, Fault::LostReply];

fn fake(weak: Option<&'static str>) -> Fake {
    Fake { sites: vec![("a", TWO.to_vec()), ("b", Vec::new()), ("c", TWO.to_vec())], weak, ..Fake::default() }
}

fn how(depth: u8) -> Exhaust {
    Exhaust { depth, holds: 0, jobs: 2, fail_fast: false, prune: true }
}

fn exhaust(subject: &dyn Subject, how: Exhaust) -> Exhausted {
    Plan::of(subject).expect("it does not panic").run(subject, 0, how, &mut |_| None)
}

#[test]
fn every_value_at_every_site_is_played() {
    let done = exhaust(&fake(None), how(1));
    assert_eq!((done.sites, done.singles, done.complete()), (3, Covered { planned: 4, played: 4 }, true));
    assert!(done.pairs.is_none() && done.findings.failures.is_empty() && done.findings.stale.is_empty());
}

#[test]
fn the_one_bad_value_is_found() {
    let done = exhaust(&fake(Some("c")), how(1));
    let group = done.findings.failures.values().next().expect("it fails");
    let Schedule::Fixed(list) = &group.first().schedule else { panic!("{:?}", group.first().schedule) };
    assert_eq!((list.len(), &*list[0].site, &list[0].fault), (1, "c", &Fault::LostReply));
    assert!(done.complete());
    for depth in [1, 2] {
        let done = exhaust(&fake(Some("a")), Exhaust { fail_fast: true, ..how(depth) });
        assert!(!done.complete() && done.pairs.is_none(), "the first failure ends it");
    }
}

#[test]
fn a_run_without_sites_is_covered_by_the_calm_run_alone() {
    for depth in [1, 2] {
        let done = exhaust(&Fake::default(), how(depth));
        assert_eq!((done.singles.planned, done.complete()), (0, true));
    }
}

/// What a deviation does in [`Growing`].
#[derive(Clone, Debug, PartialEq, Eq)]
struct Effect {
    /// Sites that come up next.
    brings: u8,
    /// How many of the sites ahead are gone.
    takes: usize,
    /// What is worse from now on: with all of it, a promise is broken.
    harm: u8,
}

/// A world whose sites are a queue; what a value does at a site is looked up.
#[derive(Debug)]
struct Growing {
    sites: u8,
    effects: Vec<Effect>,
    breaks_at: u8,
    /// Hears of every schedule that is played, but not of those that are listed.
    played: Option<Sender<Vec<(String, Fault)>>>,
}

impl Growing {
    fn effect(&self, site: &str, value: &Fault) -> &Effect {
        let salt = if *value == TWO[0] { 17 } else { 0 };
        let number = site.bytes().fold(salt, |sum, byte| sum * 31 + u64::from(byte));
        &self.effects[number as usize % self.effects.len()]
    }

    /// The sites of a run, and all the harm that was done.
    fn live(&self, list: &[Deviation]) -> (Vec<SiteListing>, u8) {
        let mut ahead: Vec<String> = (0..self.sites).rev().map(|number| format!("s{number}")).collect();
        let (mut listed, mut harm) = (Vec::new(), 0);
        while let Some(site) = ahead.pop() {
            let mut state = RunningHash::default();
            state.note(&(&site, &ahead, harm));
            listed.push(SiteListing { state: Some(state.value()), ..SiteListing::for_test(&site, TWO.to_vec()) });
            if let Some(struck) = list.iter().find(|deviation| *deviation.site == *site) {
                let effect = self.effect(&site, &struck.fault);
                ahead.truncate(ahead.len().saturating_sub(effect.takes));
                ahead.extend((0..effect.brings).map(|number| format!("{site}.{number}")));
                harm |= effect.harm;
            }
        }
        (listed, harm)
    }

    /// From now on somebody listens.
    fn listen(&mut self) -> Receiver<Vec<(String, Fault)>> {
        let (sender, receiver) = channel();
        self.played = Some(sender);
        receiver
    }

    /// Every list of two, in order, the slow way.
    fn pairs(&self) -> Vec<Vec<(String, Fault)>> {
        let mut pairs = Vec::new();
        for first in self.live(&[]).0 {
            for value in &first.faults {
                let struck = first.deviation(value.clone());
                let (sites, _) = self.live(std::slice::from_ref(&struck));
                let later = sites.iter().skip_while(|site| site.key != first.key).skip(1);
                for second in later.flat_map(|site| site.faults.iter().map(|fault| site.deviation(fault.clone()))) {
                    pairs.push(plain(&[struck.clone(), second]));
                }
            }
        }
        pairs
    }
}

fn plain(list: &[Deviation]) -> Vec<(String, Fault)> {
    list.iter().map(|deviation| (deviation.site.to_string(), deviation.fault.clone())).collect()
}

impl Subject for Growing {
    fn name(&self) -> &str {
        "growing"
    }
    fn fixed(&self) -> Option<&[Deviation]> {
        None
    }
    fn player(&self) -> Box<dyn Player + '_> {
        Box::new(Grown(self))
    }
}

struct Grown<'a>(&'a Growing);

impl Player for Grown<'_> {
    fn header(&self) -> Header {
        unreachable!("explorations need no header")
    }

    fn play(&mut self, schedule: &Schedule, options: Options<'_>) -> Outcome {
        let list = if let Schedule::Fixed(list) = schedule { &list[..] } else { &[] };
        let (sites, harm) = self.0.live(list);
        if let Some(played) = self.0.played.as_ref().filter(|_| !options.sites) {
            played.send(plain(list)).expect("somebody listens");
        }
        let mut outcome = held();
        outcome.digest = format!("{list:?}");
        let came = |deviation: &Deviation| sites.iter().any(|site| site.name == deviation.site);
        (outcome.deviations, outcome.stale) = list.iter().cloned().partition(came);
        if harm == self.0.breaks_at {
            outcome.violations.push(violation("log-dense", 1));
        }
        if options.sites {
            outcome.sites = sites;
        }
        outcome
    }
}

fn growing() -> impl Strategy<Value = Growing> {
    let effect =
        (0..3_u8, 0..3_usize, 0..8_u8).prop_map(|(brings, takes, harm)| Effect { brings, takes, harm: harm & 3 });
    let effects = prop::collection::vec(effect, 1..12);
    (0..9_u8, effects, 1..4_u8).prop_map(|(sites, effects, breaks_at)| Growing {
        sites,
        effects,
        breaks_at,
        played: None,
    })
}

fn causes(done: &Exhausted) -> BTreeSet<Cause> {
    done.findings.failures.keys().map(|(_, cause)| cause.clone()).collect()
}

proptest! {
    #[test]
    fn every_ordered_pair_is_played_exactly_once_and_in_order(mut world in growing()) {
        let all = world.pairs();
        prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        let how = Exhaust { prune: false, ..how(2) };
        let plan = Plan::of(&world).expect("it does not panic");
        let search = Search::new(&plan, &world, 0, how);
        let firsts = firsts::look(&search, &mut |_| None).firsts.unwrap_or_else(|_| unreachable!("it does not panic"));
        let pieces = Pieces::of(&firsts);
        let mut lister = Lister::new(&search);
        let listed: Vec<_> = (0..pieces.count()).flat_map(|unit| {
            let piece = pieces.piece(&firsts, unit);
            piece.schedules(&search.single(piece.first), &lister.list(&search, piece.first))
        }).map(|schedule| if let Schedule::Fixed(list) = schedule { plain(&list) } else { Vec::new() }).collect();
        prop_assert_eq!(&listed, &all);

        drop(lister);
        let heard = world.listen();
        let done = exhaust(&world, how);
        let pairs = done.pairs.clone().expect("they are asked for");
        prop_assert!(done.complete() && done.findings.stale.is_empty());
        prop_assert_eq!((pairs.planned, pairs.played, pairs.spared), (all.len() as u64, all.len() as u64, 0));
        let played: BTreeSet<_> = heard.try_iter().filter(|list| list.len() == 2).collect();
        prop_assert_eq!(played, all.into_iter().collect::<BTreeSet<_>>());
    }

    #[test]
    fn what_is_spared_breaks_nothing_that_is_not_found_all_the_same(world in growing()) {
        let (all, pruned) = (exhaust(&world, Exhaust { prune: false, ..how(2) }), exhaust(&world, how(2)));
        prop_assert_eq!(causes(&all), causes(&pruned));
        prop_assert!(pruned.complete());
        let pairs = pruned.pairs.expect("they are asked for");
        prop_assert_eq!(pairs.played + pairs.spared, all.pairs.expect("they are asked for").played);
    }

    #[test]
    fn what_is_found_does_not_depend_on_the_number_of_threads(world in growing(), fail_fast in any::<bool>()) {
        let told = |jobs| {
            let done = exhaust(&world, Exhaust { jobs, fail_fast, ..how(2) });
            format!("{:?} {:?} {:?}", done.findings, done.singles, done.pairs)
        };
        let alone = told(1);
        prop_assert_eq!(&told(2), &alone);
        prop_assert_eq!(&told(5), &alone);
    }
}

/// A world in which nothing but the pair of the first site's and the last one's second value is bad.
fn pair_is_bad() -> Growing {
    let plain = Effect { brings: 0, takes: 0, harm: 0 };
    let mut effects = vec![plain; 64];
    let place = |site: &str| site.bytes().fold(0, |sum: u64, byte| sum * 31 + u64::from(byte)) as usize % 64;
    effects[place("s0")].harm = 1;
    effects[place("s8")].harm = 2;
    Growing { sites: 9, effects, breaks_at: 3, played: None }
}

#[test]
fn a_failure_that_takes_two_is_found_at_depth_two_only() {
    assert!(exhaust(&pair_is_bad(), how(1)).findings.failures.is_empty());
    let done = exhaust(&pair_is_bad(), how(2));
    let group = done.findings.failures.values().next().expect("it fails");
    let Schedule::Fixed(list) = &group.first().schedule else { panic!("{:?}", group.first().schedule) };
    assert_eq!(plain(list), [("s0".to_owned(), TWO[1].clone()), ("s8".to_owned(), TWO[1].clone())]);
    let pairs = done.pairs.expect("they are asked for");
    assert_eq!(
        (pairs.planned, pairs.played),
        (144, 16),
        "all but the firsts that do harm lead where the calm run does"
    );
}

#[test]
fn a_halt_leaves_an_exact_account_of_what_was_played() {
    let mut world = pair_is_bad();
    for limit in [1, 5, 40, 100] {
        let mut played = 0;
        let mut listener = |news| {
            played += if let News::Played(count) = news { count } else { 0 };
            (played >= 18 + limit).then_some(Halt::Time)
        };
        let how = Exhaust { prune: false, jobs: 1, ..how(2) };
        let heard = world.listen();
        let done = Plan::of(&world).expect("it does not panic").run(&world, 0, how, &mut listener);
        let pairs = done.pairs.clone().expect("they were begun");
        let of_firsts = |firsts: u64| (0..firsts).map(|first| 16 - first / 2 * 2).sum::<u64>();
        assert_eq!(pairs.played, of_firsts(pairs.firsts_done) + pairs.beyond, "{pairs:?}");
        let first = pairs.through.as_ref().map(|last| (last.site.to_string(), last.fault.clone()));
        let wanted =
            pairs.firsts_done.checked_sub(1).map(|last| (format!("s{}", last / 2), TWO[last as usize % 2].clone()));
        assert_eq!(first, wanted);
        let logged: BTreeSet<_> = heard.try_iter().filter(|list| list.len() == 2).collect();
        assert_eq!(logged.len() as u64, pairs.played);
        assert!(done.halted.is_some() || pairs.complete());
    }
}

/// The history of a schedule without the events that name deviations, and how it ended.
fn course(player: &mut dyn Player, list: Vec<Deviation>) -> (u128, String) {
    let mut hash = RunningHash::default();
    let mut take = |record: &Record| {
        if !matches!(record.event, Event::Deviation { .. }) {
            hash.note(record);
        }
    };
    let options = Options { trace: Some(&mut take), ..Options::default() };
    let outcome = player.play(&Schedule::Fixed(list), options);
    (hash.value(), format!("{:?} {:?}", outcome.violations, outcome.ends))
}

#[test]
fn what_is_spared_of_a_real_world_is_what_was_played_in_its_place() {
    let scenario = Scenario::load(std::path::Path::new("scenarios/charge-card.json")).expect("it is valid");
    let plan = Plan::of(&scenario).expect("it does not panic");
    let how = Exhaust { jobs: 1, ..how(2) };
    let search = Search::new(&plan, &scenario, 0, how);
    let leaders: BTreeMap<usize, Option<usize>> = firsts::leaders(&search);
    let firsts = firsts::look(&search, &mut |_| None).firsts.unwrap_or_else(|_| unreachable!("it does not panic"));
    let (mut player, mut lister) = (scenario.player(), Lister::new(&search));
    let mut compared = 0;
    for (&first, leader) in &leaders {
        let played = firsts.offsets[first + 1] - firsts.offsets[first];
        let listed = lister.list(&search, first);
        let values =
            listed.later().iter().flat_map(|site| site.faults.iter().map(|fault| site.deviation(fault.clone())));
        for second in values.skip(played as usize).step_by(7) {
            let own = course(player.as_mut(), vec![search.single(first), second.clone()]);
            let before = leader.map(|leader| search.single(leader));
            let other = course(player.as_mut(), before.into_iter().chain([second.clone()]).collect());
            assert_eq!(own, other, "{:?} and {second:?}", search.single(first));
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared}");
}

/// Three calls of three inputs about one mailbox, a second apart.
const CROWD: &str = r#"{
    "name": "crowd",
    "agents": { "desk": [ { "receive": 3, "limit": "1m" }, { "complete": 1 } ] },
    "inputs": [
        { "at": "+0s", "to": "desk", "from": "ann", "id": "one" },
        { "at": "+1s", "to": "desk", "from": "bob", "id": "two" },
        { "at": "+2s", "to": "desk", "from": "eve", "id": "three" }
    ]
}"#;

#[test]
fn every_hold_and_every_two_are_played_once_and_none_that_waits_in_vain_breaks_anything() {
    let scenario = Scenario::parse(CROWD, "crowd.json").expect("it is valid");
    let plan = Plan::of(&scenario).expect("it does not panic");
    let lease = scenario.player().header().lease;
    let holds = crate::explore::holds::holds(&plan.sites, lease);
    assert!(holds.len() > 20, "{}", holds.len());
    let mut player = scenario.player();
    let in_vain = |hold: &Deviation, player: &mut dyn Player| {
        !player.play(&Schedule::Fixed(vec![hold.clone()]), Options::default()).stale.is_empty()
    };
    assert!(holds.iter().any(|hold| in_vain(hold, player.as_mut())), "one waits for what follows from it");
    let told = |holds, jobs| plan.run(&scenario, 0, Exhaust { holds, jobs, ..how(1) }, &mut |_| None);
    let one = told(1, 2);
    assert_eq!(one.holds, Covered { planned: holds.len() as u64, played: holds.len() as u64 });
    assert!(one.complete() && one.two_holds.is_none() && one.findings.stale.is_empty(), "{:?}", one.findings.stale);
    let two = told(2, 2);
    let counted = two.two_holds.expect("they are asked for");
    assert_eq!((counted.firsts, counted.firsts_done), (holds.len() as u64, holds.len() as u64));
    assert!(counted.played > counted.firsts && two.complete() && two.findings.stale.is_empty());
    assert_eq!(told(2, 1).two_holds, Some(counted));
    assert!(two.findings.failures.is_empty(), "{:?}", two.findings.failures.keys());
}
