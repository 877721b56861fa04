//! A calendar event, and its times as iCalendar writes them.

use super::DocumentError;
use super::read::Field;
use crate::kernel::{Json, Name, Span, Timestamp};

/// A calendar event, read and validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalendarEvent {
    /// Its id.
    pub uid: Name,
    /// What it is called.
    pub title: Name,
    /// When it begins.
    pub timestamp: Timestamp,
    /// How many minutes it takes.
    pub duration_minutes: u32,
    /// The task that it belongs to.
    pub task_id: Name,
    /// The document as it was given, unknown fields and all.
    pub document: Json,
}

/// The longest event: a year of minutes.
const MINUTES_MOST: i64 = 366 * 24 * 60;

impl CalendarEvent {
    /// Reads a calendar event.
    ///
    /// # Errors
    /// The first thing that is wrong: a field that is missing, of the wrong type or out of range; a time that is not ISO 8601
    /// in UTC.
    pub fn parse(document: &Json) -> Result<CalendarEvent, DocumentError> {
        let doc = Field::document(document)?;
        let minutes = doc.need("duration_minutes")?.integer(1, MINUTES_MOST);
        Ok(CalendarEvent {
            uid: doc.need("uid")?.uid()?,
            title: doc.need("title")?.name()?,
            timestamp: doc.need("timestamp")?.instant()?,
            duration_minutes: u32::try_from(minutes?).expect("the bound is one of 32 bits"),
            task_id: doc.need("task_id")?.name()?,
            document: document.clone(),
        })
    }

    /// `DTSTART`, in UTC: `20260317T140000Z`.
    pub fn ics_dtstart(&self) -> String {
        ics(self.timestamp)
    }

    /// `DTEND`, in UTC.
    pub fn ics_dtend(&self) -> String {
        ics(self.timestamp + Span::from_secs(60).times(i64::from(self.duration_minutes)))
    }
}

/// iCalendar's `DATE-TIME` in UTC; it has whole seconds alone.
fn ics(at: Timestamp) -> String {
    let text = at.to_string();
    let whole = text.split(['.', 'Z']).next().unwrap_or_default();
    format!("{}Z", whole.replace(['-', ':'], ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_ends_its_minutes_after_it_begins() {
        let cases = [
            ("2026-03-17T14:00:00Z", 45, "20260317T140000Z", "20260317T144500Z"),
            ("2026-12-31T23:59:30.5Z", 1, "20261231T235930Z", "20270101T000030Z"),
            ("2026-03-28T12:00Z", 1_440, "20260328T120000Z", "20260329T120000Z"),
        ];
        for (timestamp, minutes, start, end) in cases {
            let event = json!({ "uid": "e", "title": "T", "timestamp": timestamp, "duration_minutes": minutes, "task_id": "t" });
            let event = CalendarEvent::parse(&event.into()).unwrap();
            assert_eq!((event.ics_dtstart(), event.ics_dtend()), (start.to_owned(), end.to_owned()));
        }
    }

    #[test]
    fn each_of_the_five_fields_is_needed() {
        let event = json!({ "uid": "e", "title": "T", "timestamp": "2026-03-17T14:00:00Z", "duration_minutes": 45, "task_id": "t" });
        for field in ["uid", "title", "timestamp", "duration_minutes", "task_id"] {
            let mut event = event.clone();
            event.as_object_mut().unwrap().remove(field);
            assert_eq!(CalendarEvent::parse(&event.into()).unwrap_err().place, field);
        }
    }
}
