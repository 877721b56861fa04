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
        Some(Interval { start, end: self.zone.edge(last, window.end, Edge::End).max(start) })
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
