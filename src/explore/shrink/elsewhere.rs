//! The same strikes at other sites.
//!
//! A list of which nothing can be dropped may still be longer than need be: a lease that was short and a heartbeat that
//! was lost on top of it can have done what one lost reply does elsewhere, and a chain of lost leases may have done no more
//! than to bring about the lease in which the rest strikes. So when two or more deviations are left, fewer are put together
//! anew, from the calm run on: each of a kind and at a call that the list has, at any site of that call.

use std::collections::{BTreeMap, BTreeSet};

use super::deviations::Oracle;
use crate::explore::Strike;
use crate::sim::{Deviation, FaultKind, SiteListing};

/// The most schedules that are played for lists of one, of two, and of three.
const TRIES_MOST: [usize; 3] = [96, 1_000, 4_000];

/// Puts fewer deviations in place of `current`, which fails and of which none can be dropped: one of `all`, one of the same
/// kinds, or a few of the same strikes. Whether it could.
///
/// # Errors
/// When the oracle stops.
pub(super) fn fewer<O: Oracle>(
    oracle: &mut O,
    all: &[Deviation],
    current: &mut Vec<Deviation>,
) -> Result<bool, O::Stop> {
    if current.len() < 2 {
        return Ok(false);
    }
    let own: Vec<Deviation> = all.iter().rev().filter(|other| !current.contains(other)).cloned().collect();
    let of_kinds = values(&oracle.sites(&[])?, &of_kinds(current));
    for other in share(own, TRIES_MOST[0] / 2).into_iter().chain(share(of_kinds, TRIES_MOST[0])) {
        if let Some(taken) = oracle.fails(&[other])? {
            *current = taken;
            return Ok(true);
        }
    }
    let strikes = of_strikes(current);
    for (size, most) in (1..current.len()).zip(TRIES_MOST) {
        if anew(oracle, &strikes, size, most, current)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Puts a list of `size` in place of `current`, of deviations that may be in it, if one is found that fails within `most`
/// schedules. Whether one was.
///
/// # Errors
/// When the oracle stops.
pub(super) fn anew<O: Oracle>(
    oracle: &mut O,
    may: &dyn Fn(&Deviation) -> bool,
    size: usize,
    most: usize,
    current: &mut Vec<Deviation>,
) -> Result<bool, O::Stop> {
    let mut search = Search { oracle, may, left: most, ends: BTreeMap::new() };
    let found = search.longer(&mut Vec::new(), size)?;
    Ok(found.map(|taken| *current = taken).is_some())
}

/// Whether a deviation is of a kind that the list has.
pub(super) fn of_kinds(list: &[Deviation]) -> impl Fn(&Deviation) -> bool + use<> {
    let kinds: BTreeSet<FaultKind> = list.iter().map(|deviation| deviation.fault.kind()).collect();
    move |deviation| kinds.contains(&deviation.fault.kind())
}

/// Whether a deviation is of a kind and at a call as one that the list has.
pub(super) fn of_strikes(list: &[Deviation]) -> impl Fn(&Deviation) -> bool + use<> {
    let strikes: BTreeSet<Strike> = list.iter().map(Strike::of).collect();
    move |deviation| strikes.contains(&Strike::of(deviation))
}

/// The values that are tried at these sites, of those that may be.
pub(super) fn values(sites: &[SiteListing], may: &dyn Fn(&Deviation) -> bool) -> Vec<Deviation> {
    let of_site = |site: &SiteListing| {
        let all = site.faults.iter().map(|fault| site.deviation(fault.clone()));
        all.filter(may).collect::<Vec<_>>()
    };
    sites.iter().flat_map(of_site).collect()
}

/// A search for a list that fails.
struct Search<'a, O> {
    oracle: &'a mut O,
    /// Whether a deviation may be in it.
    may: &'a dyn Fn(&Deviation) -> bool,
    /// Schedules that may still be played.
    left: usize,
    /// The states in which runs of its beginnings have ended, each with the most that could still follow: from the same
    /// state nothing new does.
    ends: BTreeMap<u128, usize>,
}

impl<O: Oracle> Search<'_, O> {
    /// `list` and `more` deviations after it, if so it fails. Each comes at a later site than the one before it.
    fn longer(&mut self, list: &mut Vec<Deviation>, more: usize) -> Result<Option<Vec<Deviation>>, O::Stop> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let sites = self.oracle.sites(list)?;
        if let Some(end) = sites.iter().rev().find_map(|site| site.state) {
            let known = self.ends.entry(end).or_default();
            if *known >= more {
                return Ok(None);
            }
            *known = more;
        }
        let past = match list.last() {
            Some(last) => sites.iter().position(|site| site.name == last.site).map_or(sites.len(), |place| place + 1),
            None => 0,
        };
        for next in values(&sites[past..], self.may) {
            list.push(next);
            let found = if more > 1 { self.longer(list, more - 1)? } else { self.fails(list)? };
            list.pop();
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn fails(&mut self, list: &[Deviation]) -> Result<Option<Vec<Deviation>>, O::Stop> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.oracle.fails(list)
    }
}

/// At most so many of the list, evenly spread.
pub(super) fn share(list: Vec<Deviation>, most: usize) -> Vec<Deviation> {
    let every = list.len().div_ceil(most.max(1)).max(1);
    list.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::fake::Cores;
    use crate::kernel::Span;
    use crate::sim::Fault;

    const DELAY: Fault = Fault::DelayReply { by: Span::from_secs(1) };

    /// What is left of `core`, whose faults are lost replies, where `other` fails, too; a lost reply can strike at all
    /// sites but `d`, where only a delay can.
    fn left(core: &[&'static str], other: &[&'static str]) -> Vec<String> {
        let site = |name: &str| {
            let faults = if name == "d" { vec![DELAY] } else { vec![Fault::LostReply, DELAY] };
            SiteListing::for_test(name, faults)
        };
        let mut oracle = Cores {
            sites: ["a", "b", "c", "d", "e", "1 / a", "1 / b"].map(site).to_vec(),
            cores: vec![core.to_vec(), other.to_vec()],
        };
        let mut current: Vec<Deviation> = core.iter().map(|site| Deviation::named(site, Fault::LostReply)).collect();
        let all = current.clone();
        while fewer(&mut oracle, &all, &mut current).expect("it never stops") {}
        current.iter().map(|deviation| deviation.site.to_string()).collect()
    }

    #[test]
    fn the_same_kind_of_fault_at_one_site_stands_in_for_two() {
        assert_eq!(left(&["a", "b"], &["e"]), ["e"]);
        assert_eq!(left(&["a", "b"], &["d"]), ["a", "b"], "another kind of fault is another failure");
        assert_eq!(left(&["a"], &["e"]), ["a"], "one is not replaced by one");
    }

    #[test]
    fn of_three_two_of_the_same_strikes_stand_in_for_all() {
        assert_eq!(left(&["a", "b", "c"], &["b", "1 / a"]), ["b", "1 / a"]);
        assert_eq!(left(&["a", "b", "c"], &["1 / a", "1 / b"]), ["1 / a", "1 / b"]);
        assert_eq!(left(&["a", "b", "c"], &["b", "e"]), ["a", "b", "c"], "`e` is another call");
    }
}
