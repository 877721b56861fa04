//! Exactly the listed deviations, everything else calm.

use super::contain::contain;
use super::{Panic, Subject};
use crate::history::Record;
use crate::kernel::Name;
use crate::scenario::{Options, Outcome};
use crate::sim::Deviation;
use crate::sim::Schedule;

/// What a replay gave.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What came of the listed deviations.
    pub outcome: Outcome,
    /// The deviations whose site never came up: the list is stale, and the outcome says little.
    pub stale: Vec<Stale>,
}

/// A deviation whose site never came up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The deviation.
    pub deviation: Deviation,
    /// The name of the site that never came up: its own, or the one that a hold waited for in vain.
    pub missing: Name,
    /// The site of this replay whose name is nearest.
    pub nearest: Option<Name>,
    /// Whether the site did come up, but only after the world had healed, where nothing strikes.
    pub healed: bool,
}

/// Plays the deviations `list`; `trace` hears every event.
///
/// # Errors
/// When the world panics.
pub fn replay(
    subject: &dyn Subject,
    list: &[Deviation],
    trace: Option<&mut dyn FnMut(&Record)>,
) -> Result<Replayed, Panic> {
    let schedule = Schedule::Fixed(list.to_vec());
    let mut outcome =
        contain(|| subject.player().examine(&schedule, Options { sites: true, trace, ..Options::default() }))?;
    let sites: Vec<Name> = std::mem::take(&mut outcome.sites).into_iter().map(|site| site.name).collect();
    let stale = outcome.stale.iter().map(|deviation| {
        let missing = deviation.missing(&outcome.deviations);
        Stale {
            nearest: nearest(missing, sites.iter()).cloned(),
            healed: outcome.healed.contains(missing),
            missing: missing.clone(),
            deviation: deviation.clone(),
        }
    });
    Ok(Replayed { stale: stale.collect(), outcome })
}

/// The name that takes the fewest edits, the first among equals.
pub fn nearest<'a, T: AsRef<str>>(text: &str, names: impl Iterator<Item = &'a T>) -> Option<&'a T> {
    names.min_by_key(|name| strsim::damerau_levenshtein(text, name.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, deviation};
    use super::*;

    #[test]
    fn a_site_that_never_comes_up_is_stale_and_the_nearest_is_proposed() {
        let sites = vec![("w1 / lease 0 / append", Vec::new()), ("w1 / lease 1 / read", Vec::new())];
        let fake = Fake { sites, weak: Some("w1 / lease 0 / append"), ..Fake::default() };
        let list = [deviation("w1 / lease 0 / append"), deviation("w1 / lease 2 / append")];
        let replayed = replay(&fake, &list, None).expect("it does not panic");
        assert!(!replayed.outcome.held());
        let nearest = Some("w1 / lease 0 / append".into());
        assert_eq!(
            replayed.stale,
            [Stale { deviation: list[1].clone(), missing: list[1].site.clone(), nearest, healed: false }]
        );
    }
}
