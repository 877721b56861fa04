//! A list of tempo tokens: `{ "tokens": […] }`.

use super::DocumentError;
use super::read::Field;
use crate::kernel::Json;
use crate::tempo::registry::Registry;
use crate::tempo::token::Token;

/// Reads a list of tokens, each registered.
///
/// # Errors
/// The first token that is none, or is not registered.
pub fn parse(document: &Json, registry: &Registry) -> Result<Vec<Token>, DocumentError> {
    Field::document(document)?.need("tokens")?.list()?.iter().map(|token| token.token(registry)).collect()
}
