//! What people and machines look at: text for a terminal, JSON documents, failure files.
//!
//! Everything here makes text out of what `explore` and `scenario` give; nothing here plays, judges or prints.

pub mod deviation;
pub mod exhaust;
pub mod explain;
pub mod failure;
pub mod junit;
pub mod outcome;
pub mod recorded;
pub mod shrink;
pub mod story;
mod style;
pub mod sweep;

pub use style::Style;

/// `count` and the word for so many.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1 000"), (12_345, "12 345"), (1_234_567, "1 234 567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}
