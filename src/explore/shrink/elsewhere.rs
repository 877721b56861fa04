//! The same kinds of fault at another site.
//!
//! A list of which nothing can be dropped may still be longer than need be: a lease that was short and a heartbeat that
//! was lost on top of it can have done what one lost reply does elsewhere. So when two or more deviations are left, their
//! kinds are tried alone, with the values that exhaust tries, and then one of them beside each that is left.

use std::collections::BTreeSet;

use super::deviations::Oracle;
use crate::sim::{Deviation, FaultKind, SiteListing};

/// The most lists that are tried for one size. Of more an even share is taken.
const TRIES_MOST: usize = 96;

/// Puts fewer deviations in place of `current`, which fails and of which none can be dropped. Whether it could.
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
    let kinds: BTreeSet<FaultKind> = current.iter().map(|deviation| deviation.fault.kind()).collect();
    let own: Vec<Deviation> = all.iter().rev().filter(|other| !current.contains(other)).cloned().collect();
    if one_more(oracle, &[], &share(own, TRIES_MOST / 2), current)? {
        return Ok(true);
    }
    let alone = oracle.sites(&[])?;
    if one_more(oracle, &[], &share(values(&alone, &kinds), TRIES_MOST), current)? {
        return Ok(true);
    }
    if current.len() < 3 {
        return Ok(false);
    }
    let left = current.clone();
    for deviation in left.iter().rev() {
        let first = std::slice::from_ref(deviation);
        let beside = oracle.sites(first)?;
        let most = TRIES_MOST / left.len();
        if one_more(oracle, first, &share(values(&beside, &kinds), most), current)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tries each of `others` beside `first`; the first that fails is `current` from now on.
fn one_more<O: Oracle>(
    oracle: &mut O,
    first: &[Deviation],
    others: &[Deviation],
    current: &mut Vec<Deviation>,
) -> Result<bool, O::Stop> {
    for other in others.iter().filter(|other| first.iter().all(|known| known.site != other.site)) {
        let list = [first, std::slice::from_ref(other)].concat();
        if let Some(taken) = oracle.fails(&list)?
            && taken.len() < current.len()
        {
            *current = taken;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Every value of these kinds at these sites.
fn values(sites: &[SiteListing], kinds: &BTreeSet<FaultKind>) -> Vec<Deviation> {
    let of_site = |site: &SiteListing| {
        let faults = site.faults.iter().filter(|fault| kinds.contains(&fault.kind()));
        faults.map(|fault| site.deviation(fault.clone())).collect::<Vec<_>>()
    };
    sites.iter().flat_map(of_site).collect()
}

/// At most so many of the list, evenly spread.
fn share(list: Vec<Deviation>, most: usize) -> Vec<Deviation> {
    let every = list.len().div_ceil(most.max(1)).max(1);
    list.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Name, Span};
    use crate::sim::Fault;

    /// Its sites are always there; it fails while one of the cores is all there.
    struct Cores {
        sites: Vec<SiteListing>,
        cores: Vec<Vec<&'static str>>,
    }

    impl Oracle for Cores {
        type Stop = ();
        fn fails(&mut self, list: &[Deviation]) -> Result<Option<Vec<Deviation>>, ()> {
            let there = |site: &&str| list.iter().any(|deviation| *deviation.site == **site);
            Ok(self.cores.iter().any(|core| core.iter().all(there)).then(|| list.to_vec()))
        }
        fn sites(&mut self, _: &[Deviation]) -> Result<Vec<SiteListing>, ()> {
            Ok(self.sites.clone())
        }
        fn workers(&self) -> Vec<Name> {
            Vec::new()
        }
    }

    const DELAY: Fault = Fault::DelayReply { by: Span::from_secs(1) };

    /// What is left of `core`, whose faults are lost replies, where `other` fails, too; a lost reply can strike at all
    /// sites but `d`, where only a delay can.
    fn left(core: &[&'static str], other: &[&'static str]) -> Vec<String> {
        let site = |name: &str| {
            let faults = if name == "d" { vec![DELAY] } else { vec![Fault::LostReply, DELAY] };
            SiteListing::for_test(name, faults)
        };
        let mut oracle =
            Cores { sites: ["a", "b", "c", "d", "e"].map(site).to_vec(), cores: vec![core.to_vec(), other.to_vec()] };
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
    fn of_three_one_may_stay_beside_another() {
        assert_eq!(left(&["a", "b", "c"], &["b", "e"]), ["b", "e"]);
    }
}
