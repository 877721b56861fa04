//! How a publication reaches the followers of its topic.

use std::rc::Rc;

use super::hold::repeat_on;
use super::pace::together;
use crate::kernel::{FanoutStrategy, FollowGraph, Host, Inbox, Message, Store, Task, TopicId};

/// Delivers to every follower at once, each delivery with repeats of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Push;

impl FanoutStrategy for Push {
    fn publish(&self, topic: TopicId, message: Message, store: Rc<dyn Store>, host: Rc<dyn Host>) -> Task {
        Box::pin(async move {
            let followers = repeat_on(&*host, async || store.followers_of(topic.clone()).await).await;
            let deliveries = followers.into_iter().map(|follower| {
                let (store, host, message) = (&store, &host, &message);
                async move {
                    // Where nobody has registered the follower's type there is no mailbox: it holds up nobody.
                    let deliver = async || store.deliver(follower.clone(), message.clone(), true).await;
                    let _accepted_or_unknown = repeat_on(&**host, deliver).await;
                }
            });
            together(deliveries.collect()).await;
        })
    }
}
