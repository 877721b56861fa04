//! The follow graph against the list of all that was ever said.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A word on a pair: follower, topic, whether it follows, and its stamp.
type Word = (u8, u8, bool, (i64, u32));

fn word() -> impl Strategy<Value = Word> {
    (0..3_u8, 0..2_u8, any::<bool>(), (0..4_i64, 0..2_u32))
}

fn follower(number: u8) -> AgentId {
    AgentId::new("a", &number.to_string()).unwrap()
}

fn topic(number: u8) -> TopicId {
    number.to_string().parse().unwrap()
}

/// Whether the pair is related: the first of the words with the greatest stamp says so.
fn follows(words: &[Word], pair: (u8, u8)) -> bool {
    let about = words.iter().filter(|word| (word.0, word.1) == pair);
    about
        .fold(
            None,
            |last: Option<&Word>, word| if last.is_some_and(|last| last.3 >= word.3) { last } else { Some(word) },
        )
        .is_some_and(|word| word.2)
}

proptest! {
    #[test]
    fn the_word_with_the_greatest_stamp_counts_in_any_order(words in vec(word(), 0..60)) {
        let mut bench = Bench::new();
        for (place, (who, what, does_follow, (micros, step))) in words.iter().copied().enumerate() {
            let subscription = Subscription { follower: follower(who), topic: topic(what) };
            let stamp = Stamp { ts: Timestamp::from_micros(micros), step: Step(step) };
            bench.changes.clear();
            bench.ask(if does_follow {
                Request::Follow { subscription: subscription.clone(), stamp }
            } else {
                Request::Unfollow { subscription: subscription.clone(), stamp }
            });
            let (before, said) = (follows(&words[..place], (who, what)), &words[..=place]);
            let after = follows(said, (who, what));
            let told = (before != after).then_some(Change::Following { subscription, follows: after });
            prop_assert_eq!(&bench.changes, &told.into_iter().collect::<Vec<_>>());
            for what in 0..2 {
                let followers = (0..3).filter(|who| follows(said, (*who, what))).map(follower).collect();
                prop_assert_eq!(bench.ask(Request::FollowersOf { topic: topic(what) }), Reply::Agents(followers));
            }
            for who in 0..3 {
                let topics = (0..2).filter(|what| follows(said, (who, *what))).map(topic).collect();
                prop_assert_eq!(bench.ask(Request::Following { agent: follower(who) }), Reply::Topics(topics));
            }
        }
    }
}
