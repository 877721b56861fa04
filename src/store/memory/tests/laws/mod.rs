//! One law per contract, under any sequence of calls: the store agrees with a model that is too simple to be
//! wrong in the same way.

mod follow;
mod inbox;
mod kin;
mod naive;
mod nursery;
mod scheduler;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn text(number: u8) -> Body {
    Body::Other { kind: "app.note".into(), payload: Json::new(json!(number)) }
}

fn run_id(number: u8) -> RunId {
    RunId::from_parts(1, u128::from(number))
}

proptest! {
    #[test]
    fn a_log_takes_what_stands_behind_its_last_entry_and_nothing_else(calls in vec((0..3_u8, -1..6_i64, any::<u8>()), 0..60)) {
        let mut bench = Bench::new();
        let mut model: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        let mut seen = BTreeMap::new();
        for (log, expected, content) in calls {
            bench.pass(Span::from_secs(1));
            let (run, written) = (run_id(log), model.entry(log).or_default());
            let expected = Seq::new(expected).unwrap();
            let actual = Seq::new(written.len() as i64 - 1).unwrap();
            let reply = bench.ask(Request::Append { run, body: Arc::new(text(content)), expected });
            if expected == actual {
                written.push(content);
                prop_assert_eq!(reply, Reply::Appended(Appended { seq: actual.next(), ts: bench.now }));
            } else {
                prop_assert_eq!(reply, Reply::Conflict(ConcurrentAppend { run_id: run, expected, actual }));
            }
            let Reply::Entries(entries) = bench.ask(Request::Read { run, from: Seq::FIRST }) else { unreachable!() };
            let places: Vec<_> = entries.iter().map(|entry| entry.seq.index()).collect();
            prop_assert_eq!(places, (0..written.len()).map(Some).collect::<Vec<_>>());
            for (entry, content) in entries.iter().zip(written) {
                prop_assert_eq!(&*entry.body, &text(*content));
                let first = seen.entry((log, entry.seq)).or_insert_with(|| entry.clone());
                prop_assert_eq!(&*first, entry);
            }
        }
    }

    #[test]
    fn the_first_result_of_an_effect_wins(calls in vec((0..4_u64, any::<Option<u8>>()), 0..60)) {
        let mut bench = Bench::new();
        let mut model = BTreeMap::new();
        for (effect, value) in calls {
            let effect = EffectId(effect);
            if let Some(value) = value {
                let result = EffectResult::ok(effect, Json::new(json!(value)));
                let standing = model.entry(effect).or_insert_with(|| result.clone()).clone();
                prop_assert_eq!(bench.ask(Request::Record { result }), Reply::Standing(standing));
            }
            let looked = Reply::Looked(model.get(&effect).cloned());
            prop_assert_eq!(bench.ask(Request::Lookup { effect }), looked);
        }
    }

    #[test]
    fn bytes_are_found_under_the_reference_that_was_given(contents in vec(vec(any::<u8>(), 0..3), 0..30)) {
        let mut bench = Bench::new();
        let mut model: BTreeMap<ArtifactRef, Arc<[u8]>> = BTreeMap::new();
        for content in contents {
            let bytes: Arc<[u8]> = content.into();
            let Reply::Stored(artifact) = bench.ask(Request::Put { bytes: bytes.clone() }) else { unreachable!() };
            prop_assert_eq!(model.entry(artifact.clone()).or_insert_with(|| bytes.clone()), &bytes);
            prop_assert_eq!(bench.ask(Request::Get { artifact }), Reply::Bytes(Some(bytes)));
        }
        let distinct: BTreeSet<_> = model.values().collect();
        prop_assert_eq!(distinct.len(), model.len());
    }
}

proptest! {
    #[test]
    fn a_signal_is_claimed_once_and_the_first_outcome_of_a_step_stands(
        calls in vec((0..3_u8, 0..8_u8, 0..2_u8, 0..4_u32, any::<Option<u8>>()), 0..80)
    ) {
        let (mut bench, lease) = Bench::running();
        let (mut ids, mut buffer, mut claims) = (BTreeSet::new(), Vec::new(), BTreeMap::new());
        for (call, id, name, step, until) in calls {
            let (id, name) = (id.to_string(), name.to_string());
            if call == 0 {
                let answer = if ids.insert(id.clone()) { Signalled::Buffered } else { Signalled::Repeated };
                if answer == Signalled::Buffered {
                    buffer.push((name.clone(), id.clone()));
                }
                prop_assert_eq!(bench.signal(&lease, &name, &id), answer);
                continue;
            }
            bench.pass(Span::from_secs(3));
            let until = until.map(|secs| Timestamp::from_micros(0) + Span::from_secs(i64::from(secs)));
            if let Entry::Vacant(claim) = claims.entry(step) {
                let oldest = buffer.iter().position(|(buffered, _)| *buffered == name);
                let over = until.is_some_and(|until| until <= bench.now);
                if let Some(place) = oldest {
                    claim.insert(Some(buffer.remove(place).1));
                } else if over {
                    claim.insert(None);
                }
            }
            let claimed = match bench.claim(&lease, step, Some(&name), until) {
                Some(Claimed::Signal { id, .. }) => Some(Some(id.to_string())),
                Some(Claimed::TimedOut) => Some(None),
                None => None,
            };
            prop_assert_eq!(&claimed, &claims.get(&step).cloned());
        }
    }
}
