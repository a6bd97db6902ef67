//! Weight tables of the single-byte collations.
//!
//! Called by the registry; a weight table maps each byte to the byte that stands for it in a sort key.

/// Upper-cases ASCII letters and keeps every other byte.
pub(crate) const ASCII_WEIGHTS: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).to_ascii_uppercase();
        byte += 1;
    }
    table
};
pub(crate) const SWEDISH_WEIGHTS: [u8; 256] = ASCII_WEIGHTS;
pub(crate) const GENERAL_WEIGHTS: [u8; 256] = ASCII_WEIGHTS;
