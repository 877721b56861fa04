//! Typed values out of a JSON document, each with its place. A field that is `null` is absent, but where null has a meaning.

use serde_json::{Map, Value};

use super::DocumentError;
use crate::kernel::{AgentId, Name, Score, Timestamp};
use crate::tempo::day::{TimeOfDay, Weekday};
use crate::tempo::instant::instant;
use crate::tempo::plan::{Link, Relation};
use crate::tempo::registry::Registry;
use crate::tempo::token::Token;
use crate::tempo::word::{excerpt, nearest};

/// What is read, or what is wrong with it.
pub(super) type Read<T> = Result<T, DocumentError>;

/// A value of a document, and its place.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    pub value: &'a Value,
    pub place: String,
}

impl<'a> Field<'a> {
    /// The document as a whole, which must be an object.
    pub fn document(value: &'a Value) -> Read<Field<'a>> {
        let document = Field { value, place: String::new() };
        document.members().map_err(|error| DocumentError { place: "document".into(), ..error })?;
        Ok(document)
    }

    /// That something is wrong here.
    pub fn error(&self, reason: impl Into<String>) -> DocumentError {
        DocumentError { place: self.place.clone(), reason: reason.into(), hint: None }
    }

    /// That something is wrong here, and what would be right.
    pub fn hinted(&self, reason: impl Into<String>, hint: impl Into<String>) -> DocumentError {
        DocumentError { hint: Some(hint.into()), ..self.error(reason) }
    }

    /// That this is something else than was wanted.
    pub fn wanted(&self, what: &str) -> DocumentError {
        self.error(match self.value {
            Value::String(text) => format!("`{}` is not {what}", excerpt(text)),
            Value::Number(number) => format!("{number} is not {what}"),
            Value::Null => format!("this must be {what}, not null"),
            Value::Bool(_) => format!("this must be {what}, not true or false"),
            Value::Array(_) => format!("this must be {what}, not a list"),
            Value::Object(_) => format!("this must be {what}, not an object"),
        })
    }

    fn members(&self) -> Read<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.wanted("an object"))
    }

    fn place_of(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// The member of this name, null or not.
    pub fn member(&self, key: &str) -> Read<Option<Field<'a>>> {
        let member = self.members()?.get(key);
        Ok(member.map(|value| Field { value, place: self.place_of(key) }))
    }

    /// The member of this name; none where it is null.
    pub fn maybe(&self, key: &str) -> Read<Option<Field<'a>>> {
        Ok(self.member(key)?.filter(|field| !field.value.is_null()))
    }

    /// The member of this name, which must be there.
    pub fn need(&self, key: &str) -> Read<Field<'a>> {
        let missing =
            || DocumentError { place: self.place_of(key), reason: "this field is missing".into(), hint: None };
        self.maybe(key)?.ok_or_else(missing)
    }

    /// What `read` makes of the member of this name, if there is one.
    pub fn read<T>(&self, key: &str, read: impl FnOnce(&Field<'a>) -> Read<T>) -> Read<Option<T>> {
        self.maybe(key)?.map(|field| read(&field)).transpose()
    }

    /// That the object has no other members than these.
    pub fn only(&self, known: &[&str]) -> Read<()> {
        for key in self.members()?.keys() {
            if !known.contains(&key.as_str()) {
                let near = nearest(key, known.iter().copied());
                let hint = near.map(|near| format!("did you mean `{near}`?"));
                let hint = hint.unwrap_or_else(|| format!("there are: `{}`", known.join("`, `")));
                let place = self.place_of(&excerpt(key));
                return Err(DocumentError { place, reason: "there is no such field here".into(), hint: Some(hint) });
            }
        }
        Ok(())
    }

    /// A list.
    pub fn list(&self) -> Read<Vec<Field<'a>>> {
        let items = self.value.as_array().ok_or_else(|| self.wanted("a list"))?.iter().enumerate();
        Ok(items.map(|(number, value)| Field { value, place: format!("{}[{number}]", self.place) }).collect())
    }

    /// What `read` makes of each item of the list under this name; nothing where there is none.
    pub fn each<T>(&self, key: &str, read: impl Fn(&Field<'a>) -> Read<T>) -> Read<Vec<T>> {
        self.read(key, |list| list.list()?.iter().map(&read).collect()).map(Option::unwrap_or_default)
    }

    /// A text.
    pub fn text(&self) -> Read<&'a str> {
        self.value.as_str().ok_or_else(|| self.wanted("a text"))
    }

    /// A text that is not empty.
    pub fn name(&self) -> Read<Name> {
        let text = self.text()?;
        if text.trim().is_empty() { Err(self.error("this must not be empty")) } else { Ok(text.into()) }
    }

    /// An id: a name without white space, and without `#`, which stands before the number of an occurrence.
    pub fn uid(&self) -> Read<Name> {
        const LONGEST: usize = 200;
        let name = self.name()?;
        if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(self.error(format!("the id `{}` must be without white space", excerpt(&name))));
        }
        if name.contains('#') {
            let reason = format!("the id `{}` must be without `#`", excerpt(&name));
            return Err(self.hinted(reason, "`uid#n` is the name of an occurrence"));
        }
        if name.len() > LONGEST {
            return Err(self.error(format!("an id has at most {LONGEST} bytes, not {}", name.len())));
        }
        Ok(name)
    }

    /// True or false.
    pub fn flag(&self) -> Read<bool> {
        self.value.as_bool().ok_or_else(|| self.wanted("true or false"))
    }

    /// A whole number within bounds, both included.
    pub fn integer(&self, least: i64, most: i64) -> Read<i64> {
        let number = self.value.as_i64().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            self.wanted(&match (least, most) {
                (i64::MIN, i64::MAX) => "a whole number".to_owned(),
                (_, i64::MAX) => format!("a whole number of at least {least}"),
                _ => format!("a whole number from {least} to {most}"),
            })
        })
    }

    /// A whole number of 32 bits of at least `least`.
    pub fn count(&self, least: u32) -> Read<u32> {
        let number = self.integer(i64::from(least), i64::from(u32::MAX))?;
        Ok(u32::try_from(number).expect("the bound is one of 32 bits"))
    }

    /// Milliseconds that are not negative.
    pub fn millis(&self) -> Read<i64> {
        self.integer(0, i64::MAX)
    }

    /// A score.
    pub fn score(&self) -> Read<Score> {
        Score::new(self.integer(1, 5)?).ok_or_else(|| self.wanted("a score"))
    }

    /// An address.
    pub fn address(&self) -> Read<AgentId> {
        self.text()?.parse().map_err(|_| self.wanted("an address: `type`, or `type/key`"))
    }

    /// One of these words.
    pub fn one_of<T: Copy>(&self, choices: &[(&str, T)]) -> Read<T> {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let all = format!("`{}`", words.join("`, `"));
        let Some(text) = self.value.as_str() else {
            return Err(self.wanted(&if words.len() == 1 { all } else { format!("one of {all}") }));
        };
        let found = choices.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let hint = match nearest(text, words.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if words.len() == 1 => format!("it must be {all}"),
                None => format!("there are: {all}"),
            };
            self.hinted(format!("`{}` is not known here", excerpt(text)), hint)
        })
    }

    /// That `type` is this.
    pub fn is_of_type(&self, of: &str) -> Read<()> {
        self.need("type")?.one_of(&[(of, ())])
    }

    /// An instant in UTC, with `Z`.
    pub fn instant(&self) -> Read<Timestamp> {
        let text = self.text()?;
        if let Some(at) = instant(text) {
            return Ok(at);
        }
        if text.len() <= 64 && text.parse::<Timestamp>().is_ok() {
            let at: Timestamp = text.parse().expect("it was just read");
            let reason = format!("`{}` is not an instant in UTC that ends with `Z`", excerpt(text));
            return Err(self.hinted(reason, format!("the same instant is `{at}`")));
        }
        let reason = format!("`{}` is not an instant", excerpt(text));
        let form = "write ISO 8601 in UTC, as `2026-03-15T10:00:00Z`";
        Err(self.hinted(
            reason,
            match spoken(text) {
                Some(token) => format!("{form}; or a token where one may stand, as `{token}`"),
                None => form.to_owned(),
            },
        ))
    }

    /// A token that is registered.
    pub fn token(&self, registry: &Registry) -> Read<Token> {
        registry.token(self.text()?).map_err(|error| DocumentError {
            place: self.place.clone(),
            reason: format!("`{}`: {}", excerpt(&error.text), error.reason),
            hint: error.nearest.map(|word| format!("did you mean `<tempo:{word}>`?")),
        })
    }

    /// A link: an id, or `{ "trace_id", "relation" }`.
    pub fn link(&self) -> Read<Link> {
        if self.value.is_string() {
            return Ok(Link { trace_id: self.name()?, relation: None });
        }
        if !self.value.is_object() {
            return Err(self.wanted("an id, or an object of `trace_id` and `relation`"));
        }
        let relation = self.read("relation", |field| field.one_of(&RELATIONS))?;
        Ok(Link { trace_id: self.need("trace_id")?.name()?, relation })
    }
}

const RELATIONS: [(&str, Relation); 5] = [
    ("follows_from", Relation::FollowsFrom),
    ("fulfills", Relation::Fulfills),
    ("derives_from", Relation::DerivesFrom),
    ("contradicts", Relation::Contradicts),
    ("reflects_on", Relation::ReflectsOn),
];

/// The token that free text like `Sunday 10am` may have meant.
fn spoken(text: &str) -> Option<Token> {
    let text = excerpt(text).to_lowercase();
    let day = Weekday::ALL.into_iter().find(|day| text.contains(&day.as_str().to_lowercase()));
    let time = TimeOfDay::ALL.into_iter().find(|time| text.contains(&time.as_str().to_lowercase()));
    match (day, time) {
        (Some(day), Some(time)) => Some(Token::WeekdayTime(day, time)),
        (Some(day), None) => Some(Token::Weekday(day)),
        (None, Some(time)) => Some(Token::TimeOfDay(time)),
        (None, None) => None,
    }
}
