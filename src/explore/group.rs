//! Failures of one subject with one cause: how many there are, and which of them are told.

use std::collections::{BTreeMap, BTreeSet};

use super::{Failure, Fingerprint, Strike};

/// How many failures are told of one cause; and of those that are not known as many, where known ones came first.
const SAMPLES_MOST: usize = 4;

/// Failures of one subject with the same cause.
#[derive(Clone, Debug)]
pub struct Group {
    /// How many schedules failed so.
    pub count: u64,
    /// How many of them were shrunk to tell them from what is known, by the last deviation of the minimum.
    pub minima: BTreeMap<Option<Strike>, u64>,
    /// A few of them, in the order of the exploration; never none.
    samples: Vec<Sample>,
}

/// A failure that is told, and its place in the order of the exploration.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What failed.
    pub failure: Failure,
    /// What its minimum broke, and what struck last in it, where it was shrunk to tell it from what is known.
    pub minimum: Option<Fingerprint>,
    /// Whether it is known.
    pub known: bool,
    /// Its place.
    pub(super) order: u64,
}

impl Sample {
    /// What two failures of one cause have in common of which one says enough.
    fn kind(&self) -> (bool, Option<Strike>) {
        match &self.minimum {
            Some(minimum) => (true, minimum.last.clone()),
            None => (false, Fingerprint::of(&self.failure.outcome).last),
        }
    }
}

impl Group {
    /// One failure.
    pub(super) fn of(sample: Sample) -> Group {
        let minima = sample.minimum.iter().map(|minimum| (minimum.last.clone(), 1)).collect();
        Group { count: 1, minima, samples: vec![sample] }
    }

    /// The first of them, in the order of the exploration.
    pub fn first(&self) -> &Failure {
        &self.samples[0].failure
    }

    /// The failures that are kept, the first one first. Each is the first with its last deviation: that of the minimum,
    /// where it was looked for. They may have another reason.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Takes in other failures with this cause.
    pub(super) fn join(&mut self, other: Group) {
        self.count += other.count;
        for (last, count) in other.minima {
            *self.minima.entry(last).or_default() += count;
        }
        let says_nothing = |new: &Sample| {
            let kind = new.kind();
            self.samples.iter().any(|own| own.order <= new.order && own.kind() == kind)
        };
        if other.samples.iter().all(says_nothing) {
            return;
        }
        self.samples.extend(other.samples);
        self.samples.sort_by_key(|sample| sample.order);
        select(&mut self.samples, Sample::kind, |sample| sample.known);
    }
}

/// Keeps of failures in order the first of each kind; of these the first few, and the first few that are not known. Of
/// parts of a whole that were each cut down so, the whole is cut down as if it had never been in parts.
pub(super) fn select<T, K: Ord>(failures: &mut Vec<T>, kind: impl Fn(&T) -> K, known: impl Fn(&T) -> bool) {
    let mut seen = BTreeSet::new();
    let (mut kept, mut unknown) = (0, 0);
    failures.retain(|failure| {
        if !seen.insert(kind(failure)) {
            return false;
        }
        kept += 1;
        unknown += usize::from(!known(failure));
        kept <= SAMPLES_MOST || (!known(failure) && unknown <= SAMPLES_MOST)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Kinds below it are known.
    const KNOWN: u8 = 9;

    fn selected(mut failures: Vec<(usize, u8)>) -> Vec<(usize, u8)> {
        failures.sort_unstable();
        select(&mut failures, |failure| failure.1, |failure| failure.1 < KNOWN);
        failures
    }

    #[test]
    fn what_is_not_known_is_told_however_much_that_is_known_came_first() {
        let kinds = [0, 1, 1, 2, 3, 4, 5, 20, 6, 21, 20, 22, 23, 24];
        let failures: Vec<(usize, u8)> = kinds.into_iter().enumerate().collect();
        let told: Vec<u8> = selected(failures).into_iter().map(|(_, kind)| kind).collect();
        assert_eq!(told, [0, 1, 2, 3, 20, 21, 22, 23]);
    }

    proptest! {
        #[test]
        fn parts_that_were_cut_down_give_what_the_whole_gives(
            kinds in proptest::collection::vec((0_u8..20, 0_usize..5), 0..60)
        ) {
            let all: Vec<(usize, u8)> = kinds.iter().map(|(kind, _)| *kind).enumerate().collect();
            let part = |part: usize| all.iter().zip(&kinds).filter(move |(_, (_, of))| *of == part).map(|(one, _)| *one);
            let parts = (0..5).flat_map(|nth| selected(part(nth).collect())).collect();
            prop_assert_eq!(selected(parts), selected(all));
        }
    }
}
