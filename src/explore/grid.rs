//! The fixed grid of seeds that sweeps hand out and tell their results in.
//!
//! A block is a power of two of seeds that begins at a multiple of its size. Two blocks are apart or one lies in the
//! other, whatever ranges they were cut from: so results of sweeps that overlap can be joined and nothing is counted
//! twice.

use std::ops::Range;
use std::str::FromStr;

/// What stands for the calm schedule in place of seeds: none, behind all that there are.
pub(super) const CALM: Range<u64> = u64::MAX..u64::MAX;

/// The most seeds of a block near 0.
const NEAR_MOST: u64 = 64;
/// A block far from 0 is no longer than this part of the seeds before it: results are told often, and the file that
/// they are written to grows with the logarithm of the sweep.
const PART_OF_PAST: u64 = 1_024;

/// One of several sweeps that share the seeds of a range: those whose remainder is its own.
///
/// ```
/// use chronodrome::explore::Shard;
/// let shard: Shard = "3/8".parse().unwrap();
/// assert_eq!(shard.seeds(0..20).collect::<Vec<_>>(), [2, 10, 18]);
/// assert!("9/8".parse::<Shard>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// Which one, from 1.
    pub number: u64,
    /// Of how many, at least 1.
    pub of: u64,
}

/// A text that is no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a shard is its number and how many there are, from `1/8` to `8/8`")]
pub struct ShardError;

impl Shard {
    /// The only one: every seed is its own.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Its seeds in `range`, rising.
    pub fn seeds(self, range: Range<u64>) -> impl Iterator<Item = u64> + Clone {
        let wanted = (self.number - 1) % self.of;
        let ahead = (wanted + self.of - range.start % self.of) % self.of;
        let first = range.start.checked_add(ahead).filter(|first| *first < range.end);
        let step = usize::try_from(self.of).unwrap_or(usize::MAX);
        (first.unwrap_or(range.end)..range.end).step_by(step)
    }

    /// How many seeds of `range` are its own.
    pub fn count(self, range: &Range<u64>) -> u64 {
        let before = |end: u64| end / self.of + u64::from(end % self.of > self.number - 1);
        before(range.end.max(range.start)) - before(range.start)
    }

    /// Whether every seed of `other` is its own.
    pub fn contains(self, other: Shard) -> bool {
        other.of.is_multiple_of(self.of) && (other.number - 1) % self.of == self.number - 1
    }

    /// Whether no seed of `other` is its own.
    pub fn is_apart(self, other: Shard) -> bool {
        let common = gcd(self.of, other.of);
        (self.number - 1) % common != (other.number - 1) % common
    }

    /// The shard of the seeds that are its own and `other`'s; none where there are none. Of both there are at most
    /// `u32::MAX`.
    pub(super) fn both(self, other: Shard) -> Option<Shard> {
        if self.is_apart(other) {
            return None;
        }
        let common = gcd(self.of, other.of);
        let (step, period) = (i128::from(self.of / common), i128::from(other.of / common));
        let away = (i128::from(other.number) - i128::from(self.number)) / i128::from(common);
        // So many seeds of its own after its first one comes one of the other's.
        let nth = (away % period * inverse(step, period)).rem_euclid(period) as u64;
        Some(Shard { number: self.number + self.of * nth, of: self.of * (other.of / common) })
    }
}

/// A number that times `value` is 1 modulo `modulus`, where the two have no common divisor.
fn inverse(value: i128, modulus: i128) -> i128 {
    let (mut before, mut now) = ((value, 1), (modulus, 0));
    while now.0 != 0 {
        let times = before.0 / now.0;
        (before, now) = (now, (before.0 - times * now.0, before.1 - times * now.1));
    }
    before.1
}

fn gcd(left: u64, right: u64) -> u64 {
    if right == 0 { left } else { gcd(right, left % right) }
}

impl FromStr for Shard {
    type Err = ShardError;
    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let (number, of) = text.split_once('/').ok_or(ShardError)?;
        let (number, of): (u64, u64) =
            (number.trim().parse().map_err(|_| ShardError)?, of.trim().parse().map_err(|_| ShardError)?);
        let sound = (1..=of).contains(&number) && of <= u64::from(u32::MAX);
        sound.then_some(Shard { number, of }).ok_or(ShardError)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// No block that begins with the seed `start` has more seeds than this.
pub(super) fn longest_block(start: u64, shards: u64) -> u64 {
    NEAR_MOST.saturating_mul(power_above(shards)).max(start / PART_OF_PAST)
}

/// The least power of two that is no less than `number`, if there is one.
fn power_above(number: u64) -> u64 {
    number.max(1).checked_next_power_of_two().unwrap_or(1 << 63)
}

/// `seeds` as blocks of the grid, in order. They depend on the range and the number of shards alone: a small range
/// has small blocks, so that every thread gets some.
pub(super) fn blocks(seeds: &Range<u64>, shards: u64) -> Vec<Range<u64>> {
    let shards = power_above(shards);
    let count = seeds.end.saturating_sub(seeds.start);
    let own = (count / shards / NEAR_MOST).clamp(1, NEAR_MOST);
    let near = floor_of_two(own).saturating_mul(shards);
    let mut found = Vec::new();
    let mut start = seeds.start;
    while start < seeds.end {
        let most = near.max(floor_of_two(start / PART_OF_PAST));
        let aligned = if start == 0 { most } else { 1 << start.trailing_zeros() };
        let size = most.min(aligned).min(floor_of_two(seeds.end - start));
        found.push(start..start + size);
        start += size;
    }
    found
}

/// The greatest power of two that is no more than `number`; 1 for 0.
fn floor_of_two(number: u64) -> u64 {
    1 << number.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn apart_or_nested(one: &Range<u64>, other: &Range<u64>) -> bool {
        let apart = one.end <= other.start || other.end <= one.start;
        let within = |inner: &Range<u64>, outer: &Range<u64>| outer.start <= inner.start && inner.end <= outer.end;
        apart || within(one, other) || within(other, one)
    }

    #[test]
    fn a_range_to_the_last_seed_there_is_has_few_blocks() {
        let found = blocks(&(0..u64::MAX), 1);
        assert!(found.len() < 60_000, "{}", found.len());
        assert!(found[..1_000].iter().all(|block| block.end - block.start == 64));
    }

    #[test]
    fn what_two_of_very_many_shards_share_is_known() {
        let most = u64::from(u32::MAX);
        let both = Shard { number: most, of: most }.both(Shard { number: most - 1, of: most - 1 });
        assert_eq!(both, Some(Shard { number: most * (most - 2) + most, of: most * (most - 1) }));
    }

    proptest! {
        #[test]
        fn blocks_cover_a_range_without_gap_and_those_of_any_two_ranges_are_apart_or_nested(
            ranges in proptest::collection::vec((0_u64..40_000, 0_u64..3_000, 1_u64..9), 2)
        ) {
            let cut: Vec<_> = ranges.iter().map(|(start, count, of)| blocks(&(*start..start + count), *of)).collect();
            for ((start, count, of), found) in ranges.iter().zip(&cut) {
                prop_assert!(found.iter().all(|block| block.end - block.start <= longest_block(block.start, *of)));
                let end = found.iter().fold(*start, |at, block| { assert_eq!(block.start, at); block.end });
                prop_assert_eq!(end, start + count);
            }
            for one in &cut[0] {
                for other in &cut[1] {
                    prop_assert!(apart_or_nested(one, other), "{:?} {:?}", one, other);
                }
            }
        }

        #[test]
        fn shards_share_a_range_without_rest(start in 0_u64..500, count in 0_u64..500, of in 1_u64..20) {
            let range = start..start + count;
            let mut all = Vec::new();
            for number in 1..=of {
                let shard = Shard { number, of };
                let seeds: Vec<u64> = shard.seeds(range.clone()).collect();
                prop_assert_eq!(seeds.len() as u64, shard.count(&range));
                all.extend(seeds);
            }
            all.sort_unstable();
            prop_assert_eq!(all, range.collect::<Vec<_>>());
        }

        #[test]
        fn what_shards_say_of_each_other_is_so(one in (1_u64..13, 1_u64..13), other in (1_u64..13, 1_u64..13)) {
            let shard = |(number, of): (u64, u64)| Shard { number: (number - 1) % of + 1, of };
            let (one, other) = (shard(one), shard(other));
            let all = 0..2_000;
            let own: std::collections::BTreeSet<u64> = one.seeds(all.clone()).collect();
            let common = other.seeds(all.clone()).filter(|seed| own.contains(seed)).count() as u64;
            prop_assert_eq!(one.is_apart(other), common == 0);
            prop_assert_eq!(one.contains(other), common == other.count(&all));
            prop_assert_eq!(one.both(other).map_or(0, |both| both.count(&all)), common);
        }
    }
}
