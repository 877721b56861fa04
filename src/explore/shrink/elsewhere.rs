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
        faults.map(|fault| site.deviation(*fault)).collect::<Vec<_>>()
    };
    sites.iter().flat_map(of_site).collect()
}

/// At most so many of the list, evenly spread.
fn share(list: Vec<Deviation>, most: usize) -> Vec<Deviation> {
    let every = list.len().div_ceil(most.max(1)).max(1);
    list.into_iter().step_by(every).collect()
}
