//! The axes and functions that a path may name.
use crate::xpath::path::{Axis, PathFunction};

pub fn function_named(name: &[u8]) -> Option<(PathFunction, usize, usize)> {
    use PathFunction as F;
    Some(match name.to_ascii_lowercase().as_slice() {
        b"boolean" => (F::Boolean, 1, 1),
        b"ceiling" => (F::Ceiling, 1, 1),
        b"concat" => (F::Concat, 2, 255),
        b"contains" => (F::Contains, 2, 2),
        b"count" => (F::Count, 1, 1),
        b"false" => (F::False, 0, 0),
        b"floor" => (F::Floor, 1, 1),
        b"last" => (F::Last, 0, 0),
        b"not" => (F::Not, 1, 1),
        b"number" => (F::Number, 0, 1),
        b"position" => (F::Position, 0, 0),
        b"round" => (F::Round, 1, 1),
        b"string-length" => (F::StringLength, 0, 1),
        b"substring" => (F::Substring, 2, 3),
        b"sum" => (F::Sum, 1, 1),
        b"true" => (F::True, 0, 0),
        _ => return None,
    })
}

/// Axes that MySQL does not have count as children.
pub fn axis_named(name: &[u8]) -> Option<Axis> {
    Some(match name {
        b"ancestor" => Axis::Ancestor,
        b"ancestor-or-self" => Axis::AncestorOrSelf,
        b"attribute" => Axis::Attribute,
        b"descendant" => Axis::Descendant,
        b"descendant-or-self" => Axis::DescendantOrSelf,
        b"parent" => Axis::Parent,
        b"self" => Axis::Own,
        b"child" | b"following" | b"following-sibling" | b"namespace" | b"preceding"
        | b"preceding-sibling" => Axis::Child,
        _ => return None,
    })
}
