//! Words that people write by hand: the known one that is nearest, and how much of a text a message shows.

/// The one of `names` that is nearest to `text`, if it is near at all: at most a third of it differs, capitals aside, or it
/// is the beginning. The first in order, where two are as near.
pub(crate) fn nearest<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    const LONGEST: usize = 64;
    let short: String = text.chars().take(LONGEST).collect::<String>().to_lowercase();
    let letters = short.chars().count();
    let most = (letters / 3).max(2);
    let measured = names.into_iter().map(|name| {
        let lower = name.to_lowercase();
        (strsim::osa_distance(&short, &lower), letters >= 3 && lower.starts_with(&short), name)
    });
    let near = measured.filter(|(distance, is_beginning, name)| {
        *is_beginning || (*distance <= most && *distance < name.chars().count())
    });
    near.min_by_key(|(distance, _, name)| (*distance, *name)).map(|(_, _, name)| name.to_owned())
}

/// At most the first 60 characters, on one line and without control characters, so that a message stays one.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut short: String = text.chars().take(MOST).map(plain).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_finds_none() {
        let names = ["EveningReview", "Evening", "Morning", "MorningPlanning", "urgent"];
        let cases = [
            ("evening", Some("Evening")),
            ("EveningReveiw", Some("EveningReview")),
            ("eveningr", Some("Evening")),
            ("urgnet", Some("urgent")),
            ("MorningPlan", Some("MorningPlanning")),
            ("Noonish", None),
            ("", None),
            ("é", None),
        ];
        for (text, found) in cases {
            assert_eq!(nearest(text, names).as_deref(), found, "{text}");
        }
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("a\nb\u{1b}[31m"), "a\u{fffd}b\u{fffd}[31m");
        assert_eq!(excerpt(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
    }
}
