//! Orders observed on MySQL, and agreement of compare, hash and sort key on random strings.
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hasher};

use crate::{CollationId, all_collations};

fn check(collation: CollationId, left: &str, right: &str, expected: Ordering) {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    assert_eq!(collation.compare(left, right), expected, "{left:?} {right:?} {collation:?}");
    assert_eq!(collation.compare(right, left), expected.reverse(), "{right:?} {left:?} {collation:?}");
}

#[test]
fn unicode_9_order() {
    let check = |left, right, expected| check(CollationId::UTF8MB4_0900_AI_CI, left, right, expected);
    check("abc", "ABC", Ordering::Equal);
    check("resume", "Résumé", Ordering::Equal);
    check("ss", "ß", Ordering::Equal);
    check("a", "a ", Ordering::Less);
    check("a", "b", Ordering::Less);
    check("_", "a", Ordering::Less);
    check("Z", "é", Ordering::Greater);
    check("a\0b", "ab", Ordering::Equal);
    check("中", "文", Ordering::Less);
    check("한", "하", Ordering::Greater);
    check("e\u{301}", "é", Ordering::Equal);
    check("\u{D7A3}", "\u{D7A4}", Ordering::Less);
    check("x😀", "x😁", Ordering::Less);
    check("0", "a", Ordering::Less);
    check("", "a", Ordering::Less);
}

#[test]
fn padded_order() {
    for collation in
        [CollationId::UTF8MB4_GENERAL_CI, CollationId::UTF8MB4_BIN, CollationId::LATIN1_SWEDISH_CI]
    {
        check(collation, "a", "a   ", Ordering::Equal);
        check(collation, "a", "a\u{1}", Ordering::Greater);
        check(collation, "a ", "a!", Ordering::Less);
        check(collation, "a", "a b", Ordering::Less);
    }
    for collation in [CollationId::UTF8MB4_UNICODE_CI, CollationId::UTF8MB4_UNICODE_520_CI] {
        check(collation, "a", "a   ", Ordering::Equal);
        check(collation, "Résumé", "resume", Ordering::Equal);
        check(collation, "ß", "ss", Ordering::Equal);
        check(collation, "a ", "a!", Ordering::Less);
        check(collation, "z", "ą", Ordering::Greater);
    }
    check(CollationId::UTF8MB4_UNICODE_CI, "😀", "😁", Ordering::Equal);
    check(CollationId::UTF8MB4_UNICODE_520_CI, "😀", "😁", Ordering::Less);
    check(CollationId::UTF8MB4_0900_BIN, "a", "a ", Ordering::Less);
    check(CollationId::UTF8MB4_GENERAL_CI, "ß", "s", Ordering::Equal);
    check(CollationId::UTF8MB4_GENERAL_CI, "😀", "😁", Ordering::Equal);
    check(CollationId::UTF8MB4_BIN, "a", "A", Ordering::Greater);
}

/// A small generator keeps the test free of dependencies; the seed is fixed so that failures repeat.
struct Random(u64);

impl Random {
    fn next(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn string(&mut self) -> Vec<u8> {
        const PIECES: [&[u8]; 16] = [
            b"a",
            b"A",
            b" ",
            b"b",
            b"\0",
            b"\x01",
            b"!",
            b"\xc3\xa9",
            b"\xc3\x9f",
            b"\xff",
            b"  ",
            b"\xe4\xb8\xad",
            b"\xf0\x9f\x98\x80",
            b"\xc3",
            b"e\xcc\x81",
            b"~",
        ];
        (0..self.next(7)).flat_map(|_| PIECES[self.next(16) as usize].iter().copied()).collect()
    }
}

#[test]
fn sort_keys_and_hashes_agree_with_compare() {
    let hash = |collation: CollationId, bytes: &[u8]| {
        let mut hasher = DefaultHasher::new();
        collation.hash(bytes, &mut hasher);
        hasher.finish()
    };
    let mut random = Random(7);
    for collation in all_collations() {
        for _ in 0..20_000 {
            let (left, right) = (random.string(), random.string());
            let expected = collation.id.compare(&left, &right);
            let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
            collation.id.write_sort_key(&left, &mut left_key);
            collation.id.write_sort_key(&right, &mut right_key);
            let length = left_key.len();
            let both = [left_key.as_slice(), right_key.as_slice()].concat();
            assert_eq!(collation.id.sort_key_length(&both), Some(length), "{left:?} {right:?}");
            // A second part must not change the order, which proves that no key is a prefix of another.
            left_key.push(0xFF);
            right_key.push(0);
            let order = left_key.cmp(&right_key);
            if expected.is_eq() {
                assert_eq!(order, Ordering::Greater, "{} {left:?} {right:?}", collation.name);
                assert_eq!(hash(collation.id, &left), hash(collation.id, &right), "{left:?} {right:?}");
            } else {
                assert_eq!(order, expected, "{} {left:?} {right:?}", collation.name);
            }
        }
    }
}
