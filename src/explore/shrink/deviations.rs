//! From deviations that fail to a minimal list: drop, re-anchor, put fewer in their place, simplify, until nothing
//! changes.

use super::anchor::{Reach, move_stale};
use super::ddmin::ddmin;
use super::elsewhere::fewer;
use super::values::simplify;
use crate::kernel::Name;
use crate::sim::{Deviation, Fault, SiteListing};

/// Who plays lists of deviations and knows the failure.
pub(crate) trait Oracle {
    /// Why it answers no more.
    type Stop;

    /// Plays exactly `list`. If the failure is the same: the deviations that came about, in order.
    fn fails(&mut self, list: &[Deviation]) -> Result<Option<Vec<Deviation>>, Self::Stop>;

    /// The sites that come up under `list`.
    fn sites(&mut self, list: &[Deviation]) -> Result<Vec<SiteListing>, Self::Stop>;

    /// The names of the workers.
    fn workers(&self) -> Vec<Name>;
}

/// A list as what it is known by: sites and faults, in no order of their own.
pub(crate) type Key = Vec<(Name, Fault)>;

/// What `list` is known by. Two lists with the same key give the same history.
pub(crate) fn key(list: &[Deviation]) -> Key {
    let mut key: Key = list.iter().map(|deviation| (deviation.site.clone(), deviation.fault.clone())).collect();
    key.sort_unstable();
    key
}

/// Makes `current`, which fails, minimal: each list that lacks one of its deviations holds, and so does each that has a
/// simpler value in place of one, of those that are tried.
///
/// # Errors
/// When the oracle stops; `current` is the smallest list so far.
pub(crate) fn minimize<O: Oracle>(oracle: &mut O, current: &mut Vec<Deviation>) -> Result<(), O::Stop> {
    let all = current.clone();
    loop {
        ddmin(current, &mut |list| oracle.fails(list))?;
        if drop_and_move(oracle, current)? || fewer(oracle, &all, current)? {
            continue;
        }
        let before = current.clone();
        simplify(oracle, current)?;
        if *current == before {
            return Ok(());
        }
    }
}

/// Whether each list that lacks one of `list` is known to hold.
///
/// # Errors
/// When the oracle stops.
pub(crate) fn is_minimal<O: Oracle>(oracle: &mut O, list: &[Deviation]) -> Result<bool, O::Stop> {
    for place in 0..list.len() {
        if oracle.fails(&without(list, place))?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn without(list: &[Deviation], place: usize) -> Vec<Deviation> {
    [&list[..place], &list[place + 1..]].concat()
}

/// Drops deviations of `current` while the others fail without them at other leases; whether some could be dropped so.
fn drop_and_move<O: Oracle>(oracle: &mut O, current: &mut Vec<Deviation>) -> Result<bool, O::Stop> {
    for place in 0..current.len() {
        let rest = without(current, place);
        if rest.is_empty() {
            continue;
        }
        if let Some(smaller) = moved(oracle, &rest, Reach::Leases)? {
            *current = smaller;
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many sites are tried for a deviation that came up nowhere.
const CHOICES: usize = 3;
/// How often what was moved may make others come up nowhere.
const ROUNDS: usize = 3;

/// Moves those of `list` that do not come up; what came about, if it fails then.
///
/// # Errors
/// When the oracle stops.
pub(super) fn moved<O: Oracle>(
    oracle: &mut O,
    list: &[Deviation],
    reach: Reach,
) -> Result<Option<Vec<Deviation>>, O::Stop> {
    let workers = oracle.workers();
    for choice in 0..CHOICES {
        let mut list = list.to_vec();
        for round in 0..ROUNDS {
            let sites = oracle.sites(&list)?;
            if !move_stale(&mut list, &sites, reach, &workers, choice) {
                if round == 0 {
                    return Ok(None);
                }
                break;
            }
            if let Some(taken) = oracle.fails(&list)? {
                return Ok(Some(taken));
            }
        }
    }
    Ok(None)
}
