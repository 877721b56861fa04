//! Messages and what a mailbox says about them.

use serde::{Deserialize, Serialize};

use super::{AgentId, Arrival, Json, Name, RunId};

/// The id of a message: an address accepts each id once.
pub type MessageId = Name;

/// A letter to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Unique for its receiver: a second delivery under it changes nothing.
    pub id: MessageId,
    /// Who sent it; messages of one sender keep their order.
    pub sender: AgentId,
    /// The content.
    #[serde(default)]
    pub data: Json,
    /// Set on a question: under which name its answer is awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<Name>,
    /// Set on a question: the run that awaits the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<RunId>,
}

/// A message as a log keeps it: with its place in the order of arrival.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Received {
    /// The message.
    pub message: Message,
    /// When it arrived, among all mail of its store.
    pub arrival: Arrival,
}

/// A message as `drain` gives it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Drained {
    /// The message and its arrival number.
    #[serde(flatten)]
    pub received: Received,
    /// How often a run over it has failed.
    pub attempts: u32,
}

/// A message that nobody will handle unless somebody redrives it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeadLetterEntry {
    /// The message.
    pub message: Message,
    /// The arrival number of the life that ended, which `redrive` asks for.
    pub arrival: Arrival,
    /// How often a run over it has failed.
    pub attempts: u32,
    /// The last error, or the reason of the death.
    pub error: Name,
}

/// What becomes of a nacked message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// It stays pending; the error is kept for the dead letter.
    Again(Name),
    /// It becomes a dead letter for this reason, whatever the number.
    Dead(Name),
    /// The inbox's own ceiling decides: again below it, dead from it on (for callers that decide nothing).
    Ceiling(Name),
}
