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
    /// The valid name that is nearest to it.
    pub nearest: Option<String>,
    /// The valid names, where none is near to it and they are few.
    pub known: Vec<String>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        write!(f, " {}", self.reason)?;
        match &self.nearest {
            Some(name) => write!(f, "; did you mean `{name}`?"),
            None if self.known.is_empty() => Ok(()),
            None => {
                let be = if self.known.len() == 1 { "is" } else { "are" };
                write!(f, "; known {be}: {}", listed(&self.known))
            }
        }
    }
}
