//! Words that people write by hand: the known one that is nearest, and how much of a text a message shows.

/// The one of `names` that is nearest to `text`, if it is near at all: at most a third of its letters differ, or it begins with
/// `text`, or holds it. Capitals, `_`, `-` and spaces do not count. The first in order, where two are as near.
pub(crate) fn nearest<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    const LONGEST: usize = 64;
    const BEGINNING_LEAST: usize = 3;
    const PART_LEAST: usize = 4;
    let bare = |word: &str| word.to_lowercase().replace(['_', '-', ' '], "");
    let text = bare(&text.chars().take(LONGEST).collect::<String>());
    let letters = text.chars().count();
    let most = (letters / 3).max(1);
    let measured = names.into_iter().filter_map(|name| {
        let known = bare(name);
        let distance = strsim::osa_distance(&text, &known);
        let begins = letters >= BEGINNING_LEAST && known.starts_with(&text);
        let holds = letters >= PART_LEAST && known.contains(&text);
        let is_near = begins || holds || (distance <= most && distance < known.chars().count());
        is_near.then_some((distance, name))
    });
    measured.min().map(|(_, name)| name.to_owned())
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
            ("morning_planning", Some("MorningPlanning")),
            ("Planning", Some("MorningPlanning")),
            ("plan", Some("MorningPlanning")),
            ("lan", None),
            ("", None),
            ("é", None),
        ];
        for (text, found) in cases {
            assert_eq!(nearest(text, names).as_deref(), found, "{text}");
        }
    }

    #[test]
    fn a_word_of_which_more_than_a_third_differs_is_not_near() {
        let cases = [
            ("drop", "stop", false),
            ("stpo", "stop", true),
            ("in_doubt", "effect_in_doubt", true),
            ("ab", "cd", false),
        ];
        for (text, name, near) in cases {
            assert_eq!(nearest(text, [name]).is_some(), near, "{text} and {name}");
        }
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("a\nb\u{1b}[31m"), "a\u{fffd}b\u{fffd}[31m");
        assert_eq!(excerpt(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
    }
}
