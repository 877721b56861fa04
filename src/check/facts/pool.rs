//! Dense places for what a history speaks of, found again by a small hash table. Memory is kept over a reset.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A place in a [`Pool`].
pub trait Place: Copy {
    /// The place number `number`.
    fn at(number: usize) -> Self;
    /// Its number.
    fn number(self) -> usize;
}

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(u32);

        impl Place for $name {
            fn at(number: usize) -> Self {
                $name(number as u32)
            }
            fn number(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

places!(
    /// A run.
    RunAt,
    /// An address.
    AgentAt,
    /// A message at an address.
    MailAt,
    /// An incarnation of a worker.
    WorkerAt,
    /// An effect.
    EffectAt,
    /// A topic.
    TopicAt,
    /// A publication.
    PublicationAt,
);

/// What a pool may hold: it can be emptied without giving its memory back.
pub trait Fresh: Default {
    /// Makes it like new.
    fn refresh(&mut self);
}

/// Things by place.
pub struct Pool<P, T> {
    items: Vec<T>,
    used: usize,
    place: PhantomData<P>,
}

impl<P, T> Default for Pool<P, T> {
    fn default() -> Self {
        Pool { items: Vec::new(), used: 0, place: PhantomData }
    }
}

impl<P: Place, T: Fresh> Pool<P, T> {
    /// A fresh thing at the next place.
    pub fn add(&mut self) -> (P, &mut T) {
        if self.used == self.items.len() {
            self.items.push(T::default());
        }
        let place = P::at(self.used);
        self.used += 1;
        (place, &mut self.items[place.number()])
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.items[..self.used].iter_mut().for_each(T::refresh);
        self.used = 0;
    }

    /// All things with their places.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (P, &T)> {
        self.items[..self.used].iter().enumerate().map(|(number, item)| (P::at(number), item))
    }

    /// All things, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items[..self.used].iter_mut()
    }
}

impl<P: Place, T> Index<P> for Pool<P, T> {
    type Output = T;
    fn index(&self, place: P) -> &T {
        &self.items[..self.used][place.number()]
    }
}

impl<P: Place, T> IndexMut<P> for Pool<P, T> {
    fn index_mut(&mut self, place: P) -> &mut T {
        &mut self.items[..self.used][place.number()]
    }
}

/// From the hash of a key to a place: open addressing, no order of its own is ever seen.
#[derive(Default)]
pub struct Table {
    slots: Vec<Slot>,
    used: usize,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u64,
    /// The place's number and one; zero where the slot is free.
    taken: u32,
}

impl Table {
    /// The place whose key has this hash and is the `same`.
    pub fn find<P: Place>(&self, hash: u64, same: impl Fn(P) -> bool) -> Option<P> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash as usize & mask;
        loop {
            let found = self.slots[slot];
            if found.taken == 0 {
                return None;
            }
            if found.hash == hash {
                let place = P::at(found.taken as usize - 1);
                if same(place) {
                    return Some(place);
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Notes a place; its key must not be there yet.
    pub fn note<P: Place>(&mut self, hash: u64, place: P) {
        if self.used * 2 >= self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![Slot::default(); (old.len() * 2).max(16)];
            old.into_iter().filter(|slot| slot.taken > 0).for_each(|slot| self.put(slot));
        }
        self.used += 1;
        self.put(Slot { hash, taken: place.number() as u32 + 1 });
    }

    fn put(&mut self, entry: Slot) {
        let mask = self.slots.len() - 1;
        let mut slot = entry.hash as usize & mask;
        while self.slots[slot].taken > 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = entry;
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        if self.used > 0 {
            self.slots.fill(Slot::default());
            self.used = 0;
        }
    }
}

/// A hash of two words.
pub fn mix(left: u64, right: u64) -> u64 {
    let product = u128::from(left ^ 0x9e37_79b9_7f4a_7c15) * u128::from(right ^ 0xd6e8_feb8_6659_fd93 | 1);
    (product >> 64) as u64 ^ product as u64
}

/// A hash of a text.
pub fn hash_text(seed: u64, text: &str) -> u64 {
    let mut chunks = text.as_bytes().chunks_exact(8);
    let mut hash = mix(seed, text.len() as u64);
    for chunk in &mut chunks {
        hash = mix(hash, u64::from_le_bytes(chunk.try_into().expect("chunks have 8 bytes")));
    }
    let rest = chunks.remainder().iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    mix(hash, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_again_after_growth_and_gone_after_a_clear() {
        let mut table = Table::default();
        for number in 0..1_000_usize {
            table.note(mix(number as u64 % 7, 1), RunAt::at(number));
        }
        for number in 0..1_000_usize {
            let found = table.find(mix(number as u64 % 7, 1), |place: RunAt| place.number() == number);
            assert_eq!(found, Some(RunAt::at(number)));
        }
        table.clear();
        assert_eq!(table.find(mix(0, 1), |_: RunAt| true), None);
    }
}
