//! Which of many numbered schedules were played, in little room.

use std::collections::BTreeMap;

use crate::explore::pool::Merge;

/// Ranges of numbers, none of which touches another: the start of each, and its end, which is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds the numbers from `start` up to `end`, of which none is in yet.
    pub(super) fn add(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        if let Some((&before, &until)) = self.0.range(..start).next_back()
            && until == start
        {
            self.0.remove(&before);
            start = before;
        }
        if let Some(until) = self.0.remove(&end) {
            end = until;
        }
        self.0.insert(start, end);
    }

    /// How many numbers are in.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// All numbers below it are in, and it is not.
    pub(super) fn unbroken(&self) -> u64 {
        self.0.get(&0).copied().unwrap_or(0)
    }
}

impl Merge for Ranges {
    fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(start, end)| self.add(start, end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one_whatever_the_order() {
        let parts = [(0, 4), (4, 7), (9, 12), (7, 9), (20, 21), (3, 3)];
        for turn in 0..parts.len() {
            let mut ranges = Ranges::default();
            parts.iter().cycle().skip(turn).take(parts.len()).for_each(|(start, end)| ranges.add(*start, *end));
            assert_eq!(ranges.0.iter().map(|(start, end)| (*start, *end)).collect::<Vec<_>>(), [(0, 12), (20, 21)]);
            assert_eq!((ranges.count(), ranges.unbroken()), (13, 12));
        }
        assert_eq!((Ranges::default().count(), Ranges::default().unbroken()), (0, 0));
    }
}
