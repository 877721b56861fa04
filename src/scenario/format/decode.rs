//! Typed values out of a JSON document, each with the way to it, so that a mistake has a place.

use std::fmt::Display;
use std::str::FromStr;

use serde_json::{Map, Value};

use super::locate::{Path, Spot};
use crate::kernel::{Name, Span, Timestamp};

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
    /// The valid name that is nearest.
    pub nearest: Option<String>,
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

/// The one of `names` that is nearest to `text`, if it is near at all: at most a third of it differs, or it is
/// the beginning.
pub fn nearest<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    const LONGEST: usize = 64;
    let short: String = text.chars().take(LONGEST).collect();
    let most = (short.chars().count() / 3).max(2);
    let distances = names.into_iter().map(|name| (strsim::osa_distance(&short, name), name));
    let is_beginning = |name: &str| short.chars().count() >= 3 && name.starts_with(&short);
    let is_near = |distance, name: &str| distance <= most && distance < name.chars().count();
    let near = distances.filter(|(distance, name)| is_near(*distance, name) || is_beginning(name));
    near.min().map(|(_, name)| name.to_owned())
}

/// Text of a file as it may stand in a message: one line, and nothing that a terminal takes for a command.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// At most the first 60 characters, so that a message stays one.
pub fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    let is_cut = text.chars().nth(MOST).is_some();
    let mut short: String = printable(&text.chars().take(MOST).collect::<String>());
    if is_cut {
        short.push('…');
    }
    short
}

impl<'a> Doc<'a> {
    /// A mistake about this value.
    pub fn mistake(&self, reason: impl Into<String>) -> Box<Mistake> {
        let text = self.value.as_str().map(excerpt);
        let reason = printable(&reason.into());
        Box::new(Mistake { path: self.path.clone(), spot: Spot::Value, reason, text, nearest: None })
    }

    /// A mistake about the name that this value is: `unknown <what> <name>`, with the nearest of `names`.
    pub fn unknown<'n>(&self, what: &str, names: impl IntoIterator<Item = &'n str>) -> Box<Mistake> {
        let name = self.value.as_str().unwrap_or_default();
        let mut mistake = self.mistake(format!("unknown {what} `{}`", excerpt(name)));
        mistake.nearest = nearest(name, names);
        mistake
    }

    /// A mistake about the key under which this value stands.
    pub fn key_mistake(&self, reason: String, key: &str, nearest: Option<String>) -> Box<Mistake> {
        let path = self.path.clone();
        Box::new(Mistake { path, spot: Spot::Key, reason, text: Some(excerpt(key)), nearest })
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

    fn wanted(&self, what: &str) -> Box<Mistake> {
        match self.value {
            Value::String(text) => self.mistake(format!("`{}` is not {what}", excerpt(text))),
            Value::Number(number) => self.mistake(format!("{number} is not {what}")),
            _ => self.mistake(format!("this must be {what}, not {}", self.sort())),
        }
    }

    /// An object of which each member has one of these keys.
    pub fn object(&self, known: &[&str]) -> Decoded<Object<'a>> {
        let object = self.open_object()?;
        for (key, doc) in object.members() {
            if !known.contains(&key) {
                let near = nearest(key, known.iter().copied());
                return Err(doc.key_mistake(format!("unknown field `{}`", excerpt(key)), key, near));
            }
        }
        Ok(object)
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
        let text = self.text()?;
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
        let text = self.text()?;
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
