//! The cells that ask for the types of results. Used by recordings and by what compares types.
use crate::cell::{Random, expressions, pieces};
use crate::templates::TEMPLATES;
use crate::type_arguments::{self, MORE};

/// Cells of a template with several places.
pub const CELLS_MAX: usize = 48;

pub(crate) fn type_templates() -> impl Iterator<Item = &'static str> {
    TEMPLATES.iter().copied().chain(MORE.iter().copied().filter(|template| !TEMPLATES.contains(template)))
}

/// The expressions that are made of a template.
#[must_use]
pub fn type_cells_of(template: &str) -> Vec<String> {
    let pieces = pieces(template);
    let is_single = pieces.iter().filter(|(_, place)| place.is_some()).count() == 1;
    let most = if is_single { usize::MAX } else { CELLS_MAX };
    expressions(&pieces, type_arguments::list, most, &mut Random::of(template))
}
