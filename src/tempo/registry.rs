//! The registry of named windows: data, with the usual ones as defaults.
//!
//! Weekdays, and a weekday with a time of day, are grammar: they need no entry, and a weekday with a time of day goes by the
//! entry of that time of day. An entry for the very word goes first.

use std::collections::BTreeMap;

use super::day::{ClockTime, TimeOfDay, Weekday};
use super::settings::{NamedWindow, SettingsError};
use super::token::{Token, TokenError, bare, grammar_words};
use super::word::{excerpt, nearest};
use crate::kernel::Name;

/// A window in local time: on a day, or on each. Where `end` is not behind `start`, it ends on the next day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DayWindow {
    /// The weekday on which it starts; each day without one.
    pub day: Option<Weekday>,
    /// Its start.
    pub start: ClockTime,
    /// Its end.
    pub end: ClockTime,
}

impl DayWindow {
    /// Whether it ends on the day after it starts.
    pub fn is_over_midnight(&self) -> bool {
        self.end <= self.start
    }

    /// Reads a window of settings; `place` is where it stands.
    pub(super) fn read(window: &NamedWindow, place: &str) -> Result<DayWindow, SettingsError> {
        let error = |field: &str, reason: String, nearest: Option<String>| SettingsError {
            place: format!("{place}.{field}"),
            reason,
            nearest,
        };
        let day = match &*window.days {
            "daily" => None,
            name => Some(Weekday::named(name).ok_or_else(|| {
                let known = Weekday::ALL.iter().map(|day| day.as_str()).chain(["daily"]);
                error("days", format!("`{}` is not `daily` or a weekday", excerpt(name)), nearest(name, known))
            })?),
        };
        let clock = |field, text: &str| {
            let reason = format!("`{}` is not a time of the form `HH:MM`, from 00:00 to 24:00", excerpt(text));
            ClockTime::parse(text).ok_or_else(|| error(field, reason, None))
        };
        let (start, end) = (clock("start", &window.start)?, clock("end", &window.end)?);
        if start == ClockTime::END_OF_DAY {
            return Err(error("start", "a window cannot start at 24:00: that is 00:00 of the next day".into(), None));
        }
        Ok(DayWindow { day, start, end })
    }
}

/// Which names tokens may have, and the window of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    windows: BTreeMap<Name, DayWindow>,
}

/// The windows that there are without any settings: name, start and end, each day.
const USUAL: [(&str, (u16, u16), (u16, u16)); 6] = [
    ("EarlyMorning", (0, 0), (6, 0)),
    ("Morning", (6, 0), (12, 0)),
    ("Afternoon", (12, 0), (17, 0)),
    ("Evening", (17, 0), (24, 0)),
    ("MorningPlanning", (8, 0), (9, 0)),
    ("EveningReview", (18, 30), (19, 30)),
];

impl Default for Registry {
    fn default() -> Self {
        let clock = |(hour, minute)| ClockTime::new(hour, minute).expect("it is a time of day");
        let window = |(name, start, end): (&str, _, _)| {
            (name.into(), DayWindow { day: None, start: clock(start), end: clock(end) })
        };
        Registry { windows: USUAL.into_iter().map(window).collect() }
    }
}

impl Registry {
    /// The usual windows, and these besides, or over them.
    ///
    /// # Errors
    /// When a name is no word (letters, digits and `_`, a letter first) or has another meaning already, when a time of day
    /// is to be on some days only or a weekday's on another one, and when days or times of a window are none.
    pub fn with(entries: &BTreeMap<Name, NamedWindow>) -> Result<Registry, SettingsError> {
        let mut registry = Registry::default();
        for (name, entry) in entries {
            let place = format!("registry.{}", excerpt(name));
            let error = |reason: String| SettingsError { place: place.clone(), reason, nearest: None };
            let token = bare(name).ok_or_else(|| {
                error("a name is made of letters, digits and `_`, a letter first: tokens have no other".into())
            })?;
            let window = DayWindow::read(entry, &place)?;
            match token {
                Token::Named(_) => {}
                Token::TimeOfDay(_) if window.day.is_none() => {}
                Token::TimeOfDay(_) => return Err(error(format!("`{name}` is a time of day: its days are `daily`"))),
                Token::WeekdayTime(day, _) if window.day == Some(day) => {}
                Token::WeekdayTime(day, _) => {
                    return Err(error(format!("`{name}` names its day: its days are `{}`", day.as_str())));
                }
                _ => return Err(error(format!("`{name}` is a token already, and means something else"))),
            }
            registry.windows.insert(name.clone(), window);
        }
        Ok(registry)
    }

    /// Reads a token and holds it to the registry.
    ///
    /// # Errors
    /// As [`Token::parse`], and for a name that is not registered: it names the nearest that is.
    pub fn token(&self, text: &str) -> Result<Token, TokenError> {
        let error = |reason: String, word: &str| {
            let words = grammar_words();
            let known = self.names().chain(words.iter().map(String::as_str));
            TokenError { text: text.to_owned(), reason, nearest: nearest(word, known) }
        };
        match Token::parse(text) {
            Ok(Token::Named(name)) if !self.windows.contains_key(&name) => {
                Err(error(format!("`{}` is not registered", excerpt(&name)), &name))
            }
            Ok(token) => Ok(token),
            // Brackets forgotten, or a word of no form: what was meant may still be plain.
            Err(refused) if refused.nearest.is_none() => {
                let word = text.trim_start_matches('<').trim_end_matches('>').trim_start_matches("tempo:");
                Err(error(refused.reason, word))
            }
            Err(refused) => Err(refused),
        }
    }

    /// The registered names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.windows.keys().map(|name| &**name)
    }

    /// The local window of a token; none for one that has none, or a name that is not registered.
    pub fn window(&self, token: &Token) -> Option<DayWindow> {
        let entry = |name: &str| self.windows.get(name).copied();
        match token {
            Token::Named(name) => entry(name),
            Token::TimeOfDay(time) => entry(time.as_str()),
            Token::WeekdayTime(day, time) => entry(&token.word())
                .or_else(|| entry(time.as_str()).map(|window| DayWindow { day: Some(*day), ..window })),
            Token::Weekday(day) => {
                Some(DayWindow { day: Some(*day), start: ClockTime::MIDNIGHT, end: ClockTime::END_OF_DAY })
            }
            Token::Window { start, end } => Some(DayWindow { day: None, start: *start, end: *end }),
            _ => None,
        }
    }
}

const _: () = assert!(TimeOfDay::ALL.len() + 2 == USUAL.len(), "each time of day has its window");
