//! From text to a scenario, or to an error with its place in the file.

mod error;

pub use error::ScenarioError;
