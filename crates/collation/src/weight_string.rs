//! The weights of a string as WEIGHT_STRING() shows them: without the escapes and ends that sort keys need.
use crate::registry::{CollationId, PadAttribute, Weighing};
use crate::weights::Weights;
use crate::{Charset, unicode};

impl CollationId {
    /// Whether strings compare as if spaces followed them.
    pub fn pads(self) -> bool {
        self.collation().pad == PadAttribute::PadSpace
    }

    pub fn write_weights(self, bytes: &[u8], weights: &mut Vec<u8>) {
        let collation = self.collation();
        match collation.weighing {
            // Unicode's binary collations that pad weigh by code point.
            Weighing::Bytes if self.pads() && collation.charset.is_unicode() => {
                let skipped = if collation.charset == Charset::Utf8mb4 { 1 } else { 2 };
                let mut rest = bytes;
                while !rest.is_empty() {
                    let decoded = unicode::decode(rest);
                    rest = &rest[decoded.byte_count..];
                    weights.extend_from_slice(&decoded.code_point.to_be_bytes()[skipped..]);
                }
            }
            Weighing::Bytes => weights.extend_from_slice(bytes),
            Weighing::ByteTable(table) => weights.extend(bytes.iter().map(|byte| table[usize::from(*byte)])),
            weighing @ (Weighing::General | Weighing::Uca(_)) => {
                for weight in Weights::new(weighing, bytes) {
                    weights.extend_from_slice(&weight.to_be_bytes());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_manual_shows_them() {
        for (collation, text, expected) in [
            (CollationId::UTF8MB4_0900_AI_CI, "aB", vec![0x1c, 0x47, 0x1c, 0x60]),
            (CollationId::UTF8MB4_BIN, "ab", vec![0, 0, 0x61, 0, 0, 0x62]),
            (CollationId::UTF8MB4_GENERAL_CI, "a ", vec![0, 0x41, 0, 0x20]),
            (CollationId::LATIN1_SWEDISH_CI, "ab ", vec![0x41, 0x42, 0x20]),
            (CollationId::UTF8MB4_0900_BIN, "a", vec![0x61]),
            (CollationId::BINARY, "ab", vec![0x61, 0x62]),
        ] {
            let mut weights = Vec::new();
            collation.write_weights(text.as_bytes(), &mut weights);
            assert_eq!(weights, expected, "{}", collation.name());
        }
    }
}
