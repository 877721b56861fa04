//! Instants and spans as integers, in microseconds.
//!
//! No float and no clock: who has a clock says so in [`super::host`]. Civil text
//! (RFC 3339) is read and written by `jiff`.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An instant: microseconds since the Unix epoch, UTC.
///
/// ```
/// use chronodrome::kernel::{Span, Timestamp};
/// let due: Timestamp = "2025-05-11T20:00:00Z".parse().unwrap();
/// assert_eq!((due + Span::from_secs(90)).to_string(), "2025-05-11T20:01:30Z");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A length of time in microseconds; text is made of whole units, largest first: `2m30s`, `1d`, `250ms`.
///
/// ```
/// use chronodrome::kernel::Span;
/// let span: Span = "2m30s".parse().unwrap();
/// assert_eq!(span, Span::from_secs(150));
/// assert_eq!(span.to_string(), "2m30s");
/// assert!("30".parse::<Span>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

/// A text that is no time or duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct TimeError {
    /// The offending text.
    pub text: String,
    /// What was wanted, with an example.
    pub wanted: &'static str,
}

impl Timestamp {
    /// The latest instant that can be told.
    pub const MAX: Timestamp = Timestamp(i64::MAX);

    /// From microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Timestamp(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The span from `earlier` to `self`; negative when `self` is before it.
    pub fn since(self, earlier: Timestamp) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than any run: about 292 000 years.
    pub const MAX: Span = Span(i64::MAX);

    /// From microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Span(micros)
    }

    /// From milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Span(millis.saturating_mul(1_000))
    }

    /// From seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Span(secs.saturating_mul(1_000_000))
    }

    /// Whole microseconds.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds, rounded towards zero.
    pub const fn as_millis(self) -> i64 {
        self.0 / 1_000
    }

    /// `self · factor`, saturating.
    pub const fn times(self, factor: i64) -> Span {
        Span(self.0.saturating_mul(factor))
    }

    /// `self / parts`, rounded towards zero; `parts` must not be 0.
    pub const fn part(self, parts: i64) -> Span {
        Span(self.0 / parts)
    }
}

impl Add<Span> for Timestamp {
    type Output = Timestamp;
    fn add(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Timestamp {
    type Output = Timestamp;
    fn sub(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(civil) => write!(f, "{civil}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let civil = jiff::Timestamp::from_str(text).map_err(|_| TimeError {
            text: text.to_owned(),
            wanted: "an instant with its offset, like `2025-05-11T20:00:00Z`",
        })?;
        Ok(Timestamp(civil.as_microsecond()))
    }
}

/// Units of a span, largest first: suffix and length in microseconds.
const UNITS: [(&str, i64); 6] =
    [("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let mut rest = self.0.unsigned_abs();
        for (suffix, unit) in UNITS {
            let count = rest / unit.unsigned_abs();
            if count > 0 {
                write!(f, "{count}{suffix}")?;
                rest %= unit.unsigned_abs();
            }
        }
        Ok(())
    }
}

impl FromStr for Span {
    type Err = TimeError;
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let error = || TimeError { text: text.to_owned(), wanted: "a duration like `250ms`, `30s`, `2m30s` or `1d`" };
        let (negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mut total: i64 = 0;
        let mut units = UNITS.iter();
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let count: i64 = rest[..digits].parse().map_err(|_| error())?;
            let letters = rest[digits..].bytes().take_while(u8::is_ascii_lowercase).count();
            let name = &rest[digits..digits + letters];
            let unit = units.find(|(suffix, _)| *suffix == name).ok_or_else(error)?.1;
            total = count.checked_mul(unit).and_then(|more| total.checked_add(more)).ok_or_else(error)?;
            rest = &rest[digits + letters..];
        }
        if text.is_empty() || (negative && text.len() == 1) {
            return Err(error());
        }
        Ok(Span(if negative { -total } else { total }))
    }
}

macro_rules! serde_as_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }
    };
}
serde_as_text!(Timestamp);
serde_as_text!(Span);
pub(crate) use serde_as_text;

/// Reads a span that must not be negative; for `deserialize_with`.
pub(crate) fn not_negative<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
    let span = Span::deserialize(deserializer)?;
    if span < Span::ZERO { Err(de::Error::custom(format_args!("`{span}` is negative"))) } else { Ok(span) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_as_they_are_read() {
        for text in ["0s", "1us", "999ms", "30s", "2m30s", "1d", "1h1us", "-5s", "3d4h5m6s7ms8us"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_span_without_unit_or_out_of_order_is_refused() {
        for text in ["", "-", "5", "s", "5x", "1s1m", "1s1s", "1.5s", "99999999999d", " 1s", "é"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_instant_needs_its_offset() {
        assert!("2025-05-11T20:00:00".parse::<Timestamp>().is_err());
        let east: Timestamp = "2025-05-11T22:00:00+02:00".parse().unwrap();
        assert_eq!(east.to_string(), "2025-05-11T20:00:00Z");
    }
}
