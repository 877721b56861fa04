//! What each deviation leads to when it is the first of two: how many values there are at the sites that come later,
//! and how many of them lead to nothing new.
//!
//! Two worlds that are in the same state when a site comes up go on alike, whatever happens there and after it. So where
//! two firsts have led to the same state at a site that comes after both, the same seconds from there on give the same
//! futures, and those of one of them are enough: of the earlier in order. Of a first that has changed nothing, the
//! calm run is that earlier one, and its seconds are the schedules of one deviation.

use std::collections::BTreeMap;

use super::{Search, values};
use crate::explore::batch::Broken;
use crate::explore::contain::contain;
use crate::explore::pool::{Bench, Done, Merge, work_through};
use crate::explore::{Halt, Listener, Player};
use crate::scenario::Options;
use crate::sim::{Schedule, SiteKey, SiteListing};

/// A deviation as the first of two.
#[derive(Clone, Copy, Debug, Default)]
struct First {
    /// Values at all sites that come later.
    later: u64,
    /// How many of them, from the first on, are to be played.
    played: u64,
    /// The state at the last site; equal where two runs have come together.
    state: Option<u128>,
}

/// All firsts, in the order of the schedules of one deviation.
pub(super) struct Firsts {
    /// For each, and at the end: how many pairs are to be played of those before it.
    pub(super) offsets: Vec<u64>,
    /// Pairs that there are.
    pub(super) pairs: u64,
}

impl Firsts {
    fn of(firsts: &[First]) -> Firsts {
        let mut offsets = vec![0];
        for first in firsts {
            offsets.push(offsets.last().expect("it begins with one") + first.played);
        }
        Firsts { offsets, pairs: firsts.iter().map(|first| first.later).sum() }
    }

    /// Pairs that are to be played.
    pub(super) fn to_play(&self) -> u64 {
        *self.offsets.last().expect("it begins with one")
    }
}

/// What looking at the firsts gave: nothing where it was broken off, or where a world panicked.
pub(super) struct Look {
    pub(super) firsts: Result<Firsts, Option<Box<Broken>>>,
    pub(super) halted: Option<Halt>,
}

/// What some of the firsts were found to be, by their place.
#[derive(Default)]
struct Found {
    firsts: BTreeMap<usize, First>,
    broken: Option<(usize, Box<Broken>)>,
}

impl Merge for Found {
    fn merge(&mut self, other: Self) {
        self.firsts.extend(other.firsts);
        let place = |found: &Option<(usize, Box<Broken>)>| found.as_ref().map_or(usize::MAX, |(place, _)| *place);
        if place(&other.broken) < place(&self.broken) {
            self.broken = other.broken;
        }
    }
}

/// Firsts that are looked at in one unit of work.
const UNIT: usize = 16;

/// Plays every schedule of one deviation again, and lists what comes after it.
pub(super) fn look(search: &Search<'_>, listener: &mut Listener<'_>) -> Look {
    let count = search.singles.len();
    let count_unit = |player: &mut Lister<'_>, unit: u64, bench: &Bench<'_>| {
        let start = unit as usize * UNIT;
        count_some(search, player, start..count.min(start + UNIT), bench)
    };
    let units = count.div_ceil(UNIT) as u64;
    let (found, halted) = work_through(search.how.jobs, units, || Lister::new(search), count_unit, listener);
    let Found { firsts, broken } = found;
    if broken.is_some() || halted.is_some() || firsts.len() < count {
        return Look { firsts: Err(broken.map(|(_, broken)| broken)), halted };
    }
    let mut firsts: Vec<First> = firsts.into_values().collect();
    if !search.how.prune {
        return Look { firsts: Ok(Firsts::of(&firsts)), halted };
    }
    let groups = alike(search, &firsts);
    let join_unit = |player: &mut Lister<'_>, unit: u64, bench: &Bench<'_>| {
        join_group(search, player, &groups[unit as usize], &firsts, bench)
    };
    let units = groups.len() as u64;
    let (joined, halted) = work_through(search.how.jobs, units, || Lister::new(search), join_unit, listener);
    if joined.broken.is_some() || halted.is_some() {
        return Look { firsts: Err(joined.broken.map(|(_, broken)| broken)), halted };
    }
    joined.firsts.into_iter().for_each(|(place, first)| firsts[place] = first);
    Look { firsts: Ok(Firsts::of(&firsts)), halted }
}

/// Plays a first and lists the sites of its run.
pub(super) struct Lister<'a>(Box<dyn Player + 'a>);

impl<'a> Lister<'a> {
    pub(super) fn new(search: &Search<'a>) -> Self {
        Lister(search.subject.player())
    }

    /// The sites of a first's run, and how many of them come no later than its deviation.
    pub(super) fn list(&mut self, search: &Search<'_>, first: usize) -> Listed {
        let deviation = search.single(first);
        let key = deviation.key;
        let listing = Options { sites: true, ..Options::default() };
        let sites = self.0.play(&Schedule::Fixed(vec![deviation]), listing).sites;
        let past = past(&sites, key);
        Listed { sites, past }
    }
}

/// The sites of a first's run.
pub(super) struct Listed {
    sites: Vec<SiteListing>,
    /// How many of them come no later than its deviation.
    past: usize,
}

impl Listed {
    /// The sites that come later.
    pub(super) fn later(&self) -> &[SiteListing] {
        &self.sites[self.past..]
    }

    /// How many values there are at the sites before the one from which on its run is in the same state as another,
    /// after the deviations of both.
    fn until_joined(&self, other: &Listed) -> u64 {
        let past = self.past.max(other.past);
        let both = self.sites.iter().zip(&other.sites).skip(past);
        let same = |(own, other): (&SiteListing, &SiteListing)| own.state.is_some() && own.state == other.state;
        let apart = both.take_while(|pair| !same(*pair)).count();
        let joined =
            if past + apart < self.sites.len().min(other.sites.len()) { past + apart } else { self.sites.len() };
        values(&self.sites[self.past..joined])
    }
}

/// The place behind the site with this key. A first whose site does not come up has broken determinism, which its own
/// schedule has told already: nothing comes after it.
fn past(sites: &[SiteListing], key: Option<SiteKey>) -> usize {
    sites.iter().position(|site| Some(site.key) == key).map_or(sites.len(), |place| place + 1)
}

fn count_some(
    search: &Search<'_>,
    lister: &mut Lister<'_>,
    range: std::ops::Range<usize>,
    bench: &Bench<'_>,
) -> Done<Found> {
    let mut found = Found::default();
    for first in range {
        if bench.halted() {
            break;
        }
        match contain(|| lister.list(search, first)) {
            Ok(listed) => {
                let later = values(listed.later());
                let state = listed.later().iter().rev().find_map(|site| site.state);
                found.firsts.insert(first, First { later, played: later, state });
            }
            Err(panic) => return broken(search, found, first, panic),
        }
    }
    Done { result: found, last: false }
}

fn broken(search: &Search<'_>, found: Found, first: usize, panic: crate::explore::Panic) -> Done<Found> {
    let schedule = Schedule::Fixed(vec![search.single(first)]);
    let broken = Some((first, Box::new(Broken { subject: search.place, schedule, panic })));
    Done { result: Found { broken, ..found }, last: true }
}

/// Runs that come together: the calm one, or a first, and the firsts that end in the same state, in order.
struct Group {
    /// None is the calm run.
    leader: Option<usize>,
    others: Vec<usize>,
}

/// The groups of firsts that end in the same state.
fn alike(search: &Search<'_>, firsts: &[First]) -> Vec<Group> {
    let calm = search.plan.sites.iter().rev().find_map(|site| site.state);
    let mut by_state: BTreeMap<u128, Vec<Option<usize>>> = BTreeMap::new();
    let each = firsts.iter().enumerate().map(|(place, first)| (Some(place), first.state));
    for (place, state) in std::iter::once((None, calm)).chain(each) {
        if let Some(state) = state {
            by_state.entry(state).or_default().push(place);
        }
    }
    let group = |members: Vec<Option<usize>>| Group {
        leader: members[0],
        others: members[1..].iter().flatten().copied().collect(),
    };
    by_state.into_values().filter(|members| members.len() > 1).map(group).collect()
}

/// Which run each first that comes together with another comes together with; none is the calm one.
#[cfg(test)]
pub(super) fn leaders(search: &Search<'_>) -> BTreeMap<usize, Option<usize>> {
    let mut lister = Lister::new(search);
    let state = |first| lister.list(search, first).later().iter().rev().find_map(|site| site.state);
    let firsts: Vec<First> =
        (0..search.singles.len()).map(state).map(|state| First { state, ..First::default() }).collect();
    let of_group = |group: Group| group.others.into_iter().map(move |other| (other, group.leader));
    alike(search, &firsts).into_iter().flat_map(of_group).collect()
}

/// Finds where each of a group comes together with its leader.
fn join_group(
    search: &Search<'_>,
    lister: &mut Lister<'_>,
    group: &Group,
    firsts: &[First],
    bench: &Bench<'_>,
) -> Done<Found> {
    let mut found = Found::default();
    let leader = match group.leader {
        None => Listed { sites: search.plan.sites.clone(), past: 0 },
        Some(first) => match contain(|| lister.list(search, first)) {
            Ok(listed) => listed,
            Err(panic) => return broken(search, found, first, panic),
        },
    };
    for &first in &group.others {
        if bench.halted() {
            break;
        }
        match contain(|| lister.list(search, first)) {
            Ok(listed) => {
                let played = listed.until_joined(&leader);
                found.firsts.insert(first, First { played, ..firsts[first] });
            }
            Err(panic) => return broken(search, found, first, panic),
        }
    }
    Done { result: found, last: false }
}
