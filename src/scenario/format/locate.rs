//! Places in a JSON text: where a path leads, and which key stands twice. The text must be valid JSON, which
//! also bounds its depth.

use std::collections::BTreeSet;
use std::rc::Rc;

/// The way to a value in a document, shared by all who are below it.
#[derive(Clone, Debug, Default)]
pub struct Path(Option<Rc<(Path, Part)>>);

/// One part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A member of an object.
    Member(String),
    /// A place in a list.
    Item(usize),
}

impl Path {
    /// The way to a member of the object that this leads to.
    pub fn member(&self, key: &str) -> Path {
        Path(Some(Rc::new((self.clone(), Part::Member(key.to_owned())))))
    }

    /// The way to an item of the list that this leads to.
    pub fn item(&self, place: usize) -> Path {
        Path(Some(Rc::new((self.clone(), Part::Item(place)))))
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut rest = self;
        while let Path(Some(link)) = rest {
            parts.push(link.1.clone());
            rest = &link.0;
        }
        parts.reverse();
        parts
    }
}

/// What of a member is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Its key.
    Key,
    /// Its value.
    Value,
}

/// The offset at which the value, or the key, at the end of `path` begins; of the deepest part that is there
/// where the path leads nowhere.
pub fn locate(text: &str, path: &Path, spot: Spot) -> usize {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0 };
    scanner.space();
    let parts = path.parts();
    for (depth, part) in parts.iter().enumerate() {
        let here = scanner.at;
        let found = match part {
            Part::Member(key) => scanner.enter_member(key),
            Part::Item(place) => scanner.enter_item(*place),
        };
        match found {
            Some(key) if spot == Spot::Key && depth + 1 == parts.len() => return key,
            Some(_) => {}
            None => return here,
        }
    }
    scanner.at
}

/// The line and column, from 1, of an offset; columns count characters.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    let characters = before[begin..].iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    (line, characters + 1)
}

/// The first key that its object already has: its offset and its name.
pub fn duplicate_key(text: &str) -> Option<(usize, String)> {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0 };
    scanner.space();
    scanner.duplicate_in_value()
}

/// A walk over valid JSON. Whatever is not as it must be ends the walk quietly.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes `wanted` and the white space around it, if it comes next.
    fn take(&mut self, wanted: u8) -> bool {
        self.space();
        let found = self.peek() == Some(wanted);
        if found {
            self.at += 1;
            self.space();
        }
        found
    }

    /// Takes a string and returns its text.
    fn string(&mut self) -> Option<String> {
        let begin = self.at;
        if self.peek() != Some(b'"') {
            return None;
        }
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'"' => return serde_json::from_slice(self.text.get(begin..self.at)?).ok(),
                _ => {}
            }
        }
        None
    }

    /// Steps over a number, `true`, `false` or `null`.
    fn scalar(&mut self) {
        while self.peek().is_some_and(|byte| !matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Steps over a value.
    fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            self.space();
            match self.peek()? {
                b'{' | b'[' => {
                    self.at += 1;
                    depth += 1;
                }
                b'}' | b']' => {
                    self.at += 1;
                    depth = depth.checked_sub(1)?;
                }
                b',' | b':' => self.at += 1,
                b'"' => drop(self.string()?),
                _ => self.scalar(),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Goes to the value of a member; returns the offset of its key. The last of equal keys counts.
    fn enter_member(&mut self, wanted: &str) -> Option<usize> {
        let mut found = None;
        if !self.take(b'{') {
            return None;
        }
        while self.peek() == Some(b'"') {
            let key_at = self.at;
            let key = self.string()?;
            if !self.take(b':') {
                return None;
            }
            if key == wanted {
                found = Some((key_at, self.at));
            }
            self.value()?;
            if !self.take(b',') {
                break;
            }
        }
        let (key_at, value_at) = found?;
        self.at = value_at;
        Some(key_at)
    }

    /// Goes to an item; returns its offset.
    fn enter_item(&mut self, wanted: usize) -> Option<usize> {
        if !self.take(b'[') {
            return None;
        }
        for _ in 0..wanted {
            self.value()?;
            if !self.take(b',') {
                return None;
            }
        }
        Some(self.at)
    }

    fn duplicate_in_value(&mut self) -> Option<(usize, String)> {
        match self.peek()? {
            b'{' => self.duplicate_in_object(),
            b'[' => {
                self.take(b'[');
                while self.peek()? != b']' {
                    if let Some(found) = self.duplicate_in_value() {
                        return Some(found);
                    }
                    if !self.take(b',') {
                        break;
                    }
                }
                self.take(b']');
                None
            }
            b'"' => {
                self.string();
                None
            }
            _ => {
                self.scalar();
                None
            }
        }
    }

    fn duplicate_in_object(&mut self) -> Option<(usize, String)> {
        self.take(b'{');
        let mut keys = BTreeSet::new();
        while self.peek() == Some(b'"') {
            let key_at = self.at;
            let key = self.string()?;
            if keys.contains(&key) {
                return Some((key_at, key));
            }
            keys.insert(key);
            if !self.take(b':') {
                return None;
            }
            if let Some(found) = self.duplicate_in_value() {
                return Some(found);
            }
            if !self.take(b',') {
                break;
            }
        }
        self.take(b'}');
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{ \"a\": [1, {\"ü\": \"}\\\"]\", \"b\":\n  {\"c\": null}}],\n\"\\u0064\": 2 }";

    #[test]
    fn a_path_leads_to_its_place_through_strings_escapes_and_nesting() {
        let root = Path::default();
        let inner = root.member("a").item(1);
        let cases = [
            (root.clone(), Spot::Value, (1, 1)),
            (root.member("a").item(0), Spot::Value, (1, 9)),
            (inner.member("b"), Spot::Key, (1, 26)),
            (inner.member("b").member("c"), Spot::Value, (2, 9)),
            (root.member("d"), Spot::Value, (3, 11)),
            (inner.member("nowhere"), Spot::Value, (1, 12)),
            (root.member("a").item(9), Spot::Value, (1, 8)),
        ];
        for (path, spot, place) in cases {
            assert_eq!(line_and_column(TEXT, locate(TEXT, &path, spot)), place, "{path:?}");
        }
    }

    #[test]
    fn a_key_is_a_duplicate_only_within_its_own_object_and_however_it_is_written() {
        assert_eq!(duplicate_key(TEXT), None);
        assert_eq!(duplicate_key(r#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}"#), None);
        assert_eq!(duplicate_key(r#"{"x": [{"a": 1, "\u0061": 2}]}"#), Some((16, "a".to_owned())));
    }
}
