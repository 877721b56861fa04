//! Two histories that were written down: the first event in which they differ, and what each comes to.

use super::Difference;
use super::agree::difference;
use super::recorded::{Recorded, Trace};

/// How two histories compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The fields in which their headers differ, each with both values.
    pub headers: Vec<(String, [String; 2])>,
    /// The first event that differs; none if all events are the same.
    pub first: Option<Difference>,
    /// What each comes to.
    pub each: [Recorded; 2],
}

impl Compared {
    /// Whether they are the same, header and events.
    pub fn equal(&self) -> bool {
        self.headers.is_empty() && self.first.is_none()
    }
}

/// Compares two histories.
pub fn diff(left: Trace, right: Trace) -> Compared {
    let fields = |trace: &Trace| match serde_json::to_value(&trace.header) {
        Ok(serde_json::Value::Object(members)) => members,
        _ => serde_json::Map::new(),
    };
    let (mine, yours) = (fields(&left), fields(&right));
    let differs = mine.iter().filter_map(|(name, value)| {
        let other = yours.get(name)?;
        (value != other).then(|| (name.clone(), [value.to_string(), other.to_string()]))
    });
    let headers = differs.collect();
    let each = [&left, &right].map(|trace| Recorded::of(&trace.header, &trace.records));
    Compared { headers, first: difference(left.records, right.records), each }
}
