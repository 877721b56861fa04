//! One deviation in place of several.
//!
//! A list of which nothing can be dropped may still be longer than need be: what four deviations did together, another one
//! may do alone. So when two or more are left, every schedule of one deviation is played that `exhaust` would play of the
//! calm run, whatever its kind: what is left then has no smaller neighbour of one.

use super::deviations::Oracle;
use super::elsewhere::{share, values};
use crate::explore::exhaust::Covered;
use crate::explore::holds::holds;
use crate::kernel::Span;
use crate::sim::Deviation;

/// Looks for one deviation that fails in place of `current`, which has more: among all values at the sites of the calm run,
/// then among its holds within `lease`; of more than `most` of them an even share is tried. Where none fails: how many were
/// tried of how many.
///
/// # Errors
/// When the oracle stops.
pub(super) fn alone<O: Oracle>(
    oracle: &mut O,
    lease: Span,
    most: usize,
    current: &mut Vec<Deviation>,
) -> Result<Option<Covered>, O::Stop> {
    let sites = oracle.sites(&[])?;
    let singles: Vec<Deviation> = values(&sites, &|_| true).into_iter().chain(holds(&sites, lease)).collect();
    let planned = singles.len() as u64;
    let tried = share(singles, most);
    for single in &tried {
        if let Some(taken) = oracle.fails(std::slice::from_ref(single))? {
            *current = taken;
            return Ok(None);
        }
    }
    Ok(Some(Covered { planned, played: tried.len() as u64 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::fake::Cores;
    use crate::kernel::Name;
    use crate::sim::{Fault, SiteListing};

    const DELAY: Fault = Fault::DelayReply { by: Span::from_secs(1) };

    /// What is left of lost replies at `a`, `b` and `c` where these cores fail, and what was covered.
    fn left(cores: &[&[&'static str]], most: usize) -> (Vec<Name>, Option<Covered>) {
        let site = |name| SiteListing::for_test(name, vec![DELAY, Fault::LostReply]);
        let core = |core: &&[&'static str]| core.to_vec();
        let mut oracle =
            Cores { sites: ["a", "b", "c", "d"].map(site).to_vec(), cores: cores.iter().map(core).collect() };
        let mut current: Vec<Deviation> = ["a", "b", "c"].map(|site| Deviation::named(site, Fault::LostReply)).to_vec();
        let covered = alone(&mut oracle, Span::from_secs(30), most, &mut current).expect("it never stops");
        (current.into_iter().map(|deviation| deviation.site).collect(), covered)
    }

    #[test]
    fn one_of_any_kind_stands_in_for_all_and_where_none_does_that_is_known() {
        let covered = |played| Some(Covered { planned: 8, played });
        let all = || ["a", "b", "c"].map(Name::from).to_vec();
        assert_eq!(left(&[&["a", "b", "c"], &["d"]], 100), (vec!["d".into()], None));
        assert_eq!(left(&[&["a", "b", "c"], &["a", "d"]], 100), (all(), covered(8)));
        assert_eq!(left(&[&["a", "b", "c"]], 3), (all(), covered(3)));
    }
}
