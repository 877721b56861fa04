//! Windows as instants: when a plan is released, which occurrence of a window it is measured against, and how near it came.

use jiff::civil::Date;

use super::day::Weekday;
use super::plan::Plan;
use super::registry::{DayWindow, Registry};
use super::settings::{Settings, SettingsError};
use super::token::Token;
use super::zone::{Edge, Zone, days_from, next_day};
use crate::kernel::{Alignment, Interval, Span, Timestamp, Window};

/// At most so far from its window is `exact`.
pub const EXACT: Span = Span::from_millis(900_000);
/// At most so far from its window is `partial`.
pub const PARTIAL: Span = Span::from_millis(5_400_000);

/// A user's calendar: the zone, the windows by name, and the slots in which nothing is dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// The user's time zone.
    pub zone: Zone,
    /// The user's named windows.
    pub registry: Registry,
    blocked: Vec<DayWindow>,
}

/// Dates in which occurrences are looked for, as days from a given one. A window of a weekday comes each seven days, each
/// fourteen where a zone skipped its day, and a daily one each day; what lies over midnight starts a day before.
const WEEKLY: std::ops::RangeInclusive<i64> = -9..=15;
const DAILY: std::ops::RangeInclusive<i64> = -3..=3;

impl Calendar {
    /// The calendar that these settings make.
    ///
    /// # Errors
    /// When the zone is none, or a window of the registry or a blocked slot is none; with its place.
    pub fn of(settings: &Settings) -> Result<Calendar, SettingsError> {
        let slots = settings.blocked.iter().enumerate();
        Ok(Calendar {
            zone: Zone::parse(settings.zone.as_deref())?,
            registry: Registry::with(&settings.registry)?,
            blocked: slots
                .map(|(place, slot)| DayWindow::read(slot, &format!("blocked[{place}]")))
                .collect::<Result<_, _>>()?,
        })
    }

    /// When a plan is due that is looked at first at `from`: `scheduled_for`; without it the spelt instant of its token, the
    /// start of the first occurrence of its window that starts at or after `from`, or `in-…` counted from `from`. None for a
    /// plan without any time, or whose token the registry no longer has.
    pub fn release(&self, plan: &Plan, from: Timestamp) -> Option<Timestamp> {
        if plan.scheduled_for.is_some() {
            return plan.scheduled_for;
        }
        self.resolve(&self.registry.token(plan.token.as_deref()?).ok()?, from)
    }

    /// When a token is due that is looked at first at `from`; none for one that has no time.
    pub fn resolve(&self, token: &Token, from: Timestamp) -> Option<Timestamp> {
        match token {
            Token::At(moment) => Some(moment.at),
            Token::In(amount) => Some(from + amount.span()),
            _ => {
                let window = self.registry.window(token)?;
                let starts = self.occurrences(&window, from).map(|occurrence| occurrence.start);
                starts.filter(|start| *start >= from).min()
            }
        }
    }

    /// What an occurrence that is due at `due` is measured against: the occurrence of the token's window that is nearest to
    /// `due`, the spelt instant, or without either the point `due`. Of two windows that are as near, the one that has begun,
    /// and else the earlier one.
    pub fn window(&self, token: Option<&Token>, due: Timestamp) -> Window {
        let point = |at| Interval { start: at, end: at };
        let target = match token {
            Some(Token::At(moment)) => Some(point(moment.at)),
            Some(token) => self.registry.window(token).and_then(|window| {
                let occurrences = self.occurrences(&window, due);
                // At the instant in which one window ends and the next begins, it is in the next.
                let is_over = |of: &Interval| due == of.end && of.start < of.end;
                occurrences.min_by_key(|of| (distance(due, *of), is_over(of), of.start))
            }),
            None => None,
        };
        match target {
            Some(target) => Window { target, boundary: Some(self.days_touched(target)) },
            None => Window { target: point(due), boundary: None },
        }
    }

    /// The end of the blocked slot that `at` lies in, its end excluded; the last of them, where slots overlap. The instant
    /// that is given may be blocked in its turn, by a slot that begins there.
    pub fn blocked_until(&self, at: Timestamp) -> Option<Timestamp> {
        let slots = self.blocked.iter().flat_map(|window| self.occurrences(window, at));
        slots.filter(|slot| slot.start <= at && at < slot.end).map(|slot| slot.end).max()
    }

    /// The local days from that of the first instant of an interval to that of its last one, its end excluded.
    fn days_touched(&self, target: Interval) -> Interval {
        let last = (target.end - Span::from_micros(1)).max(target.start);
        Interval { start: self.zone.day_of(target.start).start, end: self.zone.day_of(last).end }
    }

    /// The occurrences of a window around an instant, in order.
    fn occurrences(&self, window: &DayWindow, around: Timestamp) -> impl Iterator<Item = Interval> {
        let date = self.zone.date_of(around);
        let days = if window.day.is_some() { WEEKLY } else { DAILY };
        days.filter_map(move |days| days_from(date, days)).filter_map(move |date| self.occurrence(window, date))
    }

    /// The occurrence of a window that starts on a local day; none on a day that is another weekday, or that the zone
    /// skipped. A window of which a day has nothing, since clocks jump over it, is the point of the jump.
    fn occurrence(&self, window: &DayWindow, date: Date) -> Option<Interval> {
        let is_its_day = window.day.is_none_or(|day| day == Weekday::of(date));
        if !is_its_day || self.zone.first_instant(date) == self.zone.first_instant(next_day(date)) {
            return None;
        }
        let last = if window.is_over_midnight() { next_day(date) } else { date };
        let start = self.zone.edge(date, window.start, Edge::Start);
        Some(Interval { start, end: self.zone.edge(last, window.end, Edge::End) })
    }
}

/// How far `at` is from an interval, both ends included.
fn distance(at: Timestamp, interval: Interval) -> Span {
    interval.start.since(at).max(at.since(interval.end)).max(Span::ZERO)
}

/// How near to its window an occurrence was done: by the distance in whole microseconds, both limits included. What was
/// done outside of the window's days, or never, is misaligned.
pub fn alignment(executed_at: Option<Timestamp>, window: &Window) -> Alignment {
    let Some(at) = executed_at else { return Alignment::Misaligned };
    if window.boundary.is_some_and(|days| at < days.start || at >= days.end) {
        return Alignment::Misaligned;
    }
    match distance(at, window.target) {
        near if near <= EXACT => Alignment::Exact,
        near if near <= PARTIAL => Alignment::Partial,
        _ => Alignment::Misaligned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::settings::NamedWindow;
    use proptest::prelude::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn calendar(zone: &str) -> Calendar {
        Calendar::of(&Settings { zone: Some(zone.into()), ..Settings::default() }).unwrap()
    }

    fn token(calendar: &Calendar, word: &str) -> Token {
        calendar.registry.token(&format!("<tempo:{word}>")).unwrap()
    }

    fn interval(start: &str, end: &str) -> Interval {
        Interval { start: at(start), end: at(end) }
    }

    #[test]
    fn a_due_time_is_measured_against_the_nearest_window_and_its_days() {
        let cases = [
            // The day of the requirement's example; then nearest before, nearest after, as near to both.
            ("EveningReview", "2025-05-11T20:00:00Z", "2025-05-11T18:30:00Z", "2025-05-11T19:30:00Z"),
            ("EveningReview", "2025-05-12T06:59:00Z", "2025-05-11T18:30:00Z", "2025-05-11T19:30:00Z"),
            ("EveningReview", "2025-05-12T07:01:00Z", "2025-05-12T18:30:00Z", "2025-05-12T19:30:00Z"),
            ("EveningReview", "2025-05-12T07:00:00Z", "2025-05-11T18:30:00Z", "2025-05-11T19:30:00Z"),
            ("FridayEvening", "2026-03-13T23:50:00Z", "2026-03-13T17:00:00Z", "2026-03-14T00:00:00Z"),
            ("FridayEvening", "2026-03-16T00:00:00Z", "2026-03-13T17:00:00Z", "2026-03-14T00:00:00Z"),
            ("FridayEvening", "2026-03-18T00:00:00Z", "2026-03-20T17:00:00Z", "2026-03-21T00:00:00Z"),
            ("Friday", "2026-03-13T12:00:00Z", "2026-03-13T00:00:00Z", "2026-03-14T00:00:00Z"),
            ("window-22:00-02:00", "2026-03-13T01:00:00Z", "2026-03-12T22:00:00Z", "2026-03-13T02:00:00Z"),
            // All day long: at the instant of the change it is in the one that begins.
            ("window-08:00-08:00", "2026-03-13T08:00:00Z", "2026-03-13T08:00:00Z", "2026-03-14T08:00:00Z"),
            ("2026-03-13T10:00Z", "2026-03-20T00:00:00Z", "2026-03-13T10:00:00Z", "2026-03-13T10:00:00Z"),
        ];
        let calendar = calendar("UTC");
        for (word, due, start, end) in cases {
            let window = calendar.window(Some(&token(&calendar, word)), at(due));
            assert_eq!(window.target, interval(start, end), "{word} {due}");
        }
    }

    #[test]
    fn the_boundary_is_the_local_days_that_the_window_touches() {
        let cases = [
            ("Europe/Berlin", "Evening", "2026-03-13T17:00:00Z", "2026-03-12T23:00:00Z", "2026-03-13T23:00:00Z"),
            ("UTC", "FridayEvening", "2026-03-13T17:00:00Z", "2026-03-13T00:00:00Z", "2026-03-14T00:00:00Z"),
            ("UTC", "window-22:00-24:00", "2026-03-13T22:00:00Z", "2026-03-13T00:00:00Z", "2026-03-14T00:00:00Z"),
            ("UTC", "window-22:00-00:00", "2026-03-13T22:00:00Z", "2026-03-13T00:00:00Z", "2026-03-14T00:00:00Z"),
            ("UTC", "window-22:00-00:01", "2026-03-13T22:00:00Z", "2026-03-13T00:00:00Z", "2026-03-15T00:00:00Z"),
            ("UTC", "2026-03-13T00:00Z", "2026-03-01T00:00:00Z", "2026-03-13T00:00:00Z", "2026-03-14T00:00:00Z"),
            ("America/New_York", "Sunday", "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"),
        ];
        for (zone, word, due, start, end) in cases {
            let calendar = calendar(zone);
            let window = calendar.window(Some(&token(&calendar, word)), at(due));
            assert_eq!(window.boundary, Some(interval(start, end)), "{zone} {word}");
        }
    }

    #[test]
    fn without_a_window_the_due_time_is_a_point_without_boundary() {
        let calendar = calendar("Europe/Berlin");
        let due = at("2026-03-13T17:00:00Z");
        let point = Window { target: Interval { start: due, end: due }, boundary: None };
        assert_eq!(calendar.window(None, due), point);
        for word in ["urgent", "in-2h", "recurring-daily", "deadline-2026-03-17T14:00Z", "after-x", "duration-5min"] {
            assert_eq!(calendar.window(Some(&token(&calendar, word)), due), point, "{word}");
        }
        // A name that the settings no longer have.
        assert_eq!(calendar.window(Some(&Token::Named("Gone".into())), due), point);
    }

    #[test]
    fn windows_survive_both_changes_of_clocks_in_three_zones() {
        let cases = [
            // Evenings on the day itself, before and after.
            ("Europe/Berlin", "EveningReview", "2026-03-28T18:00:00Z", "2026-03-28T17:30:00Z", "2026-03-28T18:30:00Z"),
            ("Europe/Berlin", "EveningReview", "2026-03-29T17:00:00Z", "2026-03-29T16:30:00Z", "2026-03-29T17:30:00Z"),
            ("Europe/Berlin", "EveningReview", "2026-10-25T18:00:00Z", "2026-10-25T17:30:00Z", "2026-10-25T18:30:00Z"),
            // The night of the change is short, and long.
            ("Europe/Berlin", "EarlyMorning", "2026-03-29T00:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T04:00:00Z"),
            ("Europe/Berlin", "EarlyMorning", "2026-10-25T00:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T05:00:00Z"),
            (
                "America/New_York",
                "EarlyMorning",
                "2026-03-08T06:00:00Z",
                "2026-03-08T05:00:00Z",
                "2026-03-08T10:00:00Z",
            ),
            (
                "America/New_York",
                "EarlyMorning",
                "2026-11-01T06:00:00Z",
                "2026-11-01T04:00:00Z",
                "2026-11-01T11:00:00Z",
            ),
            (
                "Australia/Lord_Howe",
                "EarlyMorning",
                "2026-10-03T15:00:00Z",
                "2026-10-03T13:30:00Z",
                "2026-10-03T19:00:00Z",
            ),
            (
                "Australia/Lord_Howe",
                "EarlyMorning",
                "2026-04-04T15:00:00Z",
                "2026-04-04T13:00:00Z",
                "2026-04-04T19:30:00Z",
            ),
            // Over midnight, into the change: an end that does not exist is the jump, of one that is there twice the second.
            (
                "Europe/Berlin",
                "window-22:00-02:30",
                "2026-03-29T00:00:00Z",
                "2026-03-28T21:00:00Z",
                "2026-03-29T01:00:00Z",
            ),
            (
                "Europe/Berlin",
                "window-22:00-02:30",
                "2026-10-25T00:00:00Z",
                "2026-10-24T20:00:00Z",
                "2026-10-25T01:30:00Z",
            ),
            (
                "America/New_York",
                "window-22:00-02:30",
                "2026-03-08T06:00:00Z",
                "2026-03-08T03:00:00Z",
                "2026-03-08T07:00:00Z",
            ),
            (
                "America/New_York",
                "window-22:00-01:30",
                "2026-11-01T05:00:00Z",
                "2026-11-01T02:00:00Z",
                "2026-11-01T06:30:00Z",
            ),
            (
                "Australia/Lord_Howe",
                "window-22:00-02:15",
                "2026-10-03T14:00:00Z",
                "2026-10-03T11:30:00Z",
                "2026-10-03T15:30:00Z",
            ),
            (
                "Australia/Lord_Howe",
                "window-22:00-01:45",
                "2026-04-04T14:00:00Z",
                "2026-04-04T11:00:00Z",
                "2026-04-04T15:15:00Z",
            ),
            // A start that does not exist, one that is there twice, and a window of which nothing is left.
            (
                "Europe/Berlin",
                "window-02:30-03:15",
                "2026-03-29T01:00:00Z",
                "2026-03-29T01:00:00Z",
                "2026-03-29T01:15:00Z",
            ),
            (
                "Europe/Berlin",
                "window-02:30-03:15",
                "2026-10-25T01:00:00Z",
                "2026-10-25T00:30:00Z",
                "2026-10-25T02:15:00Z",
            ),
            (
                "Europe/Berlin",
                "window-02:10-02:50",
                "2026-03-29T01:00:00Z",
                "2026-03-29T01:00:00Z",
                "2026-03-29T01:00:00Z",
            ),
            (
                "Australia/Lord_Howe",
                "window-02:10-02:45",
                "2026-10-03T15:30:00Z",
                "2026-10-03T15:30:00Z",
                "2026-10-03T15:45:00Z",
            ),
        ];
        for (zone, word, due, start, end) in cases {
            let calendar = calendar(zone);
            let window = calendar.window(Some(&token(&calendar, word)), at(due));
            assert_eq!(window.target, interval(start, end), "{zone} {word} {due}");
        }
    }

    #[test]
    fn a_token_is_due_at_the_first_start_from_now_on() {
        let cases = [
            ("UTC", "Evening", "2026-03-13T16:59:59Z", Some("2026-03-13T17:00:00Z")),
            ("UTC", "Evening", "2026-03-13T17:00:00Z", Some("2026-03-13T17:00:00Z")),
            ("UTC", "Evening", "2026-03-13T17:00:00.000001Z", Some("2026-03-14T17:00:00Z")),
            ("UTC", "FridayEvening", "2026-03-13T18:00:00Z", Some("2026-03-20T17:00:00Z")),
            ("UTC", "Monday", "2026-03-13T18:00:00Z", Some("2026-03-16T00:00:00Z")),
            ("UTC", "window-22:00-02:00", "2026-03-13T23:00:00Z", Some("2026-03-14T22:00:00Z")),
            ("UTC", "2026-03-01T10:00Z", "2026-03-13T18:00:00Z", Some("2026-03-01T10:00:00Z")),
            ("UTC", "in-90min", "2026-03-13T18:00:00Z", Some("2026-03-13T19:30:00Z")),
            ("UTC", "in-1d", "2026-03-28T12:00:00Z", Some("2026-03-29T12:00:00Z")),
            ("UTC", "after-x", "2026-03-13T18:00:00Z", None),
            ("UTC", "recurring-daily", "2026-03-13T18:00:00Z", None),
            ("Europe/Berlin", "MorningPlanning", "2026-03-28T12:00:00Z", Some("2026-03-29T06:00:00Z")),
            ("Europe/Berlin", "SundayEvening", "2026-10-20T12:00:00Z", Some("2026-10-25T16:00:00Z")),
            // The Friday that Samoa did not have.
            ("Pacific/Apia", "Friday", "2011-12-24T00:00:00Z", Some("2012-01-05T10:00:00Z")),
            ("Pacific/Apia", "EveningReview", "2011-12-30T06:00:00Z", Some("2011-12-31T04:30:00Z")),
        ];
        for (zone, word, from, due) in cases {
            let calendar = calendar(zone);
            assert_eq!(calendar.resolve(&token(&calendar, word), at(from)), due.map(at), "{zone} {word} {from}");
        }
    }

    #[test]
    fn a_blocked_slot_holds_till_its_end() {
        let slot = |days: &str, start: &str, end: &str| NamedWindow {
            days: days.into(),
            start: start.into(),
            end: end.into(),
        };
        let blocked =
            vec![slot("daily", "22:00", "06:00"), slot("Sunday", "00:00", "24:00"), slot("daily", "05:00", "07:00")];
        let settings = Settings { zone: Some("Europe/Berlin".into()), blocked, ..Settings::default() };
        let calendar = Calendar::of(&settings).unwrap();
        let cases = [
            ("2026-03-13T20:59:59Z", None),
            ("2026-03-13T21:00:00Z", Some("2026-03-14T05:00:00Z")),
            ("2026-03-14T04:59:59Z", Some("2026-03-14T06:00:00Z")),
            ("2026-03-14T05:00:00Z", Some("2026-03-14T06:00:00Z")),
            ("2026-03-14T06:00:00Z", None),
            // Saturday to Sunday, the day of 23 hours.
            ("2026-03-28T22:59:59Z", Some("2026-03-29T04:00:00Z")),
            ("2026-03-28T23:00:00Z", Some("2026-03-29T22:00:00Z")),
            ("2026-03-29T21:59:59Z", Some("2026-03-30T04:00:00Z")),
        ];
        for (instant, until) in cases {
            assert_eq!(calendar.blocked_until(at(instant)), until.map(at), "{instant}");
        }
    }

    #[test]
    fn settings_that_are_none_are_refused_with_their_place() {
        let bad = NamedWindow { days: "daily".into(), start: "08:00".into(), end: "8:30".into() };
        let zone = Settings { zone: Some("Mars/Olympus".into()), ..Settings::default() };
        let registry = Settings { registry: [("Lunch".into(), bad.clone())].into(), ..Settings::default() };
        let blocked = Settings { blocked: vec![bad], ..Settings::default() };
        for (settings, place) in [(zone, "zone"), (registry, "registry.Lunch.end"), (blocked, "blocked[0].end")] {
            assert_eq!(Calendar::of(&settings).unwrap_err().place, place);
        }
    }

    #[test]
    fn alignment_has_its_limits_to_the_microsecond() {
        use Alignment::{Exact, Misaligned, Partial};
        let calendar = calendar("UTC");
        let window = calendar.window(Some(&token(&calendar, "Afternoon")), at("2026-03-13T13:00:00Z"));
        let (start, end) = (window.target.start, window.target.end);
        let us = Span::from_micros(1);
        let cases = [
            (Span::ZERO, Exact),
            (Span::from_millis(900_000), Exact),
            (Span::from_millis(900_000) + us, Partial),
            (Span::from_millis(900_001), Partial),
            (Span::from_millis(5_400_000), Partial),
            (Span::from_millis(5_400_000) + us, Misaligned),
            (Span::from_millis(5_400_001), Misaligned),
        ];
        for (off, aligned) in cases {
            assert_eq!(alignment(Some(start - off), &window), aligned, "{off} early");
            assert_eq!(alignment(Some(end + off), &window), aligned, "{off} late");
            // A point without days.
            let point = calendar.window(None, start);
            assert_eq!(alignment(Some(start - off), &point), aligned, "{off} before the point");
            assert_eq!(alignment(Some(start + off), &point), aligned, "{off} behind the point");
        }
        assert_eq!(alignment(Some(start + Span::from_secs(3_600)), &window), Exact);
        assert_eq!(alignment(None, &window), Misaligned);
    }

    #[test]
    fn outside_of_the_tokens_days_nothing_is_aligned() {
        use Alignment::{Exact, Misaligned};
        let cases = [
            ("UTC", "FridayEvening", "2026-03-13T23:50:00Z", "2026-03-13T23:59:59.999999Z", Exact),
            ("UTC", "FridayEvening", "2026-03-13T23:50:00Z", "2026-03-14T00:00:00Z", Misaligned),
            ("UTC", "FridayEvening", "2026-03-13T23:50:00Z", "2026-03-14T00:08:00Z", Misaligned),
            ("UTC", "Friday", "2026-03-13T00:00:00Z", "2026-03-12T23:59:59.999999Z", Misaligned),
            ("UTC", "window-22:00-00:30", "2026-03-13T22:00:00Z", "2026-03-14T00:45:00Z", Exact),
            ("Europe/Berlin", "FridayEvening", "2026-03-13T22:50:00Z", "2026-03-13T23:08:00Z", Misaligned),
            ("UTC", "2026-03-13T23:55Z", "2026-03-13T23:55:00Z", "2026-03-14T00:00:00Z", Misaligned),
        ];
        for (zone, word, due, executed_at, aligned) in cases {
            let calendar = calendar(zone);
            let window = calendar.window(Some(&token(&calendar, word)), at(due));
            assert_eq!(alignment(Some(at(executed_at)), &window), aligned, "{zone} {word} {executed_at}");
        }
    }

    #[test]
    fn the_requirements_example_is_partial() {
        let calendar = calendar("UTC");
        let window = calendar.window(Some(&token(&calendar, "EveningReview")), at("2025-05-11T20:00:00Z"));
        assert_eq!(alignment(Some(at("2025-05-11T20:03:12Z")), &window), Alignment::Partial);
    }

    /// A calendar, a token with a window that comes back, and an instant, near a change of clocks as often as not.
    fn looked_up() -> impl Strategy<Value = (Calendar, Token, Timestamp)> {
        let zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Gaza"];
        let words = ["Friday", "Evening", "SundayEarlyMorning", "EveningReview", "MondayMorning"].map(str::to_owned);
        let clock = |minutes: u16| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        let spelt = (0..288_u16, 0..289_u16)
            .prop_map(move |(start, end)| format!("window-{}-{}", clock(start * 5), clock(end * 5)));
        let word = prop_oneof![prop::sample::select(words.to_vec()), spelt];
        let changes = ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2026-11-01T06:00:00Z", "2026-10-03T15:30:00Z"];
        let near = (prop::sample::select(changes.to_vec()), -86_400_000_000_i64..86_400_000_000)
            .prop_map(|(change, off)| Timestamp::from_micros(at(change).as_micros() + off));
        let anywhere = (946_684_800_000_000_i64..2_145_916_800_000_000).prop_map(Timestamp::from_micros);
        let zone = prop::sample::select(zones.to_vec());
        (zone, word, prop_oneof![near, anywhere]).prop_map(|(zone, word, at)| {
            let calendar = calendar(zone);
            let token = token(&calendar, &word);
            (calendar, token, at)
        })
    }

    proptest! {
        #[test]
        fn no_other_window_is_nearer_and_its_days_hold_it((calendar, token, due) in looked_up()) {
            let Window { target, boundary } = calendar.window(Some(&token), due);
            prop_assert!(target.start <= target.end);
            let days = boundary.unwrap();
            prop_assert!(days.start <= target.start && target.start < days.end && target.end <= days.end);
            let (mut from, until) = (due - Span::from_secs(20 * 86_400), due + Span::from_secs(20 * 86_400));
            while from <= until {
                let start = calendar.resolve(&token, from).unwrap();
                let other = calendar.window(Some(&token), start).target;
                prop_assert!(distance(due, target) <= distance(due, other), "{other:?} is nearer than {target:?}");
                from = start + Span::from_micros(1);
            }
        }

        #[test]
        fn a_token_is_due_when_its_window_starts_and_never_before_it_is_looked_at((calendar, token, from) in looked_up()) {
            let due = calendar.resolve(&token, from).unwrap();
            prop_assert!(due >= from);
            prop_assert_eq!(calendar.resolve(&token, due), Some(due));
            prop_assert_eq!(calendar.window(Some(&token), due).target.start, due);
        }

        #[test]
        fn what_the_clock_reads_within_a_window_is_within_it((calendar, token, at) in looked_up()) {
            let window = calendar.registry.window(&token).unwrap();
            let reads = calendar.zone.reads(at).minutes();
            let (start, end) = (window.start.minutes(), window.end.minutes());
            let day = Weekday::of(calendar.zone.date_of(at));
            let is_within = !window.is_over_midnight() && start <= reads && reads < end
                || window.is_over_midnight() && window.day.is_none() && (start <= reads || reads < end);
            if is_within && window.day.is_none_or(|of| of == day) {
                prop_assert_eq!(distance(at, calendar.window(Some(&token), at).target), Span::ZERO);
            }
        }

        #[test]
        fn nearer_is_never_less_aligned((calendar, token, due) in looked_up(), near in 0..7_200_000_i64, more in 0..7_200_000_i64) {
            let window = Window { boundary: None, ..calendar.window(Some(&token), due) };
            let late = |millis| alignment(Some(window.target.end + Span::from_millis(millis)), &window);
            prop_assert!(late(near) <= late(near + more));
        }
    }
}
