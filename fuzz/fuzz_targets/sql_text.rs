//! Statement text: parsing ends in a tree or an error with a position, and the digest counts the same literals.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use parser::{ParseOptions, parse_one};

fuzz_target!(|text: &[u8]| {
    let arena = Bump::new();
    let options = ParseOptions { parameters: true, ..ParseOptions::default() };
    let mut rest = text;
    // Several statements in one text, as multi-statements come.
    for _ in 0..8 {
        match parse_one(rest, options, &arena) {
            Ok(parsed) if parsed.consumed > 0 && parsed.consumed < rest.len() => rest = &rest[parsed.consumed..],
            Ok(_) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                break;
            }
        }
    }
});
