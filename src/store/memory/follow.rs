//! The follow graph: who follows which topic. Of all that was said about a pair, the word with the greatest stamp
//! counts, in whatever order the words arrive; so a late repeat of an earlier one changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::{AgentId, Stamp, Subscription, TopicId};

/// All relations.
#[derive(Clone, Debug, Default)]
pub(super) struct FollowGraph {
    /// The last word on each pair that was ever spoken of.
    words: BTreeMap<Subscription, Word>,
    followers: BTreeMap<TopicId, BTreeSet<AgentId>>,
    topics: BTreeMap<AgentId, BTreeSet<TopicId>>,
}

/// Whether an agent follows, and since which stamp that is known.
#[derive(Clone, Copy, Debug)]
struct Word {
    stamp: Stamp,
    follows: bool,
}

impl FollowGraph {
    /// The pair is related from `stamp` on, or no more, unless there is a word of that stamp or a greater one.
    /// Tells whether the relation has changed.
    pub fn set(&mut self, subscription: &Subscription, follows: bool, stamp: Stamp) -> bool {
        let known = self.words.get(subscription).copied();
        if known.is_some_and(|word| word.stamp >= stamp) {
            return false;
        }
        self.words.insert(subscription.clone(), Word { stamp, follows });
        if known.is_some_and(|word| word.follows) == follows {
            return false;
        }
        let Subscription { follower, topic } = subscription;
        if follows {
            self.followers.entry(topic.clone()).or_default().insert(follower.clone());
            self.topics.entry(follower.clone()).or_default().insert(topic.clone());
        } else {
            remove(&mut self.followers, topic, follower);
            remove(&mut self.topics, follower, topic);
        }
        true
    }

    /// Who follows a topic, by address.
    pub fn followers_of(&self, topic: &TopicId) -> impl Iterator<Item = &AgentId> {
        self.followers.get(topic).into_iter().flatten()
    }

    /// What an agent follows, by name.
    pub fn following(&self, agent: &AgentId) -> impl Iterator<Item = &TopicId> {
        self.topics.get(agent).into_iter().flatten()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.words.clear();
        self.followers.clear();
        self.topics.clear();
    }
}

/// Takes `member` out of the set of `key`, and the set with its last member.
fn remove<K: Ord, V: Ord>(sets: &mut BTreeMap<K, BTreeSet<V>>, key: &K, member: &V) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(member);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}
