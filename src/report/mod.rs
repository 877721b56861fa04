//! What people and machines look at: text for a terminal, JSON documents, failure files.
//!
//! Everything here makes text out of what `explore` and `scenario` give; nothing here plays, judges or prints.

pub mod coverage;
pub mod deviation;
pub mod exhaust;
pub mod explain;
pub mod failure;
pub mod junit;
pub mod outcome;
pub mod profile;
pub mod recorded;
pub mod shrink;
pub mod story;
mod style;
pub mod sweep;

pub use style::Style;

use crate::explore::Halt;

/// `count` and the word for so many.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// That an exploration ended before its end, if it did, as a line of its own.
pub(crate) fn ended_early(halted: Option<Halt>) -> &'static str {
    match halted {
        Some(Halt::Time) => "its time was over before every seed was played\n",
        Some(Halt::Interrupt) => "interrupted: this is what was found so far\n",
        None => "",
    }
}

/// A number with its thousands apart: `1 000 000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A share with two digits that say something.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 || percent == 0.0 {
        format!("{percent:.0} %")
    } else if percent >= 1.0 {
        format!("{percent:.1} %")
    } else if percent >= 0.01 {
        format!("{percent:.2} %")
    } else {
        format!("{percent:.5} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_keeps_the_digits_that_say_something() {
        let cases = [
            (0.0, "0 %"),
            (0.14, "14 %"),
            (0.034, "3.4 %"),
            (0.003, "0.30 %"),
            (0.000_003, "0.00030 %"),
            (1.0, "100 %"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn thousands_stand_apart() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1 000"), (12_345, "12 345"), (1_234_567, "1 234 567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}
