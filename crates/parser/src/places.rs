//! Where the `?` of a text stand: for logs, which show a prepared statement with the values it ran with.
use bumpalo::Bump;

use crate::SqlMode;
use crate::lexer::{TokenKind, tokenize};

/// The position of each, in the order of the text.
pub fn parameter_places(text: &[u8], mode: SqlMode) -> Vec<usize> {
    let arena = Bump::new();
    let tokens = tokenize(text, mode, &arena).tokens.iter();
    tokens.filter(|token| token.kind == TokenKind::Question).map(|token| token.start as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_in_strings_are_none() {
        assert_eq!(parameter_places(b"select ?, '?', `?` /* ? */ + ?", SqlMode::default()), [7, 29]);
    }
}
