//! What a plan's document says, read anew: only as much as checks ask, and nothing where it is not understood.

use serde_json::Value;

use crate::kernel::{Json, Span, Timestamp};

/// How often a plan comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    Daily,
    Weekly,
    Monthly,
}

/// The recurrence of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Repeat {
    pub every: Every,
    /// How many occurrences there are at most.
    pub times: Option<u64>,
    /// No occurrence is due after this.
    pub until: Option<Timestamp>,
}

/// A text member of a document.
pub fn text<'a>(document: &'a Json, member: &str) -> Option<&'a str> {
    document.get(member).and_then(Value::as_str)
}

/// When the document says that it is due.
pub fn scheduled_for(document: &Json) -> Option<Timestamp> {
    text(document, "scheduled_for")?.parse().ok()
}

/// The word inside `<tempo:…>`, where it begins so.
pub fn tempo<'a>(document: &'a Json, beginning: &str) -> Option<&'a str> {
    let word = text(document, "tempo_token")?.strip_prefix("<tempo:")?.strip_suffix('>')?;
    word.strip_prefix(beginning)
}

/// When it must have ended.
pub fn deadline(document: &Json) -> Option<Timestamp> {
    text(document, "deadline").or_else(|| tempo(document, "deadline-"))?.parse().ok()
}

/// Whether it has to wait for, or come before, another plan.
pub fn is_linked(document: &Json) -> bool {
    tempo(document, "after-").or_else(|| tempo(document, "before-")).is_some()
}

/// Its recurrence.
pub fn repeat(document: &Json) -> Option<Repeat> {
    let said = document.get("repeat").filter(|said| !said.is_null());
    let word = match said {
        Some(Value::String(word)) => Some(&**word),
        Some(said) => said.get("every").and_then(Value::as_str),
        None => tempo(document, "recurring-"),
    };
    let every = match word? {
        "daily" => Every::Daily,
        "weekly" => Every::Weekly,
        "monthly" => Every::Monthly,
        _ => return None,
    };
    let member = |name: &str| said.and_then(|said| said.get(name));
    let until = member("until").and_then(Value::as_str).and_then(|text| text.parse().ok());
    Some(Repeat { every, times: member("times").and_then(Value::as_u64), until })
}

/// The traces that it names, by links, as its children.
pub fn links(document: &Json) -> impl Iterator<Item = &str> {
    let list = |member: &str| document.get(member).and_then(Value::as_array).into_iter().flatten();
    list("linked_trace_ids")
        .chain(list("child_trace_ids"))
        .filter_map(|link| link.as_str().or_else(|| link.get("trace_id")?.as_str()))
}

impl Every {
    /// The least and the most that one period may last: clocks may change within it, by up to two hours.
    pub const fn bounds(self) -> (Span, Span) {
        let (least, most) = match self {
            Every::Daily => (24, 24),
            Every::Weekly => (7 * 24, 7 * 24),
            Every::Monthly => (28 * 24, 31 * 24),
        };
        (Span::from_secs((least - 2) * 3_600), Span::from_secs((most + 2) * 3_600))
    }

    /// How far the occurrence `periods` behind the first one may be from it: it does not drift, so the bounds do not add
    /// up. Months are counted in UTC, where a day may be another one than it is for the user.
    pub fn reach(self, first: Timestamp, periods: u32) -> Option<(Timestamp, Timestamp)> {
        let even = |hours: i64| first + Span::from_secs(hours * 3_600).times(i64::from(periods));
        let (there, slack) = match self {
            Every::Daily => (even(24), 2),
            Every::Weekly => (even(7 * 24), 2),
            Every::Monthly => {
                let instant = jiff::Timestamp::from_microsecond(first.as_micros()).ok()?;
                let months = jiff::Span::new().try_months(i64::from(periods)).ok()?;
                let civil = jiff::tz::TimeZone::UTC.to_datetime(instant).checked_add(months).ok()?;
                let later = jiff::tz::TimeZone::UTC.to_timestamp(civil).ok()?;
                (Timestamp::from_micros(later.as_microsecond()), 26)
            }
        };
        let slack = Span::from_secs(slack * 3_600);
        Some((there - slack, there + slack))
    }
}
