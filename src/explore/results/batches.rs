//! Which of many batches count, so that no schedule counts twice.

use std::collections::BTreeMap;

use super::line::BatchLine;
use crate::explore::Shard;

/// The batches of one scenario that count.
#[derive(Debug, Default)]
pub(super) struct Chosen<'a> {
    /// They share no schedule.
    pub(super) batches: Vec<&'a BatchLine>,
    /// Schedules that were played and do not count, because their batch shares others with one that does. Such a
    /// schedule in two batches is told twice.
    pub(super) left_out: u64,
    /// The ranges that are taken, by shard: start and end.
    taken: BTreeMap<Shard, BTreeMap<u64, u64>>,
}

impl<'a> Chosen<'a> {
    /// Of batches that share schedules the largest counts, of equal ones that of which most was checked again, and then
    /// that of which most failures were shrunk. Batches of the grid lie in each other or apart; only those of different
    /// shards, or such as were broken off, can share a part.
    pub(super) fn of(batches: impl Iterator<Item = &'a BatchLine>) -> Chosen<'a> {
        let mut sorted: Vec<&BatchLine> = batches.collect();
        sorted.sort_by_key(|batch| {
            let most = |count: u64| std::cmp::Reverse(count);
            (most(batch.counts.schedules), batch.seeds, batch.shard, most(batch.counts.rechecked), most(batch.shrunk()))
        });
        let mut chosen = Chosen::default();
        let mut cut = Vec::new();
        for batch in sorted {
            match chosen.meets(batch) {
                Meets::Nothing => {
                    let [start, end] = batch.seeds;
                    chosen.taken.entry(batch.shard()).or_default().insert(start, end);
                    chosen.batches.push(batch);
                }
                Meets::Whole => {}
                Meets::Part => cut.push(batch),
            }
        }
        chosen.left_out = cut.iter().map(|batch| chosen.lacks(batch)).fold(0, u64::saturating_add);
        chosen
    }

    /// How many schedules of a batch do not count.
    fn lacks(&self, batch: &BatchLine) -> u64 {
        let (shard, [start, end]) = (batch.shard(), batch.seeds);
        let mut lacks = shard.count(&(start..end));
        for (other, ranges) in &self.taken {
            let Some(both) = shard.both(*other) else { continue };
            let met = ranges.range(..end).rev().take_while(|(_, last)| **last > start);
            lacks -= met.map(|(first, last)| both.count(&(start.max(*first)..end.min(*last)))).sum::<u64>();
        }
        lacks
    }

    /// Whether a schedule is among those that count.
    pub(super) fn has(&self, seed: Option<u64>) -> bool {
        let Some(seed) = seed else { return !self.batches.is_empty() };
        self.taken.iter().any(|(shard, ranges)| {
            let own = seed % shard.of == shard.number - 1;
            own && last_before(ranges, seed + 1).is_some_and(|(_, end)| seed < end)
        })
    }

    fn meets(&self, batch: &BatchLine) -> Meets {
        let (shard, [start, end]) = (batch.shard(), batch.seeds);
        let mut found = Meets::Nothing;
        for (other, ranges) in self.taken.iter().filter(|(other, _)| !other.is_apart(shard)) {
            // The one schedule of a scenario that lists its deviations has no seed.
            let met = if start == end { ranges.get(&start).map(|end| (start, *end)) } else { last_before(ranges, end) };
            let Some((first, last)) = met.filter(|(_, last)| *last > start || start == end) else { continue };
            if other.contains(shard) && first <= start && end <= last {
                return Meets::Whole;
            }
            found = Meets::Part;
        }
        found
    }
}

/// The last range that starts before `end`.
fn last_before(ranges: &BTreeMap<u64, u64>, end: u64) -> Option<(u64, u64)> {
    ranges.range(..end).next_back().map(|(start, end)| (*start, *end))
}

/// What a batch has in common with those that count.
enum Meets {
    Nothing,
    Whole,
    Part,
}
