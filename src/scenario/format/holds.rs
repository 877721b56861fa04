//! What a result holds, as far as the step that gives it tells: enough to refuse a `join` of what is no child.

use crate::scenario::script::{Key, Op};

/// What a result holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The handle of a run; or the error that stands in its place.
    Handle,
    /// A list of handles.
    Handles,
    /// A message.
    Message,
    /// A list of messages.
    Messages,
    /// Something that others have made: there may be handles and messages in it.
    Anything,
    /// Neither handle nor message.
    Plain,
}

impl Holds {
    /// What a step gives.
    pub fn given_by(op: &Op) -> Holds {
        match op {
            Op::Spawn(_) => Holds::Handle,
            Op::ChildrenOf => Holds::Handles,
            Op::All(members) if members.iter().all(|member| matches!(member.op, Op::Spawn(_))) => Holds::Handles,
            Op::Receive { .. } => Holds::Messages,
            Op::All(_) | Op::WaitSignal { .. } | Op::Join { .. } | Op::Ask { .. } => Holds::Anything,
            _ => Holds::Plain,
        }
    }

    /// What stands one part of a way further down.
    pub fn at(self, key: &Key) -> Holds {
        match self {
            Holds::Handles if key.index.is_some() => Holds::Handle,
            Holds::Messages if key.index.is_some() => Holds::Message,
            Holds::Message if key.name == "data" => Holds::Anything,
            Holds::Anything => Holds::Anything,
            _ => Holds::Plain,
        }
    }

    /// What each item of a list is.
    pub fn item(self) -> Holds {
        match self {
            Holds::Handles => Holds::Handle,
            Holds::Messages => Holds::Message,
            Holds::Anything => Holds::Anything,
            _ => Holds::Plain,
        }
    }

    /// What it is in words, and the parts that it has, where these are known.
    pub fn parts(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Holds::Handle => Some(("the handle of a run", &["run_id", "agent_id", "parent_run", "error"])),
            Holds::Message => Some(("a message", &["id", "sender", "data", "correlation", "reply_to"])),
            _ => None,
        }
    }
}
