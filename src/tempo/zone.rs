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

    /// What a clock on the wall reads, whole minutes.
    #[cfg(test)]
    pub(super) fn reads(&self, at: Timestamp) -> ClockTime {
        let local = self.0.to_datetime(civil(at));
        let part = |part: i8| u16::try_from(part).expect("hours and minutes are not negative");
        ClockTime::new(part(local.hour()), part(local.minute())).expect("a clock reads a time of day")
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn zone(name: &str) -> Zone {
        Zone::parse(Some(name)).unwrap()
    }

    #[test]
    fn a_zone_is_one_of_the_built_in_database() {
        assert_eq!(Zone::parse(None).unwrap(), zone("UTC"));
        assert_eq!(zone("europe/berlin"), zone("Europe/Berlin"));
        let cases = [
            ("Europe/Berln", Some("Europe/Berlin")),
            ("Lord_Howe", Some("Australia/Lord_Howe")),
            ("Middle-earth/Shire", None),
            ("Etc/Unknown", None),
            ("+02:00", None),
            ("", None),
            ("/etc/localtime", None),
        ];
        for (name, nearest) in cases {
            let error = Zone::parse(Some(name)).expect_err(name);
            assert_eq!((&*error.place, error.nearest.as_deref()), ("zone", nearest), "{name}");
        }
    }

    #[test]
    fn a_local_day_is_as_long_as_its_clocks_make_it() {
        let cases = [
            ("UTC", "2026-03-29T12:00:00Z", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"),
            ("Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
            ("Europe/Berlin", "2026-10-25T22:59:59.999999Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
            ("America/New_York", "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"),
            ("America/New_York", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"),
            ("Australia/Lord_Howe", "2026-10-04T00:00:00Z", "2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-05T00:00:00Z", "2026-04-04T13:00:00Z", "2026-04-05T13:30:00Z"),
            // Clocks jump from midnight to one, and over a whole day.
            ("America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"),
            ("Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"),
            ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"),
        ];
        for (name, within, start, end) in cases {
            let day = Interval { start: at(start), end: at(end) };
            assert_eq!(zone(name).day_of(at(within)), day, "{name} {within}");
        }
    }

    #[test]
    fn recurrence_keeps_the_time_on_the_wall_and_does_not_drift() {
        use Every::{Daily, Monthly, Weekly};
        let cases = [
            // Weekly at 20:00 over both changes of clocks.
            ("Europe/Berlin", "2026-03-22T19:00:00Z", Weekly, 0, "2026-03-22T19:00:00Z"),
            ("Europe/Berlin", "2026-03-22T19:00:00Z", Weekly, 1, "2026-03-29T18:00:00Z"),
            ("Europe/Berlin", "2026-03-22T19:00:00Z", Weekly, 31, "2026-10-25T19:00:00Z"),
            ("America/New_York", "2026-03-02T01:00:00Z", Weekly, 1, "2026-03-09T00:00:00Z"),
            ("America/New_York", "2026-10-26T00:00:00Z", Weekly, 1, "2026-11-02T01:00:00Z"),
            ("Australia/Lord_Howe", "2026-09-27T09:30:00Z", Weekly, 1, "2026-10-04T09:00:00Z"),
            ("Australia/Lord_Howe", "2026-03-29T09:00:00Z", Weekly, 1, "2026-04-05T09:30:00Z"),
            // 02:30 does not exist on one day: it is 03:30 on that day, and 02:30 again on the next.
            ("Europe/Berlin", "2026-03-28T01:30:00Z", Daily, 1, "2026-03-29T01:30:00Z"),
            ("Europe/Berlin", "2026-03-28T01:30:00Z", Daily, 2, "2026-03-30T00:30:00Z"),
            ("America/New_York", "2026-03-07T07:30:00Z", Daily, 1, "2026-03-08T07:30:00Z"),
            ("America/New_York", "2026-03-07T07:30:00Z", Daily, 2, "2026-03-09T06:30:00Z"),
            ("Australia/Lord_Howe", "2026-10-02T15:45:00Z", Daily, 1, "2026-10-03T15:45:00Z"),
            ("Australia/Lord_Howe", "2026-10-02T15:45:00Z", Daily, 2, "2026-10-04T15:15:00Z"),
            // 02:30 is there twice: the first is meant. Who was due at the second stays at the time on the wall.
            ("Europe/Berlin", "2026-10-24T00:30:00Z", Daily, 1, "2026-10-25T00:30:00Z"),
            ("Europe/Berlin", "2026-10-24T00:30:00Z", Daily, 2, "2026-10-26T01:30:00Z"),
            ("Europe/Berlin", "2026-10-25T01:30:00Z", Daily, 0, "2026-10-25T01:30:00Z"),
            ("Europe/Berlin", "2026-10-25T01:30:00Z", Daily, 1, "2026-10-26T01:30:00Z"),
            ("Australia/Lord_Howe", "2026-04-03T14:45:00Z", Daily, 1, "2026-04-04T14:45:00Z"),
            ("Australia/Lord_Howe", "2026-04-03T14:45:00Z", Daily, 2, "2026-04-05T15:15:00Z"),
            // The last day of a month that is too short, and the 31st again behind it.
            ("UTC", "2026-01-31T10:00:00Z", Monthly, 1, "2026-02-28T10:00:00Z"),
            ("UTC", "2026-01-31T10:00:00Z", Monthly, 2, "2026-03-31T10:00:00Z"),
            ("UTC", "2026-01-31T10:00:00Z", Monthly, 3, "2026-04-30T10:00:00Z"),
            ("UTC", "2026-01-31T10:00:00Z", Monthly, 25, "2028-02-29T10:00:00Z"),
            ("UTC", "2026-12-31T23:59:59.000001Z", Monthly, 1, "2027-01-31T23:59:59.000001Z"),
            // The month is the local one.
            ("America/New_York", "2026-02-01T01:00:00Z", Monthly, 1, "2026-03-01T01:00:00Z"),
            ("America/New_York", "2026-02-01T01:00:00Z", Monthly, 2, "2026-04-01T00:00:00Z"),
        ];
        for (name, due, every, k, next) in cases {
            assert_eq!(zone(name).next(at(due), every, k), at(next), "{name} {due} {every:?} {k}");
        }
    }

    #[test]
    fn what_is_beyond_the_calendar_is_never_due() {
        let due = at("2026-01-31T10:00:00Z");
        for every in Every::ALL {
            assert_eq!(zone("Europe/Berlin").next(due, every, u32::MAX), Timestamp::MAX);
            assert_eq!(zone("Europe/Berlin").next(Timestamp::MAX, every, 1), Timestamp::MAX);
        }
        zone("Europe/Berlin").day_of(Timestamp::MAX);
        zone("Europe/Berlin").day_of(Timestamp::from_micros(i64::MIN));
    }

    /// Instants of the years 2000 to 2037, near changes of clocks as often as not.
    fn instants() -> impl Strategy<Value = Timestamp> {
        let anywhere = 946_684_800_000_000_i64..2_145_916_800_000_000;
        let near = prop::sample::select(vec![
            "2026-03-29T01:00:00Z",
            "2026-10-25T01:00:00Z",
            "2026-03-08T07:00:00Z",
            "2026-11-01T06:00:00Z",
            "2026-10-03T15:30:00Z",
            "2026-04-04T15:00:00Z",
        ]);
        let day = 86_400_000_000_i64;
        prop_oneof![
            anywhere.prop_map(Timestamp::from_micros),
            (near, -day..day).prop_map(|(near, off)| Timestamp::from_micros(at(near).as_micros() + off)),
        ]
    }

    fn zones() -> impl Strategy<Value = Zone> {
        let names = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Gaza"];
        prop::sample::select(names.to_vec()).prop_map(zone)
    }

    proptest! {
        #[test]
        fn days_hold_their_instants_and_abut(zone in zones(), at in instants()) {
            let day = zone.day_of(at);
            prop_assert!(day.start <= at && at < day.end);
            prop_assert_eq!(zone.day_of(day.end).start, day.end);
            prop_assert_eq!(zone.day_of(day.start), day);
        }

        #[test]
        fn recurrences_come_in_order_and_each_from_the_first(
            zone in zones(), due in instants(), every in prop::sample::select(Every::ALL.to_vec()), k in 0..60_u32,
        ) {
            prop_assert!(zone.next(due, every, k) < zone.next(due, every, k + 2));
            let (first, later) = (zone.0.to_datetime(civil(due)), zone.0.to_datetime(civil(zone.next(due, every, k))));
            // The time on the wall is the same, but where the day does not have it; a day that is skipped has none.
            let is_gap = |date: Date| {
                let local = date.to_datetime(first.time());
                matches!(zone.0.to_ambiguous_timestamp(local).offset(), AmbiguousOffset::Gap { .. })
            };
            let date = later.date();
            prop_assert!(first.time() == later.time() || is_gap(date) || is_gap(date.yesterday().unwrap()));
        }
    }
}
