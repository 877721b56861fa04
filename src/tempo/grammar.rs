//! The grammar of tempo tokens: from a text to a [`Token`].

use super::day::{ClockTime, TimeOfDay, Weekday};
use super::instant::moment;
use super::plan::Every;
use super::token::{Amount, Token, TokenError, Unit};
use super::word::nearest;
use crate::kernel::{Name, Timestamp};

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
        let word = word.ok_or_else(|| {
            let bare = text.trim_start_matches('<').trim_end_matches('>').trim_start_matches("tempo:");
            TokenError { nearest: valid(bare), ..error("a token stands in brackets, as `<tempo:Evening>`") }
        })?;
        if word.is_empty() {
            return Err(error("nothing stands behind `tempo:`"));
        }
        if let Some((prefix, form)) = PREFIXES.iter().find(|(prefix, _)| word.starts_with(prefix)) {
            return prefixed(prefix, &word[prefix.len()..])
                .ok_or_else(|| error(&format!("behind `{prefix}` must stand {form}")));
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let reason = "a datetime is ISO 8601 in UTC, to the minute or second, as `2025-05-11T20:00Z`";
            return moment(word)
                .map(Token::At)
                .ok_or_else(|| TokenError { nearest: nearest_moment(word), ..error(reason) });
        }
        let reason = "this is of no category: no datetime, no day or time of day, no name, and nothing like `in-2h`";
        bare(word).ok_or_else(|| TokenError { nearest: nearest_prefixed(word), ..error(reason) })
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

/// The word, if it is a token that needs no registry.
fn valid(word: &str) -> Option<String> {
    let token = Token::parse(&format!("<tempo:{word}>")).ok()?;
    (!matches!(token, Token::Named(_))).then(|| word.to_owned())
}

/// The word with the prefix that it may have been meant to have: `durration-45min`.
fn nearest_prefixed(word: &str) -> Option<String> {
    let (head, rest) = word.split_once('-')?;
    let known = PREFIXES.iter().map(|(prefix, _)| prefix.trim_end_matches('-'));
    valid(&format!("{}-{rest}", nearest(head, known)?))
}

/// The same instant in UTC, of one that is spelt with an offset.
fn nearest_moment(word: &str) -> Option<String> {
    let at = if word.len() <= 64 { word.parse::<Timestamp>().ok()? } else { return None };
    moment(&at.to_string()).map(|moment| moment.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_category_is_read_as_what_it_is() {
        let at = moment("2026-03-17T14:00Z").unwrap();
        let clock = |text| ClockTime::parse(text).unwrap();
        let cases = [
            ("2026-03-17T14:00Z", Token::At(at)),
            ("Tuesday", Token::Weekday(Weekday::Tuesday)),
            ("EarlyMorning", Token::TimeOfDay(TimeOfDay::EarlyMorning)),
            ("SundayEarlyMorning", Token::WeekdayTime(Weekday::Sunday, TimeOfDay::EarlyMorning)),
            ("FridayEvening", Token::WeekdayTime(Weekday::Friday, TimeOfDay::Evening)),
            ("FridayReview", Token::Named("FridayReview".into())),
            ("deep_work2", Token::Named("deep_work2".into())),
            ("window-14:00-16:00", Token::Window { start: clock("14:00"), end: clock("16:00") }),
            ("window-22:00-02:00", Token::Window { start: clock("22:00"), end: clock("02:00") }),
            ("window-18:00-24:00", Token::Window { start: clock("18:00"), end: ClockTime::END_OF_DAY }),
            ("duration-45min", Token::Duration(45)),
            ("buffer-5min", Token::Buffer(5)),
            ("recurring-monthly", Token::Recurring(Every::Monthly)),
            ("urgent", Token::Urgent),
            ("low-priority", Token::LowPriority),
            ("location-Lab4", Token::Location("Lab4".into())),
            ("deadline-2026-03-17T14:00Z", Token::Deadline(at)),
            ("in-2h", Token::In(Amount { count: 2, unit: Unit::Hour })),
            ("in-30min", Token::In(Amount { count: 30, unit: Unit::Minute })),
            ("past-1d", Token::Past(Amount { count: 1, unit: Unit::Day })),
            ("after-lab-2026-03-17", Token::After("lab-2026-03-17".into())),
            ("before-plan/1", Token::Before("plan/1".into())),
            ("phase-2-of-4", Token::Phase { part: 2, of: 4 }),
            ("preferred", Token::Preferred),
            ("flexible", Token::Flexible),
        ];
        for (word, token) in cases {
            let text = format!("<tempo:{word}>");
            assert_eq!(Token::parse(&text).as_ref(), Ok(&token), "{text}");
            assert_eq!(token.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_token_is_refused_with_what_was_meant() {
        let cases = [
            ("tempo:Monday", Some("Monday")),
            ("in-2h", Some("in-2h")),
            ("<Evening>", Some("Evening")),
            ("<tempo:>", None),
            ("", None),
            ("<tempo: Evening>", None),
            ("<tempo:Evening >", None),
            (" <tempo:Evening>", None),
            ("<TEMPO:Evening>", None),
            ("<tempo:duration-7.5min>", None),
            ("<tempo:duration-07min>", None),
            ("<tempo:duration-0min>", None),
            ("<tempo:duration-45>", None),
            ("<tempo:duration--5min>", None),
            ("<tempo:duration-100000min>", None),
            ("<tempo:durration-45min>", Some("duration-45min")),
            ("<tempo:Window-14:00-16:00>", Some("window-14:00-16:00")),
            ("<tempo:2026-03-17 14:00>", None),
            ("<tempo:2026-03-17T14:00>", None),
            ("<tempo:2026-03-17T14:00+01:00>", Some("2026-03-17T13:00:00Z")),
            ("<tempo:2026-02-30T14:00Z>", None),
            ("<tempo:2026-03-17T14:00:00.5Z>", None),
            ("<tempo:2026-03-17>", None),
            ("<tempo:window-24:00-02:00>", None),
            ("<tempo:window-9:00-10:00>", None),
            ("<tempo:window-09:00>", None),
            ("<tempo:window-09:00-10:60>", None),
            ("<tempo:window-09:00-10:00-11:00>", None),
            ("<tempo:deadline-tomorrow>", None),
            ("<tempo:recurring-yearly>", None),
            ("<tempo:in-2hours>", None),
            ("<tempo:in-h>", None),
            ("<tempo:in-2w>", None),
            ("<tempo:after->", None),
            ("<tempo:after-the report>", None),
            ("<tempo:after-a>b>", None),
            ("<tempo:phase-5-of-4>", None),
            ("<tempo:phase-0-of-4>", None),
            ("<tempo:Noon@Dawn>", None),
            ("<tempo:deep-work>", None),
            ("<tempo:_x>", None),
            ("<tempo:Früh>", None),
        ];
        for (text, nearest) in cases {
            let error = Token::parse(text).expect_err(text);
            assert_eq!(error.nearest.as_deref(), nearest, "{text}: {error}");
            assert_eq!(error.text, text);
            assert!(error.reason.len() > 10, "{error}");
        }
    }

    /// Any token that the grammar has.
    fn tokens() -> impl Strategy<Value = Token> {
        let clock = |most: u16| {
            (0..most).prop_map(|minute| ClockTime::new(minute / 60, minute % 60).expect("it is within the day"))
        };
        // From the year 0 to 9999, to the minute or to the second.
        let moments = || {
            let seconds = (-62_167_219_200_i64..253_402_207_200, any::<bool>());
            seconds.prop_map(|(second, has_seconds)| {
                let second = if has_seconds { second } else { second.div_euclid(60) * 60 };
                crate::tempo::Moment { at: Timestamp::from_micros(second * 1_000_000), has_seconds }
            })
        };
        let amounts = || {
            let units = prop::sample::select(vec![Unit::Minute, Unit::Hour, Unit::Day]);
            (1..100_000_u32, units).prop_map(|(count, unit)| Amount { count, unit })
        };
        let names = || "[!-;=?-~]{1,12}".prop_map(Name::from);
        let days = || prop::sample::select(Weekday::ALL.to_vec());
        let times = || prop::sample::select(TimeOfDay::ALL.to_vec());
        prop_oneof![
            moments().prop_map(Token::At),
            moments().prop_map(Token::Deadline),
            days().prop_map(Token::Weekday),
            times().prop_map(Token::TimeOfDay),
            (days(), times()).prop_map(|(day, time)| Token::WeekdayTime(day, time)),
            "X[A-Za-z0-9_]{0,9}".prop_map(|name| Token::Named(name.into())),
            (clock(24 * 60), clock(24 * 60 + 1)).prop_map(|(start, end)| Token::Window { start, end }),
            amounts().prop_map(Token::In),
            amounts().prop_map(Token::Past),
            (1..100_000_u32).prop_map(Token::Duration),
            (1..100_000_u32).prop_map(Token::Buffer),
            prop::sample::select(Every::ALL.to_vec()).prop_map(Token::Recurring),
            names().prop_map(Token::After),
            names().prop_map(Token::Before),
            names().prop_map(Token::Location),
            (1..500_u32, 0..500_u32).prop_map(|(part, more)| Token::Phase { part, of: part + more }),
            prop::sample::select(WORDS.map(|(_, token)| token).to_vec()),
        ]
    }

    proptest! {
        #[test]
        fn a_token_is_read_as_it_is_written(token in tokens()) {
            prop_assert_eq!(Token::parse(&token.to_string()), Ok(token));
        }

        #[test]
        fn what_is_read_is_written_as_it_was(text in "<tempo:(in|past|window|duration|phase|deadline|2026|[A-Z])?[-:a-zA-Z0-9]{0,14}>") {
            if let Ok(token) = Token::parse(&text) {
                prop_assert_eq!(token.to_string(), text);
            }
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in any::<String>()) {
            let _ = Token::parse(&text);
            let _ = Token::parse(&format!("<tempo:{text}>"));
        }
    }
}
