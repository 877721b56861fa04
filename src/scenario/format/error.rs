//! What is wrong with a scenario file, and where.

use std::fmt;

use super::decode::listed;

/// A scenario file that is none. Lines and columns count from 1, columns in characters; both are 0 when the
/// mistake is the file as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The file.
    pub file: String,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// What is wrong, in words.
    pub reason: String,
    /// The offending text, where one piece of it is to blame.
    pub text: Option<String>,
    /// What may stand in its place.
    pub instead: Instead,
}

/// What may stand in the place of a name that nobody knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Instead {
    /// Nothing is known to be meant.
    #[default]
    Nothing,
    /// The valid name that is nearest.
    Nearest(String),
    /// The valid names: none is near, and they are few.
    OneOf(Box<[String]>),
}

impl From<Option<String>> for Instead {
    fn from(nearest: Option<String>) -> Instead {
        nearest.map_or(Instead::Nothing, Instead::Nearest)
    }
}

impl fmt::Display for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Instead::Nothing => Ok(()),
            Instead::Nearest(name) => write!(f, "; did you mean `{name}`?"),
            Instead::OneOf(names) => {
                let be = if names.len() == 1 { "is" } else { "are" };
                write!(f, "; known {be}: {}", listed(names))
            }
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        write!(f, " {}{}", self.reason, self.instead)
    }
}
