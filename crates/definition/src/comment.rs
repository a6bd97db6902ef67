//! Comments of columns, indexes and tables, none of which is longer than its limit: who reads a definition asks here.
use datum::SqlError;

use super::draft::DefinitionContext;

/// The limit of a comment on a column or an index, in characters.
pub const COMMENT_LENGTH_MAX: usize = 1024;

/// The comment. One that is too long is `too_long`; without strict mode that is a warning, and its beginning stays.
pub fn fitting_comment<'a>(
    comment: &'a str,
    length_max: usize,
    too_long: impl FnOnce() -> SqlError,
    context: &mut DefinitionContext<'_>,
) -> Result<&'a str, SqlError> {
    let Some((end, _)) = comment.char_indices().nth(length_max) else { return Ok(comment) };
    if context.sql_mode.is_strict() {
        return Err(too_long());
    }
    context.conditions.push(too_long().into_warning());
    Ok(&comment[..end])
}
