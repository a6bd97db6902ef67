//! Statement text: parsing ends in a tree or an error with a position, the digest counts the same literals, and a
//! tree's text parses to the same tree.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    parser::fuzz_one(text);
});
