//! Which pages of a list one disk operation can bring: those that lie close together. Used by both stores.

use env::IoBuf;

/// One page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its place in the list.
    pub(crate) index: usize,
    /// Where it lies, in bytes of the whole space.
    pub(crate) address: u64,
}

/// Parts for one read each, in order of address: between two of them lie at most `gap_pages` others, and no read crosses
/// a border between areas of `area_bytes`. Nobody may write in a gap meanwhile.
pub(crate) fn pieces(
    mut parts: Vec<Part>,
    page_bytes: u64,
    gap_pages: u64,
    area_bytes: u64,
) -> Vec<Vec<Part>> {
    parts.sort_unstable_by_key(|part| part.address);
    let close = |one: &Part, other: &Part| {
        other.address - one.address <= (gap_pages + 1) * page_bytes
            && one.address / area_bytes == other.address / area_bytes
    };
    parts.chunk_by(close).map(<[Part]>::to_vec).collect()
}

/// The bytes that the read of a piece brings.
pub(crate) fn span(piece: &[Part], page_bytes: u64) -> u64 {
    let (Some(first), Some(last)) = (piece.first(), piece.last()) else { return 0 };
    last.address - first.address + page_bytes
}

/// Copies the images that `accept` takes from the bytes of a piece to their places in `target`.
pub(crate) fn distribute(
    piece: &[Part],
    bytes: &[u8],
    page_bytes: usize,
    target: &mut IoBuf,
    accept: impl Fn(&Part, &[u8]) -> bool,
) {
    let Some(first) = piece.first() else { return };
    for part in piece {
        let start = (part.address - first.address) as usize;
        let image = &bytes[start..start + page_bytes];
        if accept(part, image) {
            let offset = part.index * page_bytes;
            target.as_mut_slice()[offset..offset + page_bytes].copy_from_slice(image);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(index: usize, page: u64) -> Part {
        Part { index, address: page * 8192 }
    }

    #[test]
    fn small_gaps_are_read_over_and_areas_are_not_crossed() {
        let list = vec![part(0, 13), part(1, 2), part(2, 5), part(3, 9), part(4, 16)];
        let found = pieces(list, 8192, 2, 16 * 8192);
        assert_eq!(
            found,
            [vec![part(1, 2), part(2, 5)], vec![part(3, 9)], vec![part(0, 13)], vec![part(4, 16)]]
        );
        assert_eq!(span(&found[0], 8192), 4 * 8192);
    }

    #[test]
    fn images_go_to_their_places() {
        let piece = [part(1, 2), part(0, 4)];
        let bytes: Vec<u8> = (2..5u8).flat_map(|page| vec![page; 8192]).collect();
        let mut target = IoBuf::zeroed(3 * 8192);
        distribute(&piece, &bytes, 8192, &mut target, |part, _| part.index != 1);
        let firsts: Vec<u8> = target.as_slice().chunks(8192).map(|page| page[0]).collect();
        assert_eq!(firsts, [4, 0, 0]);
    }
}
