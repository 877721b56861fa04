//! Tempo tokens: `<tempo:…>`, a short text that says when, how long or how urgent.
//!
//! [`Token::parse`] knows the grammar alone; which names there are is the [`super::Registry`]'s to say. A token is written
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
use super::instant::{Moment, moment};
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
    /// `after-<task>`: not before the task, or plan, of this name has ended.
    After(Name),
    /// `before-<task>`: that one is not dispatched before this plan has ended.
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

/// What a token may begin with, and how it goes on.
const PREFIXES: [(&str, &str); 11] = [
    ("duration-", "whole minutes, as `duration-45min`"),
    ("buffer-", "whole minutes, as `buffer-10min`"),
    ("deadline-", "an instant in UTC, as `deadline-2025-05-11T20:00Z`"),
    ("recurring-", "`daily`, `weekly` or `monthly`"),
    ("window-", "two local times, as `window-09:00-11:30`"),
    ("in-", "a whole number of `min`, `h` or `d`, as `in-2h`"),
    ("past-", "a whole number of `min`, `h` or `d`, as `past-1d`"),
    ("after-", "the name of a task or plan, without white space"),
    ("before-", "the name of a task or plan, without white space"),
    ("location-", "a name, without white space"),
    ("phase-", "a part of a whole, as `phase-2-of-4`"),
];

/// Words that are tokens by themselves, whatever a registry has.
const WORDS: [(&str, Token); 4] = [
    ("urgent", Token::Urgent),
    ("low-priority", Token::LowPriority),
    ("preferred", Token::Preferred),
    ("flexible", Token::Flexible),
];

impl Token {
    /// Reads a token by its grammar. Any word of letters, digits and `_` is a [`Token::Named`];
    /// [`super::Registry::token`] refuses those that nobody has registered.
    ///
    /// ```
    /// use chronodrome::tempo::Token;
    /// let token = Token::parse("<tempo:window-22:00-02:00>").unwrap();
    /// assert_eq!(token.to_string(), "<tempo:window-22:00-02:00>");
    /// assert!(Token::parse("<tempo:duration-7.5min>").is_err());
    /// ```
    ///
    /// # Errors
    /// When brackets or prefix are missing, or the word is of no category.
    pub fn parse(text: &str) -> Result<Token, TokenError> {
        let error = |reason: &str| TokenError { text: text.to_owned(), reason: reason.to_owned(), nearest: None };
        let bracketed = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let word = bracketed.and_then(|inner| inner.strip_prefix("tempo:"));
        let word = word.ok_or_else(|| error("a token stands in brackets, as `<tempo:Evening>`"))?;
        if word.is_empty() {
            return Err(error("nothing stands behind `tempo:`"));
        }
        if let Some((prefix, form)) = PREFIXES.iter().find(|(prefix, _)| word.starts_with(prefix)) {
            return prefixed(prefix, &word[prefix.len()..])
                .ok_or_else(|| error(&format!("behind `{prefix}` must stand {form}")));
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let reason = "a datetime is ISO 8601 in UTC, to the minute or second, as `2025-05-11T20:00Z`";
            return moment(word).map(Token::At).ok_or_else(|| error(reason));
        }
        bare(word).ok_or_else(|| {
            let known = WORDS.iter().map(|(word, _)| *word).chain(PREFIXES.iter().map(|(prefix, _)| *prefix));
            let mut error = error("this is no token of any category");
            error.nearest = super::word::nearest(word, known.filter(|word| !word.ends_with('-')));
            error
        })
    }

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

/// The words that are tokens whatever a registry has, without those that need more: `urgent`, weekdays, and so on.
pub(super) fn grammar_words() -> Vec<String> {
    let mut words: Vec<String> = WORDS.iter().map(|(word, _)| (*word).to_owned()).collect();
    words.extend(Every::ALL.map(|every| Token::Recurring(every).word()));
    for day in Weekday::ALL {
        words.push(day.as_str().to_owned());
        words.extend(TimeOfDay::ALL.map(|time| Token::WeekdayTime(day, time).word()));
    }
    words
}

/// A token that is one word: of the grammar, or of a registry.
pub(super) fn bare(word: &str) -> Option<Token> {
    if let Some((_, token)) = WORDS.iter().find(|(known, _)| *known == word) {
        return Some(token.clone());
    }
    if let Some(time) = TimeOfDay::named(word) {
        return Some(Token::TimeOfDay(time));
    }
    for day in Weekday::ALL {
        match word.strip_prefix(day.as_str()) {
            Some("") => return Some(Token::Weekday(day)),
            Some(rest) => {
                if let Some(time) = TimeOfDay::named(rest) {
                    return Some(Token::WeekdayTime(day, time));
                }
            }
            None => {}
        }
    }
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.bytes().all(is_word);
    is_name.then(|| Token::Named(word.into()))
}

/// A token of a prefix and what stands behind it.
fn prefixed(prefix: &str, rest: &str) -> Option<Token> {
    Some(match prefix {
        "duration-" => Token::Duration(number(rest.strip_suffix("min")?)?),
        "buffer-" => Token::Buffer(number(rest.strip_suffix("min")?)?),
        "deadline-" => Token::Deadline(moment(rest)?),
        "recurring-" => Token::Recurring(Every::ALL.into_iter().find(|every| every.as_str() == rest)?),
        "window-" => {
            let (start, end) = rest.split_once('-')?;
            let start = ClockTime::parse(start).filter(|start| *start < ClockTime::END_OF_DAY)?;
            Token::Window { start, end: ClockTime::parse(end)? }
        }
        "in-" => Token::In(amount(rest)?),
        "past-" => Token::Past(amount(rest)?),
        "after-" => Token::After(task(rest)?),
        "before-" => Token::Before(task(rest)?),
        "location-" => Token::Location(task(rest)?),
        "phase-" => {
            let (part, of) = rest.split_once("-of-")?;
            let (part, of) = (number(part)?, number(of)?);
            if part > of {
                return None;
            }
            Token::Phase { part, of }
        }
        _ => return None,
    })
}

/// A whole number from 1 to 99 999, without zeros in front.
fn number(text: &str) -> Option<u32> {
    let is_number = !text.starts_with('0') && text.len() <= 5 && text.bytes().all(|digit| digit.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

fn amount(text: &str) -> Option<Amount> {
    let units = [("min", Unit::Minute), ("h", Unit::Hour), ("d", Unit::Day)];
    let (suffix, unit) = units.into_iter().find(|(suffix, _)| text.ends_with(suffix))?;
    Some(Amount { count: number(&text[..text.len() - suffix.len()])?, unit })
}

/// The name of a task or place: anything that is visible but brackets.
fn task(text: &str) -> Option<Name> {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '<' && c != '>';
    (!text.is_empty() && text.chars().all(is_plain)).then(|| text.into())
}
