//! Tempo tokens: `<tempo:…>`, a short text that says when, how long or how urgent.
//!
//! [`Token::parse`], in `grammar.rs`, knows the grammar alone; which names there are is the [`super::Registry`]'s to say. A token is written
//! as it was read.
//!
//! | category | as | what it does |
//! |---|---|---|
//! | datetime | `2025-05-11T20:00Z` | is a point in time |
//! | weekday, time of day, both | `Friday`, `Evening`, `FridayEvening` | is a window |
//! | named | `EveningReview` | is the window that the registry has under this name |
//! | window | `window-22:00-02:00` | is a window each day, over midnight where it ends before it starts |
//! | relative | `in-2h`, `in-30min`, `in-1d` | is due so long after the plan is read |
//! | deadline | `deadline-2025-05-12T09:00Z` | gives the plan its deadline |
//! | recurrence | `recurring-daily`, `-weekly`, `-monthly` | makes the plan come back |
//! | urgency | `urgent`, `low-priority` | gives the plan priority 10, or −10 |
//! | order | `after-<task>`, `before-<task>` | holds the plan back |
//! | kept as they are | `duration-45min`, `past-1d`, `location-<name>`, `buffer-5min`, `phase-2-of-4`, `preferred`, `flexible` | nothing |

use std::fmt;

use super::day::{ClockTime, TimeOfDay, Weekday};
use super::instant::Moment;
use super::plan::Every;
use super::word::excerpt;
use crate::kernel::{Name, Span, Timestamp};

/// The priority that `urgent` gives a plan which states none: above the usual 0, with room on both sides.
pub const URGENT: i64 = 10;
/// The priority that `low-priority` gives a plan which states none.
pub const LOW: i64 = -10;

/// A tempo token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// `2025-05-11T20:00Z`: a point in time.
    At(Moment),
    /// `Friday`: the whole local day.
    Weekday(Weekday),
    /// `Evening`: each day.
    TimeOfDay(TimeOfDay),
    /// `FridayEvening`: each week.
    WeekdayTime(Weekday, TimeOfDay),
    /// `EveningReview`: a named window. [`Token::parse`] takes any word for one.
    Named(Name),
    /// `window-HH:MM-HH:MM`: each day; over midnight, where its end is not behind its start.
    Window {
        /// Its start.
        start: ClockTime,
        /// Its end.
        end: ClockTime,
    },
    /// `in-2h`: so long after the instant from which the plan is looked at first.
    In(Amount),
    /// `past-1d`: looks back; kept as it is.
    Past(Amount),
    /// `duration-45min`: how many minutes it should take; kept as it is.
    Duration(u32),
    /// `deadline-2025-05-12T09:00Z`.
    Deadline(Moment),
    /// `recurring-weekly`.
    Recurring(Every),
    /// `urgent`.
    Urgent,
    /// `low-priority`.
    LowPriority,
    /// `after-<task>`: not before an occurrence of the task, or plan, of this name was completed; skipped where none will be.
    After(Name),
    /// `before-<task>`: skipped once the task, or plan, of this name has begun. It holds that one back no moment.
    Before(Name),
    /// `location-<name>`: where; kept as it is.
    Location(Name),
    /// `buffer-5min`: how many minutes are to be left free; kept as it is.
    Buffer(u32),
    /// `phase-2-of-4`: which part of a whole; kept as it is.
    Phase {
        /// Which, from 1.
        part: u32,
        /// Of how many.
        of: u32,
    },
    /// `preferred`: kept as it is.
    Preferred,
    /// `flexible`: kept as it is.
    Flexible,
}

/// A whole number of a unit of time: `30min`, `2h`, `1d`. A day is 24 hours here, whatever clocks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Amount {
    /// How many, from 1 to 99 999.
    pub count: u32,
    /// Of what.
    pub unit: Unit,
}

/// A unit of time in a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// `min`
    Minute,
    /// `h`
    Hour,
    /// `d`
    Day,
}

/// A text that is no token, or names what no registry has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TokenError {
    /// The offending text.
    pub text: String,
    /// What is wrong with it, in words.
    pub reason: String,
    /// The valid token word that is nearest, without its brackets.
    pub nearest: Option<String>,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", excerpt(&self.text), self.reason)?;
        match &self.nearest {
            Some(word) => write!(f, "; did you mean `<tempo:{word}>`?"),
            None => Ok(()),
        }
    }
}

impl Token {
    /// The word between the brackets, without `tempo:`.
    pub fn word(&self) -> String {
        match self {
            Token::At(moment) => moment.to_string(),
            Token::Weekday(day) => day.as_str().to_owned(),
            Token::TimeOfDay(time) => time.as_str().to_owned(),
            Token::WeekdayTime(day, time) => format!("{}{}", day.as_str(), time.as_str()),
            Token::Named(name) => name.to_string(),
            Token::Window { start, end } => format!("window-{start}-{end}"),
            Token::In(amount) => format!("in-{amount}"),
            Token::Past(amount) => format!("past-{amount}"),
            Token::Duration(minutes) => format!("duration-{minutes}min"),
            Token::Deadline(moment) => format!("deadline-{moment}"),
            Token::Recurring(every) => format!("recurring-{}", every.as_str()),
            Token::Urgent => "urgent".to_owned(),
            Token::LowPriority => "low-priority".to_owned(),
            Token::After(task) => format!("after-{task}"),
            Token::Before(task) => format!("before-{task}"),
            Token::Location(name) => format!("location-{name}"),
            Token::Buffer(minutes) => format!("buffer-{minutes}min"),
            Token::Phase { part, of } => format!("phase-{part}-of-{of}"),
            Token::Preferred => "preferred".to_owned(),
            Token::Flexible => "flexible".to_owned(),
        }
    }

    /// The task, or plan, of `after-`.
    pub fn after(&self) -> Option<&str> {
        match self {
            Token::After(task) => Some(task),
            _ => None,
        }
    }

    /// The task, or plan, of `before-`.
    pub fn before(&self) -> Option<&str> {
        match self {
            Token::Before(task) => Some(task),
            _ => None,
        }
    }

    /// The instant of `deadline-`.
    pub fn deadline(&self) -> Option<Timestamp> {
        match self {
            Token::Deadline(moment) => Some(moment.at),
            _ => None,
        }
    }

    /// How often the plan comes back, by `recurring-`.
    pub fn repeat(&self) -> Option<Every> {
        match self {
            Token::Recurring(every) => Some(*every),
            _ => None,
        }
    }

    /// The priority of a plan that states none: [`URGENT`] or [`LOW`], for a token that speaks of it.
    pub fn priority(&self) -> Option<i64> {
        match self {
            Token::Urgent => Some(URGENT),
            Token::LowPriority => Some(LOW),
            _ => None,
        }
    }

    /// Whether alignment is measured against a window of this token: a spelt instant, or one that comes back by day or
    /// week. `in-2h` has none: it makes the due time itself.
    pub fn has_window(&self) -> bool {
        matches!(
            self,
            Token::At(_)
                | Token::Weekday(_)
                | Token::TimeOfDay(_)
                | Token::WeekdayTime(..)
                | Token::Named(_)
                | Token::Window { .. }
        )
    }

    /// Whether a plan with this token needs no `scheduled_for`: it has a window, or is `in-…`.
    pub fn has_time(&self) -> bool {
        self.has_window() || matches!(self, Token::In(_))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<tempo:{}>", self.word())
    }
}

impl Amount {
    /// The length of it.
    pub fn span(self) -> Span {
        let unit = match self.unit {
            Unit::Minute => Span::from_secs(60),
            Unit::Hour => Span::from_secs(3_600),
            Unit::Day => Span::from_secs(86_400),
        };
        unit.times(i64::from(self.count))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Minute => "min",
            Unit::Hour => "h",
            Unit::Day => "d",
        };
        write!(f, "{}{unit}", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_gives_a_plan_what_it_speaks_of_and_nothing_else() {
        let at: Timestamp = "2026-03-17T16:00:00Z".parse().unwrap();
        let (no, yes) = (None, Some);
        // word, after, before, deadline, repeat, priority
        let cases = [
            ("urgent", no, no, None, None, Some(10)),
            ("low-priority", no, no, None, None, Some(-10)),
            ("after-report", yes("report"), no, None, None, None),
            ("before-lab-2026-03-17", no, yes("lab-2026-03-17"), None, None, None),
            ("deadline-2026-03-17T16:00Z", no, no, Some(at), None, None),
            ("recurring-weekly", no, no, None, Some(Every::Weekly), None),
            ("FridayEvening", no, no, None, None, None),
            ("duration-45min", no, no, None, None, None),
            ("past-1d", no, no, None, None, None),
        ];
        for (word, after, before, deadline, repeat, priority) in cases {
            let token = Token::parse(&format!("<tempo:{word}>")).unwrap();
            let given = (token.after(), token.before(), token.deadline(), token.repeat(), token.priority());
            assert_eq!(given, (after, before, deadline, repeat, priority), "{word}");
        }
    }

    #[test]
    fn some_tokens_have_a_window_and_some_only_a_time() {
        let cases = [
            ("2026-03-17T14:00Z", true, true),
            ("Tuesday", true, true),
            ("Afternoon", true, true),
            ("TuesdayAfternoon", true, true),
            ("EveningReview", true, true),
            ("window-14:00-16:00", true, true),
            ("in-2h", false, true),
            ("past-2h", false, false),
            ("deadline-2026-03-17T14:00Z", false, false),
            ("recurring-daily", false, false),
            ("after-x", false, false),
            ("urgent", false, false),
            ("duration-5min", false, false),
        ];
        for (word, has_window, has_time) in cases {
            let token = Token::parse(&format!("<tempo:{word}>")).unwrap();
            assert_eq!((token.has_window(), token.has_time()), (has_window, has_time), "{word}");
        }
    }

    #[test]
    fn an_amount_is_as_long_as_it_says() {
        let cases = [("in-30min", 1_800), ("in-2h", 7_200), ("in-1d", 86_400), ("in-99999d", 8_639_913_600)];
        for (word, seconds) in cases {
            let Ok(Token::In(amount)) = Token::parse(&format!("<tempo:{word}>")) else { panic!("{word}") };
            assert_eq!(amount.span(), Span::from_secs(seconds), "{word}");
        }
    }
}
