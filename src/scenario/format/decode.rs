//! Typed values out of a JSON document, each with the way to it, so that a mistake has a place.

use std::fmt::Display;
use std::str::FromStr;

use serde_json::{Map, Value};

use super::error::Instead;
use super::locate::{Path, Spot};
use crate::kernel::{Name, Span, Timestamp};

pub(super) use crate::tempo::word::{excerpt, nearest};

/// What is wrong, before it has a file, a line and a column.
#[derive(Clone, Debug)]
pub struct Mistake {
    /// The way to it.
    pub path: Path,
    /// What of the place is meant.
    pub spot: Spot,
    /// What is wrong, in words.
    pub reason: String,
    /// The offending text.
    pub text: Option<String>,
    /// What may stand in its place.
    pub instead: Instead,
}

/// A decoded value, or what is wrong.
pub type Decoded<T> = Result<T, Box<Mistake>>;

/// A value and the way to it.
#[derive(Clone, Debug)]
pub struct Doc<'a> {
    /// The value.
    pub value: &'a Value,
    /// The way to it.
    pub path: Path,
}

/// An object whose members are all known.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    doc: Doc<'a>,
    members: &'a Map<String, Value>,
}

/// Text of a file as it may stand in a message: one line, and nothing that a terminal takes for a command.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// So many names at most are told where none is near.
const KNOWN_MOST: usize = 12;

impl Mistake {
    /// With what may stand in the place of `name`: the nearest of `names`; or all of them, where none is near and they are few.
    pub fn among<'n>(mut self: Box<Self>, name: &str, names: impl IntoIterator<Item = &'n str>) -> Box<Self> {
        let names: Vec<&str> = names.into_iter().collect();
        self.instead = match nearest(name, names.iter().copied()) {
            Some(near) => Instead::Nearest(near),
            None if names.is_empty() || names.len() > KNOWN_MOST => Instead::Nothing,
            None => Instead::OneOf(names.into_iter().map(printable).collect()),
        };
        self
    }

    /// With the place where all the names stand, where none was near and they were too many to be told.
    pub fn or_see(mut self: Box<Self>, place: &str) -> Box<Self> {
        if self.instead == Instead::Nothing {
            self.reason = format!("{}; {place} names them all", self.reason);
        }
        self
    }
}

/// Names in a message, one after the other.
pub fn listed<N: AsRef<str>>(names: &[N]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

impl<'a> Doc<'a> {
    /// A mistake about this value.
    pub fn mistake(&self, reason: impl Into<String>) -> Box<Mistake> {
        let text = self.value.as_str().map(excerpt);
        let reason = printable(&reason.into());
        Box::new(Mistake { path: self.path.clone(), spot: Spot::Value, reason, text, instead: Instead::Nothing })
    }

    /// A mistake about the name that this value is: `unknown <what> <name>`, with what it may be of `names`.
    pub fn unknown<'n>(&self, what: &str, names: impl IntoIterator<Item = &'n str>) -> Box<Mistake> {
        let name = self.value.as_str().unwrap_or_default();
        self.mistake(format!("unknown {what} `{}`", excerpt(name))).among(name, names)
    }

    /// A mistake about the key under which this value stands.
    pub fn key_mistake(&self, reason: impl Into<String>, key: &str) -> Box<Mistake> {
        let mistake = self.mistake(reason);
        Box::new(Mistake { spot: Spot::Key, text: Some(excerpt(key)), ..*mistake })
    }

    /// What this value is, in words.
    fn sort(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    /// A mistake about a value that is of another sort than `what`; a text is told with its quotes.
    pub fn wanted(&self, what: &str) -> Box<Mistake> {
        match self.value {
            Value::String(text) => self.mistake(format!("`\"{}\"` is not {what}", excerpt(text))),
            Value::Number(number) => self.mistake(format!("{number} is not {what}")),
            _ => self.mistake(format!("this must be {what}, not {}", self.sort())),
        }
    }

    /// An object of which each member has one of these keys.
    pub fn object(&self, known: &[&str]) -> Decoded<Object<'a>> {
        if !self.value.is_object() {
            return Err(self.no_object_of(known));
        }
        let object = self.open_object()?;
        for (key, doc) in object.members() {
            if !known.contains(&key) {
                let mistake = doc.key_mistake(format!("unknown field `{}`", excerpt(key)), key);
                return Err(mistake.among(key, known.iter().copied()).or_see("`chronodrome schema`"));
            }
        }
        Ok(object)
    }

    /// A mistake about a value that is no object, with the keys that one may have, where they are few.
    pub fn no_object_of(&self, known: &[&str]) -> Box<Mistake> {
        let mut mistake = self.wanted("an object");
        if known.len() <= KNOWN_MOST {
            mistake.reason = format!("{}: one may have {}", mistake.reason, listed(known));
        }
        mistake
    }

    /// An object of any members.
    pub fn open_object(&self) -> Decoded<Object<'a>> {
        match self.value {
            Value::Object(members) => Ok(Object { doc: self.clone(), members }),
            _ => Err(self.wanted("an object")),
        }
    }

    /// A list.
    pub fn list(&self) -> Decoded<Vec<Doc<'a>>> {
        let Value::Array(items) = self.value else { return Err(self.wanted("a list")) };
        let docs = items.iter().enumerate();
        Ok(docs.map(|(place, value)| Doc { value, path: self.path.item(place) }).collect())
    }

    /// A list, or one thing that stands for a list of it alone.
    pub fn one_or_more(&self) -> Decoded<Vec<Doc<'a>>> {
        if self.value.is_array() { self.list() } else { Ok(vec![self.clone()]) }
    }

    /// A text.
    pub fn text(&self) -> Decoded<&'a str> {
        self.value.as_str().ok_or_else(|| self.wanted("a text"))
    }

    /// A text that is not empty.
    pub fn name(&self) -> Decoded<Name> {
        let text = self.text()?;
        if text.is_empty() { Err(self.mistake("this must not be empty")) } else { Ok(text.into()) }
    }

    /// A text that is read as `T`.
    pub fn parse<T: FromStr>(&self) -> Decoded<T>
    where
        T::Err: Display,
    {
        let text = self.text()?;
        if text.len() > 1_000 {
            return Err(self.mistake("this text is too long"));
        }
        text.parse().map_err(|error: T::Err| self.mistake(error.to_string()))
    }

    /// One of these names; `what` they are.
    pub fn one_of<T: Copy>(&self, what: &str, choices: &[(&str, T)]) -> Decoded<T> {
        let name = self.text()?;
        let found = choices.iter().find(|(choice, _)| *choice == name);
        found.map(|(_, value)| *value).ok_or_else(|| self.unknown(what, choices.iter().map(|(choice, _)| *choice)))
    }

    /// A duration that is not negative.
    pub fn span(&self) -> Decoded<Span> {
        if !self.value.is_string() {
            return Err(self.wanted("a duration like `30s`"));
        }
        let span: Span = self.parse()?;
        if span < Span::ZERO { Err(self.mistake("a duration must not be negative here")) } else { Ok(span) }
    }

    /// A duration of at least a microsecond.
    pub fn some_span(&self) -> Decoded<Span> {
        let span = self.span()?;
        if span == Span::ZERO { Err(self.mistake("a duration must not be zero here")) } else { Ok(span) }
    }

    /// `"2s"`, or a range `["2s", "1m"]`: least and most.
    pub fn spans(&self) -> Decoded<(Span, Span)> {
        if self.value.is_string() {
            let span = self.span()?;
            return Ok((span, span));
        }
        if !self.value.is_array() {
            return Err(self.wanted("a duration like `30s`, or a list of two"));
        }
        match self.list()?.as_slice() {
            [least, most] => {
                let range = (least.span()?, most.span()?);
                if range.0 <= range.1 { Ok(range) } else { Err(self.mistake("the first must not be above the second")) }
            }
            _ => Err(self.mistake("a range is a list of two durations, like `[\"1s\", \"2m\"]`")),
        }
    }

    /// A time, as the span since `start`: `"+10m"`, or an instant that is not before it.
    pub fn since(&self, start: Timestamp) -> Decoded<Span> {
        let Some(text) = self.value.as_str() else { return Err(self.wanted(TIME)) };
        if let Some(offset) = text.strip_prefix('+') {
            let span = offset.parse().ok().filter(|span| *span >= Span::ZERO);
            return span.ok_or_else(|| self.mistake(format!("`{}` is not {TIME}", excerpt(text))));
        }
        let read = if text.len() > LONGEST_TIME { None } else { text.parse::<Timestamp>().ok() };
        let instant = read.ok_or_else(|| self.mistake(format!("`{}` is not {TIME}", excerpt(text))))?;
        if instant < start {
            return Err(self.mistake(format!("`{}` is before the start, {start}", excerpt(text))));
        }
        Ok(instant.since(start))
    }

    /// An instant.
    pub fn instant(&self) -> Decoded<Timestamp> {
        let Some(text) = self.value.as_str() else { return Err(self.wanted(INSTANT)) };
        if text.len() > LONGEST_TIME {
            return Err(self.mistake("this text is too long for a time"));
        }
        self.parse()
    }

    /// A whole number within bounds, both included.
    pub fn integer(&self, least: u64, most: u64) -> Decoded<u64> {
        let number = self.value.as_u64().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            let bound =
                if most == u64::MAX { format!("of at least {least}") } else { format!("from {least} to {most}") };
            self.wanted(&format!("a whole number {bound}"))
        })
    }

    /// A whole number within bounds that fits 32 bits.
    pub fn count(&self, least: u32, most: u32) -> Decoded<u32> {
        let number = self.integer(u64::from(least), u64::from(most))?;
        Ok(u32::try_from(number).expect("the bound is one of 32 bits"))
    }

    /// True or false.
    pub fn flag(&self) -> Decoded<bool> {
        self.value.as_bool().ok_or_else(|| self.wanted("true or false"))
    }

    /// A chance from 0 to 1, in millionths.
    pub fn rate(&self) -> Decoded<u32> {
        let rate = self.value.as_f64().filter(|rate| (0.0..=1.0).contains(rate));
        let rate = rate.ok_or_else(|| self.wanted("a rate from 0 to 1"))?;
        let ppm = (rate * 1_000_000.0).round() as u32;
        if ppm == 0 && rate > 0.0 {
            return Err(self.mistake(format!("the rate {rate} is below one in a million")));
        }
        Ok(ppm)
    }

    /// An amount of money, in millionths of the currency.
    pub fn money(&self) -> Decoded<u64> {
        let amount = self.value.as_f64().filter(|amount| (0.0..=MONEY_MAX).contains(amount));
        let amount = amount.ok_or_else(|| self.wanted("an amount of money from 0 to a billion"))?;
        let micros = (amount * 1_000_000.0).round() as u64;
        if micros == 0 && amount > 0.0 {
            return Err(self.mistake(format!("the amount {amount} is below a millionth")));
        }
        Ok(micros)
    }
}

/// The most money that a file may name, in whole units of the currency.
const MONEY_MAX: f64 = 1_000_000_000.0;

/// A longer text is no time, and is not tried.
const LONGEST_TIME: usize = 100;

/// What an instant looks like.
const INSTANT: &str = "a time like `2025-05-11T20:00:00Z`";

/// What a time looks like.
const TIME: &str = "a time like `+10m` or `2025-05-11T20:00:00Z`";

impl<'a> Object<'a> {
    /// The object as a value.
    pub fn doc(&self) -> &Doc<'a> {
        &self.doc
    }

    /// The member of this key.
    pub fn get(&self, key: &str) -> Option<Doc<'a>> {
        self.members.get(key).map(|value| Doc { value, path: self.doc.path.member(key) })
    }

    /// The member of this key, which must be there.
    pub fn need(&self, key: &str) -> Decoded<Doc<'a>> {
        self.get(key).ok_or_else(|| self.doc.mistake(format!("`{key}` is missing")))
    }

    /// The member of this key, decoded, or what stands for it.
    pub fn or<T>(&self, key: &str, default: T, decode: impl FnOnce(&Doc<'a>) -> Decoded<T>) -> Decoded<T> {
        self.get(key).map_or(Ok(default), |doc| decode(&doc))
    }

    /// The member of this key, decoded, if it is there.
    pub fn maybe<T>(&self, key: &str, decode: impl FnOnce(&Doc<'a>) -> Decoded<T>) -> Decoded<Option<T>> {
        self.get(key).map(|doc| decode(&doc)).transpose()
    }

    /// Every member.
    pub fn members(&self) -> impl Iterator<Item = (&'a str, Doc<'a>)> + use<'a> {
        let path = self.doc.path.clone();
        self.members.iter().map(move |(key, value)| (key.as_str(), Doc { value, path: path.member(key) }))
    }
}
