//! Civil time: the user's time zone, from the database that is built in, never the machine's own.
//!
//! A time that a day does not have, since clocks jump over it, is taken as RFC 5545 has it (jiff's *compatible*): as long
//! after the jump as it would have been after its begin. Of a time that a day has twice, the first is meant.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Span as CivilSpan, ToSpan as _};

use super::day::ClockTime;
use super::plan::Every;
use super::settings::SettingsError;
use super::word::{excerpt, nearest};
use crate::kernel::{Interval, Timestamp};

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// Which of two instants an edge of a window is, on a day whose clocks read that time twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// The first: the window starts here.
    Start,
    /// The second: the window ends here.
    End,
}

impl Zone {
    /// The zone of this IANA name, capitals aside; UTC without one.
    ///
    /// # Errors
    /// When there is none of this name; the error names the nearest.
    pub fn parse(name: Option<&str>) -> Result<Zone, SettingsError> {
        let Some(name) = name else { return Ok(Zone(TimeZone::UTC)) };
        let database = TimeZoneDatabase::bundled();
        match database.get(name) {
            Ok(zone) if !zone.is_unknown() => Ok(Zone(zone)),
            _ => {
                let known: Vec<String> = database.available().map(|name| name.to_string()).collect();
                Err(SettingsError {
                    place: "zone".into(),
                    reason: format!("`{}` is not an IANA time zone, like `Europe/Berlin`", excerpt(name)),
                    nearest: nearest(name, known.iter().map(String::as_str)),
                })
            }
        }
    }

    /// The local calendar day of an instant: from its first instant to that of the next day, `end` excluded.
    pub fn day_of(&self, at: Timestamp) -> Interval {
        let date = self.date_of(at);
        Interval { start: self.first_instant(date), end: self.first_instant(next_day(date)) }
    }

    /// The `k`-th recurrence of what was first due at `due`, in local wall time: weekly at 20:00 stays at 20:00 when clocks
    /// change. It is counted from the first due time, so that a month that is too short for a date (its last day is taken)
    /// does not move those behind it. [`Timestamp::MAX`] beyond the year 9999.
    pub fn next(&self, due: Timestamp, every: Every, k: u32) -> Timestamp {
        if k == 0 {
            return due;
        }
        let count = i64::from(k);
        let span: Result<CivilSpan, jiff::Error> = match every {
            Every::Daily => CivilSpan::new().try_days(count),
            Every::Weekly => CivilSpan::new().try_weeks(count),
            Every::Monthly => CivilSpan::new().try_months(count),
        };
        let local = span.and_then(|span| self.0.to_datetime(civil(due)).checked_add(span));
        let instant = local.and_then(|local| self.0.to_ambiguous_timestamp(local).compatible());
        instant.map_or(Timestamp::MAX, |instant| Timestamp::from_micros(instant.as_microsecond()))
    }

    /// The local date of an instant.
    pub(super) fn date_of(&self, at: Timestamp) -> Date {
        self.0.to_datetime(civil(at)).date()
    }

    /// The first instant of a local day; of a day that the zone skipped, that of the next.
    pub(super) fn first_instant(&self, date: Date) -> Timestamp {
        self.edge(date, ClockTime::MIDNIGHT, Edge::Start)
    }

    /// The instant at which a window of this local day has an edge. Unlike a due time, an edge that the day does not have is
    /// the instant of the jump itself, so that a window holds exactly what clocks read between its edges.
    pub(super) fn edge(&self, date: Date, clock: ClockTime, edge: Edge) -> Timestamp {
        let (date, minutes) = match clock {
            ClockTime::END_OF_DAY => (next_day(date), 0),
            _ => (date, clock.minutes()),
        };
        let small = |part: u16| i8::try_from(part).expect("hours and minutes are below 60");
        self.reading(date.at(small(minutes / 60), small(minutes % 60), 0, 0), edge)
    }

    fn reading(&self, local: DateTime, edge: Edge) -> Timestamp {
        let ambiguous = self.0.to_ambiguous_timestamp(local);
        let instant = match (ambiguous.offset(), edge) {
            (AmbiguousOffset::Gap { .. }, _) => ambiguous.earlier().map(|before| {
                let jump = self.0.following(before).next();
                jump.map_or(before, |jump| jump.timestamp())
            }),
            (_, Edge::Start) => ambiguous.earlier(),
            (_, Edge::End) => ambiguous.later(),
        };
        instant.map_or(Timestamp::MAX, |instant| Timestamp::from_micros(instant.as_microsecond()))
    }
}

/// The day after; the last day that there is has none, and is its own.
pub(super) fn next_day(date: Date) -> Date {
    date.tomorrow().unwrap_or(date)
}

/// A date so many days away; none outside of the calendar.
pub(super) fn days_from(date: Date, days: i64) -> Option<Date> {
    date.checked_add(days.days()).ok()
}

/// The instant as jiff has it; the first or last that it can tell, for one outside.
fn civil(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or(if at < Timestamp::default() {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    })
}
