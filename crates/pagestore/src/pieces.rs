//! Which pages of a list one disk operation can bring: those that lie side by side. `read_many` of the store in place asks.

use env::IoBuf;
use std::sync::Arc;

/// One page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its place in the list.
    pub(crate) index: usize,
    /// Where it lies in the file, in bytes.
    pub(crate) address: u64,
}

/// Parts for one read each, in order of address. No other page lies between two of them: it may be being written.
pub(crate) fn pieces(mut parts: Vec<Part>, page_bytes: u64) -> Vec<Vec<Part>> {
    parts.sort_unstable_by_key(|part| part.address);
    let close = |one: &Part, other: &Part| other.address - one.address <= page_bytes;
    parts.chunk_by(close).map(<[Part]>::to_vec).collect()
}

/// The bytes that the read of a piece brings.
pub(crate) fn span(piece: &[Part], page_bytes: u64) -> u64 {
    debug_assert!(piece.is_sorted_by_key(|part| part.address), "a piece is in the order of its addresses");
    let (Some(first), Some(last)) = (piece.first(), piece.last()) else { return 0 };
    last.address - first.address + page_bytes
}

/// The images in the bytes of a piece, with their places in the list.
pub(crate) fn images(
    piece: &[Part],
    bytes: IoBuf,
    page_bytes: usize,
) -> impl Iterator<Item = (usize, IoBuf)> {
    debug_assert_eq!(bytes.len() as u64, span(piece, page_bytes as u64), "a read brings its piece");
    let bytes = Arc::new(bytes);
    let first = piece.first().map_or(0, |part| part.address);
    piece.iter().map(move |part| {
        let start = (part.address - first) as usize;
        (part.index, IoBuf::part_of(&bytes, start..start + page_bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(index: usize, page: u64) -> Part {
        Part { index, address: page * 8192 }
    }

    #[test]
    fn neighbours_share_a_read_and_gaps_are_not_read() {
        let list = vec![part(0, 13), part(1, 4), part(2, 5), part(3, 3), part(4, 15), part(5, 13)];
        let found = pieces(list, 8192);
        let pages: Vec<Vec<u64>> =
            found.iter().map(|piece| piece.iter().map(|part| part.address / 8192).collect()).collect();
        assert_eq!(pages, [vec![3, 4, 5], vec![13, 13], vec![15]]);
        assert_eq!((span(&found[0], 8192), span(&found[1], 8192)), (3 * 8192, 8192));
    }

    #[test]
    fn images_are_parts_of_what_was_read() {
        let piece = [part(1, 2), part(0, 3)];
        let bytes: Vec<u8> = (2..4u8).flat_map(|page| vec![page; 8192]).collect();
        let found: Vec<(usize, u8, usize)> = images(&piece, IoBuf::copy_of(&bytes), 8192)
            .map(|(index, image)| (index, image.as_slice()[0], image.len()))
            .collect();
        assert_eq!(found, [(1, 2, 8192), (0, 3, 8192)]);
    }
}
