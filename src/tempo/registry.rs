//! The registry of named windows: data, with the usual ones as defaults.
//!
//! Weekdays, and a weekday with a time of day, are grammar: they need no entry, and a weekday with a time of day goes by the
//! entry of that time of day. An entry for the very word goes first.

use std::collections::BTreeMap;

use super::day::{ClockTime, TimeOfDay, Weekday};
use super::grammar::{bare, grammar_words};
use super::settings::{NamedWindow, SettingsError};
use super::token::{Token, TokenError};
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
const USUAL: [(&str, &str, &str); 6] = [
    ("EarlyMorning", "00:00", "06:00"),
    ("Morning", "06:00", "12:00"),
    ("Afternoon", "12:00", "17:00"),
    ("Evening", "17:00", "24:00"),
    ("MorningPlanning", "08:00", "09:00"),
    ("EveningReview", "18:30", "19:30"),
];

impl Default for Registry {
    fn default() -> Self {
        let clock = |text| ClockTime::parse(text).expect("it is a time of day");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(days: &str, start: &str, end: &str) -> NamedWindow {
        NamedWindow { days: days.into(), start: start.into(), end: end.into() }
    }

    fn with(name: &str, window: NamedWindow) -> Result<Registry, SettingsError> {
        Registry::with(&BTreeMap::from([(name.into(), window)]))
    }

    /// The window of a token, as `day start end`.
    fn window(registry: &Registry, word: &str) -> String {
        let token = registry.token(&format!("<tempo:{word}>")).unwrap();
        let window = registry.window(&token).unwrap();
        let day = window.day.map_or("daily", Weekday::as_str);
        format!("{day} {} {}", window.start, window.end)
    }

    #[test]
    fn the_usual_windows_are_there() {
        let usual = Registry::default();
        let cases = [
            ("EarlyMorning", "daily 00:00 06:00"),
            ("Morning", "daily 06:00 12:00"),
            ("Afternoon", "daily 12:00 17:00"),
            ("Evening", "daily 17:00 24:00"),
            ("MorningPlanning", "daily 08:00 09:00"),
            ("EveningReview", "daily 18:30 19:30"),
            ("Sunday", "Sunday 00:00 24:00"),
            ("SundayAfternoon", "Sunday 12:00 17:00"),
            ("window-22:00-02:00", "daily 22:00 02:00"),
        ];
        for (word, spelt) in cases {
            assert_eq!(window(&usual, word), spelt);
        }
        for word in ["in-2h", "urgent", "2026-03-17T14:00Z", "deadline-2026-03-17T14:00Z"] {
            assert_eq!(usual.window(&usual.token(&format!("<tempo:{word}>")).unwrap()), None, "{word}");
        }
    }

    #[test]
    fn settings_add_windows_and_move_the_usual_ones_also_for_weekdays() {
        let entries = [
            ("Evening", entry("daily", "19:00", "23:00")),
            ("MondayEvening", entry("Monday", "20:00", "21:00")),
            ("Retro", entry("Friday", "22:00", "00:30")),
        ];
        let entries = entries.into_iter().map(|(name, window)| (name.into(), window)).collect();
        let registry = Registry::with(&entries).unwrap();
        let cases = [
            ("Evening", "daily 19:00 23:00"),
            ("MondayEvening", "Monday 20:00 21:00"),
            ("TuesdayEvening", "Tuesday 19:00 23:00"),
            ("Retro", "Friday 22:00 00:30"),
            ("Morning", "daily 06:00 12:00"),
        ];
        for (word, spelt) in cases {
            assert_eq!(window(&registry, word), spelt);
        }
    }

    #[test]
    fn an_unregistered_word_is_refused_with_the_nearest() {
        let registry = with("DeepWork", entry("daily", "09:00", "11:00")).unwrap();
        let cases = [
            ("<tempo:EveningReveiw>", Some("EveningReview")),
            ("<tempo:deepwork>", Some("DeepWork")),
            ("<tempo:monday>", Some("Monday")),
            ("<tempo:FridayEvning>", Some("FridayEvening")),
            ("<tempo:Urgent>", Some("urgent")),
            ("<tempo:low_priority>", Some("low-priority")),
            ("<tempo:recurring-weekley>", Some("recurring-weekly")),
            ("tempo:DeepWork", Some("DeepWork")),
            ("<tempo:Noonish>", None),
            ("<tempo:duration-7.5min>", None),
        ];
        for (text, nearest) in cases {
            let error = registry.token(text).expect_err(text);
            assert_eq!(error.nearest.as_deref(), nearest, "{error}");
        }
        assert!(registry.token("<tempo:DeepWork>").is_ok());
        assert!(Registry::default().token("<tempo:DeepWork>").is_err());
    }

    #[test]
    fn entries_that_say_nothing_or_something_else_are_refused_with_their_place() {
        let cases = [
            ("deep-work", entry("daily", "09:00", "10:00"), "registry.deep-work"),
            ("", entry("daily", "09:00", "10:00"), "registry."),
            ("urgent", entry("daily", "09:00", "10:00"), "registry.urgent"),
            ("Monday", entry("Monday", "09:00", "10:00"), "registry.Monday"),
            ("Morning", entry("Monday", "09:00", "10:00"), "registry.Morning"),
            ("MondayMorning", entry("daily", "09:00", "10:00"), "registry.MondayMorning"),
            ("MondayMorning", entry("Friday", "09:00", "10:00"), "registry.MondayMorning"),
            ("X", entry("weekdays", "09:00", "10:00"), "registry.X.days"),
            ("X", entry("daily", "9:00", "10:00"), "registry.X.start"),
            ("X", entry("daily", "24:00", "10:00"), "registry.X.start"),
            ("X", entry("daily", "09:00", "25:00"), "registry.X.end"),
        ];
        for (name, window, place) in cases {
            assert_eq!(with(name, window).expect_err(name).place, place);
        }
        let error = with("X", entry("monday", "09:00", "10:00")).unwrap_err();
        assert_eq!(error.to_string(), "registry.X.days: `monday` is not `daily` or a weekday; did you mean `Monday`?");
    }
}
