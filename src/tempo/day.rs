//! The parts of a civil day and week: weekdays, times of day, the clock's reading.

use std::fmt;

use super::plan::Every;

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the words say it")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    /// All, Monday first.
    pub const ALL: [Weekday; 7] = [
        Weekday::Monday,
        Weekday::Tuesday,
        Weekday::Wednesday,
        Weekday::Thursday,
        Weekday::Friday,
        Weekday::Saturday,
        Weekday::Sunday,
    ];

    /// In words, as tokens have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Weekday::Monday => "Monday",
            Weekday::Tuesday => "Tuesday",
            Weekday::Wednesday => "Wednesday",
            Weekday::Thursday => "Thursday",
            Weekday::Friday => "Friday",
            Weekday::Saturday => "Saturday",
            Weekday::Sunday => "Sunday",
        }
    }

    /// The weekday of a local date.
    pub(super) fn of(date: jiff::civil::Date) -> Weekday {
        let place = date.weekday().to_monday_zero_offset();
        Weekday::ALL[usize::try_from(place).expect("Monday is 0")]
    }

    /// The weekday of this name; capitals count.
    pub fn named(name: &str) -> Option<Weekday> {
        Weekday::ALL.into_iter().find(|day| day.as_str() == name)
    }
}

/// A part of the day: together they are the day, and none overlaps another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeOfDay {
    /// From 00:00 to 06:00.
    EarlyMorning,
    /// From 06:00 to 12:00.
    Morning,
    /// From 12:00 to 17:00.
    Afternoon,
    /// From 17:00 to 24:00.
    Evening,
}

impl TimeOfDay {
    /// All, the earliest first.
    pub const ALL: [TimeOfDay; 4] =
        [TimeOfDay::EarlyMorning, TimeOfDay::Morning, TimeOfDay::Afternoon, TimeOfDay::Evening];

    /// In words, as tokens have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            TimeOfDay::EarlyMorning => "EarlyMorning",
            TimeOfDay::Morning => "Morning",
            TimeOfDay::Afternoon => "Afternoon",
            TimeOfDay::Evening => "Evening",
        }
    }

    /// The time of day of this name; capitals count.
    pub fn named(name: &str) -> Option<TimeOfDay> {
        TimeOfDay::ALL.into_iter().find(|time| time.as_str() == name)
    }
}

/// What a clock on the wall reads: whole minutes since midnight, from 00:00 to 24:00, which is the end of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockTime(u16);

impl ClockTime {
    /// The begin of the day.
    pub const MIDNIGHT: ClockTime = ClockTime(0);
    /// The end of the day.
    pub const END_OF_DAY: ClockTime = ClockTime(24 * 60);

    /// The time `hour:minute`; none outside of a day.
    pub const fn new(hour: u16, minute: u16) -> Option<ClockTime> {
        if (hour < 24 && minute < 60) || (hour == 24 && minute == 0) {
            Some(ClockTime(hour * 60 + minute))
        } else {
            None
        }
    }

    /// Reads `HH:MM`, two digits each.
    pub fn parse(text: &str) -> Option<ClockTime> {
        let (hour, minute) = text.split_once(':')?;
        let is_two_digits = |part: &str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_digit());
        if !is_two_digits(hour) || !is_two_digits(minute) {
            return None;
        }
        ClockTime::new(hour.parse().ok()?, minute.parse().ok()?)
    }

    /// Whole minutes since midnight.
    pub const fn minutes(self) -> u16 {
        self.0
    }
}

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl Every {
    /// All, the shortest first.
    pub const ALL: [Every; 3] = [Every::Daily, Every::Weekly, Every::Monthly];

    /// In words, as it is serialised.
    pub const fn as_str(self) -> &'static str {
        match self {
            Every::Daily => "daily",
            Every::Weekly => "weekly",
            Every::Monthly => "monthly",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_time_is_two_digits_and_two_within_the_day() {
        for text in ["00:00", "09:05", "23:59", "24:00"] {
            assert_eq!(ClockTime::parse(text).unwrap().to_string(), text);
        }
        for text in ["24:01", "23:60", "9:05", "09:5", "0905", "", ":", "09:05:00", "+9:05", "٠٩:٠٥"] {
            assert_eq!(ClockTime::parse(text), None, "{text}");
        }
    }

    #[test]
    fn weekdays_are_those_of_the_calendar() {
        // 2026-03-09 is a Monday.
        for (offset, day) in (9..).zip(Weekday::ALL) {
            assert_eq!(Weekday::of(jiff::civil::date(2026, 3, offset)), day);
            assert_eq!(Weekday::named(day.as_str()), Some(day));
        }
        assert_eq!(Weekday::named("monday"), None);
    }
}
