//! The running hash over a history: 128 bits, always on, the same on every machine.

use std::hash::{Hash, Hasher};

/// A multiply-style hash of 128 bits over whatever implements [`Hash`], in two lanes of 64.
///
/// ```
/// use chronodrome::history::RunningHash;
/// let (mut left, mut right) = (RunningHash::default(), RunningHash::default());
/// left.note(&(1, "a"));
/// right.note(&(1, "b"));
/// assert_ne!(left.value(), right.value());
/// ```
#[derive(Clone, Debug)]
pub struct RunningHash {
    low: u64,
    high: u64,
}

impl Default for RunningHash {
    fn default() -> Self {
        RunningHash { low: 0x243f_6a88_85a3_08d3, high: 0x1319_8a2e_0370_7344 }
    }
}

impl RunningHash {
    /// Adds `thing`.
    pub fn note<T: Hash + ?Sized>(&mut self, thing: &T) {
        thing.hash(self);
    }

    /// The hash of all that was added.
    pub fn value(&self) -> u128 {
        (u128::from(self.high) << 64) | u128::from(self.low)
    }

    fn word(&mut self, word: u64) {
        let product = u128::from(self.low ^ word) * u128::from(0x9e37_79b9_7f4a_7c15_u64 | 1);
        let folded = (product >> 64) as u64 ^ product as u64;
        self.low = folded.rotate_left(23) ^ self.high;
        self.high = (self.high ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(32) ^ folded;
    }
}

impl Hasher for RunningHash {
    fn finish(&self) -> u64 {
        self.low ^ self.high
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.word(u64::from_le_bytes(chunk.try_into().expect("chunks have 8 bytes")));
        }
        let rest = chunks.remainder();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last) ^ ((bytes.len() as u64) << 56));
    }

    fn write_u8(&mut self, number: u8) {
        self.word(u64::from(number));
    }
    fn write_u16(&mut self, number: u16) {
        self.word(u64::from(number));
    }
    fn write_u32(&mut self, number: u32) {
        self.word(u64::from(number));
    }
    fn write_u64(&mut self, number: u64) {
        self.word(number);
    }
    fn write_u128(&mut self, number: u128) {
        self.word(number as u64);
        self.word((number >> 64) as u64);
    }
    fn write_usize(&mut self, number: usize) {
        self.word(number as u64);
    }
    fn write_i8(&mut self, number: i8) {
        self.word(number as u64);
    }
    fn write_i16(&mut self, number: i16) {
        self.word(number as u64);
    }
    fn write_i32(&mut self, number: i32) {
        self.word(number as u64);
    }
    fn write_i64(&mut self, number: i64) {
        self.word(number as u64);
    }
    fn write_isize(&mut self, number: isize) {
        self.word(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_length_and_content_all_count() {
        let hash = |parts: &[&str]| {
            let mut hash = RunningHash::default();
            parts.iter().for_each(|part| hash.note(*part));
            hash.value()
        };
        let values = [hash(&["ab", "c"]), hash(&["a", "bc"]), hash(&["c", "ab"]), hash(&["abc"]), hash(&[])];
        for (place, value) in values.iter().enumerate() {
            assert!(!values[..place].contains(value));
        }
        assert_eq!(hash(&["ab", "c"]), values[0]);
    }

    #[test]
    fn the_value_is_fixed_across_builds_and_machines() {
        let mut hash = RunningHash::default();
        hash.note(&(7_u32, "charge", -1_i64, Some(3_u8)));
        assert_eq!(format!("{:032x}", hash.value()), "132162497f4bdb22c2d897f7b7228d6c");
    }
}
