//! Instants as documents spell them: ISO 8601, UTC, with `Z`.

use std::fmt;

use crate::kernel::Timestamp;

/// An instant and how it was spelt: to the minute, or to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The instant.
    pub at: Timestamp,
    /// Whether its seconds were spelt.
    pub has_seconds: bool,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.at.to_string();
        match text.strip_suffix(":00Z").filter(|_| !self.has_seconds) {
            Some(minute) => write!(f, "{minute}Z"),
            None => f.write_str(&text),
        }
    }
}

/// Whether `text` has the form of `pattern`, in which a `0` stands for any digit.
fn has_form(text: &str, pattern: &str) -> bool {
    let is_like = |(have, want): (u8, u8)| if want == b'0' { have.is_ascii_digit() } else { have == want };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(is_like)
}

/// Reads `2025-05-11T20:00Z` or `2025-05-11T20:00:00Z`: four digits of year, no fraction, no leap second.
pub(crate) fn moment(text: &str) -> Option<Moment> {
    let has_seconds = has_form(text, "0000-00-00T00:00:00Z");
    if !has_seconds && !has_form(text, "0000-00-00T00:00Z") {
        return None;
    }
    Some(Moment { at: instant(text)?, has_seconds })
}

/// Reads an instant in UTC: like [`moment`], and with at most six digits of fraction behind the seconds. Nothing that it
/// takes is rounded.
pub(crate) fn instant(text: &str) -> Option<Timestamp> {
    let whole = match text.split_once('.') {
        Some((whole, fraction)) => {
            let digits = fraction.strip_suffix('Z')?;
            let is_fraction = (1..=6).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
            if !is_fraction || !has_form(whole, "0000-00-00T00:00:00") {
                return None;
            }
            format!("{whole}Z")
        }
        None => text.to_owned(),
    };
    let is_iso = has_form(&whole, "0000-00-00T00:00:00Z") || has_form(&whole, "0000-00-00T00:00Z");
    // A leap second is no instant of its own: it would be read as the one before.
    let is_leap = whole.len() == 20 && &whole[17..19] == "60";
    if is_iso && !is_leap { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_utc_and_iso_or_nothing() {
        let cases = [
            ("2025-05-11T20:00Z", Some(1_746_993_600_000_000)),
            ("2025-05-11T20:00:00Z", Some(1_746_993_600_000_000)),
            ("2025-05-11T20:00:00.5Z", Some(1_746_993_600_500_000)),
            ("2025-05-11T20:00:00.000001Z", Some(1_746_993_600_000_001)),
            ("2025-05-11T20:00:00.0000001Z", None),
            ("2025-05-11T20:00:00.Z", None),
            ("2025-05-11T20:00.5Z", None),
            ("2025-05-11T20:00:60Z", None),
            ("2025-05-11T24:00Z", None),
            ("2025-02-29T20:00Z", None),
            ("2025-05-11T20Z", None),
            ("2025-05-11t20:00z", None),
            ("2025-05-11 20:00Z", None),
            ("2025-05-11T20:00:00", None),
            ("2025-05-11T22:00:00+02:00", None),
            ("2025-05-11T20:00:00Z[UTC]", None),
            ("+002025-05-11T20:00:00Z", None),
            ("Sunday 10am", None),
            ("２025-05-11T20:00Z", None),
            ("", None),
        ];
        for (text, micros) in cases {
            assert_eq!(instant(text).map(Timestamp::as_micros), micros, "{text}");
        }
    }

    #[test]
    fn a_moment_is_written_as_it_is_read_and_has_no_fraction() {
        for text in ["2025-05-11T20:00Z", "2025-05-11T20:00:00Z", "2025-05-11T20:00:09Z", "0000-01-01T00:00Z"] {
            assert_eq!(moment(text).unwrap().to_string(), text);
        }
        assert_eq!(moment("2025-05-11T20:00:00.5Z"), None);
    }
}
