//! Names and numbers of things. Each kind of number is a type of its own, so that a step is never taken
//! for a sequence number.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::time::serde_as_text;

/// A short text that is shared, not copied: the name of a kind, a signal, a message.
pub type Name = Arc<str>;

/// A text that is no id of the wanted sort.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct IdError {
    /// The offending text.
    pub text: String,
    /// What was wanted.
    pub wanted: &'static str,
}

/// The address of an agent: `type/key`, or `type` alone when the key is empty.
///
/// ```
/// use chronodrome::kernel::AgentId;
/// let id: AgentId = "assistant/ann/1".parse().unwrap();
/// assert_eq!((id.kind(), id.key()), ("assistant", "ann/1"));
/// assert!("/ann".parse::<AgentId>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(Arc<str>);

impl AgentId {
    /// The address `kind/key`, or `kind` when `key` is empty.
    ///
    /// # Errors
    /// When the type is empty or holds a `/`.
    pub fn new(kind: &str, key: &str) -> Result<Self, IdError> {
        if kind.is_empty() || kind.contains('/') {
            return Err(IdError { text: kind.to_owned(), wanted: "an agent type: not empty and without `/`" });
        }
        Ok(AgentId(if key.is_empty() { kind.into() } else { format!("{kind}/{key}").into() }))
    }

    /// The address of the same type with another key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        let kind = self.kind();
        AgentId(if key.is_empty() { kind.into() } else { format!("{kind}/{key}").into() })
    }

    /// The agent's type: all up to the first `/`.
    pub fn kind(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(kind, _)| kind)
    }

    /// The key behind the type; may be empty.
    pub fn key(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, key)| key)
    }

    /// The run and step that gave a child its address, if its key is such a one: `type/<parent run>.<step>`.
    pub fn spawned_by(&self) -> Option<(RunId, &str)> {
        let (run, step) = self.key().split_once('.')?;
        Some((run.parse().ok()?, step))
    }

    /// The whole address, with the run that spawned it by its name.
    pub fn told(&self, name_of: impl FnOnce(RunId) -> String) -> String {
        match self.spawned_by() {
            Some((run, step)) => format!("{}/{}.{step}", self.kind(), name_of(run)),
            None => self.to_string(),
        }
    }

    /// The whole address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let (kind, key) = text.split_once('/').unwrap_or((text, ""));
        AgentId::new(kind, key)
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

serde_as_text!(AgentId);

/// A topic of the follow graph: one flat name that is not empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(Arc<str>);

impl TopicId {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TopicId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        if text.is_empty() {
            return Err(IdError { text: text.to_owned(), wanted: "a topic: a name that is not empty" });
        }
        Ok(TopicId(text.into()))
    }
}

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

serde_as_text!(TopicId);

/// One run: 32 lower-case hex digits in the layout of a UUID of version 7. No order is taken from it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(u128);

impl RunId {
    /// A run id of these time bits (milliseconds since the Unix epoch, 48 bits) and these 74 other bits.
    pub const fn from_parts(millis: u64, rest: u128) -> Self {
        let time = (millis as u128 & 0xffff_ffff_ffff) << 80;
        let high = (rest >> 62) & 0xfff;
        let low = rest & 0x3fff_ffff_ffff_ffff;
        RunId(time | (0x7 << 76) | (high << 64) | (0b10 << 62) | low)
    }

    /// The id as a number.
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Exactly `digits` lower-case hex digits as a number.
fn parse_hex(text: &str, digits: usize) -> Option<u128> {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == digits && text.bytes().all(hex)).then(|| u128::from_str_radix(text, 16).ok())?
}

impl FromStr for RunId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = || IdError { text: text.to_owned(), wanted: "a run id: 32 lower-case hex digits" };
        Ok(RunId(parse_hex(text, 32).ok_or_else(error)?))
    }
}

serde_as_text!(RunId);

/// The id of an effect: 16 lower-case hex digits, made by [`super::Effect::make_id`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(pub u64);

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for EffectId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = || IdError { text: text.to_owned(), wanted: "an effect id: 16 lower-case hex digits" };
        Ok(EffectId(parse_hex(text, 16).and_then(|id| u64::try_from(id).ok()).ok_or_else(error)?))
    }
}

serde_as_text!(EffectId);

/// A worker: its name and its incarnation (how often it was started before, from 0), as `w1.0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId {
    /// The worker's name, the same over its restarts.
    pub name: Name,
    /// How often this worker was started before.
    pub incarnation: u32,
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.name, self.incarnation)
    }
}

impl FromStr for WorkerId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = || IdError { text: text.to_owned(), wanted: "a worker id like `w1.0`" };
        let (name, incarnation) = text.rsplit_once('.').ok_or_else(error)?;
        Ok(WorkerId { name: name.into(), incarnation: incarnation.parse().map_err(|_| error())? })
    }
}

serde_as_text!(WorkerId);

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$inner>::deserialize(deserializer).map($name)
            }
        }

        impl $name {
            /// The number that follows.
            #[must_use]
            pub const fn next(self) -> Self {
                $name(self.0 + 1)
            }
        }
    };
}

number!(
    /// A journaled call of an agent: 0 is the first of the run.
    Step(u32)
);
number!(
    /// Which lease of its run a lease is: 0 is the first.
    Attempt(u32)
);
number!(
    /// The place of a message among all that ever arrived at one store: later mail has the greater number.
    Arrival(u64)
);
number!(
    /// The version of an agent's code.
    Version(u32)
);

/// The place of an entry in its run's log: 0 is the first, [`Seq::EMPTY`] (−1) the last of an empty log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Seq(i64);

impl Seq {
    /// The last sequence number of an empty log.
    pub const EMPTY: Seq = Seq(-1);
    /// The first sequence number of a log.
    pub const FIRST: Seq = Seq(0);

    /// The sequence number `number`; `None` below −1.
    pub const fn new(number: i64) -> Option<Seq> {
        if number < -1 { None } else { Some(Seq(number)) }
    }

    /// The number.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The sequence number that follows.
    #[must_use]
    pub const fn next(self) -> Seq {
        Seq(self.0 + 1)
    }

    /// The place in a list of all entries; `None` for [`Seq::EMPTY`].
    pub fn index(self) -> Option<usize> {
        usize::try_from(self.0).ok()
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Seq {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Seq::new(i64::deserialize(deserializer)?).ok_or_else(|| de::Error::custom("a sequence number is at least -1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_split_at_the_first_slash_and_a_bare_type_has_no_key() {
        let id: AgentId = "a/b/c".parse().unwrap();
        assert_eq!((id.kind(), id.key()), ("a", "b/c"));
        let bare: AgentId = "a/".parse().unwrap();
        assert_eq!((bare.as_str(), bare.key()), ("a", ""));
        assert!("".parse::<AgentId>().is_err());
    }

    #[test]
    fn a_run_id_has_the_layout_of_uuid_version_7() {
        let id = RunId::from_parts(0x0196_bfed_c000, u128::MAX).to_string();
        assert_eq!(&id[..12], "0196bfedc000");
        assert_eq!(&id[12..13], "7");
        assert!("89ab".contains(&id[16..17]));
        assert_eq!(id.parse::<RunId>().unwrap().to_string(), id);
        assert!(id.to_uppercase().parse::<RunId>().is_err());
    }
}
