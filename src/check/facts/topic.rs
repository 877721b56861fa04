//! Topics: who follows, since when, and what was published to whom.

use super::{AgentAt, Facts, Fresh, PublicationAt, RunAt, TopicAt, WorkerAt};
use crate::kernel::{MessageId, Stamp, Step, Timestamp, TopicId};

/// A topic.
#[derive(Default)]
pub struct Topic {
    pub id: Option<TopicId>,
    pub followers: Vec<Follower>,
    /// Its publications that nothing shows as done.
    pub open: Vec<PublicationAt>,
}

/// Who follows a topic, or did.
#[derive(Clone, Copy, Debug)]
pub struct Follower {
    pub agent: AgentAt,
    /// The greatest stamp of a request that was applied.
    pub stamp: Option<Stamp>,
    /// What that request wanted.
    pub follows: bool,
    /// When it began to follow, while it does.
    pub since: Option<Timestamp>,
    /// When it last ceased to.
    pub until: Option<Timestamp>,
}

impl Follower {
    /// Whether it followed at some instant from `from` on.
    pub fn followed_since(&self, from: Timestamp) -> bool {
        self.since.is_some() || self.until.is_some_and(|until| until >= from)
    }
}

impl Topic {
    /// What is known of an agent as a follower.
    pub fn follower(&self, agent: AgentAt) -> Option<&Follower> {
        self.followers.iter().find(|follower| follower.agent == agent)
    }
}

impl Fresh for Topic {
    fn refresh(&mut self) {
        let Topic { mut followers, mut open, .. } = std::mem::take(self);
        followers.clear();
        open.clear();
        *self = Topic { followers, open, id: None };
    }
}

/// A message to all who follow a topic, as a log announces it.
#[derive(Default)]
pub struct Publication {
    pub message: Option<MessageId>,
    pub topic: Option<TopicAt>,
    /// When it was announced.
    pub ts: Timestamp,
    /// The last step that may be under way while it is.
    pub last: Step,
    /// Who sent it to whom.
    pub sent: Vec<(WorkerAt, AgentAt)>,
    /// Who last asked for the followers in order to send it, and when.
    pub asked: Option<(WorkerAt, Timestamp)>,
    /// When that worker first had the outcome of a delivery after it asked.
    pub returned: Option<Timestamp>,
}

impl Fresh for Publication {
    fn refresh(&mut self) {
        let mut sent = std::mem::take(&mut self.sent);
        sent.clear();
        *self = Publication { sent, ..Publication::default() };
    }
}

/// A subscription that a log announces to begin or to end.
#[derive(Clone, Debug)]
pub struct Announced {
    pub run: RunAt,
    pub topic: TopicAt,
    pub stamp: Stamp,
    pub follows: bool,
    /// Whether a request for it was ever applied.
    pub applied: bool,
}

impl Facts {
    /// Folds a request to follow a topic, or to cease to. Gives whether the relation changes by it.
    pub fn follows(&mut self, topic: TopicAt, agent: AgentAt, stamp: Stamp, follows: bool, at: Timestamp) -> bool {
        let followers = &mut self.topics[topic].followers;
        let place = followers.iter().position(|follower| follower.agent == agent).unwrap_or_else(|| {
            followers.push(Follower { agent, stamp: None, follows: false, since: None, until: None });
            followers.len() - 1
        });
        let known = &mut followers[place];
        if known.stamp.is_some_and(|known| known >= stamp) {
            return false;
        }
        known.stamp = Some(stamp);
        if known.follows == follows {
            return false;
        }
        known.follows = follows;
        if follows {
            known.since = Some(at);
        } else {
            (known.since, known.until) = (None, Some(at));
        }
        true
    }
}
