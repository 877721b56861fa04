//! JSON documents that are shared, not copied, and hashed once; and the canonical text of a document.

use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A JSON value behind a shared pointer. Its hash is taken when it is made, so that a history can note a
/// large document as cheaply as a small one.
#[derive(Clone)]
pub struct Json(Arc<(u64, Value)>);

impl Json {
    /// Shares `value`.
    pub fn new(value: Value) -> Self {
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        hash_value(&value, &mut hasher);
        Json(Arc::new((hasher.finish(), value)))
    }

    /// The empty object, the default payload.
    pub fn empty() -> Self {
        Json::new(Value::Object(serde_json::Map::new()))
    }

    /// `null`.
    pub fn null() -> Self {
        Json::new(Value::Null)
    }

    /// The first 64 bits of the SHA-256 of the canonical text: the digest of a step's arguments.
    pub fn digest(&self) -> u64 {
        first_64_bits(canonical(self).as_bytes())
    }
}

impl Default for Json {
    fn default() -> Self {
        Json::empty()
    }
}

impl Deref for Json {
    type Target = Value;
    fn deref(&self) -> &Value {
        &self.0.1
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Json::new(value)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.0 == other.0.0 && self.0.1 == other.0.1)
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.0);
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.1)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.1.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Json::new)
    }
}

/// FNV-1a over bytes: the same on every machine.
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Feeds `value` to `hasher`: a tag per kind, then the content; members in the map's (sorted) order.
fn hash_value(value: &Value, hasher: &mut Fnv) {
    match value {
        Value::Null => hasher.write(b"n"),
        Value::Bool(yes) => hasher.write(if *yes { b"t" } else { b"f" }),
        Value::Number(number) => {
            hasher.write(b"#");
            if let Some(integer) = number.as_i64() {
                hasher.write(&integer.to_le_bytes());
            } else {
                hasher.write(number.to_string().as_bytes());
            }
        }
        Value::String(text) => {
            hasher.write(b"\"");
            hasher.write(text.as_bytes());
            hasher.write(&[0xff]);
        }
        Value::Array(items) => {
            hasher.write(b"[");
            items.iter().for_each(|item| hash_value(item, hasher));
            hasher.write(b"]");
        }
        Value::Object(members) => {
            hasher.write(b"{");
            for (key, member) in members {
                hasher.write(key.as_bytes());
                hasher.write(&[0xff]);
                hash_value(member, hasher);
            }
            hasher.write(b"}");
        }
    }
}

/// The canonical text of a value: keys sorted at every level by code point, no white space, non-ASCII as
/// `\uXXXX` in lower-case hex (surrogate pairs), floats in the shortest form that reads back, integers as
/// integers.
pub fn canonical(value: &Value) -> String {
    let mut text = String::with_capacity(128);
    write_canonical(value, &mut text);
    text
}

/// The first 64 bits of the SHA-256 of `bytes`.
pub(crate) fn first_64_bits(bytes: &[u8]) -> u64 {
    let hash = Sha256::digest(bytes);
    u64::from_be_bytes(hash[..8].try_into().expect("a SHA-256 has 32 bytes"))
}

/// Appends the canonical text of `value` to `text`.
pub(crate) fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::String(string) => write_string(string, text),
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by(|left, right| left.0.cmp(right.0));
            text.push('{');
            for (place, (key, member)) in sorted.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write_string(key, text);
                text.push(':');
                write_canonical(member, text);
            }
            text.push('}');
        }
        scalar => write!(text, "{scalar}").expect("a String takes all text"),
    }
}

/// Appends `string` as a JSON string of ASCII alone.
pub(crate) fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            ' '..='~' => text.push(character),
            other => {
                let mut units = [0; 2];
                for unit in other.encode_utf16(&mut units) {
                    write!(text, "\\u{unit:04x}").expect("a String takes all text");
                }
            }
        }
    }
    text.push('"');
}
