//! Many inputs out of one line, from a seed in the file.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::{Act, Input};
use crate::kernel::{AgentId, Json, Message, Name, Span};

/// So many messages at drawn times, between drawn senders and receivers. The same seed draws the same for ever:
/// it belongs to the scenario, not to a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The seed.
    pub seed: u64,
    /// How many messages.
    pub messages: u32,
    /// Whom they may go to; not empty.
    pub to: Vec<AgentId>,
    /// Whom they may come from; not empty.
    pub from: Vec<AgentId>,
    /// From when, and until when, after the start.
    pub within: (Span, Span),
    /// What their ids begin with; a number follows.
    pub id: Name,
    /// What is in each, besides its number `n` among those of its sender to its receiver, from 1.
    pub data: Json,
}

/// The inputs of a load, in order of time.
pub fn expand(load: &Load) -> Vec<Input> {
    let mut draw = Draw(load.seed);
    let length = load.within.1.as_micros().saturating_sub(load.within.0.as_micros());
    let mut times: Vec<Span> = (0..load.messages)
        .map(|_| load.within.0 + Span::from_micros(draw.below(length.unsigned_abs() + 1) as i64))
        .collect();
    times.sort_unstable();
    let mut numbers: BTreeMap<(AgentId, AgentId), u32> = BTreeMap::new();
    let mut inputs = Vec::with_capacity(times.len());
    for (place, at) in times.into_iter().enumerate() {
        let to = load.to[draw.below(load.to.len() as u64) as usize].clone();
        let sender = load.from[draw.below(load.from.len() as u64) as usize].clone();
        let number = numbers.entry((sender.clone(), to.clone())).or_default();
        *number += 1;
        let mut data = (*load.data).clone();
        if let Value::Object(members) = &mut data {
            members.insert("n".to_owned(), (*number).into());
        }
        let id = format!("{}-{}", load.id, place + 1).into();
        let message = Message { id, sender, data: Json::new(data), correlation: None, reply_to: None };
        inputs.push(Input { at, does: Act::Message { to, message } });
    }
    inputs
}

/// SplitMix64, written out so that no library's new version changes what a file means.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is at least 1.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(seed: u64) -> Vec<Input> {
        let address = |text: &str| text.parse::<AgentId>().unwrap();
        expand(&Load {
            seed,
            messages: 200,
            to: vec![address("ledger/a"), address("ledger/b")],
            from: vec![address("shop"), address("bank")],
            within: (Span::from_secs(1), Span::from_secs(9)),
            id: "load".into(),
            data: Json::empty(),
        })
    }

    #[test]
    fn a_load_is_the_same_for_its_seed_within_its_times_and_numbers_each_pair() {
        let text = |inputs: &[Input]| format!("{inputs:?}");
        let inputs = load(7);
        assert_eq!(text(&inputs), text(&load(7)));
        assert_ne!(text(&inputs), text(&load(8)));
        assert!(inputs.iter().all(|input| (Span::from_secs(1)..=Span::from_secs(9)).contains(&input.at)));
        let mut last: BTreeMap<(AgentId, AgentId), i64> = BTreeMap::new();
        for input in &inputs {
            let Act::Message { to, message } = &input.does else { panic!("a load has messages only") };
            let before = last.entry((message.sender.clone(), to.clone())).or_default();
            assert_eq!(message.data["n"].as_i64(), Some(*before + 1));
            *before += 1;
        }
        assert_eq!(last.len(), 4);
    }
}
